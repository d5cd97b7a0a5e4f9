//! The symbol table.

use super::Facts;
use super::names::Names;
use crate::id::{FunctionId, InputSymbolId, SectionId, SymbolId};
use crate::phases::load::{Place, SPACE_SHARED};
use crate::phases::merge::{Content, Local};
use crate::phases::number::Extent;
use crate::phases::resolve::{Symbol, is_dynamic, is_internal, is_shared_variable};
use crate::stubs;
use crate::views::View;
use cubin::elf::{SHN_COMMON, SHN_LORESERVE, SHN_XINDEX, SymbolRecord};
use cubin::symbol::{Binding, SymbolKind, info, other};
use rayon::prelude::*;

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
pub fn write(facts: &Facts<'_, '_>, names: &Names, view: View, first: usize, out: &mut [u8]) {
    let null = SymbolRecord { value: facts.plan.null_symbol_value(), ..SymbolRecord::default() };
    let entries = facts.numbering.entries(view);
    out.par_chunks_mut(ENTRIES_AT_ONCE * SymbolRecord::SIZE).enumerate().for_each(|(chunk, out)| {
        for (number, out) in (first + chunk * ENTRIES_AT_ONCE..).zip(out.chunks_exact_mut(SymbolRecord::SIZE)) {
            let entry = number.checked_sub(1).and_then(|index| entries.get(index));
            let record = entry.map_or(null, |&entry| {
                let (record, section) = facts.entry(entry, names, view);
                let direct = section.map(|section| facts.direct_number(section, view).unwrap_or(SHN_XINDEX));
                SymbolRecord { section: direct.unwrap_or(record.section), ..record }
            });
            record.write(out);
        }
    });
}

