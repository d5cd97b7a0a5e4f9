//! Command lines and what the reference does with them, recorded in `tests/options/cases.txt`, against this reader.
//! (`tests/options_differential.rs` compares the same record with the reference itself.)
//!
//! A case is a line `$ arguments`, quoted as in a shell, and what follows from it:
//! `status N`; `| line` for each message about usage; `note |text|`, `object |text|`, `tool |text|` for what the note of
//! the result says (only what differs from nothing, and nvlink); `prints help`, `prints version`, `prints script`;
//! and `later | line` for a message that belongs to a later stage. A line `file name "contents"` makes a file.

use super::{Found, Invocation, Severity, UsageProblem, parse, table, words};
use cubin::release::Release;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;

const CASES: &str = include_str!("../../tests/options/cases.txt");
const REFERENCE_OPTIONS: &str = include_str!("../../tests/options/reference_options.txt");

/// How messages are shown: the program's name, the target to add, and what is done to warnings.
#[derive(Default)]
struct Style {
    tool: Option<String>,
    target: Option<String>,
    warnings_as_errors: bool,
    /// What `-disable-infos` does in the reference.
    no_warnings: bool,
}

fn shown(problem: &UsageProblem, style: &Style) -> Option<String> {
    let late = problem.found == Found::Afterwards;
    let severity = match problem.severity() {
        Severity::Warning if late && style.no_warnings => return None,
        Severity::Warning if late && style.warnings_as_errors => "error",
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Fatal => "fatal",
    };
    let tool = style.tool.as_deref().filter(|_| late).unwrap_or("nvlink");
    let target = style.target.as_ref().filter(|_| late).map(|target| format!(" (target: {target})"));
    Some(format!("| {tool} {severity:8}: {problem}{}", target.unwrap_or_default()))
}

/// What this reader makes of a command line, in the words of the record.
fn outcome(line: &str, files: &HashMap<String, Vec<u8>>) -> Vec<String> {
    let arguments = words::response_file(line.as_bytes());
    let arguments = arguments.into_iter().map(|word| OsString::from(String::from_utf8_lossy(&word).into_owned()));
    let mut read_file = |path: &std::path::Path| {
        let contents = path.to_str().and_then(|name| files.get(name));
        contents.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    match parse(arguments, true, &mut read_file) {
        Err(error) => {
            let style = Style { tool: error.tool_name, target: error.reported_arch, ..Style::default() };
            let messages = error.problems.iter().filter_map(|problem| shown(problem, &style));
            messages.chain(["status 1".to_owned()]).collect()
        }
        Ok(Invocation::Help) => vec!["prints help".to_owned(), "status 0".to_owned()],
        Ok(Invocation::Version) => vec!["prints version".to_owned(), "status 0".to_owned()],
        Ok(Invocation::HostLinkerScript(script)) => {
            let style = Style { tool: script.tool_name, ..Style::default() };
            let messages = script.warnings.iter().filter_map(|problem| shown(problem, &style));
            messages.chain(["prints script".to_owned(), "status 0".to_owned()]).collect()
        }
        Ok(Invocation::Link(link)) => {
            let style = Style {
                tool: link.messages.tool_name.clone(),
                target: link.messages.report_arch.then(|| link.arch.clone()),
                warnings_as_errors: link.messages.warnings_as_errors,
                no_warnings: link.messages.disable_infos,
            };
            let mut lines: Vec<String> = link.warnings.iter().filter_map(|problem| shown(problem, &style)).collect();
            lines.push(format!("note |{}|", link.note.options));
            lines.extend((!link.note.object.is_empty()).then(|| format!("object |{}|", link.note.object)));
            let tool = link.messages.tool_name.filter(|tool| tool != "nvlink");
            lines.extend(tool.map(|tool| format!("tool |{tool}|")));
            lines.push("status 0".to_owned());
            lines
        }
        Ok(other) => vec![format!("{other:?}")],
    }
}

/// Whether what was made agrees with what was recorded: the same messages in the same order, and the same outcome as
/// far as it was seen. A link that failed later, or that owes no file, left no note.
fn agrees(recorded: &[&str], made: &[String]) -> bool {
    let is_message = |line: &&str| line.starts_with("| ");
    let messages: Vec<&str> = recorded.iter().copied().filter(is_message).collect();
    let made: Vec<&str> = made.iter().map(String::as_str).collect();
    if messages != made.iter().copied().filter(is_message).collect::<Vec<_>>() {
        return false;
    }
    let is_later_failure = |line: &&str| line.starts_with("later ") && line.contains(" fatal ");
    let fails_later = recorded.iter().any(|line| is_later_failure(line) || line.contains(" error "));
    let sees_note = recorded.iter().any(|line| line.starts_with("note "));
    let comparable = |line: &&str| match line.split(' ').next() {
        Some("|" | "later") => false,
        Some("status") => !fails_later,
        Some("note" | "object" | "tool") => sees_note,
        _ => true,
    };
    recorded.iter().copied().filter(comparable).eq(made.iter().copied().filter(comparable))
}

#[test]
fn every_recorded_command_line_is_read_as_by_the_reference() {
    let mut files = HashMap::new();
    let mut lines = CASES.lines().peekable();
    let mut failures = Vec::new();
    let mut count = 0;
    while let Some(line) = lines.next() {
        if let Some(file) = line.strip_prefix("file ") {
            let (name, contents) = file.split_once(' ').unwrap_or((file, ""));
            files.insert(name.to_owned(), unescaped(contents));
        } else if let Some(arguments) = line.strip_prefix("$ ").or(line.strip_prefix('$')) {
            let mut recorded = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                recorded.push(line.strip_prefix("  ").unwrap_or_default());
            }
            let made = outcome(arguments, &files);
            if !agrees(&recorded, &made) {
                failures.push(format!("$ {arguments}\n  recorded {recorded:#?}\n  made {made:#?}"));
            }
            count += 1;
        }
    }
    assert!(count > 400, "only {count} cases");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn no_option_of_the_reference_is_missing() {
    let mut documented = 0;
    for line in REFERENCE_OPTIONS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (long, short) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let first = words.next().map(|name| Release::by_name(name).expect("a release").toolkit);
        let row = table::rows().find(|row| format!("--{}", row.long) == long);
        let short_of_row = row.and_then(|row| row.short).map(|short| format!("-{short}")).unwrap_or_default();
        assert_eq!(row.map(|row| row.origin), Some(table::Origin::Reference), "{long}");
        assert_eq!(short_of_row, short, "{long}");
        assert_eq!(row.and_then(|row| table::first_toolkit(row.id, None)), first, "{long}");
        documented += 1;
    }
    assert_eq!(table::rows().filter(|row| row.origin == table::Origin::Reference).count(), documented);
}

/// The contents of a file from the text between quotation marks.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let mut characters = inner.unwrap_or_default().chars();
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            (_, Some('n')) => bytes.push(b'\n'),
            (_, Some('r')) => bytes.push(b'\r'),
            (_, Some('t')) => bytes.push(b'\t'),
            (_, Some('x')) => {
                let digits: String = characters.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or_default());
            }
            (_, Some(other)) => bytes.extend(other.to_string().into_bytes()),
            (other, None) => bytes.extend(other.to_string().into_bytes()),
        }
    }
    bytes
}
