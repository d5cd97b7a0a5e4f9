//! Everything that must pass before a change goes in: `cargo xtask ci`.

use std::path::Path;
use std::process::Command;

/// Runs `.ci/run`.
pub fn main(words: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let script = root.join(".ci/run");
    let status = Command::new(&script)
        .args(words)
        .current_dir(&root)
        .status()
        .map_err(|error| format!("{}: {error}", script.display()))?;
    Ok(status.success())
}
