//! Lowering: compiles PTX and LTO-IR to machine code.
//!
//! PTX is assembled unit by unit. The LTO-IR of all units is first optimized to one PTX text. If that is the whole program, it is
//! assembled to an executable that needs no link; otherwise to an object that is linked like any other.
//!
//! Compilers are not part of this library: the caller passes them in as [`Compilers`].

mod arguments;
mod blame;
mod note;
mod optimize;
mod side_by_side;

pub use arguments::{CompileOptions, LinkTimeOptimization, Scope};
pub(crate) use optimize::name_the_units;

use super::{Code, Packed, Unit, Unpacked};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::phases::load::{Contents, Demand, Input};
use std::borrow::Cow;
use std::time::Duration;

/// The compilers that a link may need.
#[derive(Clone, Copy)]
pub struct Compilers<'caller> {
    /// Assembles PTX.
    pub assemble: &'caller (dyn Fn(&Assembly<'_>) -> Result<Assembled, CompilerError> + Sync),
    /// Makes one PTX text of intermediate code.
    pub optimize: &'caller (dyn Fn(&Optimization<'_>) -> Result<Optimized, CompilerError> + Sync),
    /// How many of them may be called at once. Only links with several units to compile ask.
    pub jobs: &'caller (dyn Fn() -> usize + Sync),
}

impl Compilers<'_> {
    /// No compilers at all, for links of machine code.
    pub const NONE: Compilers<'static> = Compilers {
        assemble: &|_| Err(none("an assembler for PTX")),
        optimize: &|_| Err(none("a compiler for link-time optimization")),
        jobs: &|| 1,
    };
}

/// There is no compiler of a kind, and none was looked for.
fn none(what: &str) -> CompilerError {
    CompilerError::Missing { what: what.to_owned(), places: Vec::new() }
}

/// The name that the file with the PTX has to have when it is assembled: messages and notes contain it.
pub const PTX_NAME: &str = "application ptx input";

/// The name that the file which the assembler makes has to have.
pub const OBJECT_NAME: &str = "elf.o";

/// What messages call the object that link-time optimization makes, unless the caller has another name for it.
pub const OPTIMIZED_NAME: &str = "lto.cubin";

/// PTX to be assembled.
#[derive(Clone, Debug)]
pub struct Assembly<'data> {
    /// What it is, for people.
    pub name: &'data str,
    /// The text.
    pub text: &'data [u8],
    /// The assembler's arguments, except for the names of files.
    pub arguments: Vec<String>,
}

/// What an assembler made.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The file.
    pub image: Vec<u8>,
    /// What the assembler said, line by line.
    pub messages: Vec<String>,
    /// How long it took.
    pub duration: Duration,
    /// Whether it was there already, from an earlier link.
    pub cached: bool,
}

/// Intermediate code to be optimized.
#[derive(Clone, Debug)]
pub struct Optimization<'data> {
    /// What it is, for people.
    pub name: &'data str,
    /// The modules.
    pub modules: Vec<IntermediateModule<'data>>,
    /// The optimizer's arguments.
    pub arguments: Vec<String>,
}

/// Intermediate code of one unit.
#[derive(Clone, Debug)]
pub struct IntermediateModule<'data> {
    /// Its name.
    pub name: &'data str,
    /// The code.
    pub data: &'data [u8],
    /// Whether it is bare, and not in a fatbin.
    pub bare: bool,
}

/// What an optimizer made.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// PTX.
    pub text: Vec<u8>,
    /// The intermediate code of all modules in one, if the optimizer gives it.
    pub linked: Option<Vec<u8>>,
}

/// Why a compiler made nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CompilerError {
    /// It is not there.
    Missing {
        /// What is missing.
        what: String,
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// It refused its input. What it said.
    Refused(String),
    /// It could not be used.
    Unusable(String),
    /// It crashed, in a process of its own.
    Crashed {
        /// What happened.
        how: String,
        /// Which module of intermediate code it was reading, if it was.
        module: Option<usize>,
    },
}

