//! Code that the reference generated anew.
//!
//! For sm_100 and later, the reference linker makes the machine code of every function itself, and some instructions then differ from
//! the compiler's. A linker that keeps the compiler's code is right as well: where its `.text` sections differ from the reference's,
//! every byte that differs must be the input's.

use super::difference::{Section, sections};
use super::run::Outcome;

/// The reference's outcome, with the candidate's code in place of its own where the candidate took the code from an input.
pub fn with_code_of_inputs(mut reference: Outcome, candidate: &Outcome, inputs: &[Vec<u8>]) -> Outcome {
    if let (Some(expected), Some(found)) = (&reference.output, &candidate.output)
        && expected != found
        && let Some(adjusted) = adjusted(expected, found, inputs)
    {
        reference.output = Some(adjusted);
    }
    reference
}

fn adjusted(expected: &[u8], found: &[u8], inputs: &[Vec<u8>]) -> Option<Vec<u8>> {
    const SM_100: u32 = 100;
    let target = u32::from_le_bytes(*expected.get(48..)?.first_chunk()?) >> 8 & 0xffff;
    if target < SM_100 || expected.len() != found.len() {
        return None;
    }
    let sources: Vec<(String, Section<'_>)> = inputs.iter().filter_map(|input| sections(input)).flatten().collect();
    let mut result = expected.to_vec();
    for ((name, (header, ours)), (other, (_, theirs))) in sections(expected)?.iter().zip(&sections(found)?) {
        let is_code = name == other && name.starts_with(".text.") && ours.len() == theirs.len();
        let explains = |source: &[u8]| {
            source.len() == theirs.len() && ours.iter().zip(*theirs).zip(source).all(|((a, b), c)| a == b || b == c)
        };
        if is_code && ours != theirs && sources.iter().any(|(source, (_, bytes))| source == name && explains(bytes)) {
            // The header's bytes are a slice of the file, so they tell where it is: the offset is the last of its fields.
            let offset =
                usize::try_from(u64::from_le_bytes(*expected.get(place(expected, header)? + 20..)?.first_chunk()?)).ok()?;
            result.get_mut(offset..offset + theirs.len())?.copy_from_slice(theirs);
        }
    }
    Some(result)
}

/// Where in a file a part of it is.
fn place(file: &[u8], part: &[u8]) -> Option<usize> {
    (part.as_ptr() as usize).checked_sub(file.as_ptr() as usize)
}
