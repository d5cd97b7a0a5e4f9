//! The comparison of two cubins: it finds nothing in equal files and something in others.
#![no_main]

use cuweld_fuzz::Pair;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(Pair { first, second, .. }) = Pair::new(data) else { return Corpus::Reject };
    if let Ok(differences) = cubin_diff::compare(first, second) {
        assert_eq!(differences.is_empty(), first == second);
        _ = differences.iter().map(ToString::to_string).collect::<String>();
    }
    if let Ok(differences) = cubin_diff::compare(first, first) {
        assert!(differences.is_empty());
    }
    Corpus::Keep
});
