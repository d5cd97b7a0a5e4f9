//! The table of stubs of unified functions, where files hold two views of the program.
//!
//! Here the reference linker's code generator takes all stubs together as one function and generates its machine code anew; and
//! because stubs are all alike, so can this linker. An object's stub has eight instructions: a jump, a branch to itself, four that
//! do nothing, again a branch to itself, and one that does nothing. In the table, each stub is its first two instructions, filled up
//! with ones that do nothing; the other branch and its filling stand once, after all stubs. Since 13.1 there is no other branch in a table.
//!
//! In Mercury code a jump takes three units where machine code has one instruction, so that offsets in the two views differ. The
//! reference linker counts the symbols of stubs as if Mercury code had slots of the same size as machine code. Those are the offsets
//! that [`machine_value`] translates, and they mean nothing to the driver, which goes by the entries of the table.

use cubin::release::{Release, Rule};
use cubin::unified::STUB_SIZE;

/// How a table is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableForm {
    /// The second branch and its filling stand once, after all stubs.
    #[default]
    CommonEnd,
    /// Every stub is filled up by itself.
    Separate,
}

/// Bytes of a machine instruction.
const INSTRUCTION: usize = 16;
/// Bytes of a stub's Mercury code, where stubs have a common end.
const MERCURY_STUB_SIZE: u64 = 0xa0;
/// Bytes of the Mercury code of its jump, beyond those of the machine's.
const LONGER_JUMP: u64 = 0x20;
/// What frames of stubs say in the Mercury view: the size of the code, and the unit in which offsets are counted.
const MERCURY_FRAME_SIZE: u64 = 0x40;
const MERCURY_FRAME_UNIT: u8 = 1;
/// Mercury instructions of a stub, where stubs have a common end, and where they are separate.
const MERCURY_INSTRUCTIONS: usize = 8;
const SEPARATE_MERCURY_INSTRUCTIONS: usize = 7;
/// The last of those of a separate stub that can be read off the machine code.
const SEPARATE_READABLE_END: usize = 5;
/// What stands once after all stubs.
const END_SIZE: u64 = STUB_SIZE;
/// Where an instruction says what it waits for and how long the next one does, and what the generator writes there: for code, and for filling
/// inside of code. In an object made for debugging, all of them wait for everything.
const WAIT: usize = 13;
const WAIT_OF_CODE: [u8; 2] = [0xea, 0x0f];
const WAIT_INSIDE: [u8; 2] = [0xe2, 0x0f];
/// Where the filling at the end begins in a separate stub.
const FILLING_AT_END: usize = 6;

impl TableForm {
    /// How a release makes tables.
    pub fn of(release: &Release) -> Self {
        if release.has(Rule::StubsStandAlone) { Self::Separate } else { Self::CommonEnd }
    }

    /// The size of a table of so many stubs in the machine view.
    pub fn machine_size(self, stubs: usize) -> u64 {
        stubs as u64 * STUB_SIZE + if self == Self::CommonEnd { END_SIZE } else { 0 }
    }

    /// Where the Mercury code of the stub in a slot starts.
    pub fn mercury_offset(self, slot: u64) -> u64 {
        if self == Self::CommonEnd { slot / STUB_SIZE * MERCURY_STUB_SIZE } else { slot }
    }

    /// What the machine view has for the value of the symbol of the stub in a slot.
    pub fn machine_value(self, slot: u64) -> u64 {
        if self == Self::Separate {
            return slot;
        }
        let (whole, rest) = (slot / MERCURY_STUB_SIZE, slot % MERCURY_STUB_SIZE);
        let inside = if rest == 0 { 0 } else { rest.saturating_sub(LONGER_JUMP).max(INSTRUCTION as u64) };
        whole * STUB_SIZE + inside
    }

    /// What the machine view has for the size of that symbol.
    pub fn machine_symbol_size(self, slot: u64, stubs: usize) -> u64 {
        let next = slot + STUB_SIZE;
        match slot {
            0 => self.machine_size(stubs),
            _ if next == stubs as u64 * STUB_SIZE => self.machine_size(stubs) - self.machine_value(slot),
            _ => self.machine_value(next) - self.machine_value(slot),
        }
    }

    /// What the machine view has in the frame of the stub in a slot: the size of the code, and the unit in which offsets are counted, if
    /// it is another than in the object. Only the first is rebuilt; the others have what the Mercury view has.
    pub fn frame(self, slot: u64, stubs: usize) -> (u64, Option<u8>) {
        match slot {
            0 if stubs == 1 => (self.machine_size(stubs), None),
            0 => (self.machine_value(STUB_SIZE), None),
            _ => (MERCURY_FRAME_SIZE, Some(MERCURY_FRAME_UNIT)),
        }
    }

