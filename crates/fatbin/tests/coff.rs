//! COFF host objects: every way in which Windows' tools write section names, in both forms of the file.

use fatbin::host::{Format, ReferenceTo};
use fatbin::identify::{CoffMachine, identify};
use fatbin::{HostObject, Kind, Problem};

const FATBIN: &[u8] = include_bytes!("data/zstd.fatbin");
const OTHER: &[u8] = include_bytes!("data/lz4.fatbin");

/// How section names of more than eight characters are written.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Names {
    /// `/12`: an offset into the table of strings.
    Decimal,
    /// `//AAAAAM`: the same, for tables of more than ten million bytes.
    Base64,
    /// Cut off.
    Cut,
}

fn name_field(name: &str, names: Names, strings: &mut Vec<u8>) -> [u8; 8] {
    let text = match names {
        _ if name.len() <= 8 => name.to_owned(),
        Names::Cut => name[..8].to_owned(),
        Names::Decimal => format!("/{}", strings.len()),
        Names::Base64 => {
            const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let digit = |place: u32| char::from(DIGITS[strings.len() >> (6 * place) & 63]);
            format!("//{}", (0..6).rev().map(digit).collect::<String>())
        }
    };
    if text.starts_with('/') {
        strings.extend(name.bytes().chain([0]));
    }
    let mut field = [0; 8];
    field[..text.len()].copy_from_slice(text.as_bytes());
    field
}

/// An object with these sections, no symbols, and contents at odd places.
fn object(machine: u16, big: bool, names: Names, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let (header_size, count) = (if big { 56 } else { 20 }, sections.len());
    let mut strings = vec![0; 4];
    let (mut headers, mut contents) = (Vec::new(), Vec::new());
    let contents_at = header_size + 40 * count;
    for (name, data) in sections {
        contents.push(0xcc);
        headers.extend(name_field(name, names, &mut strings));
        let offset = if data.is_empty() { 0 } else { contents_at + contents.len() };
        for field in [0, 0, data.len(), offset, 0, 0, 0, 0x4050_0040] {
            headers.extend(u32::try_from(field).expect("small").to_le_bytes());
        }
        contents.extend_from_slice(data);
    }
    let size = u32::try_from(strings.len()).expect("small");
    strings[..4].copy_from_slice(&size.to_le_bytes());
    let symbols_at = u32::try_from(contents_at + contents.len()).expect("small").to_le_bytes();
    let (count, machine) = (u16::try_from(count).expect("small"), machine.to_le_bytes());
    let header = if big {
        let class = 0xd1ba_a1c7_u32.to_le_bytes().into_iter().chain(0xbaee_u16.to_le_bytes()).chain(0x4ba9_u16.to_le_bytes());
        let class = class.chain([0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8]).collect::<Vec<u8>>();
        let count = u32::from(count).to_le_bytes();
        [&[0, 0, 0xff, 0xff, 2, 0], &machine[..], &[0; 4], &class, &[0; 16], &count, &symbols_at, &[0; 4]].concat()
    } else {
        [&machine[..], &count.to_le_bytes(), &[0; 4], &symbols_at, &[0; 8]].concat()
    };
    assert_eq!(header.len(), header_size);
    [header, headers, contents, strings].concat()
}

const SECTIONS: [(&str, &[u8]); 7] = [
    (".text", b"code"),
    ("__nv_module_id", b"_0123abcd_8_first_cu_first\0"),
    ("__nv_relfatbin", FATBIN),
    (".nvFatBinSegment", &[0; 24]),
    (".nvHRKE", b"first\0_Z8templateI*\0"),
    (".nvHRKI", b"\0"),
    (".bss", b""),
];

