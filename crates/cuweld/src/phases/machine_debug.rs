//! Machine debug: the machine's side of the debug information, where a file has two views.
//!
//! In the view that is linked, debug information is appended piece by piece, like everything else, and speaks of functions
//! that are gone as well. The machine's side is put together anew: what it says of functions that are gone is left out. Which parts
//! of it speak of which function is known from the relocations, which name the function whose address they want.
//!
//! * Frames: of each object, the descriptions of functions that stay, each behind the common part it refers to.
//! * Line tables: of each object, the header, then the sequences of functions that stay, in the order of their symbols.
//! * Live ranges of registers: those of functions that are gone become empty.
//! * All else is appended.

use super::live::LiveSet;
use super::load::{InputRelocation, Inputs, Place, Role};
use super::merge::{Content, OutputSection};
use super::number::Numbering;
use super::relocate::{self, Decision, Kept};
use super::resolve::{Fate, Resolution};
use crate::id::{FileId, FunctionId, IdMap, InputSectionId, InputSymbolId, SectionId};
use crate::stubs;
use cubin::relocation::{self, Mode};
use cubin::symbol::SymbolKind;
use cubin::target::Views;
use std::collections::HashMap;

/// The machine's side of every section of debug information.
#[derive(Debug)]
pub struct MachineDebug {
    sections: IdMap<SectionId, Contents>,
}

/// The machine's side of one section.
#[derive(Debug, Default)]
pub struct Contents {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its relocations, in file order.
    pub kept: Vec<Kept>,
    /// Whether it speaks of no function, and so is the same in both views.
    pub is_shared: bool,
}

impl MachineDebug {
    /// The machine's side of a section; none, if the section is no debug information, or if there is but one view.
    pub fn of(&self, section: SectionId) -> Option<&Contents> {
        self.sections.get(&section)
    }
}

/// The facts that debug information is put together from.
pub struct Facts<'facts, 'data> {
    /// What decides about relocations.
    pub relocate: &'facts relocate::Facts<'facts, 'data>,
    /// The numbers of symbols.
    pub numbering: &'facts Numbering,
}

/// Puts together the machine's side of all debug information.
pub fn build(facts: &Facts<'_, '_>) -> MachineDebug {
    let plan = facts.relocate.plan;
    let mut sections = IdMap::default();
    if facts.relocate.options.target.views == Views::One {
        return MachineDebug { sections };
    }
    let debug = || plan.sections().enumerate().filter(|(_, section)| section.content == Content::Debug);
    let drafts: IdMap<SectionId, Draft> = debug().map(|(id, section)| (id, facts.draft(section))).collect();
    let bases: IdMap<InputSectionId, u64> =
        drafts.values().flat_map(|draft| draft.pieces.iter().map(|piece| (piece.linked, piece.base))).collect();
    for (id, section) in debug() {
        if let Some(draft) = drafts.get(&id) {
            sections.insert(id, facts.relocated(section, draft, &bases));
        }
    }
    MachineDebug { sections }
}

/// A section whose parts are in place, but not relocated.
struct Draft {
    bytes: Vec<u8>,
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
    /// Where relocated parts of it went that are not simply behind its start.
    moved: Moved,
}

/// Where relocated parts of a piece went, by their offsets.
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

/// How a section of debug information is put together.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Form {
    Frames,
    Lines,
    Registers,
    Appended,
}

/// The sections that are not simply appended.
const FORMS: [(&str, Form); 4] = [
    (".debug_frame", Form::Frames),
    (".debug_line", Form::Lines),
    (".nv_debug_line_sass", Form::Lines),
    (".nv_debug_info_reg_sass", Form::Registers),
];

fn form(section: &OutputSection<'_>) -> Form {
    FORMS.iter().find(|(name, _)| *name == section.name.stem).map_or(Form::Appended, |&(_, form)| form)
}

