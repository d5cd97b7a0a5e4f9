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

/// What an option does.
enum Effect {
    /// It is there, or anything that starts with it.
    Starts(fn(&mut Wanted, &str)),
    /// It is there.
    Exactly(fn(&mut Wanted, &str)),
    /// It has a value, which may be empty. The functions get the value and the whole option.
    Value(fn(&mut Wanted, &str, &str) -> Result<(), Refused>),
    /// It has a value that is not empty.
    FullValue(fn(&mut Wanted, &str, &str) -> Result<(), Refused>),
}

use Effect::{Exactly, FullValue, Starts, Value};

/// Every option. The first row that fits counts.
const OPTIONS: &[(&str, Effect)] = &[
    ("-arch", FullValue(|wanted, value, option| set_architecture(wanted, value, option))),
    ("-maxrregcount", FullValue(|wanted, value, _| Ok(limit_registers(wanted, value)))),
    ("-Ofc", FullValue(|wanted, value, option| compile_fast(wanted, value, option))),
    ("-kernels-used", FullValue(|wanted, value, option| Ok(use_kernel(wanted, value, option)))),
    ("-variables-used", FullValue(|wanted, value, option| Ok(use_variable(wanted, value, option)))),
    ("-Xptxas", FullValue(|wanted, value, _| Ok(wanted.assembler.push(value.into())))),
    ("-Xnvvm", FullValue(|wanted, _, option| Ok(wanted.library.push(option.into())))),
    ("-ftz", Value(pass_on)),
    ("-prec-div", Value(pass_on)),
    ("-prec-sqrt", Value(pass_on)),
    ("-fma", Value(pass_on)),
    ("-split-compile-extended", Value(pass_on)),
    ("-split-compile", Value(pass_on)),
    ("-jump-table-density", Value(pass_on)),
    ("-uidx", Value(|wanted, value, _| find_index(wanted, value))),
    ("-O0", Exactly(|wanted, _| wanted.set_optimization_level("0"))),
    ("-O3", Exactly(|wanted, _| wanted.set_optimization_level("3"))),
    ("-g", Exactly(|wanted, _| wanted.debug = true)),
    ("-lto", Starts(|wanted, _| wanted.optimize = true)),
    ("-dlto", Starts(|wanted, _| wanted.optimize = true)),
    ("-ptx", Starts(|wanted, _| wanted.emit_ptx = true)),
    ("-lineinfo", Starts(|wanted, _| wanted.keep_lines())),
    ("-verbose", Starts(|wanted, _| wanted.be_verbose())),
    ("-time", Starts(|wanted, _| wanted.time = true)),
    ("-optimize-unused-variables", Starts(|wanted, option| wanted.library.push(option.into()))),
    ("-no-cache", Starts(|wanted, option| wanted.library.push(option.into()))),
    // Known to later versions than 13.0.
    ("-nvvm-latest", Exactly(|wanted, option| wanted.library.push(option.into()))),
    ("-device-stack-protector", Exactly(|wanted, option| wanted.protect_stacks(option))),
    // Every option that starts with -r makes an object for a later link: -relocatable, -rdc=true and what else was seen.
    ("-r", Starts(|wanted, _| wanted.relocatable = true)),
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
    let value_of = |name: &str| option.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    for (name, effect) in OPTIONS {
        match effect {
            Starts(apply) if option.starts_with(name) => return Ok(apply(wanted, option)),
            Exactly(apply) if option == *name => return Ok(apply(wanted, option)),
            Value(apply) => {
                if let Some(value) = value_of(name) {
                    return apply(wanted, value, option);
                }
            }
            FullValue(apply) => match value_of(name) {
                Some("") => return Err(Refused::missing_value(option)),
                Some(value) => return apply(wanted, value, option),
                None => {}
            },
            _ => {}
        }
    }
    let level = option.strip_prefix("-O").filter(|level| level.len() == 1 && level.bytes().all(|byte| byte.is_ascii_digit()));
    let text = match level {
        Some(level) => format!("unsupported value of -O: {level}. Only 0 and 3 are supported."),
        None => format!("unrecognized option: {option}"),
    };
    Err(Refused::new(Outcome::UnrecognizedOption, text))
}

fn set_architecture(wanted: &mut Wanted, value: &str, option: &str) -> Result<(), Refused> {
    let Some(name) = Architecture::name(value) else { return Err(Refused::missing_value(option)) };
    match name.find() {
        Ok(architecture) => {
            wanted.architecture = Some(architecture);
            Ok(())
        }
        Err(outcome) => {
            let (code, word) = match outcome {
                Outcome::UnsupportedArchitecture => ("NVJITLINK_ERROR_UNSUPPORTED_ARCH", "unsupported"),
                _ => ("NVJITLINK_ERROR_UNRECOGNIZED_ARCH", "unrecognized"),
            };
            let shown = if name.is_possible() { format!("compute_{}", name.rest) } else { option.to_owned() };
            Err(Refused::new(outcome, format!("ERROR {code}: {word} architecture ({shown})")))
        }
    }
}

fn limit_registers(wanted: &mut Wanted, value: &str) {
    match value.parse() {
        Ok(limit) => wanted.max_registers = Some(limit),
        // The assembler says what is wrong with it.
        Err(_) => wanted.assembler.extend(["-maxrregcount".to_owned(), value.to_owned()]),
    }
}

/// How much optimization may be given up for a fast compiler.
const FAST_COMPILE: [&str; 4] = ["0", "min", "mid", "max"];

fn compile_fast(wanted: &mut Wanted, value: &str, option: &str) -> Result<(), Refused> {
    let Some(level) = FAST_COMPILE.iter().find(|level| value.starts_with(**level)) else {
        let text = format!("unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and max are supported.");
        return Err(Refused::new(Outcome::UnrecognizedOption, text));
    };
    wanted.assembler.extend(["-Ofc".to_owned(), (*level).to_owned()]);
    wanted.library.push(option.to_owned());
    Ok(())
}

fn use_kernel(wanted: &mut Wanted, value: &str, option: &str) {
    wanted.kernels_used.push(value.to_owned());
    wanted.library.push(option.to_owned());
}

fn use_variable(wanted: &mut Wanted, value: &str, option: &str) {
    wanted.variables_used.push(value.to_owned());
    wanted.library.push(option.to_owned());
}

fn pass_on(wanted: &mut Wanted, _: &str, option: &str) -> Result<(), Refused> {
    wanted.library.push(option.to_owned());
    Ok(())
}

fn find_index(wanted: &mut Wanted, value: &str) -> Result<(), Refused> {
    if !std::path::Path::new(value).is_file() {
        return Err(Refused::new(Outcome::InvalidInput, format!("ERROR: File '{value}' does not exist")));
    }
    wanted.indices.push(value.to_owned());
    Ok(())
}

impl Wanted {
    fn set_optimization_level(&mut self, level: &str) {
        self.assembler.extend(["-O".to_owned(), level.to_owned()]);
        self.library.push(format!("-O{level}"));
    }

    fn keep_lines(&mut self) {
        self.assembler.push("-lineinfo".to_owned());
        self.library.push("-lineinfo".to_owned());
    }

    fn be_verbose(&mut self) {
        self.verbose = true;
        self.assembler.push("-v".to_owned());
    }

    fn protect_stacks(&mut self, option: &str) {
        self.assembler.extend(["-device-stack-protector".to_owned(), "true".to_owned()]);
        self.library.push(option.to_owned());
    }
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
