//! Puts a fatbin into a host object that registers it: `cargo run --example register -- linked.fatbin dlink.o MODULE_ID...`.

use cuweld_host_object::{Entries, HostObject, Machine, Visibility};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fatbin, output, modules @ ..] = arguments.as_slice() else {
        return Err("usage: register FATBIN OUTPUT MODULE_ID...".into());
    };
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    let object =
        HostObject { machine: Machine::X86_64, modules: &modules, entries: Entries::default(), visibility: Visibility::Default };
    std::fs::write(output, object.to_vec(&std::fs::read(fatbin)?))?;
    Ok(())
}
