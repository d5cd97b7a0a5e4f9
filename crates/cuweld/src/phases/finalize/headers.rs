//! Headers: the file offset of each section, and the segments that the driver loads.

use super::names::SECTION_NAMES_ROOM;
use super::segments::{self, TABLE_ALIGN};
use super::{Body, Output};
use crate::phases::number::{Extent, FileSection};
use crate::sections::{Class, InViews};
use crate::views::{View, mercury_kind};
use cubin::elf::{
    ABI_VERSION_CUDA_12, ABI_VERSION_CUDA_13, CLASS_64, DATA_LSB, EM_CUDA, ET_EXEC, ET_REL, Header, OS_ABI_CUDA_12,
    OS_ABI_CUDA_13, ProgramHeader, SHF_CUDA_MERCURY, SectionHeader,
};
use cubin::release::Rule;
use cubin::section::SectionType;
use cubin::target::Variant;
use cubin::write::Image;

/// The numbers of the three sections that every file starts with.
const SECTION_NAMES: u16 = 1;
const SYMBOL_NAMES: u32 = 2;
const SYMBOLS: u32 = 3;

/// The first bytes of the file: 64-bit, little endian, version 1, the ABI.
const fn identification(os_abi: u8, abi_version: u8) -> [u8; 16] {
    [0x7f, b'E', b'L', b'F', CLASS_64, DATA_LSB, 1, os_abi, abi_version, 0, 0, 0, 0, 0, 0, 0]
}

/// Flags of files of CUDA 12: what they always have, and what code for a target `a` has.
const FLAGS_OF_CUDA_12: u32 = 0x0500;
const ACCELERATED_OF_CUDA_12: u32 = 0x0800;

/// The alignment of a capsule.
const CAPSULE_ALIGN: u64 = 16;

/// Gives sections their file offsets, and makes all other headers.
pub fn arrange(facts: &Output<'_, '_>, bodies: &[Body], mut sections: Vec<SectionHeader>) -> Image {
    let mut cursor = Header::SIZE as u64;
    for (number, body) in bodies.iter().enumerate().skip(1) {
        cursor += facts.room_before(number as u32);
        let shared = match body {
            Body::Shared => {
                let machine = facts.numbering.section(facts.numbering.sections()[number - 1].section, View::Machine);
                sections.get(machine as usize).map(|header| header.offset)
            }
            _ => None,
        };
        let header = &mut sections[number];
        header.offset = shared.unwrap_or_else(|| aligned(cursor, header.align));
        match body {
            Body::Shared => {}
            Body::Nowhere => cursor = header.offset,
            Body::FromFacts | Body::Made(_) => cursor = header.offset + header.size,
        }
    }
    let section_header_offset = if facts.is_compact() { cursor } else { cursor.next_multiple_of(TABLE_ALIGN) };
    let table_end = section_header_offset + sections.len() as u64 * SectionHeader::SIZE as u64;
    let (kind, segments) = match facts.options.is_for_driver() {
        true => {
            let parts = facts.numbering.sections().iter().zip(&sections[1..]).filter(|(part, _)| part.view.is_machine());
            let classes: Vec<(Class, &SectionHeader)> =
                parts.map(|(part, header)| (facts.plan.sections()[part.section].class(), header)).collect();
            (ET_EXEC, segments::make(facts.options.target.views, &classes, table_end))
        }
        false => (ET_REL, Vec::new()),
    };
    let (ident, version) = match facts.options.target.is_of_cuda_12(facts.inputs.release()) {
        true => (identification(OS_ABI_CUDA_12, ABI_VERSION_CUDA_12), facts.inputs.release().toolkit.into()),
        false => (identification(OS_ABI_CUDA_13, ABI_VERSION_CUDA_13), 1),
    };
    let header = Header {
        ident,
        kind,
        machine: EM_CUDA,
        version,
        entry: 0,
        program_header_offset: if segments.is_empty() { 0 } else { table_end },
        section_header_offset,
        flags: facts.flags(),
        header_size: Header::SIZE as u16,
        program_header_size: if segments.is_empty() && facts.numbering.has_two_views() { 0 } else { ProgramHeader::SIZE as u16 },
        program_header_count: 0,
        section_header_size: SectionHeader::SIZE as u16,
        section_header_count: 0,
        section_names: SECTION_NAMES,
    };
    Image { header, sections, segments }
}

