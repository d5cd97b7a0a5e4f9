//! Random links: small programs of several units, linked by the reference and by the linker under test.
//!
//! `cargo xtask random --ld PATH` makes programs from numbered seeds, compares exit status, output bytes and
//! messages, counts the differences by class, and keeps every link that differs with a script that repeats it.

mod classes;
mod difference;
mod documented;
mod dwarf;
mod emit;
mod explained;
mod generate;
mod leftovers;
mod meaning;
mod minimise;
mod mistakes;
mod model;
mod recoded;
mod relink;
pub mod rng;
mod run;
mod unified;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use classes::{CLASSES, Classes};
use cubin::release::ToolBuild;
use run::{Signature, Tools, Verdict};

/// What the command line asks for.
struct Request {
    linker: PathBuf,
    seeds: std::ops::Range<u64>,
    targets: Vec<&'static str>,
    release: Option<String>,
    jobs: usize,
    keep: PathBuf,
    classes: Classes,
    options: Vec<String>,
    minimise: bool,
    relinks: bool,
    reports: bool,
    default_mode: bool,
    verbose: bool,
}

/// The classes of units of older toolkits, and the variables that name their assemblers.
const OLDER: [(&str, &str); 2] = [("cuda-12", "PTXAS_12"), ("older-release", "PTXAS_OLDER")];

/// How to call this task.
const USAGE: &str = "\
usage: cargo xtask random --ld PATH [options]
  --ld PATH          the linker under test; it is called under the name nvlink
  --count N          number of programs (2000)
  --seed N           seed of the first program (1); the following ones count up
  --replay N         only this seed, and keep its folder even if there is no difference
  --arch A,B         architectures, one is chosen for each program (sm_75,sm_80,sm_86,sm_89,sm_90,sm_90a)
  --release R        the release that the reference must be of, or its build
  --jobs N           programs at a time (2)
  --keep DIR         where differing links are kept (target/random)
  --minimise         make each differing program as small as possible, in DIR/seed-N/small
  --with A,B         switch classes on; --without A,B switches them off; 'all' is every class
  --options WORDS    give every link these options too
  --relocatable-then-final
                     join some units by a relocatable link of the linker under test, link the result with the others by both
                     linkers, and compare what the program means with what it means when all units are linked at once
  --reports          only link with the linker under test, and check its report: that paths of calls explain the registers and the
                     stack of every kernel, and that sizes add up to those of the file
  --default-mode     let the linker under test work as it does for everyone: but for its note, only documented ways of the reference
                     may make a difference, which are named
  --verbose          name every seed that differs as it is found, and functions that have other code
The assembler and the reference linker are taken from PATH; scripts/toolkit installs them.
classes (* is on by default):
";

