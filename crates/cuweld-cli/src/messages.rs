//! Printing.

use crate::options::{DiagnosticsStyle, LinkArguments, Severity, UsageError, UsageProblem};
use cuweld::diagnostics::{Code, Diagnostic, Entry, Message, Renderer, Style};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// How this run speaks.
pub struct Messages {
    /// Whether the program was called as `nvlink`, and so behaves like it.
    as_nvlink: bool,
}

impl Messages {
    /// The program behaves as the name it is called by.
    pub fn named_after(program: Option<OsString>) -> Self {
        let name = program.as_deref().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
        Messages { as_nvlink: name.to_string_lossy().starts_with("nvlink") }
    }

    /// What the program calls itself.
    pub fn program(&self) -> &'static str {
        if self.as_nvlink { "nvlink" } else { "cuweld" }
    }

    fn style(&self, asked: Option<DiagnosticsStyle>) -> Style {
        match asked {
            Some(DiagnosticsStyle::Rich) => Style::Rich,
            Some(DiagnosticsStyle::Json) => Style::Json,
            Some(DiagnosticsStyle::Nvlink) => Style::Nvlink,
            None if self.as_nvlink => Style::Nvlink,
            None => Style::Rich,
        }
    }

    /// Whether the link speaks, and judges its inputs, as the reference does.
    pub fn as_reference(&self, arguments: &LinkArguments) -> bool {
        self.style(arguments.messages.diagnostics) == Style::Nvlink
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
        match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    }

    /// Prints entries of a link's log.
    pub fn show(&self, renderer: &Renderer, entries: &[Entry]) {
        let text: String = entries.iter().map(|entry| renderer.render(entry)).collect();
        // Nothing can be said about a closed standard error.
        _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Says what is wrong with the command line.
    pub fn usage_error(&self, error: &UsageError) -> ExitCode {
        let renderer = Renderer {
            style: self.style(error.diagnostics),
            tool: error.tool_name.clone().unwrap_or_else(|| "nvlink".into()),
            target: error.reported_arch.clone(),
        };
        let entries: Vec<Entry> = error.problems.iter().map(|problem| Entry::Diagnostic(usage_diagnostic(problem))).collect();
        self.show(&renderer, &entries);
        ExitCode::FAILURE
    }

    /// Says more about a message.
    pub fn explain(&self, code: &str) -> ExitCode {
        let wanted = code.trim_start_matches("CW");
        match Code::EXPLANATIONS.iter().find(|(known, _)| known.0.to_string() == wanted) {
            Some((code, text)) => self.print(&format!("{code}: {text}\n")),
            None => {
                let message = Message::Usage { text: format!("there is no message with code '{code}'") };
                let renderer = Renderer { style: Style::Rich, tool: String::new(), target: None };
                self.show(&renderer, &[Entry::Diagnostic(Diagnostic::new(message))]);
                ExitCode::FAILURE
            }
        }
    }

    /// Says that something is not there yet.
    pub fn not_yet(&self, what: &str) -> ExitCode {
        let message = Message::Usage { text: format!("{what} is not supported yet") };
        let renderer = Renderer { style: self.style(None), tool: "nvlink".into(), target: None };
        self.show(&renderer, &[Entry::Diagnostic(Diagnostic::new(message))]);
        ExitCode::FAILURE
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
    let diagnostic = Diagnostic::new(message);
    match problem.hint() {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}
