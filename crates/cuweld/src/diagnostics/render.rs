//! Turns a log into text.

use super::{Diagnostic, Entry, Severity};

/// Which words are used.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Style {
    /// For people: code, related places and hints.
    Rich,
    /// The reference linker's exact lines, for build systems that read them.
    Nvlink,
    /// One JSON object per line, for programs.
    Json,
}

/// Renders entries in one style.
#[derive(Clone, Debug)]
pub struct Renderer {
    /// Which words are used.
    pub style: Style,
    /// What the program calls itself in the reference linker's style.
    pub tool: String,
    /// Appended to every message when set (`-report-arch`).
    pub target: Option<String>,
}

impl Renderer {
    /// The text of an entry, each line ended by a newline.
    pub fn render(&self, entry: &Entry) -> String {
        match entry {
            Entry::Listing(line) => format!("{line}\n"),
            Entry::Diagnostic(diagnostic) => match self.style {
                Style::Nvlink => self.nvlink(diagnostic),
                Style::Rich => self.rich(diagnostic),
                Style::Json => self.json(diagnostic),
            },
        }
    }

    fn suffix(&self) -> String {
        self.target.as_ref().map(|target| format!(" (target: {target})")).unwrap_or_default()
    }

    fn nvlink(&self, diagnostic: &Diagnostic) -> String {
        let severity = diagnostic.severity.name();
        format!("{} {severity:8}: {}{}\n", self.tool, diagnostic.message, self.suffix())
    }

    fn rich(&self, diagnostic: &Diagnostic) -> String {
        let code = diagnostic.message.code();
        let words = words(diagnostic);
        let mut text = match diagnostic.severity {
            Severity::Info => format!("cuweld: {words}{}\n", self.suffix()),
            Severity::Warning => format!("cuweld: warning[{code}]: {words}{}\n", self.suffix()),
            Severity::Error | Severity::Fatal => {
                format!("cuweld: error[{code}]: {words}{}\n", self.suffix())
            }
        };
        for place in &diagnostic.also {
            text.push_str(&format!("  >>> {place}\n"));
        }
        if let Some(hint) = &diagnostic.hint {
            text.push_str(&format!("  hint: {hint}\n"));
        }
        text
    }

    fn json(&self, diagnostic: &Diagnostic) -> String {
        let list: Vec<String> = diagnostic.also.iter().map(|text| quoted(text)).collect();
        let optional = |text: Option<&String>| text.map_or("null".into(), |text| quoted(text));
        format!(
            "{{\"severity\":\"{}\",\"code\":\"{}\",\"message\":{},\"also\":[{}],\"hint\":{},\"target\":{}}}\n",
            diagnostic.severity.name(),
            diagnostic.message.code(),
            quoted(&words(diagnostic)),
            list.join(","),
            optional(diagnostic.hint.as_ref()),
            optional(self.target.as_ref())
        )
    }
}

/// What is said to people and programs.
fn words(diagnostic: &Diagnostic) -> String {
    diagnostic.headline.clone().unwrap_or_else(|| diagnostic.message.to_string())
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => result.extend(['\\', character]),
            '\n' => result.push_str("\\n"),
            control if control < ' ' => result.push_str(&format!("\\u{:04x}", control as u32)),
            other => result.push(other),
        }
    }
    result.push('"');
    result
}
