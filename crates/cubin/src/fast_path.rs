//! Code that another GPU runs as it is.
//!
//! `.nv.compat` says for which other GPUs of the family the machine code can be used without making it anew
//! ([`Tag::CAN_FASTPATH_FINALIZE`](crate::compat::Tag::CAN_FASTPATH_FINALIZE)), one bit each. The compiler says it of an object as a
//! whole: one function with double-precision arithmetic, which takes another time on `sm_103` than on `sm_100`, clears the bit for all.
//! When a linker leaves that function out, the bit belongs to the functions that are left.
//!
//! The compiler's answer is an "and" over instructions, so the functions that are left get the bit if all their instructions are known
//! from objects that have it. `SUITABLE` lists those. An instruction that it lacks, because it is unsuitable or unknown, or suitable in
//! some forms only, leaves the bit as the compiler set it: a missing bit costs time when a program is loaded, a wrong one correctness.

use crate::capsule::INSTRUCTION_SIZE;

/// A GPU that may run code that was made for another.
struct Other {
    /// The GPU that code was made for.
    made_for: u32,
    /// The bit for the other.
    bit: u64,
}

/// The pairs of GPUs for which the answer depends on the code.
const OTHERS: [Other; 1] = [Other { made_for: 100, bit: 1 << 3 }];

/// The lowest bits of a machine instruction: what it does, and which kinds of operands it has.
const OPCODE_MASK: u16 = 0xfff;

/// The instructions of `sm_100` that were found in code that suits `sm_103`, with their opcodes.
static SUITABLE: [(&str, &[u16]); 109] = [
    ("ACQBULK", &[0x82e]),
    ("ATOM", &[0x98a]),
    ("ATOMG", &[0x3a9, 0x9a3, 0x9a8]),
    ("ATOMS", &[0x38c, 0x58d]),
    ("B2R", &[0x31c]),
    ("BAR", &[0x31d, 0x51d, 0xb1d]),
    ("BMOV", &[0x355, 0x356]),
    ("BMSK", &[0x21b]),
    ("BPT", &[0x95c]),
    ("BRA", &[0x547, 0x947]),
    ("BREV", &[0x301]),
    ("BRX", &[0x949]),
    ("BSSY", &[0x945]),
    ("BSYNC", &[0x941]),
    ("CALL", &[0x343, 0x943, 0x944]),
    ("CCTL", &[0x98f]),
    ("CGAERRBAR", &[0x5ab]),
    ("CREDUX", &[0x2cc]),
    ("CS2R", &[0x805]),
    ("DEPBAR", &[0x91a]),
    ("ELECT", &[0x82f]),
    ("ERRBAR", &[0x9ab]),
    ("EXIT", &[0x94d]),
    ("F2F", &[0x304, 0x310, 0xd10]),
    ("F2FP", &[0x23e]),
    ("F2I", &[0x305, 0x311, 0xd11]),
    ("FADD", &[0x221, 0xe21]),
    ("FADD2", &[0x24b]),
    ("FFMA", &[0x223, 0x423, 0x823, 0xc23]),
    ("FFMA2", &[0x249]),
    ("FLO", &[0x300, 0xd00]),
    ("FMNMX", &[0xc09]),
    ("FMNMX3", &[0x276]),
    ("FMUL", &[0x220, 0x820, 0xc20]),
    ("FMUL2", &[0x24a]),
    ("FRND", &[0x313]),
    ("FSEL", &[0x208]),
    ("FSET", &[0x80a, 0xc0a]),
    ("FSETP", &[0x20b, 0xc0b]),
    ("HADD2", &[0x230]),
    ("HFMA2", &[0x231, 0x431, 0x831]),
    ("HMNMX2", &[0x240]),
    ("HSET2", &[0x233]),
    ("HSETP2", &[0x234]),
    ("I2F", &[0x306, 0x312, 0x906, 0xd06, 0xd12]),
    ("I2FP", &[0x245, 0xc45]),
    ("IABS", &[0x213]),
    ("IADD3", &[0x210, 0x810, 0xc10]),
    ("IDP", &[0x226]),
    ("IMAD", &[0x224, 0x225, 0x227, 0x424, 0x824, 0x825, 0x827, 0xc24, 0xe24]),
    ("ISETP", &[0x20c, 0x80c, 0xc0c]),
    ("LD", &[0x980]),
    ("LDC", &[0xb82]),
    ("LDCU", &[0x7ac]),
    ("LDG", &[0x981]),
    ("LDL", &[0x983]),
    ("LDS", &[0x984]),
    ("LDSM", &[0x83b]),
    ("LEA", &[0x211, 0x811, 0xc11]),
    ("LOP3", &[0x212, 0x812, 0xc12]),
    ("MATCH", &[0x3a1]),
    ("MEMBAR", &[0x992]),
    ("MOV", &[0x202, 0x802, 0xc02]),
    ("MOVM", &[0x23a]),
    ("MUFU", &[0x308]),
    ("NANOSLEEP", &[0x35d, 0x95d]),
    ("NOP", &[0x918]),
    ("P2R", &[0x803]),
    ("PLOP3", &[0x81c]),
    ("POPC", &[0x309, 0xd09]),
    ("PRMT", &[0x216, 0x816]),
    ("QSPC", &[0x3aa]),
    ("R2UR", &[0x2ca]),
    ("REDG", &[0x98e, 0x9a6]),
    ("REDUX", &[0x3c4]),
    ("RET", &[0x950]),
    ("S2R", &[0x919]),
    ("S2UR", &[0x9c3]),
    ("SEL", &[0x207, 0x807]),
    ("SGXT", &[0x21a, 0x81a]),
    ("SHF", &[0x219, 0x819]),
    ("SHFL", &[0x389, 0x589]),
    ("ST", &[0x985]),
    ("STG", &[0x97f, 0x986]),
    ("STL", &[0x387]),
    ("STS", &[0x388, 0x988]),
    ("STSM", &[0x844]),
    ("SULD", &[0xf99]),
    ("SUST", &[0xf9d]),
    ("TEX", &[0xf60]),
    ("TLD", &[0xf66]),
    ("UFLO", &[0x2bd]),
    ("UIADD3", &[0x290, 0x890]),
    ("UIMAD", &[0x2a4, 0x2a5, 0x4a4, 0x8a4]),
    ("UISETP", &[0x28c, 0x88c]),
    ("ULEA", &[0x291]),
    ("ULOP3", &[0x892]),
    ("UMOV", &[0x882, 0xc82]),
    ("USEL", &[0x887]),
    ("USHF", &[0x899]),
    ("UVIRTCOUNT", &[0x84c]),
    ("VABSDIFF", &[0x214]),
    ("VABSDIFF4", &[0x215]),
    ("VIADD", &[0x836, 0xc36]),
    ("VIMNMX", &[0x248, 0x848]),
    ("VOTE", &[0x806]),
    ("VOTEU", &[0x886]),
    ("WARPSYNC", &[0x348, 0x948]),
    ("YIELD", &[0x946]),
];

