//! What the reference writes that nobody can know.
//!
//! With `-v`, linkers since 13.1 say of a kernel without barriers what they said of the one before it, and of the first what happened to be in
//! their memory. The linker under test begins with 0.
//!
//! Debug information of an object speaks of its own copy of a function, whichever copy stays. The reference looks up the live ranges of
//! registers in the code that stays, and where nothing is found, it writes what happened to be in its memory. The linker under test
//! writes zeros there.

use cubin::read::{File, Section};

use super::run::Outcome;

/// The section with live ranges.
const LIVE_RANGES: &str = ".nv_debug_info_reg_sass";

/// Takes the candidate's count of barriers for the reference's up to the first kernel that has any, if the reference says one thing of all.
pub fn clear_barriers(reference: &mut Outcome, candidate: &Outcome) {
    let invented = reference
        .messages
        .lines()
        .zip(candidate.messages.lines())
        .filter_map(|(theirs, ours)| Some((barriers(theirs)?, barriers(ours)?)));
    let invented: Vec<&str> = invented.take_while(|(_, ours)| *ours == "0").map(|(theirs, _)| theirs).collect();
    let Some(first) = invented.first().filter(|first| invented.iter().all(|count| count == *first)) else { return };
    let (said, none) = (format!(" {first} barriers"), " 0 barriers");
    reference.messages = reference.messages.replacen(&said, none, invented.len());
}

/// How many barriers a line of `-v` counts.
fn barriers(line: &str) -> Option<&str> {
    Some(line.split_once(" barriers, ")?.0.rsplit_once(' ')?.1)
}

/// Clears the live ranges of the reference that the candidate has cleared, if several inputs define the function.
pub fn clear(reference: &mut Outcome, candidate: &Outcome, inputs: &[Vec<u8>]) {
    if let (Some(expected), Some(found)) = (&mut reference.output, &candidate.output) {
        let places = places(expected, found, inputs).unwrap_or_default();
        for place in places {
            if let Some(word) = expected.get_mut(place..place + 4) {
                word.fill(0);
            }
        }
    }
}

/// Where in the reference's output such words are.
fn places(expected: &[u8], found: &[u8], inputs: &[Vec<u8>]) -> Option<Vec<usize>> {
    let (expected, found) = (File::parse(expected).ok()?, File::parse(found).ok()?);
    expected.mercury_symbol_table()?;
    let inputs: Vec<File<'_>> = inputs.iter().filter_map(|input| File::parse(input).ok()).collect();
    let (theirs, ours) = (ranges(&expected)?, ranges(&found)?);
    if theirs.data.len() != ours.data.len() {
        return None;
    }
    let definitions = |name: &str| inputs.iter().filter(|input| input.section_named(&format!(".text.{name}")).is_some()).count();
    let start = usize::try_from(theirs.header.offset).ok()?;
    let mut words = Vec::new();
    let mut at = 0;
    while at < ours.data.len() {
        let end = text_end(ours.data, at)?;
        let name = String::from_utf8_lossy(ours.data.get(at..end - 1)?).into_owned();
        let count = u32::from_le_bytes(*ours.data.get(end..)?.first_chunk()?);
        at = end + 4;
        let is_meant = definitions(&name) > 1;
        for _ in 0..count {
            // A word, a name, a register, and the range.
            let range = text_end(ours.data, at + 4)? + 4;
            at = range + 8;
            let is_cleared = |word: &usize| ours.data.get(*word..*word + 4) == Some(&[0; 4]);
            words.extend([range, range + 4].into_iter().filter(|word| is_meant && is_cleared(word)).map(|word| start + word));
        }
    }
    Some(words)
}

fn ranges<'file, 'data>(file: &'file File<'data>) -> Option<&'file Section<'data>> {
    file.sections().iter().find(|section| section.name == LIVE_RANGES)
}

/// Behind the end of a text.
fn text_end(data: &[u8], at: usize) -> Option<usize> {
    Some(at + data.get(at..)?.iter().position(|&byte| byte == 0)? + 1)
}
