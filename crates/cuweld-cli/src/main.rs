//! cuweld-cli

#[allow(dead_code, unused_imports, reason = "the program that uses it comes next")]
mod options;

fn main() {}
