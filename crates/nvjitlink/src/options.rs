//! The options that a link is created with.
//!
//! Each is one string. An option with a value has a `=` before it; of the others only the start counts, as in the library that this one
//! stands in for, so that programs which got away with `-rdc=true` still do.

use crate::architecture::Architecture;
use crate::result::Outcome;

/// What the options of a link ask for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Wanted {
    /// What to link for (`-arch=`).
    pub architecture: Option<Architecture>,
    /// Link-time optimization (`-lto`).
    pub optimize: bool,
    /// PTX instead of machine code (`-ptx`).
    pub emit_ptx: bool,
    /// An object for a later link (`-r`).
    pub relocatable: bool,
    /// Debug information (`-g`).
    pub debug: bool,
    /// List what kernels need (`-verbose`).
    pub verbose: bool,
    /// Say how long it took (`-time`).
    pub time: bool,
    /// The most registers that compiled code may use, if it is a number (`-maxrregcount=`).
    pub max_registers: Option<i32>,
    /// Kernels that are used (`-kernels-used=`).
    pub kernels_used: Vec<String>,
    /// Variables that are used (`-variables-used=`).
    pub variables_used: Vec<String>,
    /// Arguments of the assembler.
    pub assembler: Vec<String>,
    /// Options of the toolkit's own library, which optimizes.
    pub library: Vec<String>,
    /// Files with indices of unified functions (`-uidx=`).
    pub indices: Vec<String>,
}

/// Why a link was not created: the result, and what its log says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// The result.
    pub outcome: Outcome,
    /// A line without its end; none, when nothing is said.
    pub text: Option<String>,
}

impl Refused {
    fn new(outcome: Outcome, text: String) -> Self {
        Refused { outcome, text: Some(text) }
    }

    fn missing_value(option: &str) -> Self {
        let text = format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({option})");
        Self::new(Outcome::UnrecognizedOption, text)
    }
}

/// How an option is recognized.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Spelling {
    /// It is this word.
    Word,
    /// It starts with this word.
    Start,
    /// It is this word, `=`, and a value, which may be empty.
    Value,
    /// The same, with a value that is not empty.
    FullValue,
}

/// An option as it was given.
#[derive(Clone, Copy, Debug)]
struct Given<'text> {
    option: &'text str,
    /// What is after the `=`.
    value: &'text str,
}

