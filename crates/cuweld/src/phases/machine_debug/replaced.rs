//! Definitions of functions that do not prevail.
//!
//! Each object describes its own definition of a function, whichever prevails. Its descriptions in appended sections are in the output anyway,
//! and their relocations then refer to the prevailing definition. Offsets in other machine code are meaningless for that one.
//!
//! The reference linker builds the machine view from the linked view: it takes each offset as one in the Mercury code of the prevailing
//! definition, and maps it to an offset in the machine code. So a function that is shorter there than in its own object ends where it ends,
//! which is right, but one that is longer ends too early, and live ranges of registers are those of other code, or stale memory where no
//! instruction starts at the offset. A live range ends at the machine instruction that a Mercury instruction stands for. For each name, it has
//! the live ranges of the first object that has any, and empty ones for all others, even for another function of the same name that is local
//! to its object. Whichever function of a name an object describes, it takes the offsets as those in the first one by the order of symbols.
//! With `--compat`, this is imitated, except for the stale memory.

use super::{Facts, word32};
use crate::id::{FileId, FunctionId, Id, InputSectionId, InputSymbolId};
use crate::imitations::Imitation;
use crate::phases::resolve::Fate;
use crate::views::View;
use cubin::capsule::Capsule;
use cubin::mercury::Places;
use cubin::release::{Release, Rule};
use std::cell::LazyCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

