//! Bytes: where they differ first, and how many do.

use cubin::elf::{ProgramHeader, SectionHeader};

use crate::view::View;
use crate::{Area, Change, Differences};

/// Compares the contents of two sections that are only bytes.
pub(crate) fn contents(name: &str, left: &[u8], right: &[u8], out: &mut Differences) {
    if let Some(first) = first_difference(left, right) {
        let what = format!("{} bytes, the first at {first:#x}", count(left, right));
        let change = Change::Value { what, left: line(left, first), right: line(right, first) };
        out.add(Area::Contents, name, change);
    }
}

/// Compares two whole files.
pub(crate) fn files(left: &View<'_, '_>, right: &View<'_, '_>, out: &mut Differences) {
    let (left_bytes, right_bytes) = (left.file.bytes(), right.file.bytes());
    let size = |bytes: &[u8]| format!("{:#x}", bytes.len());
    out.value(Area::Bytes, "", "file size", size(left_bytes), size(right_bytes));
    if let Some(first) = first_difference(left_bytes, right_bytes) {
        let place = place(left, first as u64);
        let what = format!("{} bytes, the first at {first:#x} ({place})", count(left_bytes, right_bytes));
        let change = Change::Value { what, left: line(left_bytes, first), right: line(right_bytes, first) };
        out.add(Area::Bytes, "", change);
    }
}

/// What stands at an offset of a file.
fn place(view: &View<'_, '_>, offset: u64) -> String {
    let header = view.file.header();
    let table = |start: u64, count: usize, size: usize| {
        let inside = offset.checked_sub(start)?;
        (inside < (count as u64).saturating_mul(size as u64)).then(|| inside / size as u64)
    };
    let sections = view.file.sections();
    if offset < u64::from(header.header_size) {
        return "file header".to_owned();
    }
    if let Some(index) = table(header.section_header_offset, sections.len(), SectionHeader::SIZE) {
        return format!("header of section {index}");
    }
    if let Some(index) = table(header.program_header_offset, view.file.segments().len(), ProgramHeader::SIZE) {
        return format!("program header {index}");
    }
    let holder = sections.iter().find_map(|section| {
        let inside = offset.checked_sub(section.header.offset)?;
        (inside < section.data.len() as u64).then_some((section.index, inside))
    });
    match holder {
        Some((index, inside)) => format!("{} + {inside:#x}", view.section(index)),
        None => "padding".to_owned(),
    }
}

fn first_difference(left: &[u8], right: &[u8]) -> Option<usize> {
    let common = left.iter().zip(right).position(|(left, right)| left != right);
    common.or_else(|| (left.len() != right.len()).then(|| left.len().min(right.len())))
}

/// How many bytes differ, counting those that only one side has.
fn count(left: &[u8], right: &[u8]) -> usize {
    let common = left.iter().zip(right).filter(|(left, right)| left != right).count();
    common + left.len().abs_diff(right.len())
}

/// The sixteen bytes of a file or section that an offset lies in: an instruction, in code.
fn line(bytes: &[u8], offset: usize) -> String {
    let start = offset & !0xf;
    let line = bytes.get(start..bytes.len().min(start + 16)).unwrap_or_default();
    if line.is_empty() {
        return "nothing".to_owned();
    }
    line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_as_differences() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!((first_difference(b"abc", b"abcd"), count(b"abc", b"abcd")), (Some(3), 1));
        assert_eq!((first_difference(b"abc", b"xbc"), count(b"abc", b"xbc")), (Some(0), 1));
        assert_eq!(line(b"abc", 3), "61 62 63");
        assert_eq!(line(b"abc", 16), "nothing");
    }
}
