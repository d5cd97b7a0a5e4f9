//! The files of a link: found, read, and the members of thin archives with them.

use crate::bytes::{Bytes, Identity, Opened};
use crate::folders::{self, Folders};
use crate::libraries;
use crate::missing_file;
use crate::options::{InputItem, InputSource, LinkArguments, Members, System};
use crate::output;
use crate::resources::Workload;
use cuweld::Demand;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld::inputs::RawInput;
use fatbin::archive::{self, Contents, MAX_DEPTH};
use fatbin::{Archive, Kind, identify};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the device runtime library, which is linked only if it is needed.
pub const RUNTIME_LIBRARY: &str = "libcudadevrt";
/// Its name on Windows.
const RUNTIME_LIBRARY_ON_WINDOWS: &str = "cudadevrt";

/// Everything that was read.
#[derive(Default)]
pub struct Files<'arguments> {
    files: Vec<File<'arguments>>,
    /// Members of thin archives: a path, and a place in the archive there, or 0.
    members: HashSet<(PathBuf, u64)>,
    /// Thin archives, of which only the members are kept, by the names that messages use.
    thin_archives: Vec<(String, Identity)>,
    /// Libraries that were found nowhere.
    pub not_found: Vec<String>,
    /// Files that were passed over in the search for libraries.
    pub passed_over: Vec<Diagnostic>,
    /// Why an input could not be read; those after it were not tried.
    pub failure: Option<Diagnostic>,
}

/// A file. There may be a hundred thousand: what can be borrowed is, and what few of them have is in a box.
struct File<'arguments> {
    path: Cow<'arguments, Path>,
    bytes: Bytes,
    /// What they are.
    kind: Kind,
    demand: Demand,
    /// Which of the inputs, in link order, it is or belongs to.
    item: usize,
    /// For members of thin archives.
    member: Option<Box<Member>>,
}

/// What there is to know about a member of a thin archive.
struct Member {
    /// The name that messages use.
    name: String,
    /// Where the archive was found that is among the inputs.
    origin: PathBuf,
}

/// What an input of the command line turned out to be.
pub enum Given<'files> {
    /// A file.
    File {
        /// Where it was found.
        path: &'files Path,
        /// Its contents.
        bytes: &'files [u8],
    },
    /// A thin archive, with the members that it stands for.
    ThinArchive {
        /// Where it was found.
        path: &'files Path,
        /// Their names and contents.
        members: Vec<(String, &'files [u8])>,
    },
}

impl<'arguments> Files<'arguments> {
    /// How many bytes a link has to deal with. Bytes of containers count twice: what is in them is unpacked. What is seldom needed does not
    /// count.
    pub fn size(&self) -> usize {
        let likely = self.files.iter().filter(|file| file.demand != Demand::Runtime);
        let size = |file: &File<'_>| file.bytes.as_ref().len() * if matches!(file.kind, Kind::Cubin(_)) { 1 } else { 2 };
        likely.map(size).fold(0, usize::saturating_add)
    }

    /// The contents of each.
    pub fn bytes(&self) -> impl Iterator<Item = &Bytes> {
        self.files.iter().map(|file| &file.bytes)
    }

