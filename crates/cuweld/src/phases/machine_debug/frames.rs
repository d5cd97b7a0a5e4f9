//! Frames: how a debugger finds the caller of a function.
//!
//! A section of frames is a sequence of records, each with its length in front: common parts (CIE), and descriptions of one function
//! each (FDE), which refer to the common part before them. A description is a small program: move on in the code, say what holds
//! from here on. Of each object, the machine's side has the descriptions of functions that stay.
//!
//! # Replaced copies
//!
//! When a copy of a function was replaced whose code had no relocations, the linked view still has the description of both copies.
//! The reference linker makes the machine's side from them: the function's first description gets everything that is said about the
//! function, place by place (the last word about a place counts, and places between Mercury instructions are passed over), all
//! others become empty, and keep the length of the Mercury code. Debuggers have no use for that; it is imitated where files are
//! compared, except for the places in code that only a decoder of Mercury code could tell. The right thing is the description of
//! the copy that stays, where it was.

use super::{Draft, DraftPiece, Facts, Functions, Moved, Subject, word64};
use crate::id::{FunctionId, InputSectionId};
use crate::phases::merge::OutputSection;
use std::collections::{HashMap, HashSet};

/// Behind the length of a record.
const LENGTH_END: usize = 12;
/// Where a description has the address of its function.
const ADDRESS: usize = 20;
/// Where the program of a description starts.
const PROGRAM: usize = 36;
/// Records are padded to a multiple of this.
const ALIGN: usize = 8;

/// The description of a function.
#[derive(Clone, Copy, Debug)]
struct Frame<'data> {
    /// The common part it refers to.
    common: &'data [u8],
    /// Itself.
    description: &'data [u8],
    /// Where in the section the address of the function stands.
    address: u64,
}

/// The descriptions in a section. What does not look like one ends them.
fn read(data: &[u8]) -> Vec<Frame<'_>> {
    let (mut at, mut common, mut frames) = (0, &data[..0], Vec::new());
    while let Some(length) = word64(data, at + 4) {
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(LENGTH_END)?.checked_add(length));
        let Some(record) = end.and_then(|end| data.get(at..end)) else { break };
        if word64(data, at + LENGTH_END) == Some(u64::MAX) {
            common = record;
        } else {
            frames.push(Frame { common, description: record, address: (at + ADDRESS) as u64 });
        }
        at += record.len();
    }
    frames
}

/// Frames of the output, as they are put together.
#[derive(Default)]
struct Frames<'data> {
    bytes: Vec<u8>,
    /// The last common part, and where it went.
    common: Option<(&'data [u8], usize)>,
}

impl<'data> Frames<'data> {
    /// Appends a description, behind its common part unless that is the last one, and returns where the function's address goes.
    fn push(&mut self, common: &'data [u8], description: &[u8]) -> u64 {
        let start = match self.common {
            Some((last, start)) if std::ptr::eq(last, common) => start,
            _ => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(common);
                self.common = Some((common, start));
                start
            }
        };
        let place = self.bytes.len();
        self.bytes.extend_from_slice(description);
        if let Some(field) = self.bytes.get_mut(place + LENGTH_END..place + LENGTH_END + 8) {
            field.copy_from_slice(&(start as u64).to_le_bytes());
        }
        (place + ADDRESS) as u64
    }
}

