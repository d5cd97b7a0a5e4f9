//! Relocate: apply what the linker owns, keep what the driver owns.
//!
//! Addresses in shared memory, offsets in constant banks, texture slots, and references between debug sections are settled now.
//! Addresses of functions and global variables depend on where the driver loads them, so those relocations stay in the file.
//! Relocations against the tables of unified functions become plain ones where there is no such table.
//!
//! The reference linker keeps relocations in lists with the newest in front, and writes them in that order.

mod capsule;
mod outcomes;

use super::layout::Layout;
use super::live::LiveSet;
use super::load::{InputRelocation, Inputs, Place, Role};
use super::merge::{Content, OutputSection, Piece, Plan};
use super::resolve::{FOLLOWS_CODE, Fate, Resolution, Symbol, is_dynamic, is_shared_variable, is_texture};
use super::unified::Unified;
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FileId, FunctionId, InputSectionId, InputSymbolId, SectionId, SymbolId};
use crate::options::Options;
use crate::stubs;
use crate::views::View;
use capsule::CapsuleFields;
use cubin::relocation::RelocationType;
use cubin::section::SectionType;
use cubin::symbol::{Binding, Space, SymbolKind, other};
use cubin::target::Views;
pub use outcomes::Outcome;
use outcomes::{Outcomes, Run};
use std::cmp::Reverse;

/// What is left of the relocations, and what has to be written into the sections.
///
/// Where there are two views, the machine's side of debug information has a phase of its own.
#[derive(Debug)]
pub struct Relocations {
    outcomes: Outcomes,
    linked: View,
}

/// A relocation of the output.
#[derive(Copy, Clone, Debug)]
pub struct Kept {
    /// Where in the section.
    pub offset: u64,
    /// What to do there.
    pub kind: RelocationType,
    /// Whose address.
    pub referent: Referent,
    /// What to add to it.
    pub addend: i64,
    /// Whether the entry has room for the addend.
    pub explicit_addend: bool,
}

/// What a relocation refers to.
#[derive(Copy, Clone, Debug)]
pub enum Referent {
    /// A symbol.
    Symbol(SymbolId),
    /// A section.
    Section(SectionId),
    /// A kernel's array of unknown size, as a relocatable output of the reference linker has it.
    SharedInstance(FunctionId),
}

/// A value to write into a section.
#[derive(Copy, Clone, Debug)]
pub struct Patch {
    /// Where.
    pub offset: u64,
    /// The relocation whose field is written.
    pub kind: RelocationType,
    /// The value.
    pub value: u64,
    /// The constant bank, for fields that hold one.
    pub bank: Option<u8>,
    /// Whether the value is added to what is there.
    pub add: bool,
}

impl Relocations {
    /// What became of the relocations of a section, as it is linked.
    pub fn of(&self, section: SectionId) -> Outcome<'_> {
        self.in_view(section, self.linked)
    }

    /// What became of the relocations of a section in a view.
    pub fn in_view(&self, section: SectionId, view: View) -> Outcome<'_> {
        self.outcomes.section(section, view)
    }
}

/// How relocation types are treated that are neither kept as they are nor applied by their field alone. Types of the Mercury
/// view are numbered from 0x10000 on.
mod kinds {
    use cubin::relocation::RelocationType;

    /// Hints about instructions that the linker may change; it never does.
    pub fn is_hint(kind: RelocationType) -> bool {
        matches!(kind.0, 68 | 69)
    }

    /// Whether a field becomes zero when the symbol's code is removed.
    pub fn is_unused_clear(kind: RelocationType) -> bool {
        matches!(kind.0, 73 | 0x1_000e)
    }

    /// The symbol whose address is the offset in the table of unified functions.
    const UNIFIED_OFFSET: &str = "__UFT_OFFSET";

    /// Whether a relocation asks for the offset in the table of unified functions.
    pub fn is_unified_offset(kind: RelocationType, symbol: &str) -> bool {
        kind.0 == 114 || (kind.0 == 0x1_0002 && symbol == UNIFIED_OFFSET)
    }