    /// What the library takes. What is to be registered by its path needs absolute ones.
    pub fn raw_inputs(&self, absolute: bool) -> Vec<RawInput<'_>> {
        let folder = absolute.then(std::env::current_dir).and_then(Result::ok);
        self.files.iter().map(|file| file.raw_input(folder.as_deref())).collect()
    }

    /// The inputs that were read, in link order, as the command line has them.
    pub fn given<'a>(&'a self, arguments: &'a LinkArguments) -> impl Iterator<Item = (&'a InputItem, Given<'a>)> {
        let items: Vec<&InputItem> = arguments.inputs_in_link_order().collect();
        self.files.chunk_by(|one, next| one.item == next.item).filter_map(move |files| {
            let first = files.first()?;
            let given = match &first.member {
                Some(member) => {
                    let path = member.origin.as_path();
                    let prefix = format!("{}:", path.to_string_lossy());
                    let member = |file: &'a File<'_>| {
                        let name = file.name();
                        (name.strip_prefix(&prefix).unwrap_or(&name).to_owned(), file.bytes.as_ref())
                    };
                    Given::ThinArchive { path, members: files.iter().map(member).collect() }
                }
                None => Given::File { path: &first.path, bytes: first.bytes.as_ref() },
            };
            Some((*items.get(first.item)?, given))
        })
    }

    /// Refuses outputs that would replace what they are made of, whatever names lead there.
    pub fn check_outputs(&self, arguments: &LinkArguments, report: &mut Report) -> Result<(), Failure> {
        let identity_of = |path: &Path| std::fs::metadata(path).ok().and_then(|found| Identity::of(&found));
        for output in arguments.outputs() {
            let Some(identity) = output::identity(output) else { continue };
            let file = self.files.iter().find(|file| file.bytes.identity == Some(identity)).map(|file| file.name().into_owned());
            let archive = || self.thin_archives.iter().find(|(_, opened)| *opened == identity).map(|(name, _)| name.clone());
            let beside = || arguments.side_inputs().find(|path| identity_of(path) == Some(identity)).map(shown_path);
            if let Some(input) = file.or_else(archive).or_else(beside) {
                return report.fatal(Message::OutputIsInput { file: shown_path(output), input });
            }
        }
        Ok(())
    }

    /// Refuses inputs that were changed since they were opened.
    pub fn check_unchanged(&self, report: &mut Report) -> Result<(), Failure> {
        match self.files.iter().find(|file| file.bytes.were_changed()) {
            Some(file) => report.fatal(Message::InputChanged { file: file.name().into_owned() }),
            None => Ok(()),
        }
    }
}

impl File<'_> {
    /// The name that messages use.
    fn name(&self) -> Cow<'_, str> {
        match &self.member {
            Some(member) => Cow::Borrowed(&member.name),
            None => self.path.to_string_lossy(),
        }
    }

    /// What the library takes, with a path that begins with a folder.
    fn raw_input(&self, folder: Option<&Path>) -> RawInput<'_> {
        let path = match folder.map(|folder| absolute(folder, &self.path)) {
            Some(Ok(path)) => Cow::Owned(path.to_string_lossy().into_owned()),
            _ => self.path.to_string_lossy(),
        };
        let (kind, member, demand) = (self.kind, self.member.is_some(), self.demand);
        RawInput { name: self.name(), path, bytes: self.bytes.as_ref(), kind, member, demand }
    }
}

/// A path as seen from the root, without what leads nowhere.
fn absolute(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    // Nearly all are words with a character in between.
    let mut words = path.as_os_str().as_encoded_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    let is_plain = cfg!(unix) && words.all(|word| !word.is_empty());
    let joined = folder.join(path);
    if is_plain { Ok(joined) } else { std::path::absolute(joined) }
}

/// Files that are open already, in link order.
#[derive(Default)]
pub struct Seen(Vec<Option<Opened>>);

/// Of so many files it is worth while to ask how large they are.
const FEW_FILES: usize = 64;
/// No object is smaller, by far.
const LEAST_OBJECT: usize = 1 << 10;

/// How much there is to be read, as far as that can be told. A few files are opened for it, since the system looks for each by its name
/// only once then.
pub fn expected(arguments: &LinkArguments) -> (Workload, Seen) {
    let files = arguments.inputs.len();
    let look = |item: &InputItem| match &item.source {
        InputSource::File(path) if !is_runtime(path) => match Opened::of(path) {
            // The system lets nobody open that many: each is opened when it is read.
            Err(error) if is_too_many(&error) => Err(()),
            opened => Ok(opened.ok()),
        },
        InputSource::File(_) | InputSource::Library(_) | InputSource::LibraryFile(_) => Ok(None),
    };
    let few = arguments.inputs_in_link_order().filter(|_| files < FEW_FILES);
    let seen = Seen(few.map(look).collect::<Result<_, ()>>().unwrap_or_default());
    let bytes = seen.0.iter().flatten().map(|found| found.size() as usize).fold(0, usize::saturating_add);
    let least = if files < FEW_FILES { 0 } else { files * LEAST_OBJECT };
    (Workload { bytes: bytes.max(least), files }, seen)
}

