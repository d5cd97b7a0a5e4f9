//! The table of stubs of unified functions, where files hold two views of the program.
//!
//! Here the reference linker's code generator takes all stubs together as one function and generates its machine code anew; and
//! because stubs are all alike, so can this linker. An object's stub has eight instructions: a jump, a branch to itself, four that
//! do nothing, again a branch to itself, and one that does nothing. In the table, each stub is its first two instructions, filled up
//! with ones that do nothing; the other branch and its filling stand once, behind all stubs.
//!
//! In Mercury code a jump takes three units where machine code has one instruction, so that offsets in the two views differ. The
//! reference linker counts the symbols of stubs as if Mercury code had slots of the same size as machine code. Those are the offsets
//! that [`machine_value`] translates, and they mean nothing to the driver, which goes by the entries of the table.

use cubin::unified::STUB_SIZE;

/// Bytes of a machine instruction.
const INSTRUCTION: usize = 16;
/// Bytes of a stub's Mercury code.
const MERCURY_STUB_SIZE: u64 = 0xa0;
/// Bytes of the Mercury code of its jump, beyond those of the machine's.
const LONGER_JUMP: u64 = 0x20;
/// What frames of stubs say in the Mercury view: the size of the code, and the unit in which offsets are counted.
const MERCURY_FRAME_SIZE: u64 = 0x40;
const MERCURY_FRAME_UNIT: u8 = 1;
/// Mercury instructions of a stub.
const MERCURY_INSTRUCTIONS: usize = 8;
/// What stands once behind all stubs.
const END_SIZE: u64 = STUB_SIZE;

/// The size of a table of so many stubs in the machine view.
pub fn machine_size(stubs: usize) -> u64 {
    stubs as u64 * STUB_SIZE + END_SIZE
}

/// Where the Mercury code of the stub in a slot starts.
pub fn mercury_offset(slot: u64) -> u64 {
    slot / STUB_SIZE * MERCURY_STUB_SIZE
}

/// What the machine view has for the value of the symbol of the stub in a slot.
pub fn machine_value(slot: u64) -> u64 {
    let (whole, rest) = (slot / MERCURY_STUB_SIZE, slot % MERCURY_STUB_SIZE);
    let inside = if rest == 0 { 0 } else { rest.saturating_sub(LONGER_JUMP).max(INSTRUCTION as u64) };
    whole * STUB_SIZE + inside
}

/// What the machine view has for the size of that symbol.
pub fn machine_symbol_size(slot: u64, stubs: usize) -> u64 {
    let next = slot + STUB_SIZE;
    match slot {
        0 => machine_size(stubs),
        _ if next == stubs as u64 * STUB_SIZE => machine_size(stubs) - machine_value(slot),
        _ => machine_value(next) - machine_value(slot),
    }
}

/// What the machine view has in the frame of the stub in a slot: the size of the code, and the unit in which offsets are counted, if
/// it is another than in the object. Only the first is made anew; the others have what the Mercury view has.
pub fn frame(slot: u64, stubs: usize) -> (u64, Option<u8>) {
    match slot {
        0 if stubs == 1 => (machine_size(stubs), None),
        0 => (machine_value(STUB_SIZE), None),
        _ => (MERCURY_FRAME_SIZE, Some(MERCURY_FRAME_UNIT)),
    }
}

/// Writes the machine view of a table from the stubs of the objects, in the order of their slots.
pub fn write_machine(stubs: &[&[u8]], out: &mut [u8]) {
    let instructions: Vec<_> = stubs.iter().map(|stub| stub.as_chunks::<INSTRUCTION>().0).collect();
    let mut places = out.as_chunks_mut::<INSTRUCTION>().0.iter_mut();
    let per_stub = STUB_SIZE as usize / INSTRUCTION;
    for stub in &instructions {
        for (index, place) in places.by_ref().take(per_stub).enumerate() {
            *place = stub.get(index.min(2)).copied().unwrap_or_default();
        }
    }
    let Some([.., branch, filling]) = instructions.last().copied() else { return };
    for (index, place) in places.enumerate() {
        *place = if index == 0 { *branch } else { *filling };
    }
}

/// The capsule of a table, from the capsule of an object's stub; nothing, if that is not like all others. The number of its
/// companion is left zero.
pub fn capsule(stub: &[u8], stubs: usize) -> Option<Vec<u8>> {
    let version = stub.get(4..8)?;
    let [jump @ .., 0x50, _] = stub.get(16..)? else { return None };
    let count = stubs * MERCURY_INSTRUCTIONS + 1;
    let mut capsule = vec![0; 4];
    capsule.extend_from_slice(version);
    capsule.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    // Of each stub, all but the jump can be read off the machine code.
    let bits = capsule.len()..capsule.len() + stubs;
    capsule.resize(bits.start + (count + 1).div_ceil(32) * 4, 0);
    capsule[bits].fill(0xfe);
    for _ in 0..stubs {
        capsule.extend_from_slice(jump);
    }
    // Eight instructions that only fill up.
    capsule.extend_from_slice(&[0x50, 4]);
    Some(capsule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_counted_in_mercury_code() {
        let values: Vec<u64> = (0..9).map(|slot| machine_value(slot * STUB_SIZE)).collect();
        assert_eq!(values, [0, 0x60, 0xc0, 0x120, 0x190, 0x200, 0x260, 0x2c0, 0x320]);
        let sizes: Vec<u64> = (0..5).map(|slot| machine_symbol_size(slot * STUB_SIZE, 5)).collect();
        assert_eq!(sizes, [0x300, 0x60, 0x60, 0x70, 0x170]);
        assert_eq!(machine_symbol_size(0, 1), 0x100);
    }

    #[test]
    fn capsules_grow_by_stubs() {
        let stub = [0x18, 0, 0, 0, 1, 0, 0, 0xc0, 7, 0, 0, 0, 0x3e, 0, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x50, 1];
        let two = [0, 0, 0, 0, 1, 0, 0, 0xc0, 17, 0, 0, 0, 0xfe, 0xfe, 0, 0, 0x42, 0x0a, 2, 0x0e, 0x42, 0x0a, 2, 0x0e, 0x50, 4];
        assert_eq!(capsule(&stub, 2).as_deref(), Some(&two[..]));
        assert_eq!(capsule(&stub, 4).map(|capsule| capsule.len()), Some(12 + 8 + 16 + 2));
        assert_eq!(capsule(&stub[..18], 1), None);
    }

    #[test]
    fn stubs_end_together() {
        let stub: Vec<u8> = (0..8).flat_map(|index| [index; INSTRUCTION]).collect();
        let mut out = vec![0xff; machine_size(2) as usize];
        write_machine(&[&stub, &stub], &mut out);
        let first_bytes: Vec<u8> = out.as_chunks::<INSTRUCTION>().0.iter().map(|instruction| instruction[0]).collect();
        assert_eq!(first_bytes, [0, 1, 2, 2, 2, 2, 2, 2, 0, 1, 2, 2, 2, 2, 2, 2, 6, 7, 7, 7, 7, 7, 7, 7]);
    }
}
