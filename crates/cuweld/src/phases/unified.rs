//! Unified: the slots of unified functions and the offsets of unified variables.
//!
//! Programs that are linked separately can call each other's functions and share variables if each has the same position in all of
//! them: a slot in a table of stubs that jump to the functions, an offset in a section of variables. An index file assigns these
//! positions, by identifiers that the compiler put into the objects (see [`cubin::unified`]). The link only matches the objects' entries with
//! the index, and moves stubs and variables to their positions.
//!
//! A relocatable link needs no index: stubs keep sections of their own, variables stay in the order of the objects.

use super::live::LiveSet;
use super::load::{Inputs, Place, Role, UnifiedEntry, UnifiedTable};
use super::resolve::{Part, Resolution};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::id::{FunctionId, IdMap, IdSet, InputSectionId, SymbolId};
use crate::options::{Options, UnifiedIndex};
use crate::stubs::TableForm;
use cubin::unified::{Entry, IndexRecord, STUB_SIZE, flags};
use std::collections::HashMap;
use std::ops::Range;

/// The slots of unified functions and variables.
#[derive(Debug, Default)]
pub struct Unified {
    functions: Vec<TableEntry>,
    variables: Vec<TableEntry>,
    /// The stubs in the order of their slots.
    stubs: Vec<FunctionId>,
    slots: IdMap<FunctionId, u64>,
    offsets: IdMap<SymbolId, u64>,
    moves: IdMap<InputSectionId, Vec<(Range<u64>, u64)>>,
    data_size: u64,
    form: TableForm,
}

/// An entry of one of the tables.
#[derive(Copy, Clone, Debug)]
struct TableEntry {
    symbol: SymbolId,
    first: u64,
    second: u64,
    offset: u64,
    is_listed: bool,
}

impl Unified {
    /// How the table of stubs is made where there are two views.
    pub fn form(&self) -> TableForm {
        self.form
    }

    /// Whether the program has unified functions.
    pub fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// The stubs in the order of their slots. None, in a relocatable link.
    pub fn stubs(&self) -> &[FunctionId] {
        &self.stubs
    }

    /// The offset of a stub in the table of stubs.
    pub fn slot(&self, stub: FunctionId) -> Option<u64> {
        self.slots.get(&stub).copied()
    }

    /// The size of the table of variables.
    pub fn data_size(&self) -> u64 {
        self.data_size
    }

    /// The offset of a variable in the table of variables.
    pub fn offset(&self, symbol: SymbolId) -> Option<u64> {
        self.offsets.get(&symbol).copied()
    }

    /// Which parts of an object's variables go where.
    pub fn moves(&self, section: InputSectionId) -> &[(Range<u64>, u64)] {
        self.moves.get(&section).map_or(&[], Vec::as_slice)
    }

    /// The output offset of an offset in an object's variables; none in a discarded definition of a variable.
    pub fn moved(&self, section: InputSectionId, offset: u64) -> Option<u64> {
        let (range, to) = self.moves(section).iter().find(|(range, _)| range.contains(&offset))?;
        Some(to + (offset - range.start))
    }

    /// How many entries a table has.
    pub fn len(&self, table: UnifiedTable) -> usize {
        self.rows(table).len()
    }

    /// The entries of a table in the form of the file; `number` gives the numbers of symbols.
    pub fn encode(&self, table: UnifiedTable, number: impl Fn(SymbolId) -> u32) -> Vec<u8> {
        let mut bytes = vec![0; self.len(table) * Entry::SIZE];
        for (row, out) in self.rows(table).iter().zip(bytes.chunks_exact_mut(Entry::SIZE)) {
            let flags = if row.is_listed { flags::LINKED } else { flags::LINKED | flags::NOT_IN_INDEX };
            let TableEntry { first, second, offset, .. } = *row;
            Entry { symbol: number(row.symbol), flags, offset, first, second }.write(out);
        }
        bytes
    }

    fn rows(&self, table: UnifiedTable) -> &[TableEntry] {
        match table {
            UnifiedTable::Functions => &self.functions,
            UnifiedTable::Variables => &self.variables,
        }
    }
}

/// The facts that slots and offsets follow from.
struct Facts<'facts, 'data> {
    inputs: &'facts Inputs<'data>,
    resolution: &'facts Resolution<'data>,
    live: &'facts LiveSet,
}

/// Finds the slots and offsets of unified functions and variables.
pub fn find(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    live: &LiveSet,
    options: &Options,
    report: &mut Report,
) -> Result<Unified, Failure> {
    let facts = Facts { inputs, resolution, live };
    let mut unified = facts.as_in_the_objects();
    if !options.places_unified() || (unified.functions.is_empty() && unified.variables.is_empty()) {
        return Ok(unified);
    }
    let Some(index) = &options.unified_index else { return report.fatal(Message::NoUnifiedIndex {}) };
    match facts.place(&mut unified, index) {
        Ok(()) => Ok(unified),
        Err(problem) => report.fatal(*problem),
    }
}