/// The system's number for having as many files open as a program may; none where there is no such limit.
#[cfg(unix)]
const TOO_MANY_OPEN: Option<i32> = Some(libc::EMFILE);
#[cfg(not(unix))]
const TOO_MANY_OPEN: Option<i32> = None;

/// Whether this program has as many files open as it may.
fn is_too_many(error: &io::Error) -> bool {
    TOO_MANY_OPEN.is_some() && error.raw_os_error() == TOO_MANY_OPEN
}

/// Whether a file is the device runtime, by its name.
pub fn is_runtime(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == RUNTIME_LIBRARY || stem == RUNTIME_LIBRARY_ON_WINDOWS)
}

/// Reads the inputs of a link, in link order. What there is to say about it is not said yet: the reference linker reads one input
/// after the other, so what it has to say about the contents of earlier ones comes first.
pub fn read<'arguments>(arguments: &'arguments LinkArguments, seen: &Seen, threads: usize) -> Files<'arguments> {
    let mut files = Files::default();
    files.failure = read_all(arguments, seen, threads, &mut files).err().map(|diagnostic| *diagnostic);
    files
}

fn read_all<'arguments>(
    arguments: &'arguments LinkArguments,
    seen: &Seen,
    threads: usize,
    files: &mut Files<'arguments>,
) -> Result<(), Box<Diagnostic>> {
    let items: Vec<&InputItem> = arguments.inputs_in_link_order().collect();
    let folders = Folders::of(arguments);
    let seen_at = |index: usize| seen.0.get(index).and_then(Option::as_ref);
    let find = |(index, item): (usize, &&'arguments InputItem)| find(item, seen_at(index), arguments, &folders);
    let found: Vec<_> = match threads {
        // Others may not have been started yet.
        1 => items.iter().enumerate().map(find).collect(),
        _ => items.par_iter().enumerate().map(find).collect(),
    };
    files.files.reserve_exact(found.len());
    let mut archives = HashSet::new();
    for (index, (item, found)) in items.into_iter().zip(found).enumerate() {
        let Found { file, passed_over } = found.map_err(|error| unreadable(shown(&item.source), &error))?;
        files.passed_over.extend(passed_over);
        let Some((path, bytes)) = file else {
            files.not_found.push(shown(&item.source));
            continue;
        };
        let kind = identify(bytes.as_ref());
        let is_archive = matches!(kind, Kind::Archive | Kind::ThinArchive);
        // An archive that was given twice is read once; an object that was given twice is a mistake that the link reports.
        if is_archive && !archives.insert(file_key(&path, &bytes)) {
            continue;
        }
        let demand = demand(item, &path, is_archive, arguments);
        let file = File { path, bytes, kind, demand, item: index, member: None };
        match kind {
            Kind::ThinArchive => add_members(&file, 0, files)?,
            _ => files.files.push(file),
        }
    }
    Ok(())
}

/// What is the same for all names of a file.
fn file_key(path: &Path, bytes: &Bytes) -> (Option<Identity>, PathBuf) {
    match bytes.identity {
        Some(identity) => (Some(identity), PathBuf::new()),
        None => (None, std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())),
    }
}

/// Whether an input takes part in any case.
fn demand(item: &InputItem, path: &Path, is_archive: bool, arguments: &LinkArguments) -> Demand {
    if is_runtime(path) && !arguments.roots.keep_system_libraries {
        Demand::Runtime
    } else if (is_archive && item.members == Members::Needed) || item.group.is_some() {
        Demand::Definition
    } else {
        Demand::Always
    }
}

/// What came of looking for an input.
struct Found<'arguments> {
    /// Where it is, and its contents.
    file: Option<(Cow<'arguments, Path>, Bytes)>,
    /// What there is to say about files that were found before.
    passed_over: Vec<Diagnostic>,
}

