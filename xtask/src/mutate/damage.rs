//! Ways to damage a file.

#![allow(clippy::ptr_arg, reason = "all have the type that the table asks for; some change the length")]

use crate::random::rng::Rng;

/// A way to damage a file: its name, how often it is chosen, and what it does.
pub struct Damage {
    /// What reports call it.
    pub name: &'static str,
    /// How often it is chosen, compared with the others.
    pub weight: usize,
    /// Changes the bytes.
    pub apply: fn(&mut Vec<u8>, &mut Rng),
}

/// All ways.
pub const DAMAGES: &[Damage] = &[
    Damage { name: "cut off", weight: 4, apply: cut },
    Damage { name: "bits flipped", weight: 4, apply: flip },
    Damage { name: "bytes replaced", weight: 2, apply: replace },
    Damage { name: "an extreme word", weight: 4, apply: extreme_word },
    Damage { name: "an extreme field of the file header", weight: 3, apply: file_header },
    Damage { name: "an extreme field of a section header", weight: 8, apply: section_header },
    Damage { name: "an extreme word in a table", weight: 6, apply: table_entry },
    Damage { name: "two blocks exchanged", weight: 3, apply: exchange },
    Damage { name: "two sections exchanged", weight: 3, apply: exchange_sections },
    Damage { name: "a block repeated", weight: 2, apply: repeat },
    Damage { name: "a block removed", weight: 2, apply: remove },
    Damage { name: "a number in text", weight: 1, apply: digits },
];

/// Chooses a way to damage a file.
pub fn choose(rng: &mut Rng) -> &'static Damage {
    let choices: Vec<(usize, usize)> = DAMAGES.iter().enumerate().map(|(index, damage)| (damage.weight, index)).collect();
    &DAMAGES[rng.weighted(&choices)]
}

/// Whether a damage leaves less of the file and nothing else: such files must be refused.
pub fn is_cut(damage: &Damage) -> bool {
    damage.name == DAMAGES[0].name
}

/// Leaves a part from the start: any length, but more often one that is nearly all of it.
fn cut(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let size = bytes.len();
    let missing = if rng.chance(40) { rng.between(1, 64).min(size) } else { size - rng.below(size) };
    bytes.truncate(size - missing);
}

fn flip(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.between(1, 8) {
        let at = rng.below(bytes.len());
        bytes[at] ^= 1 << rng.below(8);
    }
}

fn replace(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let (start, size) = block(bytes, rng, 32);
    for byte in &mut bytes[start..start + size] {
        *byte = rng.next() as u8;
    }
}

fn extreme_word(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let size = *rng.pick(&[2, 4, 8]);
    let at = rng.below(bytes.len()) / size * size;
    set(bytes, at, size, rng);
}

/// Where the fields of an ELF file header begin, and how long they are.
const FILE_FIELDS: &[(usize, usize)] = &[
    (4, 1),
    (7, 1),
    (8, 1),
    (16, 2),
    (18, 2),
    (20, 4),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
];

fn file_header(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let base = elf(bytes, rng);
    let &(at, size) = rng.pick(FILE_FIELDS);
    set(bytes, base + at, size, rng);
}

/// The same for a section header.
const SECTION_FIELDS: &[(usize, usize)] =
    &[(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)];

fn section_header(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.between(1, 2) {
        let headers = section_headers(bytes, rng);
        if headers.is_empty() {
            return extreme_word(bytes, rng);
        }
        let header = *rng.pick(&headers);
        let &(at, size) = rng.pick(SECTION_FIELDS);
        if rng.chance(30) {
            // A value that is right elsewhere.
            let other = *rng.pick(&headers);
            let value = bytes[other + at..other + at + size].to_vec();
            bytes[header + at..header + at + size].copy_from_slice(&value);
        } else {
            set(bytes, header + at, size, rng);
        }
    }
}

