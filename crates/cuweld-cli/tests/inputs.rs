//! Every kind of container, and what is said of those that can not be used. Needs nothing but the program: the samples are those
//! of the fatbin crate, and what holds them is made here.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const ZSTD: &[u8] = include_bytes!("../../fatbin/tests/data/zstd.fatbin");
const LZ4: &[u8] = include_bytes!("../../fatbin/tests/data/lz4.fatbin");
const STORED: &[u8] = include_bytes!("../../fatbin/tests/data/stored.fatbin");
const LTO: &[u8] = include_bytes!("../../fatbin/tests/data/lto.fatbin");
const HOST: &[u8] = include_bytes!("../../fatbin/tests/data/host_x86_64.o");
const JOINED: &[u8] = include_bytes!("../../fatbin/tests/data/joined_x86_64.o");
const PTX: &[u8] = include_bytes!("../../fatbin/tests/data/first.ptx");

/// The kernels of the samples: `first` is in all of them but the one packed with LZ4, which has `second`.
const FIRST: &[&str] = &["first"];
const SECOND: &[&str] = &["second"];
const BOTH: &[&str] = &["first", "second"];

/// What a run of the program did.
struct Outcome {
    status: i32,
    messages: String,
    /// The kernels of the result, in order; none if there is no result.
    kernels: Vec<String>,
    registered: String,
}

/// Writes the files into a new folder and links there.
fn link(files: &[(&str, &[u8])], arguments: &[&str]) -> Outcome {
    let folder = TempDir::new().expect("a folder");
    for (name, contents) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, contents).expect("a file");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(folder.path())
        .args(["-arch=sm_90", "-o", "out.cubin", "--register-link-binaries=registered"])
        .args(arguments)
        .env("CUWELD_CACHE", "off")
        .output()
        .expect("the program runs");
    Outcome {
        status: output.status.code().expect("it ends by itself"),
        messages: String::from_utf8(output.stderr).expect("text"),
        kernels: kernels(&folder.path().join("out.cubin")),
        registered: fs::read_to_string(folder.path().join("registered")).unwrap_or_default(),
    }
}

fn kernels(path: &Path) -> Vec<String> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    let file = cubin::read::File::parse(&bytes).expect("a cubin");
    let symbols = file.symbols().expect("symbols");
    symbols.iter().filter(|symbol| symbol.is_entry()).map(|symbol| symbol.name.to_owned()).collect()
}

/// Links, and expects these kernels and silence.
fn check(files: &[(&str, &[u8])], arguments: &[&str], expected: &[&str]) -> Outcome {
    let outcome = link(files, arguments);
    assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""), "{arguments:?}");
    let mut found = outcome.kernels.clone();
    found.sort();
    assert_eq!(found, expected, "{arguments:?}");
    outcome
}

/// Links, and expects this status and each of these lines among the messages.
fn check_failure(files: &[(&str, &[u8])], arguments: &[&str], status: i32, lines: &[&str]) {
    let outcome = link(files, arguments);
    assert_eq!(outcome.status, status, "{arguments:?}: {}", outcome.messages);
    for line in lines {
        assert!(outcome.messages.lines().any(|found| found == *line), "'{line}' is not in\n{}", outcome.messages);
    }
    assert!(outcome.kernels.is_empty(), "{arguments:?} left a result");
}

/// An archive with members, as GNU's `ar` makes it.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        bytes.extend(format!("{:<16}{:<32}{:<10}`\n", format!("{name}/"), "", contents.len()).bytes());
        bytes.extend(*contents);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// An archive with one member, as BSD's `ar` makes it.
fn bsd_archive(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    let field = format!("#1/{}", name.len());
    bytes.extend(format!("{field:<16}{:<32}{:<10}`\n", "", name.len() + contents.len()).bytes());
    bytes.extend(name.bytes());
    bytes.extend(contents);
    bytes
}

/// A thin archive that names files beside it.
fn thin_archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<thin>\n".to_vec();
    for (name, contents) in members {
        bytes.extend(format!("{:<16}{:<32}{:<10}`\n", format!("{name}/"), "", contents.len()).bytes());
    }
    bytes
}

