//! A cache of compiled code.
//!
//! A cache is a folder of entries, each named after the hash of everything that its contents depend on: the code, the compiler's
//! arguments, and the compiler itself, by its bytes. An entry begins with the hash of the rest; one that does not fit is not there.
//! Entries are written under another name and renamed, so that many processes may use a folder at once. A use renews an entry's time;
//! when the folder grows beyond its limit, the entries that were not used for the longest time go.

use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most bytes that a cache takes unless something else is said.
const LIMIT: u64 = 2 << 30;

/// How full a cache is left when entries had to go, so that not every link has to look again.
const LEFT_FULL: f64 = 0.9;

/// Part of every key: what is stored, and how. Raise it when either changes.
const FORMAT: &[u8] = b"cuweld cache 1";

/// How the names of entries begin that are being written.
const UNFINISHED: &str = ".new-";

/// The size of a hash.
const HASH: usize = 32;

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// What a cached result depends on.
pub(crate) struct Key(Sha256);

impl Key {
    /// A key for results of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        let mut key = Key(Sha256::new_with_prefix(FORMAT));
        key.add(kind.as_bytes());
        key
    }

    /// Adds something that results depend on. Its length is part of it, so that no two lists of things are the same key.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn name(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

impl Cache {
    /// A cache in this folder, which is made when it is needed.
    #[must_use]
    pub fn new(folder: PathBuf, limit: Option<u64>) -> Self {
        Cache { folder, limit: limit.unwrap_or(LIMIT) }
    }

    /// The folder that the system has for what a user's programs keep, if it says so.
    #[must_use]
    pub fn usual_folder() -> Option<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
        let caches = match std::env::consts::OS {
            "windows" => variable("LOCALAPPDATA"),
            "macos" => variable("HOME").map(|home| home.join("Library/Caches")),
            _ => variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache"))),
        };
        caches.map(|folder| folder.join("cuweld"))
    }

    /// What is stored under `key`: as many parts as were stored.
    pub(crate) fn get(&self, key: Key) -> Result<Vec<Vec<u8>>, Missing<'_>> {
        let path = self.path(&key.name());
        // Anything but a file might keep a reader waiting.
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let parts = is_file.then(|| fs::read(&path).ok()).flatten().and_then(|entry| parts(&entry));
        match parts {
            Some(parts) => {
                // Whether the time can be renewed decides over nothing but what goes first.
                _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Ok(parts)
            }
            None => Err(Missing { cache: self, path }),
        }
    }

    /// What a file is, by its contents. They are read once for each change of the file: compilers are large.
    pub(crate) fn identity(&self, file: &Path) -> io::Result<Vec<u8>> {
        let path = fs::canonicalize(file)?;
        let metadata = fs::metadata(&path)?;
        let changed = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut key = Key::new("identity");
        key.add(path.as_os_str().as_encoded_bytes());
        key.add(&metadata.len().to_le_bytes());
        key.add(&changed.as_nanos().to_le_bytes());
        match self.get(key) {
            Ok(parts) => Ok(parts.concat()),
            Err(missing) => {
                let mut hash = Sha256::new();
                let mut file = File::open(&path)?;
                let mut buffer = vec![0; 1 << 20];
                loop {
                    match file.read(&mut buffer)? {
                        0 => break,
                        size => hash.update(buffer.get(..size).unwrap_or_default()),
                    }
                }
                let identity = hash.finalize().to_vec();
                missing.store(&[&identity]);
                Ok(identity)
            }
        }
    }

    /// The folder of an entry has few others: some file systems are slow in large ones.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name.get(..2).unwrap_or_default()).join(name)
    }

    /// Removes entries that were not used for the longest time, if there are too many. Also what processes that were killed left.
    /// Whatever else is in the folder stays: it may have been named by mistake.
    pub fn trim(&self) {
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten().filter(is_folder);
        let files = folders.flat_map(|folder| {
            fs::read_dir(folder.path())
                .into_iter()
                .flatten()
                .flatten()
                .filter(move |file| is_own(&folder.file_name(), &file.file_name()))
        });
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = files
            .filter_map(|file| {
                let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), file.path()))
            })
            .collect();
        let mut size: u64 = entries.iter().map(|entry| entry.1).sum();
        if size <= self.limit {
            return;
        }
        let enough = (self.limit as f64 * LEFT_FULL) as u64;
        entries.sort();
        for (_, bytes, path) in entries {
            if size <= enough {
                break;
            }
            // Another process may have removed it.
            _ = fs::remove_file(path);
            size -= bytes;
        }
    }
}

/// Whether a file of this name, in a folder of the cache of that name, is an entry, or one that is being written.
fn is_own(folder: &OsStr, file: &OsStr) -> bool {
    let is_hexadecimal = |name: &str| name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (Some(folder), Some(file)) = (folder.to_str(), file.to_str()) else { return false };
    let is_entry = file.len() == 2 * HASH && is_hexadecimal(file) && file.starts_with(folder);
    folder.len() == 2 && is_hexadecimal(folder) && (is_entry || file.starts_with(UNFINISHED))
}

