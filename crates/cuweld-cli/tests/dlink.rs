//! Whole device links. Needs nothing but the program: host objects are made here, of the cubins in `examples/two_units`.

use cuweld_host_object::elf::{Object, Section, Symbol};
use fatbin::HostObject;
use fatbin::entry::Architecture;
use fatbin::write::{Builder, Compression, Mode, Settings};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const KERNEL: &[u8] = include_bytes!("../../../examples/two_units/kernel.cubin");
const SCALE: &[u8] = include_bytes!("../../../examples/two_units/scale.cubin");
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const PROGBITS: u32 = 1;

/// A host object as a compiler makes it: a fatbin, its registration, an id.
fn unit(id: &str, cubin: &[u8], machine: u16) -> Vec<u8> {
    let settings =
        Settings { relocatable: true, compression: Compression { mode: Mode::Balance, all: false }, ..Settings::default() };
    let mut fatbin = Builder::new(settings);
    let architecture = Architecture { number: 90, variant: cubin::target::Variant::Plain };
    fatbin.cubin(architecture, cubin).expect("a cubin");
    let mut object = Object::new(machine);
    object.section(Section { align: 8, ..Section::new("__nv_relfatbin", PROGBITS, &fatbin.to_vec()) });
    object.section(Section::new(".nvFatBinSegment", PROGBITS, &[0; 24]));
    object.section(Section::new("__nv_module_id", PROGBITS, format!("{id}\0").as_bytes()));
    object.to_vec()
}

fn archive(name: &str, member: &[u8]) -> Vec<u8> {
    let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, member.len());
    [fatbin::archive::MAGIC, header.as_bytes(), member].concat()
}

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, contents) in [
        ("kernel.o", unit("_kernel", KERNEL, X86_64)),
        ("scale.o", unit("_scale", SCALE, X86_64)),
        ("arm_kernel.o", unit("_kernel", KERNEL, AARCH64)),
        ("arm_scale.o", unit("_scale", SCALE, AARCH64)),
    ] {
        fs::write(folder.path().join(name), contents).expect("a file");
    }
    folder
}

fn cuweld(folder: &Path, words: &str) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_cuweld")).current_dir(folder).args(words.split_whitespace()).output();
    program.expect("the program runs")
}

