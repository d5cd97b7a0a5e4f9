//! The file header and the program headers, field by field.

use cubin::elf::ProgramHeader;

use crate::view::View;
use crate::{Area, Change, Differences};

/// Compares the file headers.
pub(crate) fn header(left: &View<'_, '_>, right: &View<'_, '_>, out: &mut Differences) {
    let fields = |view: &View<'_, '_>| {
        let header = view.file.header();
        [
            ("identification", format!("{:02x?}", header.ident)),
            ("type", header.kind.to_string()),
            ("version", header.version.to_string()),
            ("entry", format!("{:#x}", header.entry)),
            ("flags", format!("{:#010x}", header.flags)),
            ("offset of section headers", format!("{:#x}", header.section_header_offset)),
            ("number of sections", view.file.sections().len().to_string()),
            ("size of a section header", header.section_header_size.to_string()),
            ("section of section names", header.section_names.to_string()),
            ("offset of program headers", format!("{:#x}", header.program_header_offset)),
            ("number of segments", header.program_header_count.to_string()),
            ("size of a program header", header.program_header_size.to_string()),
            ("header size", header.header_size.to_string()),
        ]
    };
    for ((what, left), (_, right)) in fields(left).into_iter().zip(fields(right)) {
        out.value(Area::Header, "", what, left, right);
    }
}

/// Compares the program headers, one by one.
pub(crate) fn segments(left: &View<'_, '_>, right: &View<'_, '_>, out: &mut Differences) {
    let fields = |segment: &ProgramHeader| {
        [
            ("type", u64::from(segment.kind)),
            ("flags", u64::from(segment.flags)),
            ("offset", segment.offset),
            ("virtual address", segment.virtual_address),
            ("physical address", segment.physical_address),
            ("file size", segment.file_size),
            ("memory size", segment.memory_size),
            ("alignment", segment.align),
        ]
        .map(|(what, value)| (what, format!("{value:#x}")))
    };
    let (left, right) = (left.file.segments(), right.file.segments());
    for index in 0..left.len().max(right.len()) {
        let place = index.to_string();
        let text = |segment: &ProgramHeader| format!("{segment:?}");
        match (left.get(index), right.get(index)) {
            (Some(left), Some(right)) => {
                for ((what, left), (_, right)) in fields(left).into_iter().zip(fields(right)) {
                    out.value(Area::Segments, &place, what, left, right);
                }
            }
            (Some(left), None) => out.add(Area::Segments, &place, Change::OnlyLeft(text(left))),
            (None, Some(right)) => out.add(Area::Segments, &place, Change::OnlyRight(text(right))),
            (None, None) => {}
        }
    }
}
