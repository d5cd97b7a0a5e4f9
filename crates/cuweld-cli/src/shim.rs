//! `cuweld shim`: a folder through which nvcc links device code with this program, while the toolkit stays as it is.
//!
//! nvcc looks for its programs in its own folder, which it takes from the name it was called by, and reads a profile there that says
//! where everything else is. So a link to nvcc, a profile of its own and a link `nvlink` to this program are all it takes.

use crate::messages::{Messages, STYLE_VARIABLE};
use crate::options::DiagnosticsStyle;
use crate::request::RELEASE_VARIABLE;
use crate::start::ExitCode;
use cubin::release::Release;
use cuweld::diagnostics::{Diagnostic, Entry, Message};
use cuweld_toolkit::Search;
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cuweld shim FOLDER [--whole] [--toolkit FOLDER] [--messages rich|nvlink]";

const HELP: &str = "\
usage: cuweld shim FOLDER [--whole] [--toolkit FOLDER] [--messages rich|nvlink]

Makes a folder in which nvcc is the toolkit's and nvlink is cuweld, so that every build that calls this
nvcc links device code with cuweld. The toolkit is not changed. An existing folder is updated.

--whole
        Makes FOLDER a whole toolkit: these programs in FOLDER/bin, and links to everything else of the
        toolkit. For builds that take the path of the toolkit and not of nvcc, from CUDA_HOME or CUDA_PATH:
        PyTorch's extensions, Bazel's rules_cuda and CMake's find_package(CUDAToolkit).
--toolkit FOLDER
        The CUDA toolkit. By default, the first one found by CUWELD_TOOLKIT, CUDA_HOME, CUDA_PATH or PATH.
--messages rich|nvlink
        The style of the linker's messages: rich, with references to undefined symbols and hints; or
        nvlink, word for word those of NVIDIA's linker, for tools that parse them. If it is not given, you
        are asked at a terminal; otherwise it is rich. The environment variable CUWELD_DIAGNOSTICS changes
        it for a single build.
";

/// Makes the folder, says what to do with it, and returns the status to end with.
pub fn run(arguments: Vec<OsString>, messages: &Messages) -> ExitCode {
    match make(arguments.into_iter()) {
        Ok(text) => messages.print(&text),
        Err(diagnostic) => {
            messages.show(&messages.own_renderer(), &[Entry::Diagnostic(*diagnostic)]);
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: impl Iterator<Item = OsString>) -> Result<String, Box<Diagnostic>> {
    let Some(Arguments { folder, whole, toolkit, style }) = read_arguments(arguments)? else { return Ok(HELP.to_owned()) };
    if whole && !system::LINKS {
        let text = "'--whole' needs links to the toolkit's files, which are not made on this system".into();
        return Err(Box::new(Diagnostic::new(Message::Usage { text })));
    }
    let toolkit = find_toolkit(toolkit)?;
    let style = style.unwrap_or_else(ask_for_style);
    let at = |path: &Path, error: io::Error| {
        let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
        Box::new(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause))
    };
    let programs = if whole { folder.join("bin") } else { folder.clone() };
    fs::create_dir_all(&programs).map_err(|error| at(&folder, error))?;
    let folder = system::full_path(&programs).map_err(|error| at(&folder, error))?;
    for path in [&folder, &toolkit] {
        if path.to_string_lossy().contains(['$', '\n', '\r', '"', '`']) {
            let text = format!("nvcc would read '{}' as something else than a folder; take one of another name", path.display());
            return Err(Box::new(Diagnostic::new(Message::Usage { text })));
        }
    }
    let own = std::env::current_exe().map_err(|error| at(&folder, error))?;
    let profile = toolkit.join("bin/nvcc.profile");
    let text = fs::read_to_string(&profile).map_err(|error| at(&profile, error))?;
    let program = |name: &str| format!("{name}{EXE_SUFFIX}");
    let nvcc = toolkit.join("bin").join(program("nvcc"));
    let release = release_of(&nvcc);
    fs::write(folder.join("nvcc.profile"), profile_for(&text, &folder, &toolkit, style, release))
        .map_err(|error| at(&folder, error))?;
    let own_programs = [
        (program("nvcc"), nvcc),
        ("crt".into(), toolkit.join("bin/crt")),
        (program("nvlink"), own.clone()),
        (program("fatbinary"), own),
    ];
    for (name, target) in &own_programs {
        let link = folder.join(name);
        system::replace(&link, target).map_err(|error| at(&link, error))?;
    }
    if whole {
        let made_already = |name: &str| name == "nvcc.profile" || own_programs.iter().any(|(own, _)| own == name);
        complete(&folder, &toolkit.join("bin"), made_already).map_err(|error| at(&folder, error))?;
        let root = folder.parent().unwrap_or(&folder);
        complete(root, &toolkit, |name| name == "bin").map_err(|error| at(root, error))?;
    }
    Ok(what_to_do(&folder, &toolkit, whole, style))
}

/// Links everything in a folder of the toolkit that the folder in its place does not have of its own.
fn complete(folder: &Path, of_toolkit: &Path, is_own: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(of_toolkit)? {
        let entry = entry?;
        let name = entry.file_name();
        if !is_own(&name.to_string_lossy()) {
            system::replace(&folder.join(name), &entry.path())?;
        }
    }
    Ok(())
}

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Arguments {
    folder: PathBuf,
    /// Whether the folder is to be one of a whole toolkit.
    whole: bool,
    toolkit: Option<PathBuf>,
    style: Option<DiagnosticsStyle>,
}

/// Reads the arguments; none if help is wanted.
fn read_arguments(arguments: impl Iterator<Item = OsString>) -> Result<Option<Arguments>, Box<Diagnostic>> {
    let usage = || Box::new(Diagnostic::new(Message::Usage { text: USAGE.into() }).hint("'cuweld shim --help' says more"));
    let mut arguments = arguments.peekable();
    let (mut folder, mut whole, mut toolkit, mut style) = (None, false, None, None);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(OsString::from(value))));
        match name {
            "--help" | "-h" => return Ok(None),
            "--whole" => whole = true,
            "--toolkit" => toolkit = Some(PathBuf::from(value.or_else(|| arguments.next()).ok_or_else(usage)?)),
            "--messages" => {
                let value = value.or_else(|| arguments.next()).ok_or_else(usage)?;
                style = Some(value.to_str().and_then(DiagnosticsStyle::by_name).ok_or_else(usage)?);
            }
            _ if name.starts_with('-') || folder.is_some() => return Err(usage()),
            _ => folder = Some(PathBuf::from(&argument)),
        }
    }
    Ok(Some(Arguments { folder: folder.ok_or_else(usage)?, whole, toolkit, style }))
}

