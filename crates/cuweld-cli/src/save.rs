//! `--save-dir`: a folder that holds a link, so that it can be repeated elsewhere.
//!
//! ```text
//! repeat.sh        repeats the link; CUWELD names the program
//! options.txt      the command line, as a response file
//! about.txt        what was linked, where, and by which version
//! inputs/          copies of all inputs, and of other files that the link reads
//! outputs/         where repeat.sh puts what the link makes
//! ```
//!
//! The folder must be new or empty, and nothing is written outside of it: names of copies have no folders in them. Thin archives
//! become ordinary ones, since their members may be anywhere.

use crate::bytes::Bytes;
use crate::inputs::{Files, Given};
use crate::options::{self, InputItem, LinkArguments, Members, Repeated};
use crate::request::{COMPATIBILITY_VARIABLES, RELEASE_VARIABLE};
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld_toolkit::Search;
use fatbin::Kind;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Which step of a build is saved.
pub enum Step<'words> {
    /// A link.
    Link,
    /// A whole device link, with words that say what it makes, and for which GPUs.
    DeviceLink(&'words [OsString]),
}

impl Step<'_> {
    /// How the program is called with an options file.
    fn call(&self) -> &'static str {
        match self {
            Step::Link => "@options.txt",
            Step::DeviceLink(_) => "dlink --options-file=options.txt",
        }
    }
}

/// Saves a link, whose inputs were read.
pub fn save(
    folder: &Path,
    step: &Step<'_>,
    arguments: &LinkArguments,
    files: &Files<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let saved = begin(folder).and_then(|()| Saved::default().write(folder, step, arguments, files));
    saved.map_err(|error| {
        let (file, cause) = (folder.to_string_lossy().into_owned(), error.to_string());
        report.add(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause));
        Failure::Fatal
    })
}

/// Makes the folder. What someone else put there is neither overwritten nor mixed with what is saved.
fn begin(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    match fs::read_dir(folder)?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty")),
    }
}

/// What was saved so far.
#[derive(Default)]
struct Saved {
    /// How many files of each name there are.
    names: HashMap<String, usize>,
    /// The words of the command line.
    words: Vec<OsString>,
    /// Where each copy comes from.
    origins: String,
}

impl Saved {
    fn write(mut self, folder: &Path, step: &Step<'_>, arguments: &LinkArguments, files: &Files<'_>) -> io::Result<()> {
        fs::create_dir(folder.join("outputs"))?;
        if let Step::DeviceLink(words) = step {
            self.words.extend_from_slice(words);
        }
        for repeated in &arguments.repeated {
            let (option, place) = match repeated {
                // The device link says it in words of its own.
                Repeated::Word(word) if matches!(step, Step::DeviceLink(_)) && is_architecture(word) => continue,
                Repeated::Word(word) => {
                    self.words.push(word.clone());
                    continue;
                }
                Repeated::Writes { option, path } => (option, self.place("outputs", path)),
                // A file that is not there is missed when the link is repeated, too.
                Repeated::Reads { option, path } => (option, self.copy(folder, path, &Bytes::copy_of(path).unwrap_or_default())?),
            };
            fs::create_dir_all(folder.join(&place).parent().unwrap_or(folder))?;
            self.words.push(format!("{option}={place}").into());
        }
        let mut brackets = Brackets::default();
        for (item, given) in files.given(arguments) {
            self.words.extend(brackets.change(item));
            let place = match given {
                Given::File { path, bytes } => self.copy(folder, path, bytes)?,
                Given::ThinArchive { path, mut members } => {
                    // An archive from someone else may name any file of this machine. Those that no link takes stay here.
                    members.retain(|(_, bytes)| may_have_device_code(bytes));
                    self.copy(folder, path, &archive(&members))?
                }
            };
            self.words.push(place.into());
        }
        self.words.extend(brackets.close());
        create(&folder.join("options.txt"), &response_file(&self.words))?;
        create(&folder.join("about.txt"), self.about(arguments).as_bytes())?;
        let script = folder.join("repeat.sh");
        create(&script, repeat_script(step, arguments).as_bytes())?;
        make_executable(&script)
    }

    /// The place for a file of this name: in a folder of its own if there is one of that name already.
    fn place(&mut self, folder: &str, path: &Path) -> String {
        let name = plain_name(path);
        // Some file systems do not tell letters of different case apart.
        let count = self.names.entry(format!("{folder}/{}", name.to_lowercase())).or_default();
        *count += 1;
        match *count {
            1 => format!("{folder}/{name}"),
            count => format!("{folder}.{count}/{name}"),
        }
    }

