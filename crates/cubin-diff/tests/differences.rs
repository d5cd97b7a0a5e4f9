//! Cubins with one thing changed, and what is said about it.

use std::path::{Path, PathBuf};

use cubin::read::File;
use cubin_diff::{Area, compare};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cubin/tests/data").join(name)
}

fn cubin(name: &str) -> Vec<u8> {
    std::fs::read(data(name)).expect("the test data is there")
}

/// Where a section's contents start in a file.
fn offset_of(bytes: &[u8], section: &str) -> usize {
    let file = File::parse(bytes).expect("good");
    let index = file.section_named(section).expect("there");
    file.section(index).expect("there").header.offset as usize
}

/// What is said when the byte at `place` of a section changes, without the last line, which is about bytes.
fn said(name: &str, section: &str, place: usize, byte: u8) -> Vec<String> {
    let left = cubin(name);
    let mut right = left.clone();
    right[offset_of(&left, section) + place] = byte;
    let mut said = compare(&left, &right).expect("both are cubins");
    let last = said.pop().expect("something differs");
    assert_eq!(last.area, Area::Bytes);
    assert!(last.to_string().contains("1 bytes, the first at"), "{last}");
    said.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_is_the_same_as_itself() {
    for name in ["kernel_75.cubin", "linked_90.cubin", "linked_120.cubin"] {
        assert_eq!(compare(&cubin(name), &cubin(name)), Ok(Vec::new()));
    }
}

#[test]
fn differences_are_told_in_the_terms_of_a_linker() {
    let linked = "linked_90.cubin";
    assert_eq!(said(linked, ".symtab", 24 + 16, 7), ["symbols '.symtab' '.note.nv.tkinfo': size: 0x0 | 0x7"]);
    assert_eq!(
        said(linked, ".rela.text.kernel", 8, 57),
        [
            "relocations '.rela.text.kernel': only left: 0x120 R_CUDA_ABS32_LO_32 'twice' +0x0",
            "relocations '.rela.text.kernel': only right: 0x120 R_CUDA_ABS32_HI_32 'twice' +0x0"
        ]
    );
    assert_eq!(
        said(linked, ".nv.compat", 2, 1),
        [
            "compat '.nv.compat': only left: BVAL CUDA_ACCELERATOR_TARGET 0x0",
            "compat '.nv.compat': only right: BVAL CUDA_ACCELERATOR_TARGET 0x1"
        ]
    );
    assert_eq!(
        said(linked, ".nv.constant3", 4, 9),
        ["contents '.nv.constant3': 1 bytes, the first at 0x4: 03 00 00 00 07 00 00 00 | 03 00 00 00 09 00 00 00"]
    );
    let shifted = said("linked_120.cubin", ".nv.capmerc.text.kernel", 0, 3);
    assert_eq!(shifted, ["contents '.nv.capmerc.text.kernel': machine code in: '.text.kernel' | '.symtab'"]);
}

#[test]
fn parts_come_in_order() {
    let said = compare(&cubin("kernel_80.cubin"), &cubin("linked_90.cubin")).expect("both are cubins");
    assert!(said.is_sorted_by_key(|difference| difference.area));
    for area in [Area::Header, Area::Sections, Area::Symbols, Area::Info, Area::Segments, Area::Bytes] {
        assert!(said.iter().any(|difference| difference.area == area), "{area}");
    }
}
