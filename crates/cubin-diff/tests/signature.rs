//! Signing a file anew changes who signed it, and nothing else.

use cubin::release::{Release, Tool};
use cubin_diff::signature::{CUWELD, Signature, signed_as};

/// Linked files with one view and with two, and one with segments that note nothing of the change.
const FILES: [&[u8]; 3] = [
    include_bytes!("../../../tests/cases/alias/expected/sm_75/out.cubin"),
    include_bytes!("../../../tests/cases/data_only/expected/sm_110/out.cubin"),
    include_bytes!("../../../tests/cases/relocatable/expected/sm_120/out.cubin"),
];

fn reference() -> Signature<'static> {
    Signature::nvlink(Release::oldest().build(Tool::Nvlink).expect("a known program"))
}

#[test]
fn there_and_back_is_the_same_file() {
    for file in FILES {
        let signed = signed_as(file, reference(), CUWELD).expect("laid out as linkers do");
        assert_ne!(signed, file);
        let notes: Vec<cubin_diff::Area> =
            cubin_diff::compare(file, &signed).expect("readable").iter().map(|difference| difference.area).collect();
        assert!(notes.contains(&cubin_diff::Area::Notes));
        assert!(!notes.contains(&cubin_diff::Area::Contents) && !notes.contains(&cubin_diff::Area::Symbols), "{notes:?}");
        assert_eq!(signed_as(&signed, CUWELD, reference()).as_deref(), Ok(file));
    }
}

#[test]
fn others_keep_their_notes() {
    assert_eq!(signed_as(FILES[0], CUWELD, reference()).as_deref(), Ok(FILES[0]));
    assert!(signed_as(b"no cubin", CUWELD, reference()).is_err());
}