/// The machine code of a sample.
fn code(sample: &[u8]) -> Vec<u8> {
    let fatbin = fatbin::Fatbin::parse(sample).expect("a fatbin");
    let entry = fatbin.entries().next().expect("an entry").expect("a good one");
    entry.unpack(1 << 20).expect("it unpacks").into_owned()
}

/// Machine code that says another toolkit made it.
fn code_of_toolkit(toolkit: u16) -> Vec<u8> {
    let mut bytes = code(ZSTD);
    let place = {
        let file = cubin::read::File::parse(&bytes).expect("a cubin");
        let note = file.section(file.section_named(".note.nv.cuinfo").expect("a note")).expect("a section");
        note.header.offset as usize + note.data.len() - 4
    };
    bytes[place..place + 2].copy_from_slice(&toolkit.to_le_bytes());
    bytes
}

#[test]
fn fatbins_of_every_packing() {
    check(&[("a.fatbin", ZSTD)], &["a.fatbin"], FIRST);
    check(&[("a.fatbin", LZ4)], &["a.fatbin"], SECOND);
    check(&[("a.fatbin", STORED)], &["a.fatbin"], FIRST);
    let both = [ZSTD, LZ4].concat();
    check(&[("a.fatbin", &both)], &["a.fatbin"], BOTH);
}

#[test]
fn contents_count_and_not_names() {
    for name in ["a.cubin", "a.o", "a.txt", "a"] {
        check(&[(name, ZSTD)], &[name], FIRST);
        check(&[(name, &code(LZ4))], &[name], SECOND);
        check(&[(name, HOST)], &[name], FIRST);
        check(&[(name, &archive(&[("a.o", HOST)]))], &[name], FIRST);
    }
}

#[test]
fn host_objects_are_registered() {
    let outcome = check(&[("a.o", HOST)], &["a.o"], FIRST);
    assert_eq!(outcome.registered, "#define NUM_PRELINKED_OBJECTS 1\nDEFINE_REGISTER_FUNC(_0123abcd_8_first_cu_first)\n");
}

#[test]
fn what_a_device_link_contains_is_not_linked_again() {
    // The joined object claims to contain the first one, linked.
    let outcome = check(&[("a.o", HOST), ("b.o", JOINED)], &["a.o", "b.o", "-ignore-host-info"], SECOND);
    assert_eq!(outcome.registered, "#define NUM_PRELINKED_OBJECTS 1\nDEFINE_REGISTER_FUNC(_4567abcd_9_second_cu_second)\n");
}

#[test]
fn kernels_that_host_code_does_not_launch_are_removed() {
    // Only the first kernel is launched, and it is linked already.
    let files: &[(&str, &[u8])] = &[("a.o", HOST), ("b.o", JOINED), ("c.cubin", &code(ZSTD))];
    check(files, &["a.o", "b.o"], &[]);
    // A bare cubin does not say what launches its kernels, so all stay.
    check(files, &["a.o", "b.o", "c.cubin"], BOTH);
}

#[test]
fn archives_of_every_kind() {
    let (first, second) = (code(ZSTD), code(LZ4));
    let members: &[(&str, &[u8])] = &[("a.cubin", &first), ("b.fatbin", LZ4), ("notes.txt", b"not code, but that is no matter")];
    check(&[("l.a", &archive(members))], &["l.a"], BOTH);
    check(&[("l.a", &bsd_archive("a_rather_long_name.cubin", &first))], &["l.a"], FIRST);
    let nested = archive(&[("inner.a", &archive(members))]);
    check(&[("l.a", &nested)], &["l.a"], BOTH);
    check(&[("l.a", &archive(&[]))], &["l.a"], &[]);
    let thin = thin_archive(&[("a.cubin", &first), ("b.cubin", &second)]);
    let files: &[(&str, &[u8])] = &[("lib/l.a", &thin), ("lib/a.cubin", &first), ("lib/b.cubin", &second)];
    check(files, &["lib/l.a"], BOTH);
    let thin_of_archive = thin_archive(&[("inner.a", &nested)]);
    check(&[("l.a", &thin_of_archive), ("inner.a", &nested)], &["l.a"], BOTH);
}

