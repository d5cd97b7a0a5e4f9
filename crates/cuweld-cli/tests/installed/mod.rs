//! What tests need that may not be installed.

#![allow(dead_code, reason = "few tests need everything here")]

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// The toolkit of the reference linker, if `CUDA_HOME` names it. Without it, the test is skipped, unless nothing may be.
pub fn toolkit() -> Option<PathBuf> {
    let folder = std::env::var_os("CUDA_HOME").map(PathBuf::from).filter(|folder| {
        let output = Command::new(folder.join("bin/nvlink")).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("V13.0.88"))
    });
    if folder.is_none() {
        skip_unless_required("the toolkit of nvlink 13.0.88 is not in CUDA_HOME");
    }
    folder
}

/// Says why a test is skipped; fails where every test is required (`REQUIRE_ALL=1`).
pub fn skip_unless_required(why: &str) {
    assert!(std::env::var_os("REQUIRE_ALL").is_none(), "{why}");
    skip(why);
}

/// Says why a test is skipped, past the test harness, which keeps to itself what tests print that succeed.
pub fn skip(why: &str) {
    _ = writeln!(std::io::stderr(), "skipped: {why}");
}
