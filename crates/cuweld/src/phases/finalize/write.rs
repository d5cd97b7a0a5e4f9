//! Writing the file: into one buffer, or part by part.
//!
//! All sizes are known before the first byte is written, so the file consists of disjoint slices, in file order, that any number of threads
//! can write. A file that is written to disk is never in memory as a whole: while one part is written out, the next one is made.

use super::{Body, Finished};
use crate::phases::number::FileSection;
use cubin::elf::{Header, ProgramHeader, SectionHeader};
use std::io;
use std::ops::{Range, RangeInclusive};

/// How many bytes are made at a time, at least and at most: more take less time, but also more memory. In between, a file has this many
/// parts.
const PART_SIZES: RangeInclusive<u64> = 128 << 10..=512 << 10;
const PARTS: u64 = 16;

/// The system keeps files in pieces of memory of such a size, and takes longer if one is filled in several steps.
const BLOCK_SIZE: u64 = 64 << 10;

/// Below this, it takes longer to hand bytes over than to copy them.
const SMALL: u64 = 64 << 10;

/// How many pieces a thread writes in one go.
const PIECES_AT_ONCE: usize = 64;

/// How many section headers are written in one go.
const HEADERS_AT_ONCE: usize = 1024;

/// A piece of the file.
enum FilePiece {
    FileHeader,
    /// The section with this number.
    Section(usize),
    /// Section headers from this one on.
    SectionHeaders(usize),
    ProgramHeaders,
}

/// Consecutive pieces of the file, by their numbers, and where they are in it.
struct Part<'made> {
    pieces: Range<usize>,
    bytes: Range<u64>,
    /// If it consists of a single piece whose bytes are there already: those, and where in it they stand.
    made: Option<Made<'made>>,
}

/// Bytes that are there already, and where in a piece they stand.
type Made<'made> = Vec<(u64, &'made [u8])>;

impl Part<'_> {
    fn size(&self) -> usize {
        (self.bytes.end - self.bytes.start) as usize
    }

    /// Writes the bytes that are there already, and zeros where there are none.
    fn write_made(&self, out: &mut impl io::Write) -> io::Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut position = 0;
        for &(start, bytes) in self.made.iter().flatten().chain(&[(self.size() as u64, &[][..])]) {
            while position < start {
                let count = (start - position).min(ZEROS.len() as u64);
                out.write_all(&ZEROS[..count as usize])?;
                position += count;
            }
            out.write_all(bytes)?;
            position = start + bytes.len() as u64;
        }
        Ok(())
    }
}

impl Finished<'_, '_> {
    /// The size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file as a whole.
    pub fn to_vec(&self) -> cubin::Result<Vec<u8>> {
        let mut image = vec![0; self.size() as usize];
        self.write_pieces(0..self.pieces(), 0..self.size(), &mut image)?;
        Ok(image)
    }

    /// Writes the file from its start to its end.
    pub fn write_to(&self, out: &mut (impl io::Write + Send)) -> io::Result<()> {
        let parts = self.parts();
        let most = parts.iter().filter(|part| part.made.is_none()).map(Part::size).max().unwrap_or(0) + BLOCK_SIZE as usize;
        // Of each, so many bytes are filled. Memory without contents comes from the system, and need not be cleared for that.
        let (mut ready, mut next) = (vec![0; most], vec![0; most]);
        let mut filled = 0;
        // Where in the file `ready` starts, and what follows it.
        let (mut position, mut behind) = (0, Vec::new());
        let write = |out: &mut _, ready: &[u8], behind: &[Part<'_>]| {
            io::Write::write_all(out, ready)?;
            behind.iter().try_for_each(|part| part.write_made(out))
        };
        for part in parts {
            if part.made.is_some() {
                behind.push(part);
                continue;
            }
            let whole_blocks = (part.bytes.start / BLOCK_SIZE * BLOCK_SIZE).saturating_sub(position) as usize;
            let (now, later) = ready[..filled].split_at(if behind.is_empty() { whole_blocks } else { filled });
            filled = later.len() + part.size();
            let (first, rest) = next[..filled].split_at_mut(later.len());
            first.copy_from_slice(later);
            position = part.bytes.start - later.len() as u64;
            let (written, made) = rayon::join(|| write(out, now, &behind), || self.write_pieces(part.pieces, part.bytes, rest));
            written?;
            made.map_err(io::Error::other)?;
            behind.clear();
            std::mem::swap(&mut ready, &mut next);
        }
        write(out, &ready[..filled], &behind)
    }

