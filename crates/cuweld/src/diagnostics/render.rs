//! Turns a log into text.

use super::{Diagnostic, Entry, Severity, printable};
use std::io;

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
    /// Writes an entry, each line ended by a newline.
    pub fn write(&self, entry: &Entry, out: &mut impl io::Write) -> io::Result<()> {
        match entry {
            Entry::Expansion(lines) => write!(out, "{lines}"),
            _ => out.write_all(self.render(entry).as_bytes()),
        }
    }

    /// The text of an entry, each line ended by a newline.
    pub fn render(&self, entry: &Entry) -> String {
        match entry {
            Entry::Listing(line) => format!("{}\n", printable(line)),
            Entry::Expansion(lines) => lines.to_string(),
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
        let message = diagnostic.message.to_string();
        format!("{} {severity:8}: {}{}\n", self.tool, printable(&message), self.suffix())
    }

    fn rich(&self, diagnostic: &Diagnostic) -> String {
        let code = diagnostic.message.code();
        let words = words(diagnostic);
        let words = printable(&words);
        let mut text = match diagnostic.severity {
            Severity::Info => format!("cuweld: {words}{}\n", self.suffix()),
            Severity::Warning => format!("cuweld: warning[{code}]: {words}{}\n", self.suffix()),
            Severity::Error | Severity::Fatal => {
                format!("cuweld: error[{code}]: {words}{}\n", self.suffix())
            }
        };
        for line in diagnostic.also.iter().flat_map(|place| place.lines()) {
            text.push_str(&format!("  >>> {}\n", printable(line)));
        }
        if let Some(hint) = &diagnostic.hint {
            text.push_str(&format!("  hint: {}\n", printable(hint)));
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
pub(crate) fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => result.extend(['\\', character]),
            '\n' => result.push_str("\\n"),
            control if control.is_control() => result.push_str(&format!("\\u{:04x}", control as u32)),
            other => result.push(other),
        }
    }
    result.push('"');
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Message;

    /// One diagnostic with everything, and a bare one, in every style.
    #[test]
    fn styles() {
        let full = Diagnostic::new(Message::UndefinedReference { name: "_Z1gi".into(), file: "a.cubin".into() })
            .headline("undefined reference to 'g(int)'")
            .also("referenced by kernel k in a.cubin")
            .also("its symbol is _Z1gi")
            .hint("say \"g\"");
        let bare = Diagnostic::new(Message::UnknownStackSize { kernel: "k".into() });
        let unknown = bare.message.to_string();
        for (style, expected_full, expected_bare) in [
            (
                Style::Rich,
                "cuweld: error[CW3108]: undefined reference to 'g(int)' (target: sm_90)\n  >>> referenced by kernel k in a.cubin\n  \
                 >>> its symbol is _Z1gi\n  hint: say \"g\"\n"
                    .to_owned(),
                format!("cuweld: warning[CW3204]: {unknown} (target: sm_90)\n"),
            ),
            (
                Style::Nvlink,
                "tool error   : Undefined reference to '_Z1gi' in 'a.cubin' (target: sm_90)\n".to_owned(),
                format!("tool warning : {unknown} (target: sm_90)\n"),
            ),
            (
                Style::Json,
                "{\"severity\":\"error\",\"code\":\"CW3108\",\"message\":\"undefined reference to 'g(int)'\",\"also\":\
                 [\"referenced by kernel k in a.cubin\",\"its symbol is _Z1gi\"],\"hint\":\"say \\\"g\\\"\",\"target\":\"sm_90\"}\n"
                    .to_owned(),
                format!(
                    "{{\"severity\":\"warning\",\"code\":\"CW3204\",\"message\":{},\"also\":[],\"hint\":null,\"target\":\"sm_90\"}}\n",
                    quoted(&unknown)
                ),
            ),
        ] {
            let renderer = Renderer { style, tool: "tool".into(), target: Some("sm_90".into()) };
            assert_eq!(renderer.render(&Entry::Diagnostic(full.clone())), expected_full);
            assert_eq!(renderer.render(&Entry::Diagnostic(bare.clone())), expected_bare);
        }
    }
}
