//! One link: what each function of the interface does to it.

use crate::kind::{self, InputKind};
use crate::logs::Logs;
use crate::memory;
use crate::options::{self, Wanted};
use crate::release;
use crate::result::Outcome;
use crate::threads;
use cuweld::diagnostics::{Diagnostic, Failure, Message};
use cuweld::imitations::{Imitation, Imitations};
use cuweld::inputs::lower::{CompileOptions, CompilerError, Compilers, LinkTimeOptimization, Optimization, Scope};
use cuweld::inputs::{Code, Skipped, UnpackOptions, Why};
use cuweld::options::{KernelRoots, Options, OutputKind, ReleaseChoice, ToolNoteText};
use cuweld::{Added, LinkError, Linker, Request};
use cuweld_toolkit::{Cache, Search, Setup, ToolkitCompilers, Worker};
use std::borrow::Cow;
use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most that is read of what does not say how much it has.
const MOST_WITHOUT_SIZE: u64 = 1 << 30;

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
    Completed { product: Option<Product>, asked_for: AskedFor },
}

/// What a link was to make.
#[derive(Clone, Copy, Debug, Default)]
struct AskedFor {
    ptx: bool,
    optimization: bool,
}

impl AskedFor {
    fn of(wanted: &Wanted) -> Self {
        AskedFor { ptx: wanted.emit_ptx, optimization: wanted.optimize }
    }
}

/// What came out of a link.
#[derive(Debug)]
struct Product {
    main: Main,
    /// The linked intermediate code, where the toolkit's library gives it.
    linked: Option<Vec<u8>>,
}

/// What a link is for.
#[derive(Debug)]
enum Main {
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
    /// How many bytes the inputs have.
    given: usize,
    /// Whether an input could not be compiled, which shows in what is said of later mistakes.
    was_fatal: bool,
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

impl Asked {
    /// The size that a program is told, and gets. The NUL that ends a log is neither counted nor written where it is all there is.
    pub fn counted(self, size: usize) -> usize {
        match self {
            Asked::ErrorLog | Asked::InfoLog if size == 1 => 0,
            _ => size,
        }
    }
}

impl Session {
    /// Creates a link. `own_create` is where this library's `nvJitLinkCreate` is, so that it does not take itself for the toolkit's.
    pub fn create(options: &[String], own_create: usize) -> (Self, Outcome) {
        let mut session = Session { logs: Logs::default(), state: State::Refused, created: Instant::now() };
        let outcome = session.where_memory_lasts(|session| session.begin(options, own_create));
        (session, outcome)
    }

    fn begin(&mut self, options: &[String], own_create: usize) -> Outcome {
        if let Some(text) = release::unknown_tool() {
            self.logs.error(&text);
            return Outcome::UnrecognizedOption;
        }
        match options::read(options) {
            Ok(wanted) => {
                if let Some(link) = Link::new(wanted, own_create) {
                    self.state = State::Open(Box::new(link));
                    return Outcome::Success;
                }
                Outcome::MissingArchitecture
            }
            Err(refused) => {
                refused.text.iter().for_each(|text| self.logs.error(text));
                refused.outcome
            }
        }
    }

    /// Does something for a link, and gives the link up if the memory for it runs out.
    fn where_memory_lasts(&mut self, work: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let watch = memory::watch();
        let outcome = work(self);
        if !watch.has_seen_shortage() {
            return outcome;
        }
        self.give_up("there is not enough memory");
        Outcome::Internal
    }

    /// Adds an input.
    pub fn add(&mut self, kind: c_int, bytes: &[u8], name: Option<&str>) -> Outcome {
        self.where_memory_lasts(|session| session.take(kind, bytes, name))
    }

