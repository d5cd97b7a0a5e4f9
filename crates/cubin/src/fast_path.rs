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
use crate::target::Target;

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

/// Those that say what it does: whether code suits another GPU does not depend on where operands come from.
const OPERATION_MASK: u16 = OPCODE_MASK >> 3;

/// The instructions of `sm_100` that were found in code that suits `sm_103`, with their opcodes. Those that share one are under the first name.
static SUITABLE: [(&str, &[u16]); 122] = [
    ("ACQBULK", &[0x02e]),
    ("ATOM", &[0x18a, 0x18b]),
    ("ATOMG", &[0x1a3, 0x1a8, 0x1a9]),
    ("ATOMS", &[0x18c, 0x18d]),
    ("B2R", &[0x11c]),
    ("BAR", &[0x11d]),
    ("BMOV", &[0x155, 0x156]),
    ("BMSK", &[0x01b]),
    ("BPT", &[0x15c]),
    ("BRA", &[0x147]),
    ("BREAK", &[0x142]),
    ("BREV", &[0x101]),
    ("BRX", &[0x149]),
    ("BSSY", &[0x145]),
    ("BSYNC", &[0x141]),
    ("CALL", &[0x143, 0x144]),
    ("CCTL", &[0x18f]),
    ("CGAERRBAR", &[0x1ab]),
    ("CREDUX", &[0x0cc]),
    ("CS2R", &[0x005]),
    ("DEPBAR", &[0x11a]),
    ("ELECT", &[0x02f]),
    ("ENDCOLLECTIVE", &[0x11b]),
    ("EXIT", &[0x14d]),
    ("F2F", &[0x104, 0x110]),
    ("F2FP", &[0x03e]),
    ("F2I", &[0x105, 0x111]),
    ("FADD", &[0x021]),
    ("FADD2", &[0x04b]),
    ("FENCE", &[0x1c6]),
    ("FFMA", &[0x023]),
    ("FFMA2", &[0x049]),
    ("FLO", &[0x100]),
    ("FMNMX", &[0x009]),
    ("FMNMX3", &[0x076]),
    ("FMUL", &[0x020]),
    ("FMUL2", &[0x04a]),
    ("FRND", &[0x113]),
    ("FSEL", &[0x008]),
    ("FSET", &[0x00a]),
    ("FSETP", &[0x00b]),
    ("HADD2", &[0x030]),
    ("HFMA2", &[0x031]),
    ("HMNMX2", &[0x040]),
    ("HSET2", &[0x033]),
    ("HSETP2", &[0x034]),
    ("I2F", &[0x106, 0x112]),
    ("I2FP", &[0x045]),
    ("IABS", &[0x013]),
    ("IADD3", &[0x010]),
    ("IDP", &[0x026]),
    ("IMAD", &[0x024, 0x025, 0x027]),
    ("ISETP", &[0x00c]),
    ("LD", &[0x180]),
    ("LDC", &[0x182]),
    ("LDCU", &[0x1ac]),
    ("LDG", &[0x181]),
    ("LDL", &[0x183]),
    ("LDS", &[0x184]),
    ("LDSM", &[0x03b]),
    ("LEA", &[0x011]),
    ("LOP3", &[0x012]),
    ("MATCH", &[0x1a1]),
    ("MEMBAR", &[0x192]),
    ("MOV", &[0x002]),
    ("MOVM", &[0x03a]),
    ("MUFU", &[0x108]),
    ("NANOSLEEP", &[0x15d]),
    ("NOP", &[0x118]),
    ("P2R", &[0x003]),
    ("PLOP3", &[0x01c]),
    ("POPC", &[0x109]),
    ("PRMT", &[0x016]),
    ("QSPC", &[0x1aa]),
    ("R2P", &[0x004]),
    ("R2UR", &[0x0ca]),
    ("REDG", &[0x18e, 0x1a6]),
    ("REDUX", &[0x1c4]),
    ("RET", &[0x150]),
    ("S2R", &[0x119]),
    ("S2UR", &[0x1c3]),
    ("SEL", &[0x007]),
    ("SGXT", &[0x01a]),
    ("SHF", &[0x019]),
    ("SHFL", &[0x189]),
    ("ST", &[0x185]),
    ("STG", &[0x17f, 0x186]),
    ("STL", &[0x187]),
    ("STS", &[0x188]),
    ("STSM", &[0x044]),
    ("SULD", &[0x199]),
    ("SUST", &[0x19d]),
    ("SYNCS", &[0x1a7, 0x1b2]),
    ("TEX", &[0x160]),
    ("TLD", &[0x166]),
    ("UBLKCP", &[0x1ba]),
    ("UBMSK", &[0x09b]),
    ("UBREV", &[0x0be]),
    ("UFLO", &[0x0bd]),
    ("UIADD3", &[0x090]),
    ("UIMAD", &[0x0a4, 0x0a5]),
    ("UISETP", &[0x08c]),
    ("ULEA", &[0x091]),
    ("ULOP3", &[0x092]),
    ("UMOV", &[0x082]),
    ("UPLOP3", &[0x09c]),
    ("UPOPC", &[0x0bf]),
    ("UPRMT", &[0x096]),
    ("USEL", &[0x087]),
    ("USHF", &[0x099]),
    ("UTMACMDFLUSH", &[0x1b7]),
    ("UVIRTCOUNT", &[0x04c]),
    ("VABSDIFF", &[0x014]),
    ("VABSDIFF4", &[0x015]),
    ("VIADD", &[0x036]),
    ("VIADDMNMX", &[0x046]),
    ("VIMNMX", &[0x048]),
    ("VIMNMX3", &[0x00f]),
    ("VOTE", &[0x006]),
    ("VOTEU", &[0x086]),
    ("WARPSYNC", &[0x148]),
    ("YIELD", &[0x146]),
];

fn is_suitable(code: &[u8]) -> bool {
    let opcodes = code.chunks(INSTRUCTION_SIZE as usize).filter_map(|instruction| instruction.first_chunk());
    let mut operations = opcodes.map(|&low| u16::from_le_bytes(low) & OPERATION_MASK);
    operations.all(|operation| SUITABLE.iter().any(|row| row.1.contains(&operation)))
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
    missing.fold(Target::fast_path_mask(made_for), |mask, other| mask & !other.bit)
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
        assert!(all.iter().all(|&operation| operation <= OPERATION_MASK));
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
