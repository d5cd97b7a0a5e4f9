//! What takes hours: `cargo xtask nightly` (or `.ci/nightly`).
//!
//! For every build of the linker that is known, the differential cases, and for the newest of each release random links on architectures of
//! every kind, with that build's own compilers; random links of objects of two releases; an hour of fuzzing of each target, many damaged
//! inputs, and growth; then everything that is released, built, installed and tried on the other hosts. What came of it is appended to
//! `target/nightly.txt`, a line per step; `docs/nightly.md` has the last results.

use cubin::release::{Release, Tool, ToolBuild};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Architectures of random links: of every generation of file formats, and those that only some releases know.
const ARCHITECTURES: [(&str, u16); 5] = [("sm_75", 130), ("sm_90", 130), ("sm_100", 130), ("sm_120", 130), ("sm_107", 134)];

/// Releases whose objects are linked together by the linker of the second: CUDA 12.9 is a class of its own.
const PAIRS: [(&str, &str); 3] = [("12.9", "13.4"), ("13.0", "13.4"), ("13.0", "13.2")];

/// Architectures of links of two releases.
const ARCHITECTURES_OF_PAIRS: [&str; 5] = ["sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"];

/// Damaged inputs, with seeds of their own every night.
const DAMAGE: [&str; 3] = [
    "cargo xtask fuzz --seconds 3600 --jobs 2",
    "cargo xtask mutate --ld \"$CUWELD\" --count 100000 --seed $RANDOM",
    "cargo xtask growth --ld \"$CUWELD\"",
];

/// What is released, built and installed, and the cases on the other hosts.
const PACKAGES: [&str; 4] = [
    "scripts/dist --out \"${CARGO_TARGET_DIR:-target}/dist\"",
    "tests/packages/run \"${CARGO_TARGET_DIR:-target}/dist\"",
    "PATH=$(realpath \"${CARGO_TARGET_DIR:-target}\")/dist-tools/bin:$PATH tests/hosts/run",
    "tests/integrations/run",
];

const USAGE: &str = "\
usage: cargo xtask nightly [--ld PATH] [--count N] [--release R]... [--only PART]
  --ld PATH     the linker under test (target/quick/cuweld, which is built)
  --count N     random links per release and architecture (500)
  --release R   only this release, and pairs whose linker is of it; or only this build (13.4.59), with random links
  --only PART   only this part: releases, pairs, damage, packages";

/// What is asked for.
struct Request {
    linker: Option<PathBuf>,
    count: String,
    builds: Vec<ToolBuild>,
    only: Option<String>,
}

/// Runs everything; true when nothing differs.
pub fn main(words: &[String]) -> Result<bool, String> {
    let mut request = Request { linker: None, count: "500".into(), builds: Vec::new(), only: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().cloned().ok_or(USAGE)?;
        match word.as_str() {
            "--ld" => request.linker = Some(PathBuf::from(value)),
            "--count" => request.count = value,
            "--release" => {
                let build = ToolBuild::by_name(&format!("nvlink-{value}"));
                request.builds.push(build.ok_or_else(|| format!("there is no release or build {value}"))?);
            }
            "--only" if ["releases", "pairs", "damage", "packages"].contains(&value.as_str()) => request.only = Some(value),
            _ => return Err(USAGE.into()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let linker = match &request.linker {
        Some(linker) => linker.canonicalize().map_err(|error| format!("{}: {error}", linker.display()))?,
        None => build(&root)?,
    };
    let mut all_well = true;
    for step in steps(&request, &linker) {
        all_well &= run(&root, &linker, &step)?;
    }
    Ok(all_well)
}

/// One step: a command, with the toolkit of a build if it needs one.
struct Step {
    part: &'static str,
    build: Option<ToolBuild>,
    command: String,
}

fn steps(request: &Request, linker: &Path) -> Vec<Step> {
    let is_asked_for = |part: &str| request.only.as_deref().is_none_or(|only| only == part);
    let is_meant = |known: &ToolBuild| request.builds.is_empty() || request.builds.contains(known);
    let random = |known: &ToolBuild, arch: &str, more: &str, name: &str| {
        let (Request { count, .. }, version) = (request, known.build.version);
        let options = format!("--release {version} --count {count} --arch {arch}{more} --keep target/random-{name}-{arch}");
        format!("cargo xtask random --ld '{}' {options}", linker.display())
    };
    let mut steps = Vec::new();
    for known in ToolBuild::all(Tool::Nvlink).filter(|known| is_asked_for("releases") && is_meant(known)) {
        let cases = "cargo test --quiet --package cuweld-cli --test cases differential".to_owned();
        steps.push(Step { part: "releases", build: Some(known), command: cases });
        let is_newest = known.release.newest_build(Tool::Nvlink) == Some(known.build);
        for (arch, first) in ARCHITECTURES.iter().filter(|_| is_newest || !request.builds.is_empty()) {
            if *first <= known.release.toolkit {
                steps.push(Step { part: "releases", build: Some(known), command: random(&known, arch, "", known.build.version) });
            }
        }
    }
    for (older, newer) in PAIRS.into_iter().filter(|_| is_asked_for("pairs")) {
        let Some(known) = ToolBuild::by_name(&format!("nvlink-{newer}")).filter(is_meant) else { continue };
        let (class, before) = match Release::by_name(older) {
            Some(_) => (
                " --with older-release",
                format!("export PTXAS_OLDER=$(eval \"$(scripts/toolkit {older})\"; command -v ptxas); "),
            ),
            None => (" --with cuda-12", String::new()),
        };
        let links = ARCHITECTURES_OF_PAIRS.map(|arch| before.clone() + &random(&known, arch, class, &format!("{older}-{newer}")));
        steps.extend(links.map(|command| Step { part: "pairs", build: Some(known), command }));
    }
    for (part, commands) in [("damage", DAMAGE.as_slice()), ("packages", &PACKAGES)] {
        if is_asked_for(part) && request.builds.is_empty() {
            steps.extend(commands.iter().map(|command| Step { part, build: None, command: command.to_string() }));
        }
    }
    steps
}

/// Builds the linker under test.
fn build(root: &Path) -> Result<PathBuf, String> {
    let status = Command::new(env!("CARGO")).args(["build", "--profile", "quick", "-p", "cuweld-cli"]).current_dir(root).status();
    match status.map_err(|error| format!("cargo: {error}"))?.success() {
        true => root.join("target/quick/cuweld").canonicalize().map_err(|error| error.to_string()),
        false => Err("the linker can not be built".into()),
    }
}

/// Runs a step, and writes down what came of it.
fn run(root: &Path, linker: &Path, step: &Step) -> Result<bool, String> {
    let version = step.build.map(|known| known.build.version);
    let name = version.unwrap_or(step.part);
    let toolkit = version.map_or(String::new(), |version| format!("eval \"$(scripts/toolkit {version})\" && "));
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{toolkit}{}", step.command)]).env("CUWELD", linker).current_dir(root);
    let is_well = shell.status().map_err(|error| format!("bash: {error}"))?.success();
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = root.join("target/nightly.txt");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(|error| error.to_string())?;
    let outcome = if is_well { "well" } else { "DIFFERS" };
    writeln!(file, "{seconds} {name} {outcome}: {}", step.command).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(is_well)
}
