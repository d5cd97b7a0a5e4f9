//! Printing.

use crate::advice;
use crate::options::{
    Colors, DiagnosticsStyle, Found, HostLinkerScript, LinkArguments, Severity, UsageError, UsageProblem, usage_lines,
};
use crate::start::ExitCode;
use crate::streams;
use cuweld::diagnostics::{Diagnostic, Entry, Message, MessageCode, Renderer, Report, Style, WarningPolicy};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// How this run speaks.
pub struct Messages {
    /// Whether the program was called as `nvlink`, and so behaves like it.
    as_nvlink: bool,
    /// Whether it was called as `fatbinary`.
    as_fatbinary: bool,
    /// The style that the environment asks for.
    by_environment: Option<DiagnosticsStyle>,
}

/// The environment variable that says how to write messages where no option does.
pub const STYLE_VARIABLE: &str = "CUWELD_DIAGNOSTICS";

impl Messages {
    /// The program behaves as the name it is called by.
    pub fn named_after(program: Option<OsString>) -> Self {
        let name = program.as_deref().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
        let name = name.to_string_lossy();
        let by_environment = std::env::var(STYLE_VARIABLE).ok().and_then(|name| DiagnosticsStyle::by_name(&name));
        let as_fatbinary = name.starts_with(crate::bundle::NAME);
        Messages { as_nvlink: name.starts_with("nvlink"), as_fatbinary, by_environment }
    }

    /// Whether the program was called as the reference linker.
    pub fn is_nvlink(&self) -> bool {
        self.as_nvlink
    }

    /// Whether the program was called as the toolkit's program that makes fatbins.
    pub fn is_fatbinary(&self) -> bool {
        self.as_fatbinary
    }

    /// The renderer for what no option can change.
    pub fn own_renderer(&self) -> Renderer {
        Renderer { style: self.style(None), tool: "nvlink".into(), target: None }
    }

