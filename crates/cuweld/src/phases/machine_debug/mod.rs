//! Machine debug: the debug information of the machine view, in files with two views.
//!
//! In the linked view, debug information is appended piece by piece like all data, and still describes removed functions. The machine view's is
//! rebuilt without them. Relocations tell which part describes which function: they name the function whose address they need.
//!
//! * Frames: for each object, the FDEs of live functions (`frames`).
//! * Line tables: for each object, the header, then the sequences of live functions, in the order of their symbols (`lines`).
//! * Live ranges of registers: those of removed functions become empty (`replaced`).
//! * Everything else is appended.

mod frames;
mod lines;
mod replaced;

use super::live::LiveSet;
use super::load::{InputRelocation, Inputs, Place, Role};
use super::merge::OutputSection;
use super::number::Numbering;
use super::relocate::{Decision, Kept, Reference, Referent};
use super::resolve::{Fate, Resolution};
use super::stages::Planned;
use crate::id::{FileId, FunctionId, IdMap, InputSectionId, InputSymbolId, SectionId};
use crate::imitations::Imitation;
use cubin::release::Rule;
use cubin::relocation::{self, Bits, Mode, RelocationType};
use cubin::symbol::SymbolKind;
use cubin::target::Views;
use lines::Tables;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

/// The machine's side of every section of debug information.
#[derive(Debug)]
pub struct MachineDebug<'data> {
    sections: IdMap<SectionId, MachineContents<'data>>,
}

/// The machine's side of one section.
#[derive(Debug)]
pub struct MachineContents<'data> {
    parts: Parts<'data>,
    changes: Vec<Change>,
    /// Its relocations, in file order.
    pub kept: Vec<Kept>,
    /// Whether it describes no function, and so is the same in both views.
    pub is_shared: bool,
}

/// A value to write over the bytes of a section.
#[derive(Copy, Clone, Debug)]
struct Change {
    offset: u64,
    field: &'static [Bits],
    value: u64,
}

impl<'data> MachineDebug<'data> {
    /// The machine's side of a section; none, if the section is no debug information, or if there is but one view.
    pub fn of(&self, section: SectionId) -> Option<&MachineContents<'data>> {
        self.sections.get(&section)
    }
}

impl MachineContents<'_> {
    /// Its size.
    pub fn size(&self) -> u64 {
        self.parts.size
    }

    /// The bytes that it consists of, and where in it they stand, if nothing is written over them.
    pub fn unchanged(&self) -> Option<Vec<(u64, &[u8])>> {
        self.changes.is_empty().then(|| self.parts.iter().collect())
    }

    /// Writes it.
    pub fn write(&self, out: &mut [u8]) {
        for (start, bytes) in self.parts.iter() {
            out[start as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        for change in &self.changes {
            // `load` has checked that the field is in its section; one that was left out with its function is gone.
            _ = relocation::apply(change.field, out, change.offset, change.value, 0, Mode::Replace);
        }
    }
}

/// Bytes of objects, and such that were made, one after the other.
#[derive(Debug, Default)]
struct Parts<'data> {
    list: Vec<Cow<'data, [u8]>>,
    size: u64,
}

impl<'data> Parts<'data> {
    /// Appends bytes, and returns where they start.
    fn push(&mut self, bytes: impl Into<Cow<'data, [u8]>>) -> u64 {
        let (start, bytes) = (self.size, bytes.into());
        self.size += bytes.len() as u64;
        self.list.push(bytes);
        start
    }

    /// The bytes, and where they start.
    fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.list.iter().scan(0, |end, bytes| {
            let start = *end;
            *end += bytes.len() as u64;
            Some((start, &**bytes))
        })
    }
}

/// The facts that debug information is built from.
pub struct Facts<'facts, 'data> {
    /// What was planned.
    pub planned: &'facts Planned<'facts, 'data>,
    /// The numbers of symbols.
    pub numbering: &'facts Numbering,
}

/// Builds the machine's side of all debug information.
pub fn build<'data>(facts: &Facts<'_, 'data>) -> MachineDebug<'data> {
    if facts.planned.options.target.views == Views::One {
        return MachineDebug { sections: IdMap::default() };
    }
    let all = facts.planned.plan.sections().enumerate();
    let sections: Vec<_> = all.filter(|(_, section)| section.kind.is_debug()).collect();
    let drafts: Vec<Draft<'data>> = sections.par_iter().map(|(_, section)| facts.draft(section)).collect();
    let bases: IdMap<InputSectionId, u64> =
        drafts.iter().flat_map(|draft| draft.pieces.iter().map(|piece| (piece.linked, piece.base))).collect();
    let contents = |(&(id, section), draft): (&(SectionId, _), Draft<'data>)| (id, facts.relocated(section, draft, &bases));
    MachineDebug { sections: sections.par_iter().zip(drafts).map(contents).collect() }
}

/// A section whose parts are in place, but not relocated.
#[derive(Default)]
struct Draft<'data> {
    parts: Parts<'data>,
    changes: Vec<Change>,
    pieces: Vec<DraftPiece>,
}

