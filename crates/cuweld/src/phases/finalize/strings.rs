//! String tables: every name once, in the order in which it is first asked for.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// A string table under construction.
pub struct StringTableBuilder {
    bytes: Vec<u8>,
    known: HashTable<u32>,
    hasher: FixedState,
}

impl StringTableBuilder {
    /// A table that holds the empty name, as every table does.
    pub fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut table = Vec::with_capacity(bytes);
        table.push(0);
        StringTableBuilder { bytes: table, known: HashTable::with_capacity(names), hasher: FixedState::default() }
    }

    /// The offset of a name, given in parts; it is added if it is not there.
    pub fn add(&mut self, parts: &[&str]) -> u32 {
        let hash = self.hash(parts.iter().map(|part| part.as_bytes()));
        let bytes = &self.bytes;
        if let Some(&offset) = self.known.find(hash, |&offset| is_at(bytes, offset as usize, parts)) {
            return offset;
        }
        let offset = self.bytes.len() as u32;
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
        let (bytes, hasher) = (&self.bytes, &self.hasher);
        self.known.insert_unique(hash, offset, |&other| {
            let name = &bytes[other as usize..];
            let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
            let mut state = hasher.build_hasher();
            state.write(&name[..length]);
            state.finish()
        });
        offset
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

    /// Writes a name over a longer one.
    pub fn overwrite(&mut self, offset: u32, length: usize, name: &str) {
        let start = offset as usize;
        if let Some(place) = self.bytes.get_mut(start..start + length).filter(|place| place.len() >= name.len()) {
            let (new, rest) = place.split_at_mut(name.len());
            new.copy_from_slice(name.as_bytes());
            rest.fill(0);
        }
    }

    fn hash<'part>(&self, parts: impl Iterator<Item = &'part [u8]>) -> u64 {
        // Names in parts must hash like whole ones, so they are put together first; names are short.
        let mut whole = [0u8; 256];
        let mut length = 0;
        let mut long: Vec<u8> = Vec::new();
        for part in parts {
            if long.is_empty() && length + part.len() <= whole.len() {
                whole[length..length + part.len()].copy_from_slice(part);
                length += part.len();
            } else {
                if long.is_empty() {
                    long.extend_from_slice(&whole[..length]);
                }
                long.extend_from_slice(part);
            }
        }
        let mut state = self.hasher.build_hasher();
        state.write(if long.is_empty() { &whole[..length] } else { &long });
        state.finish()
    }

    /// The finished table.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

fn is_at(bytes: &[u8], offset: usize, parts: &[&str]) -> bool {
    let mut rest = &bytes[offset..];
    for part in parts {
        match rest.strip_prefix(part.as_bytes()) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.first() == Some(&0)
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
        let long = "x".repeat(1000);
        assert_eq!(table.add(&[&long, "y"]), 11);
        assert_eq!(table.add(&[&long[..500], &long[500..], "y"]), 11);
        assert_eq!(table.finish().len(), 11 + 1002);
    }
}
