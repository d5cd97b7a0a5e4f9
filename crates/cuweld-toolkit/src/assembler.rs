//! `ptxas`: compiles PTX to machine code.

use crate::worker::{Done, Failure, Worker};
use crate::{lines, private_folder};
use cuweld::inputs::lower::{Assembly, CompilerError, OBJECT_NAME, PTX_NAME};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The assembler.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

/// Machine code, and what the assembler said.
pub(crate) struct Code {
    pub(crate) image: Vec<u8>,
    pub(crate) messages: Vec<String>,
}

impl Assembler {
    pub(crate) fn new(path: PathBuf) -> Self {
        // It runs in another folder, where a relative path would name something else.
        Assembler { path: std::path::absolute(&path).unwrap_or(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Assembles `text`, through `launcher` if there is one, and under the worker if there is one.
    ///
    /// The assembler runs in a private folder, where the text and the result have names that are always the same: they appear in its
    /// messages and in the result. So nothing in the command is of this run alone, and a launcher that keeps results finds them again.
    pub(crate) fn assemble(
        &self,
        assembly: &Assembly<'_>,
        launcher: Option<&Path>,
        worker: Option<&Worker>,
    ) -> Result<Code, CompilerError> {
        let unusable = |what: &str, error: io::Error| CompilerError::Unusable(format!("{what}: {error}"));
        let folder = private_folder().map_err(|error| unusable("a temporary folder could not be made", error))?;
        fs::write(folder.path().join(PTX_NAME), assembly.text)
            .map_err(|error| unusable("a temporary file could not be written", error))?;
        let program = launcher.unwrap_or(&self.path);
        let own_path = launcher.map(|_| self.path.clone().into_os_string());
        let arguments = assembly.arguments.iter().map(String::as_str).chain([PTX_NAME, "-o", OBJECT_NAME]).map(OsString::from);
        let arguments: Vec<OsString> = own_path.into_iter().chain(arguments).collect();
        let done = match worker {
            Some(worker) => worker.run(folder.path(), program.as_os_str(), &arguments),
            None => run(folder.path(), program, &arguments),
        };
        let done = done.map_err(|error| unusable(&format!("'{}' could not be run", program.display()), error))?;
        let messages: Vec<String> = done.said.iter().flat_map(|said| lines(said)).collect();
        match (fs::read(folder.path().join(OBJECT_NAME)), done.failure) {
            (Ok(image), None) => Ok(Code { image, messages }),
            (_, Some(Failure::Unstarted(why))) => {
                Err(CompilerError::Unusable(format!("'{}' could not be run: {why}", program.display())))
            }
            (_, Some(Failure::Crash(how))) => {
                let said = messages.iter().map(|line| format!(": {line}")).next_back().unwrap_or_default();
                Err(CompilerError::Crashed { how: format!("'{}' ended with {how}{said}", program.display()), module: None })
            }
            (_, Some(Failure::Status(status))) if messages.is_empty() => {
                Err(CompilerError::Unusable(format!("'{}' ended without a word, with status {status}", program.display())))
            }
            (_, None) if messages.is_empty() => {
                Err(CompilerError::Unusable(format!("'{}' ended without a result", program.display())))
            }
            _ => Err(CompilerError::Refused(messages.join("\n"))),
        }
    }
}

/// Runs the assembler as a child of this process.
///
/// Where the process ignores SIGCHLD, as servers do, the system forgets how a program ended. It is known then by what it made.
fn run(folder: &Path, program: &Path, arguments: &[OsString]) -> io::Result<Done> {
    let [stdout, stderr] = [folder.join("stdout.txt"), folder.join("stderr.txt")];
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    let mut child = command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?).spawn()?;
    let failure = match child.wait() {
        Ok(status) => match status.code() {
            Some(0) => None,
            Some(status) => Some(Failure::Status(status)),
            None => Some(Failure::Crash(status.to_string())),
        },
        Err(error) if error.raw_os_error() == Some(NO_CHILD) => None,
        Err(error) => return Err(error),
    };
    Ok(Done { failure, said: [fs::read(stdout)?, fs::read(stderr)?] })
}

/// The error of waiting for a program whose end was already reaped (ECHILD).
const NO_CHILD: i32 = 10;
