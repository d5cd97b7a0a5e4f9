//! Whole links of growing size, measured from outside: `cargo xtask bench`.
//!
//! With the reference linker on `PATH`, it is run in turn with cuweld on the same inputs, and the results are compared. Otherwise the
//! program given as `--baseline` takes its place: the last release, to see what became slower since.

mod axes;
mod host;
pub(crate) mod inputs;
pub(crate) mod measure;
mod page;
mod plot;
mod ptx;
pub(crate) mod results;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use axes::{AXES, Axis};
use inputs::{Inputs, failed};
use measure::Linker;
use results::{Machine, Measured, Outcome, Point, Results, shown_bytes, shown_count, shown_seconds};

/// How to call this task.
const USAGE: &str = "\
usage: cargo xtask bench [options]
  --ld PATH          the program to measure; without it, the release is built
  --baseline PATH    a program to compare it with; without it, nvlink, if it is on PATH
  --only A,B         these axes only
  --largest N        no size above this one
  --repetitions N    the best of so many runs counts (5); what takes longer than 2 s is run once
  --limit SECONDS    stop a program that runs longer than this (60)
  --work DIR         where inputs are kept for the next time (target/bench)
  --json FILE        write the figures to a file
  --plot DIR         draw them into DIR, and fill in the tables of DIR.md, if that exists
  --from FILE        take the figures from a file that --json wrote instead of measuring
Inputs are assembled with ptxas from PATH; scripts/toolkit installs it, and the reference linker.
axes:
";

/// What takes longer than this is not repeated: chance has little part in it.
const LONG: f64 = 2.0;

/// What the command line asks for.
struct Request {
    linker: Option<PathBuf>,
    baseline: Option<PathBuf>,
    only: Vec<String>,
    largest: usize,
    repetitions: u32,
    limit: u64,
    work: PathBuf,
    json: Option<PathBuf>,
    plot: Option<PathBuf>,
    from: Option<PathBuf>,
}

/// Runs the task with the words after its name.
pub fn main(words: &[String]) -> Result<bool, String> {
    let Some(request) = parse(words)? else {
        print!("{USAGE}");
        for axis in AXES {
            println!("  {:18} {}", axis.name, axis.programs);
        }
        return Ok(true);
    };
    let results = match &request.from {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(failed(path))?;
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => measure(&request)?,
    };
    if let Some(path) = &request.json {
        let text = serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(failed(path))?;
    }
    if let Some(folder) = &request.plot {
        page::write(&results, folder)?;
    }
    Ok(results.axes.iter().flat_map(|axis| &axis.points).all(|point| point.same != Some(false)))
}

/// Reads the command line; none when help is asked for.
fn parse(words: &[String]) -> Result<Option<Request>, String> {
    let mut request = Request {
        linker: None,
        baseline: None,
        only: Vec::new(),
        largest: usize::MAX,
        repetitions: 5,
        limit: 60,
        work: PathBuf::from("target/bench"),
        json: None,
        plot: None,
        from: None,
    };
    let mut words = words.iter();
    while let Some(name) = words.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
        }
        let value = words.next().ok_or_else(|| format!("{name} is not an option, or lacks its value\n{USAGE}"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{name}: '{value}' is not a number"));
        match name.as_str() {
            "--ld" => request.linker = Some(PathBuf::from(value)),
            "--baseline" => request.baseline = Some(PathBuf::from(value)),
            "--only" => request.only.extend(value.split(',').map(str::to_owned)),
            "--largest" => request.largest = number()? as usize,
            "--repetitions" => request.repetitions = number()?.max(1),
            "--limit" => request.limit = u64::from(number()?),
            "--work" => request.work = PathBuf::from(value),
            "--json" => request.json = Some(PathBuf::from(value)),
            "--plot" => request.plot = Some(PathBuf::from(value)),
            "--from" => request.from = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option '{name}'\n{USAGE}")),
        }
    }
    if let Some(unknown) = request.only.iter().find(|name| AXES.iter().all(|axis| axis.name != **name)) {
        return Err(format!("there is no axis '{unknown}'"));
    }
    Ok(Some(request))
}

/// Measures everything that is asked for, and prints it as it comes.
fn measure(request: &Request) -> Result<Results, String> {
    let ours = match &request.linker {
        Some(path) => path.clone(),
        None => build()?,
    };
    let reference = || env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join("nvlink")).find(|path| path.is_file());
    let other = request.baseline.clone().or_else(reference);
    let linker = |path: &Path, output| -> Result<Linker, String> {
        // The programs run in the folder of their inputs.
        Ok(Linker { program: path.canonicalize().map_err(failed(path))?, output })
    };
    let pair =
        Pair { ours: linker(&ours, "ours.cubin")?, other: other.map(|path| linker(&path, "other.cubin")).transpose()?, request };
    let mut results = Results {
        machine: Machine {
            system: format!("{}, {}", env::consts::OS, env::consts::ARCH),
            processors: thread::available_parallelism().map_or(1, usize::from),
        },
        ours: version(&pair.ours.program)?,
        other: pair.other.as_ref().map(|other| version(&other.program)).transpose()?,
        limit: request.limit,
        repetitions: request.repetitions,
        axes: Vec::new(),
    };
    match &results.other {
        Some(other) => println!("{} and {other}", results.ours),
        None => println!("{} alone: there is no nvlink on PATH and no --baseline to compare it with", results.ours),
    }
    for axis in AXES.iter().filter(|axis| request.only.is_empty() || request.only.iter().any(|name| name == axis.name)) {
        results.axes.push(Measured { name: axis.name.to_owned(), points: pair.along(axis)? });
    }
    Ok(results)
}

