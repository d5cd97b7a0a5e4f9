//! Headers: where each section stands in the file, and what the driver loads.

use super::{Body, Facts, Names};
use crate::id::SectionId;
use crate::phases::merge::Content;
use crate::phases::number::{Class, class};
use cubin::elf::{
    ABI_VERSION_CUDA_13, CLASS_64, DATA_LSB, EM_CUDA, ET_EXEC, ET_REL, Header, OS_ABI_CUDA_13, PF_R, PF_W, PF_X, PT_LOAD,
    PT_PHDR, ProgramHeader, SHT_NOBITS, SHT_PROGBITS, SectionHeader,
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

/// The alignment of the tables of headers.
const TABLE_ALIGN: u64 = 8;

/// Makes all headers.
pub fn make(facts: &Facts<'_, '_>, names: &Names, bodies: &[Body]) -> Image {
    let mut sections = Vec::with_capacity(bodies.len() + 1);
    sections.push(SectionHeader::default());
    let mut cursor = Header::SIZE as u64;
    for (&id, body) in facts.numbering.sections().iter().zip(bodies) {
        let mut header = facts.section_header(id, names, body);
        cursor = cursor.next_multiple_of(header.align);
        header.offset = cursor;
        if !SectionType(header.kind).is_no_bits() {
            cursor += header.size;
        }
        sections.push(header);
    }
    let section_header_offset = cursor.next_multiple_of(TABLE_ALIGN);
    let table_end = section_header_offset + sections.len() as u64 * SectionHeader::SIZE as u64;
    let segments = if facts.options.executable() { facts.segments(&sections, table_end) } else { Vec::new() };
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
        program_header_size: ProgramHeader::SIZE as u16,
        program_header_count: 0,
        section_header_size: SectionHeader::SIZE as u16,
        section_header_count: 0,
        section_names: SECTION_NAMES,
    };
    Image { header, sections, segments }
}

impl Facts<'_, '_> {
    /// The number of the first section with this content.
    fn number_of(&self, content: Content) -> u32 {
        let found = self.numbering.sections().iter().find(|&&id| self.plan.sections()[id].content == content);
        found.map_or(0, |&id| self.numbering.section(id))
    }

    /// The file's flags: the place of the toolkit's note, the architecture, the kind of code.
    fn flags(&self) -> u32 {
        let target = self.options.target;
        self.number_of(Content::CudaNote).min(0xff) << 24 | target.number << 8 | u32::from(target.machine_flags)
    }

    fn section_header(&self, id: SectionId, names: &Names, body: &Body) -> SectionHeader {
        let section = &self.plan.sections()[id];
        let target = section.target.map_or(0, |target| self.numbering.section(target));
        let (link, info) = match section.content {
            Content::Symbols => (SYMBOL_NAMES, self.numbering.first_global()),
            Content::SymbolSectionNumbers => (SYMBOLS, 0),
            Content::CudaNote => (self.number_of(Content::ToolNotes), self.number_of(Content::Compatibility)),
            Content::Text(function) => {
                let registers = match self.options.target.registers_in_text_header {
                    true => self.attributes.of(function).registers << 24,
                    false => 0,
                };
                (SYMBOLS, self.function_number(function) | registers)
            }
            Content::ModuleInfo | Content::CallGraph | Content::Prototypes => (SYMBOLS, 0),
            Content::FunctionInfo(_)
            | Content::Relocations { .. }
            | Content::ResolvedRelocations
            | Content::TextureRelocations(_) => (SYMBOLS, target),
            _ => (0, target),
        };
        SectionHeader {
            name: names.sections[id],
            kind: self.kind_in_file(section.kind).0,
            flags: section.flags,
            address: 0,
            offset: 0,
            size: self.size_of(id, body),
            link,
            info,
            align: self.layout.align(id),
            entry_size: section.entry_size,
        }
    }

    /// An executable has plain types where a relocatable file tells the memories apart.
    fn kind_in_file(&self, kind: SectionType) -> SectionType {
        match kind {
            _ if !self.options.executable() => kind,
            SectionType::SHARED | SectionType::GLOBAL => SectionType(SHT_NOBITS),
            SectionType::GLOBAL_INIT => SectionType(SHT_PROGBITS),
            kind if kind.constant_bank().is_some() => SectionType(SHT_PROGBITS),
            kind => kind,
        }
    }

    /// What the driver loads: constants and code, then data; and the table that says so, before and behind them.
    fn segments(&self, sections: &[SectionHeader], table_offset: u64) -> Vec<ProgramHeader> {
        let classes: Vec<Class> = self.numbering.sections().iter().map(|&id| class(&self.plan.sections()[id])).collect();
        let of_classes = |wanted: [Class; 2]| {
            classes.iter().zip(&sections[1..]).filter(move |(class, _)| wanted.contains(class)).map(|(_, header)| header)
        };
        let read_only = segment(PF_R | PF_X, of_classes([Class::Constants, Class::Code]));
        let writable = segment(PF_R | PF_W, of_classes([Class::Data, Class::NoBits]));
        let count = 2 + usize::from(read_only.is_some()) + usize::from(writable.is_some());
        let size = (count * ProgramHeader::SIZE) as u64;
        let table = |kind: u32| ProgramHeader {
            kind,
            flags: PF_R | PF_X,
            offset: table_offset,
            file_size: size,
            memory_size: size,
            align: TABLE_ALIGN,
            ..ProgramHeader::default()
        };
        let mut segments = vec![table(PT_PHDR)];
        segments.extend(read_only);
        segments.extend(writable);
        segments.push(table(PT_LOAD));
        segments
    }
}

/// A segment of consecutive sections. Those without bytes are counted from where the bytes end.
fn segment<'header>(flags: u32, sections: impl Iterator<Item = &'header SectionHeader>) -> Option<ProgramHeader> {
    let mut sections = sections.peekable();
    let start = sections.peek()?.offset;
    let (mut end, mut without_bytes) = (start, 0u64);
    for section in sections {
        if SectionType(section.kind).is_no_bits() {
            end = section.offset;
            without_bytes = without_bytes.next_multiple_of(section.align) + section.size;
        } else {
            end = section.offset + section.size;
        }
    }
    Some(ProgramHeader {
        kind: PT_LOAD,
        flags,
        offset: start,
        file_size: end - start,
        memory_size: end - start + without_bytes,
        align: TABLE_ALIGN,
        ..ProgramHeader::default()
    })
}
