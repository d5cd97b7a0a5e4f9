//! The symbol table.

use super::Facts;
use super::names::Names;
use crate::id::{SectionId, SymbolId};
use crate::phases::load::Place;
use crate::phases::merge::{Content, Local};
use crate::phases::number::Extent;
use crate::phases::resolve::{Symbol, is_internal, is_shared_variable};
use crate::stubs;
use crate::views::View;
use cubin::elf::{SHN_COMMON, SHN_LORESERVE, SHN_XINDEX, SymbolRecord};
use cubin::symbol::{SymbolKind, info, other};

/// The symbol table, and the section numbers that do not fit into it.
#[derive(Default)]
pub struct SymbolTable {
    /// The table.
    pub table: Vec<u8>,
    /// One word per symbol: its section's number, where the table has no room for it.
    pub section_numbers: Option<Vec<u8>>,
}

/// Bits of `other` that mean something to the driver: unified, managed, kernel.
const OTHER_KEPT: u8 = 0x1c;

/// Bytes of the reserved part of shared memory in front of the variables of the system.
pub const RESERVED_FOR_TOOLS: u64 = 0x40;

/// Where a symbol is, as the table has it.
struct Position {
    section: Option<SectionId>,
    value: u64,
    /// In place of a section: defined by the next link.
    common: bool,
}

/// Writes the table of a view.
///
/// With large section numbers, the second table has an entry for every symbol: the number of its section where the first table has
/// no room for it; where it has, the reference linker writes the number that the section had when it was created, which means
/// nothing to a reader.
pub fn write(facts: &Facts<'_, '_>, names: &Names, view: View) -> SymbolTable {
    let entries = facts.numbering.entries(view);
    let mut table = vec![0; (entries.len() + 1) * SymbolRecord::SIZE];
    let numbers = match facts.numbering.extent() {
        Extent::Usual => None,
        // Made for the machine's table, and copied for the other.
        Extent::ManyInFile => Some(facts.numbering.entries(View::Machine).len() + 1),
        Extent::ManyLinked => Some(entries.len() + 1),
    };
    let mut section_numbers = numbers.map(|count| vec![0; count * 4]);
    SymbolRecord { value: facts.plan.null_symbol_value(), ..SymbolRecord::default() }.write(&mut table);
    for (index, &entry) in entries.iter().enumerate() {
        let (mut record, section) = match entry {
            Local::Section(id) => {
                let name = names.section_symbol(id, view);
                (SymbolRecord { name, info: SymbolKind::SECTION.0, ..SymbolRecord::default() }, Some(id))
            }
            Local::Symbol(id) => facts.symbol(id, names.symbols[id], view),
        };
        if let Some(section) = section {
            let number = facts.numbering.section(section, view);
            let fits = number < u32::from(SHN_LORESERVE);
            record.section = if fits { number as u16 } else { SHN_XINDEX };
            if let Some(numbers) = &mut section_numbers {
                let is_linked = facts.numbering.extent() == Extent::ManyLinked
                    && facts.plan.sections()[section].content != Content::MachineParameters;
                let shown = match fits {
                    true if is_linked => facts.plan.creation_number(section),
                    true => 0,
                    false => number,
                };
                numbers[(index + 1) * 4..(index + 2) * 4].copy_from_slice(&shown.to_le_bytes());
            }
        }
        record.write(&mut table[(index + 1) * SymbolRecord::SIZE..]);
    }
    SymbolTable { table, section_numbers }
}

impl Facts<'_, '_> {
    /// The section that a symbol is in, and its address there.
    pub fn place(&self, id: SymbolId) -> (Option<SectionId>, u64) {
        let symbol = &self.resolution.symbols()[id];
        let shown = self.options.executable() && is_shared_variable(symbol);
        let position =
            if shown { self.shared_position(id, symbol, View::Machine) } else { self.position(id, symbol, View::Machine) };
        (position.section, position.value)
    }

    /// A symbol's entry without its section, and that section.
    fn symbol(&self, id: SymbolId, name: u32, view: View) -> (SymbolRecord, Option<SectionId>) {
        let symbol = &self.resolution.symbols()[id];
        let executable = self.options.executable();
        let is_undefined = symbol.definition.is_none() && symbol.common_align.is_none();
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
        let size = match (symbol.definition, slot) {
            (_, Some(slot)) if view == View::Machine && self.numbering.has_two_views() => {
                stubs::machine_symbol_size(slot, self.unified.stubs().len())
            }
            (Some(definition), _) if symbol.function.is_some() && view == View::Machine => {
                self.inputs.machine_symbol(definition.symbol).size
            }
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

    /// Whether variables of an executable keep the type that says that their memory space is known.
    fn keeps_kind(&self, is_undefined: bool, view: View) -> bool {
        view == View::Mercury || (self.numbering.has_two_views() && is_undefined)
    }

    fn position(&self, id: SymbolId, symbol: &Symbol<'_>, view: View) -> Position {
        if let Some(align) = symbol.common_align {
            return match self.layout.common(id) {
                Some(value) => Position { section: self.plan.global_zero(), value, common: false },
                None => Position { section: None, value: align, common: true },
            };
        }
        let Some(definition) = symbol.definition else {
            let first = symbol.first.symbol;
            let value = match view {
                View::Machine => self.inputs.machine_symbol(first).value,
                View::Mercury => self.inputs.symbols()[first].value,
            };
            return Position { section: None, value, common: false };
        };
        let row = &self.inputs.symbols()[definition.symbol];
        if let Some(function) = symbol.function {
            let value = match self.unified.slot(function) {
                Some(slot) if view == View::Machine && self.numbering.has_two_views() => stubs::machine_value(slot),
                Some(slot) => slot,
                None => row.value,
            };
            return Position { section: self.plan.function(function).text, value, common: false };
        }
        let place = match row.place {
            Place::Section(section) => self.plan.placement(section),
            _ => None,
        };
        if let Some(value) = self.unified.offset(id) {
            return Position { section: place.map(|place| place.section), value, common: false };
        }
        if let Some(offset) = self.plan.reserved(id) {
            let base = if view == View::Machine { RESERVED_FOR_TOOLS } else { 0 };
            return Position { section: place.map(|place| place.section), value: base + offset, common: false };
        }
        // The value of a shared variable is its alignment until shared memory is laid out.
        let base = if is_shared_variable(symbol) { 0 } else { place.map_or(0, |place| place.offset) };
        Position { section: place.map(|place| place.section), value: base + row.value, common: false }
    }

    /// Where a debugger is shown a shared variable.
    fn shared_position(&self, id: SymbolId, symbol: &Symbol<'_>, view: View) -> Position {
        let shared = self.layout.shared();
        let address = shared.address(id).filter(|_| symbol.definition.is_some());
        let offset = address.map(|address| address.offset).or(shared.largest_dynamic()).unwrap_or(0);
        let section = match address.and_then(|address| address.kernel) {
            Some(kernel) => self.plan.function(kernel).shared,
            None => self.plan.module_shared(),
        };
        let reserved = if view == View::Machine { self.options.reserved_shared() } else { 0 };
        // The reserved part comes before the pool; without a pool, arrays of unknown size are counted from where it ends.
        let counts_from_pool = address.is_none() && shared.shown_dynamic().is_some() && !shared.has_pool();
        let base = if counts_from_pool { 0 } else { reserved };
        Position { section, value: offset + base, common: false }
    }
}
