//! The table of attributes that are propagated from callees to entry functions, and how values are combined.

use cubin::info::{ATTRIBUTES, Attribute, Record, Symbols, format};

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

/// Whether a record is of a format that there is not, or of another than those of its attribute. That matters where the link changes
/// the value or the numbers of symbols; all others stay as they are.
pub fn is_of_wrong_form(record: &Record<'_>) -> bool {
    let is_sized = record.format == format::SIZED;
    let fits = match RECORD_SHAPES[usize::from(record.attribute.0)] {
        RecordShape::Any => matches!(record.format, format::NO_VALUE..=format::SIZED),
        RecordShape::Short => matches!(record.format, format::NO_VALUE..=format::HALF),
        RecordShape::Payload { least } => is_sized && record.payload.len() >= usize::from(least),
    };
    !fits
}

/// What records of an attribute have to look like.
#[derive(Copy, Clone)]
enum RecordShape {
    Any,
    /// Without a payload.
    Short,
    /// With a payload of so many bytes at least.
    Payload {
        least: u8,
    },
}

/// The shapes of records of attributes, by their numbers.
static RECORD_SHAPES: [RecordShape; 256] = {
    let mut table = [RecordShape::Any; 256];
    let mut row = 0;
    while row < ATTRIBUTES.len() {
        if !matches!(ATTRIBUTES[row].symbols, Symbols::None) {
            table[ATTRIBUTES[row].attribute.0 as usize] = RecordShape::Payload { least: 4 };
        }
        row += 1;
    }
    row = 0;
    while row < PROPAGATED.len() {
        let PropagatedAttribute { attribute, format, .. } = PROPAGATED[row];
        table[attribute.0 as usize] =
            if format == format::SIZED { RecordShape::Payload { least: 0 } } else { RecordShape::Short };
        row += 1;
    }
    // A function and a number.
    table[Attribute::REGCOUNT.0 as usize] = RecordShape::Payload { least: 8 };
    table[Attribute::FRAME_SIZE.0 as usize] = RecordShape::Payload { least: 8 };
    table[Attribute::MIN_STACK_SIZE.0 as usize] = RecordShape::Payload { least: 8 };
    table[Attribute::SYNC_STACK.0 as usize] = RecordShape::Short;
    table[Attribute::SPARSE_MMA_MASK.0 as usize] = RecordShape::Short;
    table
};
