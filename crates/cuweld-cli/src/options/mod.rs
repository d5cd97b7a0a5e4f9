//! The command line.
//!
//! Three steps, each with its own type: [`scan`] turns arguments into what was typed ([`typed::Typed`]), [`check`] looks
//! whether that makes sense together, and [`meaning`] turns it into what is to be done ([`Invocation`]). All three,
//! and the help, the manual page, the completions and the note that a linked file carries, know options only from one
//! [`table`].
//!
//! Nothing here prints, and nothing ends the program: problems are values, with the reference's wording.

mod architecture;
mod arguments;
mod check;
mod completions;
#[cfg(test)]
mod golden;
mod help;
mod manual;
mod meaning;
mod note;
mod number;
mod problem;
mod repeat;
mod scan;
mod system;
pub mod table;
#[cfg(test)]
mod tests;
mod text;
mod typed;
mod words;

pub use architecture::Architecture;
pub use arguments::*;
pub use completions::completions;
pub use help::{help, usage_lines, version};
pub use manual::manual_page;
pub use problem::{Found, Severity, UsageProblem, offer};
pub use scan::{OptionsFiles, read_options_file};
pub use system::System;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use table::Id;

/// Why a command line cannot be followed.
#[derive(Clone, Debug)]
pub struct UsageError {
    /// What there is to say, in order. Only the last one is fatal.
    pub problems: Vec<UsageProblem>,
    /// The style of messages that was asked for before the mistake (`--diagnostics`).
    pub diagnostics: Option<DiagnosticsStyle>,
    /// The program's name in messages that were [`Found::Afterwards`] (`-tool-name`).
    pub tool_name: Option<String>,
    /// The target to name in messages that were [`Found::Afterwards`] (`-report-arch`).
    pub reported_arch: Option<String>,
}

/// Reads a size in bytes: a number, and perhaps one of the letters K, M, G.
pub fn size(text: &str) -> Option<u64> {
    number::size(text.as_bytes()).ok()
}

/// The words of an options file; none, if a quotation in it does not end.
pub fn split_options_file(text: &[u8]) -> Option<Vec<OsString>> {
    let words = words::options_file(text).ok()?;
    Some(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned().into()).collect())
}

/// Reads a command line, without the program's name. `read_file` is asked for the contents of options files.
pub fn parse(
    arguments: impl Iterator<Item = OsString>,
    called_as_nvlink: bool,
    read_file: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>,
) -> Result<Invocation, UsageError> {
    parse_on(System::NATIVE, arguments, called_as_nvlink, read_file, &Path::exists)
}

/// Reads a command line as it is meant on a system. `exists` is asked for files whose names could mean something else.
fn parse_on(
    system: System,
    arguments: impl Iterator<Item = OsString>,
    called_as_nvlink: bool,
    read_file: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>,
    exists: &dyn Fn(&Path) -> bool,
) -> Result<Invocation, UsageError> {
    let scan::Scanned { mut typed, mut warnings, mistake } = scan::scan(system, arguments, read_file);
    if system == System::Windows {
        system::take_microsoft_words(&mut typed, exists);
    }
    let error = |problems| UsageError {
        problems,
        diagnostics: meaning::diagnostics(&typed),
        tool_name: typed.text(Id::ToolName).map(text::shown),
        reported_arch: typed.text(Id::Arch).filter(|_| typed.has(Id::ReportArch)).map(text::shown),
    };
    if let Some(mistake) = mistake {
        warnings.push(mistake);
        return Err(error(warnings));
    }
    // What only prints comes first: it needs nothing else to be right.
    if typed.has(Id::Help) {
        return Ok(Invocation::Help);
    }
    if typed.has(Id::Version) {
        return Ok(Invocation::Version);
    }
    if let Some(code) = typed.text(Id::Explain) {
        return Ok(Invocation::Explain(text::shown(code)));
    }
    if let Some(kind) = meaning::generated(&typed) {
        return Ok(Invocation::Generate(kind));
    }
    let as_reference = meaning::diagnostics(&typed).map_or(called_as_nvlink, |style| style == DiagnosticsStyle::Nvlink);
    let wants_script = typed.has(Id::GenHostLinkerScript);
    warnings.extend(if wants_script { check::host_linker_script(&typed) } else { check::link(&typed, as_reference) });
    if warnings.iter().any(|problem| problem.severity() == Severity::Fatal) {
        return Err(error(warnings));
    }
    if let Some(script) = meaning::host_linker_script(&typed, warnings.clone()) {
        return Ok(Invocation::HostLinkerScript(Box::new(script)));
    }
    let Some((name, architecture)) = check::architecture(&typed) else {
        // The checks let no such command line pass.
        return Err(error(warnings));
    };
    Ok(Invocation::Link(Box::new(meaning::link(&typed, name, architecture, warnings))))
}