/// A section of frames that one object brought, in both views.
struct Source<'data> {
    piece: (InputSectionId, InputSectionId),
    linked: Vec<(Frame<'data>, Option<Subject>)>,
    machine: Vec<(Frame<'data>, Option<Subject>)>,
}

impl<'data> Facts<'_, 'data> {
    /// Puts together a section of frames.
    pub(super) fn frames(&self, section: &OutputSection<'_>) -> Draft {
        let subjects = |functions: &Functions, data: &'data [u8]| {
            read(data).into_iter().map(|frame| (frame, functions.at(frame.address))).collect()
        };
        let inputs = self.inputs();
        let sources: Vec<Source<'data>> = (section.pieces.iter())
            .filter_map(|piece| {
                let (linked, machine) = (piece.section, inputs.sections()[piece.section].machine?);
                let file = inputs.file_of_section(linked);
                let side = |id| subjects(&self.functions(file, id), inputs.sections()[id].data);
                Some(Source { piece: (linked, machine), linked: side(linked), machine: side(machine) })
            })
            .collect();
        let merged = if self.relocate.options.imitate_defects { merge_copies(&sources) } else { HashMap::new() };
        let mut described = HashSet::new();
        let mut frames = Frames::default();
        let mut pieces = Vec::new();
        for source in &sources {
            let base = frames.bytes.len() as u64;
            let mut moved = Moved::default();
            for &(frame, subject) in &source.machine {
                let Some(subject) = subject else { continue };
                let place = match merged.get(&subject.function) {
                    Some((common, description)) if described.insert(subject.function) => frames.push(common, description),
                    Some(_) => {
                        let same = |(_, other): &&(Frame<'_>, Option<Subject>)| {
                            other.is_some_and(|other| other.function == subject.function)
                        };
                        let Some((linked, _)) = source.linked.iter().find(same) else { continue };
                        frames.push(linked.common, &with_program(linked.description, &[]))
                    }
                    None if subject.is_current => frames.push(frame.common, frame.description),
                    None => continue,
                };
                moved.insert(frame.address, place);
            }
            let (linked, machine) = source.piece;
            pieces.push(DraftPiece { linked, machine, base, moved });
        }
        Draft { bytes: frames.bytes, pieces }
    }
}

/// For each function that is described more than once: its first description in the output, with its common part.
fn merge_copies<'data>(sources: &[Source<'data>]) -> HashMap<FunctionId, (&'data [u8], Vec<u8>)> {
    let subjects = |source: &'_ Source<'data>| source.machine.iter().filter_map(|(_, subject)| *subject).collect::<Vec<_>>();
    let replaced: HashSet<FunctionId> =
        sources.iter().flat_map(subjects).filter(|subject| !subject.is_current).map(|subject| subject.function).collect();
    let mut merged = HashMap::new();
    for function in replaced {
        let of = |side: &[(Frame<'data>, Option<Subject>)]| {
            let mine =
                side.iter().find_map(|&(frame, subject)| Some((frame, subject?)).filter(|(_, it)| it.function == function));
            mine.map(|(frame, subject)| (frame, subject.is_current))
        };
        let Some((current, _)) = sources.iter().filter_map(|source| of(&source.machine)).find(|&(_, is_current)| is_current)
        else {
            continue;
        };
        let programs: Vec<_> = (sources.iter().filter_map(|source| of(&source.linked)))
            .map(|(frame, is_current)| (read_program(program(frame.description)), is_current))
            .collect();
        let starts_at_zero = |steps: &[Step<'_>]| steps.first().is_some_and(|step| step.place == 0);
        let of_current = programs.iter().find(|(_, is_current)| *is_current);
        let says_more = of_current.is_some_and(|(steps, _)| !starts_at_zero(steps));
        let of_start = programs.iter().rev().filter_map(|(steps, _)| steps.first().filter(|step| step.place == 0)).next();
        let own = program(current.description);
        let length = read_program(own).iter().map(|step| step.end).max().unwrap_or(0);
        let description = match of_start {
            Some(first) if says_more => {
                with_program(current.description, &[first.rule, own.get(..length).unwrap_or(own)].concat())
            }
            _ => current.description.to_vec(),
        };
        merged.insert(function, (current.common, description));
    }
    merged
}

fn program(description: &[u8]) -> &[u8] {
    description.get(PROGRAM..).unwrap_or_default()
}

/// The description with another program.
fn with_program(description: &[u8], program: &[u8]) -> Vec<u8> {
    let mut bytes = description.get(..PROGRAM).unwrap_or(description).to_vec();
    bytes.extend_from_slice(program);
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    let length = (bytes.len() - LENGTH_END) as u64;
    if let Some(field) = bytes.get_mut(4..LENGTH_END) {
        field.copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

/// What a program says of a place in the code.
#[derive(Debug, PartialEq, Eq)]
struct Step<'data> {
    /// The place, in units that the common part defines.
    place: u64,
    /// What holds from here on; empty at the end.
    rule: &'data [u8],
    /// The end of this in the program.
    end: usize,
}

/// The parts of an instruction.
#[derive(Clone, Copy)]
enum Operand {
    /// Moves on by a number of so many bytes.
    Advance(usize),
    /// A number of variable length.
    Number,
    /// A number of variable length, and so many bytes.
    Block,
}

/// The instructions that compilers use. The first one fills up, and so ends the program.
const INSTRUCTIONS: [(u8, &[Operand]); 7] = [
    (0x02, &[Operand::Advance(1)]),
    (0x03, &[Operand::Advance(2)]),
    (0x04, &[Operand::Advance(4)]),
    (0x05, &[Operand::Number, Operand::Number]),
    (0x06, &[Operand::Number]),
    (0x0c, &[Operand::Number, Operand::Number]),
    (0x10, &[Operand::Number, Operand::Block]),
];

/// Reads a program up to its end, or to an instruction that is not known.
fn read_program(program: &[u8]) -> Vec<Step<'_>> {
    let (mut at, mut place, mut moved_to, mut steps) = (0, 0, None, Vec::new());
    while let Some(&(_, operands)) = program.get(at).and_then(|code| INSTRUCTIONS.iter().find(|row| row.0 == *code)) {
        let start = at;
        let mut advance = None;
        at += 1;
        for &operand in operands {
            match operand {
                Operand::Advance(size) => {
                    let bytes = program.get(at..at + size).unwrap_or_default();
                    advance = Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)));
                    at += size;
                }
                Operand::Number => _ = number(program, &mut at),
                Operand::Block => at = number(program, &mut at).saturating_add(at),
            }
        }
        if at > program.len() {
            break;
        }
        if let Some(advance) = advance {
            place += advance;
            moved_to = Some(at);
        } else {
            moved_to = None;
            steps.push(Step { place, rule: &program[start..at], end: at });
        }
    }
    steps.extend(moved_to.map(|end| Step { place, rule: &[], end }));
    steps
}