/// Asks how messages are to be written, if there is someone to ask.
fn ask_for_style() -> DiagnosticsStyle {
    let (mut input, mut output) = (io::stdin().lock(), io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        return DiagnosticsStyle::Rich;
    }
    let question = "Messages of the linker: 'rich', for people, or 'nvlink', for tools that look for NVIDIA's wording? [rich] ";
    let mut answer = String::new();
    // Who gives no answer gets the default.
    _ = output.write_all(question.as_bytes()).and_then(|()| input.read_line(&mut answer));
    DiagnosticsStyle::by_name(answer.trim()).unwrap_or(DiagnosticsStyle::Rich)
}

/// The toolkit's folder: one with a compiler and its profile.
fn find_toolkit(named: Option<PathBuf>) -> Result<PathBuf, Box<Diagnostic>> {
    let places = Search { folder: named, ..Search::default() }.places();
    // The profile tells a toolkit from a folder that an earlier call made.
    let found = places.iter().find(|place| {
        let programs = place.folder.join("bin");
        let profile = fs::read_to_string(programs.join("nvcc.profile"));
        programs.join(format!("nvcc{EXE_SUFFIX}")).is_file() && profile.is_ok_and(|text| !text.contains(STYLE_VARIABLE))
    });
    match found {
        Some(place) => Ok(system::full_path(&place.folder).unwrap_or_else(|_| place.folder.clone())),
        None => {
            let missing = Diagnostic::new(Message::CompilerMissing { what: "nvcc".into() });
            Err(Box::new(places.iter().fold(missing, |diagnostic, place| diagnostic.also(format!("not in {place}")))))
        }
    }
}

/// The release that a compiler is of, if it is one that is known.
fn release_of(nvcc: &Path) -> Option<&'static Release> {
    let output = Command::new(nvcc).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Release::by_name(text.split_once("release ")?.1.split(',').next()?)
}

