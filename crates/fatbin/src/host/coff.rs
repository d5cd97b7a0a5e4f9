//! The sections of a COFF object: the usual form, and the one for many sections (`/bigobj`).
//!
//! Neither symbols nor relocations are looked at, nor what a section is said to be for: device code is found by section names alone.

use object::read::coff::CoffHeader;
use object::{LittleEndian, pe};

use super::{cut, error};
use crate::error::{Problem, Result};
use crate::little_endian::{length, slice};

/// How many characters of a section's name count. The rest of a longer one is in the table of strings, which objects that went
/// through old tools lack; so the reference compares what fits into the header.
const SIGNIFICANT: usize = 8;

/// The part of a section's name that is compared.
pub(super) fn significant(name: &[u8]) -> &[u8] {
    name.get(..SIGNIFICANT).unwrap_or(name)
}

/// A section.
pub(super) struct Section<'data> {
    /// Its name.
    pub(super) name: &'data [u8],
    /// Where its contents are, if it has any.
    pub(super) offset: u64,
    size: u64,
}

impl Section<'_> {
    /// Its contents. They are not aligned.
    pub(super) fn contents<'data>(&self, bytes: &'data [u8]) -> std::result::Result<&'data [u8], Problem> {
        if self.offset == 0 {
            return Ok(&[]);
        }
        let available = length(bytes).saturating_sub(self.offset);
        slice(bytes, self.offset, self.size).ok_or_else(|| cut("the section", self.size, available))
    }
}

/// The sections of an object that was identified as COFF.
pub(super) fn sections(bytes: &[u8]) -> Result<Vec<Section<'_>>> {
    match bytes.starts_with(&[0, 0]) {
        true => read::<pe::AnonObjectHeaderBigobj>(bytes),
        false => read::<pe::ImageFileHeader>(bytes),
    }
}

fn read<Header: CoffHeader>(bytes: &[u8]) -> Result<Vec<Section<'_>>> {
    let mut offset = 0;
    let header = Header::parse(bytes, &mut offset)
        .map_err(|_| error(None, 0, cut("the COFF header", size_of::<Header>() as u64, length(bytes))))?;
    let table = header.sections(bytes, offset).map_err(|_| {
        let needed = u64::from(header.number_of_sections()) * size_of::<pe::ImageSectionHeader>() as u64;
        error(None, offset, cut("the section header table", needed, length(bytes).saturating_sub(offset)))
    })?;
    // A table that is cut off matters only when a name is in it.
    let strings = header.symbols(bytes).map(|symbols| symbols.strings()).unwrap_or_default();
    let mut sections = Vec::with_capacity(table.len());
    for (index, section) in table.enumerate() {
        let name = section.name(strings).map_err(|_| error(None, offset, Problem::CoffSectionName(index.0)))?;
        let place = |field: object::U32<LittleEndian>| u64::from(field.get(LittleEndian));
        sections.push(Section { name, offset: place(section.pointer_to_raw_data), size: place(section.size_of_raw_data) });
    }
    Ok(sections)
}
