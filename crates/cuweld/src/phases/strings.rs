//! String tables: every name once, in the order of first use.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;
use std::hash::{BuildHasher, Hasher};

/// A string table under construction.
pub struct StringTableBuilder {
    bytes: Vec<u8>,
    known: HashTable<u32>,
    hasher: RandomState,
}

impl StringTableBuilder {
    /// A table that holds the empty name, as every table does.
    pub fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut table = Vec::with_capacity(bytes);
        table.push(0);
        StringTableBuilder { bytes: table, known: HashTable::with_capacity(names), hasher: RandomState::default() }
    }

    /// The offset of a name, given in parts; it is added if it is not there.
    pub fn add(&mut self, parts: &[&str]) -> u32 {
        // It is appended in any case, and taken away again if it was there: so it is in one piece.
        let offset = self.append(parts);
        let (table, hasher) = (&self.bytes, &self.hasher);
        let (before, name) = table.split_at(offset as usize);
        let is_same = |&other: &u32| before[other as usize..].starts_with(name);
        let (name_hash, hash_of) = (hash(hasher, &name[..name.len() - 1]), |&other: &u32| hash(hasher, name_at(table, other)));
        match self.known.entry(name_hash, is_same, hash_of) {
            Entry::Occupied(known) => {
                let known = *known.get();
                self.bytes.truncate(offset as usize);
                known
            }
            Entry::Vacant(place) => {
                place.insert(offset);
                offset
            }
        }
    }

    /// The names that were [added](Self::add) so far, each once and in no order, with their offsets.
    pub fn names(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.known.iter().map(|&offset| (offset, name_at(&self.bytes, offset)))
    }

    /// The size of the table.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Appends a name, given in parts, whether it is there or not.
    pub fn append(&mut self, parts: &[&str]) -> u32 {
        let offset = self.bytes.len() as u32;
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
        offset
    }

    /// Appends names without looking for duplicates, and records their offsets. They are given in blocks: for every entry of a block, the
    /// name to append, if it has one. Entries that have an offset keep it. Hot: one per symbol, so threads write blocks in parallel.
    pub fn append_all<'name, Block: Send + Sync, Names: Iterator<Item = Option<&'name str>>>(
        &mut self,
        mut blocks: Vec<(Block, &mut [u32])>,
        names: impl Fn(&Block) -> Names + Sync,
    ) {
        let size_of = |(block, places): &(Block, &mut [u32])| -> usize {
            let sizes = names(block).zip(places.iter()).filter(|(_, place)| **place == 0);
            sizes.filter_map(|(name, _)| name).map(|name| name.len() + 1).sum()
        };
        let sizes: Vec<usize> = blocks.par_iter().map(size_of).collect();
        let mut end = self.bytes.len();
        self.bytes.resize(end + sizes.iter().sum::<usize>(), 0);
        let mut rest = &mut self.bytes[end..];
        let with_room = sizes.into_iter().zip(&mut blocks).map(|(size, block)| {
            let start = end as u32;
            end += size;
            (start, block, rest.split_off_mut(..size).unwrap_or_default())
        });
        with_room.collect::<Vec<_>>().into_par_iter().for_each(|(start, (block, places), bytes)| {
            let mut end = 0;
            for (name, place) in names(block).zip(places.iter_mut()) {
                let Some(name) = name.map(str::as_bytes).filter(|_| *place == 0) else { continue };
                bytes[end..end + name.len()].copy_from_slice(name);
                *place = start + end as u32;
                end += name.len() + 1;
            }
        });
    }

    /// Writes a name over a longer one.
    pub fn overwrite(&mut self, offset: u32, length: usize, name: &str) {
        let start = offset as usize;
        if let Some(place) = self.bytes.get_mut(start..start + length).filter(|place| place.len() >= name.len()) {
            let (new, rest) = place.split_at_mut(name.len());
            new.copy_from_slice(name.as_bytes());
            rest.fill(0);
        }
    }

    /// The finished table.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The name at an offset.
fn name_at(table: &[u8], offset: u32) -> &[u8] {
    let name = &table[offset as usize..];
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    &name[..length]
}

fn hash(hasher: &RandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shared_however_they_are_split() {
        let mut table = StringTableBuilder::with_capacity(4, 16);
        assert_eq!(table.add(&[".text.", "f"]), 1);
        assert_eq!(table.add(&["f"]), 9);
        assert_eq!(table.add(&[".te", "xt.f"]), 1);
        let mut names: Vec<_> = table.names().collect();
        names.sort_unstable();
        assert_eq!(names, [(1, b".text.f".as_slice()), (9, b"f")]);
        let long = "x".repeat(1000);
        assert_eq!(table.add(&[&long, "y"]), 11);
        assert_eq!(table.add(&[&long[..500], &long[500..], "y"]), 11);
        assert_eq!(table.finish().len(), 11 + 1002);
    }

    #[test]
    fn blocks_of_names_get_places_in_order() {
        let mut table = StringTableBuilder::with_capacity(1, 16);
        let known = table.add(&["known"]);
        let (mut first, mut second) = ([0, known, 0], [0, 0]);
        let names = [&[Some("a"), Some("known"), None][..], &[Some("bc"), Some("")]];
        let blocks = names.into_iter().zip([&mut first[..], &mut second]).collect();
        table.append_all(blocks, |names| names.iter().copied());
        assert_eq!((first, second), ([7, 1, 0], [9, 12]));
        assert_eq!(table.finish(), b"\0known\0a\0bc\0\0");
    }
}
