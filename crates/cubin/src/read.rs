//! Reading: a whole cubin, checked once so that all other code can rely on it.
//!
//! [`File::parse`] checks the header, both header tables, the names of sections, and that everything lies in the file.
//! Symbols, relocations and records are decoded on request, and report what is wrong with them then. Nothing is copied
//! but headers; nothing is allocated that the size of the file does not justify.

use crate::compat::Tag;
use crate::elf::{self, Header, ProgramHeader, SectionHeader, SymbolRecord};
use crate::error::{Error, Problem, Result};
use crate::info;
use crate::note::{self, CudaInfo};
use crate::section::{Contents, SectionType};
use crate::symbol::{Binding, Symbol, SymbolKind, SymbolSection};
use crate::target::Views;

/// Which of the two known kinds of header a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Abi {
    /// OS ABI 0x41, version 8: CUDA 13, and CUDA 12.9 for its newest GPUs.
    Cuda13,
    /// OS ABI 0x33, version 7: CUDA 12 and before.
    Cuda12,
}

/// One section of a file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Section<'data> {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: &'data str,
    /// Its header.
    pub header: SectionHeader,
    /// Its contents; empty for types without bytes in the file.
    pub data: &'data [u8],
}

impl Section<'_> {
    /// Its type.
    #[must_use]
    pub fn kind(&self) -> SectionType {
        SectionType(self.header.kind)
    }
}

/// NUL-terminated strings, named by their offsets.
#[derive(Clone, Copy, Debug)]
pub struct StringTable<'data> {
    text: &'data str,
}

impl<'data> StringTable<'data> {
    /// Checks a table once, so that taking strings from it is cheap. `None` when it is not UTF-8.
    #[must_use]
    pub fn new(bytes: &'data [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(|text| Self { text })
    }

    /// The string at an offset, without its NUL.
    #[must_use]
    pub fn get(&self, offset: u32) -> Option<&'data str> {
        let text = self.text.get(usize::try_from(offset).ok()?..)?;
        text.get(..length(text.as_bytes())?)
    }

    /// The whole table.
    #[must_use]
    pub fn bytes(&self) -> &'data [u8] {
        self.text.as_bytes()
    }
}

/// Strings of a table that records name. Many records may name the same one, but together not more than the table and their number
/// justify: looking for the end of a string takes time.
#[derive(Debug)]
pub struct NamedStrings<'data> {
    table: StringTable<'data>,
    allowance: Allowance,
}

impl<'data> NamedStrings<'data> {
    /// The string at an offset, without its NUL; none, if the table ends before.
    ///
    /// # Errors
    /// When the strings that were asked for are together longer than is allowed.
    pub fn get(&mut self, offset: u32) -> Result<Option<&'data str>> {
        let Some(string) = self.table.get(offset) else { return Ok(None) };
        self.allowance.take(string.len()).map_err(Error::new)?;
        Ok(Some(string))
    }
}

/// How many bytes come before the first NUL. (Names are short: a search that takes time to begin takes most of the time.)
fn length(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, rest) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of the first byte that is zero, and of none before it.
        let zeros = word.wrapping_sub(ONES) & !word & ONES << 7;
        if zeros != 0 {
            return Some(8 * index + zeros.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|&byte| byte == 0).map(|position| 8 * words.len() + position)
}

/// The bit of a header's flags by which files say that they hold Mercury code.
const MERCURY: u32 = 2;

/// The bit by which files say that they hold machine code alone.
const MACHINE_ONLY: u32 = 4;

/// The number that stands for all section numbers that have no room in the header's flags.
const LAST_NOTE_NUMBER: u32 = 0xff;

/// The bit of a header's flags by which files of CUDA 12 said that addresses have 64 bits.
const ADDRESS_64_CUDA_12: u32 = 0x400;

/// A cubin.
#[derive(Clone, Debug)]
pub struct File<'data> {
    bytes: &'data [u8],
    abi: Abi,
    header: Header,
    sections: Vec<Section<'data>>,
    segments: Vec<ProgramHeader>,
    symbol_table: Option<SymbolTable<'data>>,
    mercury_symbol_table: Option<SymbolTable<'data>>,
}

