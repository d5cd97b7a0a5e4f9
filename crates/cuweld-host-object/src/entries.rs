//! What clang's host code lists for registration, and the code that registers it.
//!
//! nvcc's host code registers itself, function by function. clang's lists what there is to register in a section, and has its linker wrapper
//! make the code that goes through the list. Here this is one more unit beside those of nvcc: a constructor calls the function that all
//! units call, with a function that goes through the list. `x86_64_entries.s` and `aarch64_entries.s` are it in assembly language.

use crate::code::{Code, words};
use crate::elf::{Object, Section, SectionIndex, Symbol, SymbolIndex};
use cubin::elf::{SHF_ALLOC, SHF_WRITE, STB_WEAK, STT_FUNC};

/// What clang's host code has for registration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entries<'data> {
    /// The lists, each once.
    pub lists: &'data [EntryList],
    /// The symbols of what is in them.
    pub symbols: &'data [&'data str],
}

/// A list of what clang's host code has for registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryList {
    /// Of clang 21 and later.
    Llvm,
    /// Of earlier ones.
    Cuda,
}

impl EntryList {
    const ALL: [Self; 2] = [Self::Llvm, Self::Cuda];

    /// The section that it is in.
    #[must_use]
    pub fn section(self) -> &'static str {
        match self {
            Self::Llvm => "llvm_offload_entries",
            Self::Cuda => "cuda_offloading_entries",
        }
    }

    /// The list in a section of this name.
    #[must_use]
    pub fn by_section(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.section() == name)
    }

    fn code(self, code: &Code) -> &EntryCode {
        match self {
            Self::Llvm => &code.entries[0],
            Self::Cuda => &code.entries[1],
        }
    }
}

/// The code for one list.
#[derive(Debug)]
pub(crate) struct EntryCode {
    /// The instructions: of a constructor, and of the function that goes through the list.
    pub bytes: &'static [u8],
    /// Where the second function starts.
    pub register: u64,
    /// The places that refer to the table: offset, type, addend.
    pub relocations: &'static [(u64, u32, i64)],
}

/// The size of the table with what follows it.
pub(crate) const TABLE: u64 = 72;

/// Where the table has a fatbin without code: a unit gives one.
const EMPTY_FATBIN: u64 = 56;

/// The table, but for addresses.
pub(crate) fn table() -> [u8; TABLE as usize] {
    let mut table = [0; TABLE as usize];
    // Magic number, version, size of the header; nothing follows.
    table[EMPTY_FATBIN as usize..][..8].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
    table
}

/// Instructions of a list, after what is there.
pub(crate) fn append_code(list: EntryList, code: &Code, text: &mut Vec<u8>) -> u64 {
    text.resize(text.len().next_multiple_of(16), 0);
    let start = text.len() as u64;
    text.extend(list.code(code).bytes);
    start
}

/// Where code and table of a list are.
pub(crate) struct Place {
    /// The section of code, its symbol, and the offset of the list's code in it.
    pub text: (SectionIndex, SymbolIndex, u64),
    /// The same of the table.
    pub data: (SectionIndex, SymbolIndex, u64),
}

