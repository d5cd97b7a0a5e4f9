//! The contents of sections as text, by what their types hold.

use std::fmt::{self, Write};

use super::{Dump, other_text, symbol_section_text};
use crate::callgraph::{self, Edge};
use crate::compat::Tag;
use crate::elf::SymbolRecord;
use crate::error::Error;
use crate::info::{self, Record};
use crate::note::{self, CudaInfo, Note, ToolNote};
use crate::printable::printable;
use crate::read::Section;
use crate::relocation;
use crate::section::{Contents, SectionType};
use crate::symbol::Symbol;
use crate::unified;

impl<'data> Dump<'_, 'data> {
    /// A section's contents under its name; nothing for sections without any.
    pub(super) fn contents(&self, out: &mut String, section: &Section<'data>) -> fmt::Result {
        if section.data.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n[{}] '{}'", section.index, printable(section.name))?;
        match (section.kind().contents(), section.kind()) {
            (Contents::Symbols, _) => self.symbol_table(out, section),
            (Contents::Strings, _) => write_strings(out, section.data),
            (Contents::Rel | Contents::Rela, _) => self.relocations(out, section),
            (Contents::Info, kind) => self.records(out, section, kind == SectionType::COMPAT),
            (_, SectionType::CALLGRAPH) => self.call_graph(out, section),
            (_, SectionType::PROTOTYPE) => self.prototypes(out, section),
            (_, SectionType::UNIFIED_FUNCTION_ENTRIES | SectionType::UNIFIED_DATA_ENTRIES) => self.unified_entries(out, section),
            (_, SectionType::NOTE) => write_notes(out, section),
            (_, SectionType::SYMTAB_SHNDX) => write_words(out, section.data),
            _ => write_bytes(out, 0, section.data),
        }
    }

    fn symbol_table(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        let mercury = section.kind() == SectionType::MERCURY_SYMTAB;
        let symbols = if mercury { self.file.mercury_symbols() } else { self.file.symbols() };
        let symbols = match symbols {
            Ok(symbols) => symbols,
            Err(error) => return write_unreadable(out, &error, 0, section.data),
        };
        for (index, symbol) in symbols.iter().enumerate() {
            let Symbol { name, binding, kind, value, size, .. } = symbol;
            let name = printable(name);
            write!(out, "  [{index}] '{name}' {binding} {kind} {}", other_text(symbol))?;
            let place = symbol_section_text(self, symbol.section);
            writeln!(out, " in {place} value {value:#x} size {size:#x}")?;
        }
        // Symbols are read as a whole table: bytes after the last one were an error above.
        debug_assert_eq!(symbols.len() * SymbolRecord::SIZE, section.data.len());
        Ok(())
    }

    fn relocations(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        let entries = match relocation::entries(section) {
            Ok(entries) => entries,
            Err(error) => return write_unreadable(out, &error, 0, section.data),
        };
        let symbols = self.symbols_of(section);
        for entry in entries {
            write!(out, "  {:#06x} {} {}", entry.offset, entry.kind, symbol_name(symbols, entry.symbol))?;
            match entry.addend {
                0 => writeln!(out)?,
                addend if addend < 0 => writeln!(out, " - {:#x}", addend.unsigned_abs())?,
                addend => writeln!(out, " + {addend:#x}")?,
            }
        }
        Ok(())
    }

    fn records(&self, out: &mut String, section: &Section<'_>, compat: bool) -> fmt::Result {
        let mut records = info::records(section.data);
        loop {
            let at = records.position();
            let Some(record) = records.next() else {
                return Ok(());
            };
            let record = match record {
                Ok(record) => record,
                Err(error) => return write_rest(out, section, at, error),
            };
            match info::format::name(record.format) {
                Some(name) => write!(out, "  {at:#06x} {name} ")?,
                None => write!(out, "  {at:#06x} {:#04x} ", record.format)?,
            }
            match compat {
                true => write!(out, "{}", Tag(record.attribute.0))?,
                false => write!(out, "{}", record.attribute)?,
            }
            match record.format {
                info::format::SIZED => self.payload(out, section, &record, compat)?,
                info::format::NO_VALUE if record.value == 0 => {}
                _ => write!(out, " {:#x}", record.value)?,
            }
            writeln!(out)?;
        }
    }

    /// A payload as words, those that are symbol indices with the symbols' names; then the bytes that make no word.
    fn payload(&self, out: &mut String, section: &Section<'_>, record: &Record<'_>, compat: bool) -> fmt::Result {
        let named = if compat { 0 } else { record.symbols().count() };
        for (index, word) in record.words().enumerate() {
            if index < named {
                write!(out, " {}", symbol_name(self.symbols_of(section), word))?;
            } else {
                write!(out, " {word:#x}")?;
            }
        }
        record.payload.as_chunks::<4>().1.iter().try_for_each(|byte| write!(out, " {byte:02x}"))
    }

    fn unified_entries(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        for entry in unified::entries(section.data) {
            let unified::Entry { symbol, flags, offset, first, second } = entry;
            let name = symbol_name(self.symbols_of(section), symbol);
            writeln!(out, "  {name} flags {flags:#x} offset {offset:#x} identifier {first:#018x} {second:#018x}")?;
        }
        let rest = section.data.len() % unified::Entry::SIZE;
        write_bytes(out, section.data.len() - rest, &section.data[section.data.len() - rest..])
    }

    fn call_graph(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        let name = |index: u32| symbol_name(self.symbols_of(section), index);
        for edge in callgraph::edges(section.data) {
            match edge {
                Ok(Edge::Call { caller, callee }) => writeln!(out, "  {} calls {}", name(caller), name(callee))?,
                Ok(Edge::AddressTaken { function, prototype }) => {
                    writeln!(out, "  {} has its address taken, {}", name(function), self.prototype(prototype))?;
                }
                Ok(Edge::IndirectCall { caller, prototype }) => {
                    writeln!(out, "  {} calls any {}", name(caller), self.prototype(prototype))?;
                }
                Ok(Edge::References { caller, function }) => {
                    writeln!(out, "  {} refers to {}", name(caller), name(function))?;
                }
                Err(error) => {
                    return write_unreadable(out, &error.in_section(section), 0, section.data);
                }
            }
        }
        Ok(())
    }

    fn prototypes(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        for entry in callgraph::prototypes(section.data) {
            match entry {
                Ok((symbol, prototype)) => {
                    let name = symbol_name(self.symbols_of(section), symbol);
                    writeln!(out, "  {name} {}", self.prototype(prototype))?;
                }
                Err(error) => {
                    return write_unreadable(out, &error.in_section(section), 0, section.data);
                }
            }
        }
        Ok(())
    }

    fn prototype(&self, offset: u32) -> String {
        let text = self.file.strings().and_then(|strings| strings.get(offset)).unwrap_or("?");
        format!("prototype {offset:#x} '{}'", printable(text))
    }
}

