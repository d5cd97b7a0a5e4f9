//! `cuweld report` and `cuweld compare`.

mod arguments;
mod sections;

use crate::bytes::Bytes;
use crate::messages::Messages;
use crate::outputs::collision;
use crate::start::ExitCode;
use crate::{output, resources, streams};
use arguments::Arguments;
use cuweld::account::Account;
use cuweld::diagnostics::{Diagnostic, Entry, Message};
use cuweld_report::budget::Budget;
use cuweld_report::compare::Comparison;
use cuweld_report::render::{self, Format, TextOptions};
use cuweld_report::{Examined, Report, compare, examine};
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

type Failed = Box<Diagnostic>;

/// How a command ends that did what it was asked for.
enum Ending {
    /// Each of these lines tells of a limit that does not hold.
    Budget(Vec<String>),
    /// Whether what was compared is the same.
    Compared { same: bool },
}

/// Reports, and returns the status to end with.
pub fn run(arguments: Vec<OsString>, messages: &Messages) -> ExitCode {
    run_with(arguments, messages, arguments::REPORT_USAGE, |arguments| {
        if arguments.files.is_empty() {
            return Err(usage("no file to report on"));
        }
        if arguments.sections {
            return arguments.show_sections();
        }
        let made = if let [file] = arguments.files.as_slice() { either(file)? } else { of_files(&arguments.files)? };
        let report = arguments.select(made);
        arguments.write(&|format, out| write_report(&report, format, arguments.all, out))?;
        arguments.write_baseline(&report)?;
        arguments.check(&report, None).map(Ending::Budget)
    })
}

/// Compares, and returns the status to end with.
pub fn run_compare(arguments: Vec<OsString>, messages: &Messages) -> ExitCode {
    run_with(arguments, messages, arguments::COMPARE_USAGE, |arguments| {
        let [old, new] = arguments.files.as_slice() else { return Err(usage("two files are compared: an old and a new one")) };
        if arguments.sections {
            return arguments.compare_sections(old, new);
        }
        let (old, new) = (arguments.select(either(old)?), arguments.select(either(new)?));
        let comparison = compare(&old, &new);
        arguments.write(&|format, out| write_comparison(&comparison, format, out))?;
        arguments.write_baseline(&new)?;
        arguments.check(&new, Some(&old)).map(Ending::Budget)
    })
}

fn run_with(
    arguments: Vec<OsString>,
    messages: &Messages,
    usage: &str,
    act: impl FnOnce(&Arguments) -> Result<Ending, Failed>,
) -> ExitCode {
    let read = Arguments::read(arguments.into_iter()).map_err(|problem| self::usage(&problem));
    let result = match read {
        Ok(None) => return messages.print(usage),
        Ok(Some(arguments)) => arguments.check_outputs().and_then(|()| act(&arguments)),
        Err(diagnostic) => Err(diagnostic),
    };
    match result {
        Ok(Ending::Compared { same: true }) => ExitCode::SUCCESS,
        Ok(Ending::Compared { same: false }) => ExitCode::FAILURE,
        Ok(Ending::Budget(breaches)) if breaches.is_empty() => ExitCode::SUCCESS,
        Ok(Ending::Budget(breaches)) => {
            let entries: Vec<Entry> =
                breaches.into_iter().map(|text| Entry::Diagnostic(Diagnostic::new(Message::OverBudget { text }))).collect();
            messages.show(&messages.own_renderer(), &entries);
            ExitCode::FAILURE
        }
        Err(diagnostic) => {
            messages.show(&messages.own_renderer(), &[Entry::Diagnostic(*diagnostic)]);
            ExitCode::FAILURE
        }
    }
}

fn usage(text: &str) -> Failed {
    Box::new(Diagnostic::new(Message::Usage { text: text.to_owned() }).hint("--help says how"))
}

impl Arguments {
    /// Refuses outputs that are one file, or would replace what is read.
    fn check_outputs(&self) -> Result<(), Failed> {
        let outputs = [&self.output, &self.write_baseline].into_iter().flatten().map(PathBuf::as_path);
        let inputs = self.files.iter().chain(&self.budget).map(PathBuf::as_path);
        let collision = collision(outputs.filter(|path| *path != Path::new("-")), inputs);
        collision.map_or(Ok(()), |message| Err(Box::new(Diagnostic::new(message))))
    }

    fn select(&self, mut report: Report) -> Report {
        if !self.architectures.is_empty() {
            report.architectures.retain(|architecture| self.architectures.contains(&architecture.name));
        }
        report
    }

