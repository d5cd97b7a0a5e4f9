//! The symbol table, and the section numbers that its entries have no room for.

use super::{Bytes, Class, InViews, SectionKind, Settled, Shape};
use crate::id::{FunctionId, IdRange, InputSymbolId, SectionId, SymbolId};
use crate::imitations::Imitation;
use crate::phases::finalize::Output;
use crate::phases::load::{InputSymbol, Place};
use crate::phases::merge::{Local, OutputSection, Placement};
use crate::phases::number::{Entries, Extent, FileSection};
use crate::phases::relocate::{MISSING_VARIABLE, is_answered_early, is_missing_from_relocatable};
use crate::phases::resolve::{Symbol, is_dynamic, is_internal, is_shared_variable};
use crate::views::View;
use cubin::elf::{SHN_COMMON, SHN_LORESERVE, SHN_XINDEX, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SymbolRecord};
use cubin::release::Rule;
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind, info, other};
use rayon::prelude::*;

/// `.symtab`.
#[derive(Debug)]
pub struct SymbolTable;

/// `.symtab_shndx`.
#[derive(Debug)]
pub struct SymbolSectionNumbers;

impl SymbolTable {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType(SHT_SYMTAB), 0, 8);
}

impl SymbolSectionNumbers {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType(SHT_SYMTAB_SHNDX), 0, 4);
}

impl SectionKind for SymbolTable {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Tables
    }

    fn in_views(&self) -> InViews {
        InViews::EachAtEnd
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        SymbolRecord::SIZE as u32
    }

    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }

    /// The symbols of parameters are local, but come last in the machine view, so that no global symbol is the first after the locals.
    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        let counts_all = output.numbering.has_machine_entries() && output.inputs.release().has(Rule::Cuda13Files);
        let info = match part.view.is_machine() && counts_all {
            true => output.numbering.symbols(View::Machine) as u32,
            false => output.numbering.first_global(),
        };
        (output.symbol_names(), info)
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        (output.numbering.symbols(part.view) * SymbolRecord::SIZE) as u64
    }

    fn is_written_by_entry(&self) -> bool {
        true
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, first: usize, out: &mut [u8]) -> cubin::Result<()> {
        write(output, part.view, first, out);
        Ok(())
    }
}

impl SectionKind for SymbolSectionNumbers {
    fn class(&self, _section: &OutputSection<'_>) -> Class {
        Class::Tables
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        4
    }

    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        (output.symbol_table(part.view), 0)
    }

    fn bytes(&self, output: &Output<'_, '_>, part: FileSection) -> Bytes {
        section_numbers(output, part.view).map_or(Bytes::Written, Bytes::Made)
    }
}

/// Bits of `other` that mean something to the driver: unified, managed, kernel.
const OTHER_KEPT: u8 = 0x1c;

/// Where a symbol is, as the table has it.
struct Position {
    section: Option<SectionId>,
    value: u64,
    /// In place of a section: defined by the next link.
    common: bool,
}

/// How many entries a thread writes in one go.
const ENTRIES_AT_ONCE: usize = 2048;

/// Writes the part of a view's table that starts with this entry.
fn write(facts: &Output<'_, '_>, view: View, first: usize, out: &mut [u8]) {
    out.par_chunks_mut(ENTRIES_AT_ONCE * SymbolRecord::SIZE).enumerate().for_each(|(chunk, mut out)| {
        let first = first + chunk * ENTRIES_AT_ONCE;
        let numbers = first..first + out.len() / SymbolRecord::SIZE;
        if first == 0 {
            let null = SymbolRecord { value: facts.plan.null_symbol_value(), ..SymbolRecord::default() };
            null.write(out.split_off_mut(..SymbolRecord::SIZE).unwrap_or_default());
        }
        for entries in facts.numbering.entries(numbers) {
            let out = out.split_off_mut(..entries.len() * SymbolRecord::SIZE).unwrap_or_default();
            match entries {
                Entries::Mixed(entries) => {
                    for (out, &entry) in out.chunks_exact_mut(SymbolRecord::SIZE).zip(entries) {
                        facts.with_section(facts.entry(entry, view), view).write(out);
                    }
                }
                Entries::Symbols(symbols) => write_symbols(facts, view, symbols, out),
            }
        }
    });
}