/// What one object brought.
struct DraftPiece {
    /// The section of the object, as it is linked.
    linked: InputSectionId,
    /// Its machine's side.
    machine: InputSectionId,
    /// Where it starts.
    base: u64,
    /// Output offsets of relocated parts of it that are not simply after its start.
    moved: Moved,
}

/// Output offsets of relocated parts of a piece, by their input offsets.
#[derive(Default)]
struct Moved(Vec<(u64, u64)>);

impl Moved {
    fn insert(&mut self, from: u64, to: u64) {
        self.0.push((from, to));
    }

    fn get(&self, from: u64) -> Option<u64> {
        self.0.binary_search_by_key(&from, |&(from, _)| from).ok().map(|index| self.0[index].1)
    }
}

/// How a section of debug information is built.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum DebugSectionKind {
    Frames,
    Lines,
    Registers,
    Appended,
}

/// The section that tells where the lines of sources are in code.
const LINES: &str = ".debug_line";

/// The section with the types of registers, which belongs to no code.
const REGISTER_TYPES: &str = ".nv_debug_info_reg_type";

/// The sections that are not simply appended.
const SECTION_KINDS: [(&str, DebugSectionKind); 4] = [
    (".debug_frame", DebugSectionKind::Frames),
    (LINES, DebugSectionKind::Lines),
    (".nv_debug_line_sass", DebugSectionKind::Lines),
    (".nv_debug_info_reg_sass", DebugSectionKind::Registers),
];

fn kind_of(section: &OutputSection<'_>) -> DebugSectionKind {
    SECTION_KINDS.iter().find(|(name, _)| *name == section.name.stem).map_or(DebugSectionKind::Appended, |&(_, kind)| kind)
}

