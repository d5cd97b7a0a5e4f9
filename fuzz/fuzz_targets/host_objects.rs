//! Host objects: their fatbins, clang's containers, and what host code refers to.
#![no_main]

use fatbin::{HostObject, offload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(object) = HostObject::parse(data) else { return };
    for images in object.offload_code.iter().filter_map(|section| section.images().ok()) {
        _ = offload::units(&images).flatten().map(|image| image.description().to_string()).count();
    }
    _ = object.entry_symbols().count();
    for section in &object.relocatable_code {
        for fatbin in section.fatbins().flatten() {
            for entry in fatbin.entries().flatten() {
                _ = (entry.description().to_string(), entry.unpack(1 << 20));
            }
        }
    }
});
