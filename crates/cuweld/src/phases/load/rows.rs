//! The tables that objects are read into, and the rows of one object.

use super::{CallRecord, Homeless, InputSection, InputSymbol, MachineSymbol, ObjectFile, Role, Variables};
use crate::id::{Id, IdRange, InputSectionId, InputSymbolId};
use cubin::read::Counts;
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind};
use cubin::target::Target;
use rayon::prelude::*;

/// A table of rows that are still to be written.
pub(super) fn blank<Row: Clone + Send>(row: Row, count: usize) -> Vec<Row> {
    rayon::iter::repeat_n(row, count).with_min_len(4096).collect()
}

impl InputSection<'_> {
    pub(super) const BLANK: Self = InputSection {
        name: "",
        role: Role::Structure,
        kind: SectionType::NULL,
        flags: 0,
        align: 1,
        size: 0,
        data: &[],
        target: None,
        first_attached: None,
        next_attached: None,
        owner: None,
        machine: None,
        later_entry_without_addend: false,
    };
}

impl InputSymbol<'_> {
    pub(super) const BLANK: Self = InputSymbol {
        name: "",
        section: None,
        homeless: Homeless::Undefined,
        value: 0,
        size: 0,
        binding: Binding::LOCAL,
        kind: SymbolKind::NOTYPE,
        other: 0,
        registers: 0,
        frame: 0,
    };
}

/// The part of the tables that one object writes.
pub(super) struct Rows<'table, 'data> {
    pub(super) first_section: usize,
    pub(super) first_symbol: usize,
    pub(super) sections: &'table mut [InputSection<'data>],
    pub(super) symbols: &'table mut [InputSymbol<'data>],
    pub(super) name_hashes: &'table mut [u32],
    pub(super) machine_symbols: &'table mut [MachineSymbol],
}

impl<'table, 'data> Rows<'table, 'data> {
    /// Takes rows off the front.
    pub(super) fn take(&mut self, counts: &Counts) -> Rows<'table, 'data> {
        let (first_section, first_symbol) = (self.first_section, self.first_symbol);
        self.first_section += counts.sections;
        self.first_symbol += counts.symbols;
        Rows {
            first_section,
            first_symbol,
            sections: self.sections.split_off_mut(..counts.sections).unwrap_or_default(),
            symbols: self.symbols.split_off_mut(..counts.symbols).unwrap_or_default(),
            name_hashes: self.name_hashes.split_off_mut(..counts.symbols).unwrap_or_default(),
            machine_symbols: self.machine_symbols.split_off_mut(..counts.symbols).unwrap_or_default(),
        }
    }

    /// Makes ids that count from the object's own start count from the start of the tables.
    pub(super) fn rebase(self, file: &mut ObjectFile<'data>) {
        let (first_section, first_symbol) = (self.first_section, self.first_symbol);
        let section = |id: InputSectionId| InputSectionId::from_index(first_section + id.index());
        let symbol = |id: InputSymbolId| InputSymbolId::from_index(first_symbol + id.index());
        for row in self.sections {
            row.target = row.target.map(section);
            row.first_attached = row.first_attached.map(section);
            row.next_attached = row.next_attached.map(section);
            row.machine = row.machine.map(section);
            row.owner = row.owner.map(symbol);
        }
        for function in file.functions.iter_mut().chain(&mut file.unknown_stacks) {
            *function = symbol(*function);
        }
        for Variables { section: home, symbols } in &mut file.variables {
            *home = section(*home);
            *symbols = IdRange::new(symbol(symbols.first()), symbol(symbols.end()));
        }
        for record in &mut file.calls {
            match record {
                CallRecord::Call { caller: a, callee: b } | CallRecord::Reference { caller: a, function: b } => {
                    *a = symbol(*a);
                    *b = symbol(*b);
                }
                CallRecord::AddressTaken { function: a, .. }
                | CallRecord::IndirectCall { caller: a, .. }
                | CallRecord::Prototype { function: a, .. } => *a = symbol(*a),
            }
        }
        for entry in &mut file.unified {
            entry.symbol = symbol(entry.symbol);
        }
        let range = |ids: IdRange<InputSectionId>| IdRange::new(section(ids.first()), section(ids.end()));
        file.sections = range(file.sections);
        file.machine_sections = range(file.machine_sections);
        file.symbols = IdRange::new(symbol(file.symbols.first()), symbol(file.symbols.end()));
    }
}

/// How much memory it takes at least to link objects.
#[derive(Copy, Clone, Debug, Default)]
pub struct LeastMemory {
    /// To load them, beside their own bytes.
    pub load: usize,
    /// After that.
    pub link: usize,
}

impl LeastMemory {
    /// What it takes for these objects.
    pub fn of<'data>(objects: impl Iterator<Item = &'data [u8]>, target: &Target) -> Self {
        /// What becomes of a section and of a symbol: rows of several tables, and their names.
        const SECTION: usize = 400;
        const SYMBOL: usize = 96;
        objects.map(|object| Counts::of(object, target.views)).fold(Self::default(), |sum, Counts { sections, symbols }| {
            LeastMemory {
                load: sum.load + sections * size_of::<InputSection<'_>>() + symbols * size_of::<InputSymbol<'_>>(),
                link: sum.link + sections * SECTION + symbols * SYMBOL,
            }
        })
    }
}
