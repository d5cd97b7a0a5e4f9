//! One link: what each function of the interface does to it.

use crate::kind::InputKind;
use crate::logs::Logs;
use crate::options::{self, Wanted};
use crate::result::Outcome;
use crate::threads;
use cuweld::Linker;
use cuweld::diagnostics::Failure;
use cuweld::inputs::Code;
use cuweld::inputs::lower::{CompileOptions, CompilerError, Compilers, LinkTimeOptimization, Optimization, Scope};
use cuweld::options::{KernelRoots, Options, OutputKind, ToolNoteText};
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use toolkit::{Search, ToolkitCompilers};

/// A link, from its creation to its end.
#[derive(Debug)]
pub struct Session {
    logs: Logs,
    state: State,
    created: Instant,
}

/// How far a link has come.
#[derive(Debug)]
enum State {
    /// It was not created: only its logs can be read.
    Refused,
    /// Inputs can be added.
    Open(Box<Link>),
    /// It is done, or has failed.
    Completed { product: Option<Product>, emits_ptx: bool },
}

/// What came out of a link.
#[derive(Debug)]
enum Product {
    /// Machine code.
    Cubin(Vec<u8>),
    /// PTX, with the NUL that ends it.
    Ptx(Vec<u8>),
}

#[derive(Debug)]
struct Link {
    linker: Linker<'static>,
    compilers: ToolkitCompilers,
    wanted: Wanted,
}

/// What can be asked for when a link is complete, or its logs at any time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// The linked cubin.
    Cubin,
    /// The linked PTX.
    Ptx,
    /// The linked intermediate code.
    LtoIr,
    /// The log of errors.
    ErrorLog,
    /// The other log.
    InfoLog,
}

/// The variable that names the tool whose note images get, so that they can be compared with that tool's.
const NOTE_VARIABLE: &str = "CUWELD_NOTE_AS";

/// The library that this one stands in for.
const REFERENCE: &str = "nvjitlink-13.0.88";

/// The variable that names the folder of the toolkit whose compilers are used.
const TOOLKIT_VARIABLE: &str = "CUWELD_TOOLKIT";

impl Session {
    /// Creates a link. `own_create` is where this library's `nvJitLinkCreate` is, so that it does not take itself for the toolkit's.
    pub fn create(options: &[String], own_create: usize) -> (Self, Outcome) {
        let mut session = Session { logs: Logs::default(), state: State::Refused, created: Instant::now() };
        match options::read(options) {
            Ok(wanted) => {
                if let Some(link) = Link::new(wanted, own_create) {
                    session.state = State::Open(Box::new(link));
                    return (session, Outcome::Success);
                }
                (session, Outcome::MissingArchitecture)
            }
            Err(refused) => {
                refused.text.iter().for_each(|text| session.logs.error(text));
                (session, refused.outcome)
            }
        }
    }

    /// Adds an input.
    pub fn add(&mut self, kind: c_int, bytes: &[u8], name: Option<&str>) -> Outcome {
        let shown = name.unwrap_or("(null)");
        let Some(kind) = InputKind::from_number(kind) else {
            self.logs.error(&format!("unsupported input type: {shown}"));
            return Outcome::IncorrectInputType;
        };
        if bytes.is_empty() {
            return Outcome::InvalidInput;
        }
        if !kind.fits_bytes(bytes) {
            if kind.is_any() {
                self.logs.error(&format!("unrecognized input type: {shown}"));
                return Outcome::UnrecognizedInput;
            }
            let name = name.unwrap_or_default();
            self.logs.error(&format!("ERROR 1: bad input: does not match type {}{name}", kind.name));
            return Outcome::IncorrectInputType;
        }
        let link = match &mut self.state {
            State::Open(link) => link,
            State::Refused => return Outcome::Internal,
            State::Completed { .. } => {
                self.logs.error(&format!("ERROR 1: empty elfw when adding cubin{}", name.unwrap_or_default()));
                return Outcome::Internal;
            }
        };
        if kind.passes_over(bytes) {
            return Outcome::Success;
        }
        let added = link.add(shown, bytes);
        let report = link.linker.take_report();
        match (self.logs.add(&report, shown), added) {
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Outcome::Success,
            (None, Err(_)) => Outcome::InvalidInput,
        }
    }

    /// Adds a file.
    pub fn add_file(&mut self, kind: c_int, name: &str) -> Outcome {
        match std::fs::read(name) {
            Ok(bytes) => self.add(kind, &bytes, Some(name)),
            Err(_) => {
                self.logs.error(&format!("no such file: {name}"));
                Outcome::InvalidInput
            }
        }
    }

    /// Links.
    pub fn complete(&mut self) -> Outcome {
        let State::Open(link) = &mut self.state else { return Outcome::Internal };
        let start = Instant::now();
        let time = link.wanted.time;
        if time {
            self.logs.info(&format!("nvJitLink time until Complete: {:.6}", milliseconds(start - self.created)));
        }
        let (result, outcome) = link.complete(&mut self.logs);
        let emits_ptx = link.wanted.emit_ptx;
        let product = result.map(|image| match emits_ptx {
            true => Product::Ptx([&image[..], &[0]].concat()),
            false => Product::Cubin(image),
        });
        self.state = State::Completed { product, emits_ptx };
        if time {
            self.logs.info(&format!("nvJitLinkComplete time to finish: {:.6}", milliseconds(start.elapsed())));
        }
        outcome
    }

