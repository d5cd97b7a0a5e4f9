//! Feeds the readers and the linker inputs that a fuzzer makes up.
//!
//! The targets are programs of their own, under `fuzz/`. They need nothing that only a nightly compiler has: the flags below make
//! any compiler count which code an input reaches, and libFuzzer, which comes with a crate, does the rest. It is written in
//! C++, so a C++ compiler is needed. `cargo +nightly fuzz run TARGET` works as well, and adds the address sanitizer.

mod seeds;

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// What `cargo fuzz` gives the compiler, too, except for the sanitizer.
const FLAGS: &[&str] = &[
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// What the fuzzer holds a target to: seconds for one input (of the clock on the wall: the machine may be busy with other
/// things), megabytes at once, megabytes in all.
const LIMITS: [&str; 3] = ["-timeout=20", "-malloc_limit_mb=256", "-rss_limit_mb=1024"];

/// How many of a fuzzer's last lines tell what it found.
const LAST_LINES: usize = 40;

const USAGE: &str = "cargo xtask fuzz [--seconds N] [--jobs N] [--seed N] [TARGET...]";

/// Runs each target for some seconds, and says whether none found anything. Findings are kept in `fuzz/artifacts`, beside all that
/// the fuzzer printed. The same seed tries the same inputs in the same order, as far as the time reaches; 0 is a new seed each time.
pub fn main(words: &[String]) -> Result<bool, String> {
    let (mut seconds, mut jobs, mut seed, mut chosen) = (60, 1, 0, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|value| value.parse::<usize>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--seconds" => seconds = number()?,
            "--jobs" => jobs = number()?.max(1),
            "--seed" => seed = number()?,
            option if option.starts_with('-') => return Err(USAGE.into()),
            target => chosen.push(target.to_owned()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let known = targets(&root)?;
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no target '{unknown}'; the targets are {}", known.join(", ")));
    }
    let chosen = if chosen.is_empty() { known } else { chosen };
    let programs = build(&root)?;
    let mut all_well = true;
    for names in chosen.chunks(jobs) {
        let running: Result<Vec<Child>, String> = names.iter().map(|name| start(&root, &programs, name, seconds, seed)).collect();
        for (name, mut child) in names.iter().zip(running?) {
            let status = child.wait().map_err(|error| format!("{name}: {error}"))?;
            let printed = fs::read(log(&root, name)).map_err(|error| format!("{name}: {error}"))?;
            let printed = String::from_utf8_lossy(&printed);
            if status.success() {
                let runs = printed.lines().find(|line| line.starts_with("Done ")).unwrap_or_default();
                println!("{name}: nothing found. {runs}");
            } else {
                let lines: Vec<&str> = printed.lines().collect();
                let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
                println!("{name}: {status}. What it found is in fuzz/artifacts/{name}:\n{}", last.join("\n"));
            }
            all_well &= status.success();
        }
    }
    Ok(all_well)
}

/// The names of all targets.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let failed = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, and returns the folder that they are in.
fn build(root: &Path) -> Result<PathBuf, String> {
    let host = host()?;
    // For a named target the flags are not for programs that run while building.
    let status = Command::new("cargo")
        .args(["build", "--release", "--target", &host])
        .current_dir(root.join("fuzz"))
        .env("RUSTFLAGS", FLAGS.join(" "))
        .env("CARGO_TARGET_DIR", root.join("fuzz/target"))
        .status();
    match status {
        Ok(status) if status.success() => Ok(root.join("fuzz/target").join(host).join("release")),
        Ok(_) => Err("the targets could not be built".into()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// The machine that the compiler compiles for unless told otherwise.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not say which machine it compiles for".to_owned())
}

/// The file that a target's output goes to.
fn log(root: &Path, name: &str) -> PathBuf {
    root.join("fuzz/artifacts").join(name).join("log")
}

fn start(root: &Path, programs: &Path, name: &str, seconds: usize, seed: usize) -> Result<Child, String> {
    let (corpus, artifacts) = (root.join("fuzz/corpus").join(name), root.join("fuzz/artifacts").join(name));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    seeds::plant(root, name, &corpus)?;
    let printed = File::create(log(root, name)).map_err(|error| format!("{name}: {error}"))?;
    let printed_too = printed.try_clone().map_err(|error| format!("{name}: {error}"))?;
    Command::new(programs.join(name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-seed={seed}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(LIMITS)
        .arg("-print_final_stats=1")
        .arg(&corpus)
        // One thread: which code an input reaches must not depend on chance.
        .env("RAYON_NUM_THREADS", "1")
        .stdout(printed)
        .stderr(printed_too)
        .spawn()
        .map_err(|error| format!("{name}: {error}"))
}
