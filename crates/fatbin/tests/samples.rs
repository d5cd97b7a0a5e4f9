//! Fatbins and host objects that real tools made; `data/make.sh` says how.

use std::borrow::Cow;

use cubin::target::Variant;
use fatbin::entry::{EntryKind, Flags, Packing};
use fatbin::host::{Format, ReferenceTo};
use fatbin::identify::HostElf;
use fatbin::{Entry, Fatbin, HostObject, Item, Kind, Problem, fatbins, identify};

const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");
const LZ4: &[u8] = include_bytes!("data/lz4.fatbin");
const STORED: &[u8] = include_bytes!("data/stored.fatbin");
const LTO: &[u8] = include_bytes!("data/lto.fatbin");
const HOST: &[u8] = include_bytes!("data/host_x86_64.o");
const JOINED: &[u8] = include_bytes!("data/joined_x86_64.o");

const LIMIT: usize = 1 << 20;

fn entries(bytes: &[u8]) -> Vec<Entry<'_>> {
    Fatbin::parse(bytes).expect("a fatbin").entries().collect::<fatbin::Result<_>>().expect("good entries")
}

/// The only entry of a fatbin with one byte range replaced.
fn patched(fatbin: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut fatbin = fatbin.to_vec();
    fatbin[offset..offset + bytes.len()].copy_from_slice(bytes);
    fatbin
}

fn unpack_problem(fatbin: &[u8], limit: usize) -> Problem {
    let error = entries(fatbin)[0].unpack(limit).expect_err("an error");
    assert_eq!(error.item(), Some(&Item::Entry(0)));
    assert_eq!(error.offset(), 16);
    error.problem().clone()
}

#[test]
fn entries_say_what_they_are() {
    for (bytes, unit, packing) in
        [(ZSTD, "first.cu", Packing::Zstd), (LZ4, "second.cu", Packing::Lz4), (STORED, "first.cu", Packing::Stored)]
    {
        let entries = entries(bytes);
        let [cubin, ptx] = &entries[..] else { panic!("two entries") };
        assert_eq!((cubin.index, cubin.kind, cubin.name, cubin.options), (0, EntryKind::Cubin, unit, ""));
        assert_eq!((ptx.index, ptx.kind, ptx.name, ptx.options), (1, EntryKind::Ptx, unit, "-maxrregcount=32 "));
        assert_eq!(ptx.version, (9, 0));
        for entry in [cubin, ptx] {
            assert_eq!(entry.packing(), packing);
            assert_eq!(entry.architecture.number, 90);
            assert_eq!(entry.architecture.variant, Variant::Plain);
            assert!(entry.flags.contains(Flags::ADDRESS_64));
            assert!(!entry.flags.contains(Flags::DEBUG));
        }
        assert_eq!(ptx.offset, cubin.offset + u64::try_from(cubin.bytes.len()).expect("small"));
    }
}

#[test]
fn payloads_unpack_to_what_was_packed() {
    for (bytes, unit) in [(ZSTD, "first"), (LZ4, "second"), (STORED, "first")] {
        let entries = entries(bytes);
        let cubin = entries[0].unpack(LIMIT).expect("a cubin");
        let file = cubin::read::File::parse(&cubin).expect("a good cubin");
        let symbols = file.symbols().expect("symbols");
        assert!(symbols.iter().any(|symbol| symbol.name == unit));

        let ptx = entries[1].unpack(LIMIT).expect("PTX");
        let text = std::str::from_utf8(&ptx).expect("text");
        assert!(text.contains(&format!(".entry {unit}(")), "{text}");
        assert!(!text.contains('\0'));
        assert_eq!(identify(&ptx), Kind::Ptx);
    }
    assert_eq!(entries(ZSTD)[0].unpack(LIMIT).expect("packed"), entries(STORED)[0].unpack(LIMIT).expect("stored"),);
    assert!(matches!(entries(STORED)[0].unpack(0), Ok(Cow::Borrowed(_))));
}

#[test]
fn an_entry_alone_makes_a_fatbin() {
    let ptx = entries(ZSTD)[1];
    let alone = ptx.to_fatbin();
    let again = entries(&alone);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].bytes, ptx.bytes);
    assert_eq!(again[0].unpack(LIMIT), ptx.unpack(LIMIT));
}

#[test]
fn lto_ir_is_described_but_stays_packed() {
    let entry = entries(LTO)[0];
    assert_eq!(entry.kind, EntryKind::LtoIr);
    assert_eq!(entry.description().to_string(), "lto_90");
    assert_eq!(entry.options, "-ftz=0 -prec_div=1 ");
    assert_eq!(unpack_problem(LTO, LIMIT), Problem::Obfuscated);
}

#[test]
fn nothing_larger_than_the_limit_is_unpacked() {
    let size = entries(ZSTD)[0].unpacked_size;
    let limit = usize::try_from(size).expect("small");
    assert!(entries(ZSTD)[0].unpack(limit).is_ok());
    assert_eq!(unpack_problem(ZSTD, limit - 1), Problem::OverLimit { promised: size, limit: size - 1 });
}