/// How many sections and symbols a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The sections, the null section included.
    pub sections: usize,
    /// The symbols that linkers go by, the null symbol included.
    pub symbols: usize,
}

impl Counts {
    /// Counts them by the headers alone, before the file is read. A file that has others than these can not be read.
    #[must_use]
    pub fn of(bytes: &[u8], views: Views) -> Self {
        let counts = parse_header(bytes).and_then(|(header, _)| section_table(bytes, &header)).map(|(table, _)| {
            let headers = table.as_chunks().0.iter().map(SectionHeader::read);
            let sections = headers.len();
            let contents = |kind: SectionType| move |header: &SectionHeader| SectionType(header.kind) == kind;
            // The table of the linked view is among the first sections, and that of the other one is the last.
            let symbols = match views {
                Views::One => headers.clone().find(contents(SectionType::SYMTAB)),
                Views::Two => headers.clone().rfind(contents(SectionType::MERCURY_SYMTAB)),
            };
            let bytes = symbols.and_then(|header| self::contents(bytes, &header).ok()).unwrap_or_default();
            Counts { sections, symbols: bytes.len() / SymbolRecord::SIZE }
        });
        counts.unwrap_or_default()
    }
}

/// Where a symbol table is, and its strings.
#[derive(Clone, Copy, Debug)]
struct SymbolTable<'data> {
    index: u32,
    strings: StringTable<'data>,
}

