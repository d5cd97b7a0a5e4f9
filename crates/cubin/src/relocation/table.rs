//! The relocation types, one row each: number, name, expression, and the bits that change.
//!
//! Names are those that NVIDIA's tools print. Of the fields, those of the types that today's compilers use are known
//! from code before and after a link; those of instruction encodings before sm_70 follow the names.

use super::{Bits, Expression, KnownRelocationType, Part, RelocationType};

/// Bits that hold the value.
const fn value(first_bit: u8, width: u8) -> Bits {
    Bits { first_bit, width, value_shift: 0, part: Part::Value }
}

/// Bits that hold the value without its lowest bits.
const fn upper(first_bit: u8, width: u8, value_shift: u8) -> Bits {
    Bits { first_bit, width, value_shift, part: Part::Value }
}

/// Bits that hold the constant bank.
const fn bank(first_bit: u8, width: u8) -> Bits {
    Bits { first_bit, width, value_shift: 0, part: Part::Bank }
}

/// Bits that become zero.
const fn zero(first_bit: u8, width: u8) -> Bits {
    Bits { first_bit, width, value_shift: 0, part: Part::Zero }
}

/// The highest bit of a five-bit constant bank, where it stands apart from the others.
const fn bank_bit_4(first_bit: u8) -> Bits {
    Bits { first_bit, width: 1, value_shift: 4, part: Part::Bank }
}

