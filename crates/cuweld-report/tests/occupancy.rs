//! Occupancy, held against the calculator that the toolkit has as a header: `cuda_occupancy.h`.

use cuweld_report::occupancy::{Limits, Needs};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The capabilities that the calculators of all releases of CUDA 13 know.
const CAPABILITIES: [u32; 20] = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

/// The folder of the header.
fn headers() -> Option<PathBuf> {
    let folder = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("include"));
    let found = folder.filter(|folder| folder.join("cuda_occupancy.h").is_file());
    if found.is_none() {
        assert!(std::env::var_os("REQUIRE_ALL").is_none(), "cuda_occupancy.h is not in CUDA_HOME");
        // Past the test harness, which keeps to itself what tests print that succeed.
        _ = writeln!(std::io::stderr(), "skipped: cuda_occupancy.h is not in CUDA_HOME");
    }
    found
}

#[test]
fn as_many_blocks_fit_as_the_toolkits_calculator_says() {
    let Some(headers) = headers() else { return };
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/occupancy/calculator.cpp");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("occupancy-calculator");
    let compiled = Command::new("c++").arg("-O1").arg("-I").arg(headers).arg(source).arg("-o").arg(&program).status();
    assert!(compiled.expect("a C++ compiler").success());
    for sm in CAPABILITIES {
        let limits = Limits::of(sm).expect("known");
        let Limits { warps, registers, shared, reserved_shared, shared_per_block, .. } = limits;
        let mut asked = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let mut question = asked.stdin.take().expect("a pipe");
        let (major, minor, threads) = (sm / 10, sm % 10, warps * 32);
        writeln!(question, "{major} {minor} {threads} {registers} {shared} {reserved_shared} {shared_per_block}").expect("read");
        drop(question);
        let answer = asked.wait_with_output().expect("it ends");
        assert!(answer.status.success(), "sm_{sm} is not known to the calculator");
        let answer = String::from_utf8(answer.stdout).expect("text");
        assert_eq!(answer.lines().count(), 255 * 8 * 10);
        for line in answer.lines() {
            let numbers: Vec<u32> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
            let [registers, shared, threads, blocks] = numbers[..] else { panic!("{line}") };
            let needs = Needs { registers, shared: shared.into(), max_threads: None };
            assert_eq!(
                limits.blocks_of(threads, &needs),
                blocks,
                "sm_{sm}: {registers} registers, {shared} bytes, {threads} threads"
            );
        }
    }
}
