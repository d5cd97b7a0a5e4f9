//! Variables in global and constant memory: input sections of the same name, one after the other.

use super::{Bytes, Class, InViews, Memory, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::merge::{OutputSection, Piece};
use crate::phases::number::FileSection;
use crate::views::View;
use cubin::elf::{SHF_ALLOC, SHF_WRITE};
use cubin::section::SectionType;

/// `.nv.global.init`, and `.nv.constant3` and other constants of the module: initialised variables.
#[derive(Debug)]
pub struct InitialisedData;

/// `.nv.global`: variables that start as zero.
#[derive(Debug)]
pub struct GlobalZero;

impl GlobalZero {
    /// What it starts with when tentative definitions alone need it.
    pub const SHAPE: Shape = Shape::new(SectionType::GLOBAL, SHF_WRITE | SHF_ALLOC, 1);
}

impl SectionKind for InitialisedData {
    fn memory(&self, section: &OutputSection<'_>) -> Option<Memory> {
        Some(section.section_type.constant_bank().map_or(Memory::Global, Memory::Constants))
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn bytes(&self, output: &Output<'_, '_>, part: FileSection) -> Bytes {
        written_once(output, part)
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        output.unchanged_pieces(part)
    }
}

impl SectionKind for GlobalZero {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::NoBits
    }

    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        Some(Memory::Global)
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }
}

/// Variables have the same bytes in both views, except that in whole programs (`-ewp`) the compiler has placed functions inside of kernels,
/// and knows their offsets in the machine code alone.
fn written_once(output: &Output<'_, '_>, part: FileSection) -> Bytes {
    let data = |piece: Piece, view: View| {
        let source = output.inputs.in_view(piece.section, view);
        source.map(|source| output.inputs.sections()[source].data).unwrap_or_default()
    };
    // Where both are the same, compilers store them once.
    let is_same = |piece: Piece| {
        let (machine, mercury) = (data(piece, View::Machine), data(piece, View::Mercury));
        std::ptr::eq(machine, mercury) || machine == mercury
    };
    let is_shared = part.view == View::Mercury && output.plan.sections()[part.section].pieces.iter().all(is_same);
    if is_shared { Bytes::Shared } else { Bytes::Written }
}
