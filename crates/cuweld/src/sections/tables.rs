//! The string tables. Their bytes are made by the phase `names`.

use super::{Class, InViews, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::merge::OutputSection;
use cubin::elf::SHT_STRTAB;
use cubin::section::SectionType;

/// `.shstrtab`, the names of sections, or `.strtab`, those of symbols and prototypes.
#[derive(Debug)]
pub struct StringTable;

impl StringTable {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType(SHT_STRTAB), 0, 1);
}

impl SectionKind for StringTable {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Tables
    }

    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }
}
