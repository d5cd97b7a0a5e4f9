//! Relocations: the table of their types, their entries, and the bit fields they change.
//!
//! A relocation names a place in a section, a symbol and an addend; its type says which bits there depend on the
//! symbol's address. Machine instructions have 16 bytes and odd fields: an address can begin at bit 34, or be split
//! around other bits. So a field is a list of [`Bits`], each saying which bits of the value go where.
//!
//! The linker applies what it can know: offsets in constant banks and in shared memory. Addresses of code and of global
//! memory are known to the driver only; relocations for those stay in the linked file. What a type computes is its
//! [`Expression`].

use std::fmt;

use crate::elf::{RelRecord, RelaRecord};
use crate::error::{Error, Problem, Result};
use crate::read::Section;
use crate::section::Contents;

mod table;

pub use table::{CUDA, MERCURY};

/// The type of a relocation. Any value is possible; [`row`](Self::row) describes those that are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelocationType(pub u32);

/// What a relocation computes (S: the symbol, A: the addend).
///
/// Together with where the symbol lives, this decides who applies a relocation: the linker, or the driver when it loads the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expression {
    /// Nothing.
    Nothing,
    /// S + A in the memory that S lives in: the offset in its bank for a constant, the offset in the window for a shared variable.
    Address,
    /// S + A as a generic address, or a part of it. Only the driver knows it, unless S is a shared variable.
    GenericAddress,
    /// S + A in a memory window of the kernel.
    WindowOffset,
    /// The offset of a constant in its bank, and in some fields the bank.
    ConstantOffset,
    /// The same, or the offset of a texture slot in the parameter bank.
    BankOffset,
    /// The distance of S + A from the start of the program, which only a generator of machine code knows.
    ProgramRelative,
    /// The descriptor of a function.
    FunctionDescriptor,
    /// The index or descriptor of a texture, sampler or surface.
    Descriptor,
    /// A whole instruction.
    Instruction,
    /// Zero, when S is a function that the linker removed.
    ClearUnused,
    /// A hint that an instruction may be rewritten.
    Hint,
    /// An offset in the table of unified functions.
    UnifiedOffset,
    /// S + A in the tables of unified functions and variables. Without these tables it is a relocation of the given type.
    Unified(RelocationType),
    /// A field of an instruction encoding before sm_70.
    Legacy,
}

/// What goes into a bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The value: the symbol's address or offset plus the addend.
    Value,
    /// The number of the constant bank that the symbol is in.
    Bank,
    /// Zero, whatever the symbol.
    Zero,
}

/// Some bits of the little-endian word of up to 16 bytes at a relocation's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// Number of the first bit; bit 0 is the lowest of the byte at the relocation's offset.
    pub first_bit: u8,
    /// Number of bits.
    pub width: u8,
    /// How far to the right the part is shifted before its low bits are stored.
    pub value_shift: u8,
    /// What is stored.
    pub part: Part,
}

/// One known relocation type.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownRelocationType {
    /// The type.
    pub kind: RelocationType,
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub expression: Expression,
    /// The bits it changes.
    pub field: &'static [Bits],
}

impl RelocationType {
    /// What types of the Mercury view start from.
    pub const MERCURY_BASE: u32 = 0x1_0000;

    /// What is known about this type.
    #[must_use]
    #[inline]
    pub fn row(self) -> Option<&'static KnownRelocationType> {
        // Both tables have a row for every number, in order.
        let (table, index) = match self.0.checked_sub(Self::MERCURY_BASE) {
            Some(index) => (MERCURY, index),
            None => (CUDA, self.0),
        };
        table.get(usize::try_from(index).ok()?)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// What it computes; nothing, if the type is not known.
    #[must_use]
    #[inline]
    pub fn expression(self) -> Expression {
        self.row().map_or(Expression::Nothing, |row| row.expression)
    }

    /// Whether it is a type of the Mercury view.
    #[must_use]
    #[inline]
    pub fn is_mercury(self) -> bool {
        self.0 >= Self::MERCURY_BASE
    }

    /// The type to use where there are no tables of unified functions and variables.
    #[must_use]
    #[inline]
    pub fn without_unified_tables(self) -> Self {
        match self.expression() {
            Expression::Unified(plain) => plain,
            _ => self,
        }
    }
}

impl fmt::Display for RelocationType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.pad(name),
            None => out.pad(&format!("{:#x}", self.0)),
        }
    }
}

