//! The machine code that registers linked device code, for each processor.
//!
//! It is constant: what differs from object to object is in a table that relocations fill. `x86_64.s` and `aarch64.s` beside this file are
//! the same in assembly language; a test assembles them, and compares.

use crate::entries::{self, EntryCode};
use cubin::elf;

/// What a processor needs.
#[derive(Debug)]
pub(crate) struct Code {
    /// ELF's number of the processor.
    pub machine: u16,
    /// The instructions of both functions.
    pub bytes: &'static [u8],
    /// Where the second function starts.
    pub unregister: u64,
    /// The places that refer to the table: offset, type, addend.
    pub relocations: &'static [(u64, u32, i64)],
    /// The type of a relocation that stores an address.
    pub address: u32,
    /// The property that says that all functions start with a landing pad: type and value.
    pub property: (u32, u32),
    /// What registers lists of clang's host code.
    pub entries: [EntryCode; 2],
    /// The flag of sections that may be far away from code, where there is one.
    pub large: Option<u64>,
    /// The assembler that makes the same code, and the sources of it and of what registers lists.
    #[cfg(test)]
    pub source: (&'static [&'static str], &'static str, &'static str),
}

/// The type of a relocation that does nothing, for every processor.
pub(crate) const NONE: u32 = 0;

pub(crate) const X86_64: Code = Code {
    machine: 62,
    bytes: &[
        0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x48, 0x08, 0x48, //
        0x3b, 0x48, 0x10, 0x73, 0x21, 0x48, 0x8b, 0x50, 0x20, 0x48, 0x89, 0x3c, 0xca, 0x48, 0x8b, 0x50, //
        0x28, 0x48, 0x8b, 0x76, 0x08, 0x48, 0x89, 0x34, 0xca, 0x48, 0xff, 0xc1, 0x48, 0x89, 0x48, 0x08, //
        0x48, 0x3b, 0x48, 0x10, 0x74, 0x01, 0xc3, 0x53, 0x55, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xc3, //
        0x48, 0x8b, 0x7b, 0x18, 0xff, 0x53, 0x38, 0x48, 0x89, 0x03, 0x48, 0x8b, 0x7b, 0x30, 0xff, 0x53, //
        0x50, 0x31, 0xed, 0x48, 0x8b, 0x43, 0x20, 0x48, 0x8b, 0x3b, 0xff, 0x14, 0xe8, 0x48, 0xff, 0xc5, //
        0x48, 0x3b, 0x6b, 0x10, 0x72, 0xed, 0x48, 0x8b, 0x3b, 0x48, 0x8b, 0x43, 0x40, 0x48, 0x83, 0xc4, //
        0x08, 0x5d, 0x5b, 0xff, 0xe0, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00, //
        0x48, 0x8b, 0x38, 0xff, 0x60, 0x48,
    ],
    unregister: 0x75,
    // R_X86_64_PC32
    relocations: &[(0x7, 2, -4), (0x7c, 2, -4)],
    // R_X86_64_64
    address: 1,
    // GNU_PROPERTY_X86_FEATURE_1_AND: IBT and SHSTK.
    property: (0xc000_0002, 3),
    // SHF_X86_64_LARGE
    entries: entries::X86_64,
    large: Some(0x1000_0000),
    #[cfg(test)]
    source: (&["as", "x86_64-linux-gnu-as"], include_str!("x86_64.s"), include_str!("x86_64_entries.s")),
};

pub(crate) const AARCH64: Code = Code {
    machine: 183,
    #[rustfmt::skip] // eight words to a line
    bytes: &words::<46, 184>([
        0xd503_245f, 0x9000_0004, 0x9100_0084, 0xa940_9885, 0xeb06_00bf, 0x5400_0122, 0xa942_2087, 0xf825_78e0,
        0xf940_0421, 0xf825_7901, 0x9100_04a5, 0xf900_0485, 0xeb06_00bf, 0x5400_0040, 0xd65f_03c0, 0xa9be_7bfd,
        0x9100_03fd, 0xa901_53f3, 0xaa04_03f3, 0xf940_0e60, 0xf940_1e62, 0xd63f_0040, 0xf900_0260, 0xf940_1a60,
        0xf940_2a62, 0xd63f_0040, 0xd280_0014, 0xf940_1262, 0xf874_7842, 0xf940_0260, 0xd63f_0040, 0x9100_0694,
        0xf940_0a62, 0xeb02_029f, 0x54ff_ff23, 0xf940_0260, 0xf940_2270, 0xa941_53f3, 0xa8c2_7bfd, 0xd61f_0200,
        0xd503_245f, 0x9000_0004, 0x9100_0084, 0xf940_0080, 0xf940_2490, 0xd61f_0200,
    ]),
    unregister: 0xa0,
    // R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ADD_ABS_LO12_NC
    relocations: &[(0x4, 275, 0), (0x8, 277, 0), (0xa4, 275, 0), (0xa8, 277, 0)],
    // R_AARCH64_ABS64
    address: 257,
    // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI.
    property: (0xc000_0000, 1),
    entries: entries::AARCH64,
    large: None,
    #[cfg(test)]
    source: (&["aarch64-linux-gnu-as"], include_str!("aarch64.s"), include_str!("aarch64_entries.s")),
};

