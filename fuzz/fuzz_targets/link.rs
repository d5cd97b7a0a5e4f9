//! A whole link of two files of any kind: it ends with an image that can be read again, or with a message.
#![no_main]

use cubin::read::File;
use cuweld::Linker;
use cuweld_fuzz::Pair;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(pair) = Pair::new(data) else { return Corpus::Reject };
    let mut linker = Linker::new(pair.request());
    match linker.add_all(&pair.inputs()).and_then(|()| linker.link()) {
        Ok(linked) => assert!(File::parse(&linked.image).is_ok(), "the image can not be read"),
        Err(error) => assert!(!error.diagnostics().is_empty(), "no message"),
    }
    Corpus::Keep
});