impl fmt::Debug for RelocationType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// One relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where: offset in the target section.
    pub offset: u64,
    /// What to do.
    pub kind: RelocationType,
    /// Index of the symbol.
    pub symbol: u32,
    /// What to add to the symbol's address; 0 in entries that have no room for it.
    pub addend: i64,
}

impl Relocation {
    /// As an entry without addend, which is lost.
    #[must_use]
    pub fn rel(&self) -> RelRecord {
        RelRecord { offset: self.offset, kind: self.kind.0, symbol: self.symbol }
    }

    /// As an entry with addend.
    #[must_use]
    pub fn rela(&self) -> RelaRecord {
        let addend = self.addend.cast_unsigned();
        RelaRecord { offset: self.offset, kind: self.kind.0, symbol: self.symbol, addend }
    }
}

/// The relocations of a section.
#[derive(Clone, Debug)]
pub struct Entries<'data>(Records<'data>);

#[derive(Clone, Debug)]
enum Records<'data> {
    Rel(std::slice::Iter<'data, [u8; RelRecord::SIZE]>),
    Rela(std::slice::Iter<'data, [u8; RelaRecord::SIZE]>),
}

/// Reads the entries of a relocation section of either form and either view.
pub fn entries<'data>(section: &Section<'data>) -> Result<Entries<'data>> {
    let (records, rest, entry_size) = match section.kind().contents() {
        Contents::Rel => {
            let (entries, rest) = section.data.as_chunks();
            (Records::Rel(entries.iter()), rest, RelRecord::SIZE)
        }
        Contents::Rela => {
            let (entries, rest) = section.data.as_chunks();
            (Records::Rela(entries.iter()), rest, RelaRecord::SIZE)
        }
        _ => return Err(Error::new(Problem::NotRelocations).in_section(section)),
    };
    let expected = entry_size as u64;
    // Without a size of their own they have that of their kind.
    let found = section.header.entry_size;
    if found != 0 && found != expected {
        return Err(Error::new(Problem::EntrySize { found, expected }).in_section(section));
    }
    if !rest.is_empty() {
        let problem = Problem::PartialEntry { size: section.data.len() as u64, entry_size: expected };
        return Err(Error::new(problem).in_section(section));
    }
    Ok(Entries(records))
}

impl<'data> Entries<'data> {
    /// The entries in the data of a section that [`entries`] has accepted.
    pub fn in_data(data: &'data [u8], explicit_addends: bool) -> Self {
        Entries(match explicit_addends {
            true => Records::Rela(data.as_chunks().0.iter()),
            false => Records::Rel(data.as_chunks().0.iter()),
        })
    }
}

fn from_rel(bytes: &[u8; RelRecord::SIZE]) -> Relocation {
    let record = RelRecord::read(bytes);
    Relocation { offset: record.offset, kind: RelocationType(record.kind), symbol: record.symbol, addend: 0 }
}

fn from_rela(bytes: &[u8; RelaRecord::SIZE]) -> Relocation {
    let record = RelaRecord::read(bytes);
    let addend = record.addend.cast_signed();
    Relocation { offset: record.offset, kind: RelocationType(record.kind), symbol: record.symbol, addend }
}

impl Iterator for Entries<'_> {
    type Item = Relocation;

    fn next(&mut self) -> Option<Relocation> {
        match &mut self.0 {
            Records::Rel(entries) => entries.next().map(from_rel),
            Records::Rela(entries) => entries.next().map(from_rela),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Records::Rel(entries) => entries.size_hint(),
            Records::Rela(entries) => entries.size_hint(),
        }
    }
}

impl DoubleEndedIterator for Entries<'_> {
    fn next_back(&mut self) -> Option<Relocation> {
        match &mut self.0 {
            Records::Rel(entries) => entries.next_back().map(from_rel),
            Records::Rela(entries) => entries.next_back().map(from_rela),
        }
    }
}

impl ExactSizeIterator for Entries<'_> {}
impl std::iter::FusedIterator for Entries<'_> {}

/// Whether a value replaces the contents of a field, or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The field becomes the value.
    Replace,
    /// The field becomes the sum, cut to its width. Banks and zeros replace even so.
    Add,
}