    /// Writes to where it was asked for.
    fn write(&self, write: &dyn Fn(Format, &mut dyn Write) -> io::Result<()>) -> Result<(), Failed> {
        let path = self.output.as_deref().filter(|path| *path != Path::new("-"));
        let by_name = || path.map_or(Format::Text, |path| Format::of_file(&path.to_string_lossy()));
        let format = self.format.unwrap_or_else(by_name);
        let Some(path) = path else {
            let mut out = BufWriter::new(io::stdout().lock());
            return match streams::was_open(1).and_then(|()| write(format, &mut out)).and_then(|()| out.flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(not_written(Path::new("standard output"), &error)),
                _ => Ok(()),
            };
        };
        write_file(path, &|out| write(format, out))
    }

    fn write_baseline(&self, report: &Report) -> Result<(), Failed> {
        self.write_baseline.as_deref().map_or(Ok(()), |path| write_file(path, &|out| render::json(report, out)))
    }

    /// What breaks the budget, if there is one.
    fn check(&self, report: &Report, old: Option<&Report>) -> Result<Vec<String>, Failed> {
        let Some(path) = &self.budget else { return Ok(Vec::new()) };
        let bytes = Bytes::of(path).map_err(|error| not_read(path, &error.to_string()))?;
        let text = str::from_utf8(bytes.as_ref()).map_err(|error| not_read(path, &error.to_string()))?;
        let budget = Budget::parse(text).map_err(|error| not_read(path, &error))?;
        let baseline = match &budget.baseline {
            Some(name) => Some(from_json(&path.with_file_name(name))?),
            None => None,
        };
        budget.breaches(report, baseline.as_ref().or(old)).map_err(|error| not_read(path, &error))
    }
}

fn write_file(path: &Path, write: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Failed> {
    let written = output::Pending::begin(path).and_then(|mut pending| {
        let mut out = BufWriter::new(&mut pending.contents);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        pending.commit()
    });
    written.map_err(|error| not_written(path, &error))
}

/// The report on a link, as the name of its file asks for it.
pub fn on_link(path: &Path, output: Option<&Path>, image: &[u8], account: Option<&Account>) -> Vec<u8> {
    let report = cuweld_report::of_link(&output.unwrap_or(Path::new("")).to_string_lossy(), image, account);
    let mut bytes = Vec::new();
    // Memory takes whatever is written to it.
    _ = write_report(&report, Format::of_file(&path.to_string_lossy()), true, &mut bytes);
    bytes
}

/// Writes a report.
fn write_report(report: &Report, format: Format, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let options = if all { TextOptions { most: None } } else { TextOptions::default() };
    match format {
        Format::Json => render::json(report, out),
        Format::Html => render::html(report, out),
        Format::Markdown => out.write_all(render::markdown(report, &options).as_bytes()),
        Format::Text => out.write_all(render::text(report, &options).as_bytes()),
    }
}

fn write_comparison(comparison: &Comparison, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let text = match format {
        Format::Json => render::json_comparison(comparison),
        Format::Html => render::html_comparison(comparison),
        Format::Markdown => render::markdown_comparison(comparison),
        Format::Text => render::text_comparison(comparison),
    };
    out.write_all(text.as_bytes())
}

fn not_written(path: &Path, error: &io::Error) -> Failed {
    let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
    Box::new(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause))
}

fn not_read(path: &Path, cause: &str) -> Failed {
    let file = path.to_string_lossy().into_owned();
    Box::new(Diagnostic::new(Message::CannotOpenInput { file, cause: cause.to_owned() }).also(cause))
}

/// A report on a file, or the one that it holds.
fn either(path: &PathBuf) -> Result<Report, Failed> {
    let is_json = Bytes::of(path).is_ok_and(|bytes| bytes.as_ref().trim_ascii_start().starts_with(b"{"));
    if is_json { from_json(path) } else { of_files(std::slice::from_ref(path)) }
}

fn from_json(path: &Path) -> Result<Report, Failed> {
    let text = Bytes::of(path).map_err(|error| not_read(path, &error.to_string()))?;
    Report::from_json(text.as_ref()).map_err(|error| not_read(path, &error.to_string()))
}

/// After so many bytes of a file, what was looked at goes back to the system.
const FORGET_AFTER: usize = 8 << 20;

/// Examines files. What was looked at of a large one does not stay in memory.
fn of_files(paths: &[PathBuf]) -> Result<Report, Failed> {
    resources::expect_large_pieces();
    let open = |path: &PathBuf| Bytes::of(path).map_err(|error| not_read(path, &error.to_string()));
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