/// A symbol by index, with its name.
fn symbol_name(symbols: &[Symbol<'_>], index: u32) -> String {
    match usize::try_from(index).ok().and_then(|index| symbols.get(index)) {
        Some(symbol) => format!("{index} '{}'", printable(symbol.name)),
        None => format!("{index} ?"),
    }
}

fn write_strings(out: &mut String, data: &[u8]) -> fmt::Result {
    let mut offset = 0;
    for string in data.split_inclusive(|&byte| byte == 0) {
        match string.strip_suffix(&[0]) {
            Some(text) => writeln!(out, "  {offset:#06x} '{}'", text.escape_ascii())?,
            None => writeln!(out, "  {offset:#06x} '{}' without end", string.escape_ascii())?,
        }
        offset += string.len();
    }
    Ok(())
}

fn write_notes(out: &mut String, section: &Section<'_>) -> fmt::Result {
    for note in note::notes(section.data) {
        match note {
            Ok(note) => write_note(out, &note)?,
            Err(error) => {
                return write_unreadable(out, &error.in_section(section), 0, section.data);
            }
        }
    }
    Ok(())
}

fn write_note(out: &mut String, note: &Note<'_>) -> fmt::Result {
    writeln!(out, "  '{}' type {} size {:#x}", note.name.escape_ascii(), note.kind, note.description.len())?;
    let word = |index: usize| note.description.as_chunks().0.get(index).map_or(0, |word| u32::from_le_bytes(*word));
    if note.kind == note::TOOL
        && let Ok(tool) = ToolNote::decode(note.description)
    {
        writeln!(out, "    layout {}", word(0))?;
        let ToolNote { object, tool, version, build, options } = tool;
        let [object, tool, version, build, options] = [object, tool, version, build, options].map(printable);
        return writeln!(
            out,
            "    object '{object}'\n    tool '{tool}'\n    version '{version}'\n    build '{build}'\n    options '{options}'"
        );
    }
    if note.kind == note::CUDA_INFO
        && let Ok(info) = CudaInfo::decode(note.description)
        && info.encode().ends_with(note.description)
    {
        let CudaInfo { note_version, virtual_sm, toolkit } = info;
        return writeln!(out, "    layout {note_version} virtual sm {virtual_sm} toolkit {toolkit}");
    }
    write_bytes(out, 0, note.description)
}

fn write_words(out: &mut String, data: &[u8]) -> fmt::Result {
    let (words, rest) = data.as_chunks();
    for (index, word) in words.iter().enumerate() {
        writeln!(out, "  [{index}] {:#x}", u32::from_le_bytes(*word))?;
    }
    write_bytes(out, data.len() - rest.len(), rest)
}

/// Bytes, sixteen to a line. Equal lines that follow one another are shown once, with their number.
fn write_bytes(out: &mut String, start: usize, data: &[u8]) -> fmt::Result {
    let mut lines = data.chunks(16).enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let mut times = 1;
        while lines.next_if(|(_, next)| *next == line).is_some() {
            times += 1;
        }
        write!(out, "  {:#06x}", start + index * 16)?;
        line.iter().try_for_each(|byte| write!(out, " {byte:02x}"))?;
        match times {
            1 => writeln!(out)?,
            _ => writeln!(out, " ({times} times)")?,
        }
    }
    Ok(())
}

/// What is left of a section whose records can be read up to `at`.
fn write_rest(out: &mut String, section: &Section<'_>, at: usize, error: Error) -> fmt::Result {
    write_unreadable(out, &error.in_section(section), at, section.data.get(at..).unwrap_or_default())
}

/// Why something cannot be shown by its meaning, and its bytes.
fn write_unreadable(out: &mut String, error: &Error, start: usize, data: &[u8]) -> fmt::Result {
    writeln!(out, "  error: {error}")?;
    write_bytes(out, start, data)
}
