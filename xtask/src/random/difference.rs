//! How the outcomes of two linkers differ, in one line.
//!
//! The line is a class and not a description: links that differ for the same reason should get the same line,
//! so that failures can be counted by it and the minimiser can tell whether it still looks at the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::run::Outcome;

/// The class of a difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference(String);

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Difference {
    /// A class that something else than the outcomes tells.
    pub fn of_kind(kind: String) -> Self {
        Difference(kind)
    }
}

/// Compares two outcomes.
pub fn between(reference: &Outcome, candidate: &Outcome) -> Option<Difference> {
    if reference.status != candidate.status {
        let show = |status: Option<i32>| status.map_or("none".into(), |status| status.to_string());
        // The message of the one that failed keeps different failures apart.
        let failed = if reference.status == Some(0) { candidate } else { reference };
        let reason = failed.messages.lines().find(|line| line.contains("fatal") || line.contains("error"));
        return Some(Difference(format!(
            "status {} instead of {}: {}",
            show(candidate.status),
            show(reference.status),
            message_kind(reason.unwrap_or("no message"))
        )));
    }
    match (&reference.output, &candidate.output) {
        (Some(expected), Some(found)) if expected != found => {
            return Some(Difference(match (sections(expected), sections(found)) {
                (Some(expected), Some(found)) => sections_that_differ(&expected, &found),
                _ => "output is not readable".into(),
            }));
        }
        (Some(_), None) => return Some(Difference("no output".into())),
        (None, Some(_)) => return Some(Difference("output where there should be none".into())),
        _ => {}
    }
    let (expected, found) = (lines(&reference.messages), lines(&candidate.messages));
    (expected != found).then(|| {
        let kind = expected.iter().chain(&found).find(|line| !(expected.contains(line) && found.contains(line)));
        // Part of the class, so that the minimiser does not turn a warning into a failed link.
        let failed = if reference.output.is_none() { " of a failed link" } else { "" };
        Difference(format!("messages{failed}: {}", kind.map_or("how often".into(), |line| message_kind(line))))
    })
}

/// The lines of the messages, in an order that does not depend on the program, spaces made equal.
fn lines(messages: &str) -> Vec<String> {
    let mut lines: Vec<String> = messages
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    lines.sort();
    lines
}

/// A message without the names and numbers in it.
fn message_kind(line: &str) -> String {
    let start = line.split(['\'', '[', ',']).next().unwrap_or(line);
    start.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// One section: its header without name and place, and its bytes.
type Section<'a> = (&'a [u8], &'a [u8]);

/// The sections of a device ELF file by name; sections of one name are joined in order.
fn sections(file: &[u8]) -> Option<Vec<(String, Section<'_>)>> {
    let number = |at: usize, width: usize| -> Option<usize> {
        let bytes = file.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0usize, |value, byte| (value << 8) | usize::from(*byte)))
    };
    let (table, count, names) = (number(40, 8)?, number(60, 2)?, number(62, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(64)?);
    let names_at = number(header(names)? + 24, 8)?;
    let mut list = Vec::new();
    for index in 0..count {
        let at = header(index)?;
        let start = names_at.checked_add(number(at, 4)?)?;
        let text = file.get(start..)?;
        let name = String::from_utf8_lossy(text.split(|byte| *byte == 0).next()?).into_owned();
        let kind = number(at + 4, 4)?;
        let (offset, size) = (number(at + 24, 8)?, number(at + 32, 8)?);
        let bytes = if kind == 0 || kind == 8 || kind >= 0x7000_0000 && offset + size > file.len() {
            &[][..]
        } else {
            file.get(offset..offset.checked_add(size)?).unwrap_or(&[])
        };
        list.push((name, (file.get(at + 4..at + 24)?, bytes)));
    }
    Some(list)
}

/// The sections of each name, in order.
fn by_name<'a>(list: &'a [(String, Section<'a>)]) -> BTreeMap<&'a str, Vec<Section<'a>>> {
    let mut map: BTreeMap<&str, Vec<Section<'_>>> = BTreeMap::new();
    for (name, section) in list {
        map.entry(name).or_default().push(*section);
    }
    map
}

/// Names the kinds of section that differ: `.text.f0` counts as `.text.*`.
fn sections_that_differ(expected: &[(String, Section<'_>)], found: &[(String, Section<'_>)]) -> String {
    let (left, right) = (by_name(expected), by_name(found));
    let mut kinds = BTreeSet::new();
    for name in left.keys().chain(right.keys()) {
        let kind = kind(name);
        match (left.get(name), right.get(name)) {
            (Some(one), Some(other)) if one == other => {}
            (Some(_), Some(_)) => {
                kinds.insert(kind);
            }
            (Some(_), None) => {
                kinds.insert(format!("-{kind}"));
            }
            _ => {
                kinds.insert(format!("+{kind}"));
            }
        }
    }
    if kinds.is_empty() {
        let order = |list: &[(String, Section<'_>)]| list.iter().map(|row| row.0.clone()).collect::<Vec<_>>();
        return if order(expected) == order(found) { "headers" } else { "section order" }.into();
    }
    // A section, a name or a symbol more or less moves every index after it: then the rest says nothing.
    let moves: [fn(&str) -> bool; 3] =
        [|kind| kind.starts_with(['+', '-']), |kind| kind == ".strtab" || kind == ".shstrtab", |kind| kind == ".symtab"];
    if let Some(cause) = moves.iter().find(|cause| kinds.iter().any(|kind| cause(kind))) {
        kinds.retain(|kind| cause(kind));
    }
    kinds.into_iter().collect::<Vec<_>>().join(" ")
}

/// The name of a section without the name of the function it belongs to.
pub(super) fn kind(name: &str) -> String {
    for part in [".text.", ".nv.info.", ".nv.shared.", ".nv.constant0.", ".nv.constant2."] {
        if let Some(at) = name.find(part) {
            return format!("{}*", &name[..at + part.len()]);
        }
    }
    match name.find("_txt.") {
        Some(at) => format!("{}*", &name[..at + 5]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{between, kind};
    use crate::random::run::Outcome;

    fn outcome(status: i32, messages: &str) -> Outcome {
        Outcome { status: Some(status), output: None, messages: messages.into() }
    }

    #[test]
    fn order_and_spaces_of_messages_do_not_count() {
        assert_eq!(between(&outcome(0, "a  b\nc\n"), &outcome(0, "c\na b\n")), None);
        let difference = between(&outcome(0, "error: no 'x'\n"), &outcome(0, "")).expect("differs");
        assert_eq!(difference.to_string(), "messages of a failed link: error: no ");
    }

    #[test]
    fn status_counts_first() {
        let difference = between(&outcome(255, "x"), &outcome(0, "")).expect("differs");
        assert_eq!(difference.to_string(), "status 0 instead of 255: no message");
    }

    #[test]
    fn sections_of_functions_are_one_kind() {
        assert_eq!(kind(".rela.text.f0"), ".rela.text.*");
        assert_eq!(kind(".nv.info"), ".nv.info");
        assert_eq!(kind(".nv_debug_ptx_txt.123"), ".nv_debug_ptx_txt.*");
    }
}
