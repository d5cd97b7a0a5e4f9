//! The table of attributes that entry functions take over from the functions that they reach, and how.

use cubin::info::{Attribute, Record, format};

/// How the values of a kernel and of the functions it reaches make one.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Combine {
    /// There is no value: one record says it for all.
    Presence,
    /// The largest.
    Largest,
    /// The sum, each function counted once. The largest number means that it is unknown, and so is the sum then.
    Sum,
    /// The one that was read last.
    Last,
    /// A list of functions from outside of the link: every one once.
    Functions,
    /// A list of words: every one once. Only kernels keep it.
    Words,
    /// A list of small numbers: every one once, the kernel's own first.
    Numbers,
}

/// An attribute that is propagated from functions to the entry functions that reach them.
#[derive(Debug)]
pub struct PropagatedAttribute {
    /// Which.
    pub attribute: Attribute,
    /// How values combine.
    pub combine: Combine,
    /// The format of a record that is made for a kernel that has none.
    pub format: u8,
}

const fn propagated(attribute: Attribute, combine: Combine, format: u8) -> PropagatedAttribute {
    PropagatedAttribute { attribute, combine, format }
}

/// The propagated attributes, in the order in which records of them are made for a program's only kernel.
pub const PROPAGATED: [PropagatedAttribute; 11] = [
    propagated(Attribute::CTAIDZ_USED, Combine::Presence, format::NO_VALUE),
    propagated(Attribute::RESERVED_SMEM_USED, Combine::Presence, format::NO_VALUE),
    propagated(Attribute::VRC_CTA_INIT_COUNT, Combine::Largest, format::BYTE),
    propagated(Attribute::TCGEN05_1CTA_USED, Combine::Presence, format::NO_VALUE),
    propagated(Attribute::TCGEN05_2CTA_USED, Combine::Presence, format::NO_VALUE),
    propagated(Attribute::NUM_BARRIERS, Combine::Largest, format::BYTE),
    propagated(Attribute::REG_RECONFIG, Combine::Last, format::NO_VALUE),
    propagated(Attribute::NUM_MBARRIERS, Combine::Sum, format::HALF),
    propagated(Attribute::EXTERNS, Combine::Functions, format::SIZED),
    propagated(Attribute::AT_ENTRY_FRAGMENTS, Combine::Words, format::SIZED),
    propagated(Attribute::LANGUAGE, Combine::Numbers, format::SIZED),
];

/// The row of an attribute in [`PROPAGATED`].
pub fn propagated_row(attribute: Attribute) -> Option<usize> {
    ROWS[usize::from(attribute.0)].map(usize::from)
}

static ROWS: [Option<u8>; 256] = {
    let mut table = [None; 256];
    let mut row = 0;
    while row < PROPAGATED.len() {
        table[PROPAGATED[row].attribute.0 as usize] = Some(row as u8);
        row += 1;
    }
    table
};

/// Whether a record has a payload where others of its attribute have none, or the other way round. That matters where the link
/// changes the value; all others stay as they are.
pub fn is_of_wrong_form(record: &Record<'_>) -> bool {
    HAS_PAYLOAD[usize::from(record.attribute.0)].is_some_and(|payload| payload != (record.format == format::SIZED))
}

/// For attributes whose value the link changes: whether their records have a payload.
static HAS_PAYLOAD: [Option<bool>; 256] = {
    let mut table = [None; 256];
    table[Attribute::SYNC_STACK.0 as usize] = Some(false);
    table[Attribute::SPARSE_MMA_MASK.0 as usize] = Some(false);
    let mut row = 0;
    while row < PROPAGATED.len() {
        table[PROPAGATED[row].attribute.0 as usize] = Some(PROPAGATED[row].format == format::SIZED);
        row += 1;
    }
    table
};

/// Where the flags of a code section hold the number of named barriers: objects of CUDA 12 and before have no record of it.
pub const BARRIERS_SHIFT: u32 = 20;