    /// The parts that the file is written in: whole pieces, until there is enough.
    fn parts(&self) -> Vec<Part<'_>> {
        let part_size = (self.size() / PARTS).clamp(*PART_SIZES.start(), *PART_SIZES.end());
        let mut parts = Vec::new();
        let mut part = Part { pieces: 0..0, bytes: 0..0, made: None };
        for index in 0..self.pieces() {
            let bytes = self.place(index);
            if bytes.is_empty() {
                part.pieces.end = index + 1;
                continue;
            }
            let size = bytes.end - bytes.start;
            let made = if size >= part_size { self.made(index, size) } else { None };
            if made.is_some() || part.made.is_some() || size.max(part.size() as u64) >= part_size {
                // What is free between pieces belongs to the part before, unless that is there already.
                let start = if part.made.is_some() { part.bytes.end } else { bytes.start };
                part.bytes.end = start;
                let next = Part { pieces: index..index, bytes: start..start, made: made.filter(|_| start == bytes.start) };
                parts.push(std::mem::replace(&mut part, next));
            }
            // Long tables are made in several parts.
            let entry_size = if size >= part_size / 2 { self.entry_size(index) } else { None };
            let at_once = entry_size.map_or(u64::MAX, |size| part_size / size * size);
            while bytes.end - bytes.start.max(part.bytes.start) > at_once {
                part.bytes.end = bytes.start.max(part.bytes.start) + at_once;
                part.pieces.end = index + 1;
                let next = Part { pieces: index..index, bytes: part.bytes.end..part.bytes.end, made: None };
                parts.push(std::mem::replace(&mut part, next));
            }
            part.bytes.end = bytes.end;
            part.pieces.end = index + 1;
        }
        parts.push(part);
        parts
    }

    /// The size of a piece's entries, if it consists of entries that are made one by one.
    fn entry_size(&self, index: usize) -> Option<u64> {
        let FilePiece::Section(number) = self.piece(index) else { return None };
        let section = &self.facts.plan.sections()[self.file_section(number).section];
        section.kind.is_written_by_entry().then_some(section.entry_size.into())
    }

    /// A piece of this size whose bytes are there already.
    fn made(&self, index: usize, size: u64) -> Option<Made<'_>> {
        match self.piece(index) {
            FilePiece::Section(number) => match &self.bodies[number] {
                Body::Made(bytes) => Some(vec![(0, bytes)]),
                Body::FromFacts => {
                    let part = self.file_section(number);
                    let pieces = self.facts.plan.sections()[part.section].kind.unchanged(&self.facts, part)?;
                    // Many small ones are built first.
                    (pieces.len() as u64 * SMALL <= size).then_some(pieces)
                }
                Body::Nowhere | Body::Shared => None,
            },
            _ => None,
        }
    }

    /// Writes consecutive pieces into a buffer for these bytes of the file.
    fn write_pieces(&self, pieces: Range<usize>, bytes: Range<u64>, out: &mut [u8]) -> cubin::Result<()> {
        if pieces.len() > PIECES_AT_ONCE {
            let middle = pieces.start.midpoint(pieces.end);
            // Pieces that take room stand in the file in the order of their numbers.
            let mut places = (middle..pieces.end).map(|index| self.place(index));
            let behind =
                places.find(|place| !place.is_empty()).map_or(bytes.end, |place| place.start.clamp(bytes.start, bytes.end));
            let (first, second) = out.split_at_mut((behind - bytes.start) as usize);
            let (first, second) = rayon::join(
                || self.write_pieces(pieces.start..middle, bytes.start..behind, first),
                || self.write_pieces(middle..pieces.end, behind..bytes.end, second),
            );
            return first.and(second);
        }
        let mut written = 0;
        for index in pieces {
            let place = self.place(index);
            let part = place.start.max(bytes.start)..place.end.min(bytes.end);
            if !part.is_empty() {
                let part_of_out = (part.start - bytes.start) as usize..(part.end - bytes.start) as usize;
                out[written..part_of_out.start].fill(0);
                written = part_of_out.end;
                self.write_piece(index, part.start - place.start, &mut out[part_of_out])?;
            }
        }
        out[written..].fill(0);
        Ok(())
    }

    /// How many pieces there are.
    fn pieces(&self) -> usize {
        1 + self.bodies.len() + self.image.sections.len().div_ceil(HEADERS_AT_ONCE)
    }

    fn piece(&self, index: usize) -> FilePiece {
        let sections = self.bodies.len();
        match index {
            // The null section has no bytes.
            0 => FilePiece::FileHeader,
            _ if index < sections => FilePiece::Section(index),
            _ if index + 1 == self.pieces() => FilePiece::ProgramHeaders,
            _ => FilePiece::SectionHeaders((index - sections) * HEADERS_AT_ONCE),
        }
    }

    /// What the section with this number is.
    fn file_section(&self, number: usize) -> FileSection {
        self.facts.numbering.sections()[number - 1]
    }

    /// Where a piece is in the file; empty if it takes no room.
    fn place(&self, index: usize) -> Range<u64> {
        let table = |offset: u64, size: usize, rows: Range<usize>| {
            let place = |row: usize| offset + (row * size) as u64;
            place(rows.start)..place(rows.end)
        };
        let header = &self.image.header;
        match self.piece(index) {
            FilePiece::FileHeader => 0..Header::SIZE as u64,
            FilePiece::Section(number) => match (&self.bodies[number], &self.image.sections[number]) {
                (Body::Nowhere | Body::Shared, _) => 0..0,
                (Body::FromFacts | Body::Made(_), header) => header.offset..header.offset + header.size,
            },
            FilePiece::SectionHeaders(first) => {
                let end = self.image.sections.len().min(first + HEADERS_AT_ONCE);
                table(header.section_header_offset, SectionHeader::SIZE, first..end)
            }
            FilePiece::ProgramHeaders => table(header.program_header_offset, ProgramHeader::SIZE, 0..self.image.segments.len()),
        }
    }

    /// Writes a piece without the first entries, which take so many bytes.
    fn write_piece(&self, index: usize, skipped: u64, out: &mut [u8]) -> cubin::Result<()> {
        let entry_size = if skipped > 0 { self.entry_size(index) } else { None };
        let first = entry_size.map_or(0, |size| skipped / size) as usize;
        match self.piece(index) {
            FilePiece::FileHeader => self.image.write_file_header(out)?,
            FilePiece::Section(number) => match &self.bodies[number] {
                Body::Made(bytes) => {
                    let (made, rest) = out.split_at_mut(bytes.len());
                    made.copy_from_slice(bytes);
                    rest.fill(0);
                }
                Body::FromFacts => {
                    let part = self.file_section(number);
                    self.facts.plan.sections()[part.section].kind.write(&self.facts, part, first, out)?;
                }
                Body::Nowhere | Body::Shared => {}
            },
            FilePiece::SectionHeaders(first) => self.image.write_section_headers(first, out),
            FilePiece::ProgramHeaders => self.image.write_program_headers(out),
        }
        Ok(())
    }
}
