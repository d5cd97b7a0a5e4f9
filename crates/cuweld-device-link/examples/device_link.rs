//! Links device code: `cargo run --example device_link -- dlink.o sm_80,sm_90 a.o b.o libx.a`.

use cuweld_device_link::DeviceLink;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [output, targets, inputs @ ..] = arguments.as_slice() else {
        return Err("usage: device_link OUTPUT TARGET,... INPUT...".into());
    };
    let link = inputs.iter().fold(DeviceLink::new(targets.split(',')), |link, input| link.input(input));
    link.to_object(output)?;
    Ok(())
}
