//! Files that a link reads or writes beside its inputs and its result.

use crate::bytes::Bytes;
use crate::destination::Destination;
use crate::messages::as_text_file;
use crate::output::Pending;
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
pub fn begin_table_of_times(path: &Path) -> io::Result<Option<Pending>> {
    let is_open = matches!(Destination::of(path), Ok(Destination::Open(_)));
    if !is_open && path.is_file() {
        return File::options().append(true).open(path).map(|_| None);
    }
    let mut pending = Pending::begin(path)?;
    pending.contents.write_all(&as_text_file(TABLE_OF_TIMES))?;
    Ok(Some(pending))
}

/// Rows of the table of times: one for each compiler that ran.
pub fn times(target: &Target, compilations: &[Compilation]) -> String {
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
    text
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
    match Bytes::copy_of(path) {
        Ok(bytes) if bytes.is_empty() => report.fatal(Message::CannotReadFile { file }),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => {
            let cause = error.to_string();
            report.add(Diagnostic::new(Message::CannotOpenInput { file, cause: cause.clone() }).also(cause));
            Err(Failure::Fatal)
        }
    }
}
