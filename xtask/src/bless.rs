//! Refreshes the stored inputs and results of `tests/cases`: `cargo xtask bless [PART OF A NAME]`.

use std::process::Command;

/// Runs the test program in the mode that stores instead of comparing.
pub fn main(words: &[String]) -> Result<bool, String> {
    if words.len() > 1 {
        return Err("at most one word is expected: a part of the names of the cases to refresh".into());
    }
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--package", "cuweld-cli", "--test", "cases", "--"])
        .args(words)
        .env("BLESS", "1")
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}
