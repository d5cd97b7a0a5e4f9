//! Frames (`.debug_frame`): how a debugger finds the caller of a function.
//!
//! The section is a sequence of records, each with its length in front: CIEs, and FDEs of one function each, which refer to the CIE
//! before them. The instructions of an FDE advance the location in the code, and say which rule holds from there on. Of each object, the
//! machine view has the FDEs of live functions.
//!
//! # Replaced definitions
//!
//! When a definition of a function was replaced whose code had no relocations, the linked view still has the FDEs of both definitions.
//! The reference linker makes those of the machine view from them: the function's first FDE gets the rules of all, location by location
//! (the last rule prevails, and locations between Mercury instructions are passed over), and keeps its CIE; all others become empty, and
//! keep the length of the Mercury code. Debuggers have no use for that; it is imitated with `--compat`. The right thing is the
//! FDE of the prevailing definition, at the same offset.

use super::{Change, Draft, DraftPiece, Facts, Moved, Parts, Subject, word32, word64};
use crate::id::{FunctionId, InputSectionId};
use crate::imitations::Imitation;
use crate::phases::merge::OutputSection;
use cubin::relocation::{Bits, Part};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// After the length of a record.
const LENGTH_END: usize = 12;
/// Where an FDE has the address of its function.
const ADDRESS: usize = 20;
/// Where it has the size of the function.
const SIZE: usize = 28;
/// Where a CIE has the code alignment factor.
const CODE_ALIGN: usize = 22;
/// Where the program of an FDE starts.
const PROGRAM: usize = 36;
/// Records are padded to a multiple of this.
const ALIGN: usize = 8;
/// The code alignment factor of machine code, in bytes.
const CODE_UNIT: u64 = 4;

/// A word of a record.
const WORD: &[Bits] = &[Bits { first_bit: 0, width: 64, value_shift: 0, part: Part::Value }];
/// A byte of a record.
const BYTE: &[Bits] = &[Bits { width: 8, ..WORD[0] }];

/// The FDE of a function.
#[derive(Clone, Debug)]
struct Frame<'data> {
    /// The section it is in.
    data: &'data [u8],
    /// Where the CIE is that it refers to.
    cie: Range<usize>,
    /// Where it is itself.
    fde: Range<usize>,
}

impl<'data> Frame<'data> {
    fn fde(&self) -> &'data [u8] {
        &self.data[self.fde.clone()]
    }

    /// Where in the section the address of the function stands.
    fn address(&self) -> u64 {
        (self.fde.start + ADDRESS) as u64
    }
}

/// The FDEs in a section. What does not look like one ends them.
fn read(data: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let (mut at, mut cie) = (0, 0..0);
    std::iter::from_fn(move || {
        loop {
            let length = usize::try_from(word64(data, at + 4)?).ok()?;
            let record = at..at.checked_add(LENGTH_END)?.checked_add(length).filter(|&end| end <= data.len())?;
            at = record.end;
            if word64(data, record.start + LENGTH_END) != Some(u64::MAX) {
                return Some(Frame { data, cie: cie.clone(), fde: record });
            }
            cie = record;
        }
    })
}

