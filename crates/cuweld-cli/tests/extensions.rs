//! Options that other linkers have and the reference has not, and what is printed for shells, manual readers and build systems.

#![cfg(unix)]

mod installed;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn cuweld(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cuweld")).current_dir(folder).args(words).output().expect("the program runs")
}

/// The inputs of a case for sm_90.
fn inputs(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(case).join("inputs/sm_90")
}

/// Links the units of `recursion` with these words, and gives the result.
fn linked(words: &[&str]) -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out.cubin");
    let words = [&["-arch=sm_90", "a.cubin", "b.cubin", "c.cubin", "-o", out.to_str().expect("text")], words].concat();
    let output = cuweld(&inputs("recursion"), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(out).expect("a result")
}

#[test]
fn a_response_file_stands_for_its_words() {
    let folder = TempDir::new().expect("a folder");
    let place = inputs("recursion");
    fs::write(folder.path().join("inner"), "'-arch'=sm_90 \n-o \"out file\"").expect("a file");
    fs::write(folder.path().join("outer"), format!("@inner {0}/a.cubin {0}/b.cubin\n", place.display())).expect("a file");
    let output = cuweld(folder.path(), &["@outer", &format!("{}/c.cubin", place.display())]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("out file").is_file());
    // A file that is not there is an input that is not there.
    let output = cuweld(folder.path(), &["-arch=sm_90", "-o", "x", "@missing"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Could not open input file '@missing'"));
}

#[test]
fn threads_do_not_change_the_result() {
    let one = linked(&["--threads=1"]);
    for threads in ["--threads=0", "--threads=2", "--threads=7"] {
        assert!(linked(&[threads]) == one, "{threads}");
    }
}

#[test]
fn the_note_can_be_free_of_paths() {
    let here = |folder: &str| linked(&["-L", folder, "--no-command-line-note"]);
    assert!(here("one") == here("another"));
    assert!(linked(&["-L", "one"]) != linked(&["-L", "another"]));
    let text = "-arch sm_90 and nothing else";
    let noted = linked(&["-L", "one", "--note-options", text]);
    assert!(noted.windows(text.len()).any(|window| window == text.as_bytes()));
}

#[test]
fn keywords_of_other_linkers_are_taken() {
    let plain = linked(&["--no-command-line-note"]);
    assert!(linked(&["--no-command-line-note", "-z", "now", "-z", "-u", "even", "--whole-archive"]) == plain);
}

/// Callers look for a version after a V.
#[test]
fn the_version_can_be_read_by_programs() {
    for option in ["--version", "-V"] {
        let output = cuweld(Path::new("."), &[option]);
        let text = String::from_utf8(output.stdout).expect("text");
        let version = text.split_whitespace().find_map(|word| word.strip_prefix('V')).expect("a version");
        let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a number")).collect();
        assert_eq!(numbers, [13, 0, 88], "{text}");
        assert!(text.starts_with(&format!("cuweld {}", env!("CARGO_PKG_VERSION"))), "{text}");
    }
}

/// Gives a text to a program that checks it. None, with a word, where there is no such program.
fn check(text: &[u8], program: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    // The words of a manual page must not depend on who runs this.
    command.args(words).env("MANWIDTH", "100").env("LC_ALL", "C.UTF-8").env_remove("MANPAGER");
    let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        installed::skip(&format!("there is no {program}"));
        return None;
    };
    // A program that gives up on the text reads no further; then its status tells.
    _ = child.stdin.take()?.write_all(text);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{program} {words:?}: {said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn shells_accept_their_completions() {
    for (shell, words) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let output = cuweld(Path::new("."), &["--generate", &format!("complete-{shell}")]);
        assert!(output.status.success() && !output.stdout.is_empty());
        check(&output.stdout, shell, words);
    }
}

#[test]
fn the_manual_page_can_be_shown() {
    let output = cuweld(Path::new("."), &["--generate=man"]);
    assert!(output.status.success());
    let Some(shown) = check(&output.stdout, "man", &["--warnings=all", "--local-file", "-"]) else { return };
    // Some systems have a program of that name that shows nothing.
    if shown.contains("NAME") {
        for word in ["--save-dir <folder>", "-arch <architecture>", "--register-link-binaries <file>", "EXIT STATUS"] {
            assert!(shown.contains(word), "'{word}' is not in\n{shown}");
        }
    }
}

/// A link with a variable of the environment: whether it went well, and what was said.
fn linked_where(name: &str, value: &str, words: &[&str]) -> (bool, String) {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out.cubin");
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(inputs("recursion"))
        .args(["-suppress-stack-size-warning", "a.cubin", "b.cubin", "c.cubin", "-o"])
        .arg(&out)
        .args(words)
        .env(name, value)
        .output()
        .expect("the program runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn variables_that_name_nothing_known_are_errors() {
    for (name, value) in [("CUWELD_COMPAT", "nvlink-13.9"), ("CUWELD_NOTE_AS", "ld"), ("CUWELD_RELEASE", "14.0")] {
        let (is_well, text) = linked_where(name, value, &["-arch=sm_90"]);
        assert!(
            !is_well && text.contains(&format!("'{value}' is no value of the environment variable {name}")),
            "{name}: {text}"
        );
    }
    // Of a build that is not known, the others of its release are offered.
    let (_, text) = linked_where("CUWELD_COMPAT", "nvlink-13.4.1", &["-arch=sm_90"]);
    assert!(text.contains("possible values are nvlink-13.4, nvlink-13.4.59, nvlink-13.4.92\n"), "{text}");
    let (is_well, text) = linked_where("CUWELD_COMPAT", "", &["-arch=sm_90", "--compat=nvlink-13.4.1"]);
    assert!(!is_well && text.contains("possible values are nvlink-13.4, nvlink-13.4.59, nvlink-13.4.92\n"), "{text}");
    // The library's own are nothing to the program, nor is an empty one.
    for (name, value) in [("CUWELD_COMPAT", "nvjitlink-13.4.92"), ("CUWELD_COMPAT", ""), ("CUWELD_RELEASE", "13.4")] {
        let (is_well, text) = linked_where(name, value, &["-arch=sm_90"]);
        assert!(is_well && text.is_empty(), "{name}: {text}");
    }
}

#[test]
fn a_release_knows_its_targets() {
    for (release, word, first, problem) in [
        ("13.1", "-v2", "13.2", "Unknown option 'v2'"),
        ("13.0", "--verbose2", "13.2", "Unknown option '-verbose2'"),
        ("13.2", "-astoolspatch", "13.3", "Unknown option 'astoolspatch'"),
        ("13.2", "-cpu-arch=RISCV64", "13.3", "Value 'RISCV64' is not defined for option 'cpu-arch'"),
    ] {
        let asked = format!("--release={release}");
        let (is_well, text) = linked_where("CUWELD_DIAGNOSTICS", "nvlink", &["-arch=sm_90", word, &asked]);
        assert!(!is_well && text.contains(&format!("fatal   : {problem}")), "{text}");
        let asked = format!("--release={first}");
        let (_, text) = linked_where("CUWELD_DIAGNOSTICS", "nvlink", &["-arch=sm_90", word, &asked]);
        assert!(!text.contains("Unknown option") && !text.contains("is not defined"), "{text}");
    }
    let (is_well, text) = linked_where("CUWELD_COMPAT", "nvlink-13.3.73", &["-arch=sm_107"]);
    assert!(!is_well && text.contains("CUDA 13.3 does not know sm_107"), "{text}");
    let (is_well, text) = linked_where("CUWELD_COMPAT", "nvlink-13.3.73", &["-arch=sm_107", "--diagnostics=nvlink"]);
    assert!(!is_well && text.contains("fatal   : Value 'sm_107' is not defined for option 'arch'"), "{text}");
    let (is_well, text) = linked_where("CUWELD_RELEASE", "13.3", &["-arch=sm_70"]);
    assert!(!is_well && text.contains("CUDA 12.9 was the last toolkit for sm_70"), "{text}");
}

#[test]
fn the_toolkit_that_the_program_stands_in_names_the_release() {
    let release_of = |value: &str| {
        let folder = TempDir::new().expect("a folder");
        let out = folder.path().join("out.cubin");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        command.current_dir(inputs("recursion")).args(["-arch=sm_90", "a.cubin", "b.cubin", "c.cubin", "-o"]).arg(&out);
        assert!(command.env("CUWELD_RELEASE", value).output().expect("the program runs").status.success());
        fs::read(out).expect("a result")
    };
    assert!(release_of("13.4") == linked(&["--release=13.4"]));
    assert!(release_of("13.0") == linked(&[]) && linked(&[]) != linked(&["--release=13.4"]));
}