impl<'data> Facts<'_, 'data> {
    /// The function that a symbol defines, if it is live and another definition prevails.
    fn defined_otherwise(&self, symbol: InputSymbolId) -> Option<FunctionId> {
        let resolution = self.planned.resolution;
        let is_not_prevailing = matches!(resolution.fate(symbol), Fate::Replaced | Fate::Discarded);
        resolution.function(symbol).filter(|&function| is_not_prevailing && self.planned.live.contains(function))
    }

    /// The prevailing code of a function, in both views.
    pub(super) fn code(&self, function: FunctionId) -> Option<(InputSectionId, InputSectionId)> {
        let linked = self.planned.resolution.code(self.inputs(), function)?;
        Some((linked, self.inputs().in_view(linked, View::Machine)?))
    }

    /// Where Mercury instructions of a function are in its machine code; where that is not known, nowhere.
    pub(super) fn places(&self, function: FunctionId) -> Places {
        let places = || {
            let (linked, machine) = self.code(function)?;
            let data = |section| self.inputs().sections()[section].data;
            Places::new(Capsule::new(data(linked)).ok()?, data(machine), self.mercury_size(function)?).ok()
        };
        places().unwrap_or_default()
    }

    /// The size of the prevailing Mercury code of a function.
    fn mercury_size(&self, function: FunctionId) -> Option<u64> {
        let resolution = self.planned.resolution;
        let definition = resolution.symbols()[resolution.functions()[function].symbol].definition?;
        Some(self.inputs().symbols()[definition].size)
    }

    /// What a relocation adds to the address of a function. If another object's definition prevails, what the linked view adds may be needed.
    pub(super) fn addend(&self, symbol: InputSymbolId, addend: i64, linked: impl FnOnce() -> Option<i64>) -> i64 {
        let place = || {
            let function = self.defined_otherwise(symbol).filter(|_| addend > 0)?;
            let size = self.inputs().sections()[self.code(function)?.1].size;
            if self.planned.options.imitates(Imitation::RangesOfReplacedDefinitions) {
                let place = linked()?.cast_unsigned();
                let is_end = place >= self.mercury_size(function)?;
                return Some(if is_end { size } else { self.places(function).machine_from(place).unwrap_or(0) });
            }
            let is_end = addend.cast_unsigned() >= self.inputs().machine_symbol(symbol).size;
            Some(if is_end { size } else { size.min(addend.cast_unsigned()) })
        };
        place().map_or(addend, u64::cast_signed)
    }

    /// The first function of each name, by the order of symbols; only what is imitated needs it.
    pub(super) fn first_of_names(&self) -> HashMap<&'data [u8], FunctionId> {
        if !self.planned.options.imitates(Imitation::RangesOfReplacedDefinitions) {
            return HashMap::new();
        }
        let resolution = self.planned.resolution;
        let number = |function: &FunctionId| self.numbering.symbol(resolution.functions()[*function].symbol);
        let only_debugged = self.inputs().release().has(Rule::LiveRangesOfDebuggedCode);
        let debugged = if only_debugged { self.debugged_files() } else { Vec::new() };
        let is_debugged = |function: FunctionId| {
            let definition = resolution.symbols()[resolution.functions()[function].symbol].definition;
            definition.is_some_and(|symbol| debugged[self.inputs().file_of_symbol(symbol).index()])
        };
        let is_found = |function: &FunctionId| !only_debugged || is_debugged(*function);
        let mut functions: Vec<FunctionId> = self.planned.live.functions().filter(is_found).collect();
        functions.sort_unstable_by_key(|function| Reverse(number(function)));
        functions.into_iter().map(|function| (resolution.name(function).as_bytes(), function)).collect()
    }

    /// Which objects have debug information.
    fn debugged_files(&self) -> Vec<bool> {
        let sections = self.inputs().sections();
        let is_it = |section: InputSectionId| sections[section].name == DEBUG_INFORMATION && sections[section].size > 0;
        self.inputs().files().iter().map(|file| file.sections.iter().any(is_it)).collect()
    }

    /// The live ranges of registers that an object brings, from the contents of its section in the linked view and in the machine's.
    /// Those of functions that are gone become empty.
    pub(super) fn registers(
        &self,
        file: FileId,
        (linked, machine): (&'data [u8], &'data [u8]),
        named: &HashMap<&[u8], FunctionId>,
        described: &mut HashSet<&'data [u8]>,
    ) -> Vec<u8> {
        let inputs = self.inputs();
        let functions: HashMap<&str, InputSymbolId> = (inputs.files()[file].symbols.iter())
            .filter(|&symbol| inputs.symbols()[symbol].is_function())
            .map(|symbol| (inputs.symbols()[symbol].name, symbol))
            .collect();
        // What was compiled before that rule starts later than what is compiled since.
        let since = |release: &Release| release.has(Rule::LiveRangesStartInTime);
        let compiled = inputs.files()[file].toolkit.map(Release::for_toolkit);
        let starts_late = since(inputs.release()) && !compiled.is_some_and(since);
        // Of several descriptions of a name, the first.
        let linked: LazyCell<HashMap<&[u8], Ranges<'_>>, _> = LazyCell::new(|| live_ranges(linked).into_iter().rev().collect());
        let mut out = machine.to_vec();
        for (name, ranges) in live_ranges(machine) {
            let Some(&symbol) = std::str::from_utf8(name).ok().and_then(|name| functions.get(name)) else { continue };
            // The reference linker has room for one description of a name, and looks places up in the first function of that name.
            let is_first = described.insert(name);
            let imitates = self.planned.options.imitates(Imitation::RangesOfReplacedDefinitions);
            let is_current = self.subject(symbol, file).is_some_and(|subject| subject.is_current);
            let own = self.planned.resolution.function(symbol).filter(|_| is_current);
            let first = named.get(name).copied();
            let spans =
                if let Some(function) = own.filter(|_| (is_first && first.is_none_or(|first| Some(first) == own)) || !imitates) {
                    if !starts_late {
                        continue;
                    }
                    let keep = |span: &Span, [start, _]: [Option<u32>; 2]| [start.unwrap_or(span.bounds.start), span.bounds.end];
                    self.placed(&ranges, linked.get(name), function, keep)
                } else if let Some(function) = first.filter(|_| is_first) {
                    self.placed(&ranges, linked.get(name), function, |_, places| places.map(Option::unwrap_or_default))
                } else {
                    ranges.values().flatten().map(|span| (span.at, [0, 0])).collect()
                };
            for (at, bounds) in spans {
                if let Some(field) = out.get_mut(at..at + RANGE_SIZE) {
                    field.copy_from_slice(bounds.map(u32::to_le_bytes).as_flattened());
                }
            }
        }
        out
    }

    /// Live ranges of a function in the machine code of the prevailing definition, by their offsets in the section: what `settle` makes of
    /// a range of the machine's section, and of where its bounds in the linked view are in that code, as far as that is known.
    fn placed(
        &self,
        ranges: &Ranges<'_>,
        linked: Option<&Ranges<'_>>,
        function: FunctionId,
        settle: impl Fn(&Span, [Option<u32>; 2]) -> [u32; 2],
    ) -> Vec<(usize, [u32; 2])> {
        let places = self.places(function);
        let start = |place| match self.inputs().release().has(Rule::LiveRangesStartInTime) {
            true => places.machine_last(place),
            false => places.machine_until(place),
        };
        let bounds = |key, index| {
            let span: &Span = linked?.get(key)?.get(index)?;
            Some([start(span.bounds.start.into()), places.machine_main(span.bounds.end.into())])
        };
        let word = |place: u64| u32::try_from(place).ok();
        let spans = ranges.iter().flat_map(|(key, spans)| spans.iter().enumerate().map(move |span| (*key, span)));
        let settled = spans.map(|(key, (index, span))| {
            let known = bounds(key, index).unwrap_or_default();
            (span.at, settle(span, known.map(|place| place.and_then(word))))
        });
        settled.collect()
    }
}