    /// Something that was asked for, or why it is not there.
    pub fn get(&self, asked: Asked) -> Result<std::borrow::Cow<'_, [u8]>, Outcome> {
        let log = |text: &str| match text {
            "" => Vec::new(),
            text => [text.as_bytes(), &[0]].concat(),
        };
        let emits_ptx = match &self.state {
            State::Open(link) => link.wanted.emit_ptx,
            State::Completed { emits_ptx, .. } => *emits_ptx,
            State::Refused => false,
        };
        let product = match &self.state {
            State::Completed { product, .. } => product.as_ref(),
            _ => None,
        };
        match (asked, product) {
            (Asked::ErrorLog, _) => Ok(log(&self.logs.errors).into()),
            (Asked::InfoLog, _) => Ok(log(&self.logs.infos).into()),
            (Asked::Cubin, Some(Product::Cubin(bytes))) | (Asked::Ptx, Some(Product::Ptx(bytes))) => Ok(bytes.into()),
            (Asked::Ptx, _) if !emits_ptx => Err(Outcome::InvalidInput),
            (Asked::LtoIr, _) => Err(Outcome::InvalidInput),
            _ => Err(Outcome::Internal),
        }
    }

    /// Ends a link that went wrong in a way that nobody foresaw.
    pub fn give_up(&mut self, problem: &str) {
        let emits_ptx = false;
        self.state = State::Completed { product: None, emits_ptx };
        self.logs.error(&format!("ERROR NVJITLINK_ERROR_INTERNAL: {problem}"));
    }
}

fn milliseconds(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl Link {
    fn new(wanted: Wanted, own_create: usize) -> Option<Self> {
        let folder = std::env::var_os(TOOLKIT_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let search = Search { folder, nvvm_folder: None, not_this: Some(own_create) };
        let linker = Linker::with_compile_options(link_options(&wanted)?, compile_options(&wanted)?);
        Some(Link { linker, compilers: ToolkitCompilers::new(search), wanted })
    }

    /// Adds an input, and compiles it if it is PTX.
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let Link { linker, compilers, .. } = self;
        threads::run(|| {
            let added = linker.add_copy(name, bytes)?;
            match linker.units().iter().rev().take(added.units).any(|unit| matches!(unit.code, Code::Ptx { .. })) {
                true => compilers.lend(|compilers| linker.assemble(compilers)),
                false => Ok(()),
            }
        })
    }

    /// Links, and says what is to be said.
    fn complete(&mut self, logs: &mut Logs) -> (Option<Vec<u8>>, Outcome) {
        if self.wanted.optimize {
            let is_lto = |code: &Code<'_>| matches!(code, Code::LtoIr { .. });
            let units = self.linker.units();
            if self.wanted.emit_ptx && !units.iter().all(|unit| is_lto(&unit.code)) {
                logs.error("ERROR: -ptx requires that all inputs have LTOIR");
                return (None, Outcome::IncorrectInputType);
            }
            if !units.iter().any(|unit| is_lto(&unit.code)) {
                logs.error("ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM");
                return (None, Outcome::NvvmCompile);
            }
        }
        // What the toolkit's library says of its own accord.
        let said = Mutex::new(Vec::new());
        let linked = self.compilers.lend(|compilers| {
            let optimize = |optimization: &Optimization<'_>| {
                (compilers.optimize)(optimization).inspect_err(|error| {
                    if let CompilerError::Refused(lines) = error {
                        said.lock().unwrap_or_else(PoisonError::into_inner).extend(lines.iter().cloned());
                    }
                })
            };
            let compilers = Compilers { optimize: &optimize, ..*compilers };
            threads::run(|| self.linker.link_with(&compilers))
        });
        said.into_inner().unwrap_or_else(PoisonError::into_inner).iter().for_each(|line| logs.error(line));
        let outcome = logs.add(&self.linker.take_report(), "ltoPtx");
        match (linked, outcome) {
            (Ok(linked), None) => (Some(linked.image), Outcome::Success),
            (_, Some(outcome)) => (None, outcome),
            (Err(failure), None) => {
                // Clashing definitions end a link at once, but are mistakes in the program, too.
                let is_error =
                    failure == Failure::Errors || logs.errors.lines().next_back().is_some_and(|line| line.starts_with("error"));
                logs.error(if is_error { "ERROR 9: finish" } else { "ERROR 1: finish" });
                (None, Outcome::Internal)
            }
        }
    }
}

/// What the linker is asked for.
fn link_options(wanted: &Wanted) -> Option<Options> {
    let architecture = wanted.architecture.as_ref()?;
    let imitates = std::env::var_os(NOTE_VARIABLE).is_some_and(|name| name == REFERENCE);
    let names_are_given = !wanted.kernels_used.is_empty() || !wanted.variables_used.is_empty();
    Some(Options {
        output: if wanted.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: wanted.debug,
        verbose: wanted.verbose,
        kernels: match names_are_given {
            true => KernelRoots::Matching(wanted.kernels_used.iter().map(|name| format!("*{name}*")).collect()),
            false => KernelRoots::All,
        },
        stack_warning_per_call: true,
        imitate_defects: imitates,
        refuse_newer_objects: imitates,
        note: if imitates { ToolNoteText::nvjitlink_13_0_88() } else { ToolNoteText::cuweld("JIT") },
        ..Options::new(architecture.target)
    })
}

/// How code is compiled.
fn compile_options(wanted: &Wanted) -> Option<CompileOptions> {
    let architecture = wanted.architecture.as_ref()?;
    let mut library = wanted.library.clone();
    if architecture.is_virtual {
        library.push(format!("-arch={}", architecture.name));
    }
    Some(CompileOptions {
        debug: wanted.debug,
        max_registers: wanted.max_registers,
        assembler: wanted.assembler.clone(),
        optimization: wanted.optimize.then(|| LinkTimeOptimization {
            scope: if wanted.relocatable { Scope::Partial } else { Scope::Automatic },
            emit_ptx: wanted.emit_ptx,
            library,
            ..LinkTimeOptimization::new()
        }),
        ..CompileOptions::new(architecture.target)
    })
}
