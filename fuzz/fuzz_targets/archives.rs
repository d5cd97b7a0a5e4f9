//! Archives: members, members of members, and what those are.
#![no_main]

use fatbin::Archive;
use fatbin::archive::Contents;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut open: Vec<_> = Archive::parse(data).into_iter().collect();
    while let Some(archive) = open.pop() {
        for member in archive.members().flatten() {
            _ = archive.member_at(member.offset);
            match member.contents {
                Contents::Inside(bytes) => {
                    _ = fatbin::identify(bytes).to_string();
                    open.extend(archive.parse_nested(&member, bytes));
                }
                Contents::NestedMember { offset, .. } => _ = archive.member_at(offset),
                Contents::File { .. } => {}
            }
        }
    }
});
