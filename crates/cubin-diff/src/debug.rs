//! Debug information about code, function by function.
//!
//! A function whose code is longer in one file moves what is said of all functions after it. So sections that speak of code are taken apart:
//! each part is about one function, and is compared with the other file's part about the same function.

use cubin::read::Section;

use crate::view::{View, distinct};
use crate::{Area, Change, Difference, Differences, bytes, lists};
use std::collections::HashMap;

/// What a part is about, and its bytes.
type Part = (String, Vec<u8>);

/// How a section is taken apart: its bytes, and the function whose address is wanted at an offset. `None` if it does not have the form.
type Take = fn(&[u8], &Functions<'_>) -> Option<Vec<Part>>;

/// The sections that speak of code, in either view.
const FORMS: [(&str, Take); 4] =
    [(".debug_frame", frames), (".debug_line", lines), (".nv_debug_line_sass", lines), (".nv_debug_info_reg_sass", registers)];

/// What precedes the name of a section in the second view.
const SECOND_VIEW: &str = ".nv.merc";

/// The functions that a section's relocations name, by offset, in ascending order.
type Functions<'data> = Vec<(usize, &'data str)>;

/// The parts of a section, in file order. `None` for other sections, and for those that cannot be taken apart.
pub(crate) fn parts(view: &View<'_, '_>, section: &Section<'_>) -> Option<Vec<Part>> {
    let name = section.name.strip_prefix(SECOND_VIEW).unwrap_or(section.name);
    let (_, take) = FORMS.iter().find(|(form, _)| *form == name)?;
    let mut functions: Functions<'_> =
        view.functions_named(section).filter_map(|(offset, name)| Some((usize::try_from(offset).ok()?, name))).collect();
    functions.sort_unstable();
    functions.dedup();
    take(section.data, &functions)
}

/// Compares the parts of two sections. Returns whether any differ.
pub(crate) fn compare(section: &str, left: &[Part], right: &[Part], out: &mut Differences) -> bool {
    let names = |parts: &[Part]| distinct(parts.iter().map(|(name, _)| name.as_str()));
    let (left_names, right_names) = (names(left), names(right));
    let before = out.0.len();
    lists::compare(Area::Contents, section, &left_names, &right_names, out);
    let by_name: HashMap<_, _> = right_names.iter().zip(right).collect();
    for (name, (_, bytes)) in left_names.iter().zip(left) {
        let Some((_, other)) = by_name.get(name) else { continue };
        let place = format!("{section} {name}");
        match overwritten(bytes).zip(overwritten(other)) {
            Some(((rest, count), (other, other_count)))
                if section == "'.debug_frame'" && rest == other && count != other_count =>
            {
                let (left, right) = (count.to_string(), other_count.to_string());
                out.0.push(Difference {
                    area: Area::Contents,
                    place,
                    change: Change::Value { what: OVERWRITTEN.into(), left, right },
                });
            }
            _ => bytes::contents(&place, bytes, other, out),
        }
    }
    out.0.len() > before
}

fn function_at(functions: &Functions<'_>, offset: usize) -> Option<String> {
    let index = functions.partition_point(|&(place, _)| place < offset);
    functions.get(index).filter(|(place, _)| *place == offset).map(|(_, name)| (*name).to_owned())
}

/// What a part is about that is about no function.
const NO_FUNCTION: &str = "no function";

/// Frames: CIEs and FDEs. An FDE refers to its CIE by its offset; here it is compared together with it.
fn frames(data: &[u8], functions: &Functions<'_>) -> Option<Vec<Part>> {
    const LENGTH_END: usize = 12;
    const REFERENCE_END: usize = 20;
    let record = |at: usize| {
        let length = u64::from_le_bytes(*data.get(at.checked_add(4)?..)?.first_chunk()?);
        data.get(at..at.checked_add(LENGTH_END)?.checked_add(usize::try_from(length).ok()?)?)
    };
    let (mut at, mut parts) = (0, Vec::new());
    while at < data.len() {
        let bytes = record(at)?;
        let reference = u64::from_le_bytes(*bytes.get(LENGTH_END..)?.first_chunk()?);
        if reference != u64::MAX {
            let mut description = bytes.to_vec();
            description.get_mut(LENGTH_END..REFERENCE_END)?.fill(0);
            description.extend_from_slice(record(usize::try_from(reference).ok()?)?);
            parts.push((function_at(functions, at + REFERENCE_END).unwrap_or_else(|| NO_FUNCTION.to_owned()), description));
        }
        at += bytes.len();
    }
    Some(parts)
}

/// The registers that a frame marks as overwritten.
pub(crate) const OVERWRITTEN: &str = "registers that are overwritten";

