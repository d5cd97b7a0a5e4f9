//! Fatbins: a header, then entries, each the same program for another GPU or in another language.
//!
//! | offset | field |
//! |---|---|
//! | 0 | u32 magic number [`MAGIC`] |
//! | 4 | u16 version, 1 |
//! | 6 | u16 size of this header, 16 |
//! | 8 | u64 size of all entries |
//!
//! One fatbin holds one translation unit. Where a host linker has joined objects (`ld -r`), their fatbins follow one
//! another in the section, each aligned to 8 bytes; each is then a choice of its own.

use crate::entry::{Entry, EntryKind, group};
use crate::error::{Container, Error, Problem, Result};
use crate::little_endian::{Fields, length, slice};

/// The first four bytes of a fatbin.
pub const MAGIC: u32 = 0xba55_ed50;

/// The first four bytes of an old-style fatbin, which is recognised and refused.
pub const OLD_MAGIC: u32 = 0x1ee5_5a01;

/// The size of a fatbin's header.
pub(crate) const HEADER_SIZE: u16 = 16;

/// What the start of a fatbin is aligned to when several follow one another.
const ALIGNMENT: u64 = 8;

/// One fatbin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Fatbin<'data> {
    /// Where it starts; see [`Error`] for what offsets count from.
    pub offset: u64,
    /// All of its bytes, header included: what other tools take as a fatbin file.
    pub bytes: &'data [u8],
    header_size: u64,
}

impl<'data> Fatbin<'data> {
    /// Reads the fatbin at the start of `bytes`. What follows it is left alone.
    ///
    /// # Errors
    /// When no fatbin is there, or not all of it.
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        Self::parse_at(bytes, 0)
    }

    fn parse_at(bytes: &'data [u8], offset: u64) -> Result<Self> {
        let error = |problem| Error::new(Container::Fatbin, None, offset, problem);
        let cut = |what, needed| error(Problem::Cut { what, needed, available: length(bytes) });
        let header_cut = || cut("the header", u64::from(HEADER_SIZE));

        let mut fields = Fields(bytes);
        match fields.u32().ok_or_else(header_cut)? {
            MAGIC => {}
            OLD_MAGIC => return Err(error(Problem::OldFatbin)),
            other => return Err(error(Problem::FatbinMagic(other))),
        }
        let version = fields.u16().ok_or_else(header_cut)?;
        let header_size = fields.u16().ok_or_else(header_cut)?;
        let entries_size = fields.u64().ok_or_else(header_cut)?;
        if version != 1 {
            return Err(error(Problem::FatbinVersion(version)));
        }
        if header_size < HEADER_SIZE {
            return Err(error(Problem::HeaderSize { found: u64::from(header_size), least: u64::from(HEADER_SIZE) }));
        }
        let header_size = u64::from(header_size);
        let size = header_size.saturating_add(entries_size);
        Ok(Self { offset, bytes: slice(bytes, 0, size).ok_or_else(|| cut("the fatbin", size))?, header_size })
    }

    /// Its entries, in the order of the file. After an error there is no further entry.
    #[must_use]
    pub fn entries(&self) -> Entries<'data> {
        Entries { fatbin: *self, position: self.header_size, index: 0, images: Vec::new() }
    }
}

/// Wraps entries, header and payload of each as [`Entry::bytes`] gives them, into a fatbin.
#[must_use]
pub fn build(entries: &[&[u8]]) -> Vec<u8> {
    let body = entries.concat();
    let mut fatbin = Vec::with_capacity(usize::from(HEADER_SIZE) + body.len());
    fatbin.extend(MAGIC.to_le_bytes());
    fatbin.extend(1_u16.to_le_bytes());
    fatbin.extend(HEADER_SIZE.to_le_bytes());
    fatbin.extend(length(&body).to_le_bytes());
    fatbin.extend(body);
    fatbin
}

/// The entries of a fatbin.
#[derive(Clone, Debug)]
pub struct Entries<'data> {
    fatbin: Fatbin<'data>,
    position: u64,
    index: u32,
    /// The images of a group that are still to come, the last one first.
    images: Vec<Entry<'data>>,
}

impl<'data> Iterator for Entries<'data> {
    type Item = Result<Entry<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = length(self.fatbin.bytes);
        loop {
            if let Some(image) = self.images.pop() {
                return Some(Ok(image));
            }
            let rest = slice(self.fatbin.bytes, self.position, end.checked_sub(self.position)?)?;
            if rest.is_empty() {
                return None;
            }
            let entry = Entry::parse(rest, self.index, self.fatbin.offset.saturating_add(self.position));
            self.index = self.index.saturating_add(1);
            self.position = entry.as_ref().map_or(end, |entry| self.position.saturating_add(length(entry.bytes)));
            match entry {
                Ok(group) if group.kind == EntryKind::Other(group::KIND) => match group::images(&group) {
                    Ok(images) => self.images = images.into_iter().rev().collect(),
                    Err(error) => {
                        self.position = end;
                        return Some(Err(error));
                    }
                },
                entry => return Some(entry),
            }
        }
    }
}

/// The fatbins that follow one another in `bytes`. After an error there is no further one.
#[must_use]
pub fn fatbins(bytes: &[u8]) -> Fatbins<'_> {
    fatbins_at(bytes, 0)
}

/// The same, for bytes that start at `base` of something larger that errors should count from.
pub(crate) fn fatbins_at(bytes: &[u8], base: u64) -> Fatbins<'_> {
    Fatbins { bytes, base, position: 0 }
}

/// Fatbins that follow one another.
#[derive(Clone, Debug)]
pub struct Fatbins<'data> {
    bytes: &'data [u8],
    base: u64,
    position: u64,
}

impl<'data> Iterator for Fatbins<'data> {
    type Item = Result<Fatbin<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = length(self.bytes);
        let rest = slice(self.bytes, self.position, end.checked_sub(self.position)?)?;
        // A linker that joins sections fills what alignment leaves between them with zeros; a fatbin starts with none.
        let gap = length(rest.split(|&byte| byte != 0).next().unwrap_or_default());
        if gap == length(rest) {
            return None;
        }
        let aligned = gap - gap % ALIGNMENT;
        let start = self.position + aligned;
        let rest = slice(rest, aligned, length(rest) - aligned)?;
        let fatbin = Fatbin::parse_at(rest, self.base.saturating_add(start));
        self.position = match &fatbin {
            Ok(fatbin) => (start + length(fatbin.bytes)).checked_next_multiple_of(ALIGNMENT).unwrap_or(end),
            Err(_) => end,
        };
        Some(fatbin)
    }
}
