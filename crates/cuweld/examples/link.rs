//! Links files for a target: `cargo run --example link -- sm_90 kernel.cubin scale.cubin program.cubin`.
#![allow(clippy::print_stdout)]

use cuweld::{Linker, options::Options, target::Target};
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, inputs @ .., output] = arguments.as_slice() else { return Err("usage: link TARGET INPUT... OUTPUT".into()) };
    let target = Target::by_name(target).ok_or("not a target")?;
    let files = inputs.iter().map(|path| Ok((path, fs::read(path)?))).collect::<Result<Vec<_>, std::io::Error>>()?;
    let mut linker = Linker::new(Options::new(target));
    for (name, bytes) in &files {
        linker.add(name, bytes)?;
    }
    let linked = linker.link()?;
    for kernel in linked.kernels()? {
        println!("{}: {} registers, {} bytes of shared memory", kernel.name, kernel.registers, kernel.shared);
    }
    fs::write(output, &linked.image)?;
    Ok(())
}