/// The section numbers that do not fit into a view's table: one word per symbol.
///
/// There is an entry for every symbol: the number of its section where the first table has no room for it; where it has, the
/// reference linker writes the number that the section had when it was created, which means nothing to a reader.
pub fn section_numbers(facts: &Facts<'_, '_>, names: &Names, view: View) -> Option<Vec<u8>> {
    let entries = facts.numbering.entries(view);
    let count = match facts.numbering.extent() {
        Extent::Usual => return None,
        // Made for the machine's table, and copied for the other.
        Extent::ManyInFile => facts.numbering.entries(View::Machine).len() + 1,
        Extent::ManyLinked => entries.len() + 1,
    };
    let mut numbers = vec![0; count * 4];
    for (out, &entry) in numbers[4..].chunks_exact_mut(4).zip(entries) {
        let (_, Some(section)) = facts.entry(entry, names, view) else { continue };
        let is_linked = facts.numbering.extent() == Extent::ManyLinked
            && facts.plan.sections()[section].content != Content::MachineParameters;
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
/// that nobody has placed the symbol yet, and 0xff00 of the other's.
fn direct_number(number: u32, machine: u32, imitate_defects: bool) -> Option<u16> {
    let first_reserved = u32::from(SHN_LORESERVE);
    match number {
        _ if imitate_defects && machine == u32::from(SHN_COMMON) => Some(SHN_COMMON),
        number if number < first_reserved => u16::try_from(number).ok(),
        number if imitate_defects && number == first_reserved && number != machine => Some(SHN_LORESERVE),
        _ => None,
    }
}

impl Facts<'_, '_> {
    /// An entry of the table without its section, and that section.
    #[inline(always)] // There can be very many.
    fn entry(&self, entry: Local, names: &Names, view: View) -> (SymbolRecord, Option<SectionId>) {
        match entry {
            Local::Section(id) => {
                let name = names.section_symbol(id, view);
                (SymbolRecord { name, info: SymbolKind::SECTION.0, ..SymbolRecord::default() }, Some(id))
            }
            Local::Symbol(id) => self.symbol(id, names.symbols[id], view),
            Local::SharedInstance(kernel) => {
                let info = info(Binding::WEAK, SymbolKind::CUDA_OBJECT);
                let (name, other) = (names.shared_instance, SPACE_SHARED | other::INTERNAL);
                let value = self.layout.shared().instance(kernel).unwrap_or(0);
                (SymbolRecord { name, info, other, value, ..SymbolRecord::default() }, None)
            }
        }
    }

    /// The number of a section, if a symbol's entry has room for it.
    fn direct_number(&self, section: SectionId, view: View) -> Option<u16> {
        let (number, machine) = (self.numbering.section(section, view), self.numbering.section(section, View::Machine));
        direct_number(number, machine, self.options.imitate_defects)
    }

    /// The section that a symbol is in, and its address there.
    pub fn place(&self, id: SymbolId) -> (Option<SectionId>, u64) {
        let symbol = &self.resolution.symbols()[id];
        let shown = self.options.executable() && is_shared_variable(symbol);
        let position =
            if shown { self.shared_position(id, symbol, View::Machine) } else { self.position(id, symbol, View::Machine) };
        (position.section, position.value)
    }

    /// A symbol's entry without its section, and that section.
    #[inline(always)] // There can be very many.
    fn symbol(&self, id: SymbolId, name: u32, view: View) -> (SymbolRecord, Option<SectionId>) {
        let symbol = &self.resolution.symbols()[id];
        let executable = self.options.executable();
        // To a debugger, arrays of unknown size are somewhere.
        let is_shown_array = view == View::Machine && is_dynamic(symbol) && self.layout.shared().shown_dynamic().is_some();
        let is_undefined = symbol.definition.is_none() && symbol.common_align.is_none() && !is_shown_array;
        let kind = match symbol.kind {
            // Where there are two views, variables that the driver places are told from others by their type.
            SymbolKind::OBJECT if self.numbering.has_two_views() && is_undefined => SymbolKind::CUDA_OBJECT,
            SymbolKind::CUDA_OBJECT if executable && !self.keeps_kind(is_undefined, view) => SymbolKind::OBJECT,
            kind => kind,
        };
        let shown = executable && is_shared_variable(symbol);
        let other = match executable {
            false => symbol.other,
            true if view == View::Mercury && shown && self.options.preserve_relocations => symbol.other | other::INTERNAL,
            true if view == View::Mercury => symbol.other,
            true if is_internal(symbol) || (shown && self.options.preserve_relocations) => other::INTERNAL,
            true if shown => 0,
            true => symbol.other & OTHER_KEPT,
        };
        let position = if shown { self.shared_position(id, symbol, view) } else { self.position(id, symbol, view) };
        let slot = symbol.function.and_then(|function| self.unified.slot(function));
        let size = match (symbol.definition, symbol.function) {
            _ if slot.is_some() && view == View::Machine && self.numbering.has_two_views() => {
                stubs::machine_symbol_size(slot.unwrap_or(0), self.unified.stubs().len())
            }
            (Some(definition), Some(function)) if view == View::Machine => self.machine_size(function, definition),
            _ => symbol.size,
        };
        let record = SymbolRecord {
            name,
            info: info(symbol.binding, kind),
            other,
            section: if position.common { SHN_COMMON } else { 0 },
            value: position.value,
            size,
        };
        (record, position.section)
    }

    /// The size of a function's machine code. Where there are two views, an alias has that of its function, as code made anew has.
    fn machine_size(&self, function: FunctionId, definition: InputSymbolId) -> u64 {
        let alias_of = self.resolution.functions()[function].alias_of.filter(|_| self.numbering.has_two_views());
        let original = alias_of.and_then(|original| {
            let symbol = self.resolution.functions()[original].symbol;
            self.resolution.symbols()[symbol].definition
        });
        self.inputs.machine_symbol(original.unwrap_or(definition)).size
    }

    /// Whether variables of an executable keep the type that says that their memory space is known.
    fn keeps_kind(&self, is_undefined: bool, view: View) -> bool {
        view == View::Mercury || (self.numbering.has_two_views() && is_undefined)
    }

    #[inline(always)] // There can be very many.
    fn position(&self, id: SymbolId, symbol: &Symbol, view: View) -> Position {
        if let Some(align) = symbol.common_align {
            return match self.layout.common(id) {
                Some(value) => Position { section: self.plan.global_zero(), value, common: false },
                None => Position { section: None, value: align.get().into(), common: true },
            };
        }
        if is_dynamic(symbol) && !self.options.executable() && self.options.imitate_defects {
            return Position { section: self.plan.module_shared(), value: 0, common: false };
        }
        let Some(definition) = symbol.definition else {
            let first = symbol.first;
            let value = match view {
                View::Machine => self.inputs.machine_symbol(first).value,
                View::Mercury => self.inputs.symbols()[first].value,
            };
            return Position { section: None, value, common: false };
        };
        let row = &self.inputs.symbols()[definition];
        if let Some(function) = symbol.function {
            let value = match self.unified.slot(function) {
                Some(slot) if view == View::Machine && self.numbering.has_two_views() => stubs::machine_value(slot),
                Some(slot) => slot,
                None => row.value,
            };
            return Position { section: self.plan.function(function).text, value, common: false };
        }
        let place = match row.place() {
            Place::Section(section) => self.plan.placement(section),
            _ => None,
        };
        if let Some(value) = self.unified.offset(id) {
            return Position { section: place.map(|place| place.section), value, common: false };
        }
        if let Some(offset) = self.plan.reserved(id).filter(|_| self.options.executable()) {
            let base = if view == View::Machine { self.options.reserved_for_tools() } else { 0 };
            return Position { section: place.map(|place| place.section), value: base + offset, common: false };
        }
        // The value of a shared variable is its alignment until shared memory is laid out.
        let is_alignment = is_shared_variable(symbol) || self.plan.reserved(id).is_some();
        let base = if is_alignment { 0 } else { place.map_or(0, |place| place.offset) };
        Position { section: place.map(|place| place.section), value: base + row.value, common: false }
    }

    /// Where a debugger is shown a shared variable.
    fn shared_position(&self, id: SymbolId, symbol: &Symbol, view: View) -> Position {
        let shared = self.layout.shared();
        let address = shared.address(id).filter(|_| symbol.definition.is_some());
        let offset = address.map(|address| address.offset).or(shared.recorded_dynamic()).unwrap_or(u64::MAX);
        let section = match address.and_then(|address| address.kernel) {
            Some(kernel) => self.plan.function(kernel).shared,
            None => self.plan.module_shared(),
        };
        let reserved = if view == View::Machine { self.options.reserved_shared() } else { 0 };
        // The reserved part comes before the pool; without a pool, arrays of unknown size are counted from where it ends.
        let counts_from_pool =
            address.is_none() && shared.shown_dynamic().is_some() && !shared.has_pool() && !self.numbering.has_two_views();
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