/// Writes the entries of symbols in the order of their ids.
fn write_symbols(facts: &Output<'_, '_>, view: View, ids: IdRange<SymbolId>, out: &mut [u8]) {
    let symbols = facts.resolution.symbols().range(ids).zip(facts.names.symbols.slice(ids));
    // The next one is nearly always in the same section.
    let (mut last, mut number) = (None, 0);
    for (out, ((id, symbol), &name)) in out.chunks_exact_mut(SymbolRecord::SIZE).zip(symbols) {
        let (mut record, section) = facts.symbol(id, symbol, name, view);
        if section.is_some() && section == last {
            record.section = number;
        } else {
            record = facts.with_section((record, section), view);
            (last, number) = (section, record.section);
        }
        record.write(out);
    }
}

/// The section numbers that do not fit into a view's table: one word per symbol.
///
/// There is an entry for every symbol: the number of its section where the first table has no room for it; where it has, the
/// reference linker writes the number that the section had when it was created, which means nothing to a reader.
fn section_numbers(facts: &Output<'_, '_>, view: View) -> Option<Vec<u8>> {
    let count = match facts.numbering.extent() {
        Extent::Usual => return None,
        // Made for the machine's table, and copied for the other.
        Extent::ManyInFile => facts.numbering.symbols(View::Machine),
        Extent::ManyLinked => facts.numbering.symbols(view),
    };
    let mut numbers = vec![0; count * 4];
    for (out, entry) in numbers[4..].chunks_exact_mut(4).zip(facts.numbering.each_entry(view)) {
        let (_, Some(section)) = facts.entry(entry, view) else { continue };
        let is_linked = facts.numbering.extent() == Extent::ManyLinked
            && facts.plan.sections()[section].kind.in_views() != InViews::MachineOnly;
        let shown = match facts.direct_number(section, view).is_some() {
            true if is_linked => facts.plan.creation_number(section),
            true => 0,
            false => facts.numbering.section(section, view),
        };
        out.copy_from_slice(&shown.to_le_bytes());
    }
    Some(numbers)
}

/// A section's number, if a symbol's entry has room for it: for its number in the view of the table, given the machine's.
///
/// The reference linker lets two numbers stand that mean something else to a reader: 0xfff2 of the machine's, which says
/// that the symbol has no place yet, and 0xff00 of the other's.
fn direct_number(number: u32, machine: u32, imitate: bool) -> Option<u16> {
    let first_reserved = u32::from(SHN_LORESERVE);
    match number {
        _ if imitate && machine == u32::from(SHN_COMMON) => Some(SHN_COMMON),
        number if number < first_reserved => u16::try_from(number).ok(),
        number if imitate && number == first_reserved && number != machine => Some(SHN_LORESERVE),
        _ => None,
    }
}

impl Output<'_, '_> {
    /// An entry of the table without its section, and that section.
    #[inline(always)] // Hot: one per symbol.
    fn entry(&self, entry: Local, view: View) -> (SymbolRecord, Option<SectionId>) {
        match entry {
            Local::Section(id) => {
                let name = self.names.section_symbol(id, view);
                (SymbolRecord { name, info: SymbolKind::SECTION.0, ..SymbolRecord::default() }, Some(id))
            }
            Local::Symbol(id) => self.symbol(id, &self.resolution.symbols()[id], self.names.symbols[id], view),
            Local::SharedInstance(kernel) => {
                let info = info(Binding::WEAK, SymbolKind::CUDA_OBJECT);
                let (name, other) = (self.names.shared_instance, other::SPACE_SHARED | other::INTERNAL);
                let value = self.layout.shared().instance(kernel).unwrap_or(0);
                (SymbolRecord { name, info, other, value, ..SymbolRecord::default() }, None)
            }
        }
    }

    /// An entry of the table with the number of its section.
    #[inline(always)] // Hot: one per symbol.
    fn with_section(&self, (record, section): (SymbolRecord, Option<SectionId>), view: View) -> SymbolRecord {
        let direct = section.map(|section| self.direct_number(section, view).unwrap_or(SHN_XINDEX));
        SymbolRecord { section: direct.unwrap_or(record.section), ..record }
    }

    /// The number of a section, if a symbol's entry has room for it.
    fn direct_number(&self, section: SectionId, view: View) -> Option<u16> {
        let (number, machine) = (self.numbering.section(section, view), self.numbering.section(section, View::Machine));
        direct_number(number, machine, self.options.imitates(Imitation::ReservedSectionNumbers))
    }

    /// The section that a symbol is in, and its address there.
    pub fn place(&self, id: SymbolId) -> (Option<SectionId>, u64) {
        let symbol = &self.resolution.symbols()[id];
        let position = self.position(id, symbol, is_shared_variable(symbol), View::machine(self.options.target.views));
        (position.section, position.value)
    }