/// Finds and reads an input. A library that is nowhere is no error: compilers pass the host's libraries on, too.
fn find<'arguments>(
    item: &'arguments InputItem,
    seen: Option<&Opened>,
    arguments: &LinkArguments,
    folders: &Folders<'_>,
) -> io::Result<Found<'arguments>> {
    if let InputSource::File(path) = &item.source {
        let bytes = seen.map_or_else(|| Bytes::of(path), |seen| Bytes::of_opened_before(path, seen))?;
        return Ok(Found { file: Some((Cow::Borrowed(path), bytes)), passed_over: Vec::new() });
    }
    let file_names = folders::file_names(item);
    let cpu = libraries::Processor::named(arguments.cpu.as_deref());
    let mut passed_over = Vec::new();
    let places = |folder| file_names.iter().map(move |file| System::NATIVE.library_path(folder, file));
    for path in folders.with(&file_names).into_iter().flat_map(places) {
        let Ok(bytes) = Bytes::of(&path) else { continue };
        if libraries::is_compatible(bytes.as_ref(), cpu) {
            return Ok(Found { file: Some((Cow::Owned(path), bytes)), passed_over });
        }
        passed_over.push(libraries::incompatible(&path, &shown(&item.source), cpu));
    }
    Ok(Found { file: None, passed_over })
}

fn shown_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn shown(source: &InputSource) -> String {
    match source {
        InputSource::File(path) => shown_path(path),
        InputSource::Library(name) => format!("-l{}", name.to_string_lossy()),
        InputSource::LibraryFile(name) => format!("-l:{}", name.to_string_lossy()),
    }
}

fn unreadable(file: String, error: &io::Error) -> Box<Diagnostic> {
    let cause = error.to_string();
    let hint = missing_file::hint(Path::new(&file));
    let mut diagnostic = Diagnostic::new(Message::CannotOpenInput { file, cause: cause.clone() }).also(cause);
    diagnostic.hint = hint;
    Box::new(diagnostic)
}

/// The members of a thin archive, which are files beside it.
fn add_members(archive: &File<'_>, depth: u8, files: &mut Files<'_>) -> Result<(), Box<Diagnostic>> {
    files.thin_archives.extend(archive.bytes.identity.map(|identity| (archive.name().into_owned(), identity)));
    let damaged_with =
        |problem: String| Box::new(Diagnostic::new(Message::BadContainer { file: archive.name().into_owned(), problem }));
    let damaged = |error: fatbin::Error| damaged_with(error.to_string());
    let members: Result<Vec<archive::Member<'_>>, _> =
        Archive::parse(archive.bytes.as_ref()).and_then(|archive| archive.members().collect());
    let members = members.map_err(damaged)?;
    let folder = archive.path.parent().unwrap_or(Path::new(""));
    for member in members {
        let path = folder.join(member_path(member.name));
        let name = format!("{}:{}", archive.name(), member.display_name());
        // Each is taken once, and archives too: otherwise a few that name each other many times would stand for any number of files.
        let nested_offset = if let Contents::NestedMember { offset, .. } = member.contents { offset } else { 0 };
        if !files.members.insert((std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone()), nested_offset)) {
            continue;
        }
        let bytes = match std::fs::metadata(&path) {
            Ok(found) if !found.is_file() => {
                return Err(damaged_with(format!("the member '{}' is not a file", member.display_name())));
            }
            Ok(found) if found.len() == 0 => Bytes::nothing_of(&found),
            _ => Bytes::of(&path).map_err(|error| unreadable(name.clone(), &error))?,
        };
        let bytes = match member.contents {
            Contents::Inside(_) | Contents::File { .. } => bytes,
            Contents::NestedMember { offset, .. } => {
                let nested = Archive::parse(bytes.as_ref()).and_then(|nested| nested.member_at(offset));
                match nested.map(|member| member.contents) {
                    Ok(Contents::Inside(contents)) => bytes.part(contents),
                    Ok(_) => bytes,
                    Err(error) => return Err(damaged(error)),
                }
            }
        };
        let origin = archive.member.as_ref().map_or_else(|| archive.path.to_path_buf(), |nested| nested.origin.clone());
        let member = Some(Box::new(Member { name, origin }));
        let kind = identify(bytes.as_ref());
        let (path, demand, item) = (Cow::Owned(path), archive.demand, archive.item);
        let file = File { path, bytes, kind, demand, item, member };
        match kind {
            Kind::ThinArchive if depth < MAX_DEPTH => add_members(&file, depth + 1, files)?,
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