    /// Whether a place in debug information is counted by the finalizer, and so is not settled by the linker.
    pub fn is_program_relative(kind: RelocationType) -> bool {
        kind.0 == 0x1_0008
    }

    /// What a relocation against the tables of unified functions becomes when there are none.
    pub fn without_unified_tables(kind: RelocationType) -> RelocationType {
        RelocationType(match kind.0 {
            102 => 2,
            103 => 1,
            byte @ 104..=111 => byte - 104 + 76,
            112 => 56,
            113 => 57,
            0x1_0032 => 0x1_0002,
            0x1_0033 => 0x1_0003,
            byte @ 0x1_0034..=0x1_003b => byte - 0x34 + 0x10,
            0x1_003e => 0x1_0005,
            0x1_003f => 0x1_0006,
            other => other,
        })
    }

    /// Whether a relocation fills a field that selects a constant: its offset, and in some its bank.
    pub fn selects_constant(kind: RelocationType) -> bool {
        matches!(kind.0, 59 | 60 | 64 | 65 | 66 | 115 | 0x1_0003 | 0x1_0004)
    }

    /// Whether a relocation fills a whole word with an address in the symbol's own memory.
    pub fn is_plain_address(kind: RelocationType) -> bool {
        matches!(kind.0, 1 | 2 | 0x1_0002)
    }

    /// Whether a relocation is one of the Mercury view.
    pub fn is_mercury(kind: RelocationType) -> bool {
        kind.0 >= RelocationType::MERCURY_BASE
    }

    /// Whether a relocation fills a field that selects a texture slot.
    pub fn selects_texture(kind: RelocationType) -> bool {
        matches!(kind.0, 59 | 65 | 66 | 115 | 0x1_0003 | 0x1_0004)
    }
}

/// The facts that relocation reads.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
    /// The places of unified functions and variables.
    pub unified: &'facts Unified,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses.
    pub layout: &'facts Layout,
    /// What was asked for.
    pub options: &'facts Options,
}

/// Decides about every relocation.
pub fn relocate(facts: &Facts<'_, '_>, report: &mut Report) -> Result<Relocations, Failure> {
    let views = facts.options.target.views;
    let sections = facts.plan.sections().as_slice();
    match Outcomes::of(sections, views, |section, view, run| facts.section(section, view, run)) {
        Ok(outcomes) => Ok(Relocations { outcomes, linked: View::linked(views) }),
        Err(Damage { section, error }) => {
            let file = facts.inputs.files()[facts.inputs.file_of_section(section)].name.into();
            let problem = format!("section '{}' {error}", facts.inputs.sections()[section].name);
            report.fatal(Message::BadObject { file, problem })
        }
    }
}

/// A section of an input that turned out to be damaged.
struct Damage {
    section: InputSectionId,
    error: cubin::Error,
}

/// What to do with one relocation.
pub(super) enum Decision {
    /// Forget it.
    Drop,
    /// Leave it to the driver.
    Keep(Kept),
    /// Apply it, and record it where that is asked for.
    Apply(Patch, Kept),
    /// Apply it.
    ApplyUnrecorded(Patch),
}

