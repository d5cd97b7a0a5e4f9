//! Writing reports: as text, as Markdown, as JSON, and as one HTML page.

mod comparison;
mod html;
mod markdown;
mod number;
mod sentences;
mod text;

pub use comparison::{html_comparison, json_comparison, text_comparison};
pub use html::html;
pub use markdown::{markdown, markdown_comparison};
pub(crate) use sentences::short;
pub use text::{TextOptions, text};

use crate::model::Report;
use std::io;

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a comment on a pull request.
    Markdown,
    /// For programs.
    Json,
    /// For a browser: one file.
    Html,
}

impl Format {
    /// The formats by name.
    pub const NAMES: [(&'static str, Format); 4] =
        [("text", Format::Text), ("md", Format::Markdown), ("json", Format::Json), ("html", Format::Html)];

    /// The format of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// The format that a file's name asks for; text, if it asks for none.
    #[must_use]
    pub fn of_file(name: &str) -> Self {
        name.rsplit_once('.').and_then(|(_, end)| Self::by_name(end)).unwrap_or(Format::Text)
    }
}

/// Writes a report as JSON, on one line.
///
/// # Errors
/// When it can not be written.
pub fn json(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}