    /// Writes the machine view of a table from the stubs of the objects, in the order of their slots. In a link for debugging, instructions
    /// stay as they were compiled.
    pub fn write_machine(self, stubs: &[&[u8]], for_debugging: bool, out: &mut [u8]) {
        let instructions: Vec<_> = stubs.iter().map(|stub| stub.as_chunks::<INSTRUCTION>().0).collect();
        let mut places = out.as_chunks_mut::<INSTRUCTION>().0.iter_mut();
        let per_stub = STUB_SIZE as usize / INSTRUCTION;
        for stub in &instructions {
            for (index, place) in places.by_ref().take(per_stub).enumerate() {
                *place = match self {
                    Self::CommonEnd => stub.get(index.min(2)).copied().unwrap_or_default(),
                    Self::Separate => separate_instruction(stub, index),
                };
                let wait = match index {
                    _ if for_debugging => None,
                    0 | 1 => Some(WAIT_OF_CODE),
                    FILLING_AT_END.. if self == Self::Separate => None,
                    _ => Some(WAIT_INSIDE),
                };
                if let (Some(wait), Some(field)) = (wait, place.get_mut(WAIT..WAIT + 2)) {
                    field.copy_from_slice(&wait);
                }
            }
        }
        let Some([.., branch, filling]) = instructions.last().copied() else { return };
        for (index, place) in places.enumerate() {
            *place = if index == 0 { *branch } else { *filling };
        }
    }

    /// The capsule of a table, from the capsules of objects' stubs in the order of their slots; nothing, if one is not like stubs are. The
    /// number of its companion is left zero.
    pub fn capsule(self, stubs: &[&[u8]]) -> Option<Vec<u8>> {
        let count = match self {
            Self::CommonEnd => stubs.len() * MERCURY_INSTRUCTIONS + 1,
            Self::Separate => stubs.len() * SEPARATE_MERCURY_INSTRUCTIONS,
        };
        let mut capsule = vec![0; 4];
        capsule.extend_from_slice(stubs.first()?.get(4..8)?);
        capsule.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
        let bits = capsule.len();
        capsule.resize(bits + (count + 1).div_ceil(32) * 4, 0);
        let (each, readable_end) = match self {
            Self::CommonEnd => (MERCURY_INSTRUCTIONS, MERCURY_INSTRUCTIONS - 1),
            Self::Separate => (SEPARATE_MERCURY_INSTRUCTIONS, SEPARATE_READABLE_END),
        };
        for (index, stub) in stubs.iter().enumerate() {
            let [code @ .., 0x50, _] = stub.get(16..)? else { return None };
            // All but the jump can be read off the machine code; in objects made for debugging, all but the branch as well. What fills up
            // counts in a table, whether or not it does in the object.
            let first_readable = if stub.get(bits)? & 0b10 != 0 { 1 } else { 2 };
            for bit in (first_readable..=readable_end).map(|place| index * each + place) {
                capsule[bits + bit / 8] |= 1 << (bit % 8);
            }
            capsule.extend_from_slice(code);
            // Instructions that only fill up: eight after all stubs, or two after each.
            if self == Self::Separate {
                capsule.extend_from_slice(&[0x50, 1]);
            }
        }
        if self == Self::CommonEnd {
            capsule.extend_from_slice(&[0x50, 4]);
        }
        Some(capsule)
    }
}

/// Writes the second branch of an object's stub where the filling at its end begins.
pub fn write_second_branch(stub: &[u8], out: &mut [u8]) {
    let instructions = stub.as_chunks::<INSTRUCTION>().0;
    let Some(filling) = instructions.last() else { return };
    let branch = instructions.iter().skip(2).find(|instruction| *instruction != filling && instruction[WAIT] == filling[WAIT]);
    let place = out.as_chunks_mut::<INSTRUCTION>().0.get_mut(FILLING_AT_END);
    if let (Some(branch), Some(place)) = (branch, place) {
        *place = *branch;
    }
}

