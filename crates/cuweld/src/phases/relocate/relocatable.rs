//! Relocations of a relocatable file (`-r`).
//!
//! Only the final link knows addresses, so every relocation is kept, against the merged sections. The reference linker applies those whose symbol
//! no later definition can replace, with values that only the final link can know. This is imitated with `--compat`, and never otherwise.

use super::decide::{Constant, USER_CONSTANTS};
use super::{Decision, Kept, Patch, Reference, Referent};
use crate::id::SymbolId;
use crate::imitations::Imitation;
use crate::options::Options;
use crate::phases::load::Place;
use crate::phases::resolve::{Symbol, is_dynamic, is_leftover, is_shared_variable, is_texture};
use crate::phases::stages::Planned;
use cubin::relocation::Expression;
use cubin::section::SectionType;
use cubin::symbol::{Binding, Space, SymbolKind, other};

/// Where variables are that are [still missing](is_missing_from_relocatable).
pub const MISSING_VARIABLE: u64 = u64::MAX;
/// And the bank of constants that are: what the type of the null section would mean, if it were one of constants.
const BANK_OF_NOTHING: u8 = SectionType::NULL.0.wrapping_sub(SectionType::CONSTANT_0.0) as u8 & 0x1f;

/// Whether a symbol is a variable in global memory or a constant that is still missing, in a relocatable output like the reference linker's.
pub fn is_missing_from_relocatable(symbol: &Symbol, options: &Options) -> bool {
    let is_missing = symbol.is_undefined() && symbol.function.is_none();
    is_missing
        && options.settles_early(Imitation::RelocatableMissingVariables)
        && matches!(space(symbol), Space::Global | Space::Constant)
}

/// Whether a symbol is a question that a relocatable output like the reference linker's has an answer to.
pub fn is_answered_early(symbol: &Symbol, options: &Options) -> bool {
    is_leftover(symbol) && options.settles_early(Imitation::RelocatableConstantsSize)
}

fn space(symbol: &Symbol) -> Space {
    Space::from_bits(symbol.other >> other::SPACE_SHIFT)
}

impl Planned<'_, '_> {
    /// Leaves a relocation to the link that the output is made for: only offsets of sections change.
    pub(super) fn keep_for_next_link(&self, reference: &Reference<'_, '_>) -> Decision {
        let row = &self.inputs.symbols()[reference.symbol];
        let entry = reference.entry;
        let (referent, addend) = match row.place() {
            Place::Section(target) if row.kind == SymbolKind::SECTION => {
                let Some(place) = self.plan.at(target) else { return Decision::Drop };
                (Referent::Section(place.section), entry.addend.wrapping_add_unsigned(place.offset))
            }
            _ => match self.resolution.meaning(reference.symbol) {
                Some(id) if !self.is_unified_offset(entry.kind.expression(), id) => {
                    (Referent::Symbol(self.aliased(id)), entry.addend)
                }
                _ => return Decision::Drop,
            },
        };
        let kept = reference.kept(self, referent, addend);
        // Entries without addends have no room for one that is no longer zero.
        Decision::Keep(Kept { explicit_addend: kept.explicit_addend || addend != 0, ..kept })
    }

    /// Settles what the reference linker settles: what no later definition can replace or make.
    pub(super) fn settle_too_early(&self, reference: &Reference<'_, '_>, expression: Expression, id: SymbolId) -> Decision {
        let symbol = &self.resolution.symbols()[id];
        let kept = reference.kept(self, Referent::Symbol(self.aliased(id)), reference.entry.addend);
        if let (true, Some(kernel)) = (is_dynamic(symbol), reference.section.code_of())
            && self.layout.shared().instance(kernel).is_some()
        {
            return Decision::Keep(reference.kept(self, Referent::SharedInstance(kernel), reference.entry.addend));
        }
        let is_missing = symbol.definition.is_none() && is_shared_variable(symbol) && !is_dynamic(symbol);
        if symbol.function.is_some() || symbol.binding == Binding::WEAK || is_missing {
            return Decision::Keep(kept);
        }
        if is_answered_early(symbol, self.options) {
            return self.settle_question(reference);
        }
        if is_shared_variable(symbol) && !self.options.imitates(Imitation::RelocatableSettlesShared) {
            return Decision::Keep(kept);
        }
        if is_shared_variable(symbol) {
            // The field holds the alignment, not the address.
            let align = symbol.definition.map_or(0, |definition| self.inputs.symbols()[definition].value);
            let patch = Patch { add: !reference.is_debug, ..reference.patch(align) };
            let is_nameless = is_dynamic(symbol) && self.dynamic_is_nameless(reference.section);
            return if is_nameless { Decision::ApplyUnrecorded(patch) } else { Decision::Apply(patch, kept) };
        }
        if is_texture(symbol) && expression == Expression::BankOffset && self.options.linked().has_banks {
            // There are no slots yet, but the reference linker writes an offset into the code.
            return Decision::ApplyUnrecorded(Patch { bank: Some(BANK_OF_NOTHING), ..reference.patch(0) });
        }
        let is_offset = match expression {
            Expression::ConstantOffset | Expression::BankOffset => true,
            Expression::Address => !reference.is_debug,
            _ => false,
        };
        match self.constant(symbol).or_else(|| self.missing_constant(symbol)).filter(|_| is_offset) {
            Some(constant) => self.apply_constant(reference, constant, kept),
            None => Decision::Keep(kept),
        }
    }

    /// The bank and offset that the reference linker gives a constant that no input defines.
    fn missing_constant(&self, symbol: &Symbol) -> Option<Constant> {
        let is_settled =
            symbol.definition.is_none() && is_missing_from_relocatable(symbol, self.options) && space(symbol) == Space::Constant;
        let bank = if self.options.linked().has_banks { BANK_OF_NOTHING } else { USER_CONSTANTS };
        is_settled.then_some(Constant { offset: MISSING_VARIABLE, bank, is_moved: true })
    }
}