impl Facts<'_, '_> {
    fn inputs(&self) -> &Inputs<'_> {
        self.relocate.inputs
    }

    fn draft(&self, section: &OutputSection<'_>) -> Draft {
        let mut draft = Draft { bytes: Vec::new(), pieces: Vec::new() };
        for piece in section.pieces.iter() {
            let linked = piece.section;
            let Some(machine) = self.inputs().sections()[linked].machine else { continue };
            let file = self.inputs().file_of_section(linked);
            let base = draft.bytes.len() as u64;
            let data = self.inputs().sections()[machine].data;
            let mut moved = Moved::default();
            match form(section) {
                Form::Frames => self.frames(data, &self.functions(file, machine), &mut draft.bytes, &mut moved),
                Form::Lines => {
                    self.lines(data, &self.functions(file, machine), &mut draft.bytes, &mut moved);
                    self.line_headers(file, linked, &mut draft.bytes[base as usize..]);
                }
                Form::Registers => self.registers(file, data, &mut draft.bytes),
                Form::Appended => draft.bytes.extend_from_slice(data),
            }
            moved.0.sort_unstable();
            draft.pieces.push(DraftPiece { linked, machine, base, moved });
        }
        draft
    }

    fn relocations(&self, file: FileId, section: InputSectionId) -> Vec<InputRelocation> {
        let inputs = self.inputs();
        let lists = inputs.attached(section).filter(|&id| matches!(inputs.sections()[id].role, Role::Relocations { .. }));
        lists.flat_map(|list| inputs.relocations(file, list)).collect()
    }

    /// The functions that a section's relocations name, by offset: those that stay, with the numbers of their symbols.
    fn functions(&self, file: FileId, section: InputSectionId) -> Functions {
        let (inputs, resolution) = (self.inputs(), self.relocate.resolution);
        let mut functions = Functions::default();
        for entry in self.relocations(file, section) {
            let Some(symbol) = entry.symbol.filter(|&symbol| inputs.symbols()[symbol].is_function()) else { continue };
            // Two relocations may name one place: one for the address, one to clear what stands behind it.
            let function = self.kept_function(symbol, file);
            let number = function.map(|function| self.numbering.symbol(resolution.functions()[function].symbol));
            functions.by_offset.push((entry.offset, number));
            let slot = function.and_then(|function| self.relocate.unified.slot(function));
            functions.slots.extend(slot.map(|slot| (entry.offset, slot)));
        }
        functions.by_offset.sort_unstable();
        functions
    }

    /// The function that debug information of `file` speaks of, if it speaks of the copy that stays.
    fn kept_function(&self, symbol: InputSymbolId, file: FileId) -> Option<FunctionId> {
        let (resolution, live): (&Resolution<'_>, &LiveSet) = (self.relocate.resolution, self.relocate.live);
        let function = resolution.function(symbol)?;
        let is_copy = matches!(resolution.fate(symbol), Fate::Lost | Fate::Replaced)
            || resolution.debug_reference_was_dropped(function, file);
        (!is_copy && live.contains(function)).then_some(function)
    }

    /// Frames: a common part (CIE), then the descriptions (FDE) that refer to it. Each starts with a 64-bit length.
    fn frames(&self, data: &[u8], functions: &Functions, out: &mut Vec<u8>, moved: &mut Moved) {
        let mut at = 0;
        let mut common: &[u8] = &[];
        let mut common_at = None;
        while let Some(length) = word64(data, at + 4) {
            let end = usize::try_from(length).ok().and_then(|length| at.checked_add(FRAME_LENGTH_END)?.checked_add(length));
            let Some(record) = end.and_then(|end| data.get(at..end)) else { break };
            let address = (at + FRAME_ADDRESS) as u64;
            if word64(data, at + FRAME_LENGTH_END) == Some(u64::MAX) {
                (common, common_at) = (record, None);
            } else if functions.stays(address) {
                let start = *common_at.get_or_insert_with(|| {
                    out.extend_from_slice(common);
                    out.len() - common.len()
                });
                moved.insert(address, (out.len() + FRAME_ADDRESS) as u64);
                let place = out.len() + FRAME_LENGTH_END;
                out.extend_from_slice(record);
                if let Some(field) = out.get_mut(place..place + 8) {
                    field.copy_from_slice(&(start as u64).to_le_bytes());
                }
                if let Some(&slot) = functions.slots.get(&address) {
                    let count = self.relocate.unified.stubs().len();
                    stubs::frame(slot, count, start + FRAME_CODE_ALIGN, place - FRAME_LENGTH_END + FRAME_SIZE, out);
                }
            }
            at += record.len();
        }
    }

    /// Line tables: a header, then sequences, each of which starts by setting the address of a function.
    fn lines(&self, data: &[u8], functions: &Functions, out: &mut Vec<u8>, moved: &mut Moved) {
        let mut at = 0;
        while let Some(unit) = word32(data, at).and_then(|length| data.get(at..at.checked_add(4)?.checked_add(length as usize)?))
        {
            let end = at + unit.len();
            let starts: Vec<(usize, Option<u32>)> = (functions.by_offset.iter())
                .map(|&(offset, number)| (offset as usize, number))
                .filter(|&(offset, _)| offset >= at + SEQUENCE_ADDRESS && offset < end)
                .map(|(offset, number)| (offset - SEQUENCE_ADDRESS, number))
                .collect();
            let start = out.len();
            out.extend_from_slice(&data[at..starts.first().map_or(end, |&(first, _)| first)]);
            let ends = starts.iter().skip(1).map(|&(next, _)| next).chain([end]);
            let mut sequences: Vec<(u32, usize, usize)> =
                starts.iter().zip(ends).filter_map(|(&(from, number), to)| Some((number?, from, to))).collect();
            sequences.sort_unstable();
            for (_, from, to) in sequences {
                moved.insert((from + SEQUENCE_ADDRESS) as u64, (out.len() + SEQUENCE_ADDRESS) as u64);
                out.extend_from_slice(&data[from..to]);
            }
            let length = (out.len() - start - 4) as u32;
            if let Some(field) = out.get_mut(start..start + 4) {
                field.copy_from_slice(&length.to_le_bytes());
            }
            at = end;
        }
    }

    /// Headers of line tables refer to strings. Only the linked view has the relocations for that, at the same places.
    fn line_headers(&self, file: FileId, linked: InputSectionId, out: &mut [u8]) {
        let inputs = self.inputs();
        for entry in self.relocations(file, linked) {
            let Some(row) = entry.symbol.map(|symbol| &inputs.symbols()[symbol]) else { continue };
            let (SymbolKind::SECTION, Place::Section(target)) = (row.kind, row.place) else { continue };
            let Some(place) = self.relocate.plan.placement(target) else { continue };
            let field = entry.kind.row().map(|row| row.field).unwrap_or_default();
            let value = entry.addend.wrapping_add_unsigned(place.offset).cast_unsigned();
            // A field that the machine's side has not got is left alone.
            _ = relocation::apply(field, out, entry.offset, value, 0, Mode::Replace);
        }
    }

    /// Live ranges: a function's name, a count, then as often: a word, a register's name, its number, and its range.
    fn registers(&self, file: FileId, data: &[u8], out: &mut Vec<u8>) {
        let inputs = self.inputs();
        let gone: HashMap<&str, bool> = (inputs.files()[file].symbols.iter())
            .filter(|&symbol| inputs.symbols()[symbol].is_function())
            .map(|symbol| (inputs.symbols()[symbol].name, self.kept_function(symbol, file).is_none()))
            .collect();
        let base = out.len();
        out.extend_from_slice(data);
        let text_end = |at: usize| Some(at + data.get(at..)?.iter().position(|&byte| byte == 0)? + 1);
        let mut at = 0;
        while let Some(end) = text_end(at) {
            let name = std::str::from_utf8(&data[at..end - 1]).unwrap_or_default();
            let is_gone = gone.get(name).copied().unwrap_or(false);
            let Some(count) = word32(data, end) else { break };
            at = end + 4;
            for _ in 0..count {
                let Some(range) = text_end(at + 4).map(|end| end + 4) else { return };
                if let (true, Some(field)) = (is_gone, out.get_mut(base + range..base + range + 8)) {
                    field.fill(0);
                }
                at = range + 8;
            }
        }
    }

    /// Goes through the relocations of a section as the linked view does, in the same order.
    fn relocated(&self, section: &OutputSection<'_>, draft: &Draft, bases: &IdMap<InputSectionId, u64>) -> Contents {
        let form = form(section);
        let speaks_of_functions = draft
            .pieces
            .iter()
            .any(|piece| self.inputs().attached(piece.machine).any(|list| self.inputs().sections()[list].size > 0));
        let is_shared = matches!(form, Form::Frames | Form::Lines) && !speaks_of_functions;
        let mut contents = Contents { bytes: draft.bytes.clone(), kept: Vec::new(), is_shared };
        for piece in draft.pieces.iter().rev() {
            let file = self.inputs().file_of_section(piece.linked);
            for entry in self.relocations(file, piece.machine).into_iter().rev() {
                let Some(symbol) = entry.symbol else { continue };
                if self.relocate.resolution.ignores(self.inputs(), piece.linked, entry.offset, symbol) {
                    continue;
                }
                let offset = piece.moved.get(entry.offset).unwrap_or(piece.base + entry.offset);
                let entry = InputRelocation { offset, ..entry };
                let row = &self.inputs().symbols()[symbol];
                let patch = match (row.kind, row.place) {
                    // The references of frames to their common part are made already.
                    (SymbolKind::SECTION, _) if form == Form::Frames => continue,
                    (SymbolKind::SECTION, Place::Section(target)) => {
                        let base = bases.get(&target).copied().unwrap_or(0);
                        Some((entry.kind, entry.addend.wrapping_add_unsigned(base).cast_unsigned()))
                    }
                    _ => match self.relocate.decide(section, file, symbol, entry, true) {
                        Decision::Keep(kept) => {
                            contents.kept.push(kept);
                            None
                        }
                        Decision::Apply(patch, _) => Some((patch.kind, patch.value)),
                        Decision::ApplyUnrecorded(_) | Decision::Drop => None,
                    },
                };
                if let Some((kind, value)) = patch {
                    let field = kind.row().map(|row| row.field).unwrap_or_default();
                    // `load` has checked that the field is in its section; one that was left out with its function is gone.
                    _ = relocation::apply(field, &mut contents.bytes, offset, value, 0, Mode::Replace);
                }
            }
        }
        if form == Form::Lines {
            contents.kept.sort_by_key(|kept| kept.offset);
        }
        contents
    }
}

/// Behind the length of a frame's record.
const FRAME_LENGTH_END: usize = 12;
/// Where a frame's description has the address of its function.
const FRAME_ADDRESS: usize = 20;
/// Where it has the size of its function.
const FRAME_SIZE: usize = 28;
/// Where a frame's common part has the unit in which offsets in code are counted.
const FRAME_CODE_ALIGN: usize = 22;
/// Where a sequence of a line table has the address of its function.
const SEQUENCE_ADDRESS: usize = 3;

/// The functions that relocations name, by offset; the numbers of those that stay.
#[derive(Default)]
struct Functions {
    by_offset: Vec<(u64, Option<u32>)>,
    /// The slots of those that are stubs of unified functions.
    slots: HashMap<u64, u64>,
}

impl Functions {
    /// Whether the function whose address is wanted at an offset stays.
    fn stays(&self, offset: u64) -> bool {
        let index = self.by_offset.binary_search_by_key(&offset, |&(offset, _)| offset);
        index.is_ok_and(|index| self.by_offset[index].1.is_some())
    }
}

fn word32(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|&bytes| u32::from_le_bytes(bytes))
}

fn word64(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|&bytes| u64::from_le_bytes(bytes))
}