#[test]
fn promises_are_held_against_what_comes_out() {
    const UNPACKED_SIZE: usize = 16 + 56;
    for fatbin in [ZSTD, LZ4] {
        let size = entries(fatbin)[0].unpacked_size;
        let packed = entries(fatbin)[0].payload.len();
        let promise = |size: u64| patched(fatbin, UNPACKED_SIZE, &size.to_le_bytes());

        let unpacked = size;
        let promised = size + 1;
        assert_eq!(unpack_problem(&promise(promised), LIMIT), Problem::UnpackedSize { unpacked, promised });
        for too_small in [0, 1, size - 1] {
            let problem = unpack_problem(&promise(too_small), LIMIT);
            assert!(matches!(problem, Problem::Damaged { .. }), "{problem}");
        }
        // No packing turns a few hundred bytes into a terabyte, so no memory is asked for.
        assert_eq!(
            unpack_problem(&promise(1 << 40), usize::MAX),
            Problem::Implausible { packed: u64::try_from(packed).expect("small"), promised: 1 << 40 }
        );
    }
}

#[test]
fn unknown_packing_is_named() {
    for flags in [0x1000_u16, 0x4000, 0xa000] {
        let fatbin = patched(ZSTD, 16 + 40, &(flags | 0x11).to_le_bytes());
        assert_eq!(unpack_problem(&fatbin, LIMIT), Problem::UnknownCompression(u64::from(flags)));
    }
}

#[test]
fn damaged_headers_are_refused_with_their_place() {
    for (offset, bytes, message) in [
        (0, &[0x51_u8][..], "fatbin at offset 0x0: a fatbin starts with 0xba55ed50, here is 0xba55ed51"),
        (0, &[0x01, 0x5a, 0xe5, 0x1e], "fatbin at offset 0x0: an old-style fatbin (magic 0x1ee55a01), which is not supported"),
        (4, &[2], "fatbin at offset 0x0: fatbin version 2, only version 1 is known"),
        (6, &[8], "fatbin at offset 0x0: a header of 8 bytes, it has at least 16"),
        (14, &[1], "fatbin at offset 0x0: the fatbin needs 281474976711"),
        (20, &[0x38], "fatbin entry 0 at offset 0x10: a header of 56 bytes, it has at least 64"),
        (30, &[1], "fatbin entry 0 at offset 0x10: the entry needs 28147497671"),
        (34, &[1], "fatbin entry 0 at offset 0x10: the packed payload needs 66447 bytes, 912 are left"),
        (36, &[0x4c], "fatbin entry 0 at offset 0x10: options of 8 bytes at 0x4c, outside of the entry's header"),
        (48, &[0x4c], "fatbin entry 0 at offset 0x10: name of 8 bytes at 0x4c, outside of the entry's header"),
        (80, &[0xff], "fatbin entry 0 at offset 0x10: the name is not UTF-8 text"),
    ] {
        let fatbin = patched(ZSTD, offset, bytes);
        let error =
            Fatbin::parse(&fatbin).and_then(|fatbin| fatbin.entries().collect::<fatbin::Result<Vec<_>>>()).expect_err("an error");
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn fatbins_follow_one_another() {
    let gap = [0; 24];
    let bytes = [ZSTD, LZ4, &gap, STORED, &gap[..7]].concat();
    let found: Vec<_> = fatbins(&bytes).collect::<fatbin::Result<_>>().expect("three fatbins");
    let offsets: Vec<_> = found.iter().map(|fatbin| fatbin.offset).collect();
    let sizes: Vec<_> = found.iter().map(|fatbin| fatbin.bytes.len()).collect();
    assert_eq!(sizes, [ZSTD.len(), LZ4.len(), STORED.len()]);
    let second = u64::try_from(ZSTD.len()).expect("small");
    let third = second + u64::try_from(LZ4.len() + gap.len()).expect("small");
    assert_eq!(offsets, [0, second, third]);

    let junk = [ZSTD, b"junk"].concat();
    let results: Vec<_> = fatbins(&junk).collect();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1].as_ref().expect_err("an error").offset(), second);
    assert_eq!(fatbins(&gap).count(), 0);
}

#[test]
fn a_host_object_gives_its_fatbins_ids_and_references() {
    let object = HostObject::parse(HOST).expect("a host object");
    assert!(matches!(object.format, Format::Elf(HostElf { machine: 62, .. })));
    assert_eq!(object.module_ids, ["_0123abcd_8_first_cu_first"]);
    assert!(object.linked_module_ids.is_empty());
    assert!(object.has_registration && object.linked_code.is_empty());
    let [section] = &object.relocatable_code[..] else { panic!("one section") };
    assert_eq!(section.data, ZSTD);

    let references: Vec<_> =
        object.references.iter().map(|list| (list.kind.to, list.kind.external, list.names.join(" "))).collect();
    let expected = [
        (ReferenceTo::Kernel, true, "first _Z8templateI*"),
        (ReferenceTo::Kernel, false, ""),
        (ReferenceTo::Variable, true, "variable"),
        (ReferenceTo::Variable, false, ""),
        (ReferenceTo::Constant, true, ""),
        (ReferenceTo::Constant, false, "__nv_static_*table"),
    ]
    .map(|(to, external, names)| (to, external, names.to_owned()));
    assert_eq!(references, expected);
}

