//! Has the program linked so that it starts fast, which is half of the time of a small link.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    // At addresses that are known, tables of texts need no relocations: 5,000 of them, on pages that would have to be copied first.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // A linker of its own brings its own libraries.
    if variable("TARGET") == variable("HOST") && variable("RUSTC_LINKER").is_empty() {
        link_unwinder();
    }
}

/// Puts the code that unwinds the stack into the program, where the C compiler has it: one library less to load at every start.
fn link_unwinder() {
    let Ok(answer) = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output() else { return };
    // A compiler that does not have it repeats the name.
    let answer = String::from_utf8_lossy(&answer.stdout);
    if let Some(folder) = Path::new(answer.trim()).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
