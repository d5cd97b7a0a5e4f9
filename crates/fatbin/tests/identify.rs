//! Telling formats from bytes.

use fatbin::Kind;
use fatbin::identify::{ByteOrder, Class, CoffMachine, ElfType, HostElf, identify, is_ptx};

/// The first 20 bytes of an ELF file.
fn elf(class: u8, order: u8, kind: u16, machine: u16) -> Vec<u8> {
    let mut bytes = b"\x7fELF".to_vec();
    bytes.extend([class, order, 1]);
    bytes.resize(16, 0);
    for number in [kind, machine] {
        bytes.extend(if order == 2 { number.to_be_bytes() } else { number.to_le_bytes() });
    }
    bytes
}

fn host(class: Class, byte_order: ByteOrder, kind: ElfType, machine: u16) -> Kind {
    Kind::HostElf(HostElf { class, byte_order, kind, machine })
}

/// A COFF header with `sections` section headers after it.
fn coff(machine: u16, sections: u16, optional_header: u16) -> Vec<u8> {
    let mut bytes = machine.to_le_bytes().to_vec();
    bytes.extend(sections.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend(optional_header.to_le_bytes());
    bytes.resize(20 + 40 * usize::from(sections), 0);
    bytes
}

#[test]
fn every_format_is_told_by_its_first_bytes() {
    use ByteOrder::{Big, Little};
    use Class::{Bits32, Bits64};
    use ElfType::{Executable, Other, Relocatable, Shared};
    let import = [0, 0, 0xff, 0xff, 0, 0, 0x64, 0x86];
    let rows: Vec<(Vec<u8>, Kind)> = vec![
        (b"".to_vec(), Kind::Empty),
        (b"x".to_vec(), Kind::Unknown),
        (vec![0; 100], Kind::Unknown),
        (elf(2, 1, 1, 190), Kind::Cubin(Bits64)),
        (elf(1, 1, 2, 190), Kind::Cubin(Bits32)),
        (elf(2, 1, 1, 62), host(Bits64, Little, Relocatable, 62)),
        (elf(2, 1, 3, 183), host(Bits64, Little, Shared, 183)),
        (elf(1, 1, 2, 3), host(Bits32, Little, Executable, 3)),
        (elf(2, 2, 1, 21), host(Bits64, Big, Relocatable, 21)),
        (elf(2, 1, 4, 243), host(Bits64, Little, Other(4), 243)),
        (elf(3, 1, 1, 62), Kind::Unknown),
        (elf(2, 3, 1, 62), Kind::Unknown),
        (b"\x7fELF\x02\x01".to_vec(), Kind::Unknown),
        (coff(0x8664, 2, 0), Kind::Coff(CoffMachine::X64)),
        (coff(0xaa64, 0, 0), Kind::Coff(CoffMachine::Arm64)),
        (coff(0x014c, 2, 0), Kind::Coff(CoffMachine::X86)),
        (coff(0x01c4, 2, 0), Kind::Unknown),
        (coff(0xa641, 2, 0), Kind::Unknown),
        (coff(0x8664, 2, 0)[..19].to_vec(), Kind::Unknown),
        (import.to_vec(), Kind::Unknown),
        (vec![0x50, 0xed, 0x55, 0xba], Kind::Fatbin),
        (vec![0x01, 0x5a, 0xe5, 0x1e], Kind::OldFatbin),
        (b"!<arch>\n".to_vec(), Kind::Archive),
        (b"!<thin>\n".to_vec(), Kind::ThinArchive),
        (b"!<arch>".to_vec(), Kind::Unknown),
        (vec![0xed, 0x43, 0x4e, 0x7f, 1], Kind::LtoIr),
        (b"BC\xc0\xde".to_vec(), Kind::Bitcode),
        (vec![0xde, 0xc0, 0x17, 0x0b], Kind::Bitcode),
        (b".version 9.0\n".to_vec(), Kind::Ptx),
    ];
    for (bytes, expected) in rows {
        assert_eq!(identify(&bytes), expected, "{bytes:02x?}");
    }
}

#[test]
fn ptx_is_told_as_the_reference_tells_it() {
    let rows: [(&[u8], bool); 25] = [
        (b".version 9.0", true),
        (b"\n\n.version 9.0", true),
        (b" \t\r\n\x0b\x0c.version 9.0", true),
        (b"// comment\n.version 9.0", true),
        (b"//\n//\n\n// another\n .version 9.0", true),
        (b"/* comment */.version 9.0", true),
        (b"/* two\n lines */ // and\n.version 9.0", true),
        (b"/**/.version 9.0", true),
        (b"/***/.version 9.0", true),
        (b".version\t9.0", true),
        (b".versionless", true),
        (b".versio", false),
        (b".VERSION 9.0", false),
        (b"", false),
        (b"   ", false),
        (b"// .version 9.0", false),
        (b"// comment", false),
        (b"/* .version 9.0", false),
        (b"/*/.version 9.0", false),
        (b"/ .version 9.0", false),
        (b"// \0\n.version 9.0", false),
        (b"\0.version 9.0", false),
        (b"\xef\xbb\xbf.version 9.0", false),
        (b"# 1\n.version 9.0", false),
        (b".target sm_90\n.version 9.0", false),
    ];
    for (text, expected) in rows {
        assert_eq!(is_ptx(text), expected, "{}", text.escape_ascii());
    }
}

#[test]
fn kinds_are_named_for_people() {
    for (bytes, name) in [
        (elf(2, 1, 1, 62), "a 64-bit little-endian ELF object for x86-64"),
        (elf(1, 2, 3, 20), "a 32-bit big-endian ELF shared library for machine 20"),
        (elf(1, 1, 1, 190), "a 32-bit device ELF file"),
        (coff(0xaa64, 1, 0), "an ARM64 COFF object"),
        (vec![1, 0x5a, 0xe5, 0x1e], "an old-style fatbin"),
    ] {
        assert_eq!(identify(&bytes).to_string(), name);
    }
}
