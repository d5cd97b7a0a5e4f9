//! The command lines of `cuweld report` and `cuweld compare`.

use cuweld_report::render::Format;
use std::ffi::OsString;
use std::path::PathBuf;

/// What `cuweld report --help` says.
pub const REPORT_USAGE: &str = "\
usage: cuweld report [options] FILE...

Shows the device code in cubins, fatbins, objects, archives, programs and shared libraries: kernels with their
registers, stack, shared memory and size, and the call paths that force them. FILE may also be a report (JSON), to convert it.

  --format=text|md|json|html  the format; by default by the extension of the output, or text
  -o FILE                     the output; by default standard output
  --arch=NAME                 only this architecture (may be repeated)
  --all                       list every kernel, not only the largest
  --sections                  dump one cubin as text instead: sections, symbols, relocations, records
  --budget=FILE.toml          check limits: status 1, and a line for each that is exceeded
  --write-baseline=FILE.json  save the report for later budgets and comparisons
";

/// What `cuweld compare --help` says.
pub const COMPARE_USAGE: &str = "\
usage: cuweld compare [options] OLD NEW

Shows which kernels changed, and why. OLD and NEW are files with device code, or reports (JSON).

  --format=text|md|json|html  the format; by default by the extension of the output, or text
  -o FILE                     the output; by default standard output
  --arch=NAME                 only this architecture (may be repeated)
  --budget=FILE.toml          check limits of NEW and of its growth since OLD: status 1, and a line for each that is exceeded
  --write-baseline=FILE.json  save the report on NEW

Two cubins can also be compared in a linker's terms; the status is 1 when they differ:

  --sections                  show how sections, symbols, relocations, records and bytes differ
  --most=N                    show at most N differences of each part of the file; 0 shows all (default: 20)
  --regenerated               name the functions whose machine code differs, and leave out what follows from that: for two files of
                              which one keeps the compiler's machine code and the other regenerated it
";

/// How many differences of each part of a file are shown unless `--most` says otherwise.
const MOST: usize = 20;

/// What was asked for.
#[derive(Debug, Default)]
pub struct Arguments {
    /// The files.
    pub files: Vec<PathBuf>,
    /// How to write.
    pub format: Option<Format>,
    /// Where to write.
    pub output: Option<PathBuf>,
    /// Only these.
    pub architectures: Vec<String>,
    /// Every kernel.
    pub all: bool,
    /// In the terms of a linker.
    pub sections: bool,
    /// How many differences of each part of a file; 0 is all.
    pub most: usize,
    /// Without what follows from other machine code.
    pub regenerated: bool,
    /// Limits.
    pub budget: Option<PathBuf>,
    /// Where the report is kept.
    pub write_baseline: Option<PathBuf>,
}

impl Arguments {
    /// Reads them; none, if help was asked for.
    pub fn read(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut read = Arguments { most: MOST, ..Arguments::default() };
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, given) = match text.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(OsString::from(value))),
                _ => (text.as_str(), None),
            };
            let mut value = || given.clone().or_else(|| arguments.next()).ok_or(format!("{name} needs a value"));
            match name {
                "-h" | "--help" => return Ok(None),
                "--all" => read.all = true,
                "--sections" => read.sections = true,
                "--regenerated" => read.regenerated = true,
                "--most" => {
                    let value = value()?.to_string_lossy().into_owned();
                    read.most = value.parse().map_err(|_| format!("--most: '{value}' is no number"))?;
                }
                "-o" | "--output" => read.output = Some(value()?.into()),
                "--arch" => read.architectures.push(value()?.to_string_lossy().into_owned()),
                "--budget" => read.budget = Some(value()?.into()),
                "--write-baseline" => read.write_baseline = Some(value()?.into()),
                "--format" => {
                    let value = value()?.to_string_lossy().into_owned();
                    read.format = Some(Format::by_name(&value).ok_or(format!("there is no format '{value}'"))?);
                }
                option if option.starts_with('-') => return Err(format!("unknown option '{option}'")),
                _ => read.files.push(PathBuf::from(argument)),
            }
        }
        Ok(Some(read))
    }
}
