//! The sections of an object.

use super::{Damage, MAX_ALIGN, MAX_SIZE, Reader, changed, check};
use crate::id::{Id, InputSectionId};
use crate::phases::load::arrange::{is_mercury, plain_name};
use crate::phases::load::{InputSection, Role, UnifiedTable};
use crate::views;
use cubin::elf::{SHF_ALLOC, SHF_CUDA_MERCURY, SHF_EXECINSTR, SHT_PROGBITS, SHT_REL, SHT_RELA};
use cubin::read::Section;
use cubin::relocation;
use cubin::section::SectionType;
use cubin::unified;

/// The section of the frames of functions.
const FRAMES: &str = ".debug_frame";

/// Above the shared memory of any GPU.
const MAX_SHARED: u64 = 1 << 20;

impl<'data> Reader<'_, 'data> {
    pub(super) fn read_sections(&self, sections: &mut [InputSection<'data>]) -> Result<(), Damage> {
        if self.file.sections().len() != sections.len() {
            return Err(changed());
        }
        for (section, row) in self.arranged().zip(sections.iter_mut()) {
            *row = self.read_section(section)?;
        }
        // From the last to the first, so that each list comes out in section order.
        for index in (0..sections.len()).rev() {
            if let Some(target) = sections[index].target {
                check::attachment(&self.arrangement, self.file, sections, index, target)?;
                sections[index].next_attached = sections[target.index()].first_attached;
                sections[target.index()].first_attached = Some(InputSectionId::from_index(index));
            }
        }
        Ok(())
    }

    #[inline(always)] // Hot: one per section.
    fn read_section(&self, section: &Section<'data>) -> Result<InputSection<'data>, Damage> {
        let (name, kind, flags) = plain_header(section);
        let role = role_of(name, kind, flags, section.header.info);
        check::name(section, (name, kind), role)?;
        if role == Role::Debug && name == FRAMES && is_mercury(section) {
            check::frames(section)?;
        }
        let count = self.file.sections().len();
        let target = match role {
            Role::ModuleInfo | Role::Debug | Role::GlobalData | Role::GlobalZero if section.header.info != 0 => {
                return Err(Damage::of(
                    section,
                    format!("belongs to section {} of {count}, though none of its kind does", section.header.info),
                ));
            }
            Role::FunctionInfo | Role::FunctionConstants(_) | Role::KernelShared | Role::Relocations { .. } => {
                let index = section.header.info;
                let target = self.arrangement.target(section, index);
                Some(target.ok_or_else(|| Damage::of(section, format!("belongs to section {index} of {count}")))?)
            }
            _ => None,
        };
        let machine = self.arrangement.machine(section.index);
        let align = self.alignment(section, role, machine)?;
        // Shared memory that is reserved takes room in the file where there are two views.
        let most = if role == Role::ReservedShared { MAX_SHARED } else { MAX_SIZE };
        if section.header.size > most {
            return Err(Damage::of(section, format!("size {:#x} is more than any GPU has", section.header.size)));
        }
        let later_entry_without_addend = match role {
            Role::Relocations { explicit_addends } => {
                let mut later = relocation::entries(section)?.skip(1);
                explicit_addends && later.any(|entry| entry.addend == 0)
            }
            _ => false,
        };
        Ok(InputSection {
            name,
            role,
            kind,
            flags,
            align,
            // The first header may hold a number that has found no room in the file header.
            size: if kind == SectionType::NULL { 0 } else { section.header.size },
            data: section.data,
            target,
            machine,
            later_entry_without_addend,
            ..InputSection::BLANK
        })
    }

    /// The number of a linked section in a file without the machine's side, where Mercury code stands in the place of machine code.
    pub(super) fn number_without_machine(&self, number: u32) -> u32 {
        let linked = &self.arrangement.order()[..self.arrangement.linked()];
        let (before, behind) = linked.split_at(linked.partition_point(|&other| other < number));
        let is_capsule =
            |number: &&u32| self.file.section(**number).is_some_and(|section| section.kind() == SectionType::CAPSULE);
        // The machine's symbol table is not there, either.
        (before.len().saturating_sub(1) + behind.iter().filter(is_capsule).count()) as u32
    }

    /// The alignment of a section. That of code is the machine code's.
    fn alignment(&self, section: &Section<'data>, role: Role, machine: Option<InputSectionId>) -> Result<u32, Damage> {
        let aligned = match (role, machine.and_then(|id| self.arrangement.order().get(id.index()))) {
            (Role::Text, Some(&index)) => self.file.section(index).unwrap_or(section),
            _ => section,
        };
        let align = aligned.header.align.max(1);
        // Compilers align the file as well, so that a larger one has its place in it.
        let largest = MAX_ALIGN.max(self.file.bytes().len() as u64);
        // Where the reference linker takes the start of dynamic shared memory for an alignment, it is a multiple of 16.
        let may_be_start = matches!(role, Role::ModuleShared | Role::KernelShared) && align.is_multiple_of(16);
        u32::try_from(align)
            .ok()
            .filter(|_| (align.is_power_of_two() || may_be_start) && align <= largest)
            .ok_or_else(|| Damage::of(section, format!("alignment {align:#x} is not a power of two up to {largest:#x}")))
    }
}

/// Name, type and flags of a section, as if there were but one view.
#[inline(always)] // Hot: one per section.
fn plain_header<'data>(section: &Section<'data>) -> (&'data str, SectionType, u64) {
    let (kind, flags) = (section.kind(), section.header.flags & !SHF_CUDA_MERCURY);
    match kind {
        _ if !is_mercury(section) => (section.name, kind, section.header.flags),
        SectionType::CAPSULE => {
            let name = plain_name(section);
            let is_stub = name.starts_with(unified::STUB_PREFIX);
            let kind = if is_stub { SectionType::UNIFIED_FUNCTIONS } else { views::plain_kind(kind) };
            (name, kind, SHF_ALLOC | SHF_EXECINSTR)
        }
        _ => (plain_name(section), views::plain_kind(kind), flags),
    }
}

