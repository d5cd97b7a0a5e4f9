//! What the reference writes that nobody can know.
//!
//! With `-v`, linkers since 13.1 say of a kernel without barriers what they said of the one before it, and of the first what happened to be in
//! their memory. The linker under test begins with 0.
//!
//! Debug information of an object speaks of its own copy of a function, whichever copy stays. The reference looks up the live ranges of
//! registers in the code that stays, and where nothing is found, it writes what happened to be in its memory. The linker under test
//! writes zeros there.
//!
//! Likewise with jump tables of weak copies that were discarded, which stay beside those of the copy that stays: the reference looks their
//! places up in the code that stays, and writes zeros for those it does not find. The linker under test leaves what the compiler wrote.
//! Nothing refers to such a table. Where a copy with a table was replaced, the table of the new one may be lost as well, as far as the old one
//! went, which sends branches astray: a defect of the reference.
//!
//! Jump tables that two stubs of unified functions lead to are zeros, as the stubs' banks belong to one section of code. This linker keeps
//! them.

use cubin::read::{File, Section};

use super::recoded::is_from_input;
use super::run::Outcome;

/// The section with live ranges.
const LIVE_RANGES: &str = ".nv_debug_info_reg_sass";

/// What jump tables in the machine view are called.
const JUMP_TABLES: &str = ".nv.constant2.";

/// What those in banks of stubs are called.
const JUMP_TABLES_OF_STUBS: &str = ".nv.constant2.__cuda_uf_stub_";

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

/// Makes the reference's output the candidate's where nobody can know what it has.
pub fn clear(reference: &mut Outcome, candidate: &Outcome, inputs: &[Vec<u8>]) {
    if let (Some(expected), Some(found)) = (&mut reference.output, &candidate.output) {
        let ranges = live_ranges(expected, found, inputs).unwrap_or_default();
        for place in ranges {
            if let Some(word) = expected.get_mut(place..place + 4) {
                word.fill(0);
            }
        }
        let tables = jump_tables(expected, found, inputs).unwrap_or_default();
        for (place, table) in tables.into_iter().chain(jump_tables_of_stubs(expected, found).unwrap_or_default()) {
            if let Some(words) = expected.get_mut(place..place + table.len()) {
                words.copy_from_slice(&table);
            }
        }
    }
}

/// Where in the reference's output tables of discarded copies are, and what the candidate has there: all that a compiler wrote for a copy of
/// a function whose code the output does not have.
fn jump_tables(expected: &[u8], found: &[u8], inputs: &[Vec<u8>]) -> Option<Vec<(usize, Vec<u8>)>> {
    let (expected, found) = (File::parse(expected).ok()?, File::parse(found).ok()?);
    expected.mercury_symbol_table()?;
    let inputs: Vec<File<'_>> = inputs.iter().filter_map(|input| File::parse(input).ok()).collect();
    let tables = inputs.iter().flat_map(|input| input.sections().iter().map(move |table| (input, table)));
    let (kept, discarded): (Vec<_>, Vec<_>) = tables
        .filter_map(|(input, table)| {
            let code = format!(".text.{}", table.name.strip_prefix(JUMP_TABLES)?);
            let (kept, own) = (named(&found, &code)?, named(input, &code)?);
            (!table.data.is_empty()).then_some((table.data, is_from_input(kept, input, own)))
        })
        .partition(|(_, is_kept)| *is_kept);
    let mut tables = Vec::new();
    for theirs in expected.sections().iter().filter(|section| section.name.starts_with(JUMP_TABLES)) {
        let ours = named(&found, theirs.name).filter(|ours| ours.data.len() == theirs.data.len())?.data;
        let start = usize::try_from(theirs.header.offset).ok()?;
        let places = |table: &'_ [u8]| {
            (0..ours.len()).step_by(4).filter(|&at| ours.get(at..at + table.len()) == Some(table)).collect::<Vec<_>>()
        };
        for (table, _) in discarded.iter().filter(|(table, _)| kept.iter().all(|(other, _)| other != table)) {
            tables.extend(places(table).into_iter().map(|at| (start + at, table.to_vec())));
        }
        // A place that was looked up is none, or that of an instruction.
        let is_looked_up = |at: &usize, size: usize| {
            theirs.data.get(*at..at + size).is_some_and(|words| {
                words.chunks(4).all(|word| word.first_chunk().is_some_and(|&word| u32::from_le_bytes(word) % INSTRUCTION == 0))
            })
        };
        // The table of the copy that stays is the first one, and others may equal it.
        for (table, _) in discarded.iter().filter(|(table, _)| kept.iter().any(|(other, _)| other == table)) {
            let later = places(table).into_iter().skip(1).filter(|at| is_looked_up(at, table.len()));
            tables.extend(later.map(|at| (start + at, table.to_vec())));
        }
        // Where another copy was taken first, the reference may have lost the table of the one that stays, as far as the other's went.
        for (table, _) in &kept {
            for lost in discarded.iter().filter_map(|(other, _)| table.get(..table.len().min(other.len()))) {
                let is_lost = |at: &usize| is_looked_up(at, lost.len());
                tables.extend(places(table).into_iter().filter(is_lost).map(|at| (start + at, lost.to_vec())));
            }
        }
    }
    Some(tables)
}

/// The size of an instruction.
const INSTRUCTION: u32 = 16;

/// Where in the reference's output words of banks of stubs are zero, and what the candidate has there, where several stubs have a bank.
fn jump_tables_of_stubs(expected: &[u8], found: &[u8]) -> Option<Vec<(usize, Vec<u8>)>> {
    let (expected, found) = (File::parse(expected).ok()?, File::parse(found).ok()?);
    expected.mercury_symbol_table()?;
    let is_of_stub = |section: &&Section<'_>| section.name.starts_with(JUMP_TABLES_OF_STUBS);
    let banks: Vec<&Section<'_>> = expected.sections().iter().filter(is_of_stub).collect();
    let mut words = Vec::new();
    for theirs in banks.iter().filter(|_| banks.len() > 1) {
        let ours = named(&found, theirs.name).filter(|ours| ours.data.len() == theirs.data.len())?.data;
        let start = usize::try_from(theirs.header.offset).ok()?;
        let lost = theirs.data.chunks(4).zip(ours.chunks(4)).enumerate().filter(|(_, (lost, _))| *lost == [0; 4]);
        words.extend(lost.map(|(index, (_, word))| (start + 4 * index, word.to_vec())));
    }
    Some(words)
}

/// Where in the reference's output words of live ranges are that the candidate has cleared, where several inputs define the function.
fn live_ranges(expected: &[u8], found: &[u8], inputs: &[Vec<u8>]) -> Option<Vec<usize>> {
    let (expected, found) = (File::parse(expected).ok()?, File::parse(found).ok()?);
    expected.mercury_symbol_table()?;
    let inputs: Vec<File<'_>> = inputs.iter().filter_map(|input| File::parse(input).ok()).collect();
    let (theirs, ours) = (named(&expected, LIVE_RANGES)?, named(&found, LIVE_RANGES)?);
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

fn named<'file, 'data>(file: &'file File<'data>, name: &str) -> Option<&'file Section<'data>> {
    file.sections().iter().find(|section| section.name == name)
}

/// After the end of a text.
fn text_end(data: &[u8], at: usize) -> Option<usize> {
    Some(at + data.get(at..)?.iter().position(|&byte| byte == 0)? + 1)
}
