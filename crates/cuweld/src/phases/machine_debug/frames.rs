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
//! compared. The right thing is the description of
//! the copy that stays, where it was.

use super::{Draft, DraftPiece, Facts, Moved, Subject, word32, word64};
use crate::id::{FunctionId, InputSectionId};
use crate::phases::merge::OutputSection;
use crate::stubs;
use crate::views::View;
use cubin::capsule::Capsule;
use cubin::mercury::Places;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Behind the length of a record.
const LENGTH_END: usize = 12;
/// Where a description has the address of its function.
const ADDRESS: usize = 20;
/// Where it has the size of the function.
const SIZE: usize = 28;
/// Where a common part has the unit in which places in code are counted.
const CODE_ALIGN: usize = 22;
/// Where the program of a description starts.
const PROGRAM: usize = 36;
/// Records are padded to a multiple of this.
const ALIGN: usize = 8;
/// Places in machine code are counted in units of so many bytes.
const CODE_UNIT: u64 = 4;

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

/// A section of frames that one object brought.
struct Source<'data> {
    linked: InputSectionId,
    machine: InputSectionId,
    /// What the machine's side describes.
    frames: Vec<Described<'data>>,
}

/// A description, and the function it is of, if that stays.
type Described<'data> = (Frame<'data>, Option<Subject>);

impl<'data> Facts<'_, 'data> {
    /// Puts together a section of frames.
    pub(super) fn frames(&self, section: &OutputSection<'_>) -> Draft {
        let pieces: Vec<InputSectionId> = section.pieces.iter().map(|piece| piece.section).collect();
        let source = |&linked: &InputSectionId| {
            let machine = self.inputs().sections()[linked].machine?;
            Some(Source { linked, machine, frames: self.described(linked, machine) })
        };
        let sources: Vec<Source<'data>> = pieces.par_iter().filter_map(source).collect();
        let imitated = if self.relocate.options.imitate_defects { replaced(&sources) } else { HashSet::new() };
        // Only what is imitated needs the linked view.
        let linked_view: Vec<Vec<Described<'data>>> = match imitated.is_empty() {
            true => Vec::new(),
            false => sources.iter().map(|source| self.described(source.linked, source.linked)).collect(),
        };
        let merged: HashMap<FunctionId, (&[u8], Vec<u8>)> =
            imitated.into_iter().filter_map(|id| Some((id, self.merge(&sources, &linked_view, id)?))).collect();
        let mut described = HashSet::new();
        let size = sources.iter().map(|source| self.inputs().sections()[source.machine].data.len()).sum();
        let mut frames = Frames { bytes: Vec::with_capacity(size), common: None };
        let mut pieces = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let base = frames.bytes.len() as u64;
            let mut moved = Moved::default();
            for &(frame, subject) in &source.frames {
                let Some(subject) = subject else { continue };
                let place = match merged.get(&subject.function) {
                    Some((common, description)) if described.insert(subject.function) => frames.push(common, description),
                    Some(_) => {
                        let linked = linked_view.get(index).and_then(|side| of_function(side, subject.function));
                        let Some((linked, _)) = linked else { continue };
                        frames.push(linked.common, &with_program(linked.description, &[]))
                    }
                    None if subject.is_current => frames.push(frame.common, frame.description),
                    None => continue,
                };
                moved.insert(frame.address, place);
                let unit = frames.common.map(|(_, start)| start + CODE_ALIGN);
                if let (Some(slot), Some(unit)) = (self.relocate.unified.slot(subject.function), unit) {
                    let size = place as usize - ADDRESS + SIZE;
                    stubs::frame(slot, self.relocate.unified.stubs().len(), unit, size, &mut frames.bytes);
                }
            }
            pieces.push(DraftPiece { linked: source.linked, machine: source.machine, base, moved });
        }
        Draft { bytes: frames.bytes, pieces }
    }

    /// What a section of frames describes, as either view has it.
    fn described(&self, linked: InputSectionId, in_view: InputSectionId) -> Vec<Described<'data>> {
        let functions = self.functions(self.inputs().file_of_section(linked), in_view);
        let frames = read(self.inputs().sections()[in_view].data).into_iter();
        frames.map(|frame| (frame, functions.at(frame.address))).collect()
    }
}