    /// A symbol's entry without its section, and that section.
    #[inline(always)] // Hot: one per symbol.
    fn symbol(&self, id: SymbolId, symbol: &Symbol, name: u32, view: View) -> (SymbolRecord, Option<SectionId>) {
        let is_shared = is_shared_variable(symbol);
        let position = self.position(id, symbol, is_shared, view);
        let record = SymbolRecord {
            name,
            info: info(if is_shared { self.shared_binding(id) } else { symbol.binding }, self.kind(symbol, view)),
            other: self.other(symbol, is_shared, view),
            section: if position.common { SHN_COMMON } else { 0 },
            value: position.value,
            size: match symbol.function {
                Some(function) if view.is_machine() => self.machine_size(function, symbol, view),
                _ => symbol.size,
            },
        };
        (record, position.section)
    }

    /// The type of a symbol: in an executable, that of a variable does not say any more that its memory space is known.
    #[inline(always)]
    fn kind(&self, symbol: &Symbol, view: View) -> SymbolKind {
        match symbol.kind {
            // Where there are two views, variables that the driver provides have a type of their own.
            SymbolKind::OBJECT | SymbolKind::CUDA_OBJECT if self.is_left_to_driver(symbol, view) => SymbolKind::CUDA_OBJECT,
            SymbolKind::CUDA_OBJECT if self.options.is_for_driver() && view.is_machine() => SymbolKind::OBJECT,
            SymbolKind::OBJECT if is_answered_early(symbol, self.options) => SymbolKind::CUDA_OBJECT,
            kind => kind,
        }
    }

    /// Whether there are two views, and a variable is defined nowhere. To a debugger, dynamic shared memory is somewhere.
    #[inline(always)]
    fn is_left_to_driver(&self, symbol: &Symbol, view: View) -> bool {
        let is_shown = || view == View::Machine && is_dynamic(symbol) && self.layout.shared().shows_dynamic();
        view != View::Only && symbol.is_undefined() && !is_shown()
    }

    /// `st_other`: the memory space, and flags. The machine view of an executable has only those that the driver reads.
    #[inline(always)]
    fn other(&self, symbol: &Symbol, is_shared: bool, view: View) -> u8 {
        if !self.options.is_for_driver() {
            return symbol.other;
        }
        let is_shown_as_internal = is_shared && self.options.preserve_relocations;
        match view {
            View::Mercury if is_shown_as_internal => symbol.other | other::INTERNAL,
            View::Mercury => symbol.other,
            _ if is_shown_as_internal || is_internal(symbol) => other::INTERNAL,
            _ if is_shared => 0,
            _ => symbol.other & OTHER_KEPT,
        }
    }

    /// The size of a function's machine code. Where there are two views, an alias has that of its function, as regenerated code has.
    fn machine_size(&self, function: FunctionId, symbol: &Symbol, view: View) -> u64 {
        if view == View::Machine
            && let Some(slot) = self.unified.slot(function)
        {
            return self.unified.form().machine_symbol_size(slot, self.unified.stubs().len());
        }
        let Some(definition) = symbol.definition else { return symbol.size };
        let alias_of = self.resolution.functions()[function].alias_of.filter(|_| view == View::Machine);
        let original = alias_of.and_then(|original| {
            let symbol = self.resolution.functions()[original].symbol;
            self.resolution.symbols()[symbol].definition
        });
        self.inputs.machine_symbol(original.unwrap_or(definition)).size
    }

    #[inline(always)] // Hot: one per symbol.
    fn position(&self, id: SymbolId, symbol: &Symbol, is_shared: bool, view: View) -> Position {
        match symbol.definition {
            Some(definition) if !is_shared && symbol.common_align.is_none() => match symbol.function {
                Some(function) => self.function_position(function, definition, view),
                None => self.variable_position(id, definition, view),
            },
            _ if is_shared && self.options.lays_out_kernels() => self.shared_position(id, symbol, view),
            _ => self.unsettled_position(id, symbol, view),
        }
    }

    /// Where a function is that is defined.
    fn function_position(&self, function: FunctionId, definition: InputSymbolId, view: View) -> Position {
        let value = match self.unified.slot(function) {
            Some(slot) if view == View::Machine => self.unified.form().machine_value(slot),
            Some(slot) => slot,
            None if view.is_machine() => self.inputs.machine_symbol(definition).value,
            None => self.inputs.symbols()[definition].value,
        };
        Position { section: self.plan.function(function).text, value, common: false }
    }

