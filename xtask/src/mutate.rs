//! Damaged files, linked with the real program: `cargo xtask mutate --ld PATH`.
//!
//! Whatever is wrong with a file, the program has to end by itself, soon, without much memory, and with a message if it makes
//! nothing. A file that was cut off must be refused. The limits are the system's own, set by a shell before the program starts: one
//! that asks for more memory is refused it and aborts, one that computes for too long is killed. Both are seen here as signals.

mod damage;
mod subjects;

use crate::random::rng::Rng;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use subjects::Subject;

const USAGE: &str = "\
usage: cargo xtask mutate --ld PATH [options]
  --ld PATH     the linker
  --count N     number of links (10000)
  --seed N      seed of the first (1); the following ones count up
  --keep DIR    where links that went wrong are kept (target/mutate)";

/// What a link may use besides four times its inputs.
const MEMORY: u64 = 64 << 20;

/// Seconds of computing that a link may take.
const SECONDS: u64 = 2;

/// How long a link may take in all, on a machine that has other things to do as well.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options of the links, one line of which is chosen for each.
const OPTIONS: &[&[&str]] = &[
    &[],
    &[],
    &["-g"],
    &["-r"],
    &["-preserve-relocs"],
    &["-v", "--Map=map.txt", "--cref"],
    &["-extrawarn", "--print-gc-sections", "-dot=graph.dot"],
    &["--diagnostics=nvlink"],
    &["--diagnostics=json"],
    &["-lto", "-nvvmpath=/nonexistent"],
    &["--no-whole-archive"],
    &["-kernels-used=k"],
];

/// Damages files and links them; says whether nothing went wrong.
pub fn main(words: &[String]) -> Result<bool, String> {
    let mut linker = None;
    let (mut count, mut seed, mut keep) = (10_000, 1, PathBuf::from("target/mutate"));
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = || value.parse::<u64>().map_err(|_| USAGE);
        match word.as_str() {
            "--ld" => linker = Some(fs::canonicalize(value).map_err(|error| format!("{value}: {error}"))?),
            "--count" => count = number()?,
            "--seed" => seed = number()?,
            "--keep" => keep = PathBuf::from(value),
            _ => return Err(USAGE.into()),
        }
    }
    let linker = linker.ok_or(USAGE)?;
    let folder = env::temp_dir().join(format!("mutate-{}", std::process::id()));
    let mut subjects = subjects::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    // Whatever is refused as it is would be refused for that reason.
    subjects.retain(|subject| subject.is_linked_by(&linker));
    println!("{} sets of inputs", subjects.len());
    let kinds = subjects::by_kind(subjects);
    let mut tally = BTreeMap::new();
    let mut failures = 0;
    for seed in seed..seed.saturating_add(count) {
        let trial = Trial::new(seed, &kinds, &folder)?;
        let verdict = trial.run(&linker)?;
        *tally.entry((trial.damage, verdict.name())).or_insert(0) += 1;
        if let Verdict::Wrong(what) = verdict {
            failures += 1;
            println!("seed {seed}: {what}; {}, {}", trial.damage, trial.described());
            trial.keep(&keep.join(format!("seed-{seed}")))?;
        }
    }
    _ = fs::remove_dir_all(&folder);
    for ((damage, verdict), count) in tally {
        println!("{count:6} {verdict:8} {damage}");
    }
    println!("{count} links, {failures} went wrong");
    Ok(failures == 0)
}

/// What a link came to.
enum Verdict {
    Linked,
    Refused,
    Wrong(String),
}

impl Verdict {
    fn name(&self) -> &'static str {
        match self {
            Verdict::Linked => "linked",
            Verdict::Refused => "refused",
            Verdict::Wrong(_) => "WRONG",
        }
    }
}

/// One link of a damaged file.
struct Trial {
    folder: PathBuf,
    damage: &'static str,
    must_be_refused: bool,
    /// The size of all inputs.
    size: u64,
    arguments: Vec<String>,
    original: PathBuf,
}

impl Trial {
    /// Prepares a link in the folder, which is emptied.
    fn new(seed: u64, kinds: &[Vec<Subject>], folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        fs::create_dir_all(folder).map_err(failed)?;
        let mut rng = Rng::new(seed);
        let kind = rng.pick(kinds);
        let subject = rng.pick(kind);
        let chosen = rng.below(subject.files.len());
        let damage = damage::choose(&mut rng);
        // No compiler is to be asked: it is not what is tested.
        let mut arguments =
            vec![format!("-arch={}", subject.architecture), "--toolkit=/nonexistent".into(), "--threads=2".into()];
        arguments.extend(rng.pick(OPTIONS).iter().map(|&word| word.to_owned()));
        let mut size = 0;
        for (index, path) in subject.files.iter().enumerate() {
            let mut bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            if index == chosen {
                (damage.apply)(&mut bytes, &mut rng);
            }
            let name = format!("{index}-{}", path.file_name().unwrap_or_default().to_string_lossy());
            fs::write(folder.join(&name), &bytes).map_err(failed)?;
            size += bytes.len() as u64;
            arguments.push(name);
        }
        arguments.extend(["-o".to_owned(), OUTPUT.to_owned()]);
        let must_be_refused = damage::is_cut(damage) && !arguments.contains(&"--diagnostics=nvlink".to_owned());
        let original = subject.files[chosen].clone();
        Ok(Trial { folder: folder.to_owned(), damage: damage.name, must_be_refused, size, arguments, original })
    }

    fn described(&self) -> String {
        format!("{}: {}", self.original.display(), self.arguments.join(" "))
    }

    fn run(&self, linker: &Path) -> Result<Verdict, String> {
        let memory = (MEMORY + 4 * self.size) >> 10;
        let (output, messages) = (self.folder.join(OUTPUT), self.folder.join("messages.txt"));
        let file = fs::File::create(&messages).map_err(|error| format!("{}: {error}", messages.display()))?;
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -c 0; ulimit -d {memory}; ulimit -t {SECONDS}; exec \"$0\" \"$@\"")])
            .arg(linker)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait().map_err(|error| format!("waiting: {error}"))? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    _ = child.kill();
                    _ = child.wait();
                    return Ok(Verdict::Wrong("it does not end".into()));
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        let said = fs::read_to_string(&messages).unwrap_or_default();
        Ok(self.judge(status, &said, output.exists()))
    }

    fn judge(&self, status: ExitStatus, said: &str, has_output: bool) -> Verdict {
        let wrong = |what: String| Verdict::Wrong(format!("{what}: {}", said.lines().next().unwrap_or("no message")));
        match status.code() {
            None => wrong(format!("signal {}", status.signal().unwrap_or(0))),
            Some(0) if self.must_be_refused => wrong("a file that was cut off was linked".into()),
            Some(0) if !has_output => wrong("no output".into()),
            Some(0) => Verdict::Linked,
            Some(1 | 255) if said.is_empty() => wrong("no message".into()),
            Some(1 | 255) if said.contains("internal") => wrong("an internal error".into()),
            Some(1 | 255) if has_output => wrong("an output in spite of an error".into()),
            Some(1 | 255) => Verdict::Refused,
            Some(other) => wrong(format!("status {other}")),
        }
    }

    /// Keeps the files, and a script that repeats the link.
    fn keep(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        fs::create_dir_all(folder).map_err(failed)?;
        for entry in fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            fs::copy(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
        }
        let script =
            format!("#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec \"${{CUWELD:-cuweld}}\" {}\n", self.arguments.join(" "));
        fs::write(folder.join("replay.sh"), script).map_err(failed)
    }
}

/// The name of the result.
const OUTPUT: &str = "out.cubin";
