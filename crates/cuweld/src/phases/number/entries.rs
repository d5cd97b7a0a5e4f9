//! The entries of the symbol table.
//!
//! Global symbols are in the order of their ids. They are stored as runs of ids, so that a loop over all of them reads consecutive rows of other
//! tables.

use crate::id::{IdRange, SymbolId};
use crate::phases::merge::Local;
use std::ops::Range;

/// Entries one after the other.
#[derive(Copy, Clone, Debug)]
pub enum Entries<'table> {
    /// Of any kind.
    Mixed(&'table [Local]),
    /// Symbols.
    Symbols(IdRange<SymbolId>),
}

impl<'table> Entries<'table> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Entries::Mixed(entries) => entries.len(),
            Entries::Symbols(symbols) => symbols.len(),
        }
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Local> + use<'table> {
        let (mixed, symbols) = match self {
            Entries::Mixed(entries) => (entries, None),
            Entries::Symbols(symbols) => (&[][..], Some(symbols)),
        };
        mixed.iter().copied().chain(symbols.into_iter().flat_map(|symbols| symbols.iter().map(Local::Symbol)))
    }

    /// Those at these places.
    fn part(self, places: Range<usize>) -> Self {
        match self {
            Entries::Mixed(entries) => Entries::Mixed(&entries[places]),
            Entries::Symbols(symbols) => Entries::Symbols(symbols.split_at(places.end).0.split_at(places.start).1),
        }
    }
}

/// The table, without its null entry.
#[derive(Debug, Default)]
pub(super) struct Table {
    mixed: Vec<Local>,
    groups: Vec<Group>,
    len: usize,
}

/// Some of the entries, and where in the table they start.
#[derive(Debug)]
struct Group {
    start: usize,
    members: Members,
}

#[derive(Debug)]
enum Members {
    Mixed(Range<usize>),
    Symbols(IdRange<SymbolId>),
}

impl Table {
    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, entry: Local) {
        let place = self.mixed.len();
        self.mixed.push(entry);
        match self.groups.last_mut() {
            Some(Group { members: Members::Mixed(places), .. }) => places.end = place + 1,
            _ => self.groups.push(Group { start: self.len, members: Members::Mixed(place..place + 1) }),
        }
        self.len += 1;
    }

    /// Adds symbols.
    pub(super) fn extend(&mut self, symbols: IdRange<SymbolId>) {
        self.groups.push(Group { start: self.len, members: Members::Symbols(symbols) });
        self.len += symbols.len();
    }

    /// The entries at these places.
    pub(super) fn part(&self, places: Range<usize>) -> impl Iterator<Item = Entries<'_>> {
        let first = self.groups.partition_point(|group| group.start <= places.start).saturating_sub(1);
        let groups = self.groups[first..].iter().take_while(move |group| group.start < places.end);
        groups.map(move |group| {
            let entries = match &group.members {
                Members::Mixed(places) => Entries::Mixed(&self.mixed[places.clone()]),
                Members::Symbols(symbols) => Entries::Symbols(*symbols),
            };
            let start = places.start.saturating_sub(group.start).min(entries.len());
            entries.part(start..(places.end - group.start).min(entries.len()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Id, SectionId};

    #[test]
    fn a_part_is_where_it_is() {
        let symbol = SymbolId::from_index;
        let mut table = Table::default();
        table.push(Local::Section(SectionId::from_index(0)));
        table.push(Local::Symbol(symbol(7)));
        table.extend(IdRange::new(symbol(10), symbol(14)));
        table.extend(IdRange::new(symbol(20), symbol(21)));
        table.push(Local::Symbol(symbol(3)));
        let part = |places: Range<usize>| -> Vec<usize> {
            let number = |entry| if let Local::Symbol(id) = entry { id.index() } else { 0 };
            table.part(places).flat_map(Entries::iter).map(number).collect()
        };
        let all = [0, 7, 10, 11, 12, 13, 20, 3];
        assert_eq!(table.len(), all.len());
        for start in 0..=all.len() {
            for end in start..=all.len() {
                assert_eq!(part(start..end), all[start..end]);
            }
        }
    }
}
