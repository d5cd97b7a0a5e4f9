//! How long the steps of a link take: `cargo bench -p cuweld`.
//!
//! The inputs come with the repository, so nothing but cargo is needed. A link of many functions is made of copies of the two units in
//! `examples/two_units`, each with names of its own. After the steps that can be called on their own, the phases within a link are
//! listed, as it measured them itself. Whole runs of the program are measured by `cargo xtask bench`.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]
#![allow(clippy::expect_used, reason = "the inputs are known to be good")]

use std::time::Duration;

use cubin::read::File;
use cuweld::diagnostics::Report;
use cuweld::inputs::RawInput;
use cuweld::options::Options;
use cuweld::target::Target;
use cuweld::trace::Trace;
use cuweld::{Input, Linker, Request, link};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

const KERNEL: &[u8] = include_bytes!("../../../examples/two_units/kernel.cubin");
const FUNCTION: &[u8] = include_bytes!("../../../examples/two_units/scale.cubin");
/// The same kind of unit, packed in each way.
const FATBINS: &[(&str, &[u8])] = &[
    ("stored", include_bytes!("../../../tests/cases/fatbins/inputs/sm_90/c.fatbin")),
    ("lz4", include_bytes!("../../../tests/cases/fatbins/inputs/sm_90/b.fatbin")),
    ("zstd", include_bytes!("../../../tests/cases/fatbins/inputs/sm_90/a.fatbin")),
];

fn main() {
    divan::main();
    // Not where the steps are only listed or run once.
    if std::env::args().any(|word| word == "--bench") && !std::env::args().any(|word| word == "--list") {
        print_phases(1000);
    }
}

fn target() -> &'static Target {
    Target::by_name("sm_90").expect("a target")
}

#[divan::bench]
fn parse_cubin(bencher: Bencher<'_, '_>) {
    bencher.counter(BytesCount::of_slice(KERNEL)).bench(|| File::parse(black_box(KERNEL)).expect("a cubin").sections().len());
}

#[divan::bench(args = FATBINS.iter().map(|(packing, _)| *packing))]
fn unpack_fatbin(bencher: Bencher<'_, '_>, packing: &str) {
    let (_, fatbin) = FATBINS.iter().find(|(name, _)| *name == packing).expect("a packing");
    let request = Request::new(target());
    bencher.counter(BytesCount::of_slice(fatbin)).bench(|| {
        let mut linker = Linker::new(request.clone());
        linker.add_all(&[RawInput::new("unit.fatbin", black_box(fatbin))]).expect("a fatbin");
        linker.units().len()
    });
}

#[divan::bench(args = [10, 100, 1000])]
fn link_functions(bencher: Bencher<'_, '_>, count: usize) {
    let units = units(count);
    bencher.counter(ItemsCount::new(count)).bench(|| link_units(black_box(&units), &mut Trace::default()));
}

/// Units of `count` functions in all, half of them kernels that each call one of the others.
fn units(count: usize) -> Vec<Vec<u8>> {
    (0..count / 2).flat_map(|number| [renamed(KERNEL, number), renamed(FUNCTION, number)]).collect()
}

/// A unit with other names: in an object they are nothing but characters, so that others of the same length can take their place.
fn renamed(object: &[u8], number: usize) -> Vec<u8> {
    let mut object = object.to_vec();
    for name in ["scale", "factor", "unused"] {
        let places: Vec<usize> = (0..object.len()).filter(|place| object[*place..].starts_with(name.as_bytes())).collect();
        for place in places {
            object[place..place + name.len()].copy_from_slice(format!("{number:0width$}", width = name.len()).as_bytes());
        }
    }
    object
}

/// Links, and says how large the result is.
fn link_units(units: &[Vec<u8>], trace: &mut Trace) -> usize {
    let inputs: Vec<Input<'_>> = units.iter().map(|unit| Input::new("unit.cubin", unit)).collect();
    link(&inputs, &Options::new(target()), &mut Report::default(), trace).expect("a program").image.len()
}

/// Lists how long each phase took, at its best.
fn print_phases(count: usize) {
    const RUNS: usize = 20;
    let units = units(count);
    let mut best: Vec<(String, Duration)> = Vec::new();
    for _ in 0..RUNS {
        let mut trace = Trace::default();
        link_units(&units, &mut trace);
        best.resize(trace.spans().len(), (String::new(), Duration::MAX));
        for ((name, least), span) in best.iter_mut().zip(trace.spans()) {
            (*name, *least) = (span.name.to_string(), span.duration.min(*least));
        }
    }
    println!("\nThe phases of a link of {count} functions, each the best of {RUNS} runs:");
    for (name, duration) in best {
        println!("{name:>16} {:8.1} µs", duration.as_secs_f64() * 1e6);
    }
}
