//! Decides one relocation of an executable: a match over what its type computes and where its symbol lives.

use super::{Decision, Kept, Patch, Reference, Referent};
use crate::id::{FunctionId, SymbolId};
use crate::phases::load::{Place, Role};
use crate::phases::merge::{At, OutputSection, Placement};
use crate::phases::resolve::{FOLLOWS_CODE, Symbol, is_dynamic, is_leftover, is_shared_variable, is_texture};
use crate::phases::stages::Planned;
use crate::sections::Memory;
use cubin::relocation::Expression;
use cubin::section::SectionType;
use cubin::symbol::SymbolKind;

/// The bank of the constants that programs declare.
pub(super) const USER_CONSTANTS: u8 = 3;

/// The symbol whose address is the offset in the table of unified functions.
const UNIFIED_OFFSET: &str = "__UFT_OFFSET";

/// Where a symbol lives, as far as it matters to who can know its address.
enum Home {
    /// In code. The driver chooses its address.
    Code,
    /// In the shared memory of kernels.
    Shared,
    /// In the shared memory that the system reserves, at this offset.
    ReservedShared(u64),
    /// In a slot of the parameter banks.
    TextureSlot,
    /// Nowhere: it is a question to the linker.
    Linker,
    /// In constant or global memory.
    Data,
}

impl Reference<'_, '_> {
    /// The same, as an entry of the output with another referent and addend.
    pub(super) fn kept(&self, facts: &Planned<'_, '_>, referent: Referent, addend: i64) -> Kept {
        let kind = self.entry.kind;
        Kept {
            offset: self.entry.offset,
            kind: if facts.options.drops_unified_tables() { kind.without_unified_tables() } else { kind },
            referent,
            addend,
            explicit_addend: self.explicit_addends || facts.options.force_explicit_addends,
        }
    }

    /// A value to write into its field: the addend to a start.
    pub(super) fn patch(&self, start: u64) -> Patch {
        let value = start.wrapping_add_signed(self.entry.addend);
        Patch { offset: self.entry.offset, kind: self.entry.kind, value, bank: None, add: false }
    }
}

impl Planned<'_, '_> {
    /// Decides about one relocation.
    #[inline(always)] // Hot: one per relocation.
    pub(in crate::phases) fn decide(&self, reference: &Reference<'_, '_>) -> Decision {
        let expression = reference.entry.kind.expression();
        if expression == Expression::Hint || self.went_with_replaced_code(reference) {
            return Decision::Drop;
        }
        if self.options.keeps_relocations() {
            return self.keep_for_next_link(reference);
        }
        if let Some(target) = self.section_symbol(reference) {
            return match target {
                Some(target) => self.decide_section(reference, expression, target),
                None => self.removed_code(reference).map_or(Decision::Drop, Decision::Dangling),
            };
        }
        let Some(id) = self.resolution.meaning(reference.symbol) else {
            // A label of code that the compiler removed is the null symbol.
            let start = self.plan.null_symbol_value();
            return if reference.is_debug { Decision::ApplyUnrecorded(reference.patch(start)) } else { Decision::Drop };
        };
        let symbol = &self.resolution.symbols()[id];
        if let Some(function) = symbol.function.filter(|&function| !self.live.contains(function)) {
            return match expression {
                Expression::ClearUnused => Decision::ApplyUnrecorded(Patch { value: 0, ..reference.patch(0) }),
                _ if reference.is_debug => Decision::Drop,
                // The addresses that position-independent code loads are those of its whole object, dead code's included.
                _ if reference.section.section_type == SectionType::CONSTANT_4 => Decision::Drop,
                _ => Decision::Dangling(function),
            };
        }
        let is_unused = !self.unified.has_functions() && self.is_unified_offset(expression, id);
        if is_unused || (expression == Expression::ClearUnused && reference.is_debug) {
            return Decision::Drop;
        }
        match self.options.lays_out_kernels() {
            true => self.settle(reference, expression, id),
            false => self.settle_too_early(reference, expression, id),
        }
    }