impl<'data> Facts<'_, 'data> {
    fn inputs(&self) -> &Inputs<'data> {
        self.planned.inputs
    }

    fn draft(&self, section: &OutputSection<'_>) -> Draft<'data> {
        let kind = kind_of(section);
        if kind == DebugSectionKind::Frames {
            return self.frames(section);
        }
        let mut draft = Draft::default();
        let mut described = HashSet::new();
        let named = if kind == DebugSectionKind::Registers { self.first_of_names() } else { HashMap::new() };
        for piece in section.pieces.iter() {
            let linked = piece.section;
            let Some(machine) = self.inputs().sections()[linked].machine else { continue };
            let file = self.inputs().file_of_section(linked);
            let data = self.inputs().sections()[machine].data;
            let mut moved = Moved::default();
            let bytes = match kind {
                DebugSectionKind::Lines => {
                    self.lines(&Tables { file, linked, machine, data }, draft.parts.size, &mut moved).into()
                }
                DebugSectionKind::Registers => {
                    self.registers(file, (self.inputs().sections()[linked].data, data), &named, &mut described).into()
                }
                DebugSectionKind::Frames | DebugSectionKind::Appended => Cow::Borrowed(data),
            };
            moved.0.sort_unstable();
            let base = draft.parts.push(bytes);
            draft.pieces.push(DraftPiece { linked, machine, base, moved });
        }
        draft
    }

    fn relocations(&self, file: FileId, section: InputSectionId) -> impl DoubleEndedIterator<Item = InputRelocation> {
        let inputs = self.inputs();
        let is_list = |id: &InputSectionId| matches!(inputs.sections()[*id].role, Role::Relocations { .. });
        // There is hardly ever more than one list.
        let lists: Vec<InputSectionId> = inputs.attached(section).filter(is_list).collect();
        lists.into_iter().flat_map(move |list| inputs.relocations(file, list))
    }

    /// The functions that a section's relocations name, by offset.
    fn functions(&self, file: FileId, section: InputSectionId) -> Vec<(u64, InputSymbolId)> {
        let is_function = |&symbol: &InputSymbolId| self.inputs().symbols()[symbol].is_function();
        let mut functions: Vec<_> = (self.relocations(file, section))
            .filter_map(|entry| Some((entry.offset, entry.symbol.filter(is_function)?)))
            .collect();
        functions.sort_by_key(|&(offset, _)| offset);
        functions
    }

    /// The function that debug information of `file` describes, if it is live and the relocation was not dropped with a definition of it.
    fn subject(&self, symbol: InputSymbolId, file: FileId) -> Option<Subject> {
        let (resolution, live): (&Resolution<'_>, &LiveSet) = (self.planned.resolution, self.planned.live);
        let function = resolution.function(symbol).filter(|&function| live.contains(function))?;
        let fate = resolution.fate(symbol);
        let is_known = fate != Fate::Discarded && !resolution.debug_reference_was_dropped(function, file);
        is_known.then_some(Subject { function, is_current: fate != Fate::Replaced })
    }

    /// The addends that the linked view has for addresses of functions, by offset.
    fn linked_addends(&self, file: FileId, linked: InputSectionId) -> HashMap<u64, i64> {
        self.relocations(file, linked).map(|entry| (entry.offset, entry.addend)).collect()
    }

    /// The section of a relocatable file whose offset only the next link knows. The reference linker treats lines alone like that.
    fn placed_later(&self, target: InputSectionId) -> Option<SectionId> {
        let options = self.planned.options;
        let is_lines = || self.inputs().sections()[target].name == LINES;
        let is_left = options.keeps_relocations() || (options.settles_early(Imitation::RelocatableSettles) && is_lines());
        self.planned.plan.at(target).filter(|_| is_left).map(|place| place.section)
    }

    /// Goes through the relocations of a section as the linked view does, in the same order.
    fn relocated(
        &self,
        section: &OutputSection<'_>,
        draft: Draft<'data>,
        bases: &IdMap<InputSectionId, u64>,
    ) -> MachineContents<'data> {
        let kind = kind_of(section);
        let speaks_of_functions = draft
            .pieces
            .iter()
            .any(|piece| self.inputs().attached(piece.machine).any(|list| self.inputs().sections()[list].size > 0));
        let is_empty = draft.pieces.iter().all(|piece| self.inputs().sections()[piece.linked].size == 0);
        let is_same_without_functions = match kind {
            DebugSectionKind::Frames => true,
            DebugSectionKind::Lines => !self.inputs().release().has(Rule::LineTablesEnd),
            _ if section.name.stem == REGISTER_TYPES => {
                let data = |id: InputSectionId| self.inputs().sections()[id].data;
                let is_same = draft.pieces.iter().all(|piece| data(piece.linked) == data(piece.machine));
                is_same && self.planned.live.functions().all(|id| self.code(id).is_none())
            }
            _ => false,
        };
        let is_shared = is_empty || (is_same_without_functions && !speaks_of_functions);
        let settled: Vec<Settled> = draft.pieces.par_iter().rev().map(|piece| self.settle(section, piece, bases)).collect();
        let kept = Vec::with_capacity(settled.iter().map(|piece| piece.kept.len()).sum());
        let mut contents = MachineContents { parts: draft.parts, changes: draft.changes, kept, is_shared };
        for piece in settled {
            contents.kept.extend(piece.kept);
            contents.changes.extend(piece.changes);
        }
        if kind == DebugSectionKind::Lines {
            contents.kept.sort_by_key(|kept| kept.offset);
        }
        contents
    }

    /// Decides about the relocations of a piece of a section.
    fn settle(&self, section: &OutputSection<'_>, piece: &DraftPiece, bases: &IdMap<InputSectionId, u64>) -> Settled {
        let is_taken_apart = matches!(kind_of(section), DebugSectionKind::Frames | DebugSectionKind::Lines);
        let file = self.inputs().file_of_section(piece.linked);
        let linked = LazyCell::new(|| self.linked_addends(file, piece.linked));
        let mut settled = Settled::default();
        for entry in self.relocations(file, piece.machine).rev() {
            let Some(symbol) = entry.symbol else { continue };
            let offset = match piece.moved.get(entry.offset) {
                Some(offset) => offset,
                // Debug information of removed functions and of discarded definitions is not emitted.
                None if is_taken_apart => continue,
                None => piece.base + entry.offset,
            };
            if self.planned.resolution.ignores(self.inputs(), piece.linked, entry.offset, symbol) {
                continue;
            }
            let place = entry.offset;
            let entry = InputRelocation { offset, ..entry };
            let row = &self.inputs().symbols()[symbol];
            match (row.kind, row.place()) {
                (SymbolKind::SECTION, Place::Section(target)) => {
                    let base = bases.get(&target).copied().unwrap_or(0);
                    let addend = entry.addend.wrapping_add_unsigned(base);
                    let InputRelocation { kind, .. } = entry;
                    match self.placed_later(target).map(Referent::Section) {
                        Some(referent) => settled.kept.push(Kept { offset, kind, referent, addend, explicit_addend: true }),
                        None => settled.change(offset, kind, addend.cast_unsigned()),
                    }
                }
                _ => {
                    match self.planned.decide(&Reference { section, is_debug: true, file, symbol, entry, explicit_addends: true })
                    {
                        Decision::Keep(mut kept) => {
                            kept.addend = self.addend(symbol, kept.addend, || linked.get(&place).copied());
                            settled.kept.push(kept);
                        }
                        Decision::Apply(patch, _) | Decision::ApplyUnrecorded(patch) => {
                            settled.change(offset, patch.kind, patch.value);
                        }
                        Decision::Drop | Decision::Dangling(_) => {}
                    }
                }
            }
        }
        settled
    }
}

/// The fate of the relocations of a piece of a section.
#[derive(Default)]
struct Settled {
    /// The relocations that are kept.
    kept: Vec<Kept>,
    /// What to write.
    changes: Vec<Change>,
}

impl Settled {
    /// Writes a value into the field of a relocation.
    fn change(&mut self, offset: u64, kind: RelocationType, value: u64) {
        let field = kind.row().map(|row| row.field).unwrap_or_default();
        self.changes.push(Change { offset, field, value });
    }
}

/// A function that debug information describes.
#[derive(Copy, Clone, Debug)]
struct Subject {
    function: FunctionId,
    /// Whether that is the prevailing definition, and not one that was replaced.
    is_current: bool,
}

fn word32(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|&bytes| u32::from_le_bytes(bytes))
}

fn word64(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|&bytes| u64::from_le_bytes(bytes))
}
