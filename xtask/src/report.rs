//! Reports on libraries that are there already, beside what others say of them: `cargo xtask report FILE...`.
//!
//! Time and memory of `cuweld report`, of unpacking alone, of `cuobjdump -res-usage` and of cubloaty, the least and the most of some runs,
//! and how long the page takes in a browser. The task fails if a report
//! takes too much memory, or if a kernel that cuobjdump lists is not in it with the same numbers; times are a machine's, and only shown. Any library with device code will do: `docs/report.md` names those whose
//! figures it shows.

mod browser;
mod unpack;
mod usage;

use crate::bench::build;
use crate::bench::inputs::failed;
use crate::bench::measure;
use crate::bench::results::{Outcome, shown_bytes, shown_seconds};
use cuweld_report::Report;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const USAGE: &str = "\
usage: cargo xtask report [options] FILE...
  --ld PATH          the program to measure; without it, the release is built
  --repetitions N    the best of so many runs counts (3)
  --work DIR         where the reports are written to (target/report)
FILE is a library with device code. cuobjdump and cubloaty are measured if they are on PATH.
";

/// The word by which this program calls itself, to unpack what is in a file and do nothing else.
const UNPACK: &str = "--unpack";

/// Nobody waits longer.
const LIMIT: Duration = Duration::from_secs(600);
/// The most memory that a report may take: this part of what is unpacked,
const PART: u64 = 10;
/// and this much more.
const MORE: u64 = 64 << 20;

/// What the command line asks for.
struct Request {
    program: Option<PathBuf>,
    repetitions: u32,
    work: PathBuf,
    files: Vec<PathBuf>,
}

/// A program, and how it is called on a file.
struct Tool {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    /// How its output is called.
    ending: &'static str,
}

/// Runs the task with the words after its name.
pub fn main(words: &[String]) -> Result<bool, String> {
    if let [UNPACK, file] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        return unpack::main(Path::new(file));
    }
    let Some(request) = parse(words)? else {
        print!("{USAGE}");
        return Ok(true);
    };
    let ours = request.program.clone().map_or_else(build, Ok)?;
    let tools = tools(&ours);
    fs::create_dir_all(&request.work).map_err(failed(&request.work))?;
    // All is measured before anything is compared: a program seems to take no less memory than the one that starts it.
    let mut outcomes = Vec::new();
    for file in &request.files {
        outcomes.push(request.measure(&tools, file)?);
    }
    let mut all_well = true;
    for (file, outcomes) in request.files.iter().zip(&outcomes) {
        all_well &= request.tell(&tools, file, outcomes)?;
    }
    Ok(all_well)
}

/// Reads the command line; none when help is asked for.
fn parse(words: &[String]) -> Result<Option<Request>, String> {
    let mut request = Request { program: None, repetitions: 3, work: PathBuf::from("target/report"), files: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--ld" => request.program = Some(PathBuf::from(value()?)),
            "--repetitions" => request.repetitions = value()?.parse().map_err(|_| format!("{word} needs a number"))?,
            "--work" => request.work = PathBuf::from(value()?),
            option if option.starts_with('-') => return Err(format!("unknown option '{option}'\n{USAGE}")),
            file => request.files.push(PathBuf::from(file)),
        }
    }
    if request.files.is_empty() { Err(format!("no file to report on\n{USAGE}")) } else { Ok(Some(request)) }
}

/// What is measured: the report as JSON, which has all of it, and as text; and what others there are.
fn tools(ours: &Path) -> Vec<Tool> {
    let found = |name: &str| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    let own = |name, arguments, ending| Some(Tool { name, program: ours.to_owned(), arguments, ending });
    let other = |name: &'static str, program, arguments, ending| Some(Tool { name, program: found(program)?, arguments, ending });
    let tools = [
        own("cuweld report --format=json", &["report", "--format=json"], "json"),
        own("cuweld report --all", &["report", "--all"], "txt"),
        std::env::current_exe().ok().map(|program| Tool {
            name: "unpacking alone",
            program,
            arguments: &["report", UNPACK],
            ending: "unpacked",
        }),
        other("cuobjdump -res-usage", "cuobjdump", &["-res-usage"], "res-usage"),
        other("cubloaty --format json", "cubloaty", &["--format", "json"], "cubloaty"),
    ];
    tools.into_iter().flatten().collect()
}

/// The least time of two runs, which others disturb, and the most memory, which they do not.
fn fastest(best: Outcome, now: Outcome) -> Outcome {
    match (best, now) {
        (Outcome::Finished { seconds, peak_bytes }, Outcome::Finished { seconds: again, peak_bytes: bytes }) => {
            Outcome::Finished { seconds: seconds.min(again), peak_bytes: peak_bytes.max(bytes) }
        }
        _ => best.better(now),
    }
}

impl Request {
    fn output(&self, tool: &Tool, file: &Path) -> PathBuf {
        self.work.join(format!("{}.{}", file.file_name().unwrap_or_default().to_string_lossy(), tool.ending))
    }

    /// Runs each program in turn, and keeps the best of each.
    fn measure(&self, tools: &[Tool], file: &Path) -> Result<Vec<Outcome>, String> {
        let mut best = vec![Outcome::Skipped; tools.len()];
        for _ in 0..self.repetitions.max(1) {
            for (tool, best) in tools.iter().zip(&mut best) {
                let output = self.output(tool, file);
                let output = File::create(&output).map_err(failed(&output))?;
                let mut command = Command::new(&tool.program);
                command.args(tool.arguments).arg(file).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
                *best = fastest(*best, measure::outcome(&mut command, LIMIT).map_err(failed(&tool.program))?);
            }
        }
        Ok(best)
    }

    /// Prints the rows of a file, and says whether all is as it should be.
    fn tell(&self, tools: &[Tool], file: &Path, outcomes: &[Outcome]) -> Result<bool, String> {
        let text = |tool: &Tool| fs::read(self.output(tool, file)).map_err(failed(file));
        let [own, rest @ ..] = tools else { return Ok(false) };
        let Some(&Outcome::Finished { seconds: own_seconds, peak_bytes }) = outcomes.first() else {
            return Err(format!("{}: there is no report", file.display()));
        };
        let report = Report::from_json(&text(own)?).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!("| {name} | time | memory | times as fast |\n|---|---|---|---|");
        for (tool, outcome) in tools.iter().zip(outcomes) {
            let (time, memory, factor) = match *outcome {
                Outcome::Finished { seconds, peak_bytes } => {
                    (shown_seconds(seconds), shown_bytes(peak_bytes), seconds / own_seconds)
                }
                _ => ("failed".to_owned(), "-".to_owned(), f64::NAN),
            };
            let factor = if tool.program == own.program { String::new() } else { format!("{factor:.1}") };
            println!("| `{}` | {time} | {memory} | {factor} |", tool.name);
        }
        let images = || report.architectures.iter().flat_map(|architecture| &architecture.images);
        let unpacked: u64 = images().map(|image| image.bytes).sum();
        let most = unpacked / PART + MORE;
        let mut all_well = peak_bytes <= most;
        println!("\n{} unpacked; {} of {} for a report", shown_bytes(unpacked), shown_bytes(peak_bytes), shown_bytes(most));
        if let Some(times) = browser::times(&own.program, file, &self.work)? {
            println!("{times}");
        }
        if let Some(tool) = rest.iter().find(|tool| tool.ending == "res-usage") {
            let compared = usage::compare(&report, &String::from_utf8_lossy(&text(tool)?));
            println!("{compared}");
            all_well &= compared.differences.is_empty() && !compared.is_empty();
        }
        println!();
        Ok(all_well)
    }
}