/// An instruction of a stub that is filled up by itself.
fn separate_instruction(stub: &[[u8; INSTRUCTION]], index: usize) -> [u8; INSTRUCTION] {
    let filling = stub.last().copied().unwrap_or_default();
    match index {
        0 | 1 => stub.get(index).copied().unwrap_or_default(),
        _ if index < FILLING_AT_END => {
            let mut inside = filling;
            inside[WAIT] = WAIT_INSIDE[0];
            inside
        }
        _ => filling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_counted_in_mercury_code() {
        let values: Vec<u64> = (0..9).map(|slot| TableForm::CommonEnd.machine_value(slot * STUB_SIZE)).collect();
        assert_eq!(values, [0, 0x60, 0xc0, 0x120, 0x190, 0x200, 0x260, 0x2c0, 0x320]);
        let sizes: Vec<u64> = (0..5).map(|slot| TableForm::CommonEnd.machine_symbol_size(slot * STUB_SIZE, 5)).collect();
        assert_eq!(sizes, [0x300, 0x60, 0x60, 0x70, 0x170]);
        assert_eq!(TableForm::CommonEnd.machine_symbol_size(0, 1), 0x100);
    }

    #[test]
    fn capsules_grow_by_stubs() {
        let stub = [0x18, 0, 0, 0, 1, 0, 0, 0xc0, 7, 0, 0, 0, 0x3e, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x50, 1];
        let two = [0, 0, 0, 0, 1, 0, 0, 0xc0, 17, 0, 0, 0, 0xfe, 0xfe, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x42, 0x0a, 2, 0x0e, 0x50, 4];
        assert_eq!(TableForm::CommonEnd.capsule(&[&stub, &stub]).as_deref(), Some(&two[..]));
        assert_eq!(TableForm::CommonEnd.capsule(&[&stub[..]; 4]).map(|capsule| capsule.len()), Some(12 + 8 + 16 + 2));
        assert_eq!(TableForm::CommonEnd.capsule(&[&stub[..18]]), None);
    }

    #[test]
    fn stubs_made_for_debugging_have_a_branch_of_their_own() {
        let stub = [0x18, 0, 0, 0, 1, 0, 0, 0xc0, 7, 0, 0, 0, 0x3e, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x50, 1];
        let debug = [0x2a, 0, 0, 0, 1, 0, 0, 0xc0, 7, 0, 0, 0, 0x3c, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x42, 0x33, 0, 0x0e, 0x50, 1];
        let header = [0, 0, 0, 0, 1, 0, 0, 0xc0, 17, 0, 0, 0, 0xfc, 0xfe, 0, 0];
        let both = [&header[..], &debug[16..24], &stub[16..20], &[0x50, 4]].concat();
        assert_eq!(TableForm::CommonEnd.capsule(&[&debug, &stub]), Some(both));
        let waiting = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0x3f, 0].repeat(8);
        let waits = |for_debugging| {
            let mut out = vec![0; TableForm::CommonEnd.machine_size(1) as usize];
            TableForm::CommonEnd.write_machine(&[&waiting], for_debugging, &mut out);
            [out[0x0d], out[0x1d], out[0x2d], out[0x8d]]
        };
        assert_eq!((waits(false), waits(true)), ([0xea, 0xea, 0xe2, 0xde], [0xde; 4]));
        // Since 13.1, what fills up a stub is no part of it in the object, but of the table.
        let stub = [0x11, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0, 0x02, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x50, 3];
        let debug = [0x22, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0, 0x00, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x42, 0x33, 0, 0x0e, 0x50, 3];
        let capsule = TableForm::Separate.capsule(&[&debug, &stub, &debug]).unwrap_or_default();
        assert_eq!(capsule[8..16], [21, 0, 0, 0, 0x3c, 0x1f, 0x0f, 0]);
    }

    #[test]
    fn stubs_end_together() {
        let stub: Vec<u8> = (0..8).flat_map(|index| [index; INSTRUCTION]).collect();
        let mut out = vec![0xff; TableForm::CommonEnd.machine_size(2) as usize];
        TableForm::CommonEnd.write_machine(&[&stub, &stub], false, &mut out);
        let first_bytes: Vec<u8> = out.as_chunks::<INSTRUCTION>().0.iter().map(|instruction| instruction[0]).collect();
        assert_eq!(first_bytes, [0, 1, 2, 2, 2, 2, 2, 2, 0, 1, 2, 2, 2, 2, 2, 2, 6, 7, 7, 7, 7, 7, 7, 7]);
    }

    #[test]
    fn stubs_stand_alone() {
        let stub = [0x15, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0, 2, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x50, 3];
        let jump = [0x42, 0x0a, 2, 0x0e, 0x50, 1];
        let three = [&[0, 0, 0, 0, 1, 0, 0, 0xc0, 21, 0, 0, 0, 0x3e, 0x9f, 0x0f, 0][..], &jump, &jump, &jump].concat();
        assert_eq!(TableForm::Separate.capsule(&[&stub[..]; 3]), Some(three));
        let stub: Vec<u8> = (0..8).flat_map(|index| [index; INSTRUCTION]).collect();
        let mut out = vec![0xff; TableForm::Separate.machine_size(2) as usize];
        TableForm::Separate.write_machine(&[&stub, &stub], false, &mut out);
        let first_bytes: Vec<u8> = out.as_chunks::<INSTRUCTION>().0.iter().map(|instruction| instruction[0]).collect();
        assert_eq!(first_bytes, [0, 1, 7, 7, 7, 7, 7, 7, 0, 1, 7, 7, 7, 7, 7, 7]);
        assert_eq!((out[0x2d], out[0x5d], out[0x6d]), (WAIT_INSIDE[0], WAIT_INSIDE[0], 7));
    }
}