fn is_suitable(code: &[u8]) -> bool {
    let opcodes = code.chunks(INSTRUCTION_SIZE as usize).filter_map(|instruction| instruction.first_chunk());
    opcodes.map(|&low| u16::from_le_bytes(low) & OPCODE_MASK).all(|opcode| SUITABLE.iter().any(|row| row.1.contains(&opcode)))
}

/// The mask for the functions of an object that stay, when its compiler gave it `mask` for all.
///
/// `kept` and `left_out` is the code of those that stay and of the others. A bit that is missing for no reason that can be seen in either
/// is left alone.
#[must_use]
pub fn mask_of_kept(made_for: u32, mask: u64, kept: &[&[u8]], left_out: &[&[u8]]) -> u64 {
    let explained = |code: &[&[u8]]| code.iter().any(|code| !is_suitable(code));
    let missing = OTHERS.iter().filter(|other| other.made_for == made_for && mask & other.bit == 0);
    missing.filter(|_| explained(left_out) && !explained(kept)).fold(mask, |mask, other| mask | other.bit)
}

/// The instruction that lets dependent grids launch.
const LAUNCH_DEPENDENTS: u16 = 0x82d;

/// Whether code lets dependent grids launch before it ends.
#[must_use]
pub fn exits_early(code: &[u8]) -> bool {
    let opcodes = code.chunks(INSTRUCTION_SIZE as usize).filter_map(|instruction| instruction.first_chunk());
    opcodes.map(|&low| u16::from_le_bytes(low) & OPCODE_MASK).any(|opcode| opcode == LAUNCH_DEPENDENTS)
}

/// The mask for code of which the compiler did not say anything.
#[must_use]
pub fn mask_of_code(made_for: u32, code: &[&[u8]]) -> u64 {
    let missing = OTHERS.iter().filter(|other| other.made_for == made_for && code.iter().any(|code| !is_suitable(code)));
    missing.fold(full_mask(made_for), |mask, other| mask & !other.bit)
}

/// The mask of all GPUs that run code for one as it is: itself among them, where there are others.
#[must_use]
pub fn full_mask(made_for: u32) -> u64 {
    match made_for {
        100 => 0x09,
        120 => 0x50,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(opcodes: &[u16]) -> Vec<u8> {
        opcodes.iter().flat_map(|opcode| [*opcode as u8, (opcode >> 8) as u8 | 0x70].into_iter().chain([0; 14])).collect()
    }

    #[test]
    fn names_ascend_and_opcodes_are_unique() {
        assert!(SUITABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let mut all: Vec<u16> = SUITABLE.iter().flat_map(|row| row.1).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|&opcode| opcode <= OPCODE_MASK));
    }

    #[test]
    fn the_bit_comes_back_with_the_reason_gone() {
        let (integer, double) = (code(&[0x210, 0x94d, 0x918]), code(&[0x229, 0x94d, 0x918]));
        assert_eq!(mask_of_kept(100, 1, &[&integer], &[&double]), 9);
        assert_eq!(mask_of_kept(100, 1, &[&double], &[&integer]), 1);
        assert_eq!(mask_of_kept(100, 1, &[&integer, &double], &[&double]), 1);
        assert_eq!(mask_of_kept(100, 1, &[&integer], &[&integer]), 1);
        assert_eq!(mask_of_kept(100, 9, &[&integer], &[]), 9);
        assert_eq!(mask_of_kept(120, 0x50, &[&integer], &[&double]), 0x50);
        assert_eq!(mask_of_kept(100, 1, &[&code(&[0x210])[..1]], &[&double]), 9);
    }
}
