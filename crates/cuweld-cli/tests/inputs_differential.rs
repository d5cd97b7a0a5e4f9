//! Inputs of every kind against the reference itself, if it is installed: the same status, messages, result and list of modules.
//!
//! `tests/inputs/links.txt` has one command line per line; `tests/inputs/build.sh` makes the files that they name.

#![cfg(unix)]

mod installed;

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What a link left behind.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    succeeded: bool,
    messages: Vec<String>,
    image: Option<Vec<u8>>,
    registered: Option<String>,
}

#[test]
fn inputs_are_treated_as_the_reference_treats_them() {
    let Some(toolkit) = installed::toolkit() else { return };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let folder = TempDir::new().expect("a folder");
    let path = format!("{}:{}", toolkit.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let build = Command::new("sh")
        .arg(sources.join("build.sh"))
        .arg(&sources)
        .current_dir(folder.path())
        .envs([("PATH", path.as_str()), ("CUDA_HOME", &toolkit.to_string_lossy())])
        .output()
        .expect("the script runs");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    // Called by this name, the program behaves as the reference.
    let candidate = folder.path().join("nvlink");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cuweld"), &candidate).expect("a link");

    let mut differences = Vec::new();
    let links = fs::read_to_string(sources.join("links.txt")).expect("the list of links");
    for line in links.lines().filter(|line| !line.starts_with('#')) {
        let arguments = line.replace("LTO", &format!("-dlto -nvvmpath={}", toolkit.join("nvvm").display()));
        let expected = link(&toolkit.join("bin/nvlink"), &arguments, folder.path());
        let found = link(&candidate, &arguments, folder.path());
        if found != expected {
            differences.push(format!("{line}: {}", difference(&expected, &found)));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn link(linker: &Path, arguments: &str, folder: &Path) -> Outcome {
    let (image, registered) = (folder.join("out.cubin"), folder.join("registered"));
    for file in [&image, &registered] {
        // It is not there the first time.
        _ = fs::remove_file(file);
    }
    let target = (!arguments.contains("-arch=")).then_some("-arch=sm_90");
    let output = Command::new(linker)
        .current_dir(folder)
        .env("CUWELD_NOTE_AS", "nvlink-13.0.88")
        .args(target)
        .args(arguments.split_whitespace())
        .args(["--register-link-binaries=registered", "-o", "out.cubin"])
        .output()
        .expect("the linker runs");
    let succeeded = output.status.success();
    Outcome {
        succeeded,
        messages: String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect(),
        image: fs::read(image).ok().filter(|_| succeeded),
        registered: fs::read_to_string(registered).ok().filter(|_| succeeded),
    }
}

fn difference(expected: &Outcome, found: &Outcome) -> String {
    if (expected.succeeded, &expected.messages) != (found.succeeded, &found.messages) {
        return format!("the reference says {:?}, cuweld {:?}", expected.messages, found.messages);
    }
    if expected.registered != found.registered {
        return format!("the reference registers {:?}, cuweld {:?}", expected.registered, found.registered);
    }
    "other bytes".to_owned()
}