    fn copy(&mut self, folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<String> {
        let place = self.place("inputs", path);
        let copy = folder.join(&place);
        fs::create_dir_all(copy.parent().unwrap_or(folder))?;
        create(&copy, bytes)?;
        let origin = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // Nothing can go wrong in writing to a string.
        _ = writeln!(self.origins, "  {place}  {} bytes  {}", bytes.len(), origin.display());
        Ok(place)
    }

    fn about(&self, arguments: &LinkArguments) -> String {
        let words: Vec<String> = crate::start::arguments().map(|word| shell_word(&word)).collect();
        let place = std::env::current_dir().map_or_else(|error| error.to_string(), |place| place.display().to_string());
        let compile = &arguments.compile;
        let search = Search { folder: compile.toolkit.clone(), nvvm_folder: compile.nvvm_path.clone(), not_this: None };
        let toolkit = match search.places().iter().find(|place| place.folder.join("bin/ptxas").is_file()) {
            Some(place) => format!("{place}; only PTX and link-time optimization need it"),
            None => "none was found".to_owned(),
        };
        format!(
            "{}\non {} {}\n\ncalled as\n  {}\nin\n  {place}\ntoolkit\n  {toolkit}\n\ninputs\n{}",
            options::version(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            words.join(" "),
            self.origins
        )
    }
}

/// Which options that hold for the inputs after them are in force.
#[derive(Default)]
struct Brackets {
    only_needed: bool,
    group: Option<usize>,
}

impl Brackets {
    /// The words that make an input count as it did.
    fn change(&mut self, item: &InputItem) -> Vec<OsString> {
        let mut words = Vec::new();
        if self.group != item.group {
            words.extend(self.close());
            words.extend(item.group.map(|_| OsString::from("--start-lib")));
            self.group = item.group;
        }
        let only_needed = item.members == Members::Needed;
        if self.only_needed != only_needed {
            words.push(if only_needed { "--no-whole-archive" } else { "--whole-archive" }.into());
            self.only_needed = only_needed;
        }
        words
    }

    fn close(&mut self) -> Option<OsString> {
        self.group.take().map(|_| OsString::from("--end-lib"))
    }
}

/// Creates a file that is not there. Nothing is overwritten, and no link followed.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).create_new(true).open(path)?.write_all(bytes)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a word says which GPU a link is for.
fn is_architecture(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-arch=")
}

/// The last part of a path, with only such characters as no shell or options file treats in its own way.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    // A name with a dash in front would be an option.
    if plain.is_empty() || plain.starts_with('-') { format!("_{plain}") } else { plain }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._-+=:/,%".contains(character)
}

/// A response file: one word per line, quoted where it has to be. Without such words, the reference linker reads it, too (`-optf`).
fn response_file(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        for &byte in word.as_encoded_bytes() {
            if !is_plain(char::from(byte)) {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'\n');
    }
    text
}

/// A word for a shell.
fn shell_word(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The script that repeats the link. The note of the result tells of the original command line.
fn repeat_script(step: &Step<'_>, arguments: &LinkArguments) -> String {
    let note = &arguments.note;
    let options = match step {
        Step::Link => Some(note.other_options.as_deref().unwrap_or(&note.options)),
        // Each GPU has another.
        Step::DeviceLink(_) => note.other_options.as_deref(),
    };
    let options = options.map(|options| format!(" --note-options={}", shell_word(options.as_ref()))).unwrap_or_default();
    let compat = COMPATIBILITY_VARIABLES.iter().find_map(|name| std::env::var(name).ok()).filter(|_| arguments.compat.is_none());
    let mut variables = compat.map(|tool| format!(" CUWELD_COMPAT={}", shell_word(tool.as_ref()))).unwrap_or_default();
    if let Ok(release) = std::env::var(RELEASE_VARIABLE) {
        variables.push_str(&format!(" {RELEASE_VARIABLE}={}", shell_word(release.as_ref())));
    }
    format!(
        "#!/bin/sh\n# Repeats a link that cuweld {} saved. CUWELD is the program to do it.\ncd \"$(dirname \"$0\")\" || exit\n\
         exec env{variables} \"${{CUWELD:-cuweld}}\" {}{options} \"$@\"\n",
        env!("CARGO_PKG_VERSION"),
        step.call(),
    )
}

/// Whether a file is one that a device link takes.
fn may_have_device_code(bytes: &[u8]) -> bool {
    match fatbin::identify(bytes) {
        Kind::Empty | Kind::Unknown | Kind::ThinArchive | Kind::Bitcode => false,
        Kind::HostElf(_) | Kind::Coff(_) => fatbin::HostObject::parse(bytes)
            .is_ok_and(|object| !object.relocatable_code.is_empty() || !object.linked_code.is_empty()),
        _ => true,
    }
}

/// An ordinary archive with these members. Names are in a table, as they may be long.
fn archive(members: &[(String, &[u8])]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut contents = Vec::new();
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    let add = |into: &mut Vec<u8>, name: &str, bytes: &[u8]| {
        into.extend_from_slice(header(name, bytes.len()).as_bytes());
        into.extend_from_slice(bytes);
        into.extend_from_slice(if bytes.len() % 2 == 1 { b"\n" } else { b"" });
    };
    for (name, bytes) in members {
        add(&mut contents, &format!("/{}", names.len()), bytes);
        names.extend_from_slice(name.as_bytes());
        names.extend_from_slice(b"/\n");
    }
    let mut archive = fatbin::archive::MAGIC.to_vec();
    add(&mut archive, "//", &names);
    archive.extend(contents);
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        for (path, expected) in [("a/b.o", "b.o"), ("..", "_"), ("/", "_"), ("-r", "_-r"), ("x y$'.a", "x_y__.a"), ("é.o", "_.o")]
        {
            assert_eq!(plain_name(Path::new(path)), expected, "{path}");
        }
        let mut saved = Saved::default();
        let mut place = |path: &str| saved.place("inputs", Path::new(path));
        assert_eq!([place("x/a"), place("y/a"), place("z/A")], ["inputs/a", "inputs.2/a", "inputs.3/A"]);
    }

    #[test]
    fn archives_have_their_members() {
        let members = [("one.o".to_owned(), &b"abc"[..]), ("a rather long name:with parts.o".to_owned(), &b"defg"[..])];
        let bytes = archive(&members);
        let read: Vec<_> =
            fatbin::Archive::parse(&bytes).expect("an archive").members().map(|member| member.expect("a member")).collect();
        let found: Vec<_> = read
            .iter()
            .map(|member| match member.contents {
                fatbin::archive::Contents::Inside(bytes) => (member.display_name().into_owned(), bytes),
                _ => panic!("it is not inside"),
            })
            .collect();
        assert_eq!(found, members);
    }
}
