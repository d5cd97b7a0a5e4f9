//! Relocate: apply what the linker owns, keep what the driver owns.
//!
//! Offsets in shared memory and constant banks, texture slots, and references between debug sections are known and applied.
//! Addresses of functions and global variables depend on where the driver loads them, so those relocations are kept in the file.
//! Relocations against the tables of unified functions become plain ones where there is no such table. The decision follows from what a
//! relocation type computes and where the symbol lives (`decide`); a relocatable file has other rules (`relocatable`).
//!
//! The reference linker keeps relocations in lists with the newest in front, and writes them in that order.

mod capsule;
mod decide;
mod outcomes;
mod relocatable;

use super::load::{InputRelocation, Place, Role};
use super::merge::{OutputSection, Piece};
use super::resolve::Fate;
use super::stages::Planned;
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FileId, FunctionId, InputSectionId, InputSymbolId, SectionId, SymbolId};
use crate::imitations::Imitation;
use crate::views::{self, View};
use capsule::CapsuleFields;
use cubin::relocation::RelocationType;
use cubin::symbol::SymbolKind;
pub use outcomes::SectionOutcome;
use outcomes::{OutcomeRun, Outcomes};
pub use relocatable::{MISSING_VARIABLE, is_answered_early, is_missing_from_relocatable};
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
    /// A kernel's dynamic shared memory, as a relocatable output of the reference linker has it.
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
    /// The fate of the relocations of a section, as it is linked.
    pub fn of(&self, section: SectionId) -> SectionOutcome<'_> {
        self.in_view(section, self.linked)
    }

    /// The fate of the relocations of a section in a view.
    pub fn in_view(&self, section: SectionId, view: View) -> SectionOutcome<'_> {
        self.outcomes.section(section, view)
    }
}

/// Decides about every relocation.
pub fn relocate(facts: &Planned<'_, '_>, report: &mut Report) -> Result<Relocations, Failure> {
    let views = facts.options.target.views;
    let sections = facts.plan.sections().as_slice();
    match Outcomes::of(sections, views, |section, view, run| facts.section(section, view, run)) {
        Ok(outcomes) => Ok(Relocations { outcomes, linked: views::linked(views).view }),
        Err(Fault::Damage { section, error }) => {
            let file = facts.inputs.files()[facts.inputs.file_of_section(section)].name.into();
            let problem = format!("section '{}' {error}", facts.inputs.sections()[section].name);
            report.fatal(Message::BadObject { file, problem })
        }
        Err(Fault::Dangling { section, function }) => {
            let file = facts.inputs.files()[facts.inputs.file_of_section(section)].name.into();
            let referrer = facts.inputs.sections()[section].name.into();
            report.fatal(Message::RemovedButNeeded { name: facts.resolution.name(function).into(), referrer, file })
        }
    }
}

/// What makes it impossible to relocate a section of an input.
enum Fault {
    /// The section is damaged.
    Damage { section: InputSectionId, error: cubin::Error },
    /// It refers to a function that was removed.
    Dangling { section: InputSectionId, function: FunctionId },
}

/// A relocation of an input section, at its offset in the output section.
pub(super) struct Reference<'all, 'data> {
    /// The output section that it patches.
    pub section: &'all OutputSection<'data>,
    /// Whether that is debug information.
    pub is_debug: bool,
    /// The object that it is from.
    pub file: FileId,
    /// The symbol that it names.
    pub symbol: InputSymbolId,
    /// The entry.
    pub entry: InputRelocation,
    /// Whether the object has it with an addend of its own.
    pub explicit_addends: bool,
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
    /// It is against a function that was removed, although live code or data refers to it: nothing good can come of that.
    Dangling(FunctionId),
}

/// The size of an address in data.
const POINTER_SIZE: u64 = 8;

impl Planned<'_, '_> {
    /// Decides about the relocations of a section.
    fn section(&self, section: &OutputSection<'_>, view: View, run: &mut OutcomeRun) -> Result<(), Fault> {
        let has_relocations = section.relocations.explicit.is_some() || section.relocations.implicit.is_some();
        let is_separate_debug = || view == View::Machine && section.kind.is_debug();
        if !has_relocations || section.is_discarded || is_separate_debug() {
            return Ok(());
        }
        let is_listed = |piece: &Piece| !piece.is_replaced || piece.is_equal || view == View::Mercury;
        // Where equal constants are left out, relocations are placed as if they were there.
        let is_placed_otherwise = self.options.knows_used_kernels() && self.options.imitates(Imitation::OverlappingConstants);
        for mut piece in section.pieces.newest_first().with_replaced().filter(is_listed) {
            let mut room = u64::MAX;
            if is_placed_otherwise
                && piece.origin.is_none()
                && let Some(at) = self.plan.at(piece.section)
            {
                if piece.is_equal || piece.offset != at.offset {
                    room = section.size;
                }
                piece.offset = at.offset;
            }
            let Some(source) = self.inputs.in_view(piece.section, view) else { continue };
            let is_list = |id: &InputSectionId| matches!(self.inputs.sections()[*id].role, Role::Relocations { .. });
            let mut lists = self.inputs.attached(source).filter(is_list);
            // The newest first; there is hardly ever more than one.
            let oldest = lists.next();
            let newer: Vec<InputSectionId> = lists.collect();
            let kept_before = run.kept.len();
            for list in newer.into_iter().rev().chain(oldest) {
                self.list((section, piece, room), list, view, run)?;
            }
            let kept = &mut run.kept[kept_before..];
            if piece.origin.is_some() && kept.len() > 1 && self.moves_by_table(section, piece) {
                self.sort_by_tables(kept, piece);
            }
        }
        Ok(())
    }