impl<'data> File<'data> {
    /// Reads a cubin.
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        let (header, abi) = parse_header(bytes)?;
        let sections = parse_sections(bytes, &header)?;
        let segments = parse_segments(bytes, &header)?;
        let symbol_table = find_symbol_table(&sections, SectionType::SYMTAB)?;
        let mercury_symbol_table = find_symbol_table(&sections, SectionType::MERCURY_SYMTAB)?;
        Ok(Self { bytes, abi, header, sections, segments, symbol_table, mercury_symbol_table })
    }

    /// The file header. Where the file has more than 65,280 sections, its counts of them are not the real ones.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Which kind of header it is.
    #[must_use]
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &'data [u8] {
        self.bytes
    }

    /// All sections by index; the first is the null section.
    #[must_use]
    pub fn sections(&self) -> &[Section<'data>] {
        &self.sections
    }

    /// The section of an index.
    #[must_use]
    pub fn section(&self, index: u32) -> Option<&Section<'data>> {
        self.sections.get(usize::try_from(index).ok()?)
    }

    /// The program headers.
    #[must_use]
    pub fn segments(&self) -> &[ProgramHeader] {
        &self.segments
    }

    /// The first section of a name. (It is searched for: remember what is needed often.)
    #[must_use]
    pub fn section_named(&self, name: &str) -> Option<u32> {
        self.sections.iter().skip(1).find(|section| section.name == name).map(|section| section.index)
    }

    /// The symbols of `.symtab`, the null symbol first; none when there is no such section.
    pub fn symbols(&self) -> Result<Vec<Symbol<'data>>> {
        self.decode_symbols(self.symbol_table)?.collect()
    }

    /// The symbols of the Mercury view's symbol table; none when there is no such section.
    pub fn mercury_symbols(&self) -> Result<Vec<Symbol<'data>>> {
        self.decode_symbols(self.mercury_symbol_table)?.collect()
    }

    /// The symbols that linkers go by, one after the other: those of the Mercury view, where there are two.
    pub fn each_linked_symbol(&self, views: Views) -> Result<impl ExactSizeIterator<Item = Result<Symbol<'data>>>> {
        self.decode_symbols(match views {
            Views::One => self.symbol_table,
            Views::Two => self.mercury_symbol_table,
        })
    }

    /// Index of the section that [`symbols`](Self::symbols) reads.
    #[must_use]
    pub fn symbol_table(&self) -> Option<u32> {
        self.symbol_table.map(|table| table.index)
    }

    /// Index of the section that [`mercury_symbols`](Self::mercury_symbols) reads.
    #[must_use]
    pub fn mercury_symbol_table(&self) -> Option<u32> {
        self.mercury_symbol_table.map(|table| table.index)
    }

    /// The strings of the symbol table: names of symbols, prototypes of functions.
    #[must_use]
    pub fn strings(&self) -> Option<StringTable<'data>> {
        self.symbol_table.map(|table| table.strings)
    }

    /// The same, for `count` records that name some of them.
    #[must_use]
    pub fn strings_for(&self, count: usize) -> Option<NamedStrings<'data>> {
        self.strings().map(|table| NamedStrings { table, allowance: Allowance::for_names(table, count) })
    }

    /// The GPU that the code is for: 90 for `sm_90`.
    #[must_use]
    pub fn sm(&self) -> u32 {
        match self.abi {
            Abi::Cuda13 => self.header.flags >> 8 & 0xffff,
            Abi::Cuda12 => self.header.flags & 0xff,
        }
    }

    /// The virtual architecture that the code was compiled from.
    #[must_use]
    pub fn virtual_sm(&self) -> Option<u32> {
        match self.abi {
            Abi::Cuda13 => self.cuda_info().map(|info| info.virtual_sm.into()),
            Abi::Cuda12 => Some(self.header.flags >> 16 & 0xff),
        }
    }

    /// The toolkit that compiled the file: 130 for CUDA 13.0.
    #[must_use]
    pub fn toolkit(&self) -> Option<u32> {
        match self.abi {
            Abi::Cuda13 => self.cuda_info().map(|info| info.toolkit.into()),
            Abi::Cuda12 => Some(self.header.version),
        }
    }

    /// Whether the file should say that its addresses have 64 bits, and does not. Since CUDA 13, none says so.
    #[must_use]
    pub fn lacks_address_size(&self) -> bool {
        self.abi == Abi::Cuda12 && self.header.flags & ADDRESS_64_CUDA_12 == 0
    }

    /// Whether the code is for the variant `a` of its GPU.
    #[must_use]
    pub fn is_accelerated(&self) -> bool {
        match self.abi {
            Abi::Cuda13 => self.sections.iter().filter(|section| section.kind() == SectionType::COMPAT).any(|section| {
                info::records(section.data)
                    .map_while(Result::ok)
                    .any(|record| Tag(record.attribute.0) == Tag::CUDA_ACCELERATOR_TARGET && record.value != 0)
            }),
            Abi::Cuda12 => self.header.flags & 0x0800 != 0,
        }
    }

    /// Whether the header says that the file holds Mercury code, which is generated anew for each GPU of a family.
    #[must_use]
    pub fn is_mercury(&self) -> bool {
        self.abi == Abi::Cuda13 && self.header.flags & MERCURY != 0
    }

    /// Whether the header says that the file holds machine code alone.
    #[must_use]
    pub fn is_machine_only(&self) -> bool {
        self.abi == Abi::Cuda13 && self.header.flags & MACHINE_ONLY != 0
    }

    /// The note that says what the file was made for. The header says which section it is in.
    #[must_use]
    pub fn cuda_info(&self) -> Option<CudaInfo> {
        let number = self.header.flags >> 24;
        let is_note = |section: &&Section<'_>| {
            section.kind() == SectionType::NOTE && (number >= LAST_NOTE_NUMBER || section.index == number)
        };
        let notes = self.sections.iter().filter(is_note).flat_map(|section| note::notes(section.data));
        let mut of_kind = notes.filter_map(Result::ok).filter(|note| note.kind == note::CUDA_INFO);
        of_kind.find_map(|note| CudaInfo::decode(note.description).ok())
    }

    fn decode_symbols(
        &self,
        table: Option<SymbolTable<'data>>,
    ) -> Result<impl ExactSizeIterator<Item = Result<Symbol<'data>>> + use<'_, 'data>> {
        let section = table.and_then(|table| self.section(table.index));
        let (records, rest) = section.map_or(&[][..], |section| section.data).as_chunks::<{ SymbolRecord::SIZE }>();
        if let Some(section) = section
            && (!rest.is_empty() || section.header.entry_size != SymbolRecord::SIZE as u64)
        {
            let problem = Problem::PartialEntry { size: section.header.size, entry_size: section.header.entry_size };
            return Err(Error::new(problem).in_section(section));
        }
        let is_extension = |extension: &&Section<'_>| {
            let link = table.map(|table| table.index);
            extension.kind() == SectionType::SYMTAB_SHNDX && Some(extension.header.link) == link
        };
        let extended = self.sections.iter().find(is_extension);
        let extended = extended.map_or(&[][..], |section| section.data.as_chunks::<4>().0);
        let strings = table.map_or(StringTable { text: "" }, |table| table.strings);
        let mut names = Allowance::for_names(strings, records.len());
        Ok(records.iter().enumerate().map(move |(index, record)| {
            let symbol = self.decode_symbol(index, SymbolRecord::read(record), strings, extended);
            symbol.and_then(|symbol| names.take(symbol.name.len()).map(|()| symbol)).map_err(|problem| {
                let error = Error::at((index * SymbolRecord::SIZE) as u64, problem);
                section.map_or(error.clone(), |section| error.in_section(section))
            })
        }))
    }

    #[inline]
    fn decode_symbol(
        &self,
        index: usize,
        record: SymbolRecord,
        strings: StringTable<'data>,
        extended: &[[u8; 4]],
    ) -> std::result::Result<Symbol<'data>, Problem> {
        let number = index as u32;
        let name = strings.get(record.name).ok_or_else(|| Problem::Name {
            what: "symbol",
            index: number,
            name: record.name,
            size: strings.bytes().len() as u64,
        })?;
        let section = match record.section {
            elf::SHN_UNDEF => SymbolSection::Undefined,
            elf::SHN_ABS => SymbolSection::Absolute,
            elf::SHN_COMMON => SymbolSection::Common,
            elf::SHN_XINDEX => {
                let real = extended.get(index).ok_or(Problem::NoExtendedIndex(number))?;
                SymbolSection::Index(u32::from_le_bytes(*real))
            }
            // Compilers write this number as it is where there is a section that has it.
            elf::SHN_LORESERVE if self.section(elf::SHN_LORESERVE.into()).is_some() => {
                SymbolSection::Index(elf::SHN_LORESERVE.into())
            }
            reserved if reserved >= elf::SHN_LORESERVE => SymbolSection::Reserved(reserved),
            index => SymbolSection::Index(index.into()),
        };
        if let SymbolSection::Index(index) = section
            && self.section(index).is_none()
        {
            return Err(Problem::SymbolSection { symbol: number, index, count: self.sections.len() as u32 });
        }
        Ok(Symbol {
            name,
            name_offset: record.name,
            binding: Binding(record.info >> 4),
            kind: SymbolKind(record.info & 0xf),
            other: record.other,
            section,
            value: record.value,
            size: record.size,
        })
    }
}

