//! A file with names in place of numbers.

use std::collections::HashMap;

use cubin::elf::{self, SHF_EXECINSTR};
use cubin::info::{self, Record};
use cubin::note::{self, CudaInfo, Note, ToolNote};
use cubin::read::{File, Section};
use cubin::section::{Contents, SectionType};
use cubin::symbol::{Symbol, SymbolKind, SymbolSection};
use cubin::{Result, callgraph, compat, relocation};

use crate::Area;

/// A file, and what its numbers are called.
pub(crate) struct View<'file, 'data> {
    pub(crate) file: &'file File<'data>,
    /// Names of all sections, by index.
    pub(crate) section_names: Vec<String>,
    symbols: Table<'data>,
    mercury: Table<'data>,
}

struct Table<'data> {
    symbols: Vec<Symbol<'data>>,
    names: Vec<String>,
}

impl<'data> Table<'data> {
    fn new(symbols: Result<Vec<Symbol<'data>>>) -> Self {
        // A table that cannot be read is compared as bytes, and its symbols have no names.
        let symbols = symbols.unwrap_or_default();
        let names = distinct(symbols.iter().map(|symbol| symbol.name));
        Self { symbols, names }
    }
}

/// Names that tell everything apart: the second `f` becomes `'f' (2)`.
pub(crate) fn distinct<'name>(names: impl Iterator<Item = &'name str>) -> Vec<String> {
    let mut seen = HashMap::new();
    let distinct = |name| {
        let times: &mut usize = seen.entry(name).or_default();
        *times += 1;
        if *times == 1 { format!("'{name}'") } else { format!("'{name}' ({times})") }
    };
    names.map(distinct).collect()
}

impl<'file, 'data> View<'file, 'data> {
    pub(crate) fn new(file: &'file File<'data>) -> Self {
        Self {
            file,
            section_names: distinct(file.sections().iter().map(|section| section.name)),
            symbols: Table::new(file.symbols()),
            mercury: Table::new(file.mercury_symbols()),
        }
    }

    /// A section by its index.
    pub(crate) fn section(&self, index: u32) -> String {
        let found = usize::try_from(index).ok().and_then(|index| self.section_names.get(index));
        found.map_or_else(|| format!("section {index}"), String::clone)
    }

    /// The symbols that a section's numbers mean.
    fn table(&self, section: &Section<'_>) -> &Table<'data> {
        let own = section.kind() == SectionType::MERCURY_SYMTAB;
        match self.file.mercury_symbol_table() {
            Some(table) if own || section.header.link == table => &self.mercury,
            _ => &self.symbols,
        }
    }

    fn symbol(&self, section: &Section<'_>, index: u32) -> String {
        let found = usize::try_from(index).ok().and_then(|index| self.table(section).names.get(index));
        found.map_or_else(|| format!("symbol {index}"), String::clone)
    }

    fn string(&self, offset: u32) -> String {
        let found = self.file.strings().and_then(|strings| strings.get(offset));
        found.map_or_else(|| format!("string {offset:#x}"), |string| format!("'{string}'"))
    }

    /// A section header's `link`, by name.
    pub(crate) fn link(&self, section: &Section<'_>) -> String {
        match section.header.link {
            0 => "none".to_owned(),
            index => self.section(index),
        }
    }

    /// A section header's `info`, by whatever it means there.
    pub(crate) fn info(&self, section: &Section<'_>) -> String {
        let info = section.header.info;
        let names_function = section.header.flags & SHF_EXECINSTR != 0 || section.kind() == SectionType::CAPSULE;
        // The linker's own relocations of texture slots lack the flag.
        let names_section =
            section.header.flags & elf::SHF_INFO_LINK != 0 || matches!(section.kind().contents(), Contents::Rel | Contents::Rela);
        if names_section {
            self.section(info)
        } else if names_function {
            let (registers, symbol) = (info >> 24, info & 0xff_ffff);
            format!("{} registers {registers}", self.symbol(section, symbol))
        } else {
            format!("{info}")
        }
    }

    /// The contents of a section as a list of facts, and what part of the file they are. `None` for contents that are
    /// only bytes, or that cannot be read.
    pub(crate) fn facts(&self, section: &Section<'_>) -> Option<(Area, Vec<String>)> {
        let area = |area: Area| move |facts: Vec<String>| (area, facts);
        match (section.kind().contents(), section.kind()) {
            (Contents::Rel | Contents::Rela, _) => self.relocations(section).map(area(Area::Relocations)),
            (_, SectionType::COMPAT) => self.records(section, true).map(area(Area::Compat)),
            (Contents::Info, _) => self.records(section, false).map(area(Area::Info)),
            (Contents::Strings, _) => Some((Area::Strings, strings(section.data))),
            (_, SectionType::CALLGRAPH) => self.call_graph(section).map(area(Area::CallGraph)),
            (_, SectionType::PROTOTYPE) => self.prototypes(section).map(area(Area::CallGraph)),
            (_, SectionType::NOTE) => notes(section).map(area(Area::Notes)),
            _ => None,
        }
    }

    /// The symbols of a symbol table: name, and the fields by name. `None` when the table cannot be read.
    pub(crate) fn symbols(&self, section: &Section<'_>) -> Option<Vec<NamedSymbol<'_>>> {
        let table = self.table(section);
        if table.symbols.is_empty() {
            return None;
        }
        let fields = |symbol: &Symbol<'_>| {
            let place = match symbol.section {
                SymbolSection::Index(index) => self.section(index),
                SymbolSection::Reserved(value) => format!("{value:#x}"),
                special => format!("{special:?}").to_lowercase(),
            };
            [
                ("binding", symbol.binding.to_string()),
                ("type", symbol.kind.to_string()),
                ("other", format!("{:#04x}", symbol.other)),
                ("section", place),
                ("value", format!("{:#x}", symbol.value)),
                ("size", format!("{:#x}", symbol.size)),
            ]
        };
        Some(table.names.iter().zip(&table.symbols).map(|(name, symbol)| (name.as_str(), fields(symbol))).collect())
    }

    fn relocations(&self, section: &Section<'_>) -> Option<Vec<String>> {
        let text = |entry: relocation::Relocation| {
            let symbol = self.symbol(section, entry.symbol);
            format!("{:#x} {} {symbol} {:+#x}", entry.offset, entry.kind, entry.addend)
        };
        relocation::entries(section).ok().map(|entries| entries.map(text).collect())
    }

    /// The functions whose addresses a section wants, and where.
    pub(crate) fn functions_named(&self, section: &Section<'_>) -> impl Iterator<Item = (u64, &'data str)> {
        let is_list = |list: &&Section<'data>| {
            matches!(list.kind().contents(), Contents::Rel | Contents::Rela) && list.header.info == section.index
        };
        let lists = self.file.sections().iter().filter(is_list);
        let entries = lists.flat_map(|list| {
            let symbols = &self.table(list).symbols;
            relocation::entries(list).into_iter().flatten().map(move |entry| (entry.offset, symbols.get(entry.symbol as usize)))
        });
        entries.filter_map(|(offset, symbol)| Some((offset, symbol.filter(|symbol| symbol.kind == SymbolKind::FUNCTION)?.name)))
    }