    fn take(&mut self, kind: c_int, bytes: &[u8], name: Option<&str>) -> Outcome {
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
        let State::Open(link) = &mut self.state else {
            self.logs.error(&format!("ERROR 1: empty elfw when adding cubin{}", name.unwrap_or_default()));
            return Outcome::Internal;
        };
        if kind.passes_over(bytes) {
            return Outcome::Success;
        }
        // An input is copied, and read into tables.
        link.given = link.given.saturating_add(bytes.len());
        if !has_room(bytes.len()) {
            return Outcome::Internal;
        }
        let added = link.add(shown, bytes);
        let outcome = self.logs.add(&link.linker.take_report(), name);
        link.was_fatal |= outcome == Some(Outcome::PtxCompile);
        match (outcome, added) {
            (Some(outcome), _) => outcome,
            (None, Ok(added)) if added.units == 0 && added.skipped.iter().any(lacks_code) => {
                self.logs.error(&format!("ERROR 3: bad input: {}", name.unwrap_or_default()));
                Outcome::InvalidInput
            }
            (None, Ok(_)) => Outcome::Success,
            (None, Err(_)) => Outcome::InvalidInput,
        }
    }

    /// Adds a file.
    pub fn add_file(&mut self, kind: c_int, name: &str) -> Outcome {
        self.where_memory_lasts(|session| match read(name) {
            Ok(bytes) if bytes.is_empty() => {
                session.logs.error(&format!("bad input: {name}"));
                Outcome::InvalidInput
            }
            Ok(bytes) => session.take(kind, &bytes, Some(name)),
            Err(_) => {
                session.logs.error(&format!("no such file: {name}"));
                Outcome::InvalidInput
            }
        })
    }

    /// Links.
    pub fn complete(&mut self) -> Outcome {
        self.where_memory_lasts(Self::link)
    }

    fn link(&mut self) -> Outcome {
        let State::Open(link) = &mut self.state else { return Outcome::Internal };
        if !has_room(link.given) {
            return Outcome::Internal;
        }
        let start = Instant::now();
        let time = link.wanted.time;
        if time {
            self.logs.info(&format!("nvJitLink time until Complete: {:.6}", milliseconds(start - self.created)));
        }
        let (product, outcome) = link.complete(&mut self.logs);
        self.state = State::Completed { product, asked_for: AskedFor::of(&link.wanted) };
        if time {
            self.logs.info(&format!("nvJitLinkComplete time to finish: {:.6}", milliseconds(start.elapsed())));
        }
        outcome
    }

    /// Something that was asked for, or why it is not there.
    pub fn get(&self, asked: Asked) -> Result<Cow<'_, [u8]>, Outcome> {
        let (product, asked_for) = match &self.state {
            State::Refused => (None, AskedFor::default()),
            State::Open(link) => (None, AskedFor::of(&link.wanted)),
            State::Completed { product, asked_for } => (product.as_ref(), *asked_for),
        };
        let main = product.map(|product| &product.main);
        match asked {
            Asked::ErrorLog => Ok(ended(&self.logs.errors)),
            Asked::InfoLog => Ok(ended(&self.logs.infos)),
            Asked::Ptx if !asked_for.ptx => Err(Outcome::InvalidInput),
            Asked::LtoIr if !asked_for.optimization => Err(Outcome::InvalidInput),
            Asked::LtoIr => match product.and_then(|product| product.linked.as_deref()) {
                Some(bytes) => Ok(bytes.into()),
                None => Err(Outcome::Internal),
            },
            Asked::Cubin | Asked::Ptx => match (asked, main) {
                (Asked::Cubin, Some(Main::Cubin(bytes))) | (Asked::Ptx, Some(Main::Ptx(bytes))) => Ok(bytes.into()),
                _ => Err(Outcome::Internal),
            },
        }
    }

    /// Ends a link that panicked.
    pub fn give_up(&mut self, problem: &str) {
        self.state = State::Completed { product: None, asked_for: AskedFor::default() };
        self.logs.error(&format!("ERROR NVJITLINK_ERROR_INTERNAL: {problem}"));
    }
}

/// Whether there is as much memory as it takes to link this many bytes. If not, that counts as a shortage.
fn has_room(bytes: usize) -> bool {
    const LEAST: usize = 1 << 20;
    const TIMES: usize = 4;
    memory::is_there(bytes.saturating_mul(TIMES).saturating_add(LEAST))
}

/// A log with the NUL that ends it.
fn ended(log: &str) -> Cow<'_, [u8]> {
    [log.as_bytes(), &[0]].concat().into()
}