#[test]
fn libraries_are_looked_for() {
    let library = archive(&[("a.fatbin", ZSTD)]);
    let files: &[(&str, &[u8])] = &[("one/libx.a", &library), ("two/libx.a", b"not looked at"), ("b.cubin", &code(LZ4))];
    check(files, &["b.cubin", "-Lone", "-Ltwo", "-lx"], BOTH);
    check(files, &["b.cubin", "-L", "one", "-l:libx.a"], BOTH);
    check(files, &["b.cubin", "-L", "one", "-lx", "one/libx.a", "one/../one/libx.a"], BOTH);
    check(files, &["b.cubin", "-Lthree", "-lx"], SECOND);
    check(files, &["b.cubin", "-Lone", "-lnone"], SECOND);
}

#[test]
fn inputs_that_are_not_needed_are_left_out() {
    let library = archive(&[("a.fatbin", ZSTD)]);
    let files: &[(&str, &[u8])] = &[("l.a", &library), ("libcudadevrt.a", &library), ("a.fatbin", ZSTD), ("b.cubin", &code(LZ4))];
    check(files, &["b.cubin", "l.a"], BOTH);
    check(files, &["b.cubin", "--no-whole-archive", "l.a"], SECOND);
    check(files, &["--no-whole-archive", "b.cubin", "l.a"], SECOND);
    check(files, &["b.cubin", "--start-lib", "a.fatbin", "--end-lib"], SECOND);
    check(files, &["b.cubin", "libcudadevrt.a"], SECOND);
    check(files, &["b.cubin", "libcudadevrt.a", "-keep-system-libraries"], BOTH);
}

#[test]
fn a_verbose_link_says_what_was_passed_over() {
    let library = archive(&[("empty.o", b"")]);
    let files: &[(&str, &[u8])] = &[("a.o", HOST), ("b.o", JOINED), ("c.a", &library)];
    let outcome = link(files, &["-v", "a.o", "b.o", "c.a", "-lnone"]);
    for line in [
        "cuweld: 'a.o' was passed over: 'b.o' contains it, linked",
        "cuweld: 'c.a:empty.o' was passed over: it is an empty file",
        "cuweld: '-lnone' was passed over: no folder of libraries (-L) has it",
    ] {
        assert!(outcome.messages.lines().any(|found| found == line), "'{line}' is not in\n{}", outcome.messages);
    }
    let outcome = link(files, &["-v", "--diagnostics=nvlink", "a.o", "b.o", "c.a", "-lnone"]);
    assert!(!outcome.messages.contains("passed over"), "{}", outcome.messages);
}

#[test]
fn code_for_another_target() {
    let warning = "cuweld: warning[CW3012]: SM Arch ('sm_80') not found in 'a.o'";
    let outcome = link(&[("a.o", HOST)], &["-arch=sm_80", "a.o"]);
    assert_eq!(outcome.status, 0);
    let hint = "  hint: it has sm_90, compute_90; compile it with -gencode arch=compute_80,code=sm_80, too\n";
    assert!(outcome.messages.contains(warning) && outcome.messages.contains(hint), "{}", outcome.messages);
    check(
        &[("l.a", &archive(&[("a.o", HOST)]))],
        &["-arch=sm_80", "l.a", "--diagnostics=nvlink", "-suppress-arch-warning"][1..],
        FIRST,
    );
    check_failure(
        &[("a.o", HOST)],
        &["--diagnostics=nvlink", "-arch=sm_80", "-Werror", "a.o"],
        1,
        &["nvlink error   : SM Arch ('sm_80') not found in 'a.o'", "nvlink fatal   : elfLink internal error"],
    );
}

#[test]
fn files_that_are_nothing_known() {
    let text = "no code, but more than fifty-six characters that are not code";
    let refused = "cuweld: error[CW3007]: Input file 'a.txt' is a file of unknown format, which a device link does not take";
    check_failure(&[("a.txt", text.as_bytes())], &["a.txt"], 1, &[refused]);
    check(&[("a.txt", text.as_bytes())], &["--diagnostics=nvlink", "a.txt"], &[]);
    for (name, contents, message) in [
        ("a.cubin", text.as_bytes(), "cubin not an elf?"),
        ("a.cubin", HOST, "cubin not a device elf?"),
        ("a.fatbin", text.as_bytes(), "fatbin wrong format?"),
        ("a.ltoir", text.as_bytes(), "should only see nvvm files when -lto"),
        ("a.o", b"short", "Could not open input file 'a.o'"),
        ("lto.fatbin", LTO, "LTO objects found, use -dlto"),
    ] {
        check_failure(&[(name, contents)], &["--diagnostics=nvlink", name], 1, &[&format!("nvlink fatal   : {message}")]);
    }
    check_failure(&[], &["none.o"], 1, &["cuweld: error[CW2001]: Could not open input file 'none.o'"]);
}

