//! Variables in global and constant memory: input sections of the same name, one behind the other.

use super::{Bytes, Class, InViews, Memory, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::merge::OutputSection;
use crate::phases::number::FileSection;
use crate::views::View;
use cubin::elf::{SHF_ALLOC, SHF_WRITE};
use cubin::section::SectionType;

/// `.nv.global.init`: initialised variables.
#[derive(Debug)]
pub struct GlobalData;

/// `.nv.constant3` and other constants of the module.
#[derive(Debug)]
pub struct ModuleConstants;

/// `.nv.global`: variables that start as zero.
#[derive(Debug)]
pub struct GlobalZero;

impl GlobalZero {
    /// What it starts with when tentative definitions alone need it.
    pub const SHAPE: Shape = Shape::new(SectionType::GLOBAL, SHF_WRITE | SHF_ALLOC, 1);
}

impl SectionKind for GlobalData {
    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        Some(Memory::Global)
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn bytes(&self, _output: &Output<'_, '_>, part: FileSection) -> Bytes {
        written_once(part)
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        output.unchanged_pieces(part)
    }
}

impl SectionKind for ModuleConstants {
    fn memory(&self, section: &OutputSection<'_>) -> Option<Memory> {
        section.section_type.constant_bank().map(Memory::Constants)
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn bytes(&self, _output: &Output<'_, '_>, part: FileSection) -> Bytes {
        written_once(part)
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

/// Variables have the same bytes in both views.
fn written_once(part: FileSection) -> Bytes {
    if part.view == View::Mercury { Bytes::Shared } else { Bytes::Written }
}