/// How much parts of a file may have together. Nothing forbids them to share bytes, and some do; but without a limit, a small file
/// could stand for one of any size.
#[derive(Debug)]
struct Allowance {
    what: &'static str,
    left: u64,
}

impl Allowance {
    /// For the names of `count` things. Tables store an end of another name only once, and some names are those of many things.
    fn for_names(table: StringTable<'_>, count: usize) -> Self {
        let left = 0x1_0000 + 16 * table.bytes().len() as u64 + 256 * count as u64;
        Allowance { what: "the names", left }
    }

    /// For the contents of sections. The two views of a program share some of theirs.
    fn for_sections(bytes: &[u8]) -> Self {
        Allowance { what: "the sections", left: 4 * bytes.len() as u64 }
    }

    fn take(&mut self, size: usize) -> std::result::Result<(), Problem> {
        self.left = self.left.checked_sub(size as u64).ok_or(Problem::Overlap(self.what))?;
        Ok(())
    }
}

/// Checks the header as far as it stands for itself.
fn parse_header(bytes: &[u8]) -> Result<(Header, Abi)> {
    if !bytes.starts_with(&elf::MAGIC) {
        return Err(Error::new(Problem::NotElf));
    }
    match bytes.get(4) {
        Some(&elf::CLASS_64) => {}
        Some(&elf::CLASS_32) => return Err(Error::at(4, Problem::Elf32)),
        Some(&class) => return Err(Error::at(4, Problem::UnknownClass(class))),
        None => return Err(past_end("the file header", Header::SIZE as u64, bytes)),
    }
    let header = Header::parse(bytes, 0).ok_or_else(|| past_end("the file header", Header::SIZE as u64, bytes))?;
    let [.., data, _, os_abi, version, _, _, _, _, _, _, _] = header.ident;
    if data != elf::DATA_LSB {
        return Err(Error::at(5, Problem::NotLittleEndian(data)));
    }
    if header.machine != elf::EM_CUDA {
        return Err(Error::at(18, Problem::NotCuda(header.machine)));
    }
    let abi = match (os_abi, version) {
        (elf::OS_ABI_CUDA_13, elf::ABI_VERSION_CUDA_13) => Abi::Cuda13,
        (elf::OS_ABI_CUDA_12, elf::ABI_VERSION_CUDA_12) => Abi::Cuda12,
        _ => return Err(Error::at(7, Problem::UnknownAbi { os_abi, version })),
    };
    Ok((header, abi))
}

