//! The sections of an ELF file.

use cubin::elf::{self, Header, SectionHeader};

use super::{cut, error};
use crate::error::{Problem, Result};
use crate::little_endian::{length, slice};

/// The section headers of an ELF file, and the table of their names.
pub(super) struct SectionTable<'data> {
    bytes: &'data [u8],
    offset: u64,
    pub(super) count: u64,
    names: &'data [u8],
}

impl<'data> SectionTable<'data> {
    const ENTRY: u64 = SectionHeader::SIZE as u64;

    /// Finds the table; `None` when the file has no sections.
    pub(super) fn find(bytes: &'data [u8]) -> Result<Option<Self>> {
        let file = Header::parse(bytes, 0).ok_or_else(|| {
            let needed = Header::SIZE as u64;
            error(None, 0, cut("the ELF header", needed, length(bytes)))
        })?;
        let offset = file.section_header_offset;
        if offset == 0 {
            return Ok(None);
        }
        if u64::from(file.section_header_size) != Self::ENTRY {
            let problem = Problem::SectionHeaderSize(file.section_header_size);
            return Err(error(None, 0, problem));
        }
        let mut table = Self { bytes, offset, count: 1, names: &[] };
        // Numbers that are too large for the file's header are in the first section header, which is no section's.
        let first = table.header(0)?;
        table.count = match file.section_header_count {
            0 => first.size,
            count => u64::from(count),
        };
        let available = length(bytes).saturating_sub(offset);
        let needed = table.count.saturating_mul(Self::ENTRY);
        if needed > available {
            let problem = cut("the section header table", needed, available);
            return Err(error(None, offset, problem));
        }
        let names = match file.section_names {
            elf::SHN_XINDEX => u64::from(first.link),
            index => u64::from(index),
        };
        if names >= table.count {
            let (index, count) = (names, table.count);
            return Err(error(None, offset, Problem::SectionNames { index, count }));
        }
        let header = table.header(names)?;
        table.names = table.contents(&header).map_err(|problem| error(None, header.offset, problem))?;
        Ok(Some(table))
    }

    pub(super) fn header(&self, index: u64) -> Result<SectionHeader> {
        let offset = self.offset.saturating_add(index.saturating_mul(Self::ENTRY));
        SectionHeader::parse(self.bytes, offset).ok_or_else(|| {
            let available = length(self.bytes).saturating_sub(offset);
            error(None, offset, cut("a section header", Self::ENTRY, available))
        })
    }

    /// The bytes from a section's name on: the name, a NUL, and what follows.
    pub(super) fn name_onwards(&self, index: u64, header: &SectionHeader) -> Result<&'data [u8]> {
        usize::try_from(header.name).ok().and_then(|start| self.names.get(start..)).ok_or_else(|| {
            let problem = Problem::SectionName { section: index, name: header.name, size: length(self.names) };
            error(None, self.offset, problem)
        })
    }

    pub(super) fn contents(&self, header: &SectionHeader) -> std::result::Result<&'data [u8], Problem> {
        if header.kind == elf::SHT_NOBITS {
            return Ok(&[]);
        }
        slice(self.bytes, header.offset, header.size).ok_or_else(|| {
            let available = length(self.bytes).saturating_sub(header.offset);
            cut("the section", header.size, available)
        })
    }
}
