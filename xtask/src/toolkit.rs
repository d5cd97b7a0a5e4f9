//! The reference toolkit: `eval "$(cargo xtask toolkit)"`.

use std::path::Path;
use std::process::Command;

/// Runs `scripts/toolkit`, which installs the toolkit if it is missing and prints the environment for it.
pub fn main(words: &[String]) -> Result<bool, String> {
    if let Some(word) = words.first() {
        return Err(format!("unexpected '{word}': the place is taken from $CUDA_REFERENCE"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/toolkit");
    let status = Command::new(&script).status().map_err(|error| format!("{}: {error}", script.display()))?;
    Ok(status.success())
}
