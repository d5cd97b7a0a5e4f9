//! How the library is linked: its name, and the version of what it exports.
//!
//! The compiler writes a version script of its own, without a version. GNU ld takes no second one beside it; lld does, and comes with
//! the compiler. So this one library is linked with lld. (zig, which releases are linked with, takes the last one.)

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=exports.map");
    println!("cargo::rerun-if-changed=exports12.map");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let (major, exports) = match env::var_os("CARGO_FEATURE_CUDA12") {
        Some(_) => (12, "exports12.map"),
        None => (13, "exports.map"),
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnvJitLink.so.{major}");
    match linker_of_the_compiler() {
        Some(linker) => println!("cargo::rustc-cdylib-link-arg=-B{linker}"),
        None if is_installed("ld.lld") => {}
        None => {
            println!("cargo::warning=the linker lld was not found; libnvJitLink.so will export nothing");
            return;
        }
    }
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/{exports}");
}

/// The folder in which the Rust compiler has lld under the name that the C compiler looks for.
fn linker_of_the_compiler() -> Option<String> {
    let (compiler, host) = (env::var_os("RUSTC")?, env::var("HOST").ok()?);
    let printed = Command::new(compiler).args(["--print", "sysroot"]).output().ok()?;
    let root = String::from_utf8(printed.stdout).ok()?;
    let folder = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin/gcc-ld");
    folder.is_dir().then(|| folder.to_string_lossy().into_owned())
}

/// Whether a program is on the path.
fn is_installed(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
