//! The assembler: compiles PTX to machine code.
//!
//! It is the program `ptxas`. Where only libraries of CUDA are installed, as Python packages do it, `libnvJitLink` has an assembler in
//! it: a relocatable link of one PTX text is its object.

use crate::library::{Kind, Library, Made, Module, Product, Work};
use crate::worker::{Done, Failure, Worker};
use crate::{lines, private_folder};
use cuweld::inputs::lower::{Assembly, CompilerError, OBJECT_NAME, PTX_NAME};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The assembler.
#[derive(Debug)]
pub struct Assembler(Means);

#[derive(Debug)]
enum Means {
    /// `ptxas`.
    Program(PathBuf),
    /// `libnvJitLink`.
    Library(Library),
}

/// Machine code, and what the assembler said.
pub(crate) struct Code {
    pub(crate) image: Vec<u8>,
    pub(crate) messages: Vec<String>,
}

impl Assembler {
    /// The program at `path`.
    pub(crate) fn program(path: PathBuf) -> Self {
        // It runs in another folder, where a relative path would name something else.
        Assembler(Means::Program(std::path::absolute(&path).unwrap_or(path)))
    }

    /// The one in `library`.
    pub(crate) fn library(library: Library) -> Self {
        Assembler(Means::Library(library))
    }

    pub(crate) fn path(&self) -> &Path {
        match &self.0 {
            Means::Program(path) => path,
            Means::Library(library) => library.path(),
        }
    }

    /// Assembles a text, under the worker if there is one; the program through `launcher`, if there is one.
    pub(crate) fn assemble(
        &self,
        assembly: &Assembly<'_>,
        launcher: Option<&Path>,
        worker: Option<&Worker>,
    ) -> Result<Code, CompilerError> {
        match &self.0 {
            Means::Program(path) => run_program(path, assembly, launcher, worker),
            Means::Library(library) => run_library(library, assembly, worker),
        }
    }
}

/// Has the library assemble a text.
fn run_library(library: &Library, assembly: &Assembly<'_>, worker: Option<&Worker>) -> Result<Code, CompilerError> {
    let module = Module { kind: Kind::Ptx, name: PTX_NAME, data: assembly.text };
    let work = Work { product: Product::Cubin, arguments: library_arguments(&assembly.arguments), modules: vec![module] };
    // The library ends its log with a line of its own.
    let said = |log: &str| log.lines().filter(|line| !line.starts_with("ERROR ")).map(str::to_owned).collect::<Vec<_>>();
    match library.make(&work, worker) {
        Ok(Made { image, log, .. }) => Ok(Code { image, messages: said(&log) }),
        Err(CompilerError::Refused(log)) => Err(CompilerError::Refused(said(&log).join("\n"))),
        Err(error) => Err(error),
    }
}

/// The library's options for arguments of `ptxas`.
fn library_arguments(arguments: &[String]) -> Vec<String> {
    let mut passed: Vec<String> = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            // Each option of the library holds one argument, with its value.
            value if !value.starts_with('-') && !passed.is_empty() => passed.last_mut().into_iter().for_each(|last| {
                last.push('=');
                last.push_str(value);
            }),
            "-c" => passed.push("-r".to_owned()),
            "-m64" => (),
            "-g" => passed.push(argument.clone()),
            option if option.starts_with("-arch=") => passed.push(argument.clone()),
            _ => passed.push(format!("-Xptxas={argument}")),
        }
    }
    passed
}

/// Has the program assemble a text.
///
/// The assembler runs in a private folder, where the text and the result have names that are always the same: they appear in its
/// messages and in the result. So nothing in the command is of this run alone, and a launcher that keeps results finds them again.
fn run_program(
    path: &Path,
    assembly: &Assembly<'_>,
    launcher: Option<&Path>,
    worker: Option<&Worker>,
) -> Result<Code, CompilerError> {
    let unusable = |what: &str, error: io::Error| CompilerError::Unusable(format!("{what}: {error}"));
    let folder = private_folder().map_err(|error| unusable("a temporary folder could not be made", error))?;
    fs::write(folder.path().join(PTX_NAME), assembly.text)
        .map_err(|error| unusable("a temporary file could not be written", error))?;
    let program = launcher.unwrap_or(path);
    let own_path = launcher.map(|_| path.as_os_str().to_owned());
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

#[cfg(test)]
mod tests {
    use super::library_arguments;

    #[test]
    fn the_library_takes_each_argument_with_its_value() {
        let arguments = ["-O3", "-maxrregcount", "32", "-arch=sm_90", "-m64", "-g", "-c"].map(str::to_owned);
        assert_eq!(library_arguments(&arguments), ["-Xptxas=-O3", "-Xptxas=-maxrregcount=32", "-arch=sm_90", "-g", "-r"]);
    }
}
