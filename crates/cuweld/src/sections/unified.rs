//! Sections of unified functions and variables, which several programs share.

use super::code::name_companion;
use super::{Bytes, InViews, Memory, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::imitations::Imitation;
use crate::phases::finalize::Output;
use crate::phases::load::UnifiedTable;
use crate::phases::merge::{OutputSection, Piece};
use crate::phases::number::FileSection;
use crate::phases::unified::Unified;
use crate::views::View;
use cubin::elf::{SHF_ALLOC, SHF_EXECINSTR};
use cubin::release::Rule;
use cubin::section::SectionType;
use cubin::unified::{Entry, STUB_SIZE};

/// `.nv.uidx`: the index of unified functions and variables.
#[derive(Debug)]
pub struct UnifiedIndexCopy;

/// `.nv.uft.entry` or `.nv.udt.entry`: which functions or variables are unified.
#[derive(Debug)]
pub struct UnifiedEntries {
    table: UnifiedTable,
    /// Whether the linker makes it before all that inputs have, as in executables those of functions.
    in_front: bool,
}

/// `.nv.uft` of an executable: the stubs of unified functions, each in its slot.
#[derive(Debug)]
pub struct UnifiedStubs;

/// `.nv.udt` of an executable: unified variables, each at its offset.
#[derive(Debug)]
pub struct UnifiedData;

/// `.nv.udt` of a relocatable file: unified variables, as they come.
#[derive(Debug)]
pub struct RelocatableUnifiedData;

impl UnifiedIndexCopy {
    /// Its name.
    pub const NAME: &str = ".nv.uidx";
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::UNIFIED_INDEX, 0, 1);
}

impl UnifiedEntries {
    /// The name of the section with the entries of functions.
    pub const OF_FUNCTIONS: &str = ".nv.uft.entry";
    /// Those of functions, before all that inputs have.
    pub const IN_FRONT: Self = Self { table: UnifiedTable::Functions, in_front: true };
    /// What that section starts with.
    pub const SHAPE_IN_FRONT: Shape = Shape::new(SectionType::UNIFIED_FUNCTION_ENTRIES, 0, 32);

    /// The kind of section that the entries of a table are in, where the first object has them, and what it starts with.
    pub fn of(table: UnifiedTable, align: u64) -> (&'static Self, Shape) {
        match table {
            UnifiedTable::Functions => (
                &Self { table: UnifiedTable::Functions, in_front: false },
                Shape::new(SectionType::UNIFIED_FUNCTION_ENTRIES, 0, align),
            ),
            UnifiedTable::Variables => (
                &Self { table: UnifiedTable::Variables, in_front: false },
                Shape::new(SectionType::UNIFIED_DATA_ENTRIES, 0, align),
            ),
        }
    }
}

impl UnifiedEntries {
    /// What the first object's section is linked to, by its number there; or the other side of what has that number here.
    fn old_link(&self, output: &Output<'_, '_>, view: View) -> u32 {
        let mut entries = output.inputs.files().iter().flat_map(|file| &file.unified);
        let number = entries.find(|entry| entry.table == self.table).map_or(0, |entry| entry.link);
        let there = number.checked_sub(1).and_then(|index| output.numbering.sections().get(index as usize));
        match there {
            Some(part) if (view, part.view) == (View::Mercury, View::Machine) => output.numbering.section(part.section, view),
            _ => number,
        }
    }
}

impl UnifiedStubs {
    /// What it starts with.
    pub fn shape(align: u64) -> Shape {
        Shape::new(SectionType::UNIFIED_FUNCTIONS, SHF_ALLOC | SHF_EXECINSTR, align)
    }
}

impl SectionKind for UnifiedIndexCopy {
    /// After the index that was given are those that objects bring from an earlier link.
    fn bytes(&self, output: &Output<'_, '_>, part: FileSection) -> Bytes {
        let mut bytes = output.options.unified_index.as_ref().map(|index| index.bytes().to_vec()).unwrap_or_default();
        for piece in output.plan.sections()[part.section].pieces.iter() {
            bytes.extend_from_slice(output.inputs.sections()[piece.section].data);
        }
        Bytes::Made(bytes)
    }
}

impl SectionKind for UnifiedEntries {
    fn entry_size(&self, _section_type: SectionType) -> u32 {
        Entry::SIZE as u32
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        settled.unified.len(self.table) > 0
    }

    /// Those before the others lack the link.
    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        let link = match self.in_front {
            true => 0,
            false if output.options.imitates(Imitation::UnifiedEntriesLinkedByOldNumber) => self.old_link(output, part.view),
            false => output.symbol_table(part.view),
        };
        (link, 0)
    }

    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(output.unified.encode(self.table, |symbol| output.numbering.symbol(symbol)))
    }
}

impl SectionKind for UnifiedStubs {
    fn in_views(&self) -> InViews {
        InViews::EachAsCode
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        STUB_SIZE as u32
    }

    /// The Mercury code of a table of stubs belongs to no function of an object, so its instructions are counted here.
    fn offset_of(&self, unified: &Unified, piece: Piece, offset: u64, view: View) -> Option<u64> {
        Some(if view == View::Mercury { unified.form().mercury_offset(piece.offset) } else { piece.offset + offset })
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        let stubs = output.live.stubs();
        let is_of_first_slot = part.view == View::Mercury && output.inputs.release().has(Rule::MercuryStubsBySlot);
        let named = if is_of_first_slot { stubs.iter().min_by_key(|&&stub| output.unified.slot(stub)) } else { stubs.first() };
        (output.symbol_table(part.view), named.map_or(0, |&stub| output.function_number(stub)))
    }

    fn bytes(&self, output: &Output<'_, '_>, FileSection { section, view }: FileSection) -> Bytes {
        if view == View::Only {
            return Bytes::Written;
        }
        let pieces = output.plan.sections()[section].pieces.iter();
        let mut by_slot: Vec<_> =
            pieces.filter_map(|piece| Some((piece.offset, output.inputs.in_view(piece.section, view)?))).collect();
        by_slot.sort_unstable();
        let data: Vec<&[u8]> = by_slot.into_iter().map(|(_, section)| output.inputs.sections()[section].data).collect();
        if view == View::Machine {
            let shape = output.unified.form();
            let mut bytes = vec![0; shape.machine_size(data.len()) as usize];
            shape.write_machine(&data, output.options.debug, &mut bytes);
            return Bytes::Made(bytes);
        }
        // `load` has checked that capsules of stubs are like all others.
        let mut bytes = output.unified.form().capsule(&data).unwrap_or_default();
        name_companion(output, section, &mut bytes);
        Bytes::Made(bytes)
    }
}

impl SectionKind for UnifiedData {
    fn offset_of(&self, unified: &Unified, piece: Piece, offset: u64, _view: View) -> Option<u64> {
        unified.moved(piece.section, offset)
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        out.fill(0);
        for piece in output.plan.sections()[part.section].pieces.iter() {
            let source = output.inputs.in_view(piece.section, part.view);
            let data = source.map(|source| output.inputs.sections()[source].data).unwrap_or_default();
            for (from, to) in output.unified.moves(piece.section) {
                let bytes = data.get(from.start as usize..from.end as usize).unwrap_or_default();
                if let Some(place) = out.get_mut(*to as usize..*to as usize + bytes.len()) {
                    place.copy_from_slice(bytes);
                }
            }
        }
        output.apply_patches(part, out)
    }
}

impl SectionKind for RelocatableUnifiedData {
    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        Some(Memory::Global)
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        output.unchanged_pieces(part)
    }
}
