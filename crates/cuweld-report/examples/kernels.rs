//! Lists the kernels of a file: `cargo run --example kernels -- program`.
#![allow(clippy::print_stdout)]

use cuweld_report::{Examined, examine};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("usage: kernels FILE")?;
    let bytes = std::fs::read(&name)?;
    let report = examine(&[Examined { name: &name, bytes: &bytes }], &|_, _| {});
    for architecture in &report.architectures {
        for function in &architecture.functions {
            println!("{}: {}: {} registers", architecture.name, function.demangled, function.registers);
        }
    }
    Ok(())
}
