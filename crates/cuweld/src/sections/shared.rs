//! Shared memory: that of a kernel, that of the module, and that of the system. It takes no room in the file.

use super::{Class, InViews, Memory, SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::merge::{OutputSection, Plan};
use crate::phases::number::FileSection;
use cubin::elf::{Header, SHF_ALLOC, SHF_INFO_LINK, SHF_WRITE, SHT_STRTAB, SectionHeader};
use cubin::section::SectionType;

/// `.nv.shared.f`.
#[derive(Debug)]
pub struct KernelShared;

/// `.nv.shared.` or `.nv_debug.shared`: shared variables that belong to no single kernel.
#[derive(Debug)]
pub struct ModuleShared;

/// `.nv.shared.reserved.*`: shared variables of the system.
#[derive(Debug)]
pub struct ReservedShared;

impl KernelShared {
    /// How its name starts.
    pub const PREFIX: &str = ".nv.shared.";
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::SHARED, SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK, 1);
}

impl ModuleShared {
    /// What it starts with, when it is made for dynamic shared memory.
    pub const SHAPE: Shape = Shape::new(SectionType::SHARED, SHF_WRITE | SHF_ALLOC, 1);
}

impl SectionKind for KernelShared {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::NoBits
    }

    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        Some(Memory::Shared)
    }

    /// Kernels that were removed may leave two behind, neither of which belongs to any code.
    fn is_one_of_function(&self, _plan: &Plan<'_>, section: &OutputSection<'_>) -> bool {
        section.target.is_some()
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.shared().is_present(id)
    }

    fn has_symbol(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.shared().is_listed(id)
    }
}

impl SectionKind for ModuleShared {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::NoBits
    }

    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.shared().is_present(id)
    }

    fn has_symbol(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.shared().is_listed(id)
    }
}

impl SectionKind for ReservedShared {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::NoBits
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn size(&self, output: &Output<'_, '_>, FileSection { section, view }: FileSection) -> u64 {
        let before = if view.is_machine() { output.options.reserved_for_tools() } else { 0 };
        output.layout.size(section) + before
    }

    /// In the Mercury view they take room, although they have no contents: the reference linker fills it with what follows it
    /// in a file of its own, which is the start of the section headers.
    fn write(&self, output: &Output<'_, '_>, _part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        let section_names = SectionHeader {
            name: 1,
            kind: SHT_STRTAB,
            offset: Header::SIZE as u64,
            size: output.names.linked_section_names,
            align: 1,
            ..SectionHeader::default()
        };
        let symbol_names = SectionHeader {
            name: 1 + ".shstrtab".len() as u32 + 1,
            offset: section_names.offset + section_names.size,
            ..section_names
        };
        let mut headers = [0; 3 * SectionHeader::SIZE];
        for (header, place) in [section_names, symbol_names].iter().zip(headers.chunks_exact_mut(SectionHeader::SIZE).skip(1)) {
            header.write(place);
        }
        out.fill(0);
        for (byte, header) in out.iter_mut().zip(headers) {
            *byte = header;
        }
        Ok(())
    }
}
