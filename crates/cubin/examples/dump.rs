//! Shows everything in a cubin as text: `cargo run --example dump -- kernel.cubin`.
#![allow(clippy::print_stdout)]

use cubin::read::File;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: dump FILE")?;
    let bytes = std::fs::read(path)?;
    println!("{}", cubin::dump::dump(&File::parse(&bytes)?));
    Ok(())
}