impl Facts<'_, '_> {
    /// Decides about the relocations of a section.
    fn section(&self, section: &OutputSection<'_>, view: View, run: &mut Run) -> Result<(), Damage> {
        let has_relocations = section.relocations.explicit.is_some() || section.relocations.implicit.is_some();
        let is_separate_debug =
            section.content == Content::Debug && self.options.target.views == Views::Two && view == View::Machine;
        if !has_relocations || section.content == Content::Gone || is_separate_debug {
            return Ok(());
        }
        // Debug information of the Mercury view is none of the driver's business.
        let records = self.options.preserve_relocations && !(section.content == Content::Debug && view == View::Mercury);
        let is_capsule = matches!(section.content, Content::Text(_)) && view == View::Mercury;
        let is_listed = |piece: &Piece| !piece.is_replaced || view == View::Mercury;
        for piece in section.pieces.newest_first().with_replaced().filter(is_listed) {
            let file = self.inputs.file_of_section(piece.section);
            let Some(source) = self.inputs.in_view(piece.section, view) else { continue };
            let is_list = |id: &InputSectionId| matches!(self.inputs.sections()[*id].role, Role::Relocations { .. });
            let mut lists = self.inputs.attached(source).filter(is_list);
            // The newest first; there is hardly ever more than one.
            let oldest = lists.next();
            let newer: Vec<InputSectionId> = lists.collect();
            let kept_before = run.kept.len();
            for list in newer.into_iter().rev().chain(oldest) {
                let Role::Relocations { explicit_addends } = self.inputs.sections()[list].role else { continue };
                let mut capsule = None;
                let count = self.inputs.sections()[list].entries().len();
                run.kept.reserve(count);
                for (entry, index) in self.inputs.relocations(file, list).rev().zip((0..count).rev()) {
                    let Some(symbol) = entry.symbol else { continue };
                    let target = piece.section;
                    if self.resolution.ignores(self.inputs, target, entry.offset, symbol)
                        || self.resolution.forgets(self.inputs, target, symbol)
                    {
                        continue;
                    }
                    let Some(offset) = self.output_offset(section, piece, entry.offset, view) else { continue };
                    let entry = InputRelocation { offset, ..entry };
                    let (patch, kept) = match self.decide(section, file, symbol, entry, explicit_addends) {
                        Decision::Drop => continue,
                        Decision::Keep(kept) => {
                            run.kept.push(kept);
                            continue;
                        }
                        // There is nothing left to apply it to.
                        _ if piece.is_replaced => continue,
                        Decision::ApplyUnrecorded(patch) => (patch, None),
                        Decision::Apply(patch, kept) => (patch, Some(kept)),
                    };
                    if is_capsule {
                        let capsule = capsule.get_or_insert_with(|| CapsuleFields::of(self.inputs, file, piece.section, list));
                        let capsule =
                            capsule.as_ref().map_err(|error| Damage { section: piece.section, error: error.clone() })?;
                        let offset = capsule.offset(index, patch.offset);
                        run.patches.extend(offset.map(|offset| Patch { offset, add: false, ..patch }));
                    } else {
                        run.patches.push(patch);
                    }
                    run.resolved.extend(kept.filter(|_| records));
                }
            }
            if piece.origin.is_some() && self.moves_by_table(section, piece) {
                self.sort_by_tables(&mut run.kept[kept_before..], piece, file);
            }
        }
        Ok(())
    }

    /// Whether constants were moved to a kernel table by table. The tables are those of the copy of the function that counts, so that
    /// those of a lost copy, or of one that was replaced by a copy without tables, are moved as they are.
    fn moves_by_table(&self, section: &OutputSection<'_>, piece: Piece) -> bool {
        let fate = |piece: Piece| {
            let code = self.inputs.sections()[piece.section].target;
            code.map(|code| self.resolution.code_fate(self.inputs, code))
        };
        let is_counted = |other: Piece| other.origin == piece.origin && fate(other) == Some(Fate::Taken);
        fate(piece) != Some(Fate::Lost) && (!piece.is_replaced || section.pieces.iter().any(is_counted))
    }

    /// Sorts the relocations of constants that moved to a kernel: they were moved table by table, the newest first.
    fn sort_by_tables(&self, kept: &mut [Kept], piece: Piece, file: FileId) {
        let symbols = self.inputs.files()[file].symbols.iter().map(|symbol| &self.inputs.symbols()[symbol]);
        let tables = symbols.filter(|row| row.place() == Place::Section(piece.section) && row.kind != SymbolKind::SECTION);
        let mut starts: Vec<u64> = tables.map(|row| piece.offset + row.value).collect();
        starts.sort_unstable();
        kept.sort_by_key(|entry| Reverse(starts.partition_point(|&start| start <= entry.offset)));
    }