/// What an option does.
enum Effect {
    /// It is taken note of.
    Set(fn(&mut Wanted, Given<'_>)),
    /// It is taken note of, if it makes sense.
    Try(fn(&mut Wanted, Given<'_>) -> Result<(), Refused>),
}

use Effect::{Set, Try};
use Spelling::{FullValue, Start, Value, Word};

/// Options that only the toolkit's own library understands.
const PASS_ON: Effect = Set(|wanted, given| wanted.library.push(given.option.into()));

/// Every option. The first row that fits counts.
const OPTIONS: &[(&str, Spelling, Effect)] = &[
    ("-arch", FullValue, Try(set_architecture)),
    ("-maxrregcount", FullValue, Set(limit_registers)),
    ("-Ofc", FullValue, Try(compile_fast)),
    ("-kernels-used", FullValue, Set(use_kernel)),
    ("-variables-used", FullValue, Set(use_variable)),
    ("-Xptxas", FullValue, Set(|wanted, given| wanted.assembler.push(given.value.into()))),
    ("-Xnvvm", FullValue, PASS_ON),
    ("-ftz", Value, PASS_ON),
    ("-prec-div", Value, PASS_ON),
    ("-prec-sqrt", Value, PASS_ON),
    ("-fma", Value, PASS_ON),
    ("-split-compile", Value, PASS_ON),
    ("-split-compile-extended", Value, PASS_ON),
    ("-jump-table-density", Value, PASS_ON),
    ("-uidx", Value, Try(find_index)),
    ("-O0", Word, Set(set_optimization_level)),
    ("-O3", Word, Set(set_optimization_level)),
    ("-g", Word, Set(|wanted, _| wanted.debug = true)),
    ("-lto", Start, Set(|wanted, _| wanted.optimize = true)),
    ("-dlto", Start, Set(|wanted, _| wanted.optimize = true)),
    ("-ptx", Start, Set(|wanted, _| wanted.emit_ptx = true)),
    ("-lineinfo", Start, Set(keep_lines)),
    ("-verbose", Start, Set(be_verbose)),
    ("-time", Start, Set(|wanted, _| wanted.time = true)),
    ("-optimize-unused-variables", Start, PASS_ON),
    ("-no-cache", Start, PASS_ON),
    // Known to later versions than 13.0.
    ("-nvvm-latest", Word, PASS_ON),
    ("-device-stack-protector", Word, Set(protect_stacks)),
    // Every option that starts with -r makes an object for a later link: -relocatable, -rdc=true and what else was seen.
    ("-r", Start, Set(|wanted, _| wanted.relocatable = true)),
];

/// Reads the options of a link.
pub fn read(options: &[String]) -> Result<Wanted, Refused> {
    let mut wanted = Wanted::default();
    for option in options {
        read_one(&mut wanted, option)?;
    }
    let architecture = wanted.architecture.as_ref().ok_or(Refused { outcome: Outcome::MissingArchitecture, text: None })?;
    if wanted.emit_ptx && !wanted.optimize {
        return Err(Refused::new(Outcome::IncompatibleOptions, "ERROR: -ptx requires -lto".into()));
    }
    if architecture.is_virtual && !wanted.emit_ptx {
        return Err(Refused::new(Outcome::IncompatibleOptions, "ERROR: virtual arch requires -ptx".into()));
    }
    Ok(wanted)
}

fn read_one(wanted: &mut Wanted, option: &str) -> Result<(), Refused> {
    let value_of = |name: &str| option.strip_prefix(name)?.strip_prefix('=');
    let fits = |(name, spelling, _): &&(&str, Spelling, Effect)| match spelling {
        Word => option == *name,
        Start => option.starts_with(name),
        Value | FullValue => value_of(name).is_some(),
    };
    let Some((name, spelling, effect)) = OPTIONS.iter().find(fits) else { return Err(unrecognized(option)) };
    let value = value_of(name).unwrap_or_default();
    if *spelling == FullValue && value.is_empty() {
        return Err(Refused::missing_value(option));
    }
    let given = Given { option, value };
    match effect {
        Set(apply) => {
            apply(wanted, given);
            Ok(())
        }
        Try(apply) => apply(wanted, given),
    }
}

fn unrecognized(option: &str) -> Refused {
    let level = option.strip_prefix("-O").filter(|level| level.len() == 1 && level.bytes().all(|byte| byte.is_ascii_digit()));
    let text = match level {
        Some(level) => format!("unsupported value of -O: {level}. Only 0 and 3 are supported."),
        None => format!("unrecognized option: {option}"),
    };
    Refused::new(Outcome::UnrecognizedOption, text)
}

fn set_architecture(wanted: &mut Wanted, given: Given<'_>) -> Result<(), Refused> {
    let Some(name) = Architecture::name(given.value) else { return Err(Refused::missing_value(given.option)) };
    let refused = |outcome| {
        let (code, word) = match outcome {
            Outcome::UnsupportedArchitecture => ("NVJITLINK_ERROR_UNSUPPORTED_ARCH", "unsupported"),
            _ => ("NVJITLINK_ERROR_UNRECOGNIZED_ARCH", "unrecognized"),
        };
        let shown = if name.is_possible() { format!("compute_{}", name.rest) } else { given.option.to_owned() };
        Refused::new(outcome, format!("ERROR {code}: {word} architecture ({shown})"))
    };
    wanted.architecture = Some(name.find().map_err(refused)?);
    Ok(())
}

fn limit_registers(wanted: &mut Wanted, given: Given<'_>) {
    match given.value.parse() {
        Ok(limit) => wanted.max_registers = Some(limit),
        // The assembler says what is wrong with it.
        Err(_) => wanted.assembler.extend(["-maxrregcount".to_owned(), given.value.to_owned()]),
    }
}

/// How much optimization may be given up for a fast compiler.
const FAST_COMPILE: [&str; 4] = ["0", "min", "mid", "max"];

fn compile_fast(wanted: &mut Wanted, given: Given<'_>) -> Result<(), Refused> {
    let Given { option, value } = given;
    let Some(level) = FAST_COMPILE.iter().find(|level| value.starts_with(**level)) else {
        let text = format!("unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and max are supported.");
        return Err(Refused::new(Outcome::UnrecognizedOption, text));
    };
    wanted.assembler.extend(["-Ofc".to_owned(), (*level).to_owned()]);
    wanted.library.push(option.to_owned());
    Ok(())
}

fn use_kernel(wanted: &mut Wanted, given: Given<'_>) {
    wanted.kernels_used.push(given.value.to_owned());
    wanted.library.push(given.option.to_owned());
}

fn use_variable(wanted: &mut Wanted, given: Given<'_>) {
    wanted.variables_used.push(given.value.to_owned());
    wanted.library.push(given.option.to_owned());
}

fn find_index(wanted: &mut Wanted, given: Given<'_>) -> Result<(), Refused> {
    let file = given.value;
    if !std::path::Path::new(file).is_file() {
        return Err(Refused::new(Outcome::InvalidInput, format!("ERROR: File '{file}' does not exist")));
    }
    wanted.indices.push(file.to_owned());
    Ok(())
}

fn set_optimization_level(wanted: &mut Wanted, given: Given<'_>) {
    wanted.assembler.push(given.option.to_owned());
    wanted.library.push(given.option.to_owned());
}

fn keep_lines(wanted: &mut Wanted, _: Given<'_>) {
    wanted.assembler.push("-lineinfo".to_owned());
    wanted.library.push("-lineinfo".to_owned());
}

fn be_verbose(wanted: &mut Wanted, _: Given<'_>) {
    wanted.verbose = true;
    wanted.assembler.push("-v".to_owned());
}

fn protect_stacks(wanted: &mut Wanted, _: Given<'_>) {
    wanted.assembler.extend(["-device-stack-protector".to_owned(), "true".to_owned()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(options: &[&str]) -> (Outcome, Option<String>) {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        match read(&options) {
            Ok(_) => (Outcome::Success, None),
            Err(refused) => (refused.outcome, refused.text),
        }
    }

    /// What was observed of the library that this one stands in for.
    #[test]
    fn options_are_read_as_elsewhere() {
        use Outcome::*;
        for (options, expected, text) in [
            (&["-arch=sm_90"][..], Success, None),
            (&["-arch=sm_90", "-rdc=true", "-lto", "-ptx", "-O3", "-Ofc=min", "-ftz=", "-g"], Success, None),
            (&["-arch=compute_90", "-arch=sm_90"], Success, None),
            (&["-arch=lto_90", "-lto", "-ptx"], Success, None),
            (&[], MissingArchitecture, None),
            (&["-g", "-ptx"], MissingArchitecture, None),
            (&["-bogus", "-arch=sm_99"], UnrecognizedOption, Some("unrecognized option: -bogus")),
            (&["-arch=sm_90", ""], UnrecognizedOption, Some("unrecognized option: ")),
            (&["-arch=sm_90", "-g=1"], UnrecognizedOption, Some("unrecognized option: -g=1")),
            (&["-arch=sm_90", "-O10"], UnrecognizedOption, Some("unrecognized option: -O10")),
            (&["-O1"], UnrecognizedOption, Some("unsupported value of -O: 1. Only 0 and 3 are supported.")),
            (&["-arch", "sm_90"], UnrecognizedOption, Some("unrecognized option: -arch")),
            (
                &["-Ofc=bad"],
                UnrecognizedOption,
                Some("unsupported value of --Ofast-compile (-Ofc): bad. Only 0, min, mid, and max are supported."),
            ),
            (
                &["-arch=sm_0"],
                UnrecognizedOption,
                Some("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=sm_0)"),
            ),
            (
                &["-arch=sm_50a"],
                UnsupportedArchitecture,
                Some("ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_50a)"),
            ),
            (
                &["-arch=sm_1000"],
                UnsupportedArchitecture,
                Some("ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (-arch=sm_1000)"),
            ),
            (
                &["-arch=sm_99", "-arch=sm_90"],
                UnrecognizedArchitecture,
                Some("ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_99)"),
            ),
            (&["-arch=sm_90", "-ptx"], IncompatibleOptions, Some("ERROR: -ptx requires -lto")),
            (&["-arch=compute_90", "-lto"], IncompatibleOptions, Some("ERROR: virtual arch requires -ptx")),
            (&["-uidx=no/such/file"], InvalidInput, Some("ERROR: File 'no/such/file' does not exist")),
        ] {
            assert_eq!(outcome(options), (expected, text.map(str::to_owned)), "{options:?}");
        }
    }
}
