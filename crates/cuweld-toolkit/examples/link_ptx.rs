//! Links PTX, cubins and objects for sm_90 with the compilers of an installed toolkit: `cargo run --example link_ptx -- a.ptx b.o out.cubin`.

use cuweld::{Linker, options::Options, target::Target};
use cuweld_toolkit::{Search, Setup, ToolkitCompilers};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [inputs @ .., output] = arguments.as_slice() else { return Err("usage: link_ptx INPUT... OUTPUT".into()) };
    let files = inputs.iter().map(|path| Ok((path, std::fs::read(path)?))).collect::<Result<Vec<_>, std::io::Error>>()?;
    let mut linker = Linker::new(Options::new(Target::by_name("sm_90").ok_or("not a target")?));
    for (name, bytes) in &files {
        linker.add(name, bytes)?;
    }
    let compilers = ToolkitCompilers::new(Search::default(), Setup::default);
    let linked = compilers.lend(|compilers| linker.link_with(compilers))?;
    std::fs::write(output, &linked.image)?;
    Ok(())
}
