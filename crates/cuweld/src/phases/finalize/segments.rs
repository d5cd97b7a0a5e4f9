//! Segments: what the driver loads.
//!
//! A file with one view has two segments, one for constants and code, one for data; the table that says so is a segment as well, and
//! the last. A file with two views has a segment for every run of sections that are loaded alike, after that of the table.

use crate::sections::Class;
use cubin::elf::{PF_R, PF_W, PF_X, PT_LOAD, PT_PHDR, ProgramHeader, SectionHeader};
use cubin::section::SectionType;
use cubin::target::Views;

/// The alignment of the tables of headers.
pub const TABLE_ALIGN: u64 = 8;

/// Makes the segments of a file. `sections`: those of the machine view, with their classes.
pub fn make(views: Views, sections: &[(Class, &SectionHeader)], table_offset: u64) -> Vec<ProgramHeader> {
    let loaded: Vec<ProgramHeader> = match views {
        Views::One => {
            let of_classes =
                |wanted: [Class; 2]| sections.iter().filter(move |(class, _)| wanted.contains(class)).map(|&(_, header)| header);
            let read_only = segment(PF_R | PF_X, of_classes([Class::Constants, Class::Code]), Rounding::OfTail);
            let writable = segment(PF_R | PF_W, of_classes([Class::Data, Class::NoBits]), Rounding::OfTail);
            read_only.into_iter().chain(writable).collect()
        }
        Views::Two => sections
            .chunk_by(|(a, _), (b, _)| flags(*a) == flags(*b))
            .filter_map(|run| segment(flags(run.first()?.0)?, run.iter().map(|&(_, header)| header), Rounding::OfPlace))
            .collect(),
    };
    let size = ((loaded.len() + 2) * ProgramHeader::SIZE) as u64;
    let table = |kind: u32, flags: u32| ProgramHeader {
        kind,
        flags,
        offset: table_offset,
        file_size: size,
        memory_size: size,
        align: TABLE_ALIGN,
        ..ProgramHeader::default()
    };
    match views {
        Views::One => [table(PT_PHDR, PF_R | PF_X)].into_iter().chain(loaded).chain([table(PT_LOAD, PF_R | PF_X)]).collect(),
        Views::Two => [table(PT_PHDR, PF_R), table(PT_LOAD, PF_R)].into_iter().chain(loaded).collect(),
    }
}

/// How a section is loaded; not at all, if there are no flags.
fn flags(class: Class) -> Option<u32> {
    match class {
        Class::Tables | Class::Debug | Class::Attributes | Class::Relocations => None,
        Class::Constants | Class::MachineOnly => Some(PF_R),
        Class::Code => Some(PF_R | PF_X),
        Class::Data | Class::NoBits => Some(PF_R | PF_W),
    }
}

/// Where the sizes of sections without bytes are rounded up from.
#[derive(Copy, Clone)]
enum Rounding {
    /// The end of the bytes.
    OfTail,
    /// The start of the file.
    OfPlace,
}

/// A segment of consecutive sections. Those without bytes are counted from where the bytes end.
fn segment<'header>(
    flags: u32,
    sections: impl Iterator<Item = &'header SectionHeader>,
    rounding: Rounding,
) -> Option<ProgramHeader> {
    let mut sections = sections.peekable();
    let start = sections.peek()?.offset;
    let mut end = start;
    let mut without_bytes: Vec<&SectionHeader> = Vec::new();
    for section in sections {
        if SectionType(section.kind).is_no_bits() {
            end = section.offset;
            without_bytes.push(section);
        } else {
            end = section.offset + section.size;
        }
    }
    let before = match rounding {
        Rounding::OfTail => 0,
        Rounding::OfPlace => end,
    };
    let memory = without_bytes.iter().fold(before, |size, section| size.next_multiple_of(section.align) + section.size);
    Some(ProgramHeader {
        kind: PT_LOAD,
        flags,
        offset: start,
        file_size: end - start,
        memory_size: end - start + memory - before,
        align: TABLE_ALIGN,
        ..ProgramHeader::default()
    })
}