/// Adds what connects a list's code with its table and with other objects, and has the constructor run.
pub(crate) fn connect<'data>(list: EntryList, code: &Code, place: &Place, object: &mut Object<'data>) {
    let own = list.code(code);
    let (text, text_start, code_offset) = place.text;
    let (data, data_start, table) = place.data;
    for &(offset, kind, addend) in own.relocations {
        object.relocation(text, code_offset + offset, kind, data_start, table as i64 + addend);
    }
    // The linker defines both if the section is there. Other libraries have sections of their own.
    for (offset, edge) in [(0, "start"), (8, "stop")] {
        let name = format!("__{edge}_{}", list.section());
        let edge = object.symbol(Symbol { binding: STB_WEAK, visibility: HIDDEN, ..Symbol::undefined(name) });
        object.relocation(data, table + offset, code.address, edge, 0);
    }
    let register_entries = (code_offset + own.register) as i64;
    let addresses = [(16, text_start, 0), (24, text_start, register_entries), (32, data_start, (table + EMPTY_FATBIN) as i64)];
    for (offset, symbol, addend) in addresses {
        object.relocation(data, table + offset, code.address, symbol, addend);
    }
    for (offset, name) in [(40, "__cudaRegisterFunction"), (48, "__cudaRegisterVar")] {
        let function = object.symbol(Symbol::undefined(name));
        object.relocation(data, table + offset, code.address, function, 0);
    }
    let constructors = Section { flags: SHF_ALLOC | SHF_WRITE, align: 8, ..Section::new(".init_array", INIT_ARRAY, &[0; 8]) };
    let constructors = object.section(constructors);
    object.relocation(constructors, 0, code.address, text_start, code_offset as i64);
    let function = |name, value| Symbol { value, kind: STT_FUNC, ..Symbol::local(name, text) };
    object.symbol(function("cuweld_register_entries", code_offset + own.register));
}

/// ELF's type of sections of constructors.
const INIT_ARRAY: u32 = 14;

/// ELF's visibility of symbols that other programs and libraries do not see.
const HIDDEN: u8 = 2;

// R_X86_64_PC32
const X86_64_RELOCATIONS: [(u64, u32, i64); 2] = [(0x7, 2, -4), (0x24, 2, -4)];

pub(crate) const X86_64: [EntryCode; 2] = [
    EntryCode {
        bytes: &[
            0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x78, 0x18, 0x48, //
            0x8d, 0x70, 0x18, 0xff, 0x60, 0x10, 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x55, 0x41, 0x54, 0x49, 0x89, //
            0xfc, 0x48, 0x8d, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x2b, 0x48, 0x3b, 0x6b, 0x08, 0x73, //
            0x5d, 0x66, 0x83, 0x7d, 0x0a, 0x02, 0x75, 0x50, 0x4c, 0x89, 0xe7, 0x48, 0x8b, 0x75, 0x10, 0x48, //
            0x8b, 0x55, 0x18, 0x48, 0x89, 0xd1, 0x4c, 0x8b, 0x4d, 0x20, 0x8b, 0x45, 0x0c, 0x4d, 0x85, 0xc9, //
            0x75, 0x17, 0x41, 0xb8, 0xff, 0xff, 0xff, 0xff, 0x41, 0x51, 0x41, 0x51, 0x41, 0x51, 0x41, 0x51, //
            0xff, 0x53, 0x28, 0x48, 0x83, 0xc4, 0x20, 0xeb, 0x1f, 0xa8, 0x07, 0x75, 0x1b, 0x41, 0x89, 0xc0, //
            0x41, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe0, 0x01, 0xc1, 0xe8, 0x04, 0x83, 0xe0, 0x01, 0x6a, 0x00, //
            0x50, 0xff, 0x53, 0x30, 0x48, 0x83, 0xc4, 0x10, 0x48, 0x83, 0xc5, 0x38, 0xeb, 0x9d, 0x41, 0x5c, //
            0x5d, 0x5b, 0xc3,
        ],
        register: 0x16,
        relocations: &X86_64_RELOCATIONS,
    },
    EntryCode {
        bytes: &[
            0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x78, 0x18, 0x48, //
            0x8d, 0x70, 0x18, 0xff, 0x60, 0x10, 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x55, 0x41, 0x54, 0x49, 0x89, //
            0xfc, 0x48, 0x8d, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x2b, 0x48, 0x3b, 0x6b, 0x08, 0x73, //
            0x56, 0x4c, 0x89, 0xe7, 0x48, 0x8b, 0x75, 0x00, 0x48, 0x8b, 0x55, 0x08, 0x48, 0x89, 0xd1, 0x4c, //
            0x8b, 0x4d, 0x10, 0x8b, 0x45, 0x18, 0x4d, 0x85, 0xc9, 0x75, 0x17, 0x41, 0xb8, 0xff, 0xff, 0xff, //
            0xff, 0x41, 0x51, 0x41, 0x51, 0x41, 0x51, 0x41, 0x51, 0xff, 0x53, 0x28, 0x48, 0x83, 0xc4, 0x20, //
            0xeb, 0x1f, 0xa8, 0x07, 0x75, 0x1b, 0x41, 0x89, 0xc0, 0x41, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe0, //
            0x01, 0xc1, 0xe8, 0x04, 0x83, 0xe0, 0x01, 0x6a, 0x00, 0x50, 0xff, 0x53, 0x30, 0x48, 0x83, 0xc4, //
            0x10, 0x48, 0x83, 0xc5, 0x20, 0xeb, 0xa4, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
        ],
        register: 0x16,
        relocations: &X86_64_RELOCATIONS,
    },
];

