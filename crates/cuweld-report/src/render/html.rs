//! A report as one HTML page: no other file, no network.
//!
//! The page is the JSON of the report and a script that draws it. What is in the report comes from strangers, so that nothing of it is ever
//! markup: in the JSON, `<` and its like are written as escapes, and the script sets names as text only. A policy in the page forbids it
//! to load anything.

use crate::model::Report;
use std::io::{self, Write};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: [&str; 2] = [include_str!("page/page.js"), include_str!("page/map.js")];

/// Writes a report as a page.
///
/// # Errors
/// When it can not be written.
pub fn html(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let title = match report.files.as_slice() {
        [file] => file.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
        files => format!("{} files", files.len()),
    };
    let mut rest = PAGE;
    while let Some((before, behind)) = rest.split_once("{{") {
        out.write_all(before.as_bytes())?;
        let (word, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        match word {
            "title" => out.write_all(escaped(&title).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => SCRIPT.iter().try_for_each(|part| out.write_all(part.as_bytes()))?,
            _ => serde_json::to_writer(Harmless(out), report)?,
        }
        rest = behind;
    }
    out.write_all(rest.as_bytes())
}

/// A text that means itself in HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// Writes JSON so that it ends no element and begins none. These letters are in JSON only inside of strings.
struct Harmless<'out>(&'out mut dyn Write);

impl Write for Harmless<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if matches!(byte, b'<' | b'>' | b'&') {
                self.0.write_all(bytes.get(start..at).unwrap_or_default())?;
                write!(self.0, "\\u{byte:04x}")?;
                start = at + 1;
            }
        }
        self.0.write_all(bytes.get(start..).unwrap_or_default())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{File, SCHEMA, VERSION};

    #[test]
    fn nothing_of_a_report_is_markup() {
        let name = "</script><script>alert(1)</script>&\"'\u{2028}\n".to_owned();
        let file = File { name: name.clone(), problems: vec![name], ..File::default() };
        let report =
            Report { schema: SCHEMA.into(), version: VERSION, tool: String::new(), files: vec![file], architectures: Vec::new() };
        let mut page = Vec::new();
        html(&report, &mut page).expect("written");
        let page = String::from_utf8(page).expect("text");
        assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
        assert!(!page.contains("{{") && page.contains("&quot;&#39;"));
        let (_, data) = page.split_once("id=\"report\">").expect("the data");
        let (data, _) = data.split_once("</script>").expect("its end");
        assert_eq!(Report::from_json(data.as_bytes()).expect("a report"), report);
    }
}
