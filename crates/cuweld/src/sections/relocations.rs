//! Relocations of other sections: those that are left for the driver, and those that were applied (`-preserve-relocs`).

use super::{Class, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::merge::{OutputSection, Plan};
use crate::phases::number::FileSection;
use crate::phases::relocate::Kept;
use crate::views::View;
use cubin::elf::{RelRecord, RelaRecord, SHF_INFO_LINK, SHT_REL, SHT_RELA};
use cubin::relocation::Relocation;
use cubin::section::SectionType;

/// `.rel` or `.rela` of a section.
#[derive(Debug)]
pub struct KeptRelocations {
    explicit_addends: bool,
}

/// `.nv.resolvedrela` of a section.
#[derive(Debug)]
pub struct ResolvedRelocations;

impl KeptRelocations {
    /// The kind of section that relocations with or without addends are in, how its name starts, and what it starts with.
    pub fn of(explicit_addends: bool) -> (&'static Self, &'static str, Shape) {
        match explicit_addends {
            true => (
                &KeptRelocations { explicit_addends: true },
                ".rela",
                Shape::new(SectionType(SHT_RELA), SHF_INFO_LINK, TABLE_ALIGN),
            ),
            false => (
                &KeptRelocations { explicit_addends: false },
                ".rel",
                Shape::new(SectionType(SHT_REL), SHF_INFO_LINK, TABLE_ALIGN),
            ),
        }
    }

    fn is_here(&self, entry: &Kept) -> bool {
        entry.explicit_addend == self.explicit_addends
    }
}

impl ResolvedRelocations {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::RESOLVED_RELA, SHF_INFO_LINK, TABLE_ALIGN);
}

const TABLE_ALIGN: u64 = 8;

impl SectionKind for KeptRelocations {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Relocations
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        if self.explicit_addends { RelaRecord::SIZE as u32 } else { RelRecord::SIZE as u32 }
    }

    /// Its name is made from that of the section that it is for. Those that fill texture slots have the name of other relocations.
    fn is_one_of_function(&self, plan: &Plan<'_>, section: &OutputSection<'_>) -> bool {
        section.target.is_some_and(|target| plan.sections()[target].code_of().is_some())
    }

    fn keeps_linked_name(&self) -> bool {
        true
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        let target = settled.plan.sections()[id].target;
        target.is_some_and(|target| settled.relocations.of(target).kept.iter().any(|entry| self.is_here(entry)))
    }

    fn is_about_section(&self) -> bool {
        true
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        let count = kept(output, part).iter().filter(|entry| self.is_here(entry)).count();
        count as u64 * u64::from(output.plan.sections()[part.section].entry_size)
    }

    fn is_written_by_entry(&self) -> bool {
        true
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, first: usize, out: &mut [u8]) -> cubin::Result<()> {
        let kept = kept(output, part).iter().filter(|entry| self.is_here(entry));
        write_entries(output, kept.skip(first), self.explicit_addends, out);
        Ok(())
    }
}

impl SectionKind for ResolvedRelocations {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Relocations
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        RelaRecord::SIZE as u32
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        let target = settled.plan.sections()[id].target;
        target.is_some_and(|target| !settled.relocations.of(target).resolved.is_empty())
    }

    fn is_about_section(&self) -> bool {
        true
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        resolved(output, part).len() as u64 * RelaRecord::SIZE as u64
    }

    fn is_written_by_entry(&self) -> bool {
        true
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, first: usize, out: &mut [u8]) -> cubin::Result<()> {
        write_entries(output, resolved(output, part).iter().skip(first), true, out);
        Ok(())
    }
}

/// The relocations that are left of the section that this one is for.
fn kept<'all>(output: &'all Output<'_, '_>, part: FileSection) -> &'all [Kept] {
    let Some(target) = output.plan.sections()[part.section].target else { return &[] };
    match output.machine_debug.of(target) {
        Some(contents) if part.view == View::Machine => &contents.kept,
        _ => output.relocations.in_view(target, part.view).kept,
    }
}

/// The relocations that were applied to the section that this one is for.
fn resolved<'all>(output: &'all Output<'_, '_>, part: FileSection) -> &'all [Kept] {
    let target = output.plan.sections()[part.section].target;
    target.map_or(&[], |target| output.relocations.in_view(target, part.view).resolved)
}

fn write_entries<'entry>(
    output: &Output<'_, '_>,
    entries: impl Iterator<Item = &'entry Kept>,
    explicit_addends: bool,
    out: &mut [u8],
) {
    let size = if explicit_addends { RelaRecord::SIZE } else { RelRecord::SIZE };
    for (entry, out) in entries.zip(out.chunks_exact_mut(size)) {
        let entry = Relocation {
            offset: entry.offset,
            kind: entry.kind,
            symbol: output.numbering.referent(entry.referent),
            addend: entry.addend,
        };
        if explicit_addends { entry.rela().write(out) } else { entry.rel().write(out) }
    }
}