    /// Decides about the relocations that an object has in one list for a piece of a section, as far as there is room for them.
    fn list(
        &self,
        (section, piece, room): (&OutputSection<'_>, Piece, u64),
        list: InputSectionId,
        view: View,
        run: &mut OutcomeRun,
    ) -> Result<(), Fault> {
        let Role::Relocations { explicit_addends } = self.inputs.sections()[list].role else { return Ok(()) };
        // Not recorded for debug information of the Mercury view: the driver reads that of the machine view only.
        let is_debug = section.kind.is_debug();
        let records = self.options.preserve_relocations && !(is_debug && view == View::Mercury);
        let is_capsule = section.code_of().is_some() && view == View::Mercury;
        let file = self.inputs.file_of_section(piece.section);
        let mut capsule = None;
        let end = self.plan.taken(piece.section).filter(|_| piece.is_replaced).unwrap_or(u64::MAX);
        let count = self.inputs.sections()[list].entries().len();
        run.kept.reserve(count);
        for (entry, index) in self.inputs.relocations(file, list).rev().zip((0..count).rev()) {
            let Some(symbol) = entry.symbol else { continue };
            if entry.offset >= end
                || self.resolution.ignores(self.inputs, piece.section, entry.offset, symbol)
                || self.resolution.forgets(self.inputs, piece.section, symbol)
            {
                continue;
            }
            let Some(offset) = section.kind.offset_of(self.unified, piece, entry.offset, view) else { continue };
            // The reference linker ends with an internal error where equal constants are left out at the end.
            if offset.saturating_add(POINTER_SIZE) > room {
                continue;
            }
            let entry = InputRelocation { offset, ..entry };
            let (patch, kept) = match self.decide(&Reference { section, is_debug, file, symbol, entry, explicit_addends }) {
                Decision::Drop => continue,
                Decision::Keep(kept) => {
                    run.kept.push(kept);
                    continue;
                }
                // There is nothing left to apply it to.
                _ if piece.is_replaced && !piece.is_equal => continue,
                Decision::Dangling(function) => return Err(Fault::Dangling { section: piece.section, function }),
                Decision::ApplyUnrecorded(patch) => (patch, None),
                Decision::Apply(patch, kept) => (patch, Some(kept)),
            };
            if is_capsule {
                let capsule = capsule.get_or_insert_with(|| CapsuleFields::of(self.inputs, file, piece.section, list));
                let capsule = capsule.as_ref().map_err(|error| Fault::Damage { section: piece.section, error: error.clone() })?;
                let offset = capsule.offset(index, patch.offset);
                run.patches.extend(offset.map(|offset| Patch { offset, add: false, ..patch }));
            } else {
                run.patches.push(patch);
            }
            run.resolved.extend(kept.filter(|_| records));
        }
        Ok(())
    }

    /// Whether constants were moved to a kernel table by table. The tables are those of the prevailing definition of the function, so that
    /// those of a discarded definition, or of one that was replaced by a definition without tables, are moved as they are.
    fn moves_by_table(&self, section: &OutputSection<'_>, piece: Piece) -> bool {
        let fate = |piece: Piece| {
            let code = self.inputs.sections()[piece.section].target;
            code.map(|code| self.resolution.code_fate(self.inputs, code))
        };
        let is_counted = |other: Piece| other.origin == piece.origin && fate(other) == Some(Fate::Taken);
        fate(piece) != Some(Fate::Discarded) && (!piece.is_replaced || section.pieces.iter().any(is_counted))
    }

    /// Sorts the relocations of constants that moved to a kernel: they were moved table by table, the newest first.
    fn sort_by_tables(&self, kept: &mut [Kept], piece: Piece) {
        let file = self.inputs.file_of_section(piece.section);
        let symbols = self.inputs.files()[file].symbols.iter().map(|symbol| &self.inputs.symbols()[symbol]);
        let tables = symbols.filter(|row| row.place() == Place::Section(piece.section) && row.kind != SymbolKind::SECTION);
        let mut starts: Vec<u64> = tables.map(|row| piece.offset + row.value).collect();
        starts.sort_unstable();
        kept.sort_by_key(|entry| Reverse(starts.partition_point(|&start| start <= entry.offset)));
    }
}
