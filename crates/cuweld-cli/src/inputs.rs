//! The files of a link: found, read, and the members of thin archives with them.

use crate::heap;
use crate::options::{InputItem, InputSource, LinkArguments, Members};
use cuweld::Demand;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld::inputs::RawInput;
use fatbin::archive::{self, Contents, MAX_DEPTH};
use fatbin::{Archive, Kind, identify};
use memmap2::Mmap;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The name of the device runtime library, which is linked only if it is needed.
const RUNTIME_LIBRARY: &str = "libcudadevrt";

/// Everything that was read.
#[derive(Default)]
pub struct Files {
    files: Vec<File>,
    /// Libraries that were found nowhere.
    pub not_found: Vec<String>,
}

struct File {
    name: String,
    path: PathBuf,
    bytes: Bytes,
    member: bool,
    demand: Demand,
}

impl Files {
    /// How many bytes they have together.
    pub fn size(&self) -> usize {
        self.files.iter().map(|file| file.bytes.as_ref().len()).sum()
    }

    /// What the library takes.
    pub fn raw_inputs(&self) -> Vec<RawInput<'_>> {
        self.files.iter().map(File::raw_input).collect()
    }
}

impl File {
    fn raw_input(&self) -> RawInput<'_> {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        RawInput {
            name: self.name.clone(),
            path: path.to_string_lossy().into_owned(),
            bytes: self.bytes.as_ref(),
            member: self.member,
            demand: self.demand,
        }
    }
}

/// Reads the inputs of a link, in link order.
pub fn read(arguments: &LinkArguments, report: &mut Report) -> Result<Files, Failure> {
    let many_files = arguments.inputs.len() >= heap::MANY_FILES;
    if many_files {
        heap::expect_much();
    }
    let mut files = Files::default();
    let mut archives = HashSet::new();
    for item in arguments.inputs_in_link_order() {
        let Some((path, bytes)) = find(item, arguments, report)? else {
            files.not_found.push(shown(&item.source));
            continue;
        };
        let kind = identify(bytes.as_ref());
        // An archive that was given twice is read once; an object that was given twice is a mistake that the link reports.
        if matches!(kind, Kind::Archive | Kind::ThinArchive)
            && !archives.insert(std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone()))
        {
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        let file = File { name, demand: demand(item, &path, arguments), path, bytes, member: false };
        match kind {
            Kind::ThinArchive => add_members(&file, 0, &mut files, report)?,
            _ => files.files.push(file),
        }
    }
    if !many_files && files.size() >= heap::WORTH_HUGE_PAGES {
        heap::expect_much();
    }
    Ok(files)
}

/// Whether an input takes part in any case.
fn demand(item: &InputItem, path: &Path, arguments: &LinkArguments) -> Demand {
    let is_runtime = path.file_stem().is_some_and(|stem| stem == RUNTIME_LIBRARY);
    if is_runtime && !arguments.roots.keep_system_libraries {
        Demand::Runtime
    } else if item.members == Members::Needed || item.group.is_some() {
        Demand::Definition
    } else {
        Demand::Always
    }
}

/// Finds and reads an input. A library that is nowhere is no error: compilers pass the host's libraries on, too.
fn find(item: &InputItem, arguments: &LinkArguments, report: &mut Report) -> Result<Option<(PathBuf, Bytes)>, Failure> {
    let file_name = match &item.source {
        InputSource::File(path) => {
            return match read_file(path) {
                Ok(bytes) => Ok(Some((path.clone(), bytes))),
                Err(error) => unreadable(path.to_string_lossy().into_owned(), &error, report),
            };
        }
        InputSource::Library(name) => {
            let mut file_name = OsString::from("lib");
            file_name.push(name);
            file_name.push(".a");
            file_name
        }
        InputSource::LibraryFile(name) => name.clone(),
    };
    let candidates = arguments.library_paths.iter().map(|folder| folder.join(&file_name));
    Ok(candidates.filter_map(|path| read_file(&path).ok().map(|bytes| (path, bytes))).next())
}

fn shown(source: &InputSource) -> String {
    match source {
        InputSource::File(path) => path.to_string_lossy().into_owned(),
        InputSource::Library(name) => format!("-l{}", name.to_string_lossy()),
        InputSource::LibraryFile(name) => format!("-l:{}", name.to_string_lossy()),
    }
}

fn unreadable<T>(file: String, error: &io::Error, report: &mut Report) -> Result<T, Failure> {
    let cause = error.to_string();
    report.add(Diagnostic::new(Message::CannotOpenInput { file, cause: cause.clone() }).also(cause));
    Err(Failure::Fatal)
}

/// The members of a thin archive, which are files beside it.
fn add_members(archive: &File, depth: u8, files: &mut Files, report: &mut Report) -> Result<(), Failure> {
    let damaged = |error: fatbin::Error, report: &mut Report| {
        report.fatal(Message::BadContainer { file: archive.name.clone(), problem: error.to_string() })
    };
    let members: Result<Vec<archive::Member<'_>>, _> =
        Archive::parse(archive.bytes.as_ref()).and_then(|archive| archive.members().collect());
    let members = match members {
        Ok(members) => members,
        Err(error) => return damaged(error, report),
    };
    let folder = archive.path.parent().unwrap_or(Path::new(""));
    for member in members {
        let path = folder.join(member_path(member.name));
        let name = format!("{}:{}", archive.name, member.display_name());
        let bytes = match read_file(&path) {
            Ok(bytes) => bytes,
            Err(error) => return unreadable(name, &error, report),
        };
        let bytes = match member.contents {
            Contents::Inside(_) | Contents::File { .. } => bytes,
            Contents::NestedMember { offset, .. } => {
                let nested = Archive::parse(bytes.as_ref()).and_then(|nested| nested.member_at(offset));
                match nested.map(|member| member.contents) {
                    Ok(Contents::Inside(contents)) => Bytes::Read(contents.to_vec()),
                    Ok(_) => bytes,
                    Err(error) => return damaged(error, report),
                }
            }
        };
        let file = File { name, path, bytes, member: true, demand: archive.demand };
        match identify(file.bytes.as_ref()) {
            Kind::ThinArchive if depth < MAX_DEPTH => add_members(&file, depth + 1, files, report)?,
            _ => files.files.push(file),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn member_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn member_path(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// The bytes of an input.
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

/// Below this, reading is faster than mapping.
const WORTH_MAPPING: u64 = 64 << 10;

#[allow(unsafe_code, reason = "the one memory map of the program")]
fn read_file(path: &Path) -> io::Result<Bytes> {
    let mut file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() < WORTH_MAPPING {
        // One byte more than the file has, so that its end is found without asking for room again.
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        file.read_to_end(&mut bytes)?;
        return Ok(Bytes::Read(bytes));
    }
    // SAFETY: the map is read-only. A file that someone else changes meanwhile can change the result or end the
    // program, as with every linker that maps its inputs; it can not make safe code misbehave otherwise, because no
    // invariant is kept about these bytes beyond a check.
    unsafe { Mmap::map(&file) }.map(Bytes::Mapped)
}
