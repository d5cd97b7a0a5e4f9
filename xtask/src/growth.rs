//! How time and memory grow: `cargo xtask growth --ld PATH`.
//!
//! Programs in which many of one thing meet many of another, at three sizes each. What a link takes may grow with its inputs and what it
//! writes, and hardly faster: the exponent has a bound. Time is the processor's, of one thread, and the least of several runs.

#[path = "../../tests/damage/object.rs"]
mod object;

use crate::bench::measure::{self, Costs};
use object::{
    Object, addresses_of_nothing, indirect_calls, launches_on_a_chain, long_ways, shared_behind_own, shared_on_a_chain, variables,
};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const USAGE: &str = "usage: cargo xtask growth --ld PATH [--only NAME]";

/// The largest exponent of time and of memory.
const BOUND: f64 = 1.2;

/// How many times the size grows from the first link to the last.
const STEPS: [u32; 3] = [1, 2, 4];

/// How often each link is repeated.
const RUNS: usize = 3;

/// What every link takes, whatever its size: this does not grow.
const SECONDS: f64 = 0.004;
const MEMORY: f64 = 16e6;

/// A program of any size.
struct Shape {
    name: &'static str,
    first: u32,
    objects: fn(u32) -> Vec<Object>,
    options: fn(u32) -> String,
    /// Files besides the result whose sizes count.
    files: &'static [&'static str],
}

const PLAIN: Shape =
    Shape { name: "", first: 0, objects: |count| vec![shared_on_a_chain(count)], options: |_| String::new(), files: &[] };

const SHAPES: &[Shape] = &[
    Shape { name: "shared variables on a chain", first: 2000, ..PLAIN },
    Shape { name: "shared variables behind own", first: 2000, objects: |count| vec![shared_behind_own(count)], ..PLAIN },
    Shape { name: "launches on a chain", first: 1000, objects: |count| vec![launches_on_a_chain(count)], ..PLAIN },
    Shape { name: "calls through pointers", first: 8000, objects: |count| vec![indirect_calls(count)], ..PLAIN },
    Shape {
        name: "-dot of calls through pointers",
        first: 8000,
        objects: |count| vec![indirect_calls(count)],
        options: |_| "-dot=graph".into(),
        files: &["graph"],
    },
    Shape {
        name: "-dot, pair by pair",
        first: 1000,
        objects: |count| vec![indirect_calls(count)],
        options: |_| "-dot=graph --diagnostics=nvlink".into(),
        files: &["graph"],
    },
    Shape {
        name: "-dump-callgraph",
        first: 8000,
        objects: |count| vec![indirect_calls(count)],
        options: |_| "-dump-callgraph".into(),
        files: &["messages"],
    },
    Shape {
        name: "names that clash",
        first: 10_000,
        objects: |count| vec![variables(count), variables(count)],
        options: |_| "--error-limit=0".into(),
        files: &["messages"],
    },
    Shape {
        name: "patterns for kernels",
        first: 4000,
        options: |count| (0..count).map(|number| format!("-kernels-used=k{number}x\n")).collect(),
        files: &["options"],
        ..PLAIN
    },
    Shape {
        name: "reasons for every name",
        first: 2000,
        options: |count| (0..count).map(|number| format!("--why-live=f{number}\n")).collect(),
        files: &["options", "messages"],
        ..PLAIN
    },
    Shape {
        name: "names that must be there",
        first: 4000,
        options: |count| (0..count).map(|number| format!("-u=nothing{number}\n")).collect(),
        files: &["options", "messages"],
        ..PLAIN
    },
    Shape {
        name: "addresses of nothing",
        first: 10_000,
        objects: |count| vec![addresses_of_nothing(count)],
        options: |_| "--error-limit=0".into(),
        files: &["messages"],
    },
    Shape {
        name: "reports of long ways",
        first: 2000,
        objects: |count| vec![long_ways(count, false, 200)],
        options: |_| "--report=report.json".into(),
        files: &["report.json"],
    },
    Shape {
        name: "reports of a long recursion",
        first: 2000,
        objects: |count| vec![long_ways(count, true, 200)],
        options: |_| "--report=report.json".into(),
        files: &["report.json"],
    },
];

