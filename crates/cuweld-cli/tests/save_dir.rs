//! `--save-dir`: the folder repeats the link, wherever it is, and nothing that was there is touched.

#![cfg(unix)]

mod installed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The inputs of a case.
fn inputs(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(case).join("inputs/sm_90")
}

/// A folder with the inputs of a case, copied so that they can be taken away.
fn copied(case: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for entry in fs::read_dir(inputs(case)).expect("inputs") {
        let path = entry.expect("an input").path();
        fs::copy(&path, folder.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    folder
}

fn link(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
    command.current_dir(folder).arg("-arch=sm_90").args(arguments).output().expect("the program runs")
}

/// Links with `--save-dir`, moves what was saved, takes everything else away, and repeats the link: files and words have to be the
/// same.
fn repeats(from: TempDir, arguments: &[&str], outputs: &[&str]) {
    let elsewhere = TempDir::new().expect("a folder");
    let saved = elsewhere.path().join("moved here");
    let first = link(from.path(), &[arguments, &["--save-dir=saved"]].concat());
    let expected: Vec<_> = outputs.iter().map(|name| fs::read(from.path().join(name)).ok()).collect();
    fs::rename(from.path().join("saved"), &saved).expect("it is saved");
    drop(from);
    let again =
        Command::new("sh").arg(saved.join("repeat.sh")).env("CUWELD", env!("CARGO_BIN_EXE_cuweld")).output().expect("a shell");
    let text = |output: &Output| String::from_utf8_lossy(&output.stderr).replace("inputs/", "").replace("inputs.2/", "");
    assert_eq!((again.status, text(&again)), (first.status, text(&first)), "{arguments:?}");
    for (name, expected) in outputs.iter().zip(expected) {
        let name = Path::new(name).file_name().expect("a name");
        let found = fs::read(saved.join("outputs").join(name)).ok();
        assert!(found == expected, "{arguments:?}: {} is another", name.display());
    }
}

#[test]
fn a_link_can_be_repeated_elsewhere() {
    const OUT: &[&str] = &["out.cubin"];
    repeats(copied("recursion"), &["a.cubin", "b.cubin", "c.cubin", "-o", "out.cubin"], OUT);
    repeats(
        copied("recursion"),
        &["a.cubin", "b.cubin", "c.cubin", "-g", "-v", "-o=out.cubin", "-dot=graph"],
        &["out.cubin", "graph"],
    );
    repeats(copied("archives"), &["-L.", "-lfirst", "libsecond.a", "a.o", "-lnowhere", "-o", "out.cubin"], OUT);
    repeats(copied("archives"), &["--no-whole-archive", "-L", ".", "-lfirst,second", "a.o", "-o", "out.cubin"], OUT);
    let objects = copied("host_objects");
    repeats(
        objects,
        &["a.o", "--start-lib", "b.o", "--end-lib", "--register-link-binaries=l.c", "-o=out.cubin"],
        &["out.cubin", "l.c"],
    );
}

#[test]
fn a_link_that_fails_is_saved_as_well() {
    repeats(copied("undefined_functions"), &["a.cubin", "b.cubin", "-o", "out.cubin"], &["out.cubin"]);
    repeats(copied("duplicate_functions"), &["a.cubin", "b.cubin", "-o", "out.cubin"], &["out.cubin"]);
}

#[test]
fn options_files_and_odd_names_are_repeated() {
    let folder = copied("recursion");
    fs::create_dir(folder.path().join("an odd folder")).expect("a folder");
    fs::rename(folder.path().join("b.cubin"), folder.path().join("an odd folder/a.cubin")).expect("an input");
    fs::write(folder.path().join("options.txt"), "-v \"an odd folder/a.cubin\" -nv-host \"options.txt\"").expect("a file");
    repeats(folder, &["a.cubin", "-optf", "options.txt", "c.cubin", "-tool-name=it's odd", "-o", "out.cubin"], &["out.cubin"]);
}

#[test]
fn members_of_thin_archives_are_saved() {
    let folder = copied("archives");
    let run = |program: &str, words: &[&str]| {
        let status = Command::new(program).args(words).current_dir(folder.path()).status();
        status.is_ok_and(|status| status.success())
    };
    if !run("ar", &["x", "libfirst.a"]) || !run("ar", &["rcT", "libthin.a", "b.o"]) {
        return installed::skip("there is no ar that makes thin archives");
    }
    repeats(folder, &["a.o", "libthin.a", "libsecond.a", "-o", "out.cubin"], &["out.cubin"]);
}

#[test]
fn a_folder_that_is_in_use_is_left_alone() {
    let folder = copied("recursion");
    fs::create_dir(folder.path().join("saved")).expect("a folder");
    fs::write(folder.path().join("saved/repeat.sh"), "mine").expect("a file");
    let output = link(folder.path(), &["a.cubin", "b.cubin", "c.cubin", "-o", "out.cubin", "--save-dir", "saved"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("error[CW2002]") && said.contains("the folder is not empty"), "{said}");
    assert_eq!(fs::read_dir(folder.path().join("saved")).expect("it").count(), 1);
    assert!(!folder.path().join("out.cubin").exists());
}

/// A saved link names no file outside of its folder.
#[test]
fn names_do_not_lead_out_of_the_folder() {
    let folder = copied("recursion");
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).expect("a folder");
    let words = ["../a.cubin", "../b.cubin", "../inside/../c.cubin", "-o", "../out.cubin", "--save-dir", "saved"];
    assert!(link(&inside, &words).status.success());
    let options = fs::read_to_string(inside.join("saved/options.txt")).expect("the options");
    assert_eq!(options, "-arch=sm_90\n-o=outputs/out.cubin\ninputs/a.cubin\ninputs/b.cubin\ninputs/c.cubin\n");
}