#[test]
fn damaged_containers_are_named() {
    let cut = |bytes: &[u8], left: usize| bytes[..left].to_vec();
    for (contents, problem) in [
        (cut(HOST, 200), "host object at offset"),
        (cut(ZSTD, 600), "fatbin at offset 0x0: the fatbin needs"),
        (cut(&archive(&[("a.o", HOST)]), 500), "archive member 'a.o' at offset 0x8: the member needs 2784 bytes, 432 are left"),
        (archive(&[("a.fatbin", &cut(LZ4, 600))]), "fatbin at offset 0x0: the fatbin needs"),
    ] {
        let outcome = link(&[("a", &contents)], &["a"]);
        assert_eq!(outcome.status, 1, "{problem}");
        assert!(outcome.messages.starts_with("cuweld: error[CW3006]: Input file 'a"), "{}", outcome.messages);
        assert!(outcome.messages.contains(problem), "'{problem}' is not in {}", outcome.messages);
    }
    check_failure(
        &[("a.fatbin", ZSTD)],
        &["--max-unpacked=1K", "a.fatbin"],
        1,
        &[
            "cuweld: error[CW3006]: Input file 'a.fatbin' can not be unpacked: the inputs up to this one unpack to 3352 bytes, and 1024 are allowed",
        ],
    );
    let thin = thin_archive(&[("none.o", HOST)]);
    check_failure(&[("l.a", &thin)], &["l.a"], 1, &["cuweld: error[CW2001]: Could not open input file 'l.a:none.o'"]);
}

#[test]
fn objects_of_a_newer_toolkit() {
    let unknown = code_of_toolkit(199);
    let warning = "cuweld: warning[CW3022]: Input file 'a.cubin' was made by a newer toolkit (199) than is known here (135)\n  \
                   hint: look for a newer version of cuweld, or compile all objects with one toolkit\n";
    let outcome = link(&[("a.cubin", &unknown)], &["a.cubin"]);
    assert_eq!((outcome.status, outcome.messages.as_str(), &outcome.kernels[..]), (0, warning, &["first".to_owned()][..]));
    let newer = code_of_toolkit(134);
    for accepting in [&["a.cubin"][..], &["--diagnostics=nvlink", "a.cubin"], &["--release=13.4", "a.cubin"]] {
        let outcome = link(&[("a.cubin", &newer)], accepting);
        assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""), "{accepting:?}");
    }
    for (refusing, known) in [("--compat=nvlink-13.0.88", 130), ("--release=13.0", 130), ("--release=13.3", 133)] {
        check_failure(
            &[("a.cubin", &newer)],
            &[refusing, "--diagnostics=nvlink", "a.cubin"],
            1,
            &[&format!("nvlink fatal   : Input file 'a.cubin' newer than toolkit (134 vs {known})")],
        );
    }
    check_failure(
        &[("a.cubin", &code_of_toolkit(118))],
        &["--diagnostics=nvlink", "a.cubin"],
        1,
        &["nvlink fatal   : Input file 'a.cubin' must be recompiled with toolkit >= Cuda 12.0"],
    );
}

#[test]
fn a_missing_toolkit_is_said_to_be_missing() {
    let missing = "cuweld: error[CW2003]: the CUDA toolkit's assembler, ptxas, is needed and was not found";
    check_failure(&[("a.ptx", PTX)], &["--toolkit=/nowhere", "a.ptx"], 1, &[missing, "  >>> looked in /nowhere (--toolkit)"]);
    let missing =
        "cuweld: error[CW2003]: the CUDA toolkit's library for link-time optimization, libnvJitLink, is needed and was not found";
    check_failure(&[("a.fatbin", LTO)], &["--toolkit=/nowhere", "-dlto", "-nvvmpath=/nowhere", "a.fatbin"], 1, &[missing]);
}
