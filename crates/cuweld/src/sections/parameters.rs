//! The parameter bank of a kernel: its parameters, after them the slots of textures, and the relocations by which the driver fills
//! those.
//!
//! Where there are two views, only the machine view has the bank. The Mercury view has a section for the slots only.

use super::{Class, InViews, Memory, SectionKind, Settled};
use crate::id::{InputSectionId, SectionId};
use crate::imitations::Imitation;
use crate::phases::finalize::Output;
use crate::phases::layout::TEXTURE_KINDS;
use crate::phases::merge::{OutputSection, Piece, Plan};
use crate::phases::number::FileSection;
use crate::phases::relocate::Referent;
use crate::views::View;
use cubin::elf::{RelRecord, RelaRecord, SHT_RELA};
use cubin::relocation::Relocation;
use cubin::section::SectionType;

/// `.nv.constant0.f`, where there is one view.
#[derive(Debug)]
pub struct Parameters;

/// `.nv.constant0.f` of a kernel without texture slots, where there are two views.
#[derive(Debug)]
pub struct MachineParameters;

/// `.nv.constant0.f` of a kernel with texture slots, where there are two views.
#[derive(Debug)]
pub struct TextureSlots;

/// The same of a kernel of a whole program, where the compiler made the slots, and the relocations that fill them.
#[derive(Debug)]
pub struct CompiledTextureSlots;

/// `.rel.nv.constant0.f`: the relocations that fill texture slots.
#[derive(Debug)]
pub struct TextureRelocations;

impl SectionKind for Parameters {
    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        Some(Memory::Parameters)
    }

    fn is_one_of_function(&self, _plan: &Plan<'_>, _section: &OutputSection<'_>) -> bool {
        true
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        output.unchanged_pieces(part)
    }
}

impl SectionKind for MachineParameters {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::MachineOnly
    }

    fn in_views(&self) -> InViews {
        InViews::MachineOnly
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    /// Its symbol is not among those that are linked.
    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }

    fn source(
        &self,
        _output: &Output<'_, '_>,
        _section: &OutputSection<'_>,
        piece: Piece,
        _view: View,
    ) -> Option<InputSectionId> {
        Some(piece.section)
    }
}

impl SectionKind for TextureSlots {
    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        let before = if part.view == View::Mercury { output.layout.textures().base() } else { 0 };
        output.layout.size(part.section) - before
    }

    fn source(
        &self,
        _output: &Output<'_, '_>,
        _section: &OutputSection<'_>,
        piece: Piece,
        _view: View,
    ) -> Option<InputSectionId> {
        Some(piece.section)
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        match part.view {
            // The driver fills them.
            View::Mercury => out.fill(0),
            _ => output.write_pieces(part, out)?,
        }
        Ok(())
    }
}

impl SectionKind for CompiledTextureSlots {
    /// The machine view has the parameters before the slots.
    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        let size = |view: View| -> u64 {
            let pieces = output.plan.sections()[part.section].pieces.iter();
            let sources = pieces.filter_map(|piece| output.inputs.in_view(piece.section, view));
            sources.map(|source| output.inputs.sections()[source].size).sum()
        };
        match (part.view, output.options.imitates(Imitation::CompiledTextureSlotsTwice)) {
            (view, false) | (view @ View::Only, true) => size(view),
            (View::Mercury, true) => size(View::Machine),
            (View::Machine, true) => (2 * size(View::Machine)).saturating_sub(size(View::Mercury)),
        }
    }
}

impl SectionKind for TextureRelocations {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Relocations
    }

    fn entry_size(&self, section_type: SectionType) -> u32 {
        if section_type.0 == SHT_RELA { RelaRecord::SIZE as u32 } else { RelRecord::SIZE as u32 }
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.plan.sections()[id].function.is_some_and(|kernel| settled.layout.textures().is_used_by(kernel))
    }

    fn is_about_section(&self) -> bool {
        true
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        let section = &output.plan.sections()[part.section];
        let slots = section.function.map_or(0, |kernel| output.layout.textures().filled_slots(kernel).count());
        slots as u64 * u64::from(section.entry_size)
    }

    /// The last slot first.
    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        let section = &output.plan.sections()[part.section];
        let textures = output.layout.textures();
        let slots = section.function.into_iter().flat_map(|kernel| textures.filled_slots(kernel).rev());
        for ((symbol, offset), out) in slots.zip(out.chunks_exact_mut(section.entry_size as usize)) {
            let kind = TEXTURE_KINDS.iter().find(|kind| kind.symbol == output.resolution.symbols()[symbol].kind);
            let symbol = output.numbering.referent(Referent::Symbol(symbol));
            let Some(kind) = kind else { continue };
            let (kind, offset) = match part.view {
                View::Mercury => (kind.mercury_relocation, offset - textures.base()),
                View::Machine => (kind.machine_relocation, offset),
                View::Only => (kind.relocation, offset),
            };
            let entry = Relocation { offset, kind, symbol, addend: 0 };
            if section.section_type.0 == SHT_RELA { entry.rela().write(out) } else { entry.rel().write(out) }
        }
        Ok(())
    }
}
