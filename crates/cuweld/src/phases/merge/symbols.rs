//! Which symbols the output has.

use super::plan::Globals;
use super::walk::Facts;
use crate::id::{Id, IdRange, InputSymbolId, SymbolId};
use crate::phases::load::{Place, Role};
use crate::phases::resolve::{Fate, Part, Symbol, is_internal, is_named_in_any_case, is_shared_variable};
use rayon::prelude::*;

/// What becomes of a symbol in the global part of the symbol table.
#[derive(Copy, Clone, Eq, PartialEq)]
enum Prospect {
    /// It is not in it.
    NotThere,
    /// It is, unless it turns out that it has no name.
    Listed,
    /// It is in any case.
    Stays,
}

/// How many symbols a thread looks at in one go.
const GLOBALS_AT_ONCE: usize = 4096;

impl Facts<'_, '_> {
    /// The global part of the symbol table: in order of first mention, as the symbols themselves.
    pub(super) fn globals(&self) -> Vec<Globals> {
        let rows = self.resolution.symbols().as_slice().par_chunks(GLOBALS_AT_ONCE).enumerate();
        rows.flat_map_iter(|(chunk, rows)| self.globals_among(chunk * GLOBALS_AT_ONCE, rows)).collect()
    }

    /// Those among symbols of which the first one has this index.
    fn globals_among(&self, first: usize, rows: &[Symbol]) -> Vec<Globals> {
        let mut globals = Vec::new();
        let (mut start, mut prospect) = (0, Prospect::NotThere);
        let mut end_run = |start: usize, end: usize, prospect: Prospect| {
            let symbols = IdRange::new(SymbolId::from_index(first + start), SymbolId::from_index(first + end));
            globals.extend((prospect != Prospect::NotThere).then_some(Globals { symbols, stay: prospect == Prospect::Stays }));
        };
        for (row, symbol) in rows.iter().enumerate() {
            let next = self.prospect(symbol);
            if next != prospect {
                end_run(start, row, prospect);
                (start, prospect) = (row, next);
            }
        }
        end_run(start, rows.len(), prospect);
        globals
    }

    #[inline(always)] // Hot: one per symbol.
    fn prospect(&self, symbol: &Symbol) -> Prospect {
        let is_live = || symbol.function.is_none_or(|function| self.live.contains(function));
        if symbol.part != Part::Global || !is_live() || !self.is_listed(symbol) {
            Prospect::NotThere
        } else if symbol.definition.is_some() && is_named_in_any_case(symbol) {
            Prospect::Stays
        } else {
            Prospect::Listed
        }
    }

    /// Whether a symbol of the output is in the symbol table.
    #[inline(always)] // Hot: one per symbol.
    pub(super) fn is_listed(&self, symbol: &Symbol) -> bool {
        let options = self.options;
        if is_internal(symbol) && !options.lists_internal_symbols() {
            return false;
        }
        if is_shared_variable(symbol) && !options.lists_shared_variables() {
            return false;
        }
        !options.keeps_relocations() || !self.is_left_by_replaced_code(symbol.first)
    }

    /// Whether a symbol names a compiler-made constant of a replaced definition of a function. The constants of the
    /// prevailing one have taken its place, and the link that a relocatable output is made for can not tell them apart.
    fn is_left_by_replaced_code(&self, mention: InputSymbolId) -> bool {
        let Place::Section(section) = self.inputs.symbols()[mention].place() else { return false };
        let section = &self.inputs.sections()[section];
        matches!(section.role, Role::FunctionConstants(bank) if bank != 0)
            && section.target.is_some_and(|code| self.resolution.code_fate(self.inputs, code) == Fate::Replaced)
    }
}
