//! Renders diagnostics as text.

use super::{Diagnostic, Entry, Severity, printable};
use anstyle::AnsiColor;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Which words are used.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
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

    /// The same with colours, as escape sequences for a terminal. Only what is written for people has any.
    pub fn write_in_color(&self, entry: &Entry, out: &mut impl io::Write) -> io::Result<()> {
        match entry {
            Entry::Diagnostic(diagnostic) if self.style == Style::Rich => {
                out.write_all(self.rich(diagnostic, &COLORS).as_bytes())
            }
            _ => self.write(entry, out),
        }
    }

    /// The text of an entry, each line ended by a newline.
    pub fn render(&self, entry: &Entry) -> String {
        match entry {
            Entry::Listing(line) => format!("{}\n", printable(line)),
            Entry::Expansion(lines) => lines.to_string(),
            Entry::Diagnostic(diagnostic) => match self.style {
                Style::Nvlink => self.nvlink(diagnostic),
                Style::Rich => self.rich(diagnostic, &PLAIN),
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

    fn rich(&self, diagnostic: &Diagnostic, palette: &Palette) -> String {
        let code = diagnostic.message.code();
        let (words, suffix) = (words(diagnostic), self.suffix());
        let words = printable(&words);
        let (severity, style) = match diagnostic.severity {
            Severity::Info => return self.lines(format!("cuweld: {words}{suffix}\n"), diagnostic, palette),
            Severity::Warning => (format!("warning[{code}]:"), palette.warning),
            Severity::Error | Severity::Fatal => (format!("error[{code}]:"), palette.error),
        };
        let headline = palette.headline;
        let text = format!("cuweld: {style}{severity}{style:#} {headline}{words}{headline:#}{suffix}\n");
        self.lines(text, diagnostic, palette)
    }

    fn lines(&self, mut text: String, diagnostic: &Diagnostic, palette: &Palette) -> String {
        let Palette { place: style, hint: help, .. } = palette;
        for line in &diagnostic.also {
            text.push_str(&format!("  {style}>>>{style:#} {}\n", printable(line)));
        }
        if let Some(hint) = &diagnostic.hint {
            text.push_str(&format!("  {help}hint:{help:#} {}\n", printable(hint)));
        }
        text
    }

    fn json(&self, diagnostic: &Diagnostic) -> String {
        let fields: BTreeMap<_, _> = diagnostic.message.fields().into_iter().collect();
        let text = |names: &'static [&'static str]| names.iter().find_map(|name| fields.get(name)?.as_str());
        let (file, member) = text(&["file"]).map(file_and_member).unzip();
        let json = Json {
            severity: diagnostic.severity.name(),
            code: diagnostic.message.code().to_string(),
            message: words(diagnostic),
            symbol: text(&["name", "kernel", "function"]),
            file,
            member: member.flatten(),
            section: text(&["section"]),
            also: &diagnostic.also,
            hints: diagnostic.hint.as_slice(),
            target: self.target.as_deref(),
            fields: &fields,
        };
        // Texts and numbers can always be written.
        serde_json::to_string(&json).map_or(String::new(), |text| without_controls(text) + "\n")
    }
}

/// A diagnostic for programs; `docs/diagnostics.schema.json` describes it.
#[derive(Serialize)]
struct Json<'diagnostic> {
    severity: &'static str,
    code: String,
    message: String,
    symbol: Option<&'diagnostic str>,
    file: Option<&'diagnostic str>,
    member: Option<&'diagnostic str>,
    section: Option<&'diagnostic str>,
    also: &'diagnostic [String],
    hints: &'diagnostic [String],
    target: Option<&'diagnostic str>,
    fields: &'diagnostic BTreeMap<&'static str, serde_json::Value>,
}

/// The path of an archive, and the member of it that a name stands for, if it does.
fn file_and_member(name: &str) -> (&str, Option<&str>) {
    let end = [".a:", ".lib:"].iter().find_map(|end| Some(name.find(end)? + end.len()));
    match end.and_then(|end| name.split_at_checked(end)) {
        Some((archive, member)) => (archive.trim_end_matches(':'), Some(member)),
        None => (name, None),
    }
}

