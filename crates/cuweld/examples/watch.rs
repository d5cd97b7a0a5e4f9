//! Watches a link of files for sm_90, and ends it when it takes longer than a second.
#![allow(clippy::print_stdout)]

use cuweld::inputs::lower::Compilers;
use cuweld::observer::{Observer, Phase};
use cuweld::{Linker, options::Options, target::Target};
use std::error::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

struct Deadline {
    end: Instant,
}

impl Observer for Deadline {
    fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
        println!("{}", phase.name());
        if Instant::now() > self.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let files =
        std::env::args().skip(1).map(|path| Ok((std::fs::read(&path)?, path))).collect::<Result<Vec<_>, std::io::Error>>()?;
    let mut linker = Linker::new(Options::new(Target::by_name("sm_90").ok_or("not a target")?));
    for (bytes, name) in &files {
        linker.add(name, bytes)?;
    }
    let mut deadline = Deadline { end: Instant::now() + Duration::from_secs(1) };
    let linked = linker.link_observed(&Compilers::NONE, &mut deadline)?;
    println!("{} bytes", linked.image.len());
    Ok(())
}