    /// Where an offset in a piece of a section is in the section; nowhere, if that part of the piece is left out.
    fn output_offset(&self, section: &OutputSection<'_>, piece: Piece, offset: u64, view: View) -> Option<u64> {
        match section.content {
            Content::UnifiedData => self.unified.moved(piece.section, offset),
            // The Mercury code of a table of stubs is nobody's code any more, but counted anew.
            Content::UnifiedStubs if view == View::Mercury => Some(stubs::mercury_offset(piece.offset)),
            _ => Some(piece.offset + offset),
        }
    }

    /// Decides about one relocation of a section.
    pub(super) fn decide(
        &self,
        section: &OutputSection<'_>,
        file: FileId,
        mention: InputSymbolId,
        entry: InputRelocation,
        explicit_in_input: bool,
    ) -> Decision {
        if kinds::is_hint(entry.kind) {
            return Decision::Drop;
        }
        let is_debug = section.content == Content::Debug;
        let explicit_addend = explicit_in_input || self.options.force_explicit_addends;
        let keep = |referent: Referent, addend: i64| Kept {
            offset: entry.offset,
            kind: if self.options.drops_unified_tables() { kinds::without_unified_tables(entry.kind) } else { entry.kind },
            referent,
            addend,
            explicit_addend,
        };
        let patch = |value: u64| Patch { offset: entry.offset, kind: entry.kind, value, bank: None, add: false };

        let row = &self.inputs.symbols()[mention];
        let was_dropped = |function| self.resolution.debug_reference_was_dropped(function, file);
        if follows_code(section) && explicit_in_input && self.resolution.function(mention).is_some_and(was_dropped) {
            return Decision::Drop;
        }
        if self.options.keeps_relocations() {
            return self.keep(mention, entry, explicit_addend);
        }
        if row.kind == SymbolKind::SECTION {
            let Place::Section(target) = row.place() else { return Decision::Drop };
            let Some(place) = self.plan.placement(target) else { return Decision::Drop };
            let addend = entry.addend.wrapping_add_unsigned(place.offset);
            let kept = keep(Referent::Section(place.section), addend);
            let is_settled = is_debug && !kinds::is_program_relative(entry.kind);
            return if is_settled { Decision::Apply(patch(addend as u64), kept) } else { Decision::Keep(kept) };
        }
        let Some(id) = self.resolution.meaning(mention) else {
            // A label of code that the compiler removed. To the reference linker it is the null symbol, and whatever that is.
            let start = if self.options.imitate_defects { self.plan.null_symbol_value() } else { 0 };
            let value = start.wrapping_add_signed(entry.addend);
            return if is_debug { Decision::ApplyUnrecorded(patch(value)) } else { Decision::Drop };
        };
        let symbol = &self.resolution.symbols()[id];
        if self.is_removed(symbol) {
            return if kinds::is_unused_clear(entry.kind) { Decision::ApplyUnrecorded(patch(0)) } else { Decision::Drop };
        }
        let is_unused = !self.unified.has_functions() && kinds::is_unified_offset(entry.kind, symbol.name(self.inputs));
        if (is_debug && kinds::is_unused_clear(entry.kind)) || is_unused {
            return Decision::Drop;
        }
        let kept = keep(Referent::Symbol(self.aliased(id)), entry.addend);
        // Where functions are is for the driver to say.
        if symbol.function.is_some() {
            return Decision::Keep(kept);
        }
        // A relocatable output of the reference linker settles what no later definition can replace or make.
        let is_missing = symbol.definition.is_none() && is_shared_variable(symbol) && !is_dynamic(symbol);
        if !self.options.executable() && (symbol.binding == Binding::WEAK || is_missing) {
            return Decision::Keep(kept);
        }
        if let (true, Content::Text(kernel)) = (is_dynamic(symbol), section.content)
            && self.layout.shared().instance(kernel).is_some()
        {
            return Decision::Keep(keep(Referent::SharedInstance(kernel), entry.addend));
        }
        if is_shared_variable(symbol) {
            let address = self.shared_address(section, id);
            let value = address.wrapping_add_signed(entry.addend);
            let patch = Patch { add: !is_debug, ..patch(value) };
            let is_nameless = match is_dynamic(symbol) {
                // Kernels know their own start; only device functions take it from the symbol.
                true => self.is_kernel(section) || !self.layout.shared().names_dynamic(),
                false => self.options.executable() && self.layout.shared().address(id).is_none(),
            };
            return if is_nameless { Decision::ApplyUnrecorded(patch) } else { Decision::Apply(patch, kept) };
        }
        if let Some(offset) = self.plan.reserved(id).filter(|_| self.options.executable() && !kinds::is_mercury(entry.kind)) {
            // The Mercury view leaves them to whoever makes machine code of it.
            let address = self.options.reserved_for_tools() + offset;
            return Decision::ApplyUnrecorded(Patch { add: true, ..patch(address.wrapping_add_signed(entry.addend)) });
        }
        if is_texture(symbol) && kinds::selects_texture(entry.kind) {
            let textures = self.layout.textures();
            // The Mercury view counts slots from the first; the machine's has the parameters before them.
            let base = if kinds::is_mercury(entry.kind) { textures.base() } else { 0 };
            match textures.offset(id) {
                Some(slot) => {
                    let value = (slot - base).wrapping_add_signed(entry.addend);
                    // Without slots in any kernel, code keeps the object's idea of where they start.
                    let add = textures.base() == 0 && !kinds::is_mercury(entry.kind);
                    return Decision::ApplyUnrecorded(Patch { add, ..patch(value) });
                }
                None if self.options.target.views == Views::Two && self.options.executable() => return Decision::Drop,
                // A relocatable output of the reference linker has no slots, but its code is told where they are.
                None if self.options.target.views == Views::One && !self.options.executable() => {
                    return Decision::ApplyUnrecorded(Patch { bank: Some(BANK_OF_NOTHING), ..patch(entry.addend as u64) });
                }
                None => {}
            }
        }
        // Data that holds the address of a constant means its place in the bank, unless the address is a generic one.
        if (kinds::selects_constant(entry.kind) || (!is_debug && kinds::is_plain_address(entry.kind)))
            && let Some((value, bank, gone)) = self.constant(symbol)
        {
            let patch = Patch { bank: Some(bank), ..patch(value.wrapping_add_signed(entry.addend)) };
            return if gone || self.options.target.views == Views::Two {
                Decision::ApplyUnrecorded(patch)
            } else {
                Decision::Apply(patch, kept)
            };
        }
        if self.options.executable() && is_leftover(symbol) {
            return Decision::ApplyUnrecorded(patch(self.size_of_constants()));
        }
        Decision::Keep(kept)
    }