/// A frame without its marks of overwritten registers, which not all compilers write, and how many there were.
fn overwritten(frame: &[u8]) -> Option<(Vec<u8>, usize)> {
    const LENGTH: std::ops::Range<usize> = 4..12;
    const PROGRAM: usize = 36;
    const ADVANCE: u8 = 4;
    const UNDEFINED: u8 = 7;
    let length = u64::from_le_bytes(*frame.get(LENGTH)?.first_chunk()?);
    let end = LENGTH.end.checked_add(usize::try_from(length).ok()?)?;
    let program = frame.get(PROGRAM..end)?;
    let (mut at, mut advance, mut count) = (0, 0_u32, 0);
    let mut rest = frame.get(..LENGTH.start)?.to_vec();
    rest.extend_from_slice(frame.get(LENGTH.end..PROGRAM)?);
    while let Some(&code) = program.get(at).filter(|&&code| code != 0) {
        let start = at;
        // Registers and offsets are numbers of variable length.
        let numbers = match code {
            ADVANCE => {
                advance = advance.wrapping_add(u32::from_le_bytes(*program.get(at + 1..)?.first_chunk()?));
                at += 5;
                continue;
            }
            0x06 | UNDEFINED => 1,
            0x05 | 0x09 | 0x0c => 2,
            _ => return None,
        };
        at += 1;
        for _ in 0..numbers {
            at += program.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
        if code == UNDEFINED {
            count += 1;
        } else {
            rest.extend_from_slice(&advance.to_le_bytes());
            rest.extend_from_slice(program.get(start..at)?);
            advance = 0;
        }
    }
    rest.extend_from_slice(&advance.to_le_bytes());
    rest.extend_from_slice(frame.get(end..)?);
    Some((rest, count))
}

/// Line tables: units, each with its length in front, a header and sequences, which start by setting the address of a function.
fn lines(data: &[u8], functions: &Functions<'_>) -> Option<Vec<Part>> {
    const LENGTH_END: usize = 4;
    const ADDRESS: usize = 3;
    let (mut at, mut parts) = (0, Vec::new());
    while at < data.len() {
        let length = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
        let end = at.checked_add(LENGTH_END)?.checked_add(usize::try_from(length).ok()?)?;
        let (mut start, mut about) = (at + LENGTH_END, NO_FUNCTION);
        let first = functions.partition_point(|&(address, _)| address < at);
        for &(address, name) in functions.iter().skip(first).take_while(|&&(address, _)| address < end) {
            let next = address.checked_sub(ADDRESS)?;
            if next > start {
                parts.push((about.to_owned(), data.get(start..next)?.to_vec()));
            }
            (start, about) = (next, name);
        }
        parts.push((about.to_owned(), data.get(start..end)?.to_vec()));
        at = end;
    }
    Some(parts)
}

/// Live ranges of registers: a function's name, a count, and as often a word, a name, and three words.
fn registers(data: &[u8], _functions: &Functions<'_>) -> Option<Vec<Part>> {
    let text_end = |at: usize| Some(at + data.get(at..)?.iter().position(|&byte| byte == 0)? + 1);
    let (mut at, mut parts) = (0, Vec::new());
    while at < data.len() {
        let start = at;
        at = text_end(at)?;
        let name = String::from_utf8_lossy(data.get(start..at - 1)?).into_owned();
        let count = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
        at += 4;
        for _ in 0..count {
            at = text_end(at + 4)? + 12;
        }
        parts.push((name, data.get(start..at)?.to_vec()));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parts: Option<Vec<Part>>) -> Option<Vec<(String, usize)>> {
        Some(parts?.into_iter().map(|(name, bytes)| (name, bytes.len())).collect())
    }

    fn owned(parts: &[(&str, usize)]) -> Option<Vec<(String, usize)>> {
        Some(parts.iter().map(|&(name, size)| (name.to_owned(), size)).collect())
    }

    #[test]
    fn descriptions_are_compared_with_what_they_refer_to() {
        let record = |reference: u64| {
            let mut bytes = vec![0xff; 4];
            bytes.extend(24_u64.to_le_bytes());
            bytes.extend(reference.to_le_bytes());
            bytes.extend([7; 16]);
            bytes
        };
        let data = [record(u64::MAX), record(0), record(u64::MAX), record(72)].concat();
        let functions = vec![(36 + 20, "k")];
        assert_eq!(names(frames(&data, &functions)), owned(&[("k", 72), (NO_FUNCTION, 72)]));
        assert_eq!(frames(&data[..30], &functions), None);
        assert_eq!(frames(&record(1 << 40), &functions), None);
    }

    #[test]
    fn registers_that_are_overwritten_are_told_from_the_rest() {
        let frame = |program: &[u8]| {
            let mut bytes = vec![0xff; 4];
            bytes.extend((24 + program.len() as u64).to_le_bytes());
            bytes.extend([0; 24]);
            bytes.extend(program);
            bytes.extend(b"the CIE");
            bytes
        };
        let said = frame(&[0x0c, 0x81, 0x80, 0x80, 0x28, 0, 4, 0x38, 0, 0, 0, 7, 0x86, 0x80, 0x80, 0x28, 4, 4, 0, 0, 0, 0, 0, 0]);
        let (rest, count) = overwritten(&said).expect("a frame");
        assert_eq!(count, 1);
        assert_eq!(overwritten(&frame(&[0x0c, 0x81, 0x80, 0x80, 0x28, 0, 4, 0x3c, 0, 0, 0, 0])), Some((rest.clone(), 0)));
        assert_ne!(overwritten(&frame(&[0x0c, 0x81, 0x80, 0x80, 0x28, 0, 4, 0x38, 0, 0, 0, 0])), Some((rest, 0)));
        assert_eq!(overwritten(&said[..40]), None);
    }

    #[test]
    fn line_tables_are_taken_apart_at_addresses() {
        let data = [&[20, 0, 0, 0][..], &[0; 20], &[4, 0, 0, 0, 1, 2, 3, 4]].concat();
        let functions = vec![(11, "f"), (18, "k")];
        let expected = owned(&[(NO_FUNCTION, 4), ("f", 7), ("k", 9), (NO_FUNCTION, 4)]);
        assert_eq!(names(lines(&data, &functions)), expected);
        assert_eq!(lines(&data[..23], &functions), None);
    }

    #[test]
    fn live_ranges_are_taken_apart_by_names() {
        let range = [&[0; 4][..], b"R1\0", &[0; 12]].concat();
        let data = [b"f\0", &[2, 0, 0, 0][..], &range, &range, b"k\0", &[0; 4]].concat();
        assert_eq!(names(registers(&data, &Vec::new())), owned(&[("f", 44), ("k", 6)]));
        assert_eq!(registers(&data[..40], &Vec::new()), None);
    }
}
