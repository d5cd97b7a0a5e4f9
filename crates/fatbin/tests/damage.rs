//! Damaged input: every truncation and every changed byte of every sample gives a value or an error, and never more
//! memory than the limit.

use fatbin::archive::{Archive, Contents};
use fatbin::{HostObject, fatbins, identify};

const LIMIT: usize = 1 << 16;

const SAMPLES: [(&str, &[u8]); 9] = [
    ("zstd.fatbin", include_bytes!("data/zstd.fatbin")),
    ("lz4.fatbin", include_bytes!("data/lz4.fatbin")),
    ("stored.fatbin", include_bytes!("data/stored.fatbin")),
    ("concat.fatbin", include_bytes!("data/concat.fatbin")),
    ("lto.fatbin", include_bytes!("data/lto.fatbin")),
    ("host_x86_64.o", include_bytes!("data/host_x86_64.o")),
    ("joined_x86_64.o", include_bytes!("data/joined_x86_64.o")),
    ("gnu.a", include_bytes!("data/gnu.a")),
    ("thin.a", include_bytes!("data/thin.a")),
];

/// Opens bytes as everything that they could be, and everything in them.
fn open_all(bytes: &[u8]) {
    let _kind = identify(bytes).to_string();
    open_fatbins(fatbins(bytes));
    if let Ok(object) = HostObject::parse(bytes) {
        for section in &object.relocatable_code {
            open_fatbins(section.fatbins());
        }
    }
    if let Ok(archive) = Archive::parse(bytes) {
        for member in archive.members().flatten() {
            match member.contents {
                Contents::Inside(contents) => open_fatbins(fatbins(contents)),
                Contents::NestedMember { offset, .. } => drop(archive.member_at(offset)),
                Contents::File { .. } => {}
            }
        }
    }
}

fn open_fatbins(fatbins: fatbin::container::Fatbins<'_>) {
    for fatbin in fatbins.flatten() {
        for entry in fatbin.entries().flatten() {
            let _name = entry.description().to_string();
            match entry.unpack(LIMIT) {
                Ok(contents) => assert!(contents.len() <= LIMIT.max(entry.payload.len())),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

#[test]
fn every_truncation_is_survived() {
    for (_, bytes) in SAMPLES {
        for size in 0..=bytes.len() {
            open_all(&bytes[..size]);
        }
    }
}

#[test]
fn every_changed_byte_is_survived() {
    for (_, sample) in SAMPLES {
        let mut bytes = sample.to_vec();
        for index in 0..bytes.len() {
            let original = bytes[index];
            for changed in [original ^ 1, original ^ 0x80, original.wrapping_add(1), 0, 0xff] {
                bytes[index] = changed;
                open_all(&bytes);
            }
            bytes[index] = original;
        }
    }
}

#[test]
fn every_pair_of_changed_header_bytes_is_survived() {
    // Sizes and offsets that lie together are what single changes do not reach.
    for (name, sample) in SAMPLES {
        let mut bytes = sample.to_vec();
        for first in 0..bytes.len().min(96) {
            for second in first + 1..bytes.len().min(96) {
                let original = (bytes[first], bytes[second]);
                (bytes[first], bytes[second]) = (0xff, 0xff);
                open_all(&bytes);
                (bytes[first], bytes[second]) = original;
            }
        }
        assert_eq!(bytes, sample, "{name}");
    }
}
