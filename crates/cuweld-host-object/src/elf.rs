//! Relocatable ELF files for hosts, as far as they are needed to carry device code.

use cubin::elf::{
    self, CLASS_64, DATA_LSB, ET_REL, Header, MAGIC, RelaRecord, SHF_INFO_LINK, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, STB_GLOBAL,
    STB_LOCAL, STT_NOTYPE, STT_SECTION, SectionHeader, SymbolRecord,
};
use std::borrow::Cow;

/// A section.
#[derive(Clone, Debug)]
pub struct Section<'data> {
    /// Its name.
    pub name: &'data str,
    /// Its type.
    pub kind: u32,
    /// Its flags.
    pub flags: u64,
    /// Its alignment.
    pub align: u64,
    /// What is in it.
    pub content: Content<'data>,
}

/// What is in a section.
#[derive(Clone, Debug)]
pub enum Content<'data> {
    /// These bytes.
    Bytes(Cow<'data, [u8]>),
    /// So many zeros, which take no room in the file.
    Zeros(u64),
    /// So many bytes that follow the file which [`Object::to_vec`] makes. At most one section can have them.
    Behind(u64),
}

impl<'data> Section<'data> {
    /// A section of bytes, without flags.
    #[must_use]
    pub fn new(name: &'data str, kind: u32, bytes: &[u8]) -> Self {
        Section { name, kind, flags: 0, align: 1, content: Content::Bytes(bytes.to_vec().into()) }
    }
}

/// The number of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionIndex(usize);

/// A symbol.
#[derive(Clone, Debug)]
pub struct Symbol<'data> {
    /// Its name.
    pub name: Cow<'data, str>,
    /// Where it is defined, if it is.
    pub section: Option<SectionIndex>,
    /// Who can see it.
    pub binding: u8,
    /// Its type.
    pub kind: u8,
    /// Its visibility.
    pub visibility: u8,
    /// Its offset in the section.
    pub value: u64,
    /// Its size.
    pub size: u64,
}

impl<'data> Symbol<'data> {
    /// A symbol that other objects can not see.
    #[must_use]
    pub fn local(name: impl Into<Cow<'data, str>>, section: SectionIndex) -> Self {
        Symbol { binding: STB_LOCAL, ..Self::global(name, section) }
    }

    /// A symbol for other objects.
    #[must_use]
    pub fn global(name: impl Into<Cow<'data, str>>, section: SectionIndex) -> Self {
        Symbol { section: Some(section), ..Self::undefined(name) }
    }

    /// A symbol of another object.
    #[must_use]
    pub fn undefined(name: impl Into<Cow<'data, str>>) -> Self {
        let name = name.into();
        Symbol { name, section: None, binding: STB_GLOBAL, kind: STT_NOTYPE, visibility: 0, value: 0, size: 0 }
    }
}

/// The number of a symbol among those that were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolIndex(usize);

/// A relocatable file.
#[derive(Clone, Debug)]
pub struct Object<'data> {
    machine: u16,
    sections: Vec<Section<'data>>,
    symbols: Vec<Symbol<'data>>,
    relocations: Vec<Relocation>,
}

#[derive(Clone, Copy, Debug)]
struct Relocation {
    section: SectionIndex,
    offset: u64,
    kind: u32,
    symbol: SymbolIndex,
    addend: i64,
}

impl<'data> Object<'data> {
    /// An empty file for a processor, by ELF's number of it.
    #[must_use]
    pub fn new(machine: u16) -> Self {
        Object { machine, sections: Vec::new(), symbols: Vec::new(), relocations: Vec::new() }
    }

    /// Adds a section.
    pub fn section(&mut self, section: Section<'data>) -> SectionIndex {
        self.sections.push(section);
        SectionIndex(self.sections.len() - 1)
    }

    /// Adds a symbol.
    pub fn symbol(&mut self, symbol: Symbol<'data>) -> SymbolIndex {
        self.symbols.push(symbol);
        SymbolIndex(self.symbols.len() - 1)
    }

    /// Adds the symbol of a section.
    pub fn section_symbol(&mut self, section: SectionIndex) -> SymbolIndex {
        self.symbol(Symbol { kind: STT_SECTION, ..Symbol::local("", section) })
    }

    /// Adds a relocation.
    pub fn relocation(&mut self, section: SectionIndex, offset: u64, kind: u32, symbol: SymbolIndex, addend: i64) {
        self.relocations.push(Relocation { section, offset, kind, symbol, addend });
    }