/// Whether an input was passed over because it has no code for the target.
fn lacks_code(skipped: &Skipped) -> bool {
    matches!(skipped.why, Why::NoCodeForTarget(_))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What the toolkit's library says and makes beside PTX.
#[derive(Default)]
struct Aside {
    /// What it said of intermediate code that it refused.
    said: String,
    /// The linked intermediate code.
    linked: Option<Vec<u8>>,
    /// Whether it could not be used at all.
    lacks_optimizer: bool,
    /// How long it took.
    optimized_in: Option<Duration>,
}

/// What logs call the object that link-time optimization makes.
const OPTIMIZED: &str = "ltoPtx";

impl Link {
    fn new(wanted: Wanted, own_create: usize) -> Option<Self> {
        let search = Search { not_this: Some(own_create), ..Search::default() };
        let (options, compile) = (link_options(&wanted)?, compile_options(&wanted)?);
        let linker = Linker::new(Request { options, compile, unpack: UnpackOptions::default() });
        Some(Link { linker, compilers: ToolkitCompilers::new(search, setup), wanted, given: 0, was_fatal: false })
    }

    /// Adds an input, and compiles it if it is PTX.
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<Added, LinkError> {
        let Link { linker, compilers, .. } = self;
        let mut add = || {
            let added = linker.add_copy(name, bytes)?;
            if linker.units().iter().rev().take(added.units).any(|unit| matches!(unit.code, Code::Ptx { .. })) {
                compilers.lend(|compilers| linker.assemble(compilers))?;
            }
            Ok(added)
        };
        // A single unit is no work for several threads.
        if kind::is_single_unit(bytes) { add() } else { threads::run(add) }
    }

    /// Links, and says what is to be said.
    fn complete(&mut self, logs: &mut Logs) -> (Option<Product>, Outcome) {
        if self.wanted.optimize {
            let is_lto = |code: &Code<'_>| matches!(code, Code::LtoIr { .. });
            let units = self.linker.units();
            if self.wanted.emit_ptx && !units.iter().all(|unit| is_lto(&unit.code)) {
                logs.error("ERROR: -ptx requires that all inputs have LTOIR");
                return (None, Outcome::IncorrectInputType);
            }
            if !units.iter().any(|unit| is_lto(&unit.code)) {
                logs.error(release::words(release::spoken()).no_module);
                return (None, Outcome::NvvmCompile);
            }
        }
        // What the toolkit's library says of its own accord.
        let aside = Mutex::new(Aside::default());
        let linked = self.compilers.lend(|compilers| {
            let optimize = |optimization: &Optimization<'_>| {
                let start = Instant::now();
                let mut result = (compilers.optimize)(optimization);
                let mut aside = aside.lock().unwrap_or_else(PoisonError::into_inner);
                aside.optimized_in = Some(start.elapsed());
                match &mut result {
                    Ok(optimized) => aside.linked = optimized.linked.take(),
                    Err(CompilerError::Refused(text)) => aside.said.clone_from(text),
                    Err(_) => aside.lacks_optimizer = true,
                }
                result
            };
            let compilers = Compilers { optimize: &optimize, ..*compilers };
            threads::run(|| self.linker.link_observed(&compilers, &mut memory::watch()))
        });
        let aside = aside.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(duration) = aside.optimized_in.filter(|_| self.wanted.time) {
            logs.info(&format!("nvJitLinkComplete time to create PTX: {:.6}", milliseconds(duration)));
        }
        logs.errors.push_str(&aside.said);
        let report = self.linker.take_report();
        let outcome = logs.add(&report, Some(OPTIMIZED));
        match (linked, outcome) {
            (Ok(linked), None) => {
                let image = linked.image;
                let main = if self.wanted.emit_ptx { Main::Ptx([&image[..], &[0]].concat()) } else { Main::Cubin(image) };
                (Some(Product { main, linked: aside.linked }), Outcome::Success)
            }
            (_, Some(_)) if aside.lacks_optimizer => (None, Outcome::NvvmCompile),
            (_, Some(outcome)) => (None, outcome),
            (Err(error), None) => {
                // Clashing definitions end a link at once, but are mistakes in the program, too.
                let is_clash = |diagnostic: &Diagnostic| matches!(diagnostic.message, Message::MergeFailed {});
                let are_errors = error.failure() == Failure::Errors || report.diagnostics().any(is_clash);
                let (number, finish) =
                    (if are_errors && !self.was_fatal { 9 } else { 1 }, release::words(release::spoken()).finish);
                logs.error(&format!("ERROR {number}: {finish}"));
                (None, Outcome::Internal)
            }
        }
    }
}