/// Instructions as bytes.
pub(crate) const fn words<const COUNT: usize, const SIZE: usize>(instructions: [u32; COUNT]) -> [u8; SIZE] {
    assert!(SIZE == 4 * COUNT);
    let mut bytes = [0; SIZE];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = instructions[index / 4].to_le_bytes()[index % 4];
        index += 1;
    }
    bytes
}

/// The flags of sections of instructions.
pub(crate) const CODE_FLAGS: u64 = elf::SHF_ALLOC | elf::SHF_EXECINSTR;

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::elf::{Header, RelaRecord, SectionHeader};
    use std::io::Write;
    use std::process::Command;

    /// The contents of the sections of a type, in an object.
    fn sections(object: &[u8], kind: u32, flags: u64) -> Vec<Vec<u8>> {
        let header = Header::parse(object, 0).expect("a header");
        let sections = (0..u64::from(header.section_header_count))
            .map(|index| SectionHeader::parse(object, header.section_header_offset + index * 64).expect("a section"));
        let wanted = sections.filter(|section| section.kind == kind && section.flags & flags == flags);
        wanted.map(|section| object[section.offset as usize..][..section.size as usize].to_vec()).collect()
    }

    /// A place that refers to the table: offset, type, addend.
    type Relocation = (u64, u32, i64);

    /// What an assembler makes of a source: instructions, and places that refer to the table. Nothing if there is no such assembler.
    fn assemble(code: &Code, source: &str, options: &[&str]) -> Option<(Vec<u8>, Vec<Relocation>)> {
        let (assemblers, ..) = code.source;
        let folder = tempfile::tempdir().expect("a folder");
        let (input, output) = (folder.path().join("code.s"), folder.path().join("code.o"));
        std::fs::write(&input, source).expect("it is written");
        // The assembler of this machine must be here, in a test that may leave nothing out; one for another machine need not be.
        let own = cfg!(all(target_arch = "x86_64", target_os = "linux")) && std::ptr::eq(code, &X86_64);
        let run = |name: &&&str| Command::new(name).args(options).arg(&input).arg("-o").arg(&output).status();
        let mut candidates = assemblers.iter().filter(|name| own || **name != "as");
        if !candidates.any(|name| run(&name).is_ok_and(|status| status.success())) {
            assert!(!own || std::env::var_os("REQUIRE_ALL").is_none(), "none of {assemblers:?}");
            // Past the test harness, which keeps to itself what tests print that succeed.
            _ = writeln!(std::io::stderr(), "skipped: there is none of {assemblers:?}");
            return None;
        }
        let object = std::fs::read(&output).expect("an object");
        let relocations = sections(&object, elf::SHT_RELA, 0).remove(0);
        let relocations = relocations.chunks(RelaRecord::SIZE).filter_map(|bytes| RelaRecord::parse(bytes, 0));
        let relocations = relocations.map(|entry| (entry.offset, entry.kind, entry.addend as i64)).collect();
        Some((sections(&object, elf::SHT_PROGBITS, elf::SHF_EXECINSTR).remove(0), relocations))
    }

    #[test]
    fn the_code_is_what_the_assembler_makes() {
        for code in [&X86_64, &AARCH64] {
            let Some((bytes, relocations)) = assemble(code, code.source.1, &[]) else { continue };
            assert_eq!(bytes, code.bytes, "machine {}", code.machine);
            assert_eq!(relocations, code.relocations);
            for (entries, options) in code.entries.iter().zip([&[][..], &["--defsym", "OLDER=1"]]) {
                let Some((bytes, relocations)) = assemble(code, code.source.2, options) else { continue };
                assert_eq!(bytes, entries.bytes, "machine {}, {options:?}", code.machine);
                assert_eq!(relocations, entries.relocations);
            }
        }
    }

    #[test]
    fn the_functions_end_where_they_should() {
        assert_eq!((X86_64.bytes.len(), AARCH64.bytes.len()), (134, 184));
        for code in [&X86_64, &AARCH64] {
            // Both functions start with the same landing pad.
            assert_eq!(code.bytes[..4], code.bytes[code.unregister as usize..][..4]);
            for entries in &code.entries {
                assert_eq!(code.bytes[..4], entries.bytes[..4]);
                assert_eq!(code.bytes[..4], entries.bytes[entries.register as usize..][..4]);
            }
        }
    }
}
