//! Places in Mercury code, and where they are in the machine code.
//!
//! A capsule does not hold the Mercury instructions that can be read off machine instructions, nor how long they are. How long they are
//! depends on the instruction: 16 bytes have room for two operands in registers, 32 for a third or for a number. `LENGTHS` has the
//! instructions for which this was observed, by comparing the two line tables of objects, which name the same places in both codes, and by
//! comparing sums of lengths with sizes of functions.

use crate::capsule::{Capsule, INSTRUCTION_SIZE};
use crate::error::Result;

/// How long Mercury instructions are that can be read off a machine instruction.
struct Length {
    /// The machine instructions.
    opcodes: &'static [u16],
    /// Bytes.
    bytes: u64,
    /// Where more operands show that make the instruction longer: the first of two bytes of the machine instruction, the bits that count,
    /// and their value without such operands.
    more: Option<(usize, u16, u16)>,
}

const SHORT: u64 = 16;
const LONG: u64 = 32;

static LENGTHS: [Length; 5] = [
    Length {
        opcodes: &[
            0x202, 0x207, 0x208, 0x209, 0x20a, 0x213, 0x216, 0x219, 0x21a, 0x220, 0x221, 0x224, 0x226, 0x228, 0x229, 0x230,
            0x236, 0x23a, 0x23e, 0x245, 0x248, 0x28c, 0x291, 0x2bd, 0x2ca, 0x300, 0x301, 0x302, 0x304, 0x305, 0x306, 0x307,
            0x308, 0x309, 0x310, 0x311, 0x312, 0x313, 0x3a1, 0x3c4, 0x802, 0x806, 0x882, 0x886, 0x918, 0x941, 0x942, 0x945,
            0x946, 0x94d, 0x95c, 0x95d, 0x9af, 0xc02, 0xc0c, 0xc24, 0xc28, 0xc36, 0xc45, 0xc82, 0xd08, 0xd12, 0xe24, 0xe29,
            0xe2a,
        ],
        bytes: SHORT,
        more: None,
    },
    Length {
        opcodes: &[
            0x211, 0x215, 0x223, 0x225, 0x227, 0x22b, 0x231, 0x233, 0x234, 0x343, 0x388, 0x3aa, 0x421, 0x423, 0x424, 0x431,
            0x434, 0x547, 0x589, 0x803, 0x807, 0x808, 0x809, 0x80b, 0x80c, 0x810, 0x811, 0x812, 0x816, 0x819, 0x81a, 0x81c,
            0x820, 0x823, 0x824, 0x825, 0x827, 0x831, 0x836, 0x83b, 0x890, 0x892, 0x8a4, 0x908, 0x944, 0x947, 0x949, 0x94e,
            0x981, 0x984, 0x988, 0x989, 0xc11, 0xc12, 0xc2b, 0xe2b, 0xf89,
        ],
        bytes: LONG,
        more: None,
    },
    // A third register.
    Length { opcodes: &[0x210, 0x212, 0x290, 0xc10], bytes: SHORT, more: Some((8, 0xff, 0xff)) },
    Length { opcodes: &[0x20c], bytes: SHORT, more: Some((8, 0xff, 0x70)) },
    // A second predicate to set, or one to combine with.
    Length { opcodes: &[0x20b, 0x22a], bytes: SHORT, more: Some((10, 0x7f0, 0x3f0)) },
];

/// Sums and products that can take in a carry: longer than others then.
const WITH_CARRY: [u16; 6] = [0x210, 0x224, 0x290, 0xc10, 0xc24, 0xe24];
/// Where they say so.
const CARRY: (usize, u8) = (9, 4);

/// The length of the Mercury instruction that a machine instruction stands for; none if that is not known.
fn length(instruction: &[u8]) -> Option<u64> {
    let opcode = u16::from_le_bytes(*instruction.first_chunk()?) & 0xfff;
    if WITH_CARRY.contains(&opcode) && instruction.get(CARRY.0)? & CARRY.1 != 0 {
        return Some(LONG);
    }
    let row = LENGTHS.iter().find(|row| row.opcodes.contains(&opcode))?;
    match row.more {
        Some((at, bits, without)) if u16::from_le_bytes(*instruction.get(at..)?.first_chunk()?) & bits != without => Some(LONG),
        _ => Some(row.bytes),
    }
}

