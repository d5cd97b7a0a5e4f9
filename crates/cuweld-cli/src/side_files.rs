//! Files that a link reads or writes beside its inputs and its result.

use cubin::target::Target;
use cubin::unified::NotAnIndex;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld::inputs::lower::OPTIMIZED_NAME;
use cuweld::options::UnifiedIndex;
use cuweld_toolkit::{Compilation, Stage};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The first line of a table of times.
const TABLE_OF_TIMES: &str =
    "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n";

/// Begins the table that `-time` asks for, unless the file is there already: then an earlier program began it.
pub fn begin_table_of_times(path: &Path, report: &mut Report) -> Result<(), Failure> {
    let result = if path == Path::new("-") { io::stdout().write_all(TABLE_OF_TIMES.as_bytes()) } else { begin(path) };
    result.map_err(|error| {
        let file = path.to_string_lossy().into_owned();
        report.add(Diagnostic::new(Message::CannotOpenFile { file }).also(error.to_string()));
        Failure::Fatal
    })
}

fn begin(path: &Path) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file = File::options().append(true).create(true).open(path)?;
    if is_new { file.write_all(TABLE_OF_TIMES.as_bytes()) } else { Ok(()) }
}

/// Adds a row to the table of times for each compiler that ran.
pub fn add_times(path: &Path, target: &Target, compilations: &[Compilation], report: &mut Report) -> Result<(), Failure> {
    let mut text = String::new();
    for Compilation { stage, name, duration, .. } in compilations.iter().filter(|compilation| !compilation.cached) {
        let is_optimized = name == OPTIMIZED_NAME;
        let (source, phase, input, output) = match stage {
            Stage::Optimize => ("lto.nvvm", "cicc", "", "lto.ptx"),
            Stage::Assemble if is_optimized => ("lto.ptx", "ptxas", "", name.as_str()),
            Stage::Assemble => (name.as_str(), "ptxas", name.as_str(), ""),
        };
        let milliseconds = duration.as_secs_f64() * 1000.0;
        text.push_str(&format!("{source} , {phase} , {input} , {output} , {} , nvlink , {milliseconds:.4} , ms\n", target.name));
    }
    let append = |path| File::options().append(true).open(path)?.write_all(text.as_bytes());
    let result = if path == Path::new("-") { io::stdout().write_all(text.as_bytes()) } else { append(path) };
    result.map_err(|error| {
        let file = path.to_string_lossy().into_owned();
        report.add(Diagnostic::new(Message::CannotOpenFile { file }).also(error.to_string()));
        Failure::Fatal
    })
}

/// Reads the index that `-uidx` names.
pub fn read_unified_index(path: Option<&Path>, report: &mut Report) -> Result<Option<UnifiedIndex>, Failure> {
    let Some(bytes) = read(path, report)? else { return Ok(None) };
    match UnifiedIndex::parse(bytes) {
        Ok(index) => Ok(Some(index)),
        Err(NotAnIndex::Magic) => report.fatal(Message::NotAUnifiedIndex {}),
        Err(NotAnIndex::Size) => report.fatal(Message::MalformedUnifiedIndex {}),
    }
}

/// Reads what `-nv-host` names.
pub fn read_host_section(path: Option<&Path>, report: &mut Report) -> Result<Option<Vec<u8>>, Failure> {
    read(path, report)
}

/// Reads a file, if one is named, that must not be empty.
fn read(path: Option<&Path>, report: &mut Report) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let file = path.to_string_lossy().into_owned();
    match std::fs::read(path) {
        Ok(bytes) if bytes.is_empty() => report.fatal(Message::CannotReadFile { file }),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => {
            let cause = error.to_string();
            report.add(Diagnostic::new(Message::CannotOpenInput { file, cause: cause.clone() }).also(cause));
            Err(Failure::Fatal)
        }
    }
}
