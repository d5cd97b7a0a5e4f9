//! Writing: the headers of a whole file, byte for byte as they are asked for.
//!
//! A writer decides where everything stands, builds an [`Image`] of the headers, makes a buffer of
//! [`size`](Image::size) zero bytes, and lets [`write_headers`](Image::write_headers) fill in the tables. What the
//! sections hold, it writes itself: into disjoint parts of the buffer, in any order, on any number of threads.

use crate::elf::{self, Header, ProgramHeader, SectionHeader};
use crate::error::{Error, Problem, Result};
use crate::section::SectionType;

/// The headers of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The file header. The two fields that count sections and segments are ignored: the lists below say it.
    pub header: Header,
    /// The section headers, the null section first. From 65,281 of them on, the size of the null section is ignored:
    /// it then holds the number of sections.
    pub sections: Vec<SectionHeader>,
    /// The program headers.
    pub segments: Vec<ProgramHeader>,
}

impl Image {
    /// The size of the file: where the last of headers, tables and sections ends. (Offsets that overflow give the
    /// largest number, of which no buffer can be made.)
    #[must_use]
    pub fn size(&self) -> u64 {
        let table = |offset: u64, count: usize, size: usize| match count {
            0 => 0,
            _ => offset.saturating_add((count as u64).saturating_mul(size as u64)),
        };
        let sections = table(self.header.section_header_offset, self.sections.len(), SectionHeader::SIZE);
        let segments = table(self.header.program_header_offset, self.segments.len(), ProgramHeader::SIZE);
        let contents = self.sections.iter().skip(1).filter(|section| !SectionType(section.kind).is_no_bits());
        contents
            .map(|section| section.offset.saturating_add(section.size))
            .chain([Header::SIZE as u64, sections, segments])
            .max()
            .unwrap_or(0)
    }

    /// Writes the file header, the section headers and the program headers into a buffer of the whole file. Other bytes
    /// are left alone.
    ///
    /// From 65,281 sections on, the header's count is 0 and the null section holds the number of sections as its size.
    pub fn write_headers(&self, out: &mut [u8]) -> Result<()> {
        let available = out.len() as u64;
        if self.size() > available {
            return Err(Error::new(Problem::ImageSize { needed: self.size(), available }));
        }
        self.write_file_header(out)?;
        // `size` has counted both tables, so they lie in the buffer and their offsets fit into a `usize`.
        if !self.sections.is_empty() {
            self.write_section_headers(0, &mut out[self.header.section_header_offset as usize..]);
        }
        if !self.segments.is_empty() {
            self.write_program_headers(&mut out[self.header.program_header_offset as usize..]);
        }
        Ok(())
    }

    /// Writes the file header into a buffer of its size.
    pub fn write_file_header(&self, out: &mut [u8]) -> Result<()> {
        let mut header = self.header;
        header.program_header_count =
            u16::try_from(self.segments.len()).map_err(|_| Error::new(Problem::Overflow("the number of program headers")))?;
        header.section_header_count = self.count_in_header().unwrap_or(0);
        header.write(out);
        Ok(())
    }

    /// Writes section headers, from this one on, as many as fit into the buffer.
    pub fn write_section_headers(&self, first: usize, out: &mut [u8]) {
        let headers = self.sections.iter().enumerate().skip(first);
        for ((index, section), out) in headers.zip(out.chunks_exact_mut(SectionHeader::SIZE)) {
            match (index, self.count_in_header()) {
                (0, None) => SectionHeader { size: self.sections.len() as u64, ..*section }.write(out),
                _ => section.write(out),
            }
        }
    }

    /// Writes all program headers into a buffer of their size.
    pub fn write_program_headers(&self, out: &mut [u8]) {
        for (segment, out) in self.segments.iter().zip(out.chunks_exact_mut(ProgramHeader::SIZE)) {
            segment.write(out);
        }
    }

    /// The number of sections, if the file header has room for it. The reference linker counts 65,280 sections there, one more than ELF would.
    fn count_in_header(&self) -> Option<u16> {
        u16::try_from(self.sections.len()).ok().filter(|&count| count <= elf::SHN_LORESERVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sections_are_counted_in_the_null_section() {
        for count in [0xff00_usize, 0xff01, 0x1_0001] {
            let mut image = Image { sections: vec![SectionHeader::default(); count], ..Image::default() };
            image.header.section_header_offset = 64;
            image.header.section_names = 1;
            let mut out = vec![0; usize::try_from(image.size()).unwrap_or(0)];
            assert_eq!(out.len(), 64 + 64 * count);
            assert_eq!(image.write_headers(&mut out), Ok(()));
            let header = Header::parse(&out, 0).unwrap_or_default();
            let null = SectionHeader::parse(&out, 64).unwrap_or_default();
            let long = count > 0xff00;
            assert_eq!(usize::from(header.section_header_count), if long { 0 } else { count });
            assert_eq!(null.size, if long { count as u64 } else { 0 });
            assert_eq!((header.section_names, null.link), (1, 0));
        }
    }

    #[test]
    fn a_layout_that_overflows_is_refused() {
        let mut image = Image { sections: vec![SectionHeader::default(); 2], ..Image::default() };
        image.sections[1] = SectionHeader { kind: 1, offset: u64::MAX, size: 2, ..SectionHeader::default() };
        assert_eq!(image.size(), u64::MAX);
        assert!(image.write_headers(&mut [0; 1000]).is_err());
        image.sections[1].offset = 0;
        image.header.section_header_offset = u64::MAX - 1;
        assert!(image.write_headers(&mut [0; 1000]).is_err());
    }
}