/// Applies a relocation: stores `value` and `bank` into the bits of `field` at `offset` of a section's contents.
///
/// Bits that do not fit a field are cut off. Nothing is changed when an error is returned.
pub fn apply(field: &[Bits], code: &mut [u8], offset: u64, value: u64, bank: u8, mode: Mode) -> Result<()> {
    // All or nothing is written. One field is looked at when it is.
    if field.len() > 1 {
        for bits in field {
            word(bits, code, offset)?;
        }
    }
    for bits in field {
        let shifted = |part: u64| part.checked_shr(bits.value_shift.into()).unwrap_or(0);
        let stored = match (bits.part, mode) {
            (Part::Value, Mode::Replace) => shifted(value),
            (Part::Value, Mode::Add) => shifted(value).wrapping_add(read_field(bits, code, offset)?),
            (Part::Bank, _) => shifted(bank.into()),
            (Part::Zero, _) => 0,
        };
        write_field(bits, code, offset, stored)?;
    }
    Ok(())
}

/// What the bits of a field hold; the low 64 of them.
pub fn read_field(bits: &Bits, code: &[u8], offset: u64) -> Result<u64> {
    let (range, word) = word(bits, code, offset)?;
    debug_assert!(range.len() <= 16);
    Ok((word >> bits.first_bit & mask(bits)) as u64)
}

/// Replaces the bits of a field by the low bits of `value`, which is stored as it is: not shifted.
pub fn write_field(bits: &Bits, code: &mut [u8], offset: u64, value: u64) -> Result<()> {
    let (range, word) = word(bits, code, offset)?;
    let mask = mask(bits) << bits.first_bit;
    let word = word & !mask | u128::from(value) << bits.first_bit & mask;
    let (length, bytes) = (range.len(), word.to_le_bytes());
    // What is behind the field is what it was, and a known number of bytes is copied faster.
    match code[range.start..].first_chunk_mut() {
        Some(whole) => *whole = bytes,
        None => code[range].copy_from_slice(&bytes[..length]),
    }
    Ok(())
}

fn mask(bits: &Bits) -> u128 {
    1_u128.checked_shl(bits.width.into()).map_or(u128::MAX, |end| end - 1)
}