/// An entry that is not there.
pub(crate) struct Missing<'cache> {
    cache: &'cache Cache,
    path: PathBuf,
}

impl Missing<'_> {
    /// Stores what was found out meanwhile. A cache that can not be written is none.
    pub(crate) fn store(self, parts: &[&[u8]]) {
        _ = self.try_store(parts);
    }

    fn try_store(&self, parts: &[&[u8]]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.cache.folder);
        // Code that others could change would be run as the user's own.
        private_folders(folder)?;
        let mut contents = Vec::new();
        for part in parts {
            contents.extend((part.len() as u64).to_le_bytes());
            contents.extend(*part);
        }
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(&Sha256::digest(&contents))?;
        file.write_all(&contents)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(unix)]
fn private_folders(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folders(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// The parts of an entry, if it is whole.
fn parts(entry: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (hash, mut contents) = entry.split_at_checked(HASH)?;
    if Sha256::digest(contents).as_slice() != hash {
        return None;
    }
    let mut parts = Vec::new();
    while !contents.is_empty() {
        let (size, rest) = contents.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
        parts.push(part.to_vec());
        contents = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(text: &str) -> Key {
        let mut key = Key::new("test");
        key.add(text.as_bytes());
        key
    }

    fn store(cache: &Cache, name: &str, parts: &[&[u8]]) {
        match cache.get(key(name)) {
            Ok(_) => panic!("'{name}' is there already"),
            Err(missing) => missing.store(parts),
        }
    }

    #[test]
    fn what_is_stored_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().join("new"), None);
        store(&cache, "a", &[b"image", b"", b"said"]);
        assert_eq!(cache.get(key("a")).ok(), Some(vec![b"image".to_vec(), Vec::new(), b"said".to_vec()]));
        assert!(cache.get(key("b")).is_err());
    }

    #[test]
    fn lists_with_the_same_bytes_are_different_keys() {
        let name = |parts: &[&str]| {
            let mut key = Key::new("test");
            parts.iter().for_each(|part| key.add(part.as_bytes()));
            key.name()
        };
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["abc"]), name(&["abc", ""]));
    }

    #[test]
    fn a_damaged_entry_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().to_owned(), None);
        store(&cache, "a", &[b"image"]);
        let path = cache.path(&key("a").name());
        let whole = fs::read(&path).expect("the entry");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("a shorter entry");
            assert!(cache.get(key("a")).is_err(), "cut to {length} bytes");
        }
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            changed[index] ^= 0x40;
            fs::write(&path, changed).expect("a changed entry");
            assert!(cache.get(key("a")).is_err(), "changed at {index}");
        }
        store(&cache, "a", &[b"again"]);
        assert_eq!(cache.get(key("a")).ok(), Some(vec![b"again".to_vec()]));
    }

    #[test]
    fn entries_that_were_not_used_for_long_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().to_owned(), Some(2500));
        for (age, name) in [(30, "old"), (20, "middle"), (10, "new")] {
            store(&cache, name, &[&[0; 1000]]);
            let file = File::options().append(true).open(cache.path(&key(name).name())).expect("the entry");
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("its time");
        }
        assert!(cache.get(key("old")).is_ok(), "a use renews it");
        cache.trim();
        assert!(cache.get(key("old")).is_ok() && cache.get(key("new")).is_ok());
        assert!(cache.get(key("middle")).is_err());
    }

    #[test]
    fn what_is_no_entry_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().to_owned(), Some(10));
        let others = ["photos/first", "ab/notes", "ab/abc", "cd/../top"];
        for other in others {
            let path = folder.path().join(other);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, [0; 1000]).expect("a file");
        }
        store(&cache, "a", &[b"image"]);
        let unfinished = cache.path(&key("a").name()).with_file_name(".new-1");
        fs::write(&unfinished, [0; 1000]).expect("a file");
        cache.trim();
        assert!(others.iter().all(|other| folder.path().join(other).exists()));
        assert!(cache.get(key("a")).is_err() && !unfinished.exists());
    }

    #[test]
    fn a_compiler_is_what_its_bytes_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().join("cache"), None);
        let file = |name: &str, contents: &str| {
            let path = folder.path().join(name);
            fs::write(&path, contents).expect("a file");
            cache.identity(&path).expect("its identity")
        };
        let first = file("a", "compiler");
        assert_eq!(first, file("b", "compiler"), "wherever it is");
        assert_ne!(first, file("a", "another compiler"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_entry() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().to_path_buf(), None);
        let path = cache.path(&key("a").name());
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success() && cache.get(key("a")).is_err());
    }
}