/// Links all shapes at all sizes; says whether none grows too fast.
pub fn main(words: &[String]) -> Result<bool, String> {
    let (mut linker, mut only) = (None, String::new());
    for pair in words.chunks(2) {
        match pair {
            [option, value] if option == "--ld" => linker = Some(fs::canonicalize(value).map_err(|error| error.to_string())?),
            [option, value] if option == "--only" => only.clone_from(value),
            _ => return Err(USAGE.into()),
        }
    }
    let linker = linker.ok_or(USAGE)?;
    let folder = std::env::temp_dir().join(format!("growth-{}", std::process::id()));
    let mut all_is_well = true;
    println!("{:32} {:>10} {:>10} {:>8} {:>8} {:>6} {:>6}", "", "n", "MB", "s", "MB", "time", "memory");
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&only)) {
        all_is_well &= shape.measure(&linker, &folder)?;
    }
    _ = fs::remove_dir_all(&folder);
    Ok(all_is_well)
}

/// A link of some size: bytes in and out, and what it took.
struct Point {
    bytes: f64,
    costs: Costs,
}

impl Shape {
    /// Links a shape at all sizes, and says whether it grows as it may.
    fn measure(&self, linker: &Path, folder: &Path) -> Result<bool, String> {
        let mut points = Vec::new();
        for step in STEPS {
            let count = self.first * step;
            let point = self.link(count, linker, folder).map_err(|error| format!("{}: {error}", self.name))?;
            let (megabytes, memory) = (point.bytes / 1e6, point.costs.peak_bytes as f64 / 1e6);
            print!("{:32} {count:10} {megabytes:10.1} {:8.3} {memory:8.0}", self.name, point.costs.seconds);
            points.push(point);
            if step != STEPS[STEPS.len() - 1] {
                println!();
            }
        }
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Ok(true) };
        let exponent = |of: fn(&Point) -> f64| (of(last) / of(first)).ln() / (last.bytes / first.bytes).ln();
        let time = exponent(|point| point.costs.seconds.max(SECONDS));
        let memory = exponent(|point| (point.costs.peak_bytes as f64).max(MEMORY));
        let grows = time > BOUND || memory > BOUND;
        println!(" {time:6.2} {memory:6.2}{}", if grows { " GROWS" } else { "" });
        Ok(!grows)
    }

    fn link(&self, count: u32, linker: &Path, folder: &Path) -> std::io::Result<Point> {
        _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/call_across_units/inputs/sm_90/a.cubin");
        let mut words = vec!["-arch=sm_90".to_owned(), "--threads=1".into(), "-optf=options".into(), "-o=out.cubin".into()];
        let mut bytes = 0;
        for (number, object) in (self.objects)(count).into_iter().enumerate() {
            let (name, contents) = (format!("{number}.cubin"), object.build(&sample)?);
            bytes += contents.len();
            fs::write(folder.join(&name), contents)?;
            words.push(name);
        }
        fs::write(folder.join("options"), (self.options)(count))?;
        let mut least: Option<Costs> = None;
        for _ in 0..RUNS {
            let mut command = Command::new(linker);
            let messages = fs::File::create(folder.join("messages"))?;
            command.args(&words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
            let costs = measure::costs(&mut command)?;
            least = Some(least.map_or(costs, |known| known.least(costs)));
        }
        let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |metadata| metadata.len());
        let written: u64 = self.files.iter().copied().chain(["out.cubin"]).map(size).sum();
        let costs = least.unwrap_or_default();
        Ok(Point { bytes: bytes as f64 + written as f64, costs })
    }
}
