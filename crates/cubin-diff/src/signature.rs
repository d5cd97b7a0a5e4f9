//! Files that differ in the note of the linker only.
//!
//! The note of the linker has texts of any length, and everything after it moves with it. To compare whole files of two linkers byte for
//! byte, one of them is signed anew: it gets the file that would have been written had the note been another.

use cubin::elf::{Header, SectionHeader};
use cubin::note::{Note, TOOL, ToolNote, notes};
use cubin::read::File;
use cubin::release::{Build, Release, Rule};
use cubin::section::SectionType;
use cubin::write::Image;

/// The section with the notes of tools.
const TOOL_NOTES: &str = ".note.nv.tkinfo";

/// The alignment of the table of section headers, where it has one.
const TABLE_ALIGN: u64 = 8;

/// Who made a file: the texts of a note that do not depend on how the tool was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<'text> {
    /// The tool's name.
    pub tool: &'text str,
    /// The tool's version.
    pub version: &'text str,
    /// The tool's build.
    pub build: &'text str,
}

/// The signature of this project's linker, whatever its version.
pub const CUWELD: Signature<'static> = Signature { tool: "cuweld", version: "", build: "https://github.com/cuweld/cuweld" };

impl Signature<'static> {
    /// The signature of a build of `nvlink`, whose results are compared with.
    #[must_use]
    pub fn nvlink(build: &Build) -> Self {
        Signature { tool: "nvlink", version: build.version_text, build: build.build_text }
    }
}

/// The same file with another signature in place of the notes of the build `old`. A file without such a note stays as it is. A tool that
/// was given a name of its own keeps it.
///
/// Fails when the bytes are not a cubin, or when one that is laid out in another way than linkers do, so that it is not known what moves.
pub fn signed_as(bytes: &[u8], old: Signature<'_>, new: Signature<'_>) -> Result<Vec<u8>, String> {
    let file = File::parse(bytes).map_err(|error| error.to_string())?;
    let Some(number) = file.section_named(TOOL_NOTES) else {
        return Ok(bytes.to_vec());
    };
    let number = number as usize;
    let mut contents: Vec<&[u8]> = (0..file.sections().len()).map(|index| in_file(&file, index)).collect();
    if written(&file, number, &contents) != bytes {
        return Err("its sections do not follow each other as linkers place them".to_owned());
    }
    let signed = sign(contents[number], old, new)?;
    contents[number] = &signed;
    Ok(written(&file, number, &contents))
}

/// A section of notes, signed anew.
fn sign(section: &[u8], old: Signature<'_>, new: Signature<'_>) -> Result<Vec<u8>, String> {
    let mut signed = Vec::new();
    for note in notes(section) {
        let note: Note<'_> = note.map_err(|error| error.to_string())?;
        match ToolNote::decode(note.description) {
            Ok(text) if note.kind == TOOL && text.build == old.build => {
                let tool = if text.tool == old.tool { new.tool } else { text.tool };
                signed.extend(ToolNote { tool, version: new.version, build: new.build, ..text }.encode());
            }
            _ => note.encode(&mut signed),
        }
    }
    Ok(signed)
}

/// The bytes of a section: those that it has room for in the file, whatever its type says.
fn in_file<'data>(file: &File<'data>, index: usize) -> &'data [u8] {
    let header = &file.sections()[index].header;
    let next = file.sections().get(index + 1).map_or(file.header().section_header_offset, |next| next.header.offset);
    if SectionType(header.kind).is_no_bits() && next < header.offset.saturating_add(header.size) {
        return &[];
    }
    let range = usize::try_from(header.offset).ok().zip(usize::try_from(header.size).ok());
    range.and_then(|(start, size)| file.bytes().get(start..)?.get(..size)).unwrap_or_default()
}

/// Whether the file is of a release that leaves no gap in front of the table of section headers.
fn is_compact(file: &File<'_>) -> bool {
    let has_rule = |toolkit| Release::for_toolkit(toolkit).has(Rule::CompactFiles);
    file.mercury_symbol_table().is_some() && file.toolkit().is_some_and(has_rule)
}

/// The file with these contents, in which the sections after a number follow each other at their alignments.
fn written(file: &File<'_>, number: usize, contents: &[&[u8]]) -> Vec<u8> {
    let old: Vec<SectionHeader> = file.sections().iter().map(|section| section.header).collect();
    let mut sections = old.clone();
    let (mut old_end, mut end) = (old[number].offset, old[number].offset);
    for index in number..old.len() {
        // A section of one view may stand for the same one of the other.
        if old[index].offset < old_end {
            let place = old[..index].iter().rposition(|other| other.offset == old[index].offset);
            sections[index].offset = place.map_or(old[index].offset, |place| sections[place].offset);
            continue;
        }
        sections[index].offset = end.next_multiple_of(old[index].align.max(1));
        if index == number {
            sections[index].size = contents[index].len() as u64;
        }
        old_end = old[index].offset + in_file(file, index).len() as u64;
        end = sections[index].offset + contents[index].len() as u64;
    }
    let old_table = file.header().section_header_offset;
    let table = if is_compact(file) { end } else { end.next_multiple_of(TABLE_ALIGN) };
    let moved = |offset: u64| match old.iter().rposition(|section| section.offset == offset) {
        _ if offset >= old_table => offset - old_table + table,
        Some(index) => sections[index].offset,
        None => offset,
    };
    let end = |section: &SectionHeader| section.offset + if SectionType(section.kind).is_no_bits() { 0 } else { section.size };
    // A section without bytes in the file starts at its alignment, so that sections that end in one place may be apart when they moved.
    let moved_end = |offset: u64| match offset {
        _ if offset > old_table => offset - old_table + table,
        _ => (old.iter().zip(&sections).filter(|(section, _)| end(section) == offset).map(|(_, moved)| end(moved)).max())
            .unwrap_or(offset),
    };
    let mut segments = file.segments().to_vec();
    for segment in &mut segments {
        let (start, end) = (moved(segment.offset), moved_end(segment.offset + segment.file_size));
        let grown = end.wrapping_sub(start).wrapping_sub(segment.file_size);
        segment.offset = start;
        segment.file_size = segment.file_size.wrapping_add(grown);
        segment.memory_size = segment.memory_size.wrapping_add(grown);
    }
    let mut header: Header = *file.header();
    header.section_header_offset = table;
    header.program_header_offset = moved(header.program_header_offset);
    let image = Image { header, sections, segments };
    let mut out = vec![0; usize::try_from(image.size()).unwrap_or(0)];
    for (section, bytes) in image.sections.iter().zip(contents).skip(1) {
        if let Some(place) = usize::try_from(section.offset).ok().and_then(|start| out.get_mut(start..)?.get_mut(..bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }
    // A header that does not fit leaves bytes that differ from every file.
    match image.write_headers(&mut out) {
        Ok(()) => out,
        Err(_) => Vec::new(),
    }
}