    /// Decides about a relocation against a symbol whose address the driver, the linker, or the layout of a kernel's memory determines.
    #[inline(always)] // Hot: one per relocation.
    fn settle(&self, reference: &Reference<'_, '_>, expression: Expression, id: SymbolId) -> Decision {
        let kept = reference.kept(self, Referent::Symbol(self.aliased(id)), reference.entry.addend);
        match (self.home(id), expression) {
            (Home::Code, _) => Decision::Keep(kept),
            (Home::Shared, _) => self.settle_shared(reference, id, kept),
            // The Mercury view leaves them to the generator of machine code.
            (Home::ReservedShared(_), _) if reference.entry.kind.is_mercury() => Decision::Keep(kept),
            (Home::ReservedShared(offset), _) => {
                Decision::ApplyUnrecorded(Patch { add: true, ..reference.patch(self.options.reserved_for_tools() + offset) })
            }
            (Home::TextureSlot, Expression::BankOffset) => self.settle_slot(reference, id, kept),
            (Home::Linker, _) => self.settle_question(reference),
            (Home::Data, Expression::ConstantOffset | Expression::BankOffset) => self.settle_constant(reference, id, kept),
            // Data that holds the address of a constant means its offset in the bank. A debugger wants to know more.
            (Home::Data, Expression::Address) if !reference.is_debug => self.settle_constant(reference, id, kept),
            _ => Decision::Keep(kept),
        }
    }

    /// Where a symbol lives.
    fn home(&self, id: SymbolId) -> Home {
        let symbol = &self.resolution.symbols()[id];
        if symbol.function.is_some() {
            Home::Code
        } else if is_shared_variable(symbol) {
            Home::Shared
        } else if let Some(offset) = self.plan.reserved(id) {
            Home::ReservedShared(offset)
        } else if is_texture(symbol) {
            Home::TextureSlot
        } else if is_leftover(symbol) {
            Home::Linker
        } else {
            Home::Data
        }
    }

    /// A relocation of debug information about the bytes of code is discarded with the definition that it describes.
    fn went_with_replaced_code(&self, reference: &Reference<'_, '_>) -> bool {
        let was_dropped = |function| self.resolution.debug_reference_was_dropped(function, reference.file);
        reference.is_debug
            && reference.explicit_addends
            && self.resolution.function(reference.symbol).is_some_and(was_dropped)
            && FOLLOWS_CODE.contains(&reference.section.name.stem)
    }

    /// Where the section is that a relocation names by the symbol of a section.
    fn section_symbol(&self, reference: &Reference<'_, '_>) -> Option<Option<At>> {
        let row = &self.inputs.symbols()[reference.symbol];
        (row.kind == SymbolKind::SECTION).then(|| match row.place() {
            Place::Section(target) => self.plan.at(target),
            _ => None,
        })
    }

    /// The function that a relocation refers to by the section of its code, which is not in the output.
    fn removed_code(&self, reference: &Reference<'_, '_>) -> Option<FunctionId> {
        let Place::Section(section) = self.inputs.symbols()[reference.symbol].place() else { return None };
        let section = &self.inputs.sections()[section];
        let owner = section.owner.filter(|_| section.role == Role::Text && !reference.is_debug)?;
        self.resolution.function(owner)
    }

    /// Decides about a relocation against a section. Debug sections refer to each other by offset, which is known now.
    fn decide_section(&self, reference: &Reference<'_, '_>, expression: Expression, target: At) -> Decision {
        let At { section, offset } = target;
        let addend = reference.entry.addend.wrapping_add_unsigned(offset);
        let kept = reference.kept(self, Referent::Section(section), addend);
        match reference.is_debug && expression != Expression::ProgramRelative {
            true => Decision::Apply(reference.patch(offset), kept),
            false => Decision::Keep(kept),
        }
    }

    fn settle_shared(&self, reference: &Reference<'_, '_>, id: SymbolId, kept: Kept) -> Decision {
        let symbol = &self.resolution.symbols()[id];
        let patch = Patch { add: !reference.is_debug, ..reference.patch(self.shared_address(reference.section, id)) };
        let is_nameless = match is_dynamic(symbol) {
            true => self.dynamic_is_nameless(reference.section),
            false => self.layout.shared().address(id).is_none(),
        };
        if is_nameless { Decision::ApplyUnrecorded(patch) } else { Decision::Apply(patch, kept) }
    }

    /// Whether references of a section to dynamic shared memory need no symbol: kernels and what they reach know their own start, unless
    /// a debugger is shown one for each array.
    pub(super) fn dynamic_is_nameless(&self, section: &OutputSection<'_>) -> bool {
        let shared = self.layout.shared();
        let is_kernel = |function: FunctionId| self.resolution.functions()[function].kernel;
        let has_start = |function: FunctionId| !shared.shows_dynamic() && shared.dynamic(function).is_some();
        let knows_start = section.code_of().is_some_and(|function| is_kernel(function) || has_start(function));
        knows_start || !shared.names_dynamic()
    }