#[test]
fn sections_are_found_by_name_in_every_form() {
    for (number, machine) in [(0x8664, CoffMachine::X64), (0xaa64, CoffMachine::Arm64), (0x014c, CoffMachine::X86)] {
        for big in [false, true] {
            for names in [Names::Decimal, Names::Base64, Names::Cut] {
                let bytes = object(number, big, names, &SECTIONS);
                let object = HostObject::parse(&bytes).unwrap_or_else(|error| panic!("{names:?}, big: {big}: {error}"));
                assert_eq!(object.format, Format::Coff(machine));
                assert_eq!(object.module_ids, ["_0123abcd_8_first_cu_first"]);
                assert!(object.has_registration && object.linked_code.is_empty());
                let [section] = &object.relocatable_code[..] else { panic!("one section") };
                assert_eq!(section.data, FATBIN);
                assert!(section.fatbins().all(|fatbin| fatbin.is_ok()));
                let references: Vec<_> = object.references.iter().map(|list| (list.kind.to, list.names.join(" "))).collect();
                let kernels = |names: &str| (ReferenceTo::Kernel, names.to_owned());
                assert_eq!(references, [kernels("first _Z8templateI*"), kernels("")]);
            }
        }
    }
}

#[test]
fn eight_characters_of_a_name_count() {
    for (name, counts) in [("__nv_relZZZ", true), ("__nv_rel", true), ("__nv_re", false), ("__NV_relfatbin", false)] {
        let bytes = object(0x8664, false, Names::Decimal, &[(name, FATBIN)]);
        let found = HostObject::parse(&bytes).expect("an object").relocatable_code.len();
        assert_eq!(found, usize::from(counts), "{name}");
    }
}

/// The reference takes the last of several; no code is lost here.
#[test]
fn every_section_of_a_name_counts() {
    let bytes = object(0x8664, false, Names::Decimal, &[("__nv_relfatbin", FATBIN), ("__nv_relfatbin", OTHER)]);
    let data: Vec<_> = HostObject::parse(&bytes).expect("an object").relocatable_code.iter().map(|it| it.data).collect();
    assert_eq!(data, [FATBIN, OTHER]);
}

#[test]
fn an_optional_header_is_stepped_over() {
    let mut bytes = object(0x8664, false, Names::Cut, &[(".nvFatBinSegment", b"")]);
    bytes[16] = 8;
    bytes.splice(20..20, [0; 8]);
    assert!(HostObject::parse(&bytes).expect("an object").has_registration);
}

#[test]
fn what_points_outside_of_the_file_is_told() {
    let whole = object(0x8664, false, Names::Decimal, &SECTIONS);
    for (size, what) in [
        (25, "host object at offset 0x14: the section header table needs 280 bytes, 5 are left"),
        (20 + 7 * 40 + 10, "host object at offset 0x14: the name of section 2 is outside of the table of strings"),
    ] {
        assert_eq!(HostObject::parse(&whole[..size]).expect_err("an error").to_string(), what);
    }
    let cut = object(0x8664, false, Names::Cut, &[("__nv_relfatbin", FATBIN)]);
    let error = HostObject::parse(&cut[..200]).expect_err("an error");
    assert!(matches!(error.problem(), Problem::Cut { what: "the section", .. }), "{error}");
    assert!(identify(&whole[..19]) == Kind::Unknown && identify(&whole[..20]) == Kind::Coff(CoffMachine::X64));
}

#[test]
fn damage_never_panics() {
    for big in [false, true] {
        let whole = object(0x8664, big, Names::Decimal, &SECTIONS);
        for size in 0..whole.len() {
            drop(HostObject::parse(&whole[..size]));
        }
        for place in 0..400 {
            for value in [0, 1, 0x2f, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                drop(HostObject::parse(&bytes));
            }
        }
    }
}

/// Without sections there is nothing to read: Microsoft's compiler wrote its own intermediate code.
#[test]
fn objects_of_microsofts_intermediate_code_are_told_apart() {
    let mut bytes = object(0x8664, true, Names::Cut, &SECTIONS);
    bytes[12] ^= 1;
    assert_eq!(identify(&bytes), Kind::MicrosoftIr);
    let message =
        "host object at offset 0x0: this is an object of Microsoft's link-time code generation (/GL), not a host object";
    assert_eq!(HostObject::parse(&bytes).expect_err("an error").to_string(), message);
}
