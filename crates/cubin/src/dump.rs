//! Everything in a cubin as text: complete, stable, and readable.
//!
//! Every byte that the format gives a meaning is shown by that meaning; all other contents are shown as bytes. What
//! cannot be read is shown as an error and then as bytes.

use std::fmt::{self, Write};

use crate::elf::{self, Header, ProgramHeader};
use crate::printable::printable;
use crate::read::{Abi, File, Section};
use crate::section;
use crate::symbol::{Space, Symbol, SymbolSection, other};

mod contents;

/// Everything in a file as text.
#[must_use]
pub fn dump(file: &File<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Dump::new(file).write(&mut out);
    out
}

/// What is needed to show any part of a file.
struct Dump<'file, 'data> {
    file: &'file File<'data>,
    symbols: Vec<Symbol<'data>>,
    mercury_symbols: Vec<Symbol<'data>>,
}

impl<'file, 'data> Dump<'file, 'data> {
    fn new(file: &'file File<'data>) -> Self {
        // A table that cannot be read has no names to offer; the section itself then shows why.
        let symbols = file.symbols().unwrap_or_default();
        let mercury_symbols = file.mercury_symbols().unwrap_or_default();
        Self { file, symbols, mercury_symbols }
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        self.header(out, self.file.header())?;
        writeln!(out, "\nsections")?;
        for section in self.file.sections() {
            self.section(out, section)?;
        }
        writeln!(out, "\nsegments")?;
        for (index, segment) in self.file.segments().iter().enumerate() {
            write_segment(out, index, segment)?;
        }
        for section in self.file.sections() {
            self.contents(out, section)?;
        }
        Ok(())
    }

    fn header(&self, out: &mut String, header: &Header) -> fmt::Result {
        let kind = match header.kind {
            elf::ET_REL => "relocatable",
            elf::ET_EXEC => "linked",
            elf::ET_WHOLE_PROGRAM => "whole program",
            _ => "unknown",
        };
        let toolkit = |number: Option<u32>| number.map_or("unknown".to_owned(), |number| number.to_string());
        writeln!(out, "header")?;
        write!(out, "  identification")?;
        header.ident.iter().try_for_each(|byte| write!(out, " {byte:02x}"))?;
        let abi = match self.file.abi() {
            Abi::Cuda13 => "CUDA 13",
            Abi::Cuda12 => "CUDA 12",
        };
        writeln!(out, " ({abi})")?;
        writeln!(out, "  type {} ({kind})", header.kind)?;
        writeln!(out, "  machine {} version {} entry {:#x}", header.machine, header.version, header.entry)?;
        let accelerated = if self.file.is_accelerated() { "a" } else { "" };
        let (virtual_sm, made_by) = (toolkit(self.file.virtual_sm()), toolkit(self.file.toolkit()));
        let sm = self.file.sm();
        let flags = header.flags;
        writeln!(out, "  flags {flags:#010x} (sm_{sm}{accelerated}, virtual sm {virtual_sm}, toolkit {made_by})")?;
        writeln!(
            out,
            "  section headers at {:#x}: {} of {} bytes, names in {}",
            header.section_header_offset, header.section_header_count, header.section_header_size, header.section_names
        )?;
        writeln!(
            out,
            "  program headers at {:#x}: {} of {} bytes",
            header.program_header_offset, header.program_header_count, header.program_header_size
        )?;
        writeln!(out, "  header size {}, file size {:#x}", header.header_size, self.file.bytes().len())
    }

    fn section(&self, out: &mut String, section: &Section<'_>) -> fmt::Result {
        let Section { index, name, header, .. } = section;
        let name = printable(name);
        write!(out, "  [{index}] '{name}' {} {}", section.kind(), section::flags_text(header.flags))?;
        write!(out, " offset {:#x} size {:#x}", header.offset, header.size)?;
        write!(out, " link {} info {:#x}", header.link, header.info)?;
        if header.flags & elf::SHF_INFO_LINK != 0 {
            let name = self.file.section(header.info).map_or("?", |section| section.name);
            write!(out, " '{}'", printable(name))?;
        }
        write!(out, " align {} entry {}", header.align, header.entry_size)?;
        if header.address != 0 {
            write!(out, " address {:#x}", header.address)?;
        }
        writeln!(out)
    }

    /// The symbols that a section's contents number.
    fn symbols_of(&self, section: &Section<'_>) -> &[Symbol<'data>] {
        match self.file.mercury_symbol_table() {
            Some(table) if section.header.link == table => &self.mercury_symbols,
            _ => &self.symbols,
        }
    }

    /// A section by index, with its name.
    fn section_name(&self, index: u32) -> String {
        self.file.section(index).map_or(format!("{index} ?"), |section| format!("{index} '{}'", printable(section.name)))
    }
}

fn write_segment(out: &mut String, index: usize, segment: &ProgramHeader) -> fmt::Result {
    match segment.kind {
        elf::PT_LOAD => write!(out, "  [{index}] LOAD")?,
        elf::PT_PHDR => write!(out, "  [{index}] PHDR")?,
        kind => write!(out, "  [{index}] {kind:#x}")?,
    }
    let ProgramHeader { flags, offset, file_size, memory_size, align, .. } = segment;
    write!(out, " flags {flags:#x} offset {offset:#x}")?;
    write!(out, " file size {file_size:#x} memory size {memory_size:#x} align {align}")?;
    if (segment.virtual_address, segment.physical_address) != (0, 0) {
        write!(out, " addresses {:#x} {:#x}", segment.virtual_address, segment.physical_address)?;
    }
    writeln!(out)
}

/// The bits of a symbol's `other`, in words and whole.
fn other_text(symbol: &Symbol<'_>) -> String {
    let mut text = format!("{:#04x}", symbol.other);
    let space = match symbol.space() {
        Space::None | Space::Other(_) => "",
        Space::Global => " global",
        Space::Shared => " shared",
        Space::Constant => " constant",
        Space::ReservedShared => " reserved-shared",
    };
    text.push_str(space);
    if symbol.is_entry() {
        text.push_str(" entry");
    }
    if symbol.visibility() == other::INTERNAL {
        text.push_str(" internal");
    }
    text
}

/// A symbol's section, in words.
fn symbol_section_text(dump: &Dump<'_, '_>, section: SymbolSection) -> String {
    match section {
        SymbolSection::Undefined => "undefined".to_owned(),
        SymbolSection::Absolute => "absolute".to_owned(),
        SymbolSection::Common => "common".to_owned(),
        SymbolSection::Index(index) => dump.section_name(index),
        SymbolSection::Reserved(value) => format!("{value:#x}"),
    }
}