/// The next multiple of an alignment. That is a power of two, which spares a division per section.
fn aligned(offset: u64, align: u64) -> u64 {
    offset + (offset.wrapping_neg() & (align - 1))
}

impl Output<'_, '_> {
    /// The number of the table of symbol names.
    pub fn symbol_names(&self) -> u32 {
        SYMBOL_NAMES
    }

    /// The number of the symbol table of a view.
    pub fn symbol_table(&self, view: View) -> u32 {
        let table = |sections: &[FileSection]| sections.get(SYMBOLS as usize - 1).map(|table| table.section);
        match (view, table(self.numbering.sections())) {
            (View::Mercury, Some(table)) => self.numbering.section(table, view),
            _ => SYMBOLS,
        }
    }

    /// The file's flags: the number of the toolkit's note, the architecture, the kind of code.
    fn flags(&self) -> u32 {
        let target = self.options.target;
        if target.is_of_cuda_12(self.inputs.release()) {
            let accelerated = if target.variant == Variant::Accelerated { ACCELERATED_OF_CUDA_12 } else { 0 };
            let oldest = self.inputs.files().iter().filter_map(|file| file.virtual_sm).min().unwrap_or(target.number);
            return (oldest & 0xff) << 16 | FLAGS_OF_CUDA_12 | accelerated | target.number;
        }
        let note = self.plan.cuda_note().map_or(0, |note| self.numbering.section(note, View::Machine));
        note.min(0xff) << 24 | target.number << 8 | u32::from(target.machine_flags)
    }

    /// Bytes that are left free before the section with this number.
    fn room_before(&self, number: u32) -> u64 {
        match number {
            _ if !self.numbering.has_two_views() || self.is_compact() => 0,
            SYMBOL_NAMES if self.numbering.extent() != Extent::ManyInFile => SECTION_NAMES_ROOM,
            SYMBOLS => self.names.room,
            _ => 0,
        }
    }

    /// The header of a section, but for its offset.
    pub(super) fn section_header(&self, part: FileSection, body: &Body) -> SectionHeader {
        let section = &self.plan.sections()[part.section];
        let is_code = section.kind.in_views() == InViews::EachAsCode;
        let (link, info) = section.kind.link_and_info(self, part);
        let (kind, flags, align) = match part.view {
            View::Mercury if is_code => (SectionType::CAPSULE, SHF_CUDA_MERCURY, CAPSULE_ALIGN),
            View::Mercury => {
                (mercury_kind(section.section_type), section.flags | SHF_CUDA_MERCURY, self.layout.align(part.section))
            }
            _ => (self.type_in_file(section.section_type), section.flags, self.layout.align(part.section)),
        };
        let size = match body {
            Body::Made(bytes) => bytes.len() as u64,
            _ => section.kind.size(self, part),
        };
        let entry_size = match part.view {
            View::Mercury if is_code && self.inputs.release().has(Rule::MercuryStubsBySlot) => 0,
            _ => section.entry_size.into(),
        };
        SectionHeader {
            name: self.names.section(part),
            kind: kind.0,
            flags,
            address: 0,
            offset: 0,
            size,
            link,
            info,
            align,
            entry_size,
        }
    }

    /// The type of a section in the file, outside of the Mercury view.
    pub(super) fn type_in_file(&self, section_type: SectionType) -> SectionType {
        if self.options.is_for_driver() { section_type.in_executable() } else { section_type }
    }
}