/// Machine instructions after the one that a Mercury instruction stands for: fences report errors and invalidate caches (ERRBAR, CGAERRBAR,
/// CCTL), barriers in shared memory are initialised after what computes their state, and what moves or shifts both halves of a number
/// is the first. What is before it is padding, or orders shared memory.
const BEHIND: [u16; 9] = [0x9ab, 0x5ab, 0x98f, 0x9b1, 0x3c6, 0x819, 0x899, 0x202, 0xc82];

/// A machine instruction that is a part of the one behind it.
const BEFORE: u16 = 0x3c6;

/// Which of the machine instructions from `first` to `last` a Mercury instruction stands for, and where it begins.
fn main_instruction(code: &[u8], first: u64, last: u64) -> (u64, u64) {
    let opcode = |at: u64| code.get(usize::try_from(at).ok()?..)?.first_chunk().map(|&bytes| u16::from_le_bytes(bytes) & 0xfff);
    let mut main = last;
    while main > first && opcode(main).is_some_and(|opcode| BEHIND.contains(&opcode)) {
        main -= INSTRUCTION_SIZE;
    }
    let mut start = main;
    while start > first && opcode(start - INSTRUCTION_SIZE) == Some(BEFORE) {
        start -= INSTRUCTION_SIZE;
    }
    (main, start)
}

/// Where the Mercury instructions of a function start, and where the machine instructions are that they became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    instructions: Vec<Place>,
    /// After the last one, if it is known where that is: padding of the machine code.
    end: Option<(u64, u64)>,
}

/// The place of a Mercury instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    mercury: u64,
    /// The padding before it, or else the first machine instruction.
    before: u64,
    /// The first machine instruction.
    first: u64,
    /// The one that it stands for.
    main: u64,
    /// The last one.
    last: u64,
    /// The last one before the one that the next Mercury instruction stands for, or before the padding at the end.
    until: u64,
}

impl Places {
    /// The places in a function, as far as they are known: its capsule, its machine code, and the size of its Mercury code.
    pub fn new(capsule: Capsule<'_>, code: &[u8], mercury_size: u64) -> Result<Self> {
        let (mut lengths, mut groups, mut end) = (Vec::new(), Vec::<[u64; 5]>::new(), None);
        capsule.walk(|machine, token| {
            let [start, last] =
                [machine.start, machine.end.saturating_sub(1)].map(|index| index.saturating_mul(INSTRUCTION_SIZE));
            // What is after the end of the code is damage that is of no concern here.
            let instruction = usize::try_from(start).ok().and_then(|start| code.get(start..)).filter(|it| !it.is_empty());
            end = Some((mercury_size, start)).filter(|_| token.length == Some(0));
            if let Some(instruction) = instruction.filter(|_| token.length != Some(0)) {
                // An instruction without machine code stands for the next one that has some.
                let (main, begin) = if machine.is_empty() { (start, start) } else { main_instruction(code, start, last) };
                let before = groups.last_mut().map_or(start, |[.., last, until]| {
                    *until = begin.saturating_sub(INSTRUCTION_SIZE);
                    last.saturating_add(INSTRUCTION_SIZE)
                });
                lengths.push(token.length.or_else(|| length(instruction)));
                groups.push([before, start, main, last, last]);
            }
        })?;
        let known: u64 = lengths.iter().flatten().sum();
        // If only one is not known, the other known places determine it.
        if let Some(index) = lengths.iter().position(Option::is_none)
            && lengths.iter().rposition(Option::is_none) == Some(index)
        {
            lengths[index] = mercury_size.checked_sub(known);
        }
        let place = |(mercury, &[before, first, main, last, until]): (u64, &[u64; 5])| Place {
            mercury,
            before,
            first,
            main,
            last,
            until,
        };
        let from_start = lengths.iter().scan(Some(0), |place: &mut Option<u64>, length| {
            let here = (*place)?;
            *place = length.map(|length| here + length);
            Some(here)
        });
        let mut places: Vec<Place> = from_start.zip(&groups).map(place).collect();
        let from_end = lengths.iter().rev().scan(mercury_size, |place, length| {
            *place = place.checked_sub((*length)?)?;
            Some(*place)
        });
        places.extend(from_end.zip(groups.iter().rev()).map(place));
        places.sort_unstable();
        places.dedup();
        Ok(Places { instructions: places, end })
    }

