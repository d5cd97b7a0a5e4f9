//! A cubin: everything in it is read, checked and shown.
#![no_main]

use cubin::read::File;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(file) = File::parse(data) else { return };
    assert!(!cubin::dump::dump(&file).is_empty());
    for section in file.sections() {
        _ = cubin::relocation::entries(section).map(Iterator::count);
    }
    _ = (file.symbols(), file.mercury_symbols(), file.cuda_info(), file.is_accelerated());
});
