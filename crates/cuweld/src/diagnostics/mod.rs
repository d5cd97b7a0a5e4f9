//! Diagnostics: messages with a code and a severity, collected while the phases run and rendered at the end.

mod expansion;
mod message;
mod render;
mod spelling;

pub use cubin::printable::printable;
pub use expansion::Expansion;
pub use message::{Family, Message, MessageCode};
pub use render::{Renderer, Style};
pub use spelling::edit_distance;

/// How bad a message is.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Severity {
    /// Said because it was asked for.
    Info,
    /// The link goes on, but someone should look.
    Warning,
    /// The link can not succeed; it goes on for a while, to find more.
    Error,
    /// The link ends here.
    Fatal,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal",
        }
    }
}

/// One diagnostic.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The severity, after `-Werror` and similar options.
    pub severity: Severity,
    /// The message.
    pub message: Message,
    /// The headline in cuweld's own words, where they say more than the reference linker's.
    pub headline: Option<String>,
    /// Related locations: references to the symbol, the other definition.
    pub also: Vec<String>,
    /// A hint how to fix it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic with the message's usual severity.
    pub fn new(message: Message) -> Self {
        Diagnostic { severity: message.severity(), message, headline: None, also: Vec::new(), hint: None }
    }

    /// Sets the headline in cuweld's own words.
    pub fn headline(mut self, text: impl Into<String>) -> Self {
        self.headline = Some(text.into());
        self
    }

    /// Adds a related location.
    pub fn also(mut self, text: impl Into<String>) -> Self {
        self.also.push(text.into());
        self
    }

    /// Adds the output of another program, line by line.
    pub fn told(mut self, text: &str) -> Self {
        self.also.extend(text.lines().map(str::to_owned));
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }
}

impl From<Message> for Diagnostic {
    fn from(message: Message) -> Self {
        Diagnostic::new(message)
    }
}

/// What a link printed, in order.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A message.
    Diagnostic(Diagnostic),
    /// A line of a listing that was asked for (what each kernel uses, say).
    Listing(String),
    /// Lines of a listing that may be much longer than what is kept of it (the call graph).
    Expansion(Expansion),
}

impl Entry {
    /// The message, if it is one.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Entry::Diagnostic(diagnostic) => Some(diagnostic),
            Entry::Listing(_) | Entry::Expansion(_) => None,
        }
    }
}

/// What warnings are worth.
#[derive(Copy, Clone, Debug, Default)]
pub struct WarningPolicy {
    /// Do not print warnings, whether or not they are errors.
    pub silent: bool,
    /// Warnings are errors.
    pub as_errors: bool,
}

/// Why a link ended without an image.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Something that makes going on pointless: unreadable input, clashing definitions.
    #[error("the link can not be made")]
    Fatal,
    /// The program is wrong: undefined references, limits exceeded.
    #[error("the program is wrong")]
    Errors,
    /// The caller ended the link.
    #[error("the link was cancelled")]
    Cancelled,
}

impl Failure {
    /// The exit status that the reference linker uses for this.
    pub fn exit_status(self) -> u8 {
        match self {
            Failure::Fatal | Failure::Cancelled => 1,
            Failure::Errors => 255,
        }
    }
}

/// The log of a link. The one thing that every phase may add to, because it never reads it.
#[derive(Debug, Default)]
pub struct Report {
    policy: WarningPolicy,
    entries: Vec<Entry>,
    errors: usize,
    /// How many of them ended a step of a link, and are no reason to end another.
    settled: usize,
    /// How many errors are shown.
    most_errors: Option<usize>,
}

impl Report {
    /// An empty log.
    pub fn new(policy: WarningPolicy) -> Self {
        Report { policy, ..Report::default() }
    }

    /// Shows no more than this many errors; the others are only counted. What ends a link is always shown.
    pub fn limit_errors(mut self, most: Option<usize>) -> Self {
        self.most_errors = most;
        self
    }

    /// How many errors were not shown.
    pub fn errors_not_shown(&self) -> usize {
        let shown = self.diagnostics().filter(|diagnostic| diagnostic.severity >= Severity::Error).count();
        self.errors - shown
    }

    /// Records a message.
    pub fn say(&mut self, message: Message) {
        self.add(Diagnostic::new(message));
    }

    /// Records a diagnostic, and applies the policy on warnings.
    pub fn add(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Warning {
            if self.policy.silent {
                return;
            }
            if self.policy.as_errors {
                diagnostic.severity = Severity::Error;
            }
        }
        if diagnostic.severity >= Severity::Error {
            self.errors += 1;
            let is_over = self.most_errors.is_some_and(|most| self.errors > most);
            if is_over && diagnostic.severity == Severity::Error {
                return;
            }
        }
        self.entries.push(Entry::Diagnostic(diagnostic));
    }

    /// Errors so far ended a step of a link, and are no reason to end another.
    pub(crate) fn settle_errors(&mut self) {
        self.settled = self.errors;
    }

    /// Records a line of a listing.
    pub fn list(&mut self, line: impl Into<String>) {
        self.entries.push(Entry::Listing(line.into()));
    }

    /// Records lines of a listing, each ended by a newline.
    pub fn list_expansion(&mut self, lines: Expansion) {
        self.entries.push(Entry::Expansion(lines));
    }

    /// Records a message that ends the link.
    pub fn fatal<T>(&mut self, diagnostic: impl Into<Diagnostic>) -> Result<T, Failure> {
        self.add(Diagnostic { severity: Severity::Fatal, ..diagnostic.into() });
        Err(Failure::Fatal)
    }

    /// Ends the link here if errors were found so far.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        if self.has_errors() { Err(Failure::Errors) } else { Ok(()) }
    }

    /// Whether an error was recorded that no step of the link ended with.
    pub fn has_errors(&self) -> bool {
        self.errors > self.settled
    }

    /// Changes diagnostics that were recorded.
    pub fn revise(&mut self, mut change: impl FnMut(&mut Diagnostic)) {
        for entry in &mut self.entries {
            if let Entry::Diagnostic(diagnostic) = entry {
                change(diagnostic);
            }
        }
    }

    /// What was recorded, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The diagnostics among what was recorded.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.entries.iter().filter_map(Entry::diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_over_the_limit_are_counted() {
        let mut report = Report::default().limit_errors(Some(2));
        for name in ["a", "b", "c", "d"] {
            report.say(Message::NotAKernelEverywhere { name: name.into() });
        }
        assert!(report.fatal::<()>(Message::MergeFailed {}).is_err());
        assert_eq!((report.diagnostics().count(), report.errors_not_shown()), (3, 2));
        assert!(report.checkpoint().is_err());
    }
}