macro_rules! relocations {
    ($(#[$about:meta])* $table:ident, $base:expr; $($number:literal $name:ident $expression:ident $(($plain:expr))? [$($bits:expr),*];)*) => {
        impl RelocationType {
            $(#[doc = concat!("`", stringify!($name), "`")] pub const $name: Self = Self($base + $number);)*
        }
        $(#[$about])*
        pub static $table: &[KnownRelocationType] = &[
            $(KnownRelocationType {
                kind: RelocationType($base + $number),
                name: stringify!($name),
                expression: Expression::$expression $(($plain))?,
                field: &[$($bits),*],
            },)*
        ];
    };
}

relocations! {
    /// The types of machine code and data, by number.
    CUDA, 0;
    0 R_CUDA_NONE Nothing [];
    1 R_CUDA_32 Address [value(0, 32)];
    2 R_CUDA_64 Address [value(0, 64)];
    3 R_CUDA_G32 GenericAddress [value(0, 32)];
    4 R_CUDA_G64 GenericAddress [value(0, 64)];
    5 R_CUDA_ABS32_26 GenericAddress [value(26, 32)];
    6 R_CUDA_TEX_HEADER_INDEX Descriptor [value(0, 20)];
    7 R_CUDA_SAMP_HEADER_INDEX Descriptor [value(20, 12)];
    8 R_CUDA_SURF_HW_DESC Descriptor [value(0, 32)];
    9 R_CUDA_SURF_HW_SW_DESC Descriptor [value(0, 32)];
    10 R_CUDA_ABS32_LO_26 GenericAddress [value(26, 32)];
    11 R_CUDA_ABS32_HI_26 GenericAddress [upper(26, 32, 32)];
    12 R_CUDA_ABS32_23 GenericAddress [value(23, 32)];
    13 R_CUDA_ABS32_LO_23 GenericAddress [value(23, 32)];
    14 R_CUDA_ABS32_HI_23 GenericAddress [upper(23, 32, 32)];
    15 R_CUDA_ABS24_26 WindowOffset [value(26, 24)];
    16 R_CUDA_ABS24_23 WindowOffset [value(23, 24)];
    17 R_CUDA_ABS16_26 WindowOffset [value(26, 16)];
    18 R_CUDA_ABS16_23 WindowOffset [value(23, 16)];
    19 R_CUDA_TEX_SLOT Legacy [value(32, 8)];
    20 R_CUDA_SAMP_SLOT Legacy [value(40, 5)];
    21 R_CUDA_SURF_SLOT Legacy [value(26, 6)];
    22 R_CUDA_TEX_BINDLESSOFF13_32 Legacy [upper(32, 13, 2)];
    23 R_CUDA_TEX_BINDLESSOFF13_47 Legacy [upper(47, 13, 2)];
    24 R_CUDA_CONST_FIELD19_28 Legacy [upper(28, 14, 2), bank(42, 4), bank_bit_4(26)];
    25 R_CUDA_CONST_FIELD19_23 Legacy [upper(23, 14, 2), bank(37, 5)];
    26 R_CUDA_TEX_SLOT9_49 Legacy [value(49, 9)];
    27 R_CUDA_6_31 Legacy [value(31, 6)];
    28 R_CUDA_2_47 Legacy [value(47, 2)];
    29 R_CUDA_TEX_BINDLESSOFF13_41 Legacy [upper(41, 13, 2)];
    30 R_CUDA_TEX_BINDLESSOFF13_45 Legacy [upper(45, 13, 2)];
    31 R_CUDA_FUNC_DESC32_23 FunctionDescriptor [value(23, 32)];
    32 R_CUDA_FUNC_DESC32_LO_23 FunctionDescriptor [value(23, 32)];
    33 R_CUDA_FUNC_DESC32_HI_23 FunctionDescriptor [upper(23, 32, 32)];
    34 R_CUDA_FUNC_DESC_32 FunctionDescriptor [value(0, 32)];
    35 R_CUDA_FUNC_DESC_64 FunctionDescriptor [value(0, 64)];
    36 R_CUDA_CONST_FIELD21_26 Legacy [value(26, 16), bank(42, 5)];
    37 R_CUDA_QUERY_DESC21_37 Legacy [value(37, 16), bank(53, 5)];
    38 R_CUDA_CONST_FIELD19_26 Legacy [upper(26, 14, 2), bank(40, 5)];
    39 R_CUDA_CONST_FIELD21_23 Legacy [value(23, 16), bank(39, 5)];
    40 R_CUDA_PCREL_IMM24_26 Legacy [value(26, 24)];
    41 R_CUDA_PCREL_IMM24_23 Legacy [value(23, 24)];
    42 R_CUDA_ABS32_20 GenericAddress [value(20, 32)];
    43 R_CUDA_ABS32_LO_20 GenericAddress [value(20, 32)];
    44 R_CUDA_ABS32_HI_20 GenericAddress [upper(20, 32, 32)];
    45 R_CUDA_ABS24_20 WindowOffset [value(20, 24)];
    46 R_CUDA_ABS16_20 WindowOffset [value(20, 16)];
    47 R_CUDA_FUNC_DESC32_20 FunctionDescriptor [value(20, 32)];
    48 R_CUDA_FUNC_DESC32_LO_20 FunctionDescriptor [value(20, 32)];
    49 R_CUDA_FUNC_DESC32_HI_20 FunctionDescriptor [upper(20, 32, 32)];
    50 R_CUDA_CONST_FIELD19_20 Legacy [upper(20, 14, 2), bank(34, 5)];
    51 R_CUDA_BINDLESSOFF13_36 Legacy [upper(36, 13, 2)];
    52 R_CUDA_SURF_HEADER_INDEX Descriptor [value(0, 20)];
    53 R_CUDA_INSTRUCTION64 Instruction [value(0, 64)];
    54 R_CUDA_CONST_FIELD21_20 Legacy [value(20, 16), bank(36, 5)];
    55 R_CUDA_ABS32_32 GenericAddress [value(32, 32)];
    56 R_CUDA_ABS32_LO_32 GenericAddress [value(32, 32)];
    57 R_CUDA_ABS32_HI_32 GenericAddress [upper(32, 32, 32)];
    58 R_CUDA_ABS47_34 GenericAddress [upper(34, 47, 2)];
    59 R_CUDA_ABS16_32 BankOffset [value(32, 16)];
    60 R_CUDA_ABS24_32 ConstantOffset [value(32, 24)];
    61 R_CUDA_FUNC_DESC32_32 FunctionDescriptor [value(32, 32)];
    62 R_CUDA_FUNC_DESC32_LO_32 FunctionDescriptor [value(32, 32)];
    63 R_CUDA_FUNC_DESC32_HI_32 FunctionDescriptor [upper(32, 32, 32)];
    64 R_CUDA_CONST_FIELD19_40 ConstantOffset [upper(40, 14, 2), bank(54, 5)];
    65 R_CUDA_BINDLESSOFF14_40 BankOffset [upper(40, 14, 2)];
    66 R_CUDA_CONST_FIELD21_38 BankOffset [value(38, 16), bank(54, 5)];
    67 R_CUDA_INSTRUCTION128 Instruction [value(0, 128)];
    68 R_CUDA_YIELD_OPCODE9_0 Hint [value(0, 9)];
    69 R_CUDA_YIELD_CLEAR_PRED4_87 Hint [zero(87, 4)];
    70 R_CUDA_32_LO GenericAddress [value(0, 32)];
    71 R_CUDA_32_HI GenericAddress [upper(0, 32, 32)];
    72 R_CUDA_UNUSED_CLEAR32 ClearUnused [zero(0, 32)];
    73 R_CUDA_UNUSED_CLEAR64 ClearUnused [zero(0, 64)];
    74 R_CUDA_ABS24_40 WindowOffset [value(40, 24)];
    75 R_CUDA_ABS55_16_34 GenericAddress [upper(16, 8, 2), upper(34, 47, 10)];
    76 R_CUDA_8_0 GenericAddress [value(0, 8)];
    77 R_CUDA_8_8 GenericAddress [upper(0, 8, 8)];
    78 R_CUDA_8_16 GenericAddress [upper(0, 8, 16)];
    79 R_CUDA_8_24 GenericAddress [upper(0, 8, 24)];
    80 R_CUDA_8_32 GenericAddress [upper(0, 8, 32)];
    81 R_CUDA_8_40 GenericAddress [upper(0, 8, 40)];
    82 R_CUDA_8_48 GenericAddress [upper(0, 8, 48)];
    83 R_CUDA_8_56 GenericAddress [upper(0, 8, 56)];
    84 R_CUDA_G8_0 GenericAddress [value(0, 8)];
    85 R_CUDA_G8_8 GenericAddress [upper(0, 8, 8)];
    86 R_CUDA_G8_16 GenericAddress [upper(0, 8, 16)];
    87 R_CUDA_G8_24 GenericAddress [upper(0, 8, 24)];
    88 R_CUDA_G8_32 GenericAddress [upper(0, 8, 32)];
    89 R_CUDA_G8_40 GenericAddress [upper(0, 8, 40)];
    90 R_CUDA_G8_48 GenericAddress [upper(0, 8, 48)];
    91 R_CUDA_G8_56 GenericAddress [upper(0, 8, 56)];
    92 R_CUDA_FUNC_DESC_8_0 FunctionDescriptor [value(0, 8)];
    93 R_CUDA_FUNC_DESC_8_8 FunctionDescriptor [upper(0, 8, 8)];
    94 R_CUDA_FUNC_DESC_8_16 FunctionDescriptor [upper(0, 8, 16)];
    95 R_CUDA_FUNC_DESC_8_24 FunctionDescriptor [upper(0, 8, 24)];
    96 R_CUDA_FUNC_DESC_8_32 FunctionDescriptor [upper(0, 8, 32)];
    97 R_CUDA_FUNC_DESC_8_40 FunctionDescriptor [upper(0, 8, 40)];
    98 R_CUDA_FUNC_DESC_8_48 FunctionDescriptor [upper(0, 8, 48)];
    99 R_CUDA_FUNC_DESC_8_56 FunctionDescriptor [upper(0, 8, 56)];
    100 R_CUDA_ABS20_44 WindowOffset [value(44, 20)];
    101 R_CUDA_SAMP_HEADER_INDEX_0 Descriptor [value(0, 12)];
    102 R_CUDA_UNIFIED Unified(RelocationType::R_CUDA_64) [value(0, 64)];
    103 R_CUDA_UNIFIED_32 Unified(RelocationType::R_CUDA_32) [value(0, 32)];
    104 R_CUDA_UNIFIED_8_0 Unified(RelocationType::R_CUDA_8_0) [value(0, 8)];
    105 R_CUDA_UNIFIED_8_8 Unified(RelocationType::R_CUDA_8_8) [upper(0, 8, 8)];
    106 R_CUDA_UNIFIED_8_16 Unified(RelocationType::R_CUDA_8_16) [upper(0, 8, 16)];
    107 R_CUDA_UNIFIED_8_24 Unified(RelocationType::R_CUDA_8_24) [upper(0, 8, 24)];
    108 R_CUDA_UNIFIED_8_32 Unified(RelocationType::R_CUDA_8_32) [upper(0, 8, 32)];
    109 R_CUDA_UNIFIED_8_40 Unified(RelocationType::R_CUDA_8_40) [upper(0, 8, 40)];
    110 R_CUDA_UNIFIED_8_48 Unified(RelocationType::R_CUDA_8_48) [upper(0, 8, 48)];
    111 R_CUDA_UNIFIED_8_56 Unified(RelocationType::R_CUDA_8_56) [upper(0, 8, 56)];
    112 R_CUDA_UNIFIED32_LO_32 Unified(RelocationType::R_CUDA_ABS32_LO_32) [value(32, 32)];
    113 R_CUDA_UNIFIED32_HI_32 Unified(RelocationType::R_CUDA_ABS32_HI_32) [upper(32, 32, 32)];
    114 R_CUDA_ABS56_16_34 UnifiedOffset [upper(16, 8, 2), upper(34, 48, 10)];
    115 R_CUDA_CONST_FIELD22_37 BankOffset [value(37, 17), bank(54, 5)];
    116 R_CUDA_NONE_LAST Nothing [];
}

relocations! {
    /// The types of the Mercury view, by number less [`RelocationType::MERCURY_BASE`].
    ///
    /// Their offsets point at the field itself, so that every field starts at bit 0.
    MERCURY, RelocationType::MERCURY_BASE;
    0x00 R_MERCURY_NONE Nothing [];
    0x01 R_MERCURY_G64 GenericAddress [value(0, 64)];
    0x02 R_MERCURY_ABS64 Address [value(0, 64)];
    0x03 R_MERCURY_ABS32 BankOffset [value(0, 32)];
    0x04 R_MERCURY_ABS16 BankOffset [value(0, 16)];
    0x05 R_MERCURY_ABS32_LO GenericAddress [value(0, 32)];
    0x06 R_MERCURY_ABS32_HI GenericAddress [upper(0, 32, 32)];
    0x07 R_MERCURY_PROG_REL64 ProgramRelative [value(0, 64)];
    0x08 R_MERCURY_PROG_REL32 ProgramRelative [value(0, 32)];
    0x09 R_MERCURY_PROG_REL32_LO ProgramRelative [value(0, 32)];
    0x0a R_MERCURY_PROG_REL32_HI ProgramRelative [upper(0, 32, 32)];
    0x0b R_MERCURY_TEX_HEADER_INDEX Descriptor [value(0, 32)];
    0x0c R_MERCURY_SAMP_HEADER_INDEX Descriptor [value(0, 32)];
    0x0d R_MERCURY_SURF_HEADER_INDEX Descriptor [value(0, 32)];
    0x0e R_MERCURY_UNUSED_CLEAR64 ClearUnused [zero(0, 64)];
    0x0f R_MERCURY_FUNC_DESC_64 FunctionDescriptor [value(0, 64)];
    0x10 R_MERCURY_8_0 GenericAddress [value(0, 8)];
    0x11 R_MERCURY_8_8 GenericAddress [upper(0, 8, 8)];
    0x12 R_MERCURY_8_16 GenericAddress [upper(0, 8, 16)];
    0x13 R_MERCURY_8_24 GenericAddress [upper(0, 8, 24)];
    0x14 R_MERCURY_8_32 GenericAddress [upper(0, 8, 32)];
    0x15 R_MERCURY_8_40 GenericAddress [upper(0, 8, 40)];
    0x16 R_MERCURY_8_48 GenericAddress [upper(0, 8, 48)];
    0x17 R_MERCURY_8_56 GenericAddress [upper(0, 8, 56)];
    0x18 R_MERCURY_G8_0 GenericAddress [value(0, 8)];
    0x19 R_MERCURY_G8_8 GenericAddress [upper(0, 8, 8)];
    0x1a R_MERCURY_G8_16 GenericAddress [upper(0, 8, 16)];
    0x1b R_MERCURY_G8_24 GenericAddress [upper(0, 8, 24)];
    0x1c R_MERCURY_G8_32 GenericAddress [upper(0, 8, 32)];
    0x1d R_MERCURY_G8_40 GenericAddress [upper(0, 8, 40)];
    0x1e R_MERCURY_G8_48 GenericAddress [upper(0, 8, 48)];
    0x1f R_MERCURY_G8_56 GenericAddress [upper(0, 8, 56)];
    0x20 R_MERCURY_FUNC_DESC_8_0 FunctionDescriptor [value(0, 8)];
    0x21 R_MERCURY_FUNC_DESC_8_8 FunctionDescriptor [upper(0, 8, 8)];
    0x22 R_MERCURY_FUNC_DESC_8_16 FunctionDescriptor [upper(0, 8, 16)];
    0x23 R_MERCURY_FUNC_DESC_8_24 FunctionDescriptor [upper(0, 8, 24)];
    0x24 R_MERCURY_FUNC_DESC_8_32 FunctionDescriptor [upper(0, 8, 32)];
    0x25 R_MERCURY_FUNC_DESC_8_40 FunctionDescriptor [upper(0, 8, 40)];
    0x26 R_MERCURY_FUNC_DESC_8_48 FunctionDescriptor [upper(0, 8, 48)];
    0x27 R_MERCURY_FUNC_DESC_8_56 FunctionDescriptor [upper(0, 8, 56)];
    0x28 R_MERCURY_ABS_PROG_REL32_LO ProgramRelative [value(0, 32)];
    0x29 R_MERCURY_ABS_PROG_REL32_HI ProgramRelative [upper(0, 32, 32)];
    0x2a R_MERCURY_PROG_REL8_0 ProgramRelative [value(0, 8)];
    0x2b R_MERCURY_PROG_REL8_8 ProgramRelative [upper(0, 8, 8)];
    0x2c R_MERCURY_PROG_REL8_16 ProgramRelative [upper(0, 8, 16)];
    0x2d R_MERCURY_PROG_REL8_24 ProgramRelative [upper(0, 8, 24)];
    0x2e R_MERCURY_PROG_REL8_32 ProgramRelative [upper(0, 8, 32)];
    0x2f R_MERCURY_PROG_REL8_40 ProgramRelative [upper(0, 8, 40)];
    0x30 R_MERCURY_PROG_REL8_48 ProgramRelative [upper(0, 8, 48)];
    0x31 R_MERCURY_PROG_REL8_56 ProgramRelative [upper(0, 8, 56)];
    0x32 R_MERCURY_UNIFIED Unified(RelocationType::R_MERCURY_ABS64) [value(0, 64)];
    0x33 R_MERCURY_UNIFIED_32 Unified(RelocationType::R_MERCURY_ABS32) [value(0, 32)];
    0x34 R_MERCURY_UNIFIED_8_0 Unified(RelocationType::R_MERCURY_8_0) [value(0, 8)];
    0x35 R_MERCURY_UNIFIED_8_8 Unified(RelocationType::R_MERCURY_8_8) [upper(0, 8, 8)];
    0x36 R_MERCURY_UNIFIED_8_16 Unified(RelocationType::R_MERCURY_8_16) [upper(0, 8, 16)];
    0x37 R_MERCURY_UNIFIED_8_24 Unified(RelocationType::R_MERCURY_8_24) [upper(0, 8, 24)];
    0x38 R_MERCURY_UNIFIED_8_32 Unified(RelocationType::R_MERCURY_8_32) [upper(0, 8, 32)];
    0x39 R_MERCURY_UNIFIED_8_40 Unified(RelocationType::R_MERCURY_8_40) [upper(0, 8, 40)];
    0x3a R_MERCURY_UNIFIED_8_48 Unified(RelocationType::R_MERCURY_8_48) [upper(0, 8, 48)];
    0x3b R_MERCURY_UNIFIED_8_56 Unified(RelocationType::R_MERCURY_8_56) [upper(0, 8, 56)];
    0x3c R_MERCURY_ABS_PROG_REL32 ProgramRelative [value(0, 32)];
    0x3d R_MERCURY_ABS_PROG_REL64 ProgramRelative [value(0, 64)];
    0x3e R_MERCURY_UNIFIED32_LO Unified(RelocationType::R_MERCURY_ABS32_LO) [value(0, 32)];
    0x3f R_MERCURY_UNIFIED32_HI Unified(RelocationType::R_MERCURY_ABS32_HI) [upper(0, 32, 32)];
    0x40 R_MERCURY_NONE_LAST Nothing [];
}
