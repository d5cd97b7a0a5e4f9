//! Headers: where each section stands in the file, and what the driver loads.

use super::names::Names;
use super::segments::{self, TABLE_ALIGN};
use super::{Body, Facts};
use crate::phases::load::UnifiedTable;
use crate::phases::merge::Content;
use crate::phases::number::{Class, Extent, FileSection, class};
use crate::views::{View, mercury_kind};
use cubin::elf::{
    ABI_VERSION_CUDA_13, CLASS_64, DATA_LSB, EM_CUDA, ET_EXEC, ET_REL, Header, OS_ABI_CUDA_13, ProgramHeader, SHF_CUDA_MERCURY,
    SHT_NOBITS, SHT_PROGBITS, SectionHeader,
};
use cubin::section::SectionType;
use cubin::write::Image;

/// The numbers of the three sections that every file starts with.
const SECTION_NAMES: u16 = 1;
const SYMBOL_NAMES: u32 = 2;
const SYMBOLS: u32 = 3;

/// The first bytes of the file: 64-bit, little endian, version 1, the ABI of CUDA 13.
const IDENTIFICATION: [u8; 16] =
    [0x7f, b'E', b'L', b'F', CLASS_64, DATA_LSB, 1, OS_ABI_CUDA_13, ABI_VERSION_CUDA_13, 0, 0, 0, 0, 0, 0, 0];

/// Bytes behind the table of section names in files with two views: room for the names of two tables that are hardly ever there.
const SECTION_NAMES_ROOM: u64 = 36;

/// The alignment of a capsule.
const CAPSULE_ALIGN: u64 = 16;

/// Gives sections their places in the file, and makes all other headers.
pub fn arrange(facts: &Facts<'_, '_>, names: &Names, bodies: &[Body], mut sections: Vec<SectionHeader>) -> Image {
    let mut cursor = Header::SIZE as u64;
    for (number, body) in bodies.iter().enumerate().skip(1) {
        cursor += facts.room_before(number as u32, names);
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
    let section_header_offset = cursor.next_multiple_of(TABLE_ALIGN);
    let table_end = section_header_offset + sections.len() as u64 * SectionHeader::SIZE as u64;
    let segments = match facts.options.executable() {
        true => {
            let parts = facts.numbering.sections().iter().zip(&sections[1..]).filter(|(part, _)| part.view == View::Machine);
            let classes: Vec<(Class, &SectionHeader)> =
                parts.map(|(part, header)| (class(&facts.plan.sections()[part.section]), header)).collect();
            segments::make(facts.options.target.views, &classes, table_end)
        }
        false => Vec::new(),
    };
    let header = Header {
        ident: IDENTIFICATION,
        kind: if facts.options.executable() { ET_EXEC } else { ET_REL },
        machine: EM_CUDA,
        version: 1,
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

impl Facts<'_, '_> {
    /// The number of the first section with this content, as the machine's view has it.
    fn number_of(&self, content: Content) -> u32 {
        let found = self.numbering.sections().iter().find(|part| self.plan.sections()[part.section].content == content);
        found.map_or(0, |part| self.numbering.section(part.section, View::Machine))
    }

    /// The file's flags: the place of the toolkit's note, the architecture, the kind of code.
    fn flags(&self) -> u32 {
        let target = self.options.target;
        self.number_of(Content::CudaNote).min(0xff) << 24 | target.number << 8 | u32::from(target.machine_flags)
    }

    /// Bytes that are left free in front of the section with this number.
    fn room_before(&self, number: u32, names: &Names) -> u64 {
        match number {
            _ if !self.numbering.has_two_views() => 0,
            SYMBOL_NAMES if self.numbering.extent() != Extent::ManyInFile => SECTION_NAMES_ROOM,
            SYMBOLS => names.room,
            _ => 0,
        }
    }

    /// The header of a section, but for its place.
    pub(super) fn section_header(&self, part: FileSection, names: &Names, body: &Body) -> SectionHeader {
        let section = &self.plan.sections()[part.section];
        let target = section.target.map_or(0, |target| self.numbering.section(target, part.view));
        let is_code = matches!(section.content, Content::Text(_) | Content::UnifiedStubs);
        let symbols = match part.view {
            View::Machine => SYMBOLS,
            // The symbol table of the Mercury view is the last section.
            View::Mercury => self.numbering.sections().len() as u32,
        };
        let (link, info) = match section.content {
            Content::Symbols if part.view == View::Machine && self.numbering.has_machine_entries() => {
                // The symbols of parameters are local, but come last, so no global symbol is the first behind the locals.
                (SYMBOL_NAMES, self.numbering.symbols(View::Machine) as u32)
            }
            Content::Symbols => (SYMBOL_NAMES, self.numbering.first_global()),
            Content::SymbolSectionNumbers => (symbols, 0),
            Content::CudaNote => (self.number_of(Content::ToolNotes), self.number_of(Content::Compatibility)),
            Content::Text(function) => {
                let registers = match self.options.target.registers_in_text_header {
                    true => self.attributes.of(function).registers << 24,
                    false => 0,
                };
                (symbols, self.function_number(function) | registers)
            }
            Content::UnifiedStubs => (symbols, self.live.stubs().first().map_or(0, |&stub| self.function_number(stub))),
            // Those that the linker makes in front of the others lack the link.
            Content::UnifiedEntries(UnifiedTable::Functions) if self.options.executable() => (0, 0),
            Content::ModuleInfo | Content::CallGraph | Content::Prototypes | Content::UnifiedEntries(_) => (symbols, 0),
            Content::FunctionInfo(_)
            | Content::UnifiedStubsInfo
            | Content::Relocations { .. }
            | Content::ResolvedRelocations
            | Content::TextureRelocations(_) => (symbols, target),
            _ => (0, target),
        };
        let (kind, flags, align) = match part.view {
            View::Machine => (self.kind_in_file(section.kind), section.flags, self.layout.align(part.section)),
            View::Mercury => (
                if is_code { SectionType::CAPSULE } else { mercury_kind(section.kind) },
                if is_code { SHF_CUDA_MERCURY } else { section.flags | SHF_CUDA_MERCURY },
                if is_code { CAPSULE_ALIGN } else { self.layout.align(part.section) },
            ),
        };
        SectionHeader {
            name: names.section(part),
            kind: kind.0,
            flags,
            address: 0,
            offset: 0,
            size: self.size_of(part, body),
            link,
            info,
            align,
            entry_size: section.entry_size.into(),
        }
    }

    /// An executable has plain types where a relocatable file tells the memories apart.
    pub(super) fn kind_in_file(&self, kind: SectionType) -> SectionType {
        match kind {
            _ if !self.options.executable() => kind,
            SectionType::SHARED | SectionType::GLOBAL | SectionType::RESERVED_SHARED => SectionType(SHT_NOBITS),
            SectionType::GLOBAL_INIT => SectionType(SHT_PROGBITS),
            kind if kind.constant_bank().is_some() => SectionType(SHT_PROGBITS),
            kind => kind,
        }
    }
}
