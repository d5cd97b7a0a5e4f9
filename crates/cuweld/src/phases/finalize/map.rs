//! The link map: the sections of the file, the objects of their pieces, and the symbols in them.

use super::Finished;
use crate::demangle::demangle;
use crate::diagnostics::printable;
use crate::id::{FileId, IdMap, SectionId, SymbolId};
use crate::options::MapContents;
use crate::phases::load::Place;
use crate::phases::merge::Local;
use crate::views::View;
use cubin::symbol::{Binding, SymbolKind};
use std::fmt::Write;

/// What the columns hold.
const HEADING: &str = "    Offset       Size  Align  Section, piece, symbol\n";

impl Finished<'_, '_> {
    /// The map as text.
    pub fn map(&self, contents: MapContents) -> String {
        let mut text = format!("Map for {}\n{HEADING}", self.facts.options.target.name);
        let mut symbols = self.symbols_by_section();
        let sections = self.image.sections.iter().skip(1).zip(self.facts.numbering.sections());
        for (header, &part) in sections.filter(|(_, part)| part.view.is_machine()) {
            let section = &self.facts.plan.sections()[part.section];
            _ = writeln!(
                text,
                "{:>10x} {:>10x} {:>6} {}",
                header.offset,
                header.size,
                header.align,
                printable(&section.name.to_string())
            );
            for piece in section.pieces.iter() {
                let row = &self.facts.inputs.sections()[piece.section];
                let file = self.facts.inputs.files()[self.facts.inputs.file_of_section(piece.section)].name;
                let origin = format!("{file}:({})", row.name);
                _ = writeln!(text, "{:>10x} {:>10x} {:>6}   {}", piece.offset, row.size, row.align(), printable(&origin));
            }
            for (value, symbol) in symbols.remove(&part.section).unwrap_or_default() {
                let symbol = &self.facts.resolution.symbols()[symbol];
                _ = writeln!(
                    text,
                    "{value:>10x} {:>10x} {:>6}     {}",
                    symbol.size,
                    "",
                    printable(&demangle(symbol.name(self.facts.inputs)))
                );
            }
        }
        if contents == MapContents::SectionsAndCrossReferences {
            self.cross_references(&mut text);
        }
        text
    }

    /// The symbols of each section, in the order of their addresses. Shared variables are here whether or not the file shows them.
    fn symbols_by_section(&self) -> IdMap<SectionId, Vec<(u64, SymbolId)>> {
        let mut symbols: IdMap<SectionId, Vec<(u64, SymbolId)>> = IdMap::default();
        for entry in self.facts.numbering.each_entry(View::Machine) {
            let Local::Symbol(id) = entry else { continue };
            let (section, value) = self.facts.place(id);
            if let Some(section) = section {
                symbols.entry(section).or_default().push((value, id));
            }
        }
        let reserved = self.facts.options.reserved_shared();
        for id in self.facts.resolution.symbols().ids().filter(|&id| self.facts.numbering.symbol(id) == 0) {
            let Some(address) = self.facts.layout.shared().address(id) else { continue };
            let section = match address.kernel {
                Some(kernel) => self.facts.plan.function(kernel).shared,
                None => self.facts.plan.module_shared(),
            };
            if let Some(section) = section {
                symbols.entry(section).or_default().push((address.offset + reserved, id));
            }
        }
        for list in symbols.values_mut() {
            list.sort_unstable();
        }
        symbols
    }

    /// The objects that define or mention each name, the one with the prevailing definition first.
    fn cross_references(&self, text: &mut String) {
        let (inputs, resolution) = (self.facts.inputs, self.facts.resolution);
        let mut mentions: IdMap<SymbolId, Vec<(FileId, bool)>> = IdMap::default();
        for (file, object) in inputs.files().enumerate() {
            for id in object.symbols.iter() {
                let row = &inputs.symbols()[id];
                let Some(meaning) = resolution.meaning(id) else { continue };
                if row.binding != Binding::LOCAL && row.kind != SymbolKind::SECTION {
                    mentions.entry(meaning).or_default().push((file, row.place() != Place::Undefined));
                }
            }
        }
        text.push_str("\nCross references: who defines each name, and who else defines or mentions it\n");
        for (id, symbol) in resolution.symbols().enumerate() {
            let Some(mut files) =
                mentions.remove(&id).filter(|_| symbol.definition.is_some() || !is_drivers(symbol.name(inputs)))
            else {
                continue;
            };
            let defining = symbol.definition.map(|definition| inputs.file_of_symbol(definition));
            files.sort_by_key(|&(file, defines)| (Some(file) != defining, !defines, file));
            _ = writeln!(text, "{}", printable(&demangle(symbol.name(inputs))));
            for (file, defines) in files {
                let verb = if defines { "defined" } else { "mentioned" };
                _ = writeln!(text, "    {verb} in {}", printable(inputs.files()[file].name));
            }
        }
    }
}

/// Whether an undefined name is one that every object mentions, for the driver.
fn is_drivers(name: &str) -> bool {
    name.starts_with("__U") || name.starts_with('.')
}