/// The colours of what is written for people.
struct Palette {
    error: anstyle::Style,
    warning: anstyle::Style,
    headline: anstyle::Style,
    place: anstyle::Style,
    hint: anstyle::Style,
}

const PLAIN: Palette = {
    let plain = anstyle::Style::new();
    Palette { error: plain, warning: plain, headline: plain, place: plain, hint: plain }
};

const COLORS: Palette = Palette {
    error: AnsiColor::Red.on_default().bold(),
    warning: AnsiColor::Yellow.on_default().bold(),
    headline: anstyle::Style::new().bold(),
    place: AnsiColor::Blue.on_default().bold(),
    hint: AnsiColor::Green.on_default().bold(),
};

/// The text for people and programs.
fn words(diagnostic: &Diagnostic) -> String {
    diagnostic.headline.clone().unwrap_or_else(|| diagnostic.message.to_string())
}

/// JSON in which the control characters that may stand in its strings, delete and those after it, are escaped, too.
fn without_controls(json: String) -> String {
    if !json.contains(char::is_control) {
        return json;
    }
    let escape = |character: char| match character.is_control() {
        true => format!("\\u{:04x}", character as u32),
        false => character.to_string(),
    };
    json.chars().map(escape).collect()
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
                r#"{"severity":"error","code":"CW3108","message":"undefined reference to 'g(int)'","symbol":"_Z1gi","file":"a.cubin","member":null,"section":null,"also":["referenced by kernel k in a.cubin","its symbol is _Z1gi"],"hints":["say \"g\""],"target":"sm_90","fields":{"file":"a.cubin","name":"_Z1gi"}}"#
                    .to_owned()
                    + "\n",
                format!(
                    r#"{{"severity":"warning","code":"CW3204","message":"{unknown}","symbol":"k","file":null,"member":null,"section":null,"also":[],"hints":[],"target":"sm_90","fields":{{"kernel":"k"}}}}"#
                ) + "\n",
            ),
        ] {
            let renderer = Renderer { style, tool: "tool".into(), target: Some("sm_90".into()) };
            assert_eq!(renderer.render(&Entry::Diagnostic(full.clone())), expected_full);
            assert_eq!(renderer.render(&Entry::Diagnostic(bare.clone())), expected_bare);
        }
    }

    #[test]
    fn colors() {
        let message = Message::UndefinedReference { name: "g".into(), file: "a.cubin".into() };
        let entry = Entry::Diagnostic(Diagnostic::new(message).headline("h").also("a").hint("b"));
        let renderer = Renderer { style: Style::Rich, tool: String::new(), target: None };
        let expected = "cuweld: \u{1b}[1m\u{1b}[31merror[CW3108]:\u{1b}[0m \u{1b}[1mh\u{1b}[0m\n  \u{1b}[1m\u{1b}[34m>>>\u{1b}[0m a\n  \
                        \u{1b}[1m\u{1b}[32mhint:\u{1b}[0m b\n";
        let in_color = |renderer: &Renderer| {
            let mut out = Vec::new();
            renderer.write_in_color(&entry, &mut out).expect("room in memory");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(in_color(&renderer), expected);
        assert_eq!(in_color(&Renderer { style: Style::Nvlink, ..renderer.clone() }).matches('\u{1b}').count(), 0);
        assert_eq!(renderer.render(&entry).matches('\u{1b}').count(), 0);
    }

    #[test]
    fn control_characters() {
        let message = Message::UndefinedReference { name: "g\u{1b}\u{7f}\u{9b}".into(), file: "a".into() };
        let renderer = Renderer { style: Style::Json, tool: String::new(), target: None };
        let text = renderer.render(&Entry::Diagnostic(Diagnostic::new(message)));
        assert!(text.contains(r#""symbol":"g\u001b\u007f\u009b""#), "{text}");
    }

    #[test]
    fn members_of_archives() {
        for (name, expected) in [
            ("a.o", ("a.o", None)),
            ("d/libx.a:b.o", ("d/libx.a", Some("b.o"))),
            ("C:\\m.lib:b.obj", ("C:\\m.lib", Some("b.obj"))),
            ("C:\\a.obj", ("C:\\a.obj", None)),
        ] {
            assert_eq!(file_and_member(name), expected);
        }
    }
}
