//! Lists the device code in a fatbin: `cargo run --example list -- program.fatbin`.
#![allow(clippy::print_stdout)]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: list FILE")?;
    let bytes = std::fs::read(path)?;
    println!("{}", fatbin::identify(&bytes));
    for unit in fatbin::fatbins(&bytes) {
        for entry in unit?.entries() {
            println!("{:?}", entry?.description());
        }
    }
    Ok(())
}
