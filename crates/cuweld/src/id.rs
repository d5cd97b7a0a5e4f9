//! Dense typed indices, and the vectors they index.
//!
//! Everything the linker talks about lives in a table and is named by its row number. A row number is a `u32` wrapped in
//! a type of its own, so that a symbol's number can not be used to look up a section. It is kept plus one: zero is free
//! for "none", and an optional number takes no more room than a number.

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut, Range};

/// A row number of one table.
pub trait Id: Copy {
    /// The row number as an index.
    fn index(self) -> usize;
    /// The row with this index.
    fn from_index(index: usize) -> Self;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
        pub struct $name(NonZeroU32);

        impl Id for $name {
            fn index(self) -> usize { self.0.get() as usize - 1 }
            fn from_index(index: usize) -> Self {
                // Tables are built from inputs whose sizes `load` has checked against u32.
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                $name(number.expect("a table outgrew its 32-bit row numbers"))
            }
        }
    )* };
}

ids! {
    /// An input object, in link order.
    FileId;
    /// A section of an input object; the sections of all objects share one numbering, in link order.
    InputSectionId;
    /// A symbol of an input object; likewise one numbering over all objects.
    InputSymbolId;
    /// A symbol of the link: what one name (or one local symbol) means after resolution. In order of first mention.
    SymbolId;
    /// A function, defined or not. Its number is the function's ordinal in the call graph, in order of first mention.
    FunctionId;
    /// A prototype string, in order of first use.
    PrototypeId;
    /// A section of the output, in order of creation.
    SectionId;
}

/// A table of few rows. (Ids need no protection against chosen collisions: they are consecutive. Names do, so
/// that their hashes are others in every run.)
pub type IdMap<I, T> = std::collections::HashMap<I, T, foldhash::fast::FixedState>;

/// Some rows of a table.
pub type IdSet<I> = std::collections::HashSet<I, foldhash::fast::FixedState>;

/// A vector indexed by one kind of id.
#[derive(Clone, Debug)]
pub struct IdVec<I, T> {
    rows: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Self::from(Vec::new())
    }

    /// An empty table with room for this many rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self::from(Vec::with_capacity(rows))
    }

    /// A table of `rows` equal values: the usual start of a side table.
    pub fn filled(value: T, rows: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![value; rows])
    }

    /// Appends a row and returns its number.
    pub fn push(&mut self, row: T) -> I {
        let id = self.next_id();
        self.rows.push(row);
        id
    }

    /// The number that the next row will get.
    pub fn next_id(&self) -> I {
        I::from_index(self.rows.len())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// The rows in order, with their numbers.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.rows.iter().enumerate().map(|(index, row)| (I::from_index(index), row))
    }

    /// All row numbers.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.rows.len()).map(I::from_index)
    }

    /// Some consecutive rows in order, with their numbers.
    pub fn range(&self, ids: IdRange<I>) -> impl Iterator<Item = (I, &T)> {
        ids.iter().zip(self.slice(ids))
    }

    /// Some consecutive rows.
    pub fn slice(&self, ids: IdRange<I>) -> &[T] {
        &self.rows[ids.rows()]
    }

    /// Some consecutive rows, to be changed.
    pub fn slice_mut(&mut self, ids: IdRange<I>) -> &mut [T] {
        &mut self.rows[ids.rows()]
    }

    /// The rows of several runs, to be changed. Each run must start after the one before.
    pub fn split_mut(&mut self, runs: impl Iterator<Item = IdRange<I>>) -> impl Iterator<Item = &mut [T]> {
        let (mut rest, mut start) = (&mut self.rows[..], 0);
        let mut take = move |count: usize| rest.split_off_mut(..count).unwrap_or_default();
        runs.map(move |ids| {
            let rows = ids.rows();
            take(rows.start - start);
            start = rows.end;
            take(rows.len())
        })
    }

    /// The values, in order, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut()
    }

    /// The rows as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }
}

