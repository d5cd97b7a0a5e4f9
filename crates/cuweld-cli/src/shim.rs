//! `cuweld shim`: a folder through which nvcc links device code with this program, while the toolkit stays as it is.
//!
//! nvcc looks for its programs in its own folder, which it takes from the name it was called by, and reads a profile there that says
//! where everything else is. So a link to nvcc, a profile of its own and a link `nvlink` to this program are all it takes.

use crate::messages::Messages;
use cuweld::diagnostics::{Diagnostic, Entry, Message};
use cuweld_toolkit::Search;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The word that asks for a folder.
pub const WORD: &str = "shim";

const USAGE: &str = "usage: cuweld shim FOLDER [--toolkit FOLDER]";

/// Makes the folder, says what to do with it, and returns the status to end with.
pub fn run(arguments: impl Iterator<Item = OsString>, messages: &Messages) -> ExitCode {
    match make(arguments) {
        Ok(text) => messages.print(&text),
        Err(diagnostic) => {
            messages.show(&messages.own_renderer(), &[Entry::Diagnostic(*diagnostic)]);
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: impl Iterator<Item = OsString>) -> Result<String, Box<Diagnostic>> {
    let (folder, toolkit) = read_arguments(arguments)?;
    let toolkit = find_toolkit(toolkit)?;
    let at = |path: &Path, error: io::Error| {
        let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
        Box::new(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause))
    };
    fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
    let folder = fs::canonicalize(&folder).map_err(|error| at(&folder, error))?;
    for path in [&folder, &toolkit] {
        if path.to_string_lossy().contains(['$', '\n', '\r', '"', '`']) {
            let text = format!("nvcc would read '{}' as something else than a folder; take one of another name", path.display());
            return Err(Box::new(Diagnostic::new(Message::Usage { text })));
        }
    }
    let own = std::env::current_exe().map_err(|error| at(&folder, error))?;
    let profile = toolkit.join("bin/nvcc.profile");
    let text = fs::read_to_string(&profile).map_err(|error| at(&profile, error))?;
    fs::write(folder.join("nvcc.profile"), profile_for(&text, &folder, &toolkit)).map_err(|error| at(&folder, error))?;
    for (name, target) in
        [("nvcc", toolkit.join("bin/nvcc")), ("crt", toolkit.join("bin/crt")), ("nvlink", own.clone()), ("fatbinary", own)]
    {
        let link = folder.join(name);
        replace_link(&link, &target).map_err(|error| at(&link, error))?;
    }
    Ok(what_to_do(&folder, &toolkit))
}

fn read_arguments(arguments: impl Iterator<Item = OsString>) -> Result<(PathBuf, Option<PathBuf>), Box<Diagnostic>> {
    let usage = || Box::new(Diagnostic::new(Message::Usage { text: USAGE.into() }));
    let mut arguments = arguments.peekable();
    let (mut folder, mut toolkit) = (None, None);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--toolkit" {
            toolkit = Some(PathBuf::from(arguments.next().ok_or_else(usage)?));
        } else if let Some(value) = text.strip_prefix("--toolkit=") {
            toolkit = Some(PathBuf::from(value));
        } else if text.starts_with('-') || folder.is_some() {
            return Err(usage());
        } else {
            folder = Some(PathBuf::from(&argument));
        }
    }
    Ok((folder.ok_or_else(usage)?, toolkit))
}

/// The toolkit's folder: one with a compiler and its profile.
fn find_toolkit(named: Option<PathBuf>) -> Result<PathBuf, Box<Diagnostic>> {
    let places = Search { folder: named, ..Search::default() }.places();
    // The profile tells a toolkit from a folder that an earlier call made.
    let found = places.iter().find(|place| {
        let file = |name: &str| place.folder.join("bin").join(name).is_file();
        file("nvcc") && file("nvcc.profile")
    });
    match found {
        Some(place) => Ok(fs::canonicalize(&place.folder).unwrap_or_else(|_| place.folder.clone())),
        None => {
            let missing = Diagnostic::new(Message::CompilerMissing { what: "nvcc".into() });
            Err(Box::new(places.iter().fold(missing, |diagnostic, place| diagnostic.also(format!("not in {place}")))))
        }
    }
}

/// The toolkit's profile, changed so that it holds from another folder: that one is searched for programs before the toolkit's own.
fn profile_for(text: &str, folder: &Path, toolkit: &Path) -> String {
    let name_of = |line: &str| line.split(['=', '+', ' ', '\t']).next().unwrap_or_default().to_owned();
    let lines = text.lines().map(|line| match name_of(line).as_str() {
        "TOP" => format!("TOP = {}\n", toolkit.display()),
        "PATH" => format!("PATH += {}:$(TOP)/nvvm/bin:$(TOP)/bin:\n", folder.display()),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[cfg(unix)]
fn replace_link(link: &Path, target: &Path) -> io::Result<()> {
    // Only a link is replaced: anything else was not made by this.
    if fs::symlink_metadata(link).is_ok_and(|found| found.is_symlink()) {
        fs::remove_file(link)?;
    }
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn replace_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

fn what_to_do(folder: &Path, toolkit: &Path) -> String {
    let (folder, toolkit) = (folder.display(), toolkit.display());
    format!(
        "{folder}/nvcc is the nvcc of {toolkit}, and links device code with cuweld.

  nvcc    {folder}/nvcc -rdc=true a.cu b.cu -o program
  CMake   cmake -DCMAKE_CUDA_COMPILER={folder}/nvcc ... (CUDA_SEPARABLE_COMPILATION as usual)
  Bazel   let the CUDA toolchain's nvcc be {folder}/nvcc; where it calls nvlink itself, {folder}/nvlink
  clang   PATH={folder}:$PATH clang++ ... (without --cuda-path, which comes before PATH)
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_holds_from_elsewhere() {
        let text = "\nTOP              = $(_HERE_)/..\nCICC_PATH = $(TOP)/nvvm/bin\nPATH            += $(CICC_PATH):$(_HERE_):\nPATHS = x\n";
        let expected = "\nTOP = /cuda\nCICC_PATH = $(TOP)/nvvm/bin\nPATH += /welded:$(TOP)/nvvm/bin:$(TOP)/bin:\nPATHS = x\n";
        assert_eq!(profile_for(text, Path::new("/welded"), Path::new("/cuda")), expected);
    }

    #[test]
    fn one_folder_is_needed() {
        let read = |words: &[&str]| read_arguments(words.iter().map(OsString::from));
        assert_eq!(read(&["d"]).ok(), Some(("d".into(), None)));
        assert_eq!(read(&["--toolkit", "t", "d"]).ok(), Some(("d".into(), Some("t".into()))));
        assert_eq!(read(&["d", "--toolkit=t"]).ok(), Some(("d".into(), Some("t".into()))));
        for words in [&[][..], &["a", "b"], &["--toolkit"], &["-x", "d"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
