//! cuweld-cli

fn main() {}