    fn records(&self, section: &Section<'_>, compat: bool) -> Option<Vec<String>> {
        let text = |record: Record<'_>| {
            let format = info::format::name(record.format).map_or(record.format.to_string(), str::to_owned);
            let name = if compat { compat::Tag(record.attribute.0).to_string() } else { record.attribute.to_string() };
            let mut text = format!("{format} {name}");
            let named = if compat { 0 } else { record.symbols().count() };
            for (index, word) in record.words().enumerate() {
                text.push(' ');
                text.push_str(&if index < named { self.symbol(section, word) } else { format!("{word:#x}") });
            }
            for byte in record.payload.as_chunks::<4>().1 {
                text.push_str(&format!(" {byte:02x}"));
            }
            if record.format != info::format::SIZED {
                text.push_str(&format!(" {:#x}", record.value));
            }
            text
        };
        info::records(section.data).map(|record| record.map(text)).collect::<Result<_>>().ok()
    }

    fn call_graph(&self, section: &Section<'_>) -> Option<Vec<String>> {
        use callgraph::Edge;
        let symbol = |index| self.symbol(section, index);
        let text = |edge| match edge {
            Edge::Call { caller, callee } => format!("{} calls {}", symbol(caller), symbol(callee)),
            Edge::AddressTaken { function, prototype } => {
                format!("{} has its address taken, prototype {}", symbol(function), self.string(prototype))
            }
            Edge::IndirectCall { caller, prototype } => {
                format!("{} calls any prototype {}", symbol(caller), self.string(prototype))
            }
            Edge::References { caller, function } => {
                format!("{} refers to {}", symbol(caller), symbol(function))
            }
        };
        callgraph::edges(section.data).map(|edge| edge.map(text)).collect::<Result<_>>().ok()
    }

    fn prototypes(&self, section: &Section<'_>) -> Option<Vec<String>> {
        let text = |(symbol, string)| format!("{} has prototype {}", self.symbol(section, symbol), self.string(string));
        callgraph::prototypes(section.data).map(|entry| entry.map(text)).collect::<Result<_>>().ok()
    }
}

/// A symbol's name, and its fields with theirs.
pub(crate) type NamedSymbol<'name> = (&'name str, [(&'static str, String); 6]);

fn strings(data: &[u8]) -> Vec<String> {
    let strings = data.split_inclusive(|&byte| byte == 0);
    strings.map(|string| format!("\"{}\"", string.strip_suffix(b"\0").unwrap_or(string).escape_ascii())).collect()
}

fn notes(section: &Section<'_>) -> Option<Vec<String>> {
    note::notes(section.data).map(|note| note.map(|note| note_text(&note))).collect::<Result<_>>().ok()
}

fn note_text(note: &Note<'_>) -> String {
    match note.kind {
        note::TOOL => ToolNote::decode(note.description).ok().map(|note| format!("{note:?}")),
        note::CUDA_INFO => CudaInfo::decode(note.description).ok().map(|note| format!("{note:?}")),
        _ => None,
    }
    .unwrap_or_else(|| format!("type {} \"{}\"", note.kind, note.description.escape_ascii()))
}