/// The bytes that a field touches, from the first of its word on, and what they hold. In the word there may be what is behind them, too.
fn word(bits: &Bits, code: &[u8], offset: u64) -> Result<(std::ops::Range<usize>, u128)> {
    let end_bit = u32::from(bits.first_bit) + u32::from(bits.width);
    let found = usize::try_from(offset).ok().and_then(|start| {
        let range = start..start.checked_add(end_bit.div_ceil(8) as usize)?;
        Some((range.clone(), code.get(range)?))
    });
    let Some((range, bytes)) = found.filter(|(_, bytes)| bytes.len() <= 16) else {
        let available = (code.len() as u64).saturating_sub(offset);
        let problem = Problem::FieldPastEnd { first_bit: bits.first_bit.into(), end_bit, available };
        return Err(Error::at(offset, problem));
    };
    let word = code[range.start..].first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        word
    });
    Ok((range, u128::from_le_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tables_have_a_row_for_every_number() {
        for (table, base) in [(CUDA, 0), (MERCURY, RelocationType::MERCURY_BASE)] {
            for (index, row) in table.iter().enumerate() {
                assert_eq!(row.kind.0, base + index as u32, "{}", row.name);
                assert_eq!(row.kind.row().map(|row| row.name), Some(row.name));
            }
            let names: HashSet<_> = table.iter().map(|row| row.name).collect();
            assert_eq!(names.len(), table.len());
        }
        assert_eq!((CUDA.len(), MERCURY.len()), (117, 65));
        assert_eq!(RelocationType(117).to_string(), "0x75");
        assert_eq!(RelocationType(0x10041).row().map(|row| row.name), None);
    }

    #[test]
    fn fields_lie_in_an_instruction_and_do_not_overlap() {
        for row in CUDA.iter().chain(MERCURY) {
            let mut taken = 0_u128;
            for bits in row.field {
                assert!(bits.width > 0 && u32::from(bits.first_bit) + u32::from(bits.width) <= 128, "{}", row.name);
                assert!(bits.value_shift < 64, "{}", row.name);
                let here = mask(bits) << bits.first_bit;
                assert_eq!(taken & here, 0, "{}", row.name);
                taken |= here;
            }
            assert_eq!(row.expression == Expression::Nothing, row.field.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_relocation_without_unified_tables_changes_the_same_bits() {
        for row in CUDA.iter().chain(MERCURY) {
            let plain = row.kind.without_unified_tables();
            assert_eq!(plain != row.kind, row.name.contains("_UNIFIED"), "{}", row.name);
            assert_eq!(plain.row().map(|plain| plain.field), Some(row.field), "{}", row.name);
            assert_eq!(plain.is_mercury(), row.kind.is_mercury(), "{}", row.name);
        }
    }

    #[test]
    fn only_offsets_in_constant_memory_have_a_bank() {
        for row in CUDA.iter().chain(MERCURY).filter(|row| row.field.iter().any(|bits| bits.part == Part::Bank)) {
            let expected = [Expression::ConstantOffset, Expression::BankOffset, Expression::Legacy];
            assert!(expected.contains(&row.expression), "{}", row.name);
        }
    }

    #[test]
    fn every_number_in_a_name_is_in_the_field() {
        // Many names end in width and first bit: ABS24_40, CONST_FIELD21_38 (which counts the bank's 5 bits).
        for row in CUDA {
            let mut parts = row.name.rsplit('_');
            let (Some(Ok(first)), Some(kind)) = (parts.next().map(str::parse::<u8>), parts.next()) else {
                continue;
            };
            for (prefix, bank) in [("ABS", 0), ("FIELD", 5)] {
                let width = kind.strip_prefix(prefix).and_then(|digits| digits.parse::<u8>().ok());
                let Some(width) = width else { continue };
                if row.name.contains("_16_34") || row.name == "R_CUDA_CONST_FIELD19_28" {
                    continue; // The two kinds of split fields.
                }
                assert_eq!((row.field[0].first_bit, row.field[0].width + bank), (first, width), "{}", row.name);
            }
        }
    }

    fn field(kind: u32) -> &'static [Bits] {
        RelocationType(kind).row().map_or(&[], |row| row.field)
    }

    #[test]
    fn constant_fields_hold_offset_and_bank() {
        for (kind, value, low) in [
            (64_u32, 8_u64, 2_u128 << 40 | 3 << 54),
            (66, 8, 8 << 38 | 3 << 54),
            (115, 8, 8 << 37 | 3 << 54),
            (59, 8, 8 << 32),
            (65, 8, 2 << 40),
        ] {
            let mut code = [0; 16];
            assert_eq!(apply(field(kind), &mut code, 0, value, 3, Mode::Replace), Ok(()));
            assert_eq!(u128::from_le_bytes(code), low, "{}", RelocationType(kind));
            // The bank is the same again, the offset doubles.
            assert_eq!(apply(field(kind), &mut code, 0, value, 3, Mode::Add), Ok(()));
            assert_eq!(read_field(&field(kind)[0], &code, 0), Ok((2 * value) >> field(kind)[0].value_shift));
        }
    }

    #[test]
    fn fields_reach_beyond_eight_bytes() {
        let mut code = [0xff; 18];
        assert_eq!(apply(field(75), &mut code, 1, 0x0001_2345_6789_abcc, 0, Mode::Replace), Ok(()));
        let word = u128::from_le_bytes(code[1..17].try_into().unwrap_or_default());
        assert_eq!(word >> 16 & 0xff, 0x0001_2345_6789_abcc >> 2 & 0xff);
        assert_eq!(word >> 34 & ((1 << 47) - 1), 0x0001_2345_6789_abcc >> 10);
        assert_eq!((code[0], code[17], word >> 81), (0xff, 0xff, (1 << 47) - 1));
    }

    #[test]
    fn a_field_may_end_with_the_section_but_not_behind_it() {
        let mut code = [0; 8];
        assert_eq!(apply(field(55), &mut code, 0, 0x1234_5678, 0, Mode::Replace), Ok(()));
        assert_eq!(code, [0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12]);
        for offset in [1, 8, 9, u64::MAX] {
            assert!(apply(field(55), &mut code, offset, 1, 0, Mode::Replace).is_err());
        }
        let error = apply(field(55), &mut code, 1, 1, 0, Mode::Replace).err().map(|error| error.to_string());
        let text = "at offset 0x1: a relocated field of bits 32..64 does not fit into the 7 bytes left";
        assert_eq!(error.as_deref(), Some(text));
        assert_eq!(code, [0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12]);
    }

    #[test]
    fn cleared_words_become_zero() {
        let mut code = [0xff; 8];
        assert_eq!(apply(field(73), &mut code, 0, 7, 0, Mode::Add), Ok(()));
        assert_eq!(code, [0; 8]);
    }
}