/// What a section is for, by its type, flags and name.
#[inline(always)] // Hot: one per section.
fn role_of(name: &str, kind: SectionType, flags: u64, info: u32) -> Role {
    match kind {
        SectionType(SHT_PROGBITS) if flags & SHF_EXECINSTR != 0 => Role::Text,
        SectionType(SHT_PROGBITS) => Role::Debug,
        SectionType(SHT_REL) => Role::Relocations { explicit_addends: false },
        SectionType(SHT_RELA) => Role::Relocations { explicit_addends: true },
        SectionType::INFO if name == ".nv.info" => Role::ModuleInfo,
        SectionType::INFO => Role::FunctionInfo,
        SectionType::UNIFIED_FUNCTIONS => Role::Text,
        SectionType::UNIFIED_DATA => Role::UnifiedData,
        SectionType::UNIFIED_FUNCTION_ENTRIES => Role::UnifiedEntries(UnifiedTable::Functions),
        SectionType::UNIFIED_DATA_ENTRIES => Role::UnifiedEntries(UnifiedTable::Variables),
        SectionType::UNIFIED_INDEX => Role::UnifiedIndex,
        SectionType::GLOBAL_INIT => Role::GlobalData,
        SectionType::GLOBAL => Role::GlobalZero,
        SectionType::SHARED if info != 0 => Role::KernelShared,
        SectionType::SHARED => Role::ModuleShared,
        SectionType::RESERVED_SHARED => Role::ReservedShared,
        SectionType::COMPAT => Role::Compatibility,
        kind => match kind.constant_bank() {
            Some(bank) if info != 0 => Role::FunctionConstants(bank),
            Some(bank) => Role::ModuleConstants(bank),
            None if name == ".note.nv.tkinfo" => Role::ToolNotes,
            None => Role::Structure,
        },
    }
}