    /// The file, except for what is [after](Content::Behind) it.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut sections = self.sections.clone();
        let mut links = vec![(0, 0, 0); sections.len()];
        let (symbols, places, first_global) = self.symbol_table();
        let tables: Vec<usize> =
            (0..self.sections.len()).filter(|&section| self.relocations.iter().any(|entry| entry.section.0 == section)).collect();
        let names: Vec<String> = tables.iter().map(|&section| format!(".rela{}", self.sections[section].name)).collect();
        let symbol_table = sections.len() + tables.len() + 1;
        for &section in &tables {
            let entries = self.relocations.iter().filter(|entry| entry.section.0 == section);
            let bytes: Vec<u8> = entries.flat_map(|entry| entry.bytes(&places)).collect();
            links.push((symbol_table, section + 1, RelaRecord::SIZE));
            sections.push(Section { flags: SHF_INFO_LINK, align: 8, ..Section::new("", SHT_RELA, &bytes) });
        }
        links.extend([(symbol_table + 1, first_global, SymbolRecord::SIZE), (0, 0, 0)]);
        sections.push(Section { align: 8, ..Section::new(".symtab", SHT_SYMTAB, &symbols.records) });
        sections.push(Section::new(".strtab", SHT_STRTAB, &symbols.names));
        let named = names.iter().map(String::as_str);
        let mut all_names = Names::default();
        let mut offsets: Vec<u32> = sections.iter().map(|section| all_names.add(section.name)).collect();
        for (place, name) in (self.sections.len()..).zip(named) {
            offsets[place] = all_names.add(name);
        }
        offsets.push(all_names.add(".shstrtab"));
        links.push((0, 0, 0));
        sections.push(Section::new(".shstrtab", SHT_STRTAB, &all_names.0));
        write(self.machine, &sections, &offsets, &links)
    }

    /// The symbols in the order of the file: those that other objects can not see come first. Also: where each one is, and how many come
    /// first.
    fn symbol_table(&self) -> (SymbolTable, Vec<u32>, usize) {
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|&index| self.symbols[index].binding != STB_LOCAL);
        let mut table = SymbolTable { records: vec![0; SymbolRecord::SIZE], names: vec![0] };
        let mut names = Names(std::mem::take(&mut table.names));
        let mut places = vec![0; self.symbols.len()];
        for (place, &index) in (1..).zip(&order) {
            let symbol = &self.symbols[index];
            places[index] = place;
            let record = SymbolRecord {
                name: names.add(&symbol.name),
                info: symbol.binding << 4 | symbol.kind,
                other: symbol.visibility,
                section: symbol.section.map_or(elf::SHN_UNDEF, |section| section.0 as u16 + 1),
                value: symbol.value,
                size: symbol.size,
            };
            let start = table.records.len();
            table.records.resize(start + SymbolRecord::SIZE, 0);
            record.write(&mut table.records[start..]);
        }
        table.names = names.0;
        let locals = self.symbols.iter().filter(|symbol| symbol.binding == STB_LOCAL).count();
        (table, places, locals + 1)
    }
}

struct SymbolTable {
    records: Vec<u8>,
    names: Vec<u8>,
}

impl Relocation {
    fn bytes(&self, places: &[u32]) -> [u8; RelaRecord::SIZE] {
        let Relocation { offset, kind, addend, .. } = *self;
        let mut bytes = [0; RelaRecord::SIZE];
        RelaRecord { offset, kind, symbol: places[self.symbol.0], addend: addend as u64 }.write(&mut bytes);
        bytes
    }
}

/// A table of names.
struct Names(Vec<u8>);

impl Default for Names {
    fn default() -> Self {
        Names(vec![0])
    }
}

impl Names {
    fn add(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let offset = self.0.len() as u32;
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        offset
    }
}

/// Writes the header, the sections and their headers. What is after the file starts where it ends.
fn write(machine: u16, sections: &[Section<'_>], names: &[u32], links: &[(usize, usize, usize)]) -> Vec<u8> {
    let mut file = vec![0; Header::SIZE];
    let mut headers = vec![SectionHeader::default()];
    for ((section, &name), &(link, info, entry_size)) in sections.iter().zip(names).zip(links) {
        let size = match &section.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Zeros(size) | Content::Behind(size) => *size,
        };
        file.resize(file.len().next_multiple_of(section.align as usize), 0);
        headers.push(SectionHeader {
            name,
            kind: section.kind,
            flags: section.flags,
            offset: file.len() as u64,
            size,
            link: link as u32,
            info: info as u32,
            align: section.align,
            entry_size: entry_size as u64,
            ..SectionHeader::default()
        });
        if let Content::Bytes(bytes) = &section.content {
            file.extend_from_slice(bytes);
        }
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let section_header_offset = file.len() as u64;
    let end = section_header_offset + (headers.len() * SectionHeader::SIZE) as u64;
    for (header, section) in headers.iter_mut().skip(1).zip(sections) {
        if let Content::Behind(_) = section.content {
            // The headers end where every section that is aligned to 8 bytes may start.
            header.offset = end;
        }
    }
    for header in &headers {
        let start = file.len();
        file.resize(start + SectionHeader::SIZE, 0);
        header.write(&mut file[start..]);
    }
    let mut ident = [0; 16];
    ident[..4].copy_from_slice(&MAGIC);
    ident[4..7].copy_from_slice(&[CLASS_64, DATA_LSB, 1]);
    let header = Header {
        ident,
        kind: ET_REL,
        machine,
        version: 1,
        section_header_offset,
        header_size: Header::SIZE as u16,
        section_header_size: SectionHeader::SIZE as u16,
        section_header_count: headers.len() as u16,
        section_names: headers.len() as u16 - 1,
        ..Header::default()
    };
    header.write(&mut file);
    file
}
