//! Objects that lack one of the two views of the program: what is said of them. No compiler makes such objects, so they are made from
//! good ones here.

use cubin::read::File;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Where a section header has the section's type.
const TYPE_IN_HEADER: usize = 4;
const SIZE_OF_HEADER: usize = 64;

/// An object with a kernel, for sm_120.
fn object() -> Vec<u8> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    fs::read(cases.join("call_across_units/inputs/sm_120/a.cubin")).expect("a stored object")
}

/// The object with another type for the sections of one name: they are no longer what they were.
fn without(name: &str) -> Vec<u8> {
    let mut bytes = object();
    let file = File::parse(&bytes).expect("a cubin");
    let headers = file.header().section_header_offset as usize;
    let places: Vec<usize> = (file.sections().iter())
        .filter(|section| section.name.starts_with(name))
        .map(|section| headers + section.index as usize * SIZE_OF_HEADER + TYPE_IN_HEADER)
        .collect();
    assert!(!places.is_empty(), "{name} is not there");
    for place in places {
        bytes[place..place + 4].fill(0);
    }
    bytes
}

fn messages(object: &[u8]) -> String {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("a.cubin"), object).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(folder.path())
        .args(["-arch=sm_120", "a.cubin", "-o", "out.cubin"])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(!folder.path().join("out.cubin").exists(), "a result was left");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn without_machine_code_it_is_said_what_helps() {
    assert_eq!(
        messages(&without(".text.")),
        "cuweld: error[CW3041]: Input file 'a.cubin' holds no machine code for 'sm_120', only Mercury code\n  \
         hint: compile it for the target, or name the toolkit's linker with --finalizer\n"
    );
}

#[test]
fn without_mercury_code_there_is_no_link() {
    assert_eq!(
        messages(&without(".nv.merc.symtab")),
        "cuweld: error[CW3042]: Input file 'a.cubin' holds machine code for 'sm_120' alone, no Mercury code\n"
    );
}
