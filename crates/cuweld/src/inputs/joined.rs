//! Joined objects: host objects in which a host linker (`ld -r`) has put several together.
//!
//! Each of their fatbins is a unit of its own, with one exception. `nvcc -r` links the device code of objects into one relocatable file, makes
//! a host object of it, and joins it with the objects themselves, whose host code is needed. Their device code follows that file in the section,
//! although it is part of it.

use super::{Code, Unit, Unpacked};
use cubin::elf::ET_REL;
use cubin::note::{Note, ToolNote, notes};
use cubin::read::File;
use std::ops::Range;

/// The linkers that make relocatable files, as their notes name them.
const LINKERS: [&str; 2] = ["nvlink", "cuweld"];

/// Removes units that are part of a relocatable file in front of them. `joined` are the units of each joined object.
pub(super) fn leave_out_parts(found: &mut Unpacked<'_>, joined: &[Range<usize>]) {
    let mut are_parts = vec![false; found.units.len()];
    for units in joined {
        let linked = found.units.get(units.clone()).and_then(|units| units.iter().position(is_relocatable_output));
        if let Some(parts) = linked.and_then(|linked| are_parts.get_mut(units.start + linked + 1..units.end)) {
            parts.fill(true);
        }
    }
    if are_parts.contains(&true) {
        let mut are_parts = are_parts.into_iter();
        found.retain_units(|_| are_parts.next() == Some(false));
    }
}

fn is_relocatable_output(unit: &Unit<'_>) -> bool {
    let Code::Cubin(bytes) = &unit.code else { return false };
    let Some(file) = File::parse(bytes).ok().filter(|file| file.header().kind == ET_REL) else { return false };
    let section = file.section_named(".note.nv.tkinfo").and_then(|index| file.section(index));
    let of_linker = |note: Note<'_>| ToolNote::decode(note.description).is_ok_and(|note| LINKERS.contains(&note.tool));
    section.is_some_and(|section| notes(section.data).flatten().any(of_linker))
}
