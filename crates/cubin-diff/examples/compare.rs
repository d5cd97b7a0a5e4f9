//! Tells how two cubins differ: `cargo run --example compare -- one.cubin other.cubin`.
#![allow(clippy::print_stdout)]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let files = std::env::args().skip(1).map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    let [one, other] = files.as_slice() else { return Err("usage: compare CUBIN CUBIN".into()) };
    for difference in cubin_diff::compare(one, other)? {
        println!("{difference}");
    }
    Ok(())
}