    fn at(&self, mercury: u64) -> Option<&Place> {
        let index = self.instructions.partition_point(|place| place.mercury < mercury);
        self.instructions.get(index).filter(|place| place.mercury == mercury)
    }

    /// After the machine code of what is before a place, where a Mercury instruction starts or all Mercury code ends.
    #[must_use]
    pub fn machine_behind(&self, mercury: u64) -> Option<u64> {
        self.at(mercury).map(|place| place.before).or_else(|| self.end.filter(|end| end.0 == mercury).map(|end| end.1))
    }

    /// The machine instruction that the Mercury instruction at a place stands for; none if there is none, or if that is not known.
    #[must_use]
    pub fn machine_main(&self, mercury: u64) -> Option<u64> {
        self.at(mercury).map(|place| place.main)
    }

    /// The last machine instruction before the one that the next Mercury instruction stands for, likewise.
    #[must_use]
    pub fn machine_until(&self, mercury: u64) -> Option<u64> {
        self.at(mercury).map(|place| place.until)
    }

    /// The last machine instruction of the Mercury instruction at a place, likewise.
    #[must_use]
    pub fn machine_last(&self, mercury: u64) -> Option<u64> {
        self.at(mercury).map(|place| place.last)
    }

    /// The machine code of the first Mercury instruction that starts at a place or after it; none after the last one.
    #[must_use]
    pub fn machine_from(&self, mercury: u64) -> Option<u64> {
        let index = self.instructions.partition_point(|place| place.mercury < mercury);
        self.instructions.get(index).map(|place| place.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(opcode: u16, third: u8) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&(opcode | 0x7000).to_le_bytes());
        bytes[8] = third;
        bytes
    }

