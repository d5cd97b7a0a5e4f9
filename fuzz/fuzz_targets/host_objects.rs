//! Host objects: their fatbins, and what host code refers to.
#![no_main]

use fatbin::HostObject;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(object) = HostObject::parse(data) else { return };
    for section in &object.relocatable_code {
        for fatbin in section.fatbins().flatten() {
            for entry in fatbin.entries().flatten() {
                _ = (entry.description().to_string(), entry.unpack(1 << 20));
            }
        }
    }
});