/// The toolkit's profile, changed so that it holds from another folder: that one is searched for programs before the toolkit's own. What
/// a profile sets, nvcc passes on to the programs it runs.
fn profile_for(text: &str, folder: &Path, toolkit: &Path, style: DiagnosticsStyle, release: Option<&Release>) -> String {
    let name_of = |line: &str| line.split(['=', '+', ' ', '\t']).next().unwrap_or_default().to_owned();
    let lines = text.lines().map(|line| match name_of(line).as_str() {
        // Spelled as nvcc finds it from its own folder: the linker's note tells where it looked for libraries.
        "TOP" => format!("TOP = {}/..\n", toolkit.join("bin").display()),
        "PATH" => {
            let folders = [&folder.display().to_string(), "$(TOP)/nvvm/bin", "$(TOP)/bin", "$(TOP)/lib"];
            format!("PATH += {};\n", folders.join(";")).replace(';', system::PATH_SEPARATOR)
        }
        _ => format!("{line}\n"),
    });
    let release = release.map(|release| format!("{RELEASE_VARIABLE} ?= {}\n", release.name));
    lines.chain([format!("{STYLE_VARIABLE} ?= {}\n", style.name())]).chain(release).collect()
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::io;
    use std::path::Path;

    pub(super) use fs::canonicalize as full_path;

    pub(super) const LINKS: bool = true;
    pub(super) const PATH_SEPARATOR: &str = ":";

    /// Makes a link.
    pub(super) fn replace(link: &Path, target: &Path) -> io::Result<()> {
        // Only a link is replaced: anything else was not made by this.
        if fs::symlink_metadata(link).is_ok_and(|found| found.is_symlink()) {
            fs::remove_file(link)?;
        }
        std::os::unix::fs::symlink(target, link)
    }
}

/// Windows lets only few users make links, and a program's folder is that of the file it was started from: so there are copies.
#[cfg(not(unix))]
mod system {
    use std::fs;
    use std::io;
    use std::path::Path;

    pub(super) use std::path::absolute as full_path;

    pub(super) const LINKS: bool = false;
    pub(super) const PATH_SEPARATOR: &str = ";";

    /// Makes a copy of a file, or of the files in a folder.
    pub(super) fn replace(copy: &Path, original: &Path) -> io::Result<()> {
        if !original.is_dir() {
            return fs::copy(original, copy).map(drop);
        }
        fs::create_dir_all(copy)?;
        for entry in fs::read_dir(original)? {
            let entry = entry?;
            fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
        Ok(())
    }
}

fn what_to_do(folder: &Path, toolkit: &Path, whole: bool, style: DiagnosticsStyle) -> String {
    let root = folder.parent().filter(|_| whole);
    let root = root.map_or(String::new(), |root| format!("  others  CUDA_HOME={0} CUDA_PATH={0} ...\n", root.display()));
    let (folder, toolkit) = (folder.display(), toolkit.display());
    let (style, other) = match style {
        DiagnosticsStyle::Nvlink => ("those of nvlink, word for word", "rich"),
        _ => ("written for people", "nvlink"),
    };
    format!(
        "{folder}/nvcc is the nvcc of {toolkit}, and links device code with cuweld.

  nvcc    {folder}/nvcc -rdc=true a.cu b.cu -o program
  CMake   cmake -DCMAKE_CUDA_COMPILER={folder}/nvcc ... (CUDA_SEPARABLE_COMPILATION as usual)
  Bazel   let the CUDA toolchain's nvcc be {folder}/nvcc; where it calls nvlink itself, {folder}/nvlink
  clang   PATH={folder}:$PATH clang++ ... (without --cuda-path, which comes before PATH)
{root}
The linker's messages are {style}; {STYLE_VARIABLE}={other} changes that for a build.
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_holds_from_elsewhere() {
        let text = "\nTOP              = $(_HERE_)/..\nCICC_PATH = $(TOP)/nvvm/bin\nPATH            += $(CICC_PATH):$(_HERE_):\nPATHS = x\n";
        let expected = "\nTOP = /cuda/bin/..\nCICC_PATH = $(TOP)/nvvm/bin\nPATH += /welded:$(TOP)/nvvm/bin:$(TOP)/bin:$(TOP)/lib:\nPATHS = x\nCUWELD_DIAGNOSTICS ?= rich\nCUWELD_RELEASE ?= 13.4\n";
        let release = Release::by_name("13.4");
        assert_eq!(profile_for(text, Path::new("/welded"), Path::new("/cuda"), DiagnosticsStyle::Rich, release), expected);
    }

    #[test]
    fn one_folder_is_needed() {
        let read = |words: &[&str]| read_arguments(words.iter().map(OsString::from));
        let arguments = |toolkit: Option<&str>, style| {
            Ok(Some(Arguments { folder: "d".into(), whole: false, toolkit: toolkit.map(PathBuf::from), style })).map_err(|()| "")
        };
        let found = |words: &[&str]| read(words).map_err(|_| "");
        assert_eq!(found(&["d"]), arguments(None, None));
        assert_eq!(found(&["--toolkit", "t", "d"]), arguments(Some("t"), None));
        assert_eq!(found(&["d", "--toolkit=t", "--messages=nvlink"]), arguments(Some("t"), Some(DiagnosticsStyle::Nvlink)));
        assert!(read(&["d", "--whole"]).is_ok_and(|arguments| arguments.is_some_and(|arguments| arguments.whole)));
        assert_eq!(found(&["d", "--help"]), Ok(None));
        for words in [&[][..], &["a", "b"], &["--toolkit"], &["-x", "d"], &["d", "--messages=loud"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