impl Facts<'_, '_> {
    /// The tables without an index: variables one object after the other.
    fn as_in_the_objects(&self) -> Unified {
        let mut unified = Unified { form: TableForm::of(self.inputs.release()), ..Unified::default() };
        let mut end = 0_u64;
        for object in self.inputs.files().iter().filter(|object| !object.unified.is_empty()) {
            let sections = || object.sections.iter().map(|id| &self.inputs.sections()[id]);
            let mut start = end;
            for section in sections().filter(|section| section.role == Role::UnifiedData) {
                start = end.next_multiple_of(section.align());
                end = start + section.size;
            }
            for entry in &object.unified {
                let UnifiedEntry { table, first, second, .. } = *entry;
                let Some(symbol) = self.resolution.meaning(entry.symbol) else { continue };
                let row = |offset: u64| TableEntry { symbol, first, second, offset, is_listed: true };
                match table {
                    UnifiedTable::Functions => unified.functions.push(row(0)),
                    UnifiedTable::Variables => unified.variables.push(row(start.saturating_add(entry.offset))),
                }
            }
        }
        unified
    }

    /// Puts everything where the index says.
    fn place(&self, unified: &mut Unified, index: &UnifiedIndex) -> Result<(), Box<Diagnostic>> {
        let header = index.index().header;
        let stubs = self.live.stubs();
        let room = stubs.len() as u64 * STUB_SIZE;
        if !unified.functions.is_empty() {
            check_window(FUNCTION_TABLE, header.function_window, room)?;
            look_up(&mut unified.functions, &index.index().functions)?;
        }
        if !unified.variables.is_empty() {
            look_up(&mut unified.variables, &index.index().variables)?;
        }
        self.place_stubs(unified, stubs)?;
        if !unified.variables.is_empty() {
            self.place_variables(unified)?;
            check_window(DATA_TABLE, header.data_window, unified.data_size)?;
        }
        Ok(())
    }

    fn place_stubs(&self, unified: &mut Unified, stubs: &[FunctionId]) -> Result<(), Box<Diagnostic>> {
        let mut by_slot: Vec<Option<FunctionId>> = vec![None; stubs.len()];
        let rows: IdMap<SymbolId, &TableEntry> = unified.functions.iter().map(|row| (row.symbol, row)).collect();
        let first_unified: IdSet<SymbolId> = self.first_unified().collect();
        // Of a name that was first mentioned as a global one, the reference linker finds no entry unless its first definition has one.
        let is_found =
            |symbol: SymbolId| self.resolution.symbols()[symbol].part == Part::Local || first_unified.contains(&symbol);
        for &stub in stubs {
            let row = self.target(stub).and_then(|symbol| rows.get(&symbol).copied());
            let Some(row) = row.filter(|row| is_found(row.symbol)) else {
                return Err(problem(Message::StubWithoutEntry {}));
            };
            let name = || self.resolution.symbols()[row.symbol].name(self.inputs).to_owned();
            let is_removed = |function: FunctionId| !self.live.contains(function);
            if self.resolution.symbols()[row.symbol].function.is_some_and(is_removed) {
                return Err(problem(Message::UnifiedFunctionRemoved {}));
            }
            if !row.is_listed {
                return Err(problem(Message::NotInUnifiedIndex { name: name() }));
            }
            // There are as many slots as stubs: one that gets no slot of its own has the place of another, or is outside of the table.
            let slot = usize::try_from(row.offset / STUB_SIZE).ok().and_then(|slot| by_slot.get_mut(slot));
            match slot.filter(|_| row.offset.is_multiple_of(STUB_SIZE)) {
                Some(slot @ None) => *slot = Some(stub),
                taken => {
                    let other = taken.and_then(|stub| *stub).and_then(|stub| self.target(stub));
                    let other = other.map_or_else(name, |symbol| self.resolution.symbols()[symbol].name(self.inputs).to_owned());
                    return Err(problem(Message::UnifiedOverlap { name: name(), other }));
                }
            }
            unified.slots.insert(stub, row.offset);
        }
        unified.stubs = by_slot.into_iter().flatten().collect();
        Ok(())
    }

    /// The function that a stub jumps to.
    fn target(&self, stub: FunctionId) -> Option<SymbolId> {
        let code = self.resolution.code(self.inputs, stub)?;
        let file = self.inputs.file_of_section(code);
        let lists = self.inputs.attached(code).filter(|&id| matches!(self.inputs.sections()[id].role, Role::Relocations { .. }));
        let mut symbols = lists.flat_map(|list| self.inputs.relocations(file, list)).filter_map(|entry| entry.symbol);
        symbols.find_map(|symbol| self.resolution.meaning(symbol))
    }

