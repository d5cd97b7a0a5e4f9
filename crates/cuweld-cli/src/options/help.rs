//! `--help` and `--version`.

use super::table::{self, OptionRow, Origin, Takes};
use crate::commands::{COMMANDS, Command};
use cubin::release::{Release, Tool};

/// How wide lines are at most, and at least.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=100;

/// How far an option's description is indented.
const INDENT: &str = "        ";

/// The text of `--version`. Its last line is for callers who look for the version of the reference.
pub fn version() -> String {
    let reference = Release::oldest().newest_build(Tool::Nvlink).map_or("", |build| build.version_text);
    format!(
        "cuweld {}, an open linker for CUDA device code\nIt works like the linker of\n{reference}\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The ways to call the program.
pub fn usage_lines() -> String {
    let mut text =
        "Usage: cuweld [options] <objects>   link device code: cuweld -arch=sm_90 a.o b.o -o linked.cubin\n".to_owned();
    let commands = COMMANDS.iter().map(|Command { word, arguments, summary, .. }| (format!("{word} {arguments}"), *summary));
    let others = [("--help", "list the options"), ("--explain <code>", "explain a message")];
    for (call, summary) in commands.chain(others.map(|(call, summary)| (call.to_owned(), summary))) {
        text.push_str(&format!("       cuweld {call:21} {summary}\n"));
    }
    text
}

/// The text of `--help`.
pub fn help(program: &str, terminal_width: Option<usize>) -> String {
    let width = terminal_width.unwrap_or(usize::MAX).clamp(*WIDTHS.start(), *WIDTHS.end());
    let usage = match program {
        "cuweld" => usage_lines(),
        other => format!("Usage: {other} [options] <objects>\n"),
    };
    let mut text = format!(
        "{usage}\n\
         Links device code: cubins, fatbins, PTX, host objects and libraries that contain any of them.\n\
         A value may also follow '=': --arch=sm_90. Lists are separated by commas; repeated lists are\n\
         concatenated. @<file> is replaced by the arguments in a file.\n"
    );
    for (heading, origin) in [("Options of nvlink", Origin::Reference), ("Options of cuweld", Origin::Extension)] {
        text.push_str(&format!("\n{heading}:\n\n"));
        for row in sorted(origin) {
            text.push_str(&entry(row, width));
        }
    }
    text
}

/// The rows of one origin, by name.
pub(super) fn sorted(origin: Origin) -> Vec<&'static OptionRow> {
    let mut rows: Vec<_> = table::rows().filter(|row| row.origin == origin).collect();
    rows.sort_by_key(|row| row.long.to_ascii_lowercase());
    rows
}

/// An option with its names and value: `--output-file <file>, -o <file>`.
pub(super) fn heading(row: &OptionRow) -> String {
    let value = value(row);
    let short = row.short.map(|short| format!(", -{short}{value}")).unwrap_or_default();
    format!("--{}{value}{short}", row.long)
}

fn value(row: &OptionRow) -> String {
    let Some(name) = row.takes.name() else {
        return String::new();
    };
    let list = if row.takes.is_list() { ",..." } else { "" };
    if row.takes.is_optional() { format!(" [<{name}>]") } else { format!(" <{name}>{list}") }
}

/// Everything there is to say about an option.
pub(super) fn description(row: &OptionRow) -> String {
    let mut text = row.summary.to_owned();
    if !row.details.is_empty() {
        text.push(' ');
        text.push_str(row.details);
    }
    let allowed = match row.takes {
        Takes::Keyword { allowed, .. } => allowed.join(", "),
        Takes::Architecture(_) | Takes::CudaRelease(_) | Takes::NvlinkBuild(_) => row.takes.words().join(", "),
        _ => String::new(),
    };
    if !allowed.is_empty() {
        text.push_str(&format!(" Possible values: {allowed}."));
    }
    text
}

fn entry(row: &OptionRow, width: usize) -> String {
    let mut text = format!("{}\n", heading(row));
    for line in wrapped(&description(row), width - INDENT.len()) {
        text.push_str(&format!("{INDENT}{line}\n"));
    }
    text
}

/// Breaks a text into lines at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_documented_option_and_fits() {
        let text = help("cuweld", None);
        for row in table::rows() {
            let named = text.lines().any(|line| line == heading(row));
            assert_eq!(named, row.origin != Origin::Undocumented, "--{}", row.long);
        }
        assert!(text.lines().all(|line| line.len() <= *WIDTHS.end()), "{text}");
        let narrow = help("nvlink", Some(50));
        let is_wide = |line: &&str| line.starts_with(INDENT) && line.len() > 50;
        assert_eq!(narrow.lines().find(is_wide), None);
    }

    #[test]
    fn version_has_the_line_that_callers_look_for() {
        let text = version();
        assert!(text.starts_with("cuweld "));
        assert_eq!(text.matches('V').count(), 1);
        assert!(text.ends_with("\nCuda compilation tools, release 13.0, V13.0.88\n"));
    }
}