/// Builds the release and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "cuweld-cli"])
        .current_dir(&root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("the release could not be built".to_owned());
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    Ok(target.join("release/cuweld"))
}

/// A program's name and version.
fn version(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--version").output().map_err(failed(program))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default();
    // The reference: "nvlink: NVIDIA (R) Cuda linker", and lines below "release 13.0, V13.0.88".
    let name = first.split([':', ',']).next().unwrap_or_default();
    let number =
        text.split_whitespace().find_map(|word| word.strip_prefix('V').filter(|rest| rest.starts_with(char::is_numeric)));
    Ok(match number {
        Some(number) if first.starts_with("nvlink") => format!("{name} {number}"),
        _ => name.to_owned(),
    })
}

/// The two programs that are compared.
struct Pair<'request> {
    ours: Linker,
    other: Option<Linker>,
    request: &'request Request,
}

impl Pair<'_> {
    /// Measures an axis.
    fn along(&self, axis: &Axis) -> Result<Vec<Point>, String> {
        println!("\n{}: {}", axis.name, axis.programs);
        let mut points: Vec<Point> = Vec::new();
        for &size in axis.sizes.iter().filter(|&&size| size <= self.request.largest) {
            let inputs = inputs::make(axis, size, &self.request.work)?;
            // What did not end with less is not going to end with more.
            let run_ours = points.last().is_none_or(|last| last.ours.seconds().is_some());
            let run_other = self.other.is_some() && points.last().is_none_or(|last| last.other.seconds().is_some());
            let point = self.link(axis, size, &inputs, (run_ours, run_other))?;
            self.print(axis, &point);
            points.push(point);
        }
        Ok(points)
    }

    /// Links in turn, and keeps the best times.
    fn link(&self, axis: &Axis, size: usize, inputs: &Inputs, (run_ours, run_other): (bool, bool)) -> Result<Point, String> {
        let limit = Duration::from_secs(self.request.limit);
        let (mut ours, mut other) = (Outcome::Skipped, Outcome::Skipped);
        // Everything is read once before, so that nobody has to wait for a disk.
        measure::floor(inputs, 0)?;
        for _ in 0..self.request.repetitions {
            if run_ours && is_worth_repeating(ours) {
                ours = ours.better(self.ours.run(inputs, axis.architecture, limit)?);
            }
            if let Some(linker) = self.other.as_ref().filter(|_| run_other && is_worth_repeating(other)) {
                other = other.better(linker.run(inputs, axis.architecture, limit)?);
            }
        }
        let output = |linker: &Linker| inputs.folder.join(linker.output);
        let same = match &self.other {
            Some(linker) if ours.seconds().is_some() && other.seconds().is_some() => {
                Some(measure::same(&output(&self.ours), &output(linker))?)
            }
            _ => None,
        };
        let output_bytes = fs::metadata(output(&self.ours)).map_or(0, |found| found.len());
        let mut floor = f64::INFINITY;
        for _ in 0..self.request.repetitions {
            floor = floor.min(measure::floor(inputs, output_bytes)?);
        }
        Ok(Point { size, files: inputs.files, input_bytes: inputs.bytes, output_bytes, floor, ours, other, same })
    }

    /// Prints one row.
    fn print(&self, axis: &Axis, point: &Point) {
        let (time, memory) = (|outcome| page::time(outcome, self.request.limit), page::memory);
        let mut row = format!(
            "{:>9} {:9} {:>7} files {:>9}  {:>9} {:>9}",
            shown_count(point.size),
            axis.counts,
            shown_count(point.files),
            shown_bytes(point.input_bytes),
            time(point.ours),
            memory(point.ours)
        );
        if self.other.is_some() {
            row += &format!("  {:>14} {:>9} {:>9}", time(point.other), memory(point.other), page::factor(point));
            row += match point.same {
                Some(true) => "  same bytes",
                Some(false) => "  OTHER BYTES",
                None => "            ",
            };
        }
        println!("{row}  reading and writing alone {}", shown_seconds(point.floor));
    }
}

/// Whether another run could say more.
fn is_worth_repeating(best: Outcome) -> bool {
    match best {
        Outcome::Skipped => true,
        Outcome::Finished { seconds, .. } => seconds < LONG,
        Outcome::Stopped | Outcome::Failed => false,
    }
}
