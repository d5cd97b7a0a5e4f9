//! Several images in one packed block (`fatbinary --concat`, CUDA 13.4).
//!
//! An entry of kind [`KIND`] has a table in place of options: a u32 number of images, a u32 size of the table with these two, and
//! then per image a header like an entry's, in which the u32 at 4 is the image's offset in the unpacked payload and the u64 at 8 its
//! size. A name or options follow each header, padded to 8 bytes.

use super::{Architecture, Entry, EntryKind, Flags, HEADER_SIZE, Header, options, text, variant};
use crate::error::{Container, Error, Item, Problem, Result};
use crate::little_endian::{Fields, length, slice};

/// The kind of an entry that holds several images.
pub(crate) const KIND: u16 = 0x100;

/// What follows the header of an image is padded to this.
const ALIGNMENT: u64 = 8;

/// Where an image is in the unpacked payload of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first byte.
    pub offset: u64,
    /// Its size.
    pub size: u64,
}

/// The images of a group.
///
/// # Errors
/// When the table is cut short, or names bytes outside of the payload.
pub(crate) fn images<'data>(group: &Entry<'data>) -> Result<Vec<Entry<'data>>> {
    let error = |problem| Error::new(Container::Fatbin, Some(Item::Entry(group.index)), group.offset, problem);
    let cut = |needed| error(Problem::Cut { what: "the table of images", needed, available: length(group.bytes) });
    let start = u64::from(HEADER_SIZE);
    let mut fields = Fields(slice(group.bytes, start, 8).ok_or_else(|| cut(start + 8))?);
    let (count, size) = (fields.u32().unwrap_or(0), u64::from(fields.u32().unwrap_or(0)));
    let table = slice(group.bytes, start, size).ok_or_else(|| cut(start.saturating_add(size)))?;
    let mut images = Vec::new();
    let mut position = 8;
    for _ in 0..count {
        let record = slice(table, position, length(table).saturating_sub(position)).unwrap_or_default();
        let header = Header::read(record).ok_or_else(|| cut(start.saturating_add(position).saturating_add(start)))?;
        let name = text(record, "name", header.name_offset, header.name_size).map_err(error)?;
        let flags = Flags(header.flags & !Flags::PACKED.0 | group.flags.0 & Flags::PACKED.0);
        let part = Part { offset: u64::from(header.header_size), size: header.payload_size };
        if part.offset.checked_add(part.size).is_none_or(|end| end > group.unpacked_size) {
            return Err(error(Problem::Outside { what: "image", offset: part.offset, size: part.size }));
        }
        images.push(Entry {
            kind: EntryKind::from_number(header.kind),
            architecture: Architecture { number: header.number, variant: variant(flags) },
            version: (header.major, header.minor),
            flags,
            name,
            options: options(record, header.options_offset).map_err(error)?,
            part: Some(part),
            ..*group
        });
        position = position.saturating_add(record_size(record, &header).next_multiple_of(ALIGNMENT));
    }
    Ok(images)
}

/// The size of an image's header with what follows it.
fn record_size(record: &[u8], header: &Header) -> u64 {
    // A NUL ends each text, and is not counted.
    let end = |offset: u32, size: u32| if offset == 0 { 0 } else { u64::from(offset) + u64::from(size) + 1 };
    let block = slice(record, u64::from(header.options_offset), 8).filter(|_| header.options_offset != 0);
    let options_end = block.map_or(0, |block| {
        let mut fields = Fields(block);
        end(fields.u32().unwrap_or(0), fields.u32().unwrap_or(0)).max(u64::from(header.options_offset) + 8)
    });
    u64::from(HEADER_SIZE).max(end(header.name_offset, header.name_size)).max(options_end)
}