/// Frames of the output, as they are built.
#[derive(Default)]
struct Frames<'data> {
    parts: Parts<'data>,
    /// What follows: bytes of an object that have stood together there.
    together: (&'data [u8], Range<usize>),
    /// The last CIE, and its offset in the output.
    cie: Option<(&'data [u8], u64)>,
    changes: Vec<Change>,
}

impl<'data> Frames<'data> {
    fn size(&self) -> u64 {
        self.parts.size + self.together.1.len() as u64
    }

    /// Appends an FDE, after its CIE unless that is the last one, and returns where it starts.
    fn push(&mut self, frame: &Frame<'data>) -> u64 {
        self.begin(frame, frame.fde.len());
        self.push_bytes(frame.data, frame.fde.clone())
    }

    /// The same, with another FDE.
    fn push_made(&mut self, frame: &Frame<'data>, fde: Vec<u8>) -> u64 {
        self.begin(frame, fde.len());
        self.end_together();
        self.parts.push(fde)
    }

    /// Appends the CIE of an FDE of this size, unless it is the last one.
    fn begin(&mut self, frame: &Frame<'data>, size: usize) {
        let cie = &frame.data[frame.cie.clone()];
        let start = match self.cie {
            Some((last, start)) if std::ptr::eq(last, cie) => start,
            _ => {
                let start = self.push_bytes(frame.data, frame.cie.clone());
                self.cie = Some((cie, start));
                start
            }
        };
        if size >= LENGTH_END + 8 {
            self.changes.push(Change { offset: self.size() + LENGTH_END as u64, field: WORD, value: start });
        }
    }

    fn push_bytes(&mut self, data: &'data [u8], range: Range<usize>) -> u64 {
        if !std::ptr::eq(self.together.0, data) || self.together.1.end != range.start {
            self.end_together();
            self.together = (data, range.start..range.start);
        }
        let start = self.size();
        self.together.1.end = range.end;
        start
    }

    /// Changes the size of the code in the FDE of a stub, and the unit in its CIE.
    fn change_stub(&mut self, start: u64, size: u64, unit: Option<u8>) {
        let Some((_, cie)) = self.cie else { return };
        self.changes.push(Change { offset: start + SIZE as u64, field: WORD, value: size });
        let unit = unit.map(|unit| Change { offset: cie + CODE_ALIGN as u64, field: BYTE, value: unit.into() });
        self.changes.extend(unit);
    }

    fn end_together(&mut self) {
        let (data, range) = std::mem::take(&mut self.together);
        if !range.is_empty() {
            self.parts.push(&data[range]);
        }
    }
}

/// A section of frames that one object brought.
struct Source<'data> {
    linked: InputSectionId,
    machine: InputSectionId,
    /// What the machine's side describes.
    frames: Vec<Described<'data>>,
}

/// An FDE, and the function it is of, if that is live.
type Described<'data> = (Frame<'data>, Option<Subject>);

impl<'data> Facts<'_, 'data> {
    /// Builds a section of frames.
    pub(super) fn frames(&self, section: &OutputSection<'_>) -> Draft<'data> {
        let pieces: Vec<InputSectionId> = section.pieces.iter().map(|piece| piece.section).collect();
        let source = |&linked: &InputSectionId| {
            let machine = self.inputs().sections()[linked].machine?;
            Some(Source { linked, machine, frames: self.described(linked, machine) })
        };
        let sources: Vec<Source<'data>> = pieces.par_iter().filter_map(source).collect();
        let imitated = if self.planned.options.imitates(Imitation::FramesOfReplacedDefinitions) {
            replaced(&sources)
        } else {
            HashSet::new()
        };
        // Only what is imitated needs the linked view.
        let linked_view: Vec<Vec<Described<'data>>> = match imitated.is_empty() {
            true => Vec::new(),
            false => sources.iter().map(|source| self.described(source.linked, source.linked)).collect(),
        };
        let merged: HashMap<FunctionId, Vec<u8>> =
            imitated.into_iter().filter_map(|id| Some((id, self.merge(&sources, &linked_view, id)?))).collect();
        let mut described = HashSet::new();
        let mut frames = Frames::default();
        let mut pieces = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let base = frames.size();
            let mut moved = Moved::default();
            let functions = self.functions(self.inputs().file_of_section(source.linked), source.machine);
            for (frame, subject) in &source.frames {
                let Some(subject) = subject else { continue };
                let cie_before = frames.cie;
                let stub = self.frame_of_stub(subject.function);
                let start = match merged.get(&subject.function) {
                    Some(fde) if described.insert(subject.function) => frames.push_made(frame, fde.clone()),
                    Some(_) => {
                        let linked = linked_view.get(index).and_then(|side| of_function(side, subject.function));
                        let Some((linked, _)) = linked else { continue };
                        frames.push_made(linked, with_program(linked.fde(), &[]))
                    }
                    None if !subject.is_current => continue,
                    // What is not rebuilt is as in the Mercury view, where the frame of a stub has no program.
                    None if matches!(stub, Some((_, Some(_)))) => frames.push_made(frame, with_program(frame.fde(), &[])),
                    None => frames.push(frame),
                };
                // The CIE of a function inside the code of another names the other.
                if let Some((_, cie)) = frames.cie.filter(|cie| cie_before.is_none_or(|before| before.1 != cie.1)) {
                    let starts_at = |offset: u64| functions.partition_point(|&(place, _)| place < offset);
                    let within = starts_at(frame.cie.start as u64)..starts_at(frame.cie.end as u64);
                    for &(place, _) in functions.get(within).unwrap_or_default() {
                        moved.insert(place, cie + (place - frame.cie.start as u64));
                    }
                }
                moved.insert(frame.address(), start + ADDRESS as u64);
                if let Some((size, unit)) = stub {
                    frames.change_stub(start, size, unit);
                }
            }
            pieces.push(DraftPiece { linked: source.linked, machine: source.machine, base, moved });
        }
        frames.end_together();
        Draft { parts: frames.parts, changes: frames.changes, pieces }
    }

    /// What the frame of a stub says instead: its size, and the unit in which offsets are counted.
    fn frame_of_stub(&self, stub: FunctionId) -> Option<(u64, Option<u8>)> {
        let unified = &self.planned.unified;
        Some(unified.form().frame(unified.slot(stub)?, unified.stubs().len()))
    }

    /// What a section of frames describes, as either view has it.
    fn described(&self, linked: InputSectionId, in_view: InputSectionId) -> Vec<Described<'data>> {
        let file = self.inputs().file_of_section(linked);
        let functions = self.functions(file, in_view);
        let described = |frame: Frame<'data>| {
            let found = functions.binary_search_by_key(&frame.address(), |&(offset, _)| offset);
            let subject = found.ok().and_then(|index| self.subject(functions[index].1, file));
            (frame, subject)
        };
        read(self.inputs().sections()[in_view].data).map(described).collect()
    }
}