    #[test]
    fn lengths_depend_on_operands() {
        assert_eq!(length(&instruction(0x210, 0xff)), Some(16));
        assert_eq!(length(&instruction(0x210, 4)), Some(32));
        assert_eq!(length(&instruction(0x224, 4)), Some(16));
        let mut with_carry = instruction(0x290, 0xff);
        assert_eq!(length(&with_carry), Some(16));
        with_carry[9] = 0xe4;
        assert_eq!(length(&with_carry), Some(32));
        assert_eq!(length(&instruction(0x20c, 0x70)), Some(16));
        let mut compared = instruction(0x22a, 4);
        assert_eq!(length(&compared), Some(32));
        compared[10..12].copy_from_slice(&[0xf0, 3]);
        assert_eq!(length(&compared), Some(16));
        assert_eq!(length(&instruction(0x981, 0)), Some(32));
        assert_eq!(length(&instruction(0x7ff, 0)), None);
        assert_eq!(length(&[0x10]), None);
        let mut all: Vec<u16> = LENGTHS.iter().flat_map(|row| row.opcodes).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn places_are_known_up_to_what_is_not() -> Result<()> {
        let capsule = |count: u8| [&[7, 0, 0, 0, 1, 0, 0, 0xc0, count, 0, 0, 0, 0xff, 0, 0, 0][..], &[]].concat();
        let code = |opcodes: &[u16]| opcodes.iter().flat_map(|&opcode| instruction(opcode, 0)).collect::<Vec<_>>();
        let places = |opcodes: &[u16], size| {
            let data = capsule(opcodes.len() as u8);
            Places::new(Capsule::new(&data)?, &code(opcodes), size)
        };
        let starts = |opcodes: &[u16], size| {
            Ok(places(opcodes, size)?.instructions.iter().map(|place| (place.mercury, place.first)).collect::<Vec<_>>())
        };
        assert_eq!(starts(&[0x981, 0x202, 0x210], 80)?, [(0, 0), (32, 16), (48, 32)]);
        assert_eq!(starts(&[0x981, 0x7ff, 0x210], 80)?, [(0, 0), (32, 16), (48, 32)]);
        assert_eq!(starts(&[0x7ff, 0x7ff, 0x210], 112)?, [(0, 0), (80, 32)]);
        assert_eq!(starts(&[0x981], 0)?, [(0, 0)]);
        let known = places(&[0x981, 0x202, 0x210], 80)?;
        assert_eq!([0, 16, 32, 48, 49].map(|place| known.machine_from(place)), [Some(0), Some(16), Some(16), Some(32), None]);
        assert_eq!([0, 16, 32].map(|place| known.machine_last(place)), [Some(0), None, Some(16)]);
        Ok(())
    }

    #[test]
    fn what_fills_up_stands_for_no_instruction() -> Result<()> {
        // An instruction, three to fill up, another instruction, and two to fill up.
        let data = [7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0b101, 0, 0, 0, 0xd0, 1, 0x50, 1];
        let code = [0x202, 0x918, 0x918, 0x918, 0x202, 0x947, 0x918].map(|opcode| instruction(opcode, 0)).concat();
        let places = Places::new(Capsule::new(&data)?, &code, 32)?;
        assert_eq!([0, 16].map(|place| places.machine_main(place)), [Some(0), Some(64)]);
        assert_eq!([0, 16].map(|place| places.machine_last(place)), [Some(0), Some(64)]);
        assert_eq!([0, 16].map(|place| places.machine_until(place)), [Some(48), Some(64)]);
        assert_eq!([0, 16, 24, 32].map(|place| places.machine_behind(place)), [Some(0), Some(16), None, Some(80)]);
        Ok(())
    }
    #[test]
    fn a_fence_stands_for_what_orders_memory() -> Result<()> {
        // An instruction, and a fence: shared memory, two barriers, errors, caches.
        let data = [7, 0, 0, 0, 1, 0, 0, 0xc0, 2, 0, 0, 0, 0b01, 0, 0, 0, 0xd1, 2, 0x41, 0, 0, 0];
        let code = [0x202, 0x984, 0x992, 0x992, 0x9ab, 0x98f].map(|opcode| instruction(opcode, 0)).concat();
        let places = Places::new(Capsule::new(&data)?, &code, 32)?;
        assert_eq!([0, 16].map(|place| places.machine_main(place)), [Some(0), Some(48)]);
        assert_eq!([0, 16].map(|place| places.machine_last(place)), [Some(0), Some(80)]);
        assert_eq!([0, 16].map(|place| places.machine_until(place)), [Some(32), Some(80)]);
        assert_eq!(places.machine_behind(16), Some(16));
        Ok(())
    }

    #[test]
    fn of_several_instructions_one_counts() -> Result<()> {
        // A sum with both halves shifted, a barrier that is initialised, and a copy by a tensor map.
        let data = [
            7, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0, 0, 0, 0, 0, 0xd1, 1, 0x41, 0, 0, 0, 0xd1, 1, 0x41, 0, 0, 0, 0x51, 1, 0x41, 0,
            0, 0,
        ];
        let code = [0x810, 0x819, 0x819, 0x988, 0x3c6, 0x9b1, 0x3c6, 0x5b2].map(|opcode| instruction(opcode, 0)).concat();
        let places = Places::new(Capsule::new(&data)?, &code, 48)?;
        assert_eq!([0, 16, 32].map(|place| places.machine_main(place)), [Some(0), Some(48), Some(112)]);
        assert_eq!([0, 16, 32].map(|place| places.machine_until(place)), [Some(32), Some(80), Some(112)]);
        Ok(())
    }
}
