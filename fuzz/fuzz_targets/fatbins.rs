//! Fatbins: every entry is unpacked, and gives no more than is allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// The most that an entry may unpack to.
const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    _ = fatbin::identify(data).to_string();
    for fatbin in fatbin::fatbins(data).flatten() {
        for entry in fatbin.entries().flatten() {
            _ = entry.description().to_string();
            if let Ok(contents) = entry.unpack(LIMIT) {
                assert!(contents.len() <= LIMIT.max(entry.payload.len()));
            }
            assert!(fatbin::fatbins(&entry.to_fatbin()).flatten().next().is_some());
        }
    }
});
