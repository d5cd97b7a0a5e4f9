//! Capsules: Mercury code, coded against the machine code that was made from it.
//!
//! A section `.nv.capmerc.text.F` does not hold the Mercury code of a function but what has to be known besides the machine
//! code in `.text.F` to get the Mercury code back. It starts with three words: the number of the section with the machine
//! code, a version, and the number of Mercury instructions. Then comes one bit per Mercury instruction, padded to whole words:
//! a 1 says that it became one machine instruction and can be read off that. For every 0 there is a token after the bits,
//! which says how many machine instructions it became and, where they do not tell, holds the Mercury instruction itself.
//!
//! | token | length | stands for |
//! |---|---|---|
//! | `01`, `02`, `03` | 16, 32, 48 bytes | one machine instruction; the token is the Mercury instruction, verbatim |
//! | `41`, `42`, `43` | 4 bytes | one machine instruction; the Mercury instruction is read off it |
//! | `51 n`, `d1 n` | 2 bytes, then one of the above | 2n, or 2n+1, machine instructions |
//! | `31` | 16 bytes | nothing: the Mercury instruction became none (compilers since 13.4) |
//! | `50 n`, `d0 n` | 2 bytes | 2n, or 2n+1, machine instructions that only fill up |
//!
//! A linker has to walk a capsule only if it settles a relocation: a field of an instruction that is stored verbatim has to be
//! changed in the capsule too.

use crate::error::{Error, Problem, Result};
use std::ops::Range;

/// Bytes before the bits.
const HEADER_SIZE: usize = 12;
/// Bytes of a machine instruction.
pub const INSTRUCTION_SIZE: u64 = 16;

/// A capsule.
#[derive(Clone, Copy, Debug)]
pub struct Capsule<'data> {
    data: &'data [u8],
}

/// A Mercury instruction that is stored verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbatim {
    /// The machine instructions that it became, by number.
    pub machine: Range<u64>,
    /// Where in the capsule it is.
    pub stored: Range<usize>,
}

/// What a capsule records about a Mercury instruction.
pub(crate) struct Token {
    /// The number of machine instructions that it became.
    machine: u64,
    /// Where in the capsule it is stored verbatim.
    stored: Option<Range<usize>>,
    /// Its length.
    pub(crate) length: Option<u64>,
}

impl<'data> Capsule<'data> {
    /// The capsule in a section with these contents.
    pub fn new(data: &'data [u8]) -> Result<Self> {
        if data.len() < HEADER_SIZE {
            return Err(cut(0, HEADER_SIZE, data.len()));
        }
        Ok(Self { data })
    }

    fn word(&self, offset: usize) -> u32 {
        let bytes = self.data.get(offset..offset + 4).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// The number of the section with the machine code.
    #[must_use]
    pub fn companion(&self) -> u32 {
        self.word(0)
    }

    /// The Mercury instructions that are stored verbatim, in order. The others are only walked over: there may be eight of them
    /// to a byte.
    pub fn verbatim(&self) -> Result<Vec<Verbatim>> {
        let mut found = Vec::new();
        self.walk(|machine, token| found.extend(token.stored.map(|stored| Verbatim { machine, stored })))?;
        Ok(found)
    }

    /// Walks over the Mercury instructions: the machine instructions that each became, and what is known of it.
    pub(crate) fn walk(&self, mut visit: impl FnMut(Range<u64>, Token)) -> Result<()> {
        let count = self.word(8) as usize;
        let bits_size = count.div_ceil(8).next_multiple_of(4);
        let bits = self.data.get(HEADER_SIZE..HEADER_SIZE + bits_size);
        let bits = bits.ok_or_else(|| cut(HEADER_SIZE, bits_size, self.data.len()))?;
        let (mut at, mut instruction) = (HEADER_SIZE + bits_size, 0_u64);
        for index in 0..count {
            let token = match bits[index / 8] >> (index % 8) & 1 {
                1 => Token { machine: 1, stored: None, length: None },
                _ => self.token(&mut at)?,
            };
            let machine = instruction..instruction + token.machine;
            instruction = machine.end;
            visit(machine, token);
        }
        Ok(())
    }

    /// Reads the token at `at` and moves past it.
    fn token(&self, at: &mut usize) -> Result<Token> {
        let start = *at;
        let take = |at: &mut usize, length: usize| {
            let bytes = self.data.get(*at..*at + length).ok_or_else(|| cut(*at, length, self.data.len()))?;
            *at += length;
            Ok::<_, Error>(bytes)
        };
        let counted = |bytes: &[u8]| 2 * u64::from(bytes[1]) + u64::from(bytes[0] >> 7);
        let first = |at: usize| self.data.get(at).copied().unwrap_or(0);
        let mut machine = 1;
        if first(*at) & 0x7f == 0x51 {
            machine = counted(take(at, 2)?);
        }
        match first(*at) {
            size @ 1..=3 => {
                let record = *at;
                take(at, 16 * usize::from(size))?;
                Ok(Token { machine, stored: Some(record..*at), length: Some(16 * u64::from(size)) })
            }
            size @ 0x41..=0x43 => {
                take(at, 4)?;
                Ok(Token { machine, stored: None, length: Some(16 * u64::from(size & 0xf)) })
            }
            0x31 if *at == start => {
                take(at, 16)?;
                Ok(Token { machine: 0, stored: None, length: Some(16) })
            }
            0x50 | 0xd0 if *at == start => Ok(Token { machine: counted(take(at, 2)?), stored: None, length: Some(0) }),
            token => Err(Error::at(*at as u64, Problem::CapsuleToken(token))),
        }
    }
}

fn cut(offset: usize, needed: usize, size: usize) -> Error {
    let available = size.saturating_sub(offset) as u64;
    Error::at(offset as u64, Problem::CutRecord { what: "capsule", needed: needed as u64, available })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capsule(bits: u8, count: u8, tokens: &[u8]) -> Vec<u8> {
        let mut data = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, count, 0, 0, 0, bits, 0, 0, 0];
        data.extend_from_slice(tokens);
        data
    }

    #[test]
    fn every_token_is_walked_by_its_length() {
        let mut tokens = vec![1; 16];
        tokens.extend([0x31; 16]);
        tokens.extend([0x42, 0, 0, 0, 0xd1, 1]);
        tokens.extend([2; 32]);
        tokens.extend([0xd0, 4]);
        let data = capsule(0b00_0100, 6, &tokens);
        let capsule = Capsule::new(&data).unwrap_or(Capsule { data: &[] });
        assert_eq!(capsule.companion(), 7);
        let verbatim = capsule.verbatim().unwrap_or_default();
        assert_eq!(verbatim, [Verbatim { machine: 0..1, stored: 16..32 }, Verbatim { machine: 3..6, stored: 54..86 }]);
    }

    #[test]
    fn damage_is_an_error() {
        assert!(Capsule::new(&[0; 11]).is_err());
        for data in [capsule(0, 1, &[]), capsule(0, 1, &[1; 15]), capsule(0, 1, &[0x77]), capsule(0, 1, &[0xd1, 1, 0x50, 1])] {
            assert!(Capsule::new(&data).and_then(|capsule| capsule.verbatim()).is_err());
        }
        let huge = [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert!(Capsule::new(&huge).and_then(|capsule| capsule.verbatim()).is_err());
    }
}