#[test]
fn the_machine_of_a_host_object_does_not_matter() {
    for machine in [183_u16, 243, 0] {
        let bytes = patched(HOST, 18, &machine.to_le_bytes());
        let object = HostObject::parse(&bytes).expect("a host object");
        assert!(matches!(object.format, Format::Elf(elf) if elf.machine == machine));
        assert_eq!(object.relocatable_code[0].data, ZSTD);
    }
}

#[test]
fn joined_objects_give_all_their_fatbins() {
    let object = HostObject::parse(JOINED).expect("a host object");
    let units: Vec<_> = object
        .relocatable_code
        .iter()
        .flat_map(fatbin::host::FatbinSection::fatbins)
        .map(|fatbin| fatbin.expect("a fatbin"))
        .collect();
    assert_eq!(units.iter().map(|unit| unit.bytes).collect::<Vec<_>>(), [ZSTD, LZ4]);
    // Offsets count from the start of the object.
    for unit in &units {
        let start = usize::try_from(unit.offset).expect("small");
        assert!(JOINED[start..].starts_with(unit.bytes));
    }
    assert_eq!(object.module_ids, ["_0123abcd_8_first_cu_first", "_4567abcd_9_second_cu_second"]);
    assert_eq!(object.linked_module_ids, ["_0123abcd_8_first_cu_first"]);
    assert!(!object.linked_code.is_empty());
}

#[test]
fn other_files_are_refused_as_host_objects_by_name() {
    for (bytes, message) in [
        (
            patched(HOST, 4, &[1]),
            "a 32-bit little-endian ELF object for x86-64 is not supported as a host object, \
             only 64-bit little-endian ELF and COFF are",
        ),
        (patched(HOST, 18, &190_u16.to_le_bytes()), "this is a 64-bit device ELF file, not a host object"),
        (ZSTD.to_vec(), "this is a fatbin, not a host object"),
        (Vec::new(), "this is an empty file, not a host object"),
    ] {
        let error = HostObject::parse(&bytes).expect_err("an error");
        assert_eq!(error.to_string(), format!("host object at offset 0x0: {message}"));
    }
}

/// An object with so many sections that their number is in the first section header, with two `__nv_relfatbin`.
fn many_sections() -> Vec<u8> {
    const COUNT: usize = 70_000;
    let names = b"\0__nv_relfatbin\0.strings\0";
    let strings_at = 64 + ZSTD.len() + LZ4.len();
    let headers_at = (strings_at + names.len()).next_multiple_of(8);
    let mut bytes = HOST[..64].to_vec();
    bytes[40..48].copy_from_slice(&u64::try_from(headers_at).expect("small").to_le_bytes());
    bytes[60..62].copy_from_slice(&0_u16.to_le_bytes());
    bytes[62..64].copy_from_slice(&0xffff_u16.to_le_bytes());
    bytes.extend([ZSTD, LZ4, names].concat());
    bytes.resize(headers_at, 0);
    let mut header = |name: u32, kind: u32, offset: usize, size: usize, link: usize| {
        bytes.extend(name.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(u64::try_from(offset).expect("small").to_le_bytes());
        bytes.extend(u64::try_from(size).expect("small").to_le_bytes());
        bytes.extend(u32::try_from(link).expect("small").to_le_bytes());
        bytes.extend([0; 20]);
    };
    header(0, 0, 0, COUNT, COUNT - 1);
    header(1, 1, 64, ZSTD.len(), 0);
    for _ in 3..COUNT - 1 {
        header(0, 1, 0, 0, 0);
    }
    header(1, 1, 64 + ZSTD.len(), LZ4.len(), 0);
    header(16, 3, strings_at, names.len(), 0);
    bytes
}

#[test]
fn more_sections_than_the_header_can_count_are_found() {
    let bytes = many_sections();
    let object = HostObject::parse(&bytes).expect("a host object");
    let sections: Vec<_> = object.relocatable_code.iter().map(|section| section.data).collect();
    assert_eq!(sections, [ZSTD, LZ4]);
}

#[test]
fn images_that_are_packed_together_are_entries_of_their_own() {
    let entries = entries(include_bytes!("data/concat.fatbin"));
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.architecture.number).collect();
    assert_eq!(numbers, [75, 75, 80, 90, 100, 120]);
    for entry in &entries[1..] {
        assert_eq!((entry.kind, entry.name, entry.packing()), (EntryKind::Cubin, "kk", Packing::Zstd));
        let image = entry.unpack(LIMIT).expect("an image");
        let file = cubin::read::File::parse(&image).expect("a cubin");
        assert_eq!(file.sm(), entry.architecture.number);
    }
}
