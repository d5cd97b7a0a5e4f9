//! Reports on small files whose contents are known.

use super::*;
use crate::render::{self, TextOptions};
use cuweld::{Linker, options::Options, target::Target};

macro_rules! case {
    ($path:literal) => {
        include_bytes!(concat!("../../../../tests/cases/", $path)).as_slice()
    };
}

fn report(files: &[(&str, &[u8])]) -> Report {
    let files: Vec<Examined<'_>> = files.iter().map(|&(name, bytes)| Examined { name, bytes }).collect();
    examine(&files, &|_, _| {})
}

fn linked(objects: &[&[u8]]) -> Vec<u8> {
    let target = Target::by_name("sm_90").expect("a target");
    let mut linker = Linker::new(Options::new(target));
    for object in objects {
        linker.add("object", object).expect("an object");
    }
    linker.link().expect("a program").image
}

fn only(report: &Report) -> &Architecture {
    let [architecture] = report.architectures.as_slice() else { panic!("one architecture") };
    architecture
}

fn named<'report>(architecture: &'report Architecture, name: &str) -> &'report Function {
    architecture.functions.iter().find(|function| &*function.name == name).expect("a function")
}

fn path<'report>(architecture: &'report Architecture, path: &[u32]) -> Vec<&'report str> {
    path.iter().filter_map(|&index| architecture.function(index)).map(|function| &*function.name).collect()
}

#[test]
fn a_linked_kernel_says_who_forces_its_registers_and_its_stack() {
    let objects = [
        case!("register_propagation/inputs/sm_90/a.cubin"),
        case!("register_propagation/inputs/sm_90/b.cubin"),
        case!("register_propagation/inputs/sm_90/c.cubin"),
    ];
    let report = report(&[("program", &linked(&objects))]);
    let architecture = only(&report);
    let kernel = named(architecture, "k1");
    assert_eq!((kernel.registers, kernel.own_registers, kernel.stack), (132, None, Some(8)));
    assert_eq!(path(architecture, &kernel.registers_path), ["k1", "f", "_Z4widem"]);
    assert_eq!(path(architecture, &kernel.stack_path), ["k1", "f"]);
    let alone = named(architecture, "k3");
    assert_eq!((alone.registers, alone.own_registers, alone.registers_path.len()), (8, Some(8), 0));
    let text = render::text(&report, &TextOptions::default());
    assert!(text.contains("132 registers: wide via f\n") && text.contains("8 bytes of stack: f = 0 + 8\n"), "{text}");
}

#[test]
fn a_recursion_is_why_a_stack_is_not_known() {
    let objects = [
        case!("recursion/inputs/sm_90/a.cubin"),
        case!("recursion/inputs/sm_90/b.cubin"),
        case!("recursion/inputs/sm_90/c.cubin"),
    ];
    let report = report(&[("program", &linked(&objects))]);
    let kernel = named(only(&report), "k1");
    assert_eq!((kernel.stack, path(only(&report), &kernel.cycle)), (None, vec!["k1", "even", "odd"]));
}

#[test]
fn sizes_add_up_in_every_container() {
    let files: [(&str, &[u8]); 6] = [
        ("cubin", case!("call_across_units/inputs/sm_90/a.cubin")),
        ("two views", case!("barriers_and_externs/inputs/sm_100/a.cubin")),
        ("fatbin", case!("fatbins/inputs/sm_90/a.fatbin")),
        ("object", case!("host_objects/inputs/sm_90/a.o")),
        ("archive", case!("archives/inputs/sm_90/libfirst.a")),
        ("text", b".version 9.0\n.target sm_90\n"),
    ];
    let report = report(&files);
    for (index, (file, (name, bytes))) in (0..).zip(report.files.iter().zip(files)) {
        assert!(file.problems.is_empty(), "{name}: {:?}", file.problems);
        let images =
            || report.architectures.iter().flat_map(|architecture| &architecture.images).filter(|image| image.file == index);
        let others: u64 = file.others.iter().map(|other| other.stored).sum();
        let stored: u64 = images().map(|image| image.stored).sum();
        assert_eq!((file.bytes, file.device), (bytes.len() as u64, stored + others + file.container), "{name}");
        assert!(images().all(|image| image.parts.total() == image.bytes && image.parts.code > 0 || others > 0), "{name}");
        assert!(images().count() > 0 || others > 0, "{name}");
    }
}

/// A fatbin with PTX for more architectures than there will ever be, twice for each.
#[test]
fn entries_for_very_many_architectures_take_little_time() {
    const MANY: u32 = 50_000;
    let entry = |number: u32| {
        let mut entry = [0; 72];
        let fields: [(usize, &[u8]); 7] = [
            (0, &[1, 0, 1, 1]),
            (4, &64_u32.to_le_bytes()),
            (8, &8_u64.to_le_bytes()),
            (26, &[1]),
            (28, &(number % MANY).to_le_bytes()),
            (40, &[0x11]),
            (64, b".version"),
        ];
        fields.iter().for_each(|(at, bytes)| entry[*at..at + bytes.len()].copy_from_slice(bytes));
        entry
    };
    let entries: Vec<u8> = (0..2 * MANY).flat_map(entry).collect();
    let header = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], (entries.len() as u64).to_le_bytes().as_slice()].concat();
    let report = report(&[("many.fatbin", &[header, entries].concat())]);
    let others = &report.files[0].others;
    assert_eq!((others.len(), others[1].architecture.as_str()), (MANY as usize, "compute_1"), "{:?}", report.files[0].problems);
    assert!(others.iter().all(|other| other.count == 2 && other.stored == 144));
}

#[test]
fn code_that_is_there_twice_is_found() {
    let object = case!("call_across_units/inputs/sm_90/b.cubin");
    let report = report(&[("one", object), ("other", object)]);
    let architecture = only(&report);
    let duplicate = architecture.duplicates.first().expect("a duplicate");
    assert_eq!((duplicate.functions.len(), duplicate.waste), (2, duplicate.bytes));
    let [one, other] = [0, 1].map(|index| architecture.function(duplicate.functions[index]).expect("a function"));
    assert_eq!((&one.name, one.image, other.image), (&other.name, 0, 1));
}

#[test]
fn json_is_read_back_as_it_was() {
    let report = report(&[("a", case!("register_propagation/inputs/sm_90/a.cubin")), ("b", b"nothing of ours")]);
    assert_eq!(report.files[1].problems, ["a file of unknown format: there is no device code in it"]);
    let mut json = Vec::new();
    render::json(&report, &mut json).expect("written");
    assert_eq!(Report::from_json(&json).expect("a report"), report);
    let text = String::from_utf8(json).expect("text");
    assert!(Report::from_json(text.replace("\"version\":1", "\"version\":99").as_bytes()).is_err());
    assert!(Report::from_json(text.replace("\"calls\":[", "\"calls\":[4000000000,").as_bytes()).is_err());
    assert!(Report::from_json(b"{}").is_err() && Report::from_json(b"").is_err());
}

/// Whatever the bytes are, there is a report.
#[test]
fn damaged_files_are_reported_and_not_fatal() {
    for bytes in [
        case!("host_objects/inputs/sm_90/a.o"),
        case!("archives/inputs/sm_90/libfirst.a"),
        case!("recursion/inputs/sm_90/a.cubin"),
    ] {
        for end in (0..bytes.len()).step_by(7) {
            _ = report(&[("cut", &bytes[..end])]);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0xff;
            let report = report(&[("damaged", &damaged)]);
            let images = || report.architectures.iter().flat_map(|architecture| &architecture.images);
            assert!(images().all(|image| image.parts.total() == image.bytes));
        }
    }
}
