//! The logs of a link: one of errors, and one of everything else.

use crate::release;
use crate::result::Outcome;
use cuweld::diagnostics::{Diagnostic, Entry, Message, Report, Severity, printable};

/// The two logs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Logs {
    /// What went wrong.
    pub errors: String,
    /// What else is to be said.
    pub infos: String,
}

impl Logs {
    /// Adds a line to the log of errors. Names in it can neither end it nor act upon a terminal.
    pub fn error(&mut self, line: &str) {
        self.errors.push_str(&printable(line));
        self.errors.push('\n');
    }

    /// Adds a line to the other log.
    pub fn info(&mut self, line: &str) {
        self.infos.push_str(&printable(line));
        self.infos.push('\n');
    }

    /// Adds what was said while an input was added or the link was made, under the name of the input.
    ///
    /// The result is that of the first message that has one.
    pub fn add(&mut self, report: &Report, name: Option<&str>) -> Option<Outcome> {
        let mut outcome = None;
        let is_limited = report.diagnostics().any(|diagnostic| matches!(diagnostic.message, Message::LimitedByInput { .. }));
        let failed = report.has_errors() || report.diagnostics().any(|diagnostic| refusal(&diagnostic.message).is_some());
        for entry in report.entries() {
            match entry {
                Entry::Listing(line) if failed => self.error(&compilers_line(line)),
                Entry::Listing(line) => self.info(&compilers_line(line)),
                // Nothing of the kind can be asked for here.
                Entry::Expansion(_) => {}
                // It is why the architecture is wrong, and says more.
                Entry::Diagnostic(Diagnostic { message: Message::WrongArchitecture { .. }, .. }) if is_limited => {}
                Entry::Diagnostic(diagnostic) => {
                    let found = self.add_diagnostic(diagnostic, name);
                    outcome = outcome.or(found);
                }
            }
        }
        outcome
    }

    fn add_diagnostic(&mut self, diagnostic: &Diagnostic, name: Option<&str>) -> Option<Outcome> {
        let Diagnostic { severity, message, also, hint, .. } = diagnostic;
        let plain = format!("{:8}: {message}", severity.name());
        let Some(Refusal { outcome, text, explain }) = refusal(message) else {
            match severity {
                _ if is_silent(message) => {}
                Severity::Info | Severity::Warning => self.info(&plain),
                Severity::Error | Severity::Fatal => self.error(&plain),
            }
            return None;
        };
        if explain {
            self.error(&plain);
            also.iter().chain(hint).for_each(|line| self.error(&format!("          {line}")));
        }
        if !text.is_empty() {
            let in_brackets = name.map(|name| format!(" ({name})")).unwrap_or_default();
            self.error(&text.replace("{in brackets}", &in_brackets).replace("{name}", name.unwrap_or_default()));
        }
        Some(outcome)
    }
}

/// How an input is refused.
struct Refusal {
    outcome: Outcome,
    /// What the log says; `{name}` stands for the name of the input, `{in brackets}` for the name and what is around it.
    text: &'static str,
    /// Whether it also says why. Where the library that this one stands in for has a text, that alone is said.
    explain: bool,
}

/// How inputs are refused that have a problem of this kind.
fn refusal(message: &Message) -> Option<Refusal> {
    let (outcome, text, explain) = match message {
        Message::WrongArchitecture { .. }
        | Message::AcceleratedForPlain {}
        | Message::NewerThanToolkit { .. }
        | Message::OlderThanSupported { .. } => (Outcome::InvalidInput, "ERROR 4: bad input:{name}", false),
        Message::BadObject { .. } => (Outcome::InvalidInput, "ERROR 4: bad input:{name}", true),
        Message::LimitedByInput { .. } => (Outcome::InvalidInput, release::words(release::spoken()).no_mercury, false),
        Message::NoCodeForTarget { .. } => (Outcome::InvalidInput, "ERROR 3: bad input: {name}", false),
        Message::BadContainer { .. } => (Outcome::InvalidInput, "ERROR 3: bad input: {name}", true),
        Message::NotForTheTarget { .. } => (Outcome::Finalize, "ERROR NVJITLINK_ERROR_FINALIZE: {name}", true),
        Message::NeedsLinkTimeOptimization {} | Message::NotIntermediateCode { .. } => {
            (Outcome::OptimizationNotEnabled, "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)", false)
        }
        Message::CompilerFailed {} => (Outcome::PtxCompile, "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX{in brackets}", false),
        Message::CompilerMissing { .. } | Message::CompilerUnusable { .. } => (Outcome::PtxCompile, "", true),
        Message::OptimizerFailed {} => (Outcome::NvvmCompile, "", false),
        _ => return None,
    };
    Some(Refusal { outcome, text, explain })
}

/// What is said on command lines only.
fn is_silent(message: &Message) -> bool {
    matches!(
        message,
        Message::PartialOptimization { .. }
            | Message::NothingToOptimize {}
            | Message::MergeFailed {}
            | Message::OptimizerSays { .. }
            | Message::CodeAsCompiled {}
    )
}

/// A line of the assembler's. Those that go on with what the line before said get its name, too.
fn compilers_line(line: &str) -> String {
    if line.starts_with("ptxas") { line.to_owned() } else { format!("ptxas         . {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_assembler() {
        assert_eq!(compilers_line("ptxas info    : 0 bytes gmem"), "ptxas info    : 0 bytes gmem");
        assert_eq!(compilers_line("    0 bytes stack frame"), "ptxas         .     0 bytes stack frame");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        let mut report = Report::default();
        let name = "f\u{1b}]0;title\u{7}\nERROR 1: made up".to_owned();
        report.say(Message::UndefinedReference { name, file: "a".into() });
        let mut logs = Logs::default();
        logs.add(&report, Some("a"));
        logs.error("no such file: b\nERROR 2");
        let lines: Vec<&str> = logs.errors.lines().collect();
        let expected = "error   : Undefined reference to 'f\\x1b]0;title\\x07\\nERROR 1: made up' in 'a'";
        assert_eq!(lines, [expected, "no such file: b\\nERROR 2"]);
    }

    #[test]
    fn the_log_names_the_input() {
        let mut report = Report::default();
        report.list("ptxas fatal   : Ptx assembly aborted due to errors");
        assert!(report.fatal::<()>(Message::CompilerFailed {}).is_err());
        let mut logs = Logs::default();
        assert_eq!(logs.add(&report, Some("a.ptx")), Some(Outcome::PtxCompile));
        let expected =
            "ptxas fatal   : Ptx assembly aborted due to errors\nERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (a.ptx)\n";
        assert_eq!(logs, Logs { errors: expected.into(), infos: String::new() });
    }
}
