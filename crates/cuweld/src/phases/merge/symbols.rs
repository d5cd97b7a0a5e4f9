//! Which symbols the output has.

use super::walk::Facts;
use crate::id::{Id, InputSymbolId, SymbolId};
use crate::phases::load::{Place, Role};
use crate::phases::resolve::{Fate, Part, Symbol, is_internal, is_shared_variable};
use rayon::prelude::*;

impl Facts<'_, '_> {
    /// The global part of the symbol table: in order of first mention, as the symbols themselves.
    pub(super) fn globals(&self) -> Vec<SymbolId> {
        let is_live = |symbol: &Symbol| symbol.function.is_none_or(|function| self.live.contains(function));
        let rows = self.resolution.symbols().as_slice().par_iter().with_min_len(4096).enumerate();
        rows.filter(|(_, symbol)| symbol.part == Part::Global && is_live(symbol) && self.is_listed(symbol))
            .map(|(row, _)| SymbolId::from_index(row))
            .collect()
    }

    /// Whether a symbol that stays is in the symbol table.
    #[inline(always)] // There can be very many.
    pub(super) fn is_listed(&self, symbol: &Symbol) -> bool {
        let options = self.options;
        if is_internal(symbol) && options.executable() && !options.preserve_relocations {
            return false;
        }
        if is_shared_variable(symbol) && options.executable() && !options.shows_shared_variables() {
            return false;
        }
        !options.keeps_relocations() || !self.is_left_by_replaced_code(symbol.first)
    }

    /// Whether a symbol names a compiler-made constant of a copy of a function that was replaced. The constants of the copy that
    /// counts have taken its place, and the link that a relocatable output is made for can not tell them apart.
    fn is_left_by_replaced_code(&self, mention: InputSymbolId) -> bool {
        let Place::Section(section) = self.inputs.symbols()[mention].place() else { return false };
        let section = &self.inputs.sections()[section];
        matches!(section.role, Role::FunctionConstants(bank) if bank != 0)
            && section.target.is_some_and(|code| self.resolution.code_fate(self.inputs, code) == Fate::Replaced)
    }
}
