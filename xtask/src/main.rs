//! Tasks of the project that are not part of the product: `cargo xtask NAME`.
//!
//! Each task is a module with a function that takes the words after the name and says whether all went well.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program for the people who work on the project

mod bench;
mod bless;
mod ci;
mod fuzz;
mod growth;
mod mutate;
mod nightly;
mod random;
mod report;
mod toolkit;

use std::process::ExitCode;

/// A task: it takes the words after its name, and says whether all went well.
type Task = fn(&[String]) -> Result<bool, String>;

/// Every task, with what it is for.
const TASKS: &[(&str, &str, Task)] = &[
    ("bench", "measure whole links of growing size, beside the reference or an older program", bench::main),
    ("bless", "refresh the stored inputs and results of tests/cases, and say what changed", bless::main),
    ("ci", "check everything that must hold before a change goes in", ci::main),
    ("fuzz", "feed the readers and the linker inputs that a fuzzer makes up", fuzz::main),
    ("growth", "see how time and memory grow where many of one thing meet many of another", growth::main),
    ("mutate", "link damaged files and see that nothing worse than an error comes of it", mutate::main),
    ("nightly", "what takes hours: the linkers of every release, objects of two releases, packages and hosts", nightly::main),
    ("random", "link random programs with the reference and with a linker under test", random::main),
    ("report", "measure reports on libraries beside cuobjdump and cubloaty, and compare what they say", report::main),
    ("toolkit", "install the reference toolkit and print the environment for it", toolkit::main),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = words.split_first() else {
        return usage();
    };
    let Some((_, _, task)) = TASKS.iter().find(|(known, _, _)| known == name) else {
        return usage();
    };
    match task(rest) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::from(2)
        }
    }
}

/// Lists the tasks.
fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask TASK [options]; the tasks are");
    for (name, what, _) in TASKS {
        eprintln!("  {name:10} {what}");
    }
    ExitCode::from(2)
}
