//! The mistakes that people make, and what they are told: `docs/mistakes.md` holds the commands and everything that they print.
//!
//! With `BLESS=1`, what is printed now is written there; the difference is to be looked at.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const DOCUMENT: &str = "../../docs/mistakes.md";
const COMMAND: &str = "```text\n$ cuweld";
const END: &str = "```\n";

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Files by the names that the commands use: an input of a case, or one of the fatbin crate's samples.
const FILES: &[(&str, &str)] = &[
    ("kernel.cubin", "cases/undefined_functions/inputs/sm_90/a.cubin"),
    ("function.cubin", "cases/undefined_functions/inputs/sm_90/b.cubin"),
    ("caller.o", "cases/undefined_elsewhere/inputs/sm_90/a.o"),
    ("late.o", "cases/undefined_elsewhere/inputs/sm_90/late.o"),
    ("libothers.a", "cases/undefined_elsewhere/inputs/sm_90/libothers.a"),
    ("first.cubin", "cases/duplicate_functions/inputs/sm_90/a.cubin"),
    ("second.cubin", "cases/duplicate_functions/inputs/sm_90/b.cubin"),
    ("old.cubin", "cases/wrong_architecture/inputs/sm_90/a.cubin"),
    ("names.cubin", "cases/undefined_hints/inputs/sm_90/a.cubin"),
    ("definitions.cubin", "cases/undefined_hints/inputs/sm_90/b.cubin"),
    ("narrow.cubin", "cases/size_mismatch/inputs/sm_90/a.cubin"),
    ("wide.cubin", "cases/size_mismatch/inputs/sm_90/b.cubin"),
    ("shared.cubin", "cases/shared_too_much/inputs/sm_90/a.cubin"),
    ("shared2.cubin", "cases/shared_too_much/inputs/sm_90/b.cubin"),
    ("constants.cubin", "cases/constants_too_large/inputs/sm_90/a.cubin"),
    ("constants2.cubin", "cases/constants_too_large/inputs/sm_90/b.cubin"),
    ("bounded.cubin", "cases/register_limit/inputs/sm_90/a.cubin"),
    ("greedy.cubin", "cases/register_limit/inputs/sm_90/b.cubin"),
    ("walk.cubin", "cases/recursion/inputs/sm_90/a.cubin"),
    ("visit.cubin", "cases/recursion/inputs/sm_90/b.cubin"),
    ("again.cubin", "cases/recursion/inputs/sm_90/c.cubin"),
    ("main.o", "cases/archives/inputs/sm_90/a.o"),
    ("libfirst.a", "cases/archives/inputs/sm_90/libfirst.a"),
    ("libsecond.a", "cases/archives/inputs/sm_90/libsecond.a"),
    ("launcher.cubin", "cases/undefined_device_runtime/inputs/sm_90/a.cubin"),
    ("good.cubin", "cases/single_kernel/inputs/sm_90/a.cubin"),
    ("lto.fatbin", "../crates/fatbin/tests/data/lto.fatbin"),
    ("tmpxft_00000a1b_00000000-6_first.o", "../crates/fatbin/tests/data/host_x86_64.o"),
    ("both.o", "../crates/fatbin/tests/data/host_x86_64.o"),
];

/// The files that the commands name.
fn prepare(folder: &Path) {
    for (name, source) in FILES {
        fs::copy(here("../../tests").join(source), folder.join(name)).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
    let good = fs::read(folder.join("good.cubin")).expect("a file");
    fs::create_dir(folder.join("objects")).expect("a folder");
    fs::create_dir(folder.join("nothing")).expect("a folder");
    for (name, bytes) in [
        ("cut.cubin", &good[..900]),
        ("empty.o", b""),
        ("unit.ptx", b".version 8.0\n.target sm_75\n.address_size 64\n"),
        ("source.cu", b"__global__ void kernel(int *p) { *p = 1; }\n// This is no input of a linker.\n"),
        ("objects/a.o", b""),
    ] {
        fs::write(folder.join(name), bytes).expect("a file");
    }
    let mut newer = good;
    let place = {
        let file = cubin::read::File::parse(&newer).expect("a cubin");
        let note = file.section(file.section_named(".note.nv.cuinfo").expect("a note")).expect("a section");
        note.header.offset as usize + note.data.len() - 4
    };
    // Far enough in the future.
    newer[place..place + 2].copy_from_slice(&990_u16.to_le_bytes());
    fs::write(folder.join("newer.cubin"), newer).expect("a file");
}

/// What a command prints, and its status.
fn run(folder: &Path, arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(folder)
        // So that no program of this machine takes part.
        .env_clear()
        .env("PATH", folder.join("nothing"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the program runs");
    let printed = [output.stdout, output.stderr].concat();
    let status = match output.status.code() {
        Some(0) => String::new(),
        status => format!("(status {})\n", status.unwrap_or(-1)),
    };
    format!("{}{status}", String::from_utf8_lossy(&printed))
}

#[test]
fn mistakes_are_explained_as_the_document_says() {
    let document = fs::read_to_string(here(DOCUMENT)).expect("the document");
    let folder = TempDir::new().expect("a folder");
    prepare(folder.path());
    let mut parts = document.split(COMMAND);
    let mut found = parts.next().expect("a start").to_owned();
    let mut count = 0;
    for part in parts {
        let (block, rest) = part.split_once(END).expect("an end of what is printed");
        let arguments = block.lines().next().unwrap_or_default();
        found.push_str(&format!("{COMMAND}{arguments}\n{}{END}{rest}", run(folder.path(), arguments)));
        count += 1;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(here(DOCUMENT), &found).expect("the document");
        return;
    }
    assert!(count >= 25, "{count} mistakes");
    for (expected, found) in document.split("\n## ").zip(found.split("\n## ")) {
        assert_eq!(expected, found);
    }
}
