//! The destination that the name of an output stands for.

use crate::bytes::Identity;
use crate::streams;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The name of standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// So many links lead to others before there is no end to be expected.
const MOST_LINKS: u32 = 40;

/// Folders can be deeper than the system takes names (4096 bytes, of which some are for the file). In these only relative names work.
const LONGEST_FOLDER: usize = 3800;

/// What an output's name stands for.
pub enum Destination {
    /// A file that is open already. It is written to from where it is: there may be something in it, and more may come.
    Open(File),
    /// Something that is opened by the name it was given, and keeps what it is.
    InPlace,
    /// A file with a name of its own, or none yet.
    Replace(Target),
}

/// Where a file is to be, and what the old one there is like.
#[derive(Clone)]
pub struct Target {
    /// Its name, with all links followed.
    pub place: PathBuf,
    /// The old one.
    pub old: Option<Metadata>,
}

impl Target {
    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        folder_of(&self.place)
    }
}

impl Destination {
    /// Looks a name up.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new(STANDARD_OUTPUT) {
            return streams::open(1).map(Destination::Open);
        }
        if is_device(path) {
            return Ok(Destination::InPlace);
        }
        let found = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = match follow(path)? {
            // Others than those that every program has are opened once more, by the names that the system gives them.
            Followed::Stream(number @ 1..=2) => return streams::open(number).map(Destination::Open),
            Followed::Stream(_) => return Ok(Destination::InPlace),
            Followed::Name(place) => place,
        };
        let there = fs::symlink_metadata(&place).ok();
        Ok(match (found, there) {
            // What only a folder can be called, and what has no name, is opened, which fails.
            (None, None) if !names_a_folder(path) && !path.as_os_str().is_empty() => {
                Destination::Replace(Target { place, old: None })
            }
            (Some(found), Some(there)) if is_alone(&found) && Identity::of(&found) == Identity::of(&there) => {
                Destination::Replace(Target { place, old: Some(found) })
            }
            _ => Destination::InPlace,
        })
    }
}

/// Whether a name is a device on Windows, where it is one in every folder and with any extension.
fn is_device(path: &Path) -> bool {
    const DEVICES: [&str; 4] = ["NUL", "CON", "PRN", "AUX"];
    let name = path.file_stem().unwrap_or_default();
    cfg!(windows) && DEVICES.iter().any(|device| name.eq_ignore_ascii_case(device))
}

/// What links lead to.
enum Followed {
    /// An open file of this program.
    Stream(u32),
    /// A name that is no link.
    Name(PathBuf),
}

/// Follows links as the system does, to the last name, whether or not there is a file of that name.
fn follow(path: &Path) -> io::Result<Followed> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let folder = folder_of(&place);
        let from_root = fs::canonicalize(folder).ok().filter(|folder| folder.as_os_str().len() < LONGEST_FOLDER);
        let folder = from_root.unwrap_or_else(|| folder.to_path_buf());
        let Some(name) = place.file_name() else { return Ok(Followed::Name(place)) };
        let file = folder.join(name);
        if let Some(number) = streams::number(&folder, name) {
            return Ok(Followed::Stream(number));
        }
        match fs::read_link(&file) {
            Ok(target) => place = folder.join(target),
            Err(_) => return Ok(streams::number_of_missing(&file).map_or(Followed::Name(file), Followed::Stream)),
        }
    }
    Err(io::Error::other("too many links lead to each other"))
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn names_a_folder(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    text.ends_with(b"/") || text.ends_with(b"/.")
}

/// Whether it is a regular file that goes by one name.
#[cfg(unix)]
fn is_alone(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_file() && found.nlink() == 1
}

#[cfg(not(unix))]
fn is_alone(found: &Metadata) -> bool {
    found.is_file()
}