/// The functions that are described in more than one copy.
fn replaced(sources: &[Source<'_>]) -> HashSet<FunctionId> {
    let subjects = sources.iter().flat_map(|source| source.frames.iter().filter_map(|(_, subject)| *subject));
    subjects.filter(|subject| !subject.is_current).map(|subject| subject.function).collect()
}

/// The descriptions of one function, in order, and whether each is that of the copy that stays.
fn of_function<'data>(side: &[Described<'data>], function: FunctionId) -> Option<(Frame<'data>, bool)> {
    let mine = side.iter().find(|(_, subject)| subject.is_some_and(|subject| subject.function == function))?;
    Some((mine.0, mine.1?.is_current))
}

impl<'data> Facts<'_, 'data> {
    /// The first description in the output of a function that is described more than once, with its common part.
    fn merge(
        &self,
        sources: &[Source<'data>],
        linked_view: &[Vec<Described<'data>>],
        function: FunctionId,
    ) -> Option<(&'data [u8], Vec<u8>)> {
        let machine = sources.iter().filter_map(|source| of_function(&source.frames, function)).find(|frame| frame.1)?.0;
        let own = read_program(program(machine.description));
        let linked = linked_view.iter().filter_map(|side| of_function(side, function));
        let places = self.places(function);
        let mut steps: BTreeMap<u64, &[u8]> = BTreeMap::new();
        for (frame, is_current) in linked {
            if is_current {
                steps.extend(own.iter().map(|step| (step.place, step.rule)));
            } else {
                let mut said = read_program(program(frame.description));
                let end = said.pop_if(|step| step.rule.is_empty());
                let placed = said
                    .iter()
                    .filter(|step| !step.rule.is_empty())
                    .chain(&end)
                    .filter_map(|step| Some((places.machine(step.place)? / CODE_UNIT, step.rule)));
                steps.extend(placed);
            }
        }
        Some((machine.common, with_program(machine.description, &write_program(&steps))))
    }

    /// Where Mercury instructions of a function are in its machine code; where that is not known, nowhere.
    fn places(&self, function: FunctionId) -> Places {
        let inputs = self.inputs();
        let places = || {
            let definition =
                self.relocate.resolution.symbols()[self.relocate.resolution.functions()[function].symbol].definition?;
            let code = self.relocate.resolution.code(inputs, function)?;
            let machine = inputs.in_view(code, View::Machine)?;
            let capsule = Capsule::new(inputs.sections()[code].data).ok()?;
            Places::new(capsule, inputs.sections()[machine].data, inputs.symbols()[definition].size).ok()
        };
        places().unwrap_or_default()
    }
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
    /// What holds from here on; empty where nothing new is said.
    rule: &'data [u8],
}

/// The parts of an instruction.
#[derive(Clone, Copy)]
enum Operand {
    /// Moves on by a word, or back.
    Advance,
    /// A number of variable length.
    Number,
    /// A number of variable length, and so many bytes.
    Block,
}

/// The instruction that moves on by a word.
const ADVANCE: u8 = 0x04;

/// The instructions that compilers use. The first one fills up, and so ends the program.
const INSTRUCTIONS: [(u8, &[Operand]); 6] = [
    (ADVANCE, &[Operand::Advance]),
    (0x05, &[Operand::Number, Operand::Number]),
    (0x06, &[Operand::Number]),
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
                Operand::Number => _ = number(program, &mut at),
                Operand::Block => at = number(program, &mut at).saturating_add(at),
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

/// Writes a program, with places in machine code.
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
        let mut description = vec![0xff; PROGRAM];
        description.extend(SAMPLE);
        let empty = with_program(&description, &[]);
        assert_eq!((empty.len(), word64(&empty, 4)), (40, Some(28)));
        assert!(read(&[0xff; 11]).is_empty());
        assert!(read(&[0xff; 64]).is_empty());
    }
}