/// The table of section headers, and the index of the section with their names.
fn section_table<'data>(bytes: &'data [u8], header: &Header) -> Result<(&'data [u8], u32)> {
    let start = header.section_header_offset;
    if start == 0 {
        return Ok((&[], 0));
    }
    let size = u64::from(header.section_header_size);
    if size != SectionHeader::SIZE as u64 {
        let problem = Problem::Field { field: "size of a section header", found: size, expected: SectionHeader::SIZE as u64 };
        return Err(Error::at(58, problem));
    }
    let null_section = SectionHeader::parse(bytes, start)
        .ok_or_else(|| past_end("the section header table", start.saturating_add(size), bytes))?;
    // Counts that do not fit into the header are in the null section.
    if header.section_header_count != 0 && null_section.size != 0 {
        let problem = Problem::Field { field: "size of the first section", found: null_section.size, expected: 0 };
        return Err(Error::at(start, problem));
    }
    if null_section.kind != SectionType::NULL.0 {
        let problem = Problem::Field { field: "type of the first section", found: null_section.kind.into(), expected: 0 };
        return Err(Error::at(start, problem));
    }
    let count = match header.section_header_count {
        0 => null_section.size,
        count => count.into(),
    };
    let names = match header.section_names {
        elf::SHN_XINDEX => null_section.link,
        index => index.into(),
    };
    Ok((table(bytes, "the section header table", start, count, size)?, names))
}

fn parse_sections<'data>(bytes: &'data [u8], header: &Header) -> Result<Vec<Section<'data>>> {
    let start = header.section_header_offset;
    if start == 0 {
        return Ok(Vec::new());
    }
    let (table, names_index) = section_table(bytes, header)?;
    let headers = table.as_chunks().0;
    let names = headers.get(names_index as usize).map(SectionHeader::read).ok_or_else(|| {
        let what = "the header's index of section names";
        Error::at(62, Problem::SectionIndex { what, index: names_index, count: headers.len() as u32 })
    })?;
    if SectionType(names.kind).contents() != Contents::Strings {
        let what = "the table of section names";
        return Err(Error::at(62, Problem::SectionKind { what, index: names_index, expected: "string table" }));
    }
    let names = contents(bytes, &names)
        .and_then(|data| StringTable::new(data).ok_or(Problem::NotText))
        .map_err(|problem| Error::at(names.offset, problem))?;

    let mut name_bytes = Allowance::for_names(names, headers.len());
    let mut data_bytes = Allowance::for_sections(bytes);
    let mut sections = Vec::with_capacity(headers.len());
    for (index, header) in (0..).zip(headers.iter().map(SectionHeader::read)) {
        let name = names.get(header.name).ok_or_else(|| {
            let size = names.bytes().len() as u64;
            let problem = Problem::Name { what: "section", index, name: header.name, size };
            Error::at(start + u64::from(index) * SectionHeader::SIZE as u64, problem)
        })?;
        let data = contents(bytes, &header)
            .and_then(|data| name_bytes.take(name.len()).and(data_bytes.take(data.len())).map(|()| data))
            .map_err(|problem| Error::new(problem).in_section(&Section { index, name, header, data: &[] }))?;
        sections.push(Section { index, name, header, data });
    }
    Ok(sections)
}

