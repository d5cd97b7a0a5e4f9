//! Differences that are documented: ways of the reference that the default mode does not imitate.
//!
//! Links in the default mode may differ from the reference's by what rows of `imitations.rs` say, and by nothing else. Which rows these are is
//! found out by linking with one of them switched off at a time. With all that have an effect switched off, the linker under test must
//! make what it makes in the default mode, and with all of them on, what the reference makes.

use std::path::Path;

use cuweld::imitations::Imitation;

use super::run::{Outcome, Signature, Tools, Verdict, judge, link_as};

/// The rows by which an outcome of the default mode differs from the reference's; none if there is more to it.
pub fn find(
    expected: &Outcome,
    found: &Outcome,
    inputs: &[Vec<u8>],
    arguments: &[String],
    folder: &Path,
    tools: &Tools,
) -> Result<Option<Vec<Imitation>>, String> {
    let link_without = |rows: &[Imitation]| {
        let signature = Signature::Without(tools.release, rows.to_vec());
        link_as(&tools.candidate, &signature, arguments, folder, "imitating")
    };
    let imitating = link_without(&[])?;
    if let Verdict::Different(_) = judge(expected.clone(), &imitating, inputs, tools.release) {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for &row in Imitation::ALL {
        if link_without(&[row])? != imitating {
            rows.push(row);
        }
    }
    Ok((link_without(&rows)? == *found).then_some(rows))
}