/// The functions that have FDEs of more than one definition.
fn replaced(sources: &[Source<'_>]) -> HashSet<FunctionId> {
    let subjects = sources.iter().flat_map(|source| source.frames.iter().filter_map(|(_, subject)| *subject));
    subjects.filter(|subject| !subject.is_current).map(|subject| subject.function).collect()
}

/// The FDEs of one function, in order, and whether each is that of the prevailing definition.
fn of_function<'side, 'data>(side: &'side [Described<'data>], function: FunctionId) -> Option<(&'side Frame<'data>, bool)> {
    let (frame, subject) = side.iter().find(|(_, subject)| subject.is_some_and(|subject| subject.function == function))?;
    Some((frame, (*subject)?.is_current))
}

impl<'data> Facts<'_, 'data> {
    /// The first FDE in the output of a function that is described more than once.
    fn merge(&self, sources: &[Source<'data>], linked_view: &[Vec<Described<'data>>], function: FunctionId) -> Option<Vec<u8>> {
        let machine = sources.iter().filter_map(|source| of_function(&source.frames, function)).find(|frame| frame.1)?.0;
        let own = read_program(program(machine.fde()));
        let linked = linked_view.iter().filter_map(|side| of_function(side, function));
        let places = self.places(function);
        let mut steps: BTreeMap<u64, &[u8]> = BTreeMap::new();
        for (frame, is_current) in linked {
            if is_current {
                steps.extend(own.iter().map(|step| (step.place, step.rule)));
            } else {
                let mut said = read_program(program(frame.fde()));
                let end = said.pop_if(|step| step.rule.is_empty());
                let placed = said
                    .iter()
                    .filter(|step| !step.rule.is_empty())
                    .chain(&end)
                    .filter_map(|step| Some((places.machine_behind(step.place)? / CODE_UNIT, step.rule)));
                steps.extend(placed);
            }
        }
        Some(with_program(machine.fde(), &write_program(&steps)))
    }
}

fn program(fde: &[u8]) -> &[u8] {
    fde.get(PROGRAM..).unwrap_or_default()
}