fn parse_segments(bytes: &[u8], header: &Header) -> Result<Vec<ProgramHeader>> {
    if header.program_header_count == 0 {
        // Where a table of nothing starts is in the file, too.
        return table(bytes, "the program header table", header.program_header_offset, 0, 0).map(|_| Vec::new());
    }
    let size = u64::from(header.program_header_size);
    if size != ProgramHeader::SIZE as u64 {
        let problem = Problem::Field { field: "size of a program header", found: size, expected: ProgramHeader::SIZE as u64 };
        return Err(Error::at(54, problem));
    }
    let start = header.program_header_offset;
    let table = table(bytes, "the program header table", start, header.program_header_count.into(), size)?;
    let segments: Vec<_> = table.as_chunks().0.iter().map(ProgramHeader::read).collect();
    for (index, segment) in segments.iter().enumerate() {
        range(bytes, "a segment", segment.offset, segment.file_size)
            .map_err(|problem| Error::at(start + (index * ProgramHeader::SIZE) as u64, problem))?;
    }
    Ok(segments)
}

/// The bytes of a table of `count` entries.
fn table<'data>(bytes: &'data [u8], what: &'static str, start: u64, count: u64, size: u64) -> Result<&'data [u8]> {
    let size = count.checked_mul(size).ok_or_else(|| Error::at(start, Problem::Overflow(what)))?;
    range(bytes, what, start, size).map_err(|problem| Error::at(start, problem))
}

/// The contents of a section: none in the file, for types that have none there.
fn contents<'data>(bytes: &'data [u8], header: &SectionHeader) -> std::result::Result<&'data [u8], Problem> {
    let kind = SectionType(header.kind);
    if kind == SectionType::NULL {
        return range(bytes, "a section", header.offset, 0);
    }
    if kind.is_no_bits() {
        return Ok(&[]);
    }
    range(bytes, "a section", header.offset, header.size)
}

fn range<'data>(bytes: &'data [u8], what: &'static str, start: u64, size: u64) -> std::result::Result<&'data [u8], Problem> {
    let end = start.checked_add(size).ok_or(Problem::Overflow(what))?;
    let index = |offset: u64| usize::try_from(offset).ok();
    let found = index(start).zip(index(end)).and_then(|(start, end)| bytes.get(start..end));
    found.ok_or(Problem::PastEnd { what, end, file_size: bytes.len() as u64 })
}

fn past_end(what: &'static str, end: u64, bytes: &[u8]) -> Error {
    Error::new(Problem::PastEnd { what, end, file_size: bytes.len() as u64 })
}

/// The one section of a type that is a symbol table, with its strings.
fn find_symbol_table<'data>(sections: &[Section<'data>], kind: SectionType) -> Result<Option<SymbolTable<'data>>> {
    let mut tables = sections.iter().filter(|section| section.kind() == kind);
    let Some(section) = tables.next() else {
        return Ok(None);
    };
    if let Some(second) = tables.next() {
        return Err(Error::new(Problem::Duplicate("symbol table")).in_section(second));
    }
    let link = section.header.link;
    let strings = sections.get(link as usize).filter(|strings| strings.kind().contents() == Contents::Strings);
    let Some(strings) = strings else {
        let what = "the string table of the symbols";
        let problem = Problem::SectionKind { what, index: link, expected: "string table" };
        return Err(Error::new(problem).in_section(section));
    };
    let table = StringTable::new(strings.data).ok_or_else(|| Error::new(Problem::NotText).in_section(strings))?;
    Ok(Some(SymbolTable { index: section.index, strings: table }))
}