    /// What the program calls itself.
    pub fn program(&self) -> &'static str {
        if self.as_nvlink { "nvlink" } else { "cuweld" }
    }

    fn style(&self, asked: Option<DiagnosticsStyle>) -> Style {
        match asked.or(self.by_environment) {
            Some(DiagnosticsStyle::Rich) => Style::Rich,
            Some(DiagnosticsStyle::Json) => Style::Json,
            Some(DiagnosticsStyle::Nvlink) => Style::Nvlink,
            None if self.as_nvlink || self.as_fatbinary => Style::Nvlink,
            None => Style::Rich,
        }
    }

    /// Whether the link speaks, and judges its inputs, as the reference does.
    pub fn as_reference(&self, arguments: &LinkArguments) -> bool {
        self.style(arguments.messages.diagnostics) == Style::Nvlink
    }

    /// Whether the link takes inputs as the reference does, which passes over much of what it does not know: compilers rely on it,
    /// whatever messages are to look like.
    pub fn takes_as_reference(&self, arguments: &LinkArguments) -> bool {
        self.as_nvlink || self.as_reference(arguments)
    }

    /// Says when to use colours; otherwise terminals get them, unless the environment forbids it (`NO_COLOR`, `CLICOLOR`).
    pub fn choose_colors(&self, colors: Option<Colors>) {
        let choice = match colors {
            None => return,
            Some(Colors::Always) => anstream::ColorChoice::Always,
            Some(Colors::Never) => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }

    /// The renderer that a link's arguments ask for.
    pub fn renderer(&self, arguments: &LinkArguments) -> Renderer {
        let messages = &arguments.messages;
        Renderer {
            style: self.style(messages.diagnostics),
            tool: messages.tool_name.clone().unwrap_or_else(|| "nvlink".into()),
            target: messages.report_arch.then(|| arguments.arch.clone()),
        }
    }

    /// Prints what was asked for.
    pub fn print(&self, text: &str) -> ExitCode {
        let written = streams::was_open(1).and_then(|()| io::stdout().write_all(text.as_bytes()));
        let Err(error) = written else { return ExitCode::SUCCESS };
        // A reader that closes the pipe early wants no more: that is no error to report.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            let (file, cause) = ("standard output".to_owned(), error.to_string());
            let diagnostic = Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause);
            self.show(&self.own_renderer(), &[Entry::Diagnostic(diagnostic)]);
        }
        ExitCode::FAILURE
    }

    /// Says how the program is called, when it was called with nothing.
    pub fn usage(&self) -> ExitCode {
        _ = io::stderr().write_all(usage_lines().as_bytes());
        ExitCode::FAILURE
    }

    /// Prints entries of a link's log.
    pub fn show(&self, renderer: &Renderer, entries: &[Entry]) {
        // The reference's own way on Windows.
        let as_output = |entry: &Entry| cfg!(windows) && renderer.style == Style::Nvlink && matches!(entry, Entry::Diagnostic(_));
        for entries in entries.chunk_by(|one, next| as_output(one) == as_output(next)) {
            // Nothing can be said about a closed standard error.
            _ = match entries.first().is_some_and(as_output) {
                true => {
                    io::stdout().write_all(&as_text_file(&entries.iter().map(|entry| renderer.render(entry)).collect::<String>()))
                }
                false => show_as_errors(renderer, entries),
            };
        }
    }

    /// Prints the messages of a link, with advice, and with the number of errors beyond its limit.
    pub fn show_report(&self, renderer: &Renderer, report: &mut Report) {
        match report.errors_not_shown() {
            0 => {}
            count => report.say(Message::ErrorsNotShown { count }),
        }
        report.revise(advice::add_to);
        self.show(renderer, report.entries());
    }

    /// Says what is wrong with the command line.
    pub fn usage_error(&self, error: &UsageError) -> ExitCode {
        let renderer = Renderer {
            style: self.style(error.diagnostics),
            tool: error.tool_name.clone().unwrap_or_else(|| "nvlink".into()),
            target: error.reported_arch.clone(),
        };
        let late = self.show_found_while_reading(&renderer, &error.problems);
        let entries: Vec<Entry> = late.map(|problem| Entry::Diagnostic(usage_diagnostic(problem))).collect();
        self.show(&renderer, &entries);
        ExitCode::FAILURE
    }

    /// Says what was found while the command line was read, when no option was in force yet: under the program's own name, without
    /// the target, and a warning as a warning. Returns the rest, which comes later in any case.
    pub fn show_found_while_reading<'problems>(
        &self,
        renderer: &Renderer,
        problems: &'problems [UsageProblem],
    ) -> impl Iterator<Item = &'problems UsageProblem> + use<'problems> {
        let own = Renderer { style: renderer.style, tool: "nvlink".into(), target: None };
        let is_early = |problem: &&UsageProblem| problem.found == Found::WhileReading;
        let early: Vec<Entry> =
            problems.iter().filter(is_early).map(|problem| Entry::Diagnostic(usage_diagnostic(problem))).collect();
        self.show(&own, &early);
        problems.iter().filter(move |problem| !is_early(problem))
    }

    /// Says how a script for the host's linker could not be made.
    pub fn script_error(&self, script: &HostLinkerScript, diagnostic: Diagnostic) -> ExitCode {
        self.show(&self.script_renderer(script), &[Entry::Diagnostic(diagnostic)]);
        ExitCode::FAILURE
    }

    /// The renderer for what is said about a script for the host's linker.
    pub fn script_renderer(&self, script: &HostLinkerScript) -> Renderer {
        Renderer { style: self.style(None), tool: script.tool_name.clone().unwrap_or_else(|| "nvlink".into()), target: None }
    }

    /// Says more about a message.
    pub fn explain(&self, code: &str) -> ExitCode {
        if code == "list" {
            let first_sentence = |text: &'static str| text.split_inclusive(". ").next().unwrap_or(text).trim_end();
            let lines = MessageCode::EXPLANATIONS.iter().map(|(code, text)| format!("{code}: {}\n", first_sentence(text)));
            return self.print(&lines.collect::<String>());
        }
        let wanted = code.get(..2).filter(|start| start.eq_ignore_ascii_case("CW")).map_or(code, |start| &code[start.len()..]);
        match MessageCode::EXPLANATIONS.iter().find(|(known, _)| known.0.to_string() == wanted) {
            Some((code, text)) => self.print(&format!("{code}: {text}\n")),
            None => {
                let message = Message::Usage { text: format!("there is no message with code '{code}'") };
                let diagnostic = Diagnostic::new(message).hint("--explain list shows all codes");
                let renderer = Renderer { style: Style::Rich, tool: String::new(), target: None };
                self.show(&renderer, &[Entry::Diagnostic(diagnostic)]);
                ExitCode::FAILURE
            }
        }
    }
}

/// A report without entries, with the policy for warnings and the limit of errors of a command line.
pub fn new_report(arguments: &LinkArguments) -> Report {
    let messages = &arguments.messages;
    // As in the reference linker, it is not `-w` that silences warnings.
    Report::new(WarningPolicy { silent: messages.disable_infos, as_errors: messages.warnings_as_errors })
        .limit_errors(messages.error_limit.filter(|&most| most > 0).map(|most| most as usize))
}

/// Writes entries to standard error in large pieces, so that what several programs say does not mix.
fn show_as_errors(renderer: &Renderer, entries: &[Entry]) -> io::Result<()> {
    const PIECE: usize = 64 << 10;
    if anstream::AutoStream::choice(&io::stderr()) == anstream::ColorChoice::Never {
        let mut out = io::BufWriter::with_capacity(PIECE, io::stderr().lock());
        entries.iter().try_for_each(|entry| renderer.write(entry, &mut out))?;
        return out.flush();
    }
    let mut out = io::BufWriter::with_capacity(PIECE, anstream::stderr().lock());
    entries.iter().try_for_each(|entry| renderer.write_in_color(entry, &mut out))?;
    out.flush()
}

/// A text with the line ends of the system's text files.
pub fn as_text_file(text: &str) -> Vec<u8> {
    match cfg!(windows) {
        true => text.replace('\n', "\r\n").into_bytes(),
        false => text.as_bytes().to_vec(),
    }
}

/// A problem with the command line as a diagnostic.
pub fn usage_diagnostic(problem: &UsageProblem) -> Diagnostic {
    let text = problem.to_string();
    let message = match problem.severity() {
        Severity::Info => Message::UsageInfo { text },
        Severity::Warning => Message::UsageWarning { text },
        Severity::Fatal => Message::Usage { text },
    };
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.headline = problem.headline();
    match problem.hint() {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}
