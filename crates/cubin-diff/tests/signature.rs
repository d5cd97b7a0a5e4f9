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
    Signature::nvlink(Release::oldest().newest_build(Tool::Nvlink).expect("a known program"))
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

/// Later releases leave no gap in front of the section headers of files with two views.
#[test]
fn files_without_gaps_are_signed_as_well() {
    let file: &[u8] = include_bytes!("../../../tests/nvjitlink/release-13.5/jump_tables.sm_100.cubin");
    let build = Release::by_name("13.5").and_then(|release| release.newest_build(Tool::NvJitLink)).expect("a known library");
    let library = Signature { tool: "nvJIT API", version: build.version_text, build: build.build_text };
    let signed = signed_as(file, library, CUWELD).expect("laid out as linkers do");
    assert_ne!(signed, file);
    assert_eq!(signed_as(&signed, CUWELD, library).as_deref(), Ok(file));
}

#[test]
fn others_keep_their_notes() {
    assert_eq!(signed_as(FILES[0], CUWELD, reference()).as_deref(), Ok(FILES[0]));
    assert!(signed_as(b"no cubin", CUWELD, reference()).is_err());
}