/// The FDE with another program.
fn with_program(fde: &[u8], program: &[u8]) -> Vec<u8> {
    let mut bytes = fde.get(..PROGRAM).unwrap_or(fde).to_vec();
    bytes.extend_from_slice(program);
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    let length = (bytes.len() - LENGTH_END) as u64;
    if let Some(field) = bytes.get_mut(4..LENGTH_END) {
        field.copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

/// A rule, and the location from which on it holds.
#[derive(Debug, PartialEq, Eq)]
struct Step<'data> {
    /// The location, in units of the CIE's code alignment factor.
    place: u64,
    /// The rules from here on; empty if they do not change.
    rule: &'data [u8],
}

/// The parts of an instruction.
#[derive(Clone, Copy)]
enum Operand {
    /// Moves on by a word, or back.
    Advance,
    /// A ULEB128 number.
    Number,
    /// A number of variable length, and so many bytes.
    Block,
}

/// The instruction that moves on by a word.
const ADVANCE: u8 = 0x04;

/// The instructions that compilers use. The first one is padding, and so ends the program.
const INSTRUCTIONS: [(u8, &[Operand]); 7] = [
    (ADVANCE, &[Operand::Advance]),
    (0x05, &[Operand::Number, Operand::Number]),
    (0x06, &[Operand::Number]),
    (0x07, &[Operand::Number]),
    (0x09, &[Operand::Number, Operand::Number]),
    (0x0c, &[Operand::Number, Operand::Number]),
    (0x10, &[Operand::Number, Operand::Block]),
];

/// Reads a program up to its end, or to an instruction that is not known.
fn read_program(program: &[u8]) -> Vec<Step<'_>> {
    let (mut at, mut place, mut has_moved, mut steps) = (0, 0_u64, false, Vec::new());
    while let Some(&(_, operands)) = program.get(at).and_then(|code| INSTRUCTIONS.iter().find(|row| row.0 == *code)) {
        let start = at;
        let mut advance = None;
        at += 1;
        for &operand in operands {
            match operand {
                Operand::Advance => {
                    advance = word32(program, at).map(u32::cast_signed);
                    at += 4;
                }
                Operand::Number => _ = uleb128(program, &mut at),
                Operand::Block => at = uleb128(program, &mut at).saturating_add(at),
            }
        }
        if at > program.len() {
            break;
        }
        if let Some(advance) = advance {
            steps.extend(has_moved.then_some(Step { place, rule: &[] }));
            place = place.wrapping_add_signed(i64::from(advance));
        } else {
            steps.push(Step { place, rule: &program[start..at] });
        }
        has_moved = advance.is_some();
    }
    steps.extend(has_moved.then_some(Step { place, rule: &[] }));
    steps
}

/// Writes a program, with offsets in machine code.
fn write_program(steps: &BTreeMap<u64, &[u8]>) -> Vec<u8> {
    let (mut bytes, mut place) = (Vec::new(), 0);
    for (&next, rule) in steps {
        if next > place {
            bytes.push(ADVANCE);
            bytes.extend_from_slice(&((next - place) as u32).to_le_bytes());
            place = next;
        }
        bytes.extend_from_slice(rule);
    }
    bytes
}

/// A ULEB128 number.
fn uleb128(bytes: &[u8], at: &mut usize) -> usize {
    let (mut value, mut shift) = (0_usize, 0);
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        value |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    // Cut off: after the end.
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
        assert_eq!(steps.iter().map(|step| (step.place, step.rule.len())).collect::<Vec<_>>(), [(0, 6), (0x20, 6), (0x50, 0)]);
        let again = write_program(&steps.iter().map(|step| (step.place, step.rule)).collect());
        assert_eq!(again, SAMPLE[5..]);
        for end in 0..SAMPLE.len() {
            assert!(read_program(&SAMPLE[..end]).len() <= 3);
        }
        assert!(read_program(&[0x10, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_empty());
    }

    #[test]
    fn records_with_another_program_have_its_length() {
        let mut fde = vec![0xff; PROGRAM];
        fde.extend(SAMPLE);
        let empty = with_program(&fde, &[]);
        assert_eq!((empty.len(), word64(&empty, 4)), (40, Some(28)));
        assert!(read(&[0xff; 11]).next().is_none());
        assert!(read(&[0xff; 64]).next().is_none());
    }
}
