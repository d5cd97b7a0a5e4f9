//! Damaged containers: fatbins, host objects and archives, cut off and changed everywhere.

use cubin::target::Target;
use cuweld::inputs::{RawInput, UnpackOptions};
use cuweld::{Linker, Request};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Containers of several kinds; all hold code for sm_90.
const SAMPLES: &[(&str, &str)] = &[
    ("fatbins", "a.fatbin"),
    ("fatbins", "b.fatbin"),
    ("fatbins", "c.fatbin"),
    ("host_objects", "a.o"),
    ("archives", "libsecond.a"),
];

/// Opens a container and links what is in it. Nothing is asked of the result; a panic is told with its cause.
fn open_and_link(bytes: &[u8], name: &str, damage: &dyn Fn() -> String) {
    let target = Target::by_name("sm_90").unwrap_or_else(|| panic!("sm_90 is not known"));
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let unpack = UnpackOptions { limit: Some(1 << 20), leave_out_linked_modules: true, ..UnpackOptions::default() };
        let mut linker = Linker::new(Request { unpack, ..Request::new(target) });
        if let Err(error) = linker.add_all(&[RawInput::new(name, bytes)]).and_then(|()| linker.link()) {
            assert!(!error.diagnostics().is_empty(), "no message");
        }
    }));
    assert!(attempt.is_ok(), "the linker panicked on {name}, {}", damage());
}

fn samples() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    SAMPLES.iter().map(|&(case, file)| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/cases/{case}/inputs/sm_90/{file}"));
        (file, fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    })
}

#[test]
fn any_container_may_be_cut_off() {
    for (name, bytes) in samples() {
        for length in 0..bytes.len() {
            open_and_link(&bytes[..length], name, &|| format!("cut off at {length} of {}", bytes.len()));
        }
    }
}

#[test]
fn any_byte_of_a_container_may_be_wrong() {
    for (name, bytes) in samples() {
        let mut changed = bytes.clone();
        for (at, &byte) in bytes.iter().enumerate() {
            for value in [byte ^ 0xff, byte.wrapping_add(1), byte ^ 0x80, 0] {
                changed[at] = value;
                open_and_link(&changed, name, &|| format!("{value:#x} at {at:#x}"));
            }
            changed[at] = byte;
        }
    }
}