/// Runs the task with the words after its name.
pub fn main(words: &[String]) -> Result<bool, String> {
    let Some(request) = parse(words)? else {
        print!("{USAGE}");
        for class in CLASSES {
            println!("  {} {:20} {}", if class.default { '*' } else { ' ' }, class.name, class.what);
        }
        return Ok(true);
    };
    let mut request = request;
    for (class, variable) in OLDER {
        if request.classes.has(class) && assembler(variable).is_none() {
            println!("the class {class} is skipped: ${variable} names no assembler; scripts/toolkit installs them");
            request.classes.switch(class, false)?;
        }
    }
    let scratch = env::temp_dir().join(format!("random-links-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let result = tools(&request, &scratch).and_then(|tools| campaign(&request, &tools, &scratch));
    let _ = fs::remove_dir_all(&scratch);
    result
}

/// Reads the command line; none when help is asked for.
fn parse(words: &[String]) -> Result<Option<Request>, String> {
    let mut request = Request {
        linker: PathBuf::new(),
        seeds: 1..2001,
        targets: vec!["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"],
        release: None,
        jobs: 2,
        keep: PathBuf::from("target/random"),
        classes: Classes::default(),
        options: Vec::new(),
        minimise: false,
        relinks: false,
        reports: false,
        default_mode: false,
        verbose: false,
    };
    let (mut first, mut count, mut replay) = (1, 2000, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || inline.clone().or_else(|| words.next().cloned()).ok_or_else(|| format!("{name} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{name}: '{text}' is not a number"));
        match name {
            "--ld" => request.linker = PathBuf::from(value()?),
            "--count" => count = number(value()?)?,
            "--seed" => first = number(value()?)?,
            "--replay" => {
                (first, count, replay) = (number(value()?)?, 1, true);
            }
            "--arch" => {
                request.targets = value()?.split(',').map(generate::architecture).collect::<Result<_, _>>()?;
            }
            "--release" => request.release = Some(value()?),
            "--jobs" => request.jobs = (number(value()?)? as usize).max(1),
            "--keep" => request.keep = PathBuf::from(value()?),
            "--with" => request.classes.switch(&value()?, true)?,
            "--without" => request.classes.switch(&value()?, false)?,
            "--options" => request.options.extend(value()?.split_whitespace().map(str::to_owned)),
            "--relocatable-then-final" => request.relinks = true,
            "--reports" => request.reports = true,
            "--default-mode" => request.default_mode = true,
            "--minimise" => request.minimise = true,
            "--verbose" => request.verbose = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown option '{word}'\n{USAGE}")),
        }
    }
    if request.linker.as_os_str().is_empty() {
        return Err(format!("--ld is missing\n{USAGE}"));
    }
    request.seeds = first..first.saturating_add(count);
    request.verbose |= replay;
    Ok(Some(request))
}

/// Finds the tools, and gives the linker under test the name that it must be called by.
fn tools(request: &Request, scratch: &Path) -> Result<Tools, String> {
    let find = |name: &str| {
        env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .ok_or_else(|| format!("{name} is not on PATH; scripts/toolkit installs the reference toolkit"))
    };
    let linker = request.linker.canonicalize().map_err(|error| format!("{}: {error}", request.linker.display()))?;
    let candidate = scratch.join("nvlink");
    std::os::unix::fs::symlink(&linker, &candidate).map_err(|error| format!("{}: {error}", candidate.display()))?;
    let reference = find("nvlink")?;
    let known = build_of(&reference)?;
    if request.release.as_ref().is_some_and(|asked| ![known.release.name, known.build.version].contains(&asked.as_str())) {
        return Err(format!("{} is {}", reference.display(), known.name()));
    }
    Ok(Tools {
        ptxas: find("ptxas")?,
        ptxas_12: assembler("PTXAS_12").unwrap_or_default(),
        ptxas_older: assembler("PTXAS_OLDER").unwrap_or_default(),
        reference,
        known,
        candidate,
        options: request.options.clone(),
        signature: if request.default_mode { Signature::Own } else { Signature::Reference(known) },
        relinks: request.relinks,
        reports: request.reports,
    })
}

/// Which build a reference linker is.
fn build_of(linker: &Path) -> Result<ToolBuild, String> {
    let output = Command::new(linker).arg("--version").output().map_err(|error| format!("{}: {error}", linker.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ToolBuild::that_printed(&text).ok_or_else(|| format!("{} is no build that is known", linker.display()))
}

/// The assembler that a variable names, if it is there.
fn assembler(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file())
}

/// What has been counted so far.
#[derive(Default)]
struct Tally {
    same: u64,
    refused: u64,
    /// Links in which the reference generated code anew: where only the bytes of code differ, and where offsets do as well.
    recoded: [u64; 2],
    /// Links that the reference ended with an internal error, by its kind.
    reference_failed: BTreeMap<String, u64>,
    /// Links that differ as is documented, by the names of the rows that say how.
    documented: BTreeMap<String, u64>,
    differing: BTreeMap<String, Vec<u64>>,
    not_assembled: Vec<(u64, String)>,
}

/// Runs all seeds and reports; true when nothing differs.
fn campaign(request: &Request, tools: &Tools, scratch: &Path) -> Result<bool, String> {
    let next = AtomicU64::new(request.seeds.start);
    let tally = Mutex::new(Tally::default());
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..request.jobs)
            .map(|job| {
                let (next, tally) = (&next, &tally);
                scope.spawn(move || -> Result<(), String> {
                    let folder = scratch.join(format!("job-{job}"));
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if !request.seeds.contains(&seed) {
                            return Ok(());
                        }
                        one(request, tools, &folder, seed, tally)?;
                    }
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().unwrap_or_else(|_| Err("a worker stopped".into())).err()).collect()
    });
    let tally = tally.into_inner().map_err(|_| "a worker stopped")?;
    report(request, &tally);
    match failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(tally.differing.is_empty()),
    }
}

/// Makes, links and judges the program of one seed.
fn one(request: &Request, tools: &Tools, folder: &Path, seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let program = generate::program(seed, &request.targets, &request.classes);
    let verdict = run::compare(&program, folder, tools)?;
    let replayed = request.seeds.end - request.seeds.start == 1;
    let place = request.keep.join(format!("seed-{seed}"));
    if replayed || matches!(verdict, Verdict::Different(_)) {
        keep(folder, &place)?;
    }
    let mut line = None;
    match verdict {
        Verdict::Same(status) => {
            let mut tally = tally.lock().map_err(|_| "a worker stopped")?;
            tally.same += 1;
            tally.refused += u64::from(status != Some(0));
        }
        Verdict::Recoded(recoded) => {
            line = Some(format!("{seed}: {} other code: {}", program.target, recoded.functions.join(" ")));
            let [in_place, moved] = &mut tally.lock().map_err(|_| "a worker stopped")?.recoded;
            *if recoded.in_place { in_place } else { moved } += 1;
        }
        Verdict::NotAssembled(message) => {
            tally.lock().map_err(|_| "a worker stopped")?.not_assembled.push((seed, message));
        }
        Verdict::ReferenceFailed(kind) => {
            line = Some(format!("{seed}: {} internal error of the reference: {kind}", program.target));
            *tally.lock().map_err(|_| "a worker stopped")?.reference_failed.entry(kind).or_default() += 1;
        }
        Verdict::Documented(rows) => {
            let names = rows.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>().join(" ");
            line = Some(format!("{seed}: {} as documented: {names}", program.target));
            *tally.lock().map_err(|_| "a worker stopped")?.documented.entry(names).or_default() += 1;
        }
        Verdict::Different(difference) => {
            line = Some(format!("{seed}: {} {difference}", program.target));
            tally.lock().map_err(|_| "a worker stopped")?.differing.entry(difference.to_string()).or_default().push(seed);
            if request.minimise {
                let small = minimise::minimise(&program, &difference, folder, tools)?;
                run::compare(&small, folder, tools)?;
                keep(folder, &place.join("small"))?;
            }
        }
    }
    if let Some(line) = line.filter(|_| request.verbose) {
        println!("{line}");
    }
    Ok(())
}

/// Copies the files of a link to the place where it is kept.
fn keep(folder: &Path, place: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    if place.exists() {
        fs::remove_dir_all(place).map_err(failed)?;
    }
    fs::create_dir_all(place).map_err(failed)?;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = path.file_name() {
            fs::copy(&path, place.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Prints what was found.
fn report(request: &Request, tally: &Tally) {
    let differing: usize = tally.differing.values().map(Vec::len).sum();
    let documented = tally.documented.values().sum::<u64>() + tally.reference_failed.values().sum::<u64>();
    println!(
        "{} links: {} same ({} of them refused by both), {differing} different, {} not assembled",
        tally.same + tally.recoded.iter().sum::<u64>() + documented + differing as u64 + tally.not_assembled.len() as u64,
        tally.same,
        tally.refused,
        tally.not_assembled.len()
    );
    let [in_place, moved] = tally.recoded;
    if in_place + moved > 0 {
        println!(
            "{in_place} the same but for code that the reference generated anew, {moved} but for that and the offsets that follow"
        );
    }
    for (kind, count) in &tally.reference_failed {
        println!("{count:6}  internal error of the reference: {kind}");
    }
    for (rows, count) in &tally.documented {
        println!("{count:6}  as documented: {rows}");
    }
    let mut classes: Vec<_> = tally.differing.iter().collect();
    classes.sort_by_key(|(name, seeds)| (std::cmp::Reverse(seeds.len()), name.as_str()));
    for (name, seeds) in classes {
        let mut seeds = seeds.clone();
        seeds.sort_unstable();
        let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
        println!("{:6}  {name}  (seeds {}{})", seeds.len(), shown.join(" "), if seeds.len() > 8 { " ..." } else { "" });
    }
    for (seed, message) in tally.not_assembled.iter().take(5) {
        println!("seed {seed} was not assembled: {}", message.trim());
    }
    if differing > 0 {
        println!("kept in {}", request.keep.display());
        println!(
            "again: cargo xtask random --ld {} --arch {}{}{} --replay SEED",
            request.linker.display(),
            request.targets.join(","),
            request.classes.arguments(),
            if request.default_mode { " --default-mode" } else { "" }
        );
    }
}