impl<I: Id, T> Extend<T> for IdVec<I, T> {
    fn extend<Rows: IntoIterator<Item = T>>(&mut self, rows: Rows) {
        self.rows.extend(rows);
    }
}

impl<I: Id, T> From<Vec<T>> for IdVec<I, T> {
    fn from(rows: Vec<T>) -> Self {
        IdVec { rows, id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

/// A run of consecutive ids.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct IdRange<I> {
    first: I,
    count: u32,
}

impl<I: Id> IdRange<I> {
    /// The ids from `first` up to but not including `end`.
    pub fn new(first: I, end: I) -> Self {
        IdRange { first, count: (end.index() - first.index()) as u32 }
    }

    /// The ids in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I> {
        self.rows().map(I::from_index)
    }

    /// The same as indices.
    fn rows(self) -> Range<usize> {
        let first = self.first.index();
        first..first + self.count as usize
    }

    /// How many ids there are.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// The run of one id.
    pub fn of(id: I) -> Self {
        IdRange { first: id, count: 1 }
    }

    /// Takes the id into the run, if it is the one after it.
    pub fn takes(&mut self, id: I) -> bool {
        let is_next = self.first.index() + self.count as usize == id.index();
        self.count += u32::from(is_next);
        is_next
    }

    /// The first `count` ids, and the others.
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let middle = I::from_index(self.first.index() + count.min(self.count as usize));
        (IdRange::new(self.first, middle), IdRange::new(middle, self.end()))
    }

    /// The id at a place in the run.
    pub fn get(self, place: u32) -> Option<I> {
        (place < self.count).then(|| I::from_index(self.first.index() + place as usize))
    }

    /// The id after the last one of the run.
    pub fn end(self) -> I {
        I::from_index(self.first.index() + self.count as usize)
    }

    /// The first id of the run, which is also the id that follows an empty run's predecessor.
    pub fn first(self) -> I {
        self.first
    }
}

/// Lists of varying length, one per row, in one allocation ("compressed sparse rows").
#[derive(Clone, Debug)]
pub struct Lists<I, T> {
    starts: Vec<u32>,
    items: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T: Copy> Lists<I, T> {
    /// Gathers `(row, item)` pairs into one list per row; items of a row keep the order of the pairs.
    pub fn gather(rows: usize, pairs: &[(I, T)]) -> Self {
        let mut starts = vec![0u32; rows + 1];
        for (row, _) in pairs {
            starts[row.index() + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut items = Vec::with_capacity(pairs.len());
        if let Some(&(_, filler)) = pairs.first() {
            items.resize(pairs.len(), filler);
            let mut next = starts.clone();
            for &(row, item) in pairs {
                let slot = &mut next[row.index()];
                items[*slot as usize] = item;
                *slot += 1;
            }
        }
        Lists { starts, items, id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Lists<I, T> {
    type Output = [T];
    fn index(&self, row: I) -> &[T] {
        &self.items[self.starts[row.index()] as usize..self.starts[row.index() + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_by_the_next_id_only() {
        let id = SymbolId::from_index;
        let mut run = IdRange::of(id(4));
        assert!(run.takes(id(5)) && !run.takes(id(5)) && !run.takes(id(7)) && run.takes(id(6)));
        assert_eq!(run, IdRange::new(id(4), id(7)));
        assert_eq!(run.split_at(1), (IdRange::of(id(4)), IdRange::new(id(5), id(7))));
        assert_eq!(run.split_at(9), (run, IdRange::new(id(7), id(7))));
    }

    #[test]
    fn the_rows_of_runs_are_taken_apart() {
        let id = SymbolId::from_index;
        let mut rows: IdVec<SymbolId, u8> = vec![0; 6].into();
        let runs = [IdRange::of(id(1)), IdRange::new(id(3), id(5))];
        for (rows, number) in rows.split_mut(runs.into_iter()).zip(1..) {
            rows.fill(number);
        }
        assert_eq!(rows.as_slice(), [0, 1, 0, 2, 2, 0]);
    }
}
