//! Differences that are documented: ways of the reference that the default mode does not imitate.
//!
//! Links in the default mode may differ from the reference's by what rows of `imitations.rs` say, and by nothing else. Which rows these are is
//! found out by linking with one of them switched off at a time, and then with one more as long as that has an effect. With all of these
//! switched off, the linker under test must make what it makes in the default mode, and with all of them on, what the reference makes.

use std::path::Path;

use cuweld::imitations::Imitation;

use super::run::{Outcome, Signature, Tools, Verdict, judge, link_as};

/// What both linkers made of the inputs.
pub struct Outcomes<'a> {
    /// What the reference did.
    pub expected: &'a Outcome,
    /// What the linker under test did.
    pub found: &'a Outcome,
    /// The inputs.
    pub inputs: &'a [Vec<u8>],
}

/// The rows by which an outcome of the default mode differs from the reference's; none if there is more to it.
pub fn find(
    outcomes: &Outcomes<'_>,
    arguments: &[String],
    folder: &Path,
    tools: &Tools,
) -> Result<Option<Vec<Imitation>>, String> {
    let imitating = link_without(&[], arguments, folder, tools)?;
    if let Verdict::Different(_) = judge(outcomes.expected.clone(), &imitating, outcomes.inputs, tools.known.release) {
        return find_refusal(&Outcomes { found: &imitating, ..*outcomes }, arguments, folder, tools);
    }
    // Without one row code may stay that others say something of, so that their effects show only then.
    let (mut rows, mut outcome) = (Vec::new(), imitating);
    loop {
        let mut more = Vec::new();
        for &row in Imitation::ALL.iter().filter(|row| !rows.contains(*row)) {
            let without = [rows.as_slice(), &[row]].concat();
            if link_without(&without, arguments, folder, tools)? != outcome {
                more.push(row);
            }
        }
        if more.is_empty() {
            return Ok(None);
        }
        rows.extend(more);
        outcome = link_without(&rows, arguments, folder, tools)?;
        if outcome == *outcomes.found {
            return Ok(Some(rows));
        }
    }
}

/// The rows by which the linker under test refuses to make what the reference makes: code or data that refers to a function which was
/// removed. Without them, the link must succeed.
pub fn find_refusal(
    outcomes: &Outcomes<'_>,
    arguments: &[String],
    folder: &Path,
    tools: &Tools,
) -> Result<Option<Vec<Imitation>>, String> {
    if outcomes.expected.status != Some(0) || !outcomes.found.messages.contains(" was removed, but '.") {
        return Ok(None);
    }
    let (lone, taken) = (Imitation::LoneKernelIsEverything, Imitation::CallsOfAddressTaken);
    for rows in [vec![lone], vec![taken], vec![lone, taken]] {
        if link_without(&rows, arguments, folder, tools)?.status == Some(0) {
            return Ok(Some(rows));
        }
    }
    Ok(None)
}

fn link_without(rows: &[Imitation], arguments: &[String], folder: &Path, tools: &Tools) -> Result<Outcome, String> {
    link_as(&tools.candidate, &Signature::Without(tools.known, rows.to_vec()), arguments, folder, "imitating")
}
