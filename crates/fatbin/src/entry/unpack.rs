//! Unpacking the payload of an entry, within bounds.
//!
//! Headers come from strangers: one that promises gigabytes must not get them. Before anything is allocated the promise
//! is held against the caller's limit and against what so many packed bytes can give at best; what comes out must be
//! exactly what was promised.

use std::borrow::Cow;
use std::fmt;

use super::zstd::Zstd;
use super::{Entry, EntryKind, Flags, Packing};
use crate::error::{Problem, Result};
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
        if entry.flags.contains(Flags::OBFUSCATED) {
            return Err(entry.error(Problem::Obfuscated));
        }
        let mut contents = match entry.packing() {
            Packing::Stored => Cow::Borrowed(entry.payload),
            Packing::Unknown(flags) => return Err(entry.error(Problem::UnknownCompression(flags))),
            Packing::Lz4 => Cow::Owned(entry.unpack_with("LZ4", LZ4_EXPANSION, limit, |size| {
                let mut contents = vec![0; size];
                let unpacked =
                    lz4_flex::block::decompress_into(entry.payload, &mut contents).map_err(|error| error.to_string())?;
                contents.truncate(unpacked);
                Ok(contents)
            })?),
            Packing::Zstd => {
                Cow::Owned(entry.unpack_with("zstd", ZSTD_EXPANSION, limit, |size| self.zstd.unpack(entry.payload, size))?)
            }
        };
        if let Some(part) = entry.part {
            let end = part.offset.saturating_add(part.size);
            let outside = || entry.error(Problem::Outside { what: "image", offset: part.offset, size: part.size });
            let range = usize::try_from(part.offset).ok().zip(usize::try_from(end).ok());
            let (start, end) = range.filter(|&(start, end)| start <= end && end <= contents.len()).ok_or_else(outside)?;
            match &mut contents {
                Cow::Borrowed(bytes) => *bytes = &bytes[start..end],
                Cow::Owned(bytes) => {
                    bytes.truncate(end);
                    bytes.drain(..start);
                }
            }
        }
        if entry.kind == EntryKind::Ptx {
            let text_size = contents.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            match &mut contents {
                Cow::Borrowed(bytes) => *bytes = bytes.get(..text_size).unwrap_or_default(),
                Cow::Owned(bytes) => bytes.truncate(text_size),
            }
        }
        Ok(contents)
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

    fn unpack_with(
        &self,
        method: &'static str,
        expansion: u64,
        limit: usize,
        decode: impl FnOnce(usize) -> std::result::Result<Vec<u8>, String>,
    ) -> Result<Vec<u8>> {
        let promised = self.unpacked_size;
        let packed = length(self.payload);
        let size = usize::try_from(promised).ok().filter(|&size| size <= limit);
        let Some(size) = size else {
            return Err(self.error(Problem::OverLimit { promised, limit: u64::try_from(limit).unwrap_or(u64::MAX) }));
        };
        if promised > packed.saturating_mul(expansion) {
            return Err(self.error(Problem::Implausible { packed, promised }));
        }
        let contents = decode(size).map_err(|reason| self.error(Problem::Damaged { method, reason }))?;
        if contents.len() != size {
            return Err(self.error(Problem::UnpackedSize { unpacked: length(&contents), promised }));
        }
        Ok(contents)
    }
}