impl std::fmt::Display for CompilerError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CompilerError::Missing { what, .. } => write!(out, "{what} is needed and was not found"),
            CompilerError::Refused(text) | CompilerError::Unusable(text) => out.write_str(text),
            CompilerError::Crashed { how, .. } => out.write_str(how),
        }
    }
}

impl std::error::Error for CompilerError {}

/// What a link is made of once everything is compiled.
#[derive(Debug)]
pub(crate) enum Lowered<'data> {
    /// What is linked.
    Objects {
        /// Objects, in link order.
        objects: Vec<Object<'data>>,
        /// Whether they are a whole program that turned out to need the device runtime library.
        was_whole: bool,
    },
    /// The result itself: link-time optimization saw the whole program, or only PTX was asked for.
    Finished(Vec<u8>),
}

/// An object to link.
#[derive(Debug)]
pub(crate) struct Object<'data> {
    /// The name that messages use.
    pub name: Cow<'data, str>,
    /// Its contents.
    pub contents: ObjectContents<'data>,
    /// Whether it takes part in any case.
    pub demand: Demand,
    /// The unit that it is, unless it was made of several.
    pub unit: Option<usize>,
}

/// The contents of an object to link.
#[derive(Debug)]
pub(crate) enum ObjectContents<'data> {
    /// At hand.
    Here(Cow<'data, [u8]>),
    /// To be unpacked if the object is needed.
    Packed(&'data Packed<'data>),
}

impl Object<'_> {
    /// What [`link`](crate::link()) takes.
    pub fn input(&self) -> Input<'_> {
        let contents = match &self.contents {
            ObjectContents::Here(bytes) => Contents::Here(bytes),
            ObjectContents::Packed(packed) => Contents::Packed(packed),
        };
        Input { name: &self.name, contents, demand: self.demand }
    }
}

/// Compiles what has to be.
pub(crate) fn lower<'data>(
    unpacked: &'data Unpacked<'_>,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<Lowered<'data>, Failure> {
    let is_lto = |code: &Code<'_>| matches!(code, Code::LtoIr { .. });
    let others = || unpacked.units.iter().filter(|unit| !is_lto(&unit.code) && unit.demand != Demand::Runtime);
    if options.optimization.is_some() {
        for unit in others() {
            report.say(Message::PartialOptimization { file: unit.name.to_string() });
        }
        if !unpacked.units.iter().any(|unit| is_lto(&unit.code)) {
            report.say(Message::NothingToOptimize {});
        }
    }
    let mut objects = assemble_units(unpacked, options, compilers, report)?;
    let mut turned_partial = false;
    if let Some(last) = unpacked.units.iter().rposition(|unit| is_lto(&unit.code)) {
        let is_partial = others().next().is_some();
        match optimize::optimize(unpacked, is_partial, options, compilers, report)? {
            optimize::Compiled::Finished(image) => return Ok(Lowered::Finished(image)),
            optimize::Compiled::Object { bytes, was_whole } => {
                turned_partial = was_whole;
                let contents = ObjectContents::Here(bytes.into());
                let object = Object { name: options.optimized_name.into(), contents, demand: Demand::Always, unit: None };
                // In the place of the last unit that it was made of.
                let place = objects.iter().position(|other| other.unit > Some(last)).unwrap_or(objects.len());
                objects.insert(place, object);
            }
        }
    }
    Ok(Lowered::Objects { objects, was_whole: turned_partial })
}

/// Turns PTX into objects, one unit after another; units that are refused are removed.
pub(crate) fn assemble(
    unpacked: &mut Unpacked<'_>,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let is_ptx = |unit: &Unit<'_>| matches!(unit.code, Code::Ptx { .. });
    let texts: Vec<&Unit<'_>> = unpacked.units.iter().filter(|unit| is_ptx(unit)).collect();
    let mut results =
        side_by_side::map(&texts, compilers.jobs, |unit| assemble_unit(unit, options, compilers)).into_iter().flatten();
    let mut outcome = Ok(());
    unpacked.retain_units(|unit| {
        let Some(result) = is_ptx(unit).then(|| results.next()).flatten() else { return true };
        match said(&unit.name, result, options, report) {
            Ok(object) => {
                unit.code = Code::Cubin(object.into());
                true
            }
            Err(failure) => {
                outcome = Err(failure);
                false
            }
        }
    });
    outcome
}