/// Changes a word of a section that is a table of numbers: symbols, relocations, records.
fn table_entry(bytes: &mut Vec<u8>, rng: &mut Rng) {
    const PLAIN_CONTENTS: [u64; 4] = [1, 3, 8, 0];
    let headers = section_headers(bytes, rng);
    let tables: Vec<usize> = headers
        .into_iter()
        .filter(|&header| number(bytes, header + 4, 4).is_some_and(|kind| !PLAIN_CONTENTS.contains(&kind)))
        .collect();
    if tables.is_empty() {
        return extreme_word(bytes, rng);
    }
    let header = *rng.pick(&tables);
    let (start, size) =
        (number(bytes, header + 24, 8).unwrap_or(0) as usize, number(bytes, header + 32, 8).unwrap_or(0) as usize);
    for _ in 0..rng.between(1, 3) {
        let width = *rng.pick(&[1, 2, 4, 4, 8]);
        let at = start.saturating_add(rng.below(size) / width * width);
        set(bytes, at, width, rng);
    }
}

fn exchange(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let ((first, size), second) = (block(bytes, rng, 256), rng.below(bytes.len()));
    for index in 0..size {
        if second + index < bytes.len() {
            bytes.swap(first + index, second + index);
        }
    }
}

/// Lets two section headers name each other's contents.
fn exchange_sections(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let headers = section_headers(bytes, rng);
    if headers.is_empty() {
        return exchange(bytes, rng);
    }
    let (first, second) = (*rng.pick(&headers), *rng.pick(&headers));
    let fields = if rng.chance(50) { 24..40 } else { 0..64 };
    for at in fields {
        bytes.swap(first + at, second + at);
    }
}

fn repeat(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let (start, size) = block(bytes, rng, 512);
    let copy = bytes[start..start + size].to_vec();
    let at = rng.below(bytes.len());
    bytes.splice(at..at, copy);
}

fn remove(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let (start, size) = block(bytes, rng, 64);
    bytes.drain(start..start + size);
}

/// Changes a digit: archives say sizes in decimal.
fn digits(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let found: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
    if let Some(&at) = found.get(rng.below(found.len())) {
        bytes[at] = b'0' + rng.below(10) as u8;
    }
}

/// A random block of at most `most` bytes, as start and size.
fn block(bytes: &[u8], rng: &mut Rng, most: usize) -> (usize, usize) {
    let start = rng.below(bytes.len());
    (start, rng.between(1, most).min(bytes.len() - start))
}

/// Overwrites a number with one that is likely to hurt.
fn set(bytes: &mut [u8], at: usize, size: usize, rng: &mut Rng) {
    let length = bytes.len() as u64;
    let old = number(bytes, at, size).unwrap_or(0);
    let ones = u64::MAX >> (64 - 8 * size);
    let candidates = [
        0,
        1,
        2,
        ones,
        ones - 1,
        ones >> 1,
        (ones >> 1) + 1,
        0x8000_0000,
        0xffff_fff0,
        length,
        length - 1,
        length + 1,
        length << 8,
        old.wrapping_add(1),
        old.wrapping_sub(1),
        old.wrapping_mul(2),
        old ^ 0x80,
        rng.next(),
        rng.below(64) as u64,
    ];
    let value = *rng.pick(&candidates);
    if let Some(place) = at.checked_add(size).and_then(|end| bytes.get_mut(at..end)) {
        place.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Where an ELF file begins: the file itself, or one that is stored in a container. 0 if there is none.
fn elf(bytes: &[u8], rng: &mut Rng) -> usize {
    let found: Vec<usize> = bytes.windows(4).enumerate().filter(|(_, four)| four == b"\x7fELF").map(|(at, _)| at).collect();
    found.get(rng.below(found.len())).copied().unwrap_or(0)
}

/// Where the section headers of an ELF file are.
fn section_headers(bytes: &[u8], rng: &mut Rng) -> Vec<usize> {
    let base = elf(bytes, rng);
    let (Some(table), Some(count)) = (number(bytes, base + 40, 8), number(bytes, base + 60, 2)) else { return Vec::new() };
    let place = |index: u64| usize::try_from(table.checked_add(index * 64)?).ok()?.checked_add(base);
    (0..count).filter_map(place).filter(|&header| header.checked_add(64).is_some_and(|end| end <= bytes.len())).collect()
}