    /// The size of the module's constants, which the device runtime library asks for; all ones if there are none.
    fn size_of_constants(&self) -> u64 {
        let is_constants = |section: &OutputSection<'_>| {
            section.content == Content::Pieces && section.target.is_none() && section.kind.constant_bank() == Some(USER_CONSTANTS)
        };
        let mut sections = self.plan.sections().enumerate().filter(|(_, section)| is_constants(section));
        sections.next().map_or(u64::MAX, |(id, _)| self.layout.size(id))
    }

    /// A relocatable output leaves everything to the link that it is made for: only places move.
    fn keep(&self, mention: InputSymbolId, entry: InputRelocation, explicit_addend: bool) -> Decision {
        let row = &self.inputs.symbols()[mention];
        let (referent, addend) = match row.place() {
            Place::Section(target) if row.kind == SymbolKind::SECTION => {
                let Some(place) = self.plan.placement(target) else { return Decision::Drop };
                (Referent::Section(place.section), entry.addend.wrapping_add_unsigned(place.offset))
            }
            _ => match self.resolution.meaning(mention) {
                Some(id) if kinds::is_unified_offset(entry.kind, self.resolution.symbols()[id].name(self.inputs)) => {
                    return Decision::Drop;
                }
                Some(id) => (Referent::Symbol(self.aliased(id)), entry.addend),
                None => return Decision::Drop,
            },
        };
        let InputRelocation { offset, kind, .. } = entry;
        // Entries without addends have no room for one that is no longer zero.
        Decision::Keep(Kept { offset, kind, referent, addend, explicit_addend: explicit_addend || addend != 0 })
    }

    /// Whether a section is the code of a kernel.
    fn is_kernel(&self, section: &OutputSection<'_>) -> bool {
        matches!(section.content, Content::Text(function) if self.resolution.functions()[function].kernel)
    }

    fn is_removed(&self, symbol: &Symbol) -> bool {
        symbol.function.is_some_and(|function| !self.live.contains(function))
    }

    /// Relocations against an alias name the function itself.
    fn aliased(&self, id: SymbolId) -> SymbolId {
        let functions = self.resolution.functions();
        let original = self.resolution.symbols()[id].function.and_then(|function| functions[function].alias_of);
        original.map_or(id, |original| functions[original].symbol)
    }

    fn shared_address(&self, section: &OutputSection<'_>, id: SymbolId) -> u64 {
        let shared = self.layout.shared();
        if !self.options.executable() {
            // What a relocatable output of the reference linker holds: not the address, but the alignment.
            let definition = self.resolution.symbols()[id].definition;
            return definition.map_or(0, |definition| self.inputs.symbols()[definition].value);
        }
        if self.resolution.symbols()[id].definition.is_some() {
            return shared.address(id).map_or(u64::MAX, |address| address.offset);
        }
        let of_code = match section.content {
            Content::Text(function) => shared.dynamic(function),
            _ => None,
        };
        // Code that no kernel reaches has no array of unknown size; a debugger is shown some place all the same.
        of_code.or(shared.shown_dynamic()).unwrap_or(u64::MAX)
    }

    /// A symbol's offset in its constant bank, the bank, and whether its section went elsewhere.
    fn constant(&self, symbol: &Symbol) -> Option<(u64, u8, bool)> {
        let Some(definition) = symbol.definition else {
            // A relocatable output of the reference linker settles even what refers to a constant that is still missing.
            let is_settled = is_missing_from_relocatable(symbol, self.options) && space(symbol) == Space::Constant;
            let bank = if self.options.target.views == Views::One { BANK_OF_NOTHING } else { USER_CONSTANTS };
            return is_settled.then_some((MISSING_VARIABLE, bank, true));
        };
        let row = &self.inputs.symbols()[definition];
        let Place::Section(section) = row.place() else { return None };
        let bank = self.inputs.sections()[section].kind.constant_bank()?;
        let place = self.plan.placement(section)?;
        let gone = self.plan.sections()[place.section].content == Content::Gone;
        Some((place.offset + row.value, bank, gone))
    }
}

