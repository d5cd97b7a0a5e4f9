//! What takes hours: `cargo xtask nightly --ld PATH [--count N] [--release R]...`.
//!
//! For every release of CUDA that is known, the differential cases and random links on architectures of every kind, with that
//! release's own compilers and linker. What came of it is appended to `target/nightly.txt`, a line per step.

use cubin::release::Release;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Architectures of random links: of every generation of file formats, and those that only some releases know.
const ARCHITECTURES: [(&str, u16); 5] = [("sm_75", 130), ("sm_90", 130), ("sm_100", 130), ("sm_120", 130), ("sm_107", 134)];

const USAGE: &str = "usage: cargo xtask nightly --ld PATH [--count N] [--release R]...";

/// Runs everything; true when nothing differs.
pub fn main(words: &[String]) -> Result<bool, String> {
    let (mut linker, mut count, mut releases) = (None, 500.to_string(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().cloned().ok_or(USAGE)?;
        match word.as_str() {
            "--ld" => linker = Some(PathBuf::from(value)),
            "--count" => count = value,
            "--release" => releases.push(Release::by_name(&value).ok_or_else(|| format!("there is no release {value}"))?),
            _ => return Err(USAGE.into()),
        }
    }
    let linker = linker.ok_or(USAGE)?.canonicalize().map_err(|error| error.to_string())?;
    if releases.is_empty() {
        releases.extend(Release::all());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all_well = true;
    for release in releases {
        let cases = "cargo test --quiet --package cuweld-cli --test cases differential".to_owned();
        let known = ARCHITECTURES.iter().filter(|(_, first)| *first <= release.toolkit);
        let random = known.map(|(arch, _)| {
            let options =
                format!("--release {} --count {count} --arch {arch} --keep target/random-{}-{arch}", release.name, release.name);
            format!("cargo xtask random --ld '{}' {options}", linker.display())
        });
        for step in std::iter::once(cases).chain(random) {
            all_well &= run(&root, release, &linker, &step)?;
        }
    }
    Ok(all_well)
}

/// Runs a step with the toolkit of a release, and writes down what came of it.
fn run(root: &Path, release: &Release, linker: &Path, step: &str) -> Result<bool, String> {
    let script = format!("eval \"$(scripts/toolkit {})\" && {step}", release.name);
    let status = Command::new("bash").args(["-c", &script]).env("CUWELD", linker).current_dir(root).status();
    let is_well = status.map_err(|error| error.to_string())?.success();
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = root.join("target/nightly.txt");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(|error| error.to_string())?;
    let outcome = if is_well { "well" } else { "DIFFERS" };
    writeln!(file, "{seconds} {} {outcome}: {step}", release.name).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(is_well)
}
