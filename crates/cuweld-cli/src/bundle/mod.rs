//! `cuweld fatbin`, also under the name `fatbinary`: bundles code for several GPUs.
//!
//! It takes the command line of the toolkit's program of that name, and options that it had until CUDA 12.8 and that build systems still
//! use. What it can not write, intermediate code for link-time optimization, is handed over to the toolkit's own program.

mod options;

use crate::bytes::Bytes;
use crate::messages::Messages;
use crate::options::OptionsFiles;
use crate::output;
use crate::outputs::collision;
use crate::start::ExitCode;
use cuweld::diagnostics::{Diagnostic, Entry, Message, Renderer};
use cuweld_toolkit::Search;
use fatbin::write::{Builder, Embedded};
use options::{Asked, Image, ImageKind};
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The name under which the toolkit has it.
pub const NAME: &str = "fatbinary";

/// Makes a fatbin, and returns the status to end with.
pub fn run(words: Vec<OsString>, messages: &Messages) -> ExitCode {
    let files = OptionsFiles::default();
    let result = Asked::read(words.iter().cloned(), &|path| files.read(path)).and_then(|asked| match asked {
        Asked::Help => Ok(messages.print(options::HELP)),
        Asked::Version => Ok(messages.print(&crate::options::version())),
        Asked::Fatbin(arguments) if arguments.images.iter().any(|image| image.kind == ImageKind::Other) => hand_over(&words),
        Asked::Fatbin(arguments) => make(&arguments).map(|()| ExitCode::SUCCESS),
    });
    result.unwrap_or_else(|text| {
        let renderer = Renderer { tool: NAME.into(), ..messages.own_renderer() };
        messages.show(&renderer, &[Entry::Diagnostic(Diagnostic::new(Message::Usage { text }))]);
        ExitCode::FAILURE
    })
}

fn make(arguments: &options::FatbinArguments) -> Result<(), String> {
    let read = |image: &Image| {
        let file = image.file.to_string_lossy();
        Bytes::of(&image.file).map_err(|_| format!("Could not open input file '{file}'"))
    };
    let files: Vec<Bytes> = arguments.images.iter().map(read).collect::<Result<_, _>>()?;
    let mut fatbin = Builder::new(arguments.settings.clone());
    for (image, bytes) in arguments.images.iter().zip(&files) {
        let bytes = bytes.as_ref();
        let added = match image.kind {
            ImageKind::Ptx => fatbin.ptx(image.architecture, bytes),
            ImageKind::Elf | ImageKind::Other => fatbin.cubin(image.architecture, bytes),
        };
        added.map_err(|unfit| format!("'{}' can not be put into the fatbin: {unfit}", image.file.display()))?;
    }
    let outputs = [&arguments.create, &arguments.embedded].into_iter().flatten().map(|path| path.as_path());
    if let Some(message) = collision(outputs, arguments.images.iter().map(|image| image.file.as_path())) {
        return Err(message.to_string());
    }
    let fatbin = fatbin.to_vec();
    let write = |path: &Path, bytes: &[u8]| {
        output::write(path, bytes).map_err(|error| format!("Could not open output file '{}': {error}", path.display()))
    };
    if let Some(path) = &arguments.create {
        write(path, &fatbin)?;
    }
    if let Some(path) = &arguments.embedded {
        let source = Embedded { fatbin: &fatbin, wrapper: arguments.wrapper, style: arguments.style }.source();
        write(path, source.as_bytes())?;
    }
    Ok(())
}

/// Lets the toolkit's own program do it, and ends as it does.
fn hand_over(words: &[OsString]) -> Result<ExitCode, String> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let places = Search::default().places();
    let programs = places.iter().map(|place| place.folder.join("bin").join(format!("{NAME}{EXE_SUFFIX}")));
    // One of those on PATH may be this program, under that name.
    let is_other = |path: &std::path::PathBuf| path.is_file() && std::fs::canonicalize(path).ok() != own;
    let Some(program) = programs.into_iter().find(is_other) else {
        return Err("intermediate code can only be bundled by the toolkit's fatbinary, and no toolkit was found".into());
    };
    let status = Command::new(&program).args(words).status().map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
