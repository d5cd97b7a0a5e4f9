//! Unpacking the payload of an entry, within bounds.
//!
//! Headers are untrusted: one that announces gigabytes must not get them. Before anything is allocated the promise
//! is held against the caller's limit and against what so many packed bytes can give at best; what comes out must be
//! exactly what was promised.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::zstd::Zstd;
use super::{Entry, EntryKind, Flags, Packing};
use crate::error::{Error, Problem, Result};
use crate::little_endian::length;

/// The largest number of bytes that one byte of an LZ4 block gives: one of the bytes that extend a match's length.
const LZ4_EXPANSION: u64 = 255;

/// The largest number of bytes that one byte of a zstd frame gives: a block that repeats one byte takes four bytes and
/// gives up to 128 KiB.
const ZSTD_EXPANSION: u64 = (128 << 10) / 4;

/// Unpacks payloads, one after another: the tables of a decoder are larger than many a payload, so they are kept.
#[derive(Default)]
pub struct Unpacker {
    zstd: Zstd,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Unpacker {
    /// The payload of an entry: unpacked, and without the NULs that end PTX.
    ///
    /// Never makes more than `limit` bytes; a payload that is stored as it is, is only borrowed and has no limit.
    ///
    /// # Errors
    /// When the payload is packed in a way that is not known or is obfuscated, when it is damaged, when it promises more
    /// than `limit` bytes, or when it gives another number of bytes than it promises.
    pub fn unpack<'data>(&mut self, entry: &Entry<'data>, limit: usize) -> Result<Cow<'data, [u8]>> {
        let Some((method, size)) = entry.promise(limit)? else {
            return Ok(Cow::Borrowed(&entry.payload[entry.wanted(entry.payload)?]));
        };
        let mut contents = match method {
            Method::Zstd => self.zstd.unpack(entry.payload, size).map_err(|reason| entry.damaged(method, reason))?,
            Method::Lz4 => {
                let mut contents = vec![0; size];
                let unpacked = self.decode(entry, method, &mut contents)?;
                contents.truncate(unpacked);
                contents
            }
        };
        entry.check_size(contents.len())?;
        let wanted = entry.wanted(&contents)?;
        contents.truncate(wanted.end);
        contents.drain(..wanted.start);
        Ok(Cow::Owned(contents))
    }

    /// The same in memory that was used before: `room` grows to what the largest payload so far needs, and stays as large.
    ///
    /// # Errors
    /// As for [`Unpacker::unpack`].
    pub fn unpack_into<'data>(&mut self, entry: &Entry<'data>, limit: usize, room: &'data mut Vec<u8>) -> Result<&'data [u8]> {
        let Some((method, size)) = entry.promise(limit)? else {
            return Ok(&entry.payload[entry.wanted(entry.payload)?]);
        };
        if room.len() < size {
            // What it held goes first, and is not copied.
            drop(std::mem::take(room));
            *room = vec![0; size];
        }
        let contents = room.get_mut(..size).unwrap_or_default();
        entry.check_size(self.decode(entry, method, contents)?)?;
        let wanted = entry.wanted(contents)?;
        Ok(&contents[wanted])
    }

    /// Unpacks to where there is as much room as was promised, and returns how many bytes came out.
    fn decode(&mut self, entry: &Entry<'_>, method: Method, contents: &mut [u8]) -> Result<usize> {
        let decoded = match method {
            Method::Zstd => self.zstd.unpack_into(entry.payload, contents),
            Method::Lz4 => lz4_flex::block::decompress_into(entry.payload, contents).map_err(|error| error.to_string()),
        };
        decoded.map_err(|reason| entry.damaged(method, reason))
    }
}

/// How a payload is packed that has to be unpacked.
#[derive(Clone, Copy)]
enum Method {
    Lz4,
    Zstd,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Lz4 => "LZ4",
            Method::Zstd => "zstd",
        }
    }

    fn expansion(self) -> u64 {
        match self {
            Method::Lz4 => LZ4_EXPANSION,
            Method::Zstd => ZSTD_EXPANSION,
        }
    }
}

impl<'data> Entry<'data> {
    /// The payload, as an [`Unpacker`] gives it that is used once.
    ///
    /// # Errors
    /// As for [`Unpacker::unpack`].
    pub fn unpack(&self, limit: usize) -> Result<Cow<'data, [u8]>> {
        Unpacker::default().unpack(self, limit)
    }

    /// How it is packed and how many bytes it promises, which are not too many; none, if it is stored as it is.
    fn promise(&self, limit: usize) -> Result<Option<(Method, usize)>> {
        if self.flags.contains(Flags::OBFUSCATED) {
            return Err(self.error(Problem::Obfuscated));
        }
        let method = match self.packing() {
            Packing::Stored => return Ok(None),
            Packing::Unknown(flags) => return Err(self.error(Problem::UnknownCompression(flags))),
            Packing::Lz4 => Method::Lz4,
            Packing::Zstd => Method::Zstd,
        };
        let promised = self.unpacked_size;
        let packed = length(self.payload);
        let size = usize::try_from(promised).ok().filter(|&size| size <= limit);
        let Some(size) = size else {
            return Err(self.error(Problem::OverLimit { promised, limit: u64::try_from(limit).unwrap_or(u64::MAX) }));
        };
        if promised > packed.saturating_mul(method.expansion()) {
            return Err(self.error(Problem::Implausible { packed, promised }));
        }
        Ok(Some((method, size)))
    }

    fn check_size(&self, unpacked: usize) -> Result<()> {
        let (unpacked, promised) = (unpacked as u64, self.unpacked_size);
        if unpacked == promised { Ok(()) } else { Err(self.error(Problem::UnpackedSize { unpacked, promised })) }
    }

    fn damaged(&self, method: Method, reason: String) -> Error {
        self.error(Problem::Damaged { method: method.name(), reason })
    }

    /// Where the entry's own bytes are in what was unpacked.
    fn wanted(&self, contents: &[u8]) -> Result<Range<usize>> {
        let mut wanted = 0..contents.len();
        if let Some(part) = self.part {
            let end = part.offset.saturating_add(part.size);
            let outside = || self.error(Problem::Outside { what: "image", offset: part.offset, size: part.size });
            let range = usize::try_from(part.offset).ok().zip(usize::try_from(end).ok());
            let (start, end) = range.filter(|&(start, end)| start <= end && end <= contents.len()).ok_or_else(outside)?;
            wanted = start..end;
        }
        if self.kind == EntryKind::Ptx {
            let text = contents.get(wanted.clone()).unwrap_or_default();
            wanted.end = wanted.start + text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        }
        Ok(wanted)
    }
}