/// Assembles a unit of PTX.
fn assemble_unit(
    unit: &Unit<'_>,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
) -> Option<Result<Assembled, CompilerError>> {
    match &unit.code {
        Code::Ptx { text, options: recorded } => {
            if let Some(word) = arguments::word_that_is_not_an_inputs_to_give(recorded) {
                let problem = format!("'{}' asks for the option '{word}', which is not an input's to give", unit.name);
                return Some(Err(CompilerError::Unusable(problem)));
            }
            let arguments = options.assembler_arguments(recorded, true);
            Some((compilers.assemble)(&Assembly { name: &unit.name, text, arguments }))
        }
        Code::Cubin(_) | Code::Packed(_) | Code::LtoIr { .. } => None,
    }
}

/// The units that are objects or become one by themselves.
fn assemble_units<'data>(
    unpacked: &'data Unpacked<'_>,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<Vec<Object<'data>>, Failure> {
    let is_ptx = |unit: &Unit<'_>| matches!(unit.code, Code::Ptx { .. });
    let texts: Vec<&Unit<'_>> = unpacked.units.iter().filter(|unit| is_ptx(unit)).collect();
    let mut assembled =
        side_by_side::map(&texts, compilers.jobs, |unit| assemble_unit(unit, options, compilers)).into_iter().flatten();
    let mut objects = Vec::with_capacity(unpacked.units.len());
    for (index, unit) in unpacked.units.iter().enumerate() {
        let contents = match &unit.code {
            Code::Cubin(bytes) => ObjectContents::Here(Cow::Borrowed(bytes)),
            Code::Packed(packed) => ObjectContents::Packed(packed),
            Code::LtoIr { .. } => continue,
            Code::Ptx { .. } => match assembled.next() {
                Some(result) => ObjectContents::Here(said(&unit.name, result, options, report)?.into()),
                None => continue,
            },
        };
        objects.push(Object { name: Cow::Borrowed(&unit.name), contents, demand: unit.demand, unit: Some(index) });
    }
    Ok(objects)
}

/// Passes on what an assembler said, and what it made.
fn said(
    name: &str,
    result: Result<Assembled, CompilerError>,
    options: &CompileOptions,
    report: &mut Report,
) -> Result<Vec<u8>, Failure> {
    match result {
        Ok(Assembled { image, messages, duration, cached }) => {
            messages.into_iter().for_each(|line| report.list(line));
            if options.report_durations {
                let file = name.to_owned();
                report.say(match cached {
                    true => Message::CompiledBefore { file },
                    false => Message::Compiled { file, milliseconds: duration.as_millis() },
                });
            }
            Ok(note::without_file_names(image))
        }
        Err(CompilerError::Refused(text)) => {
            text.lines().for_each(|line| report.list(line));
            report
                .fatal(Diagnostic::new(Message::CompilerFailed {}).headline(format!("the PTX of '{name}' could not be compiled")))
        }
        Err(CompilerError::Crashed { how, .. }) => {
            let diagnostic =
                Diagnostic::new(Message::CompilerFailed {}).headline(format!("the PTX of '{name}' crashes the assembler"));
            report.fatal(diagnostic.told(&how))
        }
        Err(error) => unavailable(error, report),
    }
}

/// Ends the link because a compiler could not be used.
fn unavailable<T>(error: CompilerError, report: &mut Report) -> Result<T, Failure> {
    match error {
        CompilerError::Refused(problem) | CompilerError::Unusable(problem) | CompilerError::Crashed { how: problem, .. } => {
            report.fatal(Message::CompilerUnusable { problem })
        }
        CompilerError::Missing { what, places } => {
            let mut diagnostic = Diagnostic::new(Message::CompilerMissing { what });
            for place in places {
                diagnostic = diagnostic.also(format!("looked in {place}"));
            }
            report.add(diagnostic.hint(
                "install the CUDA toolkit, or `pip install nvidia-cuda-nvcc nvidia-nvjitlink`; CUWELD_TOOLKIT names its folder",
            ));
            Err(Failure::Fatal)
        }
    }
}