    /// The functions whose first definition is unified.
    fn first_unified(&self) -> impl Iterator<Item = SymbolId> + '_ {
        self.inputs.files().enumerate().flat_map(move |(file, object)| {
            let symbols = object.unified.iter().filter_map(|entry| self.resolution.meaning(entry.symbol));
            symbols.filter(move |&symbol| self.resolution.symbols()[symbol].named_after == file)
        })
    }

    fn place_variables(&self, unified: &mut Unified) -> Result<(), Box<Diagnostic>> {
        let mut taken: Vec<(Range<u64>, SymbolId)> = Vec::new();
        for row in unified.variables.iter().filter(|row| row.is_listed) {
            let symbol = &self.resolution.symbols()[row.symbol];
            let name = symbol.name(self.inputs).to_owned();
            let definition = symbol.definition.map(|definition| &self.inputs.symbols()[definition]);
            let home = definition.and_then(|definition| match definition.place() {
                Place::Section(section) if self.inputs.sections()[section].role == Role::UnifiedData => {
                    Some((definition, section))
                }
                _ => None,
            });
            let (Some((definition, section)), Some(end)) = (home, row.offset.checked_add(symbol.size)) else {
                return Err(problem(Message::UnifiedInPart { name }));
            };
            let from = definition.value..definition.value + definition.size;
            unified.moves.entry(section).or_default().push((from, row.offset));
            unified.offsets.insert(row.symbol, row.offset);
            unified.data_size = unified.data_size.max(end);
            taken.push((row.offset..end, row.symbol));
        }
        let name = |symbol: SymbolId| self.resolution.symbols()[symbol].name(self.inputs).to_owned();
        if let Some(row) = unified.variables.iter().find(|row| !unified.offsets.contains_key(&row.symbol)) {
            return Err(problem(Message::NotInUnifiedIndex { name: name(row.symbol) }));
        }
        taken.sort_by_key(|(range, _)| (range.start, range.end));
        match taken.windows(2).find(|pair| pair[0].0.end > pair[1].0.start) {
            Some(pair) => Err(problem(Message::UnifiedOverlap { name: name(pair[1].1), other: name(pair[0].1) })),
            None => Ok(()),
        }
    }
}

/// The tables, as messages call them.
const FUNCTION_TABLE: &str = "nv.uft";
const DATA_TABLE: &str = "nv.udt";

fn problem(message: Message) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(message))
}

fn check_window(table: &'static str, window: u64, room: u64) -> Result<(), Box<Diagnostic>> {
    if window == room {
        return Ok(());
    }
    let headline = format!("the index has {window} bytes for the table {table}, and {room} are needed");
    Err(Box::new(Diagnostic::new(Message::UnifiedWindow { table }).headline(headline)))
}

/// Gives the rows that the index lists the offsets that it gives. Of several rows with one identifier, the last gets it.
fn look_up(rows: &mut [TableEntry], listed: &[IndexRecord]) -> Result<(), Box<Diagnostic>> {
    rows.iter_mut().for_each(|row| row.is_listed = false);
    let by_identifier: HashMap<(u64, u64), usize> =
        rows.iter().enumerate().map(|(index, row)| ((row.first, row.second), index)).collect();
    for &IndexRecord { first, second, offset } in listed {
        let shown = format!("identifier {first:#018x} {second:#018x}");
        match by_identifier.get(&(first, second)).map(|&index| &mut rows[index]) {
            Some(row) if row.is_listed => {
                let headline = format!("the index lists {shown} twice");
                return Err(Box::new(Diagnostic::new(Message::UnifiedNameTwice {}).headline(headline)));
            }
            Some(row) => (row.offset, row.is_listed) = (offset, true),
            None => {
                // The reference linker's word for it depends on whether it finds something with the same hash.
                let has_equal_hash = rows.iter().any(|row| row.first ^ row.second == first ^ second);
                let what = if has_equal_hash { "matching uuid" } else { "uuid" };
                let headline = format!("the index lists {shown}, which no object has");
                return Err(Box::new(Diagnostic::new(Message::UnifiedNameMissing { what }).headline(headline)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn rows(identifiers: &[(u64, u64)]) -> Vec<TableEntry> {
        let row = |(index, &(first, second))| TableEntry {
            symbol: SymbolId::from_index(index),
            first,
            second,
            offset: 0,
            is_listed: true,
        };
        identifiers.iter().enumerate().map(row).collect()
    }

    #[test]
    fn the_last_of_equal_rows_gets_the_place() {
        let mut rows = rows(&[(1, 2), (3, 4), (1, 2)]);
        assert!(look_up(&mut rows, &[IndexRecord { first: 1, second: 2, offset: 128 }]).is_ok());
        assert_eq!(rows.iter().map(|row| (row.offset, row.is_listed)).collect::<Vec<_>>(), [(0, false), (0, false), (128, true)]);
    }

    #[test]
    fn what_does_not_match_is_refused() {
        let record = |first, second| IndexRecord { first, second, offset: 0 };
        for (listed, expected) in [
            (vec![record(5, 6)], Message::UnifiedNameMissing { what: "matching uuid" }),
            (vec![record(5, 5)], Message::UnifiedNameMissing { what: "uuid" }),
            (vec![record(1, 2), record(1, 2)], Message::UnifiedNameTwice {}),
        ] {
            let found = look_up(&mut rows(&[(1, 2)]), &listed).map_err(|diagnostic| diagnostic.message);
            assert_eq!(found, Err(expected));
        }
    }
}