// R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ADD_ABS_LO12_NC
const AARCH64_RELOCATIONS: [(u64, u32, i64); 4] = [(0x4, 275, 0), (0x8, 277, 0), (0x34, 275, 0), (0x38, 277, 0)];

pub(crate) const AARCH64: [EntryCode; 2] = [
    EntryCode {
        #[rustfmt::skip] // eight words to a line
        bytes: &words::<49, 196>([
            0xd503_245f, 0x9000_0008, 0x9100_0108, 0xf940_0d00, 0x9100_6101, 0xf940_0910, 0xd61f_0200, 0xd503_245f,
            0xa9bd_7bfd, 0x9100_03fd, 0xa901_53f3, 0xf900_13f5, 0xaa00_03f4, 0x9000_0013, 0x9100_0273, 0xf940_0275,
            0xf940_0668, 0xeb08_02bf, 0x5400_0362, 0x7940_16a8, 0x7100_091f, 0x5400_02c1, 0xaa14_03e0, 0xa941_0aa1,
            0xaa02_03e3, 0xf940_12a5, 0xb940_0ea8, 0xb500_0125, 0x1280_0004, 0xaa1f_03e6, 0xaa1f_03e7, 0xa9bf_7fff,
            0xf940_1668, 0xd63f_0100, 0x9100_43ff, 0x1400_0008, 0x7200_091f, 0x5400_00c1, 0x5303_0d04, 0x5304_1106,
            0x2a1f_03e7, 0xf940_1a68, 0xd63f_0100, 0x9100_e2b5, 0x17ff_ffe4, 0xf940_13f5, 0xa941_53f3, 0xa8c3_7bfd,
            0xd65f_03c0,
        ]),
        register: 0x1c,
        relocations: &AARCH64_RELOCATIONS,
    },
    EntryCode {
        #[rustfmt::skip] // eight words to a line
        bytes: &words::<46, 184>([
            0xd503_245f, 0x9000_0008, 0x9100_0108, 0xf940_0d00, 0x9100_6101, 0xf940_0910, 0xd61f_0200, 0xd503_245f,
            0xa9bd_7bfd, 0x9100_03fd, 0xa901_53f3, 0xf900_13f5, 0xaa00_03f4, 0x9000_0013, 0x9100_0273, 0xf940_0275,
            0xf940_0668, 0xeb08_02bf, 0x5400_0302, 0xaa14_03e0, 0xa940_0aa1, 0xaa02_03e3, 0xf940_0aa5, 0xb940_1aa8,
            0xb500_0125, 0x1280_0004, 0xaa1f_03e6, 0xaa1f_03e7, 0xa9bf_7fff, 0xf940_1668, 0xd63f_0100, 0x9100_43ff,
            0x1400_0008, 0x7200_091f, 0x5400_00c1, 0x5303_0d04, 0x5304_1106, 0x2a1f_03e7, 0xf940_1a68, 0xd63f_0100,
            0x9100_82b5, 0x17ff_ffe7, 0xf940_13f5, 0xa941_53f3, 0xa8c3_7bfd, 0xd65f_03c0,
        ]),
        register: 0x1c,
        relocations: &AARCH64_RELOCATIONS,
    },
];