/// Runs the program, and expects it to succeed in silence.
fn expect(folder: &Path, words: &str) {
    let output = cuweld(folder, words);
    assert!(output.status.success() && output.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The names of an object's symbols that others can see, with their visibility.
fn defined(object: &[u8]) -> Vec<String> {
    HostObject::parse(object).expect("an object").names_for_the_host().into_iter().map(str::to_owned).collect()
}

#[test]
fn an_object_holds_what_a_link_gives_and_registers_the_units() {
    let folder = folder();
    let folder = folder.path();
    expect(folder, "dlink -arch=sm_90 kernel.o scale.o -o dlink.o");
    expect(folder, "-arch=sm_90 kernel.o scale.o -o linked.cubin");
    let bytes = fs::read(folder.join("dlink.o")).expect("an object");
    let object = HostObject::parse(&bytes).expect("an object");
    assert_eq!((object.elf_machine(), object.linked_module_ids.clone()), (Some(X86_64), vec!["_kernel", "_scale"]));
    let [section] = object.linked_code[..] else { panic!("one section") };
    let fatbin = section.fatbins().next().expect("a fatbin").expect("a fatbin");
    let entry = fatbin.entries().next().expect("an entry").expect("an entry");
    assert_eq!(entry.payload, fs::read(folder.join("linked.cubin")).expect("a cubin"));
    assert_eq!(defined(&bytes), ["__cudaRegisterLinkedBinary_kernel", "__cudaRegisterLinkedBinary_scale"]);
    // A second device link passes over units that are linked.
    expect(folder, "dlink -arch=sm_90 dlink.o kernel.o scale.o -o again.o");
    let again = fs::read(folder.join("again.o")).expect("an object");
    assert!(HostObject::parse(&again).expect("an object").linked_module_ids.is_empty());
}

#[test]
fn the_host_is_that_of_the_inputs() {
    let folder = folder();
    let machine = |words: &str| {
        expect(folder.path(), words);
        let bytes = fs::read(folder.path().join("d.o")).expect("an object");
        HostObject::parse(&bytes).expect("an object").elf_machine().expect("an ELF file")
    };
    assert_eq!(machine("dlink -arch=sm_90 arm_kernel.o arm_scale.o -o d.o"), AARCH64);
    assert_eq!(machine("dlink -arch=sm_90 kernel.o scale.o --host=aarch64 -o d.o"), AARCH64);
    assert_eq!(machine("dlink -arch=sm_90 kernel.o scale.o -o d.o"), X86_64);
}

#[test]
fn every_output_holds_the_same() {
    let folder = folder();
    let folder = folder.path();
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    expect(folder, "dlink -arch=sm_90 kernel.o scale.o -o dlink.o --threads=1");
    expect(folder, "dlink --architectures=all kernel.o scale.o -o all.o --threads=4");
    assert_eq!(read("dlink.o"), read("all.o"));
    expect(folder, "dlink -gencode arch=compute_90,code=sm_90 kernel.o scale.o --emit=fatbin -o d.fatbin");
    assert!(read("dlink.o").ends_with(&read("d.fatbin")));
    expect(folder, "dlink -arch=sm_90 -cubin kernel.o scale.o -o d.cubin");
    assert!(read("d.fatbin").ends_with(&read("d.cubin")));
    expect(folder, "fatbin --create=made.fatbin -64 -link --image3=kind=elf,sm=90,file=d.cubin --embedded-fatbin=made.c");
    assert_eq!(read("made.fatbin"), read("d.fatbin"));
    expect(folder, "fatbin --create=old.fatbin -64 -link -im=profile=sm_90,file=d.cubin");
    assert_eq!(read("old.fatbin"), read("d.fatbin"));
    expect(folder, "dlink -arch=sm_90 kernel.o scale.o --emit=embedded-c -o d.c");
    assert_eq!(read("made.c"), read("d.c"));
    // Virtual architectures add nothing, and everything is registered.
    expect(folder, "dlink -arch=compute_90 kernel.o scale.o -o virtual.o");
    let object = read("virtual.o");
    assert_eq!(HostObject::parse(&object).expect("an object").linked_module_ids, ["_kernel", "_scale"]);
}

/// A host object as clang makes it: an image for sm_90 in a container, and a list of what there is to register.
fn clang_unit(image: &[u8], image_kind: u16, list: &str) -> Vec<u8> {
    let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // Header, entry, a pair of strings, the strings, the image.
    let size = 32 + 40 + 16 + 16 + image.len().next_multiple_of(8) as u64;
    let header = [&[0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0][..], &numbers(&[size, 32, 40])].concat();
    let kinds = [image_kind.to_le_bytes(), 2_u16.to_le_bytes(), [0; 2], [0; 2]].concat();
    let entry = [kinds, numbers(&[72, 1, 104, image.len() as u64])].concat();
    let mut container = [header, entry, numbers(&[88, 93]), b"arch\0sm_90\0\0\0\0\0\0".to_vec(), image.to_vec()].concat();
    container.resize(size as usize, 0);
    let mut object = Object::new(X86_64);
    object.section(Section { align: 8, ..Section::new(".llvm.offloading", PROGBITS, &container) });
    let entries = object.section(Section { align: 8, ..Section::new(list, PROGBITS, &[0; 56]) });
    object.symbol(Symbol::global(".offloading.entry.kernel", entries));
    object.to_vec()
}

#[test]
fn objects_of_clang_are_linked_and_registered() {
    let folder = folder();
    let folder = folder.path();
    for (name, image, list) in [
        ("clang_kernel.o", KERNEL, "llvm_offload_entries"),
        ("clang_scale.o", SCALE, "llvm_offload_entries"),
        ("clang_19.o", SCALE, "cuda_offloading_entries"),
    ] {
        fs::write(folder.join(name), clang_unit(image, 1, list)).expect("a file");
    }
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    expect(folder, "dlink -arch=sm_90 kernel.o scale.o --emit=cubin -o nvcc.cubin");
    // The objects of either compiler, or of both.
    for units in ["clang_kernel.o clang_scale.o", "kernel.o clang_scale.o", "clang_kernel.o scale.o", "clang_kernel.o clang_19.o"]
    {
        expect(folder, &format!("-arch=sm_90 {units} -o link.cubin"));
        assert_eq!(read("link.cubin"), read("nvcc.cubin"), "{units}");
        expect(folder, &format!("dlink --architectures=all {units} -o d.o"));
        let object = read("d.o");
        let text = String::from_utf8_lossy(&object).into_owned();
        assert_eq!(
            text.contains("__start_llvm_offload_entries"),
            units.contains("clang_kernel") || units.contains("clang_scale")
        );
        assert_eq!(text.contains("__start_cuda_offloading_entries"), units.contains("clang_19"));
        assert!(text.contains(".offloading.entry.kernel") && text.contains(".init_array"), "{units}");
        let own = units.split(' ').filter(|unit| !unit.contains("clang")).count();
        assert_eq!(HostObject::parse(&object).expect("an object").linked_module_ids.len(), own, "{units}");
    }
}

#[test]
fn what_only_clang_can_compile_is_not_passed_over_in_silence() {
    let folder = folder();
    fs::write(folder.path().join("clang.o"), clang_unit(b"BC\xc0\xde", 2, "llvm_offload_entries")).expect("a file");
    fs::write(folder.path().join("other.o"), clang_unit(b"SPIR", 6, "llvm_offload_entries")).expect("a file");
    let damaged = clang_unit(KERNEL, 1, "llvm_offload_entries");
    let start = damaged.windows(4).position(|bytes| bytes == [0x10, 0xff, 0x10, 0xad]).expect("a container");
    fs::write(folder.path().join("damaged.o"), [&damaged[..start + 4], &[9], &damaged[start + 5..]].concat()).expect("a file");
    for (input, succeeds, expected) in [
        ("clang.o", true, "'clang.o' has device code that only clang compiles"),
        ("other.o", true, "not found in 'other.o'"),
        ("damaged.o", false, "version 9, only 1 to 3 are known"),
    ] {
        for words in ["dlink -arch=sm_90 kernel.o scale.o", "-arch=sm_90 kernel.o scale.o"] {
            let output = cuweld(folder.path(), &format!("{words} {input} -o d.o"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() == succeeds && said.contains(expected), "{words} {input}: {said}");
        }
    }
}

#[test]
fn one_gpu_that_fails_fails_the_whole() {
    let folder = folder();
    let output = cuweld(folder.path(), "dlink -arch=sm_90,sm_90a kernel.o -o dlink.o");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{said}");
    for target in ["(target: sm_90)", "(target: sm_90a)"] {
        assert!(said.contains(target), "{said}");
    }
    assert!(!folder.path().join("dlink.o").exists());
    fs::copy(folder.path().join("kernel.o"), folder.path().join("kernel.sm_90.x")).expect("a copy");
    for (words, expected) in [
        ("dlink kernel.o -o d.o", "no architecture"),
        ("dlink -arch=sm_1 kernel.o -o d.o", "sm_1"),
        ("dlink -arch=sm_90 missing.o -o d.o", "missing.o"),
        ("dlink -arch=sm_90,sm_80 kernel.o scale.o -o d.o", "No input has code or data for 'sm_80'"),
        ("dlink -arch=sm_90 -r kernel.o scale.o -o d.o", "-r makes code"),
        ("dlink -arch=sm_90,sm_90a -Map=kernel.x kernel.sm_90.x scale.o -o d.o", "kernel.sm_90.x"),
        ("dlink -arch=sm_90 kernel.o scale.o -o kernel.o", "kernel.o"),
    ] {
        let output = cuweld(folder.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{words}: {said}");
    }
}

/// A device link shows its messages as any link does.
#[test]
fn messages_are_limited_and_colored_and_come_with_advice() {
    let folder = folder();
    let said = |words: &str| String::from_utf8_lossy(&cuweld(folder.path(), words).stderr).into_owned();
    let limited = said("dlink -arch=sm_90 kernel.o -o d.o --error-limit=1");
    assert!(limited.matches("error[CW3108]").count() == 1 && limited.contains("1 more errors are not shown"), "{limited}");
    let colored = said("dlink -arch=sm_90 kernel.o -o d.o --color=always");
    assert!(colored.contains("\x1b["), "{colored}");
    fs::write(folder.path().join("empty.o"), "").expect("a file");
    let advised = said("dlink -arch=sm_90 kernel.o empty.o -o d.o");
    assert!(advised.contains("hint: did its compiler fail"), "{advised}");
}

#[test]
fn files_of_the_host_alone_make_an_object_that_registers_nothing() {
    let folder = folder();
    fs::write(folder.path().join("host.o"), Object::new(X86_64).to_vec()).expect("a file");
    expect(folder.path(), "dlink -arch=sm_90,sm_80 host.o -o d.o");
    let output = cuweld(folder.path(), "dlink -arch=sm_90,sm_80 kernel.o scale.o --allow-empty -o d.o");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn of_several_gpus_each_has_its_listings() {
    let folder = folder();
    let folder = folder.path();
    let text = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    let listings = "-Map=m.map --cref -dot=calls --report=r.json --time-trace=t.json --time=times.csv";
    expect(folder, &format!("dlink -arch=sm_90 kernel.o scale.o -o one.o {listings}"));
    expect(folder, "-arch=sm_90 kernel.o scale.o -o d.cubin -Map=link.map --cref -dot=link.dot");
    assert_eq!(text("m.map").lines().skip(1).collect::<Vec<_>>(), text("link.map").lines().skip(1).collect::<Vec<_>>());
    assert_eq!(text("calls"), text("link.dot"));
    expect(folder, &format!("dlink -arch=sm_90,sm_90a kernel.o scale.o -o d.o {listings}"));
    assert_eq!(text("calls.sm_90a"), text("calls"));
    for (name, part) in
        [("m.sm_90.map", "_Z5scalef"), ("m.sm_90a.map", "_Z5scalef"), ("r.sm_90.json", "sm_90"), ("r.sm_90a.json", "sm_90a")]
    {
        assert!(text(name).contains(part), "{name}: {}", text(name));
    }
    for part in ["\"read\"", "\"unpack\"", "\"resolve\"", "\"sm_90\"", "\"sm_90a\""] {
        assert!(text("t.json").contains(part), "{part}: {}", text("t.json"));
    }
    assert!(text("times.csv").starts_with("source file name"));
}

#[test]
#[cfg(unix)]
fn a_device_link_that_was_saved_can_be_repeated() {
    let folder = folder();
    let folder = folder.path();
    let read = |name: &str| fs::read(folder.join(name)).expect(name);
    expect(folder, "dlink -gencode arch=compute_90,code=[sm_90,sm_90a] -shared kernel.o scale.o -o d.o --save-dir=saved");
    let script = Command::new(folder.join("saved/repeat.sh")).env("CUWELD", env!("CARGO_BIN_EXE_cuweld")).output();
    let output = script.expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(read("saved/outputs/d.o") == read("d.o"));
}

#[test]
fn the_runtime_library_is_unpacked_only_if_it_is_needed() {
    let folder = folder();
    let folder = folder.path();
    let mut member = unit("_runtime", SCALE, X86_64);
    fs::write(folder.join("libcudadevrt.a"), archive("r.o", &member)).expect("a file");
    expect(folder, "dlink -arch=sm_90 kernel.o -L. -lcudadevrt -o dlink.o");
    let object = fs::read(folder.join("dlink.o")).expect("an object");
    assert_eq!(HostObject::parse(&object).expect("an object").linked_module_ids, ["_kernel", "_runtime"]);
    // What is wrong with it is not even seen if it is not needed.
    let frame = member.windows(4).position(|bytes| bytes == [0x28, 0xb5, 0x2f, 0xfd]).expect("a zstd frame");
    member[frame + 4..frame + 40].fill(0xff);
    fs::write(folder.join("libcudadevrt.a"), archive("r.o", &member)).expect("a file");
    assert!(!cuweld(folder, "dlink -arch=sm_90 kernel.o -L. -lcudadevrt -o dlink.o").status.success());
    expect(folder, "dlink -arch=sm_90 kernel.o scale.o -L. -lcudadevrt -o dlink.o");
    let object = fs::read(folder.join("dlink.o")).expect("an object");
    assert_eq!(HostObject::parse(&object).expect("an object").linked_module_ids, ["_kernel", "_scale"]);
}