/// How compilers are run: under the program, where it is found, and with a cache if the environment names one. A library makes no folders
/// of its own accord.
fn setup() -> Setup {
    let cache = std::env::var_os("CUWELD_CACHE").filter(|folder| !folder.is_empty() && folder != "off").map(PathBuf::from);
    Setup {
        worker: Worker::for_library(own_path().as_deref()),
        cache: cache.filter(|folder| folder.is_absolute()).map(|folder| Cache::new(folder, None)),
        launcher: std::env::var_os("CUWELD_COMPILER_LAUNCHER").filter(|program| !program.is_empty()).map(PathBuf::from),
        ..Setup::default()
    }
}

/// Reads a file; one that does not say how much it has, as far as one may go: a device or a pipe need not end.
fn read(name: &str) -> io::Result<Vec<u8>> {
    let mut file = File::open(name)?;
    let known = file.metadata()?;
    let mut bytes = Vec::new();
    if known.is_file() && known.len() > 0 {
        bytes.try_reserve_exact(usize::try_from(known.len()).unwrap_or(usize::MAX))?;
        file.read_to_end(&mut bytes)?;
    } else {
        file.take(MOST_WITHOUT_SIZE).read_to_end(&mut bytes)?;
    }
    if known.is_file() || (bytes.len() as u64) < MOST_WITHOUT_SIZE { Ok(bytes) } else { Err(io::ErrorKind::FileTooLarge.into()) }
}

/// Where this library is, where the system says it.
fn own_path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let here = own_path as fn() -> Option<PathBuf> as usize;
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let ends = range.map(|(start, end)| (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16)));
        matches!(ends, Some((Ok(start), Ok(end))) if (start..end).contains(&here))
    };
    let line = maps.lines().find(holds)?;
    Some(PathBuf::from(line.get(line.find('/')?..)?))
}

/// What the linker is asked for.
fn link_options(wanted: &Wanted) -> Option<Options> {
    let architecture = wanted.architecture.as_ref()?;
    let imitated = release::imitated();
    let names_are_given = !wanted.kernels_used.is_empty() || !wanted.variables_used.is_empty();
    Some(Options {
        output: if wanted.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: wanted.debug,
        verbose: wanted.verbose,
        kernels: match names_are_given {
            true => KernelRoots::Matching(wanted.kernels_used.iter().map(|name| format!("*{name}*")).collect()),
            // Callers launch kernels by name.
            false => KernelRoots::All,
        },
        stack_warning_per_call: true,
        release: imitated.map_or(ReleaseChoice::AtLeast(release::first()), |known| ReleaseChoice::Exactly(known.release)),
        // The library takes whole programs of all releases.
        imitations: imitated
            .map_or(Imitations::NONE, |known| Imitations::of(known.build).without(Imitation::WholeProgramsOfOneRelease)),
        note: imitated.map_or_else(|| ToolNoteText::cuweld("JIT"), |known| ToolNoteText::nvjitlink(known.build)),
        ..Options::new(architecture.target)
    })
}

/// How code is compiled.
fn compile_options(wanted: &Wanted) -> Option<CompileOptions> {
    let architecture = wanted.architecture.as_ref()?;
    Some(CompileOptions {
        debug: wanted.debug,
        max_registers: wanted.max_registers,
        optimized_name: OPTIMIZED,
        assembler: wanted.assembler.clone(),
        optimization: wanted.optimize.then(|| LinkTimeOptimization {
            scope: if wanted.relocatable { Scope::Partial } else { Scope::Automatic },
            architecture: architecture.is_virtual.then(|| architecture.name.clone()),
            emit_ptx: wanted.emit_ptx,
            library: wanted.library.clone(),
            ..LinkTimeOptimization::new()
        }),
        ..CompileOptions::new(architecture.target)
    })
}
