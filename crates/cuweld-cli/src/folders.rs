//! Search folders of libraries.
//!
//! Each library is asked for in each folder. Where that is a great many questions, every folder is listed once instead.

use crate::options::{InputItem, InputSource, LinkArguments, System};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// So many questions cost no more than the folders' lists.
const FEW: usize = 4096;

/// The folders of a command line, in their order.
pub struct Folders<'arguments> {
    paths: &'arguments [PathBuf],
    listed: Option<Listed>,
}

/// What is in the folders of the files that are looked for.
#[derive(Default)]
struct Listed {
    /// The folders that have a file of a name, in their order.
    by_name: HashMap<OsString, Vec<usize>>,
    /// Folders that can not be listed.
    unknown: Vec<usize>,
}

impl<'arguments> Folders<'arguments> {
    /// Those that are named, listed if there is much to look for.
    pub fn of(arguments: &'arguments LinkArguments) -> Self {
        let paths = &arguments.library_paths;
        let names = || arguments.inputs.iter().flat_map(file_names);
        let is_few = names().count().saturating_mul(paths.len()) <= FEW;
        let listed = (!is_few).then(|| Listed::of(paths, names().filter_map(|name| key(&name)).collect()));
        Folders { paths, listed }
    }

    /// The folders that may have one of some files, in their order. One that was listed counts once, however often it is named.
    pub fn with(&self, names: &[OsString]) -> Vec<&'arguments Path> {
        let keys: Option<Vec<OsString>> = names.iter().map(|name| key(name)).collect();
        let (Some(listed), Some(keys)) = (&self.listed, keys) else {
            return self.paths.iter().map(PathBuf::as_path).collect();
        };
        let known = keys.iter().filter_map(|key| listed.by_name.get(key)).flatten();
        let mut numbers: Vec<usize> = known.chain(&listed.unknown).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|number| self.paths.get(number)).map(PathBuf::as_path).collect()
    }
}

impl Listed {
    fn of(paths: &[PathBuf], wanted: HashSet<OsString>) -> Self {
        let (mut listed, mut seen) = (Listed::default(), HashSet::new());
        for (number, path) in paths.iter().enumerate().filter(|(_, path)| seen.insert(path.as_path())) {
            // No path is the current folder.
            let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            match fs::read_dir(folder) {
                Ok(entries) => {
                    let names = entries.flatten().filter_map(|entry| key(&entry.file_name()));
                    for name in names.filter(|name| wanted.contains(name)) {
                        listed.by_name.entry(name).or_default().push(number);
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(_) => listed.unknown.push(number),
            }
        }
        listed
    }
}

/// The names of the files that an input may be, if it is a library that is looked for.
pub fn file_names(item: &InputItem) -> Vec<OsString> {
    match &item.source {
        InputSource::File(_) => Vec::new(),
        InputSource::Library(name) => System::NATIVE.library_files(name),
        InputSource::LibraryFile(name) => vec![name.clone()],
    }
}

/// A file's name as it is compared: some folders take letters of either case for the same. None if a list may not tell.
fn key(name: &OsStr) -> Option<OsString> {
    let is_plain = name.is_ascii() && Path::new(name).file_name() == Some(name);
    is_plain.then(|| name.to_ascii_lowercase())
}
