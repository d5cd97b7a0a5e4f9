//! What options do, against the reference itself, if it is installed: the same status, the same words on both streams, the same files.
//!
//! `tests/options/effects.txt` has the command lines. They link what is stored in `tests/cases`, so that nothing has to be built.

#![cfg(unix)]

mod installed;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a link came to.
#[derive(PartialEq, Eq)]
struct Outcome {
    status: Option<i32>,
    printed: String,
    errors: String,
    /// The files that it made or changed.
    files: BTreeMap<String, Vec<u8>>,
}

/// A block of the table: an architecture, the case whose inputs are there, and command lines.
struct Block {
    arch: String,
    case: String,
    lines: Vec<String>,
}

#[test]
fn options_do_what_they_do_in_the_reference() {
    let Some(toolkit) = installed::toolkit() else { return };
    let reference = toolkit.join("bin/nvlink");
    let own = TempDir::new().expect("a folder");
    let candidate = own.path().join("nvlink");
    // Called by this name, the program behaves as the reference.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cuweld"), &candidate).expect("a link");
    // Both work at the same path, since some results tell of it.
    let work = own.path().join("work");
    let mut differences = String::new();
    let mut count = 0;
    for block in blocks() {
        for line in &block.lines {
            count += 1;
            let expected = link(&reference, &block, line, &work);
            let found = link(&candidate, &block, line, &work);
            if found != expected {
                _ = writeln!(differences, "{} {}: {line}\n{}", block.case, block.arch, difference(&expected, &found));
            }
        }
    }
    assert!(count > 300, "only {count} command lines were read");
    assert!(differences.is_empty(), "\n{differences}");
}

/// Reads the table.
///
/// `each NAME` begins a list of command lines without inputs, up to an empty line. `in CASE ARCH INPUTS` begins a block: each of its
/// lines is a command line, to which the inputs, the architecture and `-o out.cubin` are added unless it begins with `=`; and
/// `all NAME` stands for the lines of a list.
fn blocks() -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/options/effects.txt");
    let text = fs::read_to_string(path).expect("the table");
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut blocks: Vec<Block> = Vec::new();
    let (mut list, mut usual) = (None, String::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.is_empty() {
            list = None;
        } else if let Some(name) = line.strip_prefix("each ") {
            list = Some(name);
        } else if let Some(name) = list {
            lists.entry(name).or_default().push(line);
        } else if let Some(rest) = line.strip_prefix("in ") {
            let mut words = rest.split(' ');
            let mut word = || words.next().expect("a word").to_owned();
            let (case, arch) = (word(), word());
            usual = format!("-arch={arch} {} -o out.cubin", words.collect::<Vec<_>>().join(" "));
            blocks.push(Block { arch, case, lines: vec![usual.clone()] });
        } else {
            let block = blocks.last_mut().expect("a block");
            match (line.strip_prefix("all "), line.strip_prefix("= ")) {
                (Some(name), _) => block.lines.extend(lists[name].iter().map(|line| format!("{usual} {line}"))),
                (_, Some(line)) => block.lines.push(line.to_owned()),
                _ => block.lines.push(format!("{usual} {line}")),
            }
        }
    }
    blocks
}

fn link(linker: &Path, block: &Block, line: &str, work: &Path) -> Outcome {
    // It is not there the first time.
    _ = fs::remove_dir_all(work);
    fs::create_dir(work).expect("a folder");
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(&block.case);
    let mut before = contents(&case);
    before.extend(contents(&case.join("inputs").join(&block.arch)));
    before.insert("text.txt".into(), b"some text".to_vec());
    before.insert("empty.txt".into(), Vec::new());
    before.insert("options.txt".into(), b"-v\n-report-arch".to_vec());
    before.insert("nested.txt".into(), b"-optf options.txt -tool-name another".to_vec());
    for (name, bytes) in &before {
        fs::write(work.join(name), bytes).expect("a file");
    }
    fs::create_dir(work.join("folder")).expect("a folder");
    let output = Command::new(linker)
        .args(line.split_whitespace())
        .current_dir(work)
        .env("CUWELD_NOTE_AS", "nvlink-13.0.88")
        .stdin(Stdio::null())
        .output()
        .expect("the linker runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut files = contents(work);
    files.retain(|name, bytes| before.get(name) != Some(bytes));
    Outcome { status: output.status.code(), printed: text(&output.stdout), errors: text(&output.stderr), files }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))).collect()
}

fn difference(expected: &Outcome, found: &Outcome) -> String {
    let mut text = String::new();
    if expected.status != found.status {
        _ = writeln!(text, "  status {:?}, not {:?}", found.status, expected.status);
    }
    for (what, expected, found) in [("prints", &expected.printed, &found.printed), ("says", &expected.errors, &found.errors)] {
        if expected != found {
            _ = writeln!(text, "  {what} {found:?}\n     not {expected:?}");
        }
    }
    let names = expected.files.keys().chain(found.files.keys().filter(|name| !expected.files.contains_key(*name)));
    for name in names {
        match (expected.files.get(name), found.files.get(name)) {
            (Some(expected), Some(found)) if expected == found => {}
            (Some(expected), Some(found)) => {
                _ = writeln!(text, "  {name}: other contents, {} and {} bytes", found.len(), expected.len());
            }
            (None, _) => _ = writeln!(text, "  {name}: should not be there"),
            (_, None) => _ = writeln!(text, "  {name}: is missing"),
        }
    }
    text
}
