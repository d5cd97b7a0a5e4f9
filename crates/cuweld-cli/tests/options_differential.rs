//! The recorded command lines against the reference itself, if it is installed.
//!
//! `tests/options/cases.txt` says what the reference does with each; `src/options/golden.rs` describes the record and
//! holds cuweld to it. Here the reference is run to see whether the record is true. With `BLESS=1` the record is
//! rewritten from what the reference does, so adding a case is adding a `$` line.

#![cfg(unix)]

mod installed;

use cubin::release::{Release, ToolBuild};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Messages of later stages; they say nothing about how the command line was read.
const LATER: &[&str] = &[
    "Could not open input file",
    "Could not open output file",
    "Cannot open file",
    "Host linker script creation failed",
    "Ignoring -dlto option",
    "elfLink",
    "has cuda-api-version of",
    "bytes gmem",
];

#[test]
fn the_record_of_command_lines_is_true() -> io::Result<()> {
    let Some(toolkit) = installed::toolkit() else { return Ok(()) };
    let record = here("tests/options/cases.txt");
    let before = fs::read_to_string(&record)?;
    let folder = Folder::new(&toolkit)?;
    let mut after = String::new();
    for line in before.lines() {
        if let Some(file) = line.strip_prefix("file ") {
            let (name, contents) = file.split_once(' ').unwrap_or((file, ""));
            fs::write(folder.path.join(name), unescaped(contents))?;
        }
        if line.starts_with("  ") {
            continue;
        }
        after.push_str(line);
        after.push('\n');
        if let Some(arguments) = line.strip_prefix('$') {
            for line in folder.outcome(&words(arguments))? {
                after.push_str(&format!("  {line}\n"));
            }
        }
    }
    compare_or_bless(&record, &before, &after)
}

#[test]
fn the_list_of_options_is_that_of_the_references_help() -> io::Result<()> {
    let Some((reference, release)) = reference_of_any_release() else {
        installed::skip_unless_required("no nvlink is on PATH");
        return Ok(());
    };
    let output = Command::new(&reference).arg("--help").output()?;
    let help = String::from_utf8_lossy(&output.stdout);
    let record = fs::read_to_string(here("tests/options/reference_options.txt"))?;
    let has_it = |line: &&str| line.split(' ').nth(2).is_none_or(|first| first <= release.name);
    let without_release = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let mut recorded: Vec<String> =
        record.lines().filter(|line| !line.starts_with('#')).filter(has_it).map(without_release).collect();
    let mut listed = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("--")) {
        let mut words = line.split_whitespace();
        let short = line.rsplit_once("(-").map(|(_, short)| format!(" -{}", short.trim_end().trim_end_matches(')')));
        listed.push(format!("{}{}", words.next().unwrap_or_default(), short.unwrap_or_default()));
    }
    recorded.sort();
    listed.sort();
    assert_eq!(recorded, listed, "CUDA {}", release.name);
    Ok(())
}

/// A reference on `PATH`, of whichever release.
fn reference_of_any_release() -> Option<(PathBuf, &'static Release)> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("nvlink")).find_map(|program| {
        let output = Command::new(&program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((program, ToolBuild::that_printed(&text)?.release))
    })
}

fn compare_or_bless(record: &Path, before: &str, after: &str) -> io::Result<()> {
    if std::env::var_os("BLESS").is_some() {
        return fs::write(record, after);
    }
    let differences: Vec<String> = before
        .lines()
        .zip(after.lines())
        .filter(|(before, after)| before != after)
        .map(|(before, after)| format!("recorded {before}\n     now {after}"))
        .collect();
    assert!(before == after, "{} differs:\n{}", record.display(), differences.join("\n"));
    Ok(())
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Where the reference runs.
struct Folder {
    path: PathBuf,
    reference: PathBuf,
}

impl Folder {
    /// A fresh folder with two empty objects, which the reference links into an empty file.
    fn new(toolkit: &Path) -> io::Result<Self> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("options-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        for name in ["a.o", "b.o"] {
            fs::write(path.join(name), b"")?;
        }
        let nvvm = toolkit.join("nvvm");
        if nvvm.exists() {
            std::os::unix::fs::symlink(nvvm, path.join("nvvm"))?;
        }
        Ok(Folder { path, reference: toolkit.join("bin/nvlink") })
    }

    /// What the reference does, in the words of the record.
    fn outcome(&self, arguments: &[Vec<u8>]) -> io::Result<Vec<String>> {
        let result = self.path.join("out");
        let _ = fs::remove_file(&result);
        let run = Command::new(&self.reference)
            .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)))
            .current_dir(&self.path)
            .output()?;
        let mut lines = Vec::new();
        for line in String::from_utf8_lossy(&run.stderr).lines() {
            // What does not come from the linker is the listing of a call graph or the echo of a command.
            if [" info    : ", " warning : ", " error   : ", " fatal   : "].iter().any(|mark| line.contains(mark)) {
                let later = LATER.iter().any(|text| line.contains(text));
                lines.push(format!("{}| {line}", if later { "later " } else { "" }));
            }
        }
        let image = fs::read(&result).unwrap_or_default();
        let printed = [run.stdout.as_slice(), &image].concat();
        let printed = String::from_utf8_lossy(&printed);
        for (sign, what) in [("Usage  :", "help"), ("NVIDIA (R) Cuda linker", "version"), ("__nv_relfatbin", "script")] {
            lines.extend(printed.contains(sign).then(|| format!("prints {what}")));
        }
        if let Some([object, tool, options]) = note(&image) {
            lines.push(format!("note |{options}|"));
            lines.extend((!object.is_empty()).then(|| format!("object |{object}|")));
            lines.extend((tool != "nvlink").then(|| format!("tool |{tool}|")));
        }
        lines.push(format!("status {}", run.status.code().unwrap_or(-1)));
        Ok(lines)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Object, tool and options of the first note about a tool.
fn note(image: &[u8]) -> Option<[String; 3]> {
    const OWNER: &[u8] = b"NVIDIA Corp\0";
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let starts = image.windows(OWNER.len()).enumerate().filter(|(_, window)| *window == OWNER).map(|(at, _)| at);
    let start = starts.into_iter().find(|at| word(at - 4) == Some(2000))? + OWNER.len();
    let text = |field: usize| {
        let from = start + 24 + word(start + field)?;
        let bytes = image.get(from..)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    Some([text(4)?, text(8)?, text(20)?])
}

/// Splits a line as a shell would, without escapes: blanks separate, both kinds of quotes keep together.
fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut inside = false;
    let mut quote = None;
    for byte in line.bytes() {
        match (byte, quote) {
            (b' ', None) => inside = false,
            (_, Some(open)) if open == byte => quote = None,
            _ => {
                if !inside {
                    words.push(Vec::new());
                    inside = true;
                }
                match (byte, quote, words.last_mut()) {
                    (b'"' | b'\'', None, _) => quote = Some(byte),
                    (_, _, Some(word)) => word.push(byte),
                    _ => {}
                }
            }
        }
    }
    words
}

/// The contents of a file from the text between quotation marks.
fn unescaped(text: &str) -> Vec<u8> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
    let mut bytes = Vec::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        match escaped {
            Some('n') => bytes.push(b'\n'),
            Some('r') => bytes.push(b'\r'),
            Some('t') => bytes.push(b'\t'),
            Some('x') => {
                let digits: String = characters.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or_default());
            }
            other => bytes.extend(other.unwrap_or(character).to_string().into_bytes()),
        }
    }
    bytes
}