    fn shared_address(&self, section: &OutputSection<'_>, id: SymbolId) -> u64 {
        let shared = self.layout.shared();
        if self.resolution.symbols()[id].definition.is_some() {
            return shared.address(id).map_or(u64::MAX, |address| address.offset);
        }
        let of_code = section.code_of().and_then(|function| shared.dynamic(function));
        // Code that no kernel reaches has no dynamic shared memory; a debugger is shown an offset all the same.
        of_code.or_else(|| shared.shown_dynamic(id)).unwrap_or(u64::MAX)
    }

    fn settle_slot(&self, reference: &Reference<'_, '_>, id: SymbolId, kept: Kept) -> Decision {
        let textures = self.layout.textures();
        let is_mercury = reference.entry.kind.is_mercury();
        // The Mercury view counts slots from the first; the machine's has the parameters before them.
        let base = if is_mercury { textures.base() } else { 0 };
        match textures.offset(id) {
            // Without slots in any kernel, code keeps the object's idea of where they start.
            Some(slot) => {
                let add = textures.base() == 0 && !is_mercury;
                Decision::ApplyUnrecorded(Patch { add, ..reference.patch(slot - base) })
            }
            None if !self.options.linked().has_banks => Decision::Drop,
            None => Decision::Keep(kept),
        }
    }

    fn settle_constant(&self, reference: &Reference<'_, '_>, id: SymbolId, kept: Kept) -> Decision {
        match self.constant(&self.resolution.symbols()[id]) {
            Some(constant) => self.apply_constant(reference, constant, kept),
            None => Decision::Keep(kept),
        }
    }

    pub(super) fn apply_constant(&self, reference: &Reference<'_, '_>, constant: Constant, kept: Kept) -> Decision {
        let patch = Patch { bank: Some(constant.bank), ..reference.patch(constant.offset) };
        match constant.is_moved || !self.options.linked().has_banks {
            true => Decision::ApplyUnrecorded(patch),
            false => Decision::Apply(patch, kept),
        }
    }

    /// Where a symbol is in its constant bank, if it is in one.
    pub(super) fn constant(&self, symbol: &Symbol) -> Option<Constant> {
        let row = &self.inputs.symbols()[symbol.definition?];
        let Place::Section(section) = row.place() else { return None };
        let bank = self.inputs.sections()[section].kind.constant_bank()?;
        let (offset, is_moved) = match self.plan.placement(section)? {
            Placement::At(at) => (at.offset, false),
            Placement::InBanks { offset } | Placement::Dropped { offset } => (offset, true),
        };
        Some(Constant { offset: offset + row.value, bank, is_moved })
    }

    /// Answers a question to the linker: there is only one.
    pub(super) fn settle_question(&self, reference: &Reference<'_, '_>) -> Decision {
        let size = self.size_of_constants();
        Decision::ApplyUnrecorded(Patch { value: size, ..reference.patch(size) })
    }

    /// The size of the module's constants, which the device runtime library asks for; all ones if there are none.
    pub(crate) fn size_of_constants(&self) -> u64 {
        let is_constants = |section: &OutputSection<'_>| section.kind.memory(section) == Some(Memory::Constants(USER_CONSTANTS));
        let mut sections = self.plan.sections().enumerate().filter(|(_, section)| is_constants(section));
        sections.next().map_or(u64::MAX, |(id, _)| self.layout.size(id))
    }

    /// Relocations against an alias name the function itself.
    pub(super) fn aliased(&self, id: SymbolId) -> SymbolId {
        let functions = self.resolution.functions();
        let original = self.resolution.symbols()[id].function.and_then(|function| functions[function].alias_of);
        original.map_or(id, |original| functions[original].symbol)
    }

    /// Whether a relocation asks for the offset in the table of unified functions.
    pub(super) fn is_unified_offset(&self, expression: Expression, id: SymbolId) -> bool {
        let names_offset = || self.resolution.symbols()[id].name(self.inputs) == UNIFIED_OFFSET;
        expression == Expression::UnifiedOffset || (expression == Expression::Address && names_offset())
    }
}

/// Where a constant is.
pub(super) struct Constant {
    /// Its offset in the bank.
    pub offset: u64,
    /// The bank.
    pub bank: u8,
    /// Whether it moved to the banks of the kernels that reach it.
    pub is_moved: bool,
}