/// The bank of the constants that programs declare.
const USER_CONSTANTS: u8 = 3;

/// Where variables are that are [still missing](is_missing_from_relocatable).
pub const MISSING_VARIABLE: u64 = u64::MAX;
/// And the bank of constants that are: what the type of the null section would mean, if it were one of constants.
const BANK_OF_NOTHING: u8 = SectionType::NULL.0.wrapping_sub(SectionType::CONSTANT_0.0) as u8 & 0x1f;

/// Whether a symbol is a variable in global memory or a constant that is still missing, in a relocatable output like the reference linker's.
pub fn is_missing_from_relocatable(symbol: &Symbol, options: &Options) -> bool {
    let is_missing = symbol.is_undefined() && symbol.function.is_none();
    is_missing && !options.executable() && options.imitate_defects && matches!(space(symbol), Space::Global | Space::Constant)
}

fn space(symbol: &Symbol) -> Space {
    Space::from_bits(symbol.other >> other::SPACE_SHIFT)
}

/// Whether a symbol is local to an object that does not define it: a question to the linker (`.nv.ptx.const0.size`).
pub fn is_leftover(symbol: &Symbol) -> bool {
    symbol.is_undefined() && symbol.binding == Binding::LOCAL && symbol.function.is_none()
}

/// Whether a section speaks of the bytes of code, so that relocations of a replaced copy went with the copy.
fn follows_code(section: &OutputSection<'_>) -> bool {
    section.content == Content::Debug && FOLLOWS_CODE.contains(&section.name.stem)
}