/// A number of seven bits per byte, the lowest first.
fn number(bytes: &[u8], at: &mut usize) -> usize {
    let (mut value, mut shift) = (0_usize, 0);
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        value |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    // Cut off: behind the end.
    *at = bytes.len() + 1;
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 0: the frame is where register 1 points to. At 0x20: register 0x95 is saved. Ends at 0x50.
    const SAMPLE: [u8; 27] =
        [4, 0, 0, 0, 0, 0x0c, 0x81, 0x80, 0x80, 0x28, 0, 4, 0x20, 0, 0, 0, 5, 0x95, 0x80, 0x80, 0x28, 1, 4, 0x30, 0, 0, 0];

    #[test]
    fn programs_are_read_place_by_place() {
        let steps = read_program(&SAMPLE);
        assert_eq!(
            steps.iter().map(|step| (step.place, step.rule.len(), step.end)).collect::<Vec<_>>(),
            [(0, 6, 11), (0x20, 6, 22), (0x50, 0, 27)]
        );
        for end in 0..SAMPLE.len() {
            assert!(read_program(&SAMPLE[..end]).iter().all(|step| step.end <= end));
        }
        assert!(read_program(&[0x10, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_empty());
    }

    #[test]
    fn records_with_another_program_have_its_length() {
        let mut description = vec![0xff; PROGRAM];
        description.extend(SAMPLE);
        let empty = with_program(&description, &[]);
        assert_eq!((empty.len(), word64(&empty, 4)), (40, Some(28)));
        assert!(read(&[0xff; 11]).is_empty());
        assert!(read(&[0xff; 64]).is_empty());
    }
}
