//! Running a linker in a folder of its own.

use crate::case::Case;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What links came to.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; 1000 and more when a signal ended the program.
    pub status: i32,
    /// What was printed.
    pub messages: String,
    /// The files that were made.
    pub outputs: Files,
}

/// How cuweld is to speak.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// Like the reference: it is called by the reference's name.
    Nvlink,
    /// In its own words. (And on one thread, so that the two runs differ in more than words.)
    Rich,
}

/// A linker program.
pub struct Linker {
    program: PathBuf,
}

impl Linker {
    /// The linker under test: what cargo built, or `$CUWELD`.
    pub fn cuweld() -> Self {
        let chosen = std::env::var_os("CUWELD").map(PathBuf::from);
        Linker { program: chosen.unwrap_or_else(|| env!("CARGO_BIN_EXE_cuweld").into()) }
    }

    /// Some other linker.
    pub fn at(program: &Path) -> Self {
        Linker { program: program.to_owned() }
    }

    /// Runs the links of a case on these inputs.
    pub fn link(&self, case: &Case, arch: &str, inputs: &Files, speech: Speech) -> Result<Outcome, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder to work in: {error}"))?;
        write(folder.path(), inputs)?;
        let mut outcome = Outcome { status: 0, messages: String::new(), outputs: Files::new() };
        for line in &case.recipe.link {
            let mut command = Command::new(&self.program);
            command.args(Case::words(line, arch)).current_dir(folder.path()).stdin(Stdio::null());
            match speech {
                Speech::Nvlink => command.arg0("nvlink"),
                Speech::Rich => command.arg0("cuweld").env("RAYON_NUM_THREADS", "1"),
            };
            // The tool note must not tell the two apart.
            command.env("CUWELD_COMPAT", "nvlink-13.0.88");
            let (status, messages) = run(&mut command)?;
            outcome.messages.push_str(&messages);
            outcome.status = status;
            if status != 0 {
                break;
            }
        }
        for name in &case.recipe.outputs {
            let path = folder.path().join(name);
            if path.exists() {
                outcome.outputs.insert(name.clone(), fs::read(&path).map_err(|error| format!("{name}: {error}"))?);
            }
        }
        Ok(outcome)
    }
}

/// Runs a program and returns its status and what it printed.
pub fn run(command: &mut Command) -> Result<(i32, String), String> {
    use std::os::unix::process::ExitStatusExt;
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    let status = output.status.code().unwrap_or_else(|| 1000 + output.status.signal().unwrap_or(0));
    let text = [output.stdout, output.stderr].concat();
    Ok((status, String::from_utf8_lossy(&text).into_owned()))
}

/// Writes files into a folder.
pub fn write(folder: &Path, files: &Files) -> Result<(), String> {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}
