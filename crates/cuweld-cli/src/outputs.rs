//! The output files of a link: none is renamed to its name before all are complete.

use crate::messages::as_text_file;
use crate::options::LinkArguments;
use crate::output::{Contents, Leads, Pending};
use crate::side_files;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Files that are being written.
#[derive(Default)]
pub struct Outputs {
    /// The table of times, which is begun whatever becomes of the link, unless an earlier program has begun it.
    table_of_times: Option<Output>,
    /// Rows for a table that was begun.
    times: Option<(PathBuf, String)>,
    files: Vec<Output>,
}

struct Output {
    path: PathBuf,
    pending: Pending,
    is_result: bool,
}

/// Writes lines with the ends that they have in the system's text files.
struct TextFile<W>(W);

impl<W: Write> Write for TextFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !cfg!(windows) {
            return self.0.write(bytes);
        }
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => self.0.write_all(line).and_then(|()| self.0.write_all(b"\r\n"))?,
                None => self.0.write_all(line)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Outputs {
    /// Begins with the table of times, after a look at whether every output is a file of its own.
    pub fn begin(arguments: &LinkArguments, report: &mut Report) -> Result<Self, Failure> {
        check_each_is_another(arguments, report)?;
        let Some(path) = &arguments.files.time else { return Ok(Self::default()) };
        let table = side_files::begin_table_of_times(path).map_err(|error| {
            let file = path.to_string_lossy().into_owned();
            report.add(Diagnostic::new(Message::CannotOpenFile { file }).also(error.to_string()));
            Failure::Fatal
        })?;
        let table_of_times = table.map(|pending| Output { path: path.clone(), pending, is_result: false });
        let times = if table_of_times.is_none() { Some((path.clone(), String::new())) } else { None };
        Ok(Outputs { table_of_times, times, files: Vec::new() })
    }

    /// Adds rows to the table of times.
    pub fn add_times(&mut self, rows: &str) {
        if let Some((_, known)) = &mut self.times {
            known.push_str(rows);
        } else if let Some(Output { pending, .. }) = &mut self.table_of_times {
            // What is wrong with the file will be found when it takes its place.
            _ = pending.contents.write_all(&as_text_file(rows));
        }
    }

    /// Adds a file that is complete.
    pub fn add(&mut self, path: &Path, bytes: &[u8], report: &mut Report) -> Result<(), Failure> {
        self.add_written(path, |contents| contents.write_all(bytes), report)
    }

    /// Adds a file with a text that may be much longer than what is kept of it.
    pub fn add_text(&mut self, path: &Path, text: &impl Display, report: &mut Report) -> Result<(), Failure> {
        let write = |contents: &mut Contents| {
            let mut out = TextFile(BufWriter::new(contents));
            write!(out, "{text}")?;
            out.flush()
        };
        self.add_written(path, write, report)
    }

    fn add_written(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut Contents) -> io::Result<()>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let mut pending = Pending::begin(path).map_err(|error| not_written(path, &error, report))?;
        write(&mut pending.contents).map_err(|error| writing_failed(path, &error, report))?;
        self.files.push(Output { path: path.to_path_buf(), pending, is_result: false });
        Ok(())
    }

    /// Adds the result, which is complete.
    pub fn add_result(&mut self, path: &Path, pending: Pending) {
        self.files.push(Output { path: path.to_path_buf(), pending, is_result: true });
    }

    /// All files are complete, and take their places; if the link can not go on, only the table does.
    ///
    /// Those first that are written in place: much can go wrong with them, and hardly anything with the others. These are one step away
    /// from their places then, and take them one right after the other, the result last: once it is new, all are.
    pub fn commit(&mut self, outcome: Result<(), Failure>, report: &mut Report) -> Result<(), Failure> {
        let mut files = std::mem::take(&mut self.files);
        if outcome == Err(Failure::Fatal) {
            files.clear();
        }
        files.extend(self.table_of_times.take());
        if let Some((path, rows)) = self.times.take().filter(|(_, rows)| !rows.is_empty()) {
            let add = || File::options().append(true).open(&path)?.write_all(&as_text_file(&rows));
            add().map_err(|error| not_written(&path, &error, report))?;
        }
        files.sort_by_key(|file| (!file.pending.is_in_place(), file.is_result));
        files.iter_mut().for_each(|file| file.pending.prepare());
        for Output { path, pending, .. } in &mut files {
            let failed = if pending.is_in_place() { writing_failed } else { not_written };
            pending.commit().map_err(|error| failed(path, &error, report))?;
        }
        outcome
    }
}

/// Says why a file could not be written that there was a place for.
pub fn writing_failed(path: &Path, error: &io::Error, report: &mut Report) -> Failure {
    let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
    let headline = format!("could not write '{file}'");
    report.add(Diagnostic::new(Message::WritingFailed { file, cause: cause.clone() }).headline(headline).also(cause));
    Failure::Fatal
}

/// Says why there is no place for a file.
pub fn not_written(path: &Path, error: &io::Error, report: &mut Report) -> Failure {
    let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
    report.add(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause));
    Failure::Fatal
}

/// Refuses outputs that are one file, and outputs that are read besides the inputs. Those that are inputs are refused when these are
/// open ([`crate::inputs::Files::check_outputs`]).
fn check_each_is_another(arguments: &LinkArguments, report: &mut Report) -> Result<(), Failure> {
    collision(arguments.outputs(), arguments.side_inputs()).map_or(Ok(()), |message| report.fatal(message))
}

/// What is wrong if an output is also an input, or another output, whatever names lead there.
pub fn collision<'path>(
    outputs: impl IntoIterator<Item = &'path Path>,
    inputs: impl IntoIterator<Item = &'path Path>,
) -> Option<Message> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (outputs.into_iter().collect(), inputs.into_iter().collect());
    if outputs.is_empty() || outputs.len() + inputs.len() < 2 {
        return None;
    }
    let lead = |paths: Vec<&'path Path>| paths.into_iter().filter_map(|path| Some((path, Leads::of(path)?))).collect::<Vec<_>>();
    let (outputs, inputs) = (lead(outputs), lead(inputs));
    outputs.iter().enumerate().find_map(|(index, (output, leads))| {
        let is_one = |(_, other): &&(&Path, Leads)| other.clashes_with(leads);
        let file = shown(output);
        if let Some((input, _)) = inputs.iter().find(is_one) {
            return Some(Message::OutputIsInput { file, input: shown(input) });
        }
        let (other, _) = outputs.iter().take(index).find(is_one)?;
        Some(Message::OutputsAreOne { file, other: shown(other) })
    })
}
