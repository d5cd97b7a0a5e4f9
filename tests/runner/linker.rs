//! Running a linker in a folder of its own.

use crate::case::Case;
use cubin::release::ToolBuild;
use cubin_diff::signature::{CUWELD, Signature, signed_as};
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

/// How cuweld is to work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Like the reference, in all that it does: with its name, its words, its note and its defects.
    Reference,
    /// As it does for everyone else: in its own words and with its own note. (And on one thread, so that the two runs differ in that, too.)
    Default,
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
    pub fn link(&self, case: &Case, arch: &str, inputs: &Files, mode: Mode) -> Result<Outcome, String> {
        self.link_as(case.reference()?, case, arch, inputs, mode)
    }

    /// Runs the links of a case on these inputs, as those of another build of the reference than the case's own.
    pub fn link_as(&self, reference: ToolBuild, case: &Case, arch: &str, inputs: &Files, mode: Mode) -> Result<Outcome, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder to work in: {error}"))?;
        write(folder.path(), inputs)?;
        let mut outcome = Outcome { status: 0, messages: String::new(), outputs: Files::new() };
        for line in &case.recipe.link {
            let mut command = Command::new(&self.program);
            command.args(Case::words(line, arch)).current_dir(folder.path()).stdin(Stdio::null());
            match mode {
                Mode::Reference => command.arg0("nvlink").env("CUWELD_COMPAT", reference.name()),
                Mode::Default => command.arg0("cuweld").env("RAYON_NUM_THREADS", "1").env_remove("CUWELD_COMPAT"),
            };
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
                let bytes = fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
                outcome.outputs.insert(name.clone(), if mode == Mode::Default { signed(name, reference, bytes)? } else { bytes });
            }
        }
        Ok(outcome)
    }
}

/// A file that cuweld signed, with the reference's signature in place of its own: no other byte may differ from what is stored.
fn signed(name: &str, reference: ToolBuild, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if cubin::read::File::parse(&bytes).is_err() {
        return Ok(bytes);
    }
    signed_as(&bytes, CUWELD, Signature::nvlink(reference.build)).map_err(|error| format!("{name}: {error}"))
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