/// The section that describes functions to a debugger.
const DEBUG_INFORMATION: &str = ".debug_info";

/// The size of a range: two words.
const RANGE_SIZE: usize = 8;

/// A range of offsets in code.
#[derive(Debug, PartialEq)]
struct Span {
    /// Where in the section it stands.
    at: usize,
    /// From where to where.
    bounds: Range<u32>,
}

/// The live ranges of a function, by what is live: its number, its name and its register.
type Ranges<'data> = BTreeMap<&'data [u8], Vec<Span>>;

/// Reads live ranges: a function's name, a count, then as often: a word, a register's name, its number, and its range. What is cut off
/// ends them.
fn live_ranges(data: &[u8]) -> Vec<(&[u8], Ranges<'_>)> {
    let text_end = |at: usize| Some(at + data.get(at..)?.iter().position(|&byte| byte == 0)? + 1);
    let (mut at, mut functions) = (0, Vec::new());
    while let Some(end) = text_end(at) {
        let Some(count) = word32(data, end) else { break };
        let name = &data[at..end - 1];
        let mut ranges = Ranges::new();
        at = end + 4;
        for _ in 0..count {
            let Some(range) = text_end(at.saturating_add(4)).map(|end| end + 4) else { return functions };
            let (Some(start), Some(end)) = (word32(data, range), word32(data, range + 4)) else { return functions };
            ranges.entry(&data[at..range]).or_default().push(Span { at: range, bounds: start..end });
            at = range + RANGE_SIZE;
        }
        functions.push((name, ranges));
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_ranges_are_read_up_to_damage() {
        let range = |start: u8| [&[0, 0, 0, 0][..], b"%a\0", &[5, 0, 0, 0, start, 0, 0, 0, 0x40, 0, 0, 0]].concat();
        let data = [b"f\0", &[2, 0, 0, 0][..], &range(0x10), &range(0x20), b"k\0", &[0; 4]].concat();
        let functions = live_ranges(&data);
        assert_eq!(functions.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [b"f", b"k"]);
        let spans: Vec<Vec<_>> =
            functions[0].1.values().map(|spans| spans.iter().map(|span| span.bounds.clone()).collect()).collect();
        assert_eq!(spans, [[0x10..0x40, 0x20..0x40]]);
        for end in 0..data.len() {
            assert!(live_ranges(&data[..end]).len() <= 2);
        }
    }
}
