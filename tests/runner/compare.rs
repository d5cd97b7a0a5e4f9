//! Comparing results, and saying how they differ.

use crate::linker::{Files, Outcome};
use std::fmt::Write;

/// How many differences of a file are shown.
const MOST: usize = 20;

/// Fails with an explanation unless two outcomes are the same.
pub fn outcomes(left: &str, wanted: &Outcome, right: &str, found: &Outcome) -> Result<(), String> {
    let mut text = String::new();
    if wanted.status != found.status {
        _ = writeln!(text, "exit status: {left} {}, {right} {}", wanted.status, found.status);
    }
    if let Err(difference) = messages(left, &wanted.messages, right, &found.messages) {
        text.push_str(&difference);
    }
    for name in wanted.outputs.keys().chain(found.outputs.keys().filter(|name| !wanted.outputs.contains_key(*name))) {
        match (wanted.outputs.get(name), found.outputs.get(name)) {
            (Some(wanted), Some(found)) if wanted == found => {}
            (Some(wanted), Some(found)) => {
                _ = writeln!(text, "{name} differs ({left} | {right}):");
                text.push_str(&explain(wanted, found));
            }
            (Some(_), None) => _ = writeln!(text, "{name}: only {left} has it"),
            (None, _) => _ = writeln!(text, "{name}: only {right} has it"),
        }
    }
    if text.is_empty() { Ok(()) } else { Err(text) }
}

/// Fails with an explanation unless two texts are the same.
pub fn messages(left: &str, wanted: &str, right: &str, found: &str) -> Result<(), String> {
    if wanted == found {
        return Ok(());
    }
    let mut text = String::from("messages differ:\n");
    for (label, mine, other) in [(left, wanted, found), (right, found, wanted)] {
        for line in mine.lines().filter(|line| !other.lines().any(|same| same == *line)) {
            _ = writeln!(text, "  only {label}: {line}");
        }
    }
    if text.lines().count() == 1 {
        _ = write!(text, "  the same lines in another order; {right}:\n{found}");
    }
    Err(text)
}

/// Fails unless what is stored is what the sources give. What the host's tools make is left out: it depends on them.
pub fn inputs(stored: &Files, built: &Files) -> Result<(), String> {
    let is_device_code = |name: &&String| name.ends_with(".cubin") || name.ends_with(".fatbin");
    let stale: Vec<&str> =
        stored.keys().filter(is_device_code).filter(|name| stored.get(*name) != built.get(*name)).map(String::as_str).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("stored inputs are not what the sources give: {}; run `cargo xtask bless`", stale.join(", ")))
}

/// How two files differ.
fn explain(wanted: &[u8], found: &[u8]) -> String {
    match cubin_diff::compare(wanted, found) {
        Err(error) => format!("  {} bytes | {} bytes; not both are cubins: {error}\n", wanted.len(), found.len()),
        Ok(differences) => {
            let mut text: String = differences.iter().take(MOST).map(|difference| format!("  {difference}\n")).collect();
            if differences.len() > MOST {
                _ = writeln!(text, "  and {} more", differences.len() - MOST);
            }
            text
        }
    }
}