    /// Where a variable is that is defined.
    #[inline(always)] // Hot: one per symbol.
    fn variable_position(&self, id: SymbolId, definition: InputSymbolId, view: View) -> Position {
        let row = &self.inputs.symbols()[definition];
        let (section, offset) = match self.placement(row) {
            Some(Placement::At(at)) => (Some(at.section), at.offset),
            Some(Placement::InBanks { offset } | Placement::Dropped { offset }) => (None, offset),
            None => (None, 0),
        };
        let offset = offset + row.value;
        let value = match self.unified.offset(id) {
            Some(value) => value,
            None => self.plan.reserved(id).map_or(offset, |offset| self.reserved_value(row, offset, view)),
        };
        Position { section, value, common: false }
    }

    /// The output section and offset of the section that a symbol is defined in.
    #[inline(always)] // Hot: one per symbol.
    fn placement(&self, row: &InputSymbol<'_>) -> Option<Placement> {
        match row.place() {
            Place::Section(section) => self.plan.placement(section),
            _ => None,
        }
    }

    /// Where a variable is that was defined in the part of shared memory that tools reserve.
    fn reserved_value(&self, row: &InputSymbol<'_>, offset: u64, view: View) -> u64 {
        match view {
            // Its value is its alignment until shared memory is laid out.
            _ if !self.options.lays_out_kernels() => row.value,
            View::Mercury => offset,
            _ => self.options.reserved_for_tools() + offset,
        }
    }

    /// The position of a tentative or undefined symbol, or of a shared variable whose memory is not laid out yet.
    fn unsettled_position(&self, id: SymbolId, symbol: &Symbol, view: View) -> Position {
        if let Some(align) = symbol.common_align {
            return match self.layout.common(id) {
                Some(value) => Position { section: self.plan.global_zero(), value, common: false },
                None => Position { section: None, value: align.get().into(), common: true },
            };
        }
        if is_dynamic(symbol) && self.options.settles_early(Imitation::RelocatableSettlesDynamicShared) {
            let value = self.layout.shared().declared_align(id).unwrap_or(0);
            return Position { section: self.plan.module_shared(), value, common: false };
        }
        if let Some(definition) = symbol.definition {
            let row = &self.inputs.symbols()[definition];
            // The value of a shared variable is its alignment until shared memory is laid out.
            let section = match self.placement(row) {
                Some(Placement::At(at)) => Some(at.section),
                _ => None,
            };
            return Position { section, value: row.value, common: false };
        }
        let value = match view {
            _ if is_dynamic(symbol) => self.layout.shared().declared_align(id).unwrap_or(0),
            _ if is_missing_from_relocatable(symbol, self.options) => MISSING_VARIABLE,
            _ if is_answered_early(symbol, self.options) => self.size_of_constants(),
            View::Mercury => self.inputs.symbols()[symbol.first].value,
            _ => self.inputs.machine_symbol(symbol.first).value,
        };
        Position { section: None, value, common: false }
    }

    /// Where a debugger is shown a shared variable.
    fn shared_position(&self, id: SymbolId, symbol: &Symbol, view: View) -> Position {
        let shared = self.layout.shared();
        let address = shared.address(id).filter(|_| symbol.definition.is_some());
        let offset = address.map(|address| address.offset).or_else(|| shared.shown_dynamic(id)).unwrap_or(u64::MAX);
        let section = match address.and_then(|address| address.kernel) {
            Some(kernel) => self.plan.function(kernel).shared,
            None => self.plan.module_shared(),
        };
        let reserved = if view.is_machine() { self.options.reserved_shared() } else { 0 };
        // The reserved part comes before the pool; without a pool, dynamic shared memory is counted from where it ends.
        let counts_from_pool = view == View::Only && address.is_none() && shared.shows_dynamic() && !shared.has_pool();
        let base = if counts_from_pool { 0 } else { reserved };
        Position { section, value: offset.wrapping_add(base), common: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_no_room() {
        for (number, machine, expected) in
            [(0xfeff, 0xfeff, Some(0xfeff)), (0xff00, 0xff00, None), (0x1_0000, 0x1_0000, None), (0x1_0000, 7, None)]
        {
            assert_eq!(direct_number(number, machine, false), expected);
            assert_eq!(direct_number(number, machine, true), expected);
        }
    }

    #[test]
    fn numbers_that_the_reference_lets_stand_are_only_imitated() {
        for (number, machine, imitated) in [
            (0xfff2, 0xfff2, Some(0xfff2)),
            (0x1_9c34, 0xfff2, Some(0xfff2)),
            (0xff00, 0x6000, Some(0xff00)),
            (0xfff2, 0x6000, None),
        ] {
            assert_eq!(direct_number(number, machine, false), None);
            assert_eq!(direct_number(number, machine, true), imitated);
        }
    }
}
