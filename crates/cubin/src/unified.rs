//! Unified tables: functions and variables that have the same place in every program that is linked with the same index.
//!
//! An object says of each unified function and variable what its identifier of 128 bits is (`.nv.uft.entry` and
//! `.nv.udt.entry`, an array of [`Entry`] each). For every such function it has a stub of [`STUB_SIZE`] bytes that jumps to it
//! (`.nv.uft.rel.F`); unified variables are together in `.nv.udt`. An index file, which several links share, says where in the
//! tables of stubs and of variables each identifier has its place. A linked file has the stubs (`.nv.uft`) and variables at
//! those places, the entries with their offsets, and the index itself (`.nv.uidx`).

use crate::elf::{Scalar, record};

/// Bytes of a stub.
pub const STUB_SIZE: u64 = 128;

/// How the names of sections with the stub of a function start in an object.
pub const STUB_PREFIX: &str = ".nv.uft.rel.";

record! {
    /// A unified function or variable.
    Entry, 32 {
        /// The function (not its stub) or variable.
        symbol: u32,
        /// What is known of it; see [`flags`].
        flags: u32,
        /// Its offset in the table.
        offset: u64,
        /// The first half of its identifier.
        first: u64,
        /// The second half of its identifier.
        second: u64,
    }
}

/// Flags of an [`Entry`].
pub mod flags {
    /// As the compiler makes it.
    pub const COMPILED: u32 = 1;
    /// As a linker leaves it.
    pub const LINKED: u32 = 7;
    /// The index does not have it: the offset means nothing to other programs.
    pub const NOT_IN_INDEX: u32 = 0x8000_0000;
}

record! {
    /// The start of an index file.
    IndexHeader, 48 {
        /// [`INDEX_MAGIC`].
        magic: u64,
        /// The version of the format.
        version: u32,
        /// Without meaning.
        reserved: u32,
        /// Bytes of the table of stubs.
        function_window: u64,
        /// How many functions are listed.
        functions: u64,
        /// Bytes of the table of variables.
        data_window: u64,
        /// How many variables are listed, after the functions.
        variables: u64,
    }
}

/// What an index file starts with: `7f` and `UFTINDX`.
pub const INDEX_MAGIC: u64 = 0x5844_4e49_5446_557f;

record! {
    /// The place of an identifier.
    IndexRecord, 24 {
        /// The first half of the identifier.
        first: u64,
        /// The second half of the identifier.
        second: u64,
        /// The offset in the table.
        offset: u64,
    }
}

/// From this version on, an index file has [`EXTRA_SIZE`] bytes more per function at its end, of unknown meaning.
const VERSION_WITH_EXTRA: u32 = 2;
const EXTRA_SIZE: u64 = 16;

/// An index file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its start.
    pub header: IndexHeader,
    /// The functions that it lists.
    pub functions: Vec<IndexRecord>,
    /// The variables that it lists.
    pub variables: Vec<IndexRecord>,
}

/// Why bytes are no index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnIndex {
    /// They start like another kind of file.
    Magic,
    /// They are too few or too many for what they list.
    Size,
}

impl Index {
    /// Reads an index file.
    pub fn parse(data: &[u8]) -> Result<Self, NotAnIndex> {
        if !data.starts_with(&INDEX_MAGIC.to_le_bytes()) {
            return Err(NotAnIndex::Magic);
        }
        let header = IndexHeader::parse(data, 0).ok_or(NotAnIndex::Size)?;
        let extra = if header.version >= VERSION_WITH_EXTRA { EXTRA_SIZE } else { 0 };
        let size = || {
            let listed = header.functions.checked_add(header.variables)?.checked_mul(IndexRecord::SIZE as u64)?;
            header.functions.checked_mul(extra)?.checked_add(listed)?.checked_add(IndexHeader::SIZE as u64)
        };
        if size() != Some(data.len() as u64) {
            return Err(NotAnIndex::Size);
        }
        let records = data[IndexHeader::SIZE..].chunks_exact(IndexRecord::SIZE);
        let mut records = records.filter_map(|record| IndexRecord::parse(record, 0));
        let functions = records.by_ref().take(header.functions as usize).collect();
        let variables = records.take(header.variables as usize).collect();
        Ok(Index { header, functions, variables })
    }
}

/// The entries of a section of either kind; bytes after the last whole one are left out.
pub fn entries(data: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    data.chunks_exact(Entry::SIZE).filter_map(|record| Entry::parse(record, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, extra: usize) -> Vec<u8> {
        let header = IndexHeader { magic: INDEX_MAGIC, version, functions: 1, variables: 2, ..IndexHeader::default() };
        let mut data = vec![0; IndexHeader::SIZE + 3 * IndexRecord::SIZE + extra];
        header.write(&mut data);
        for place in 0..3 {
            let record = IndexRecord { first: 10 + place, second: 20 + place, offset: 128 * place };
            record.write(&mut data[IndexHeader::SIZE + place as usize * IndexRecord::SIZE..]);
        }
        data
    }

    #[test]
    fn functions_come_before_variables() {
        for data in [index(0, 0), index(1, 0), index(2, 16)] {
            let index = Index::parse(&data).expect("well formed");
            assert_eq!(index.functions, [IndexRecord { first: 10, second: 20, offset: 0 }]);
            assert_eq!(index.variables.iter().map(|record| record.first).collect::<Vec<_>>(), [11, 12]);
        }
    }

    #[test]
    fn sizes_must_fit() {
        for data in [index(1, 1), index(2, 0), index(1, 0)[..47].to_vec()] {
            assert_eq!(Index::parse(&data), Err(NotAnIndex::Size));
        }
        let mut data = index(1, 0);
        data[24..32].fill(0xff);
        assert_eq!(Index::parse(&data), Err(NotAnIndex::Size));
        data[0] = 0;
        for data in [&data[..], &data[..3], &[]] {
            assert_eq!(Index::parse(data), Err(NotAnIndex::Magic));
        }
    }
}
