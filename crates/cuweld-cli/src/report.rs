//! `cuweld report`: what device code consists of.

use crate::bytes::Bytes;
use crate::messages::Messages;
use crate::output;
use cuweld::diagnostics::{Diagnostic, Entry, Message};
use cuweld_report::render::{self, Format, TextOptions};
use cuweld_report::{Examined, Report, examine};
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The word that asks for a report.
pub const WORD: &str = "report";

const USAGE: &str = "\
usage: cuweld report [options] FILE...

Shows what device code is in cubins, fatbins, objects, archives, programs and shared libraries: kernels with their
registers, stack, shared memory and size, and who is to blame for them.

  --format=text|md|json|html  how to write it; by default what the name of the output says, or text
  -o FILE                     where to write it; by default to standard output
  --arch=NAME                 only this architecture (may be given again)
  --all                       list every kernel, not only the largest
";

/// Reports, and returns the status to end with.
pub fn run(arguments: impl Iterator<Item = OsString>, messages: &Messages) -> ExitCode {
    let arguments = match Arguments::read(arguments) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return messages.print(USAGE),
        Err(problem) => return fail(messages, Diagnostic::new(Message::Usage { text: problem }).hint("cuweld report --help")),
    };
    let made = of_files(&arguments.files).map(|report| arguments.select(report));
    match made.and_then(|report| arguments.write(&report)) {
        Ok(status) => status,
        Err(diagnostic) => fail(messages, *diagnostic),
    }
}

fn fail(messages: &Messages, diagnostic: Diagnostic) -> ExitCode {
    messages.show(&messages.own_renderer(), &[Entry::Diagnostic(diagnostic)]);
    ExitCode::FAILURE
}

/// What was asked for.
#[derive(Debug, Default)]
struct Arguments {
    files: Vec<PathBuf>,
    format: Option<Format>,
    output: Option<PathBuf>,
    architectures: Vec<String>,
    all: bool,
}

impl Arguments {
    /// Reads them; none, if help was asked for.
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut read = Arguments::default();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, value) = match text.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(value.to_owned())),
                _ => (text.as_str(), None),
            };
            let mut value = || {
                value
                    .clone()
                    .or_else(|| arguments.next().map(|next| next.to_string_lossy().into_owned()))
                    .ok_or(format!("{name} needs a value"))
            };
            match name {
                "-h" | "--help" => return Ok(None),
                "--all" => read.all = true,
                "-o" | "--output" => read.output = Some(PathBuf::from(value()?)),
                "--arch" => read.architectures.push(value()?),
                "--format" => {
                    let value = value()?;
                    read.format = Some(Format::by_name(&value).ok_or(format!("there is no format '{value}'"))?);
                }
                option if option.starts_with('-') && option != "-" => return Err(format!("unknown option '{option}'")),
                _ => read.files.push(PathBuf::from(argument)),
            }
        }
        if read.files.is_empty() { Err("no file to report on".to_owned()) } else { Ok(Some(read)) }
    }

    fn select(&self, mut report: Report) -> Report {
        if !self.architectures.is_empty() {
            report.architectures.retain(|architecture| self.architectures.contains(&architecture.name));
        }
        report
    }

    fn write(&self, report: &Report) -> Result<ExitCode, Box<Diagnostic>> {
        let path = self.output.as_deref().filter(|path| *path != Path::new("-"));
        let by_name = || path.map_or(Format::Text, |path| Format::of_file(&path.to_string_lossy()));
        let format = self.format.unwrap_or_else(by_name);
        let write = |out: &mut dyn Write| write_report(report, format, self.all, out);
        match path {
            Some(path) => {
                let written = output::Pending::begin(path).and_then(|pending| {
                    let mut out = BufWriter::new(&pending.file);
                    write(&mut out)?;
                    out.flush()?;
                    drop(out);
                    pending.commit()
                });
                written.map_err(|error| not_written(path, &error))?;
            }
            None => {
                let mut out = BufWriter::new(io::stdout().lock());
                match write(&mut out).and_then(|()| out.flush()) {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        return Err(not_written(Path::new("standard output"), &error));
                    }
                    _ => {}
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a report.
pub fn write_report(report: &Report, format: Format, all: bool, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Json => render::json(report, out),
        _ => {
            let options = if all { TextOptions { most: None } } else { TextOptions::default() };
            out.write_all(render::text(report, &options).as_bytes())
        }
    }
}

fn not_written(path: &Path, error: &io::Error) -> Box<Diagnostic> {
    let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
    Box::new(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause))
}

/// After so many bytes of a file, what was looked at goes back to the system.
const FORGET_AFTER: usize = 16 << 20;

/// Examines files. What was looked at of a large one does not stay in memory.
pub fn of_files(paths: &[PathBuf]) -> Result<Report, Box<Diagnostic>> {
    let open = |path: &PathBuf| {
        Bytes::of(path).map_err(|error| {
            let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
            Box::new(Diagnostic::new(Message::CannotOpenInput { file, cause: cause.clone() }).also(cause))
        })
    };
    let contents: Vec<Bytes> = paths.iter().map(open).collect::<Result<_, _>>()?;
    let names: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let files: Vec<Examined<'_>> =
        names.iter().zip(&contents).map(|(name, bytes)| Examined { name, bytes: bytes.as_ref() }).collect();
    let looked_at = AtomicUsize::new(0);
    let forget = |file: usize, bytes: usize| {
        if looked_at.fetch_add(bytes, Ordering::Relaxed) % FORGET_AFTER + bytes >= FORGET_AFTER
            && let Some(contents) = contents.get(file)
        {
            contents.forget();
        }
    };
    Ok(examine(&files, &forget))
}
