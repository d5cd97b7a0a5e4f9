//! The bytes of an input file, read or mapped; and what becomes of a link whose inputs change meanwhile.
//!
//! A map is a view of a file, not a copy. When somebody writes to the file during the link, two things can happen. The linker
//! sees a mixture of old and new bytes: that is found out at the end, by the file's size and times. Or the file becomes shorter,
//! and the system answers a look at what is gone with a signal, SIGBUS: a handler says so and ends the program with an error.

#![allow(unsafe_code, reason = "maps files, and handles the signal that a map can cause")]

use cuweld::diagnostics::Renderer;
use memmap2::{Mmap, MmapOptions};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The bytes of a file.
pub struct Bytes {
    contents: Contents,
    /// The file that they are from.
    pub identity: Option<Identity>,
}

enum Contents {
    Mapped(Box<Mapped>),
    Read(Vec<u8>),
}

/// A map of a file, and what the file was like then.
struct Mapped {
    map: Mmap,
    path: PathBuf,
    then: State,
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match &self.contents {
            Contents::Mapped(mapped) => &mapped.map,
            Contents::Read(bytes) => bytes,
        }
    }
}

/// What changes when somebody writes to a file.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct State {
    size: u64,
    modified: Option<SystemTime>,
    /// When anything about it was changed last: programs that put back the other time can not put back this one.
    changed: (i64, i64),
    /// What else sets that: permissions, owners, names.
    others: (u32, u32, u32, u64),
}

impl State {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        State {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            others: (metadata.mode(), metadata.uid(), metadata.gid(), metadata.nlink()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        State { size: metadata.len(), modified: metadata.modified().ok(), changed: (0, 0), others: (0, 0, 0, 0) }
    }

    /// Whether the contents may be others by now.
    fn differs(&self, now: &Self) -> bool {
        let is_explained = self.others != now.others;
        (self.size, self.modified) != (now.size, now.modified) || (self.changed != now.changed && !is_explained)
    }
}

/// What tells a file from others, whatever name it goes by.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    /// The identity of a file; none where the system has none.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        metadata.is_file().then(|| Identity { device: metadata.dev(), number: metadata.ino() })
    }

    /// The identity of a file; none where the system has none.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> Option<Self> {
        None
    }
}

/// Below this, reading is faster than mapping.
const WORTH_MAPPING: u64 = 64 << 10;

/// The most that is read of what does not say how much it has.
const MOST_WITHOUT_SIZE: u64 = 1 << 30;

/// A file that is open, and what it was like then.
pub struct Opened {
    file: File,
    metadata: Metadata,
}

impl Opened {
    /// Opens a file.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Opened { file, metadata })
    }

    /// How many bytes it has, if that is known.
    pub fn size(&self) -> u64 {
        self.metadata.len()
    }
}

impl Bytes {
    /// Reads a file, or maps it if it is large.
    pub fn of(path: &Path) -> io::Result<Self> {
        Self::of_opened(path, &Opened::of(path)?)
    }

    /// The same for a file that was opened a while ago.
    pub fn of_opened_before(path: &Path, opened: &Opened) -> io::Result<Self> {
        Self::of_opened(path, opened).or_else(|error| match error.kind() {
            // Somebody may have been about to write it.
            io::ErrorKind::Other if opened.metadata.is_file() => Self::of(path),
            _ => Err(error),
        })
    }

    /// A copy of a file, which must have an end.
    pub fn copy_of(path: &Path) -> io::Result<Vec<u8>> {
        match Self::of(path)?.contents {
            Contents::Read(bytes) => Ok(bytes),
            Contents::Mapped(mapped) => Ok(mapped.map.to_vec()),
        }
    }

    fn of_opened(path: &Path, Opened { file, metadata }: &Opened) -> io::Result<Self> {
        let identity = Identity::of(metadata);
        if !metadata.is_file() || metadata.len() < WORTH_MAPPING {
            return Ok(Bytes { contents: Contents::Read(read(file, metadata)?), identity });
        }
        // SAFETY: the map is read-only. A file that someone else changes meanwhile can change what is read, but no invariant is kept
        // about these bytes beyond a check; if it becomes shorter, the handler below ends the program.
        let map = unsafe { MmapOptions::new().len(metadata.len() as usize).map(file) }?;
        shortened::watch(&map, path);
        let mapped = Mapped { map, path: path.to_owned(), then: State::of(metadata) };
        Ok(Bytes { contents: Contents::Mapped(Box::new(mapped)), identity })
    }

    /// A file of a size that is known to be nothing. There is more to be read in some that the system makes up, if one waits for it.
    pub fn nothing_of(known: &Metadata) -> Self {
        Bytes { contents: Contents::Read(Vec::new()), identity: Identity::of(known) }
    }

    /// Lets go of memory that holds what was looked at so far. What is looked at again is read again.
    pub fn forget(&self) {
        #[cfg(unix)]
        if let Contents::Mapped(mapped) = &self.contents {
            // SAFETY: nobody writes to the map, so there is nothing in it but what is in the file. If this fails, the memory stays.
            _ = unsafe { mapped.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// A copy of a part.
    pub fn part(&self, contents: &[u8]) -> Self {
        Bytes { contents: Contents::Read(contents.to_vec()), identity: self.identity }
    }

    /// Whether the file is mapped.
    pub fn is_mapped(&self) -> bool {
        matches!(self.contents, Contents::Mapped(_))
    }

    /// Opens the file once more that was mapped, if it is still there as it was.
    pub fn reopen(&self) -> Option<File> {
        let Contents::Mapped(mapped) = &self.contents else { return None };
        let file = File::open(&mapped.path).ok()?;
        let now = file.metadata().ok()?;
        let is_same =
            Identity::of(&now).is_some_and(|identity| self.identity == Some(identity)) && !mapped.then.differs(&State::of(&now));
        is_same.then_some(file)
    }

    /// Whether the file was changed since it was mapped. One that was replaced was not: the map is of the old one.
    pub fn were_changed(&self) -> bool {
        let Contents::Mapped(mapped) = &self.contents else { return false };
        let Ok(now) = std::fs::metadata(&mapped.path) else { return false };
        Identity::of(&now) == self.identity && mapped.then.differs(&State::of(&now))
    }
}

/// Reads a file whole.
fn read(file: &File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    if !metadata.is_file() || metadata.len() == 0 {
        return read_of_unknown_size(file);
    }
    let (bytes, now) = read_small(file, metadata.len() as usize)?;
    match bytes.len() as u64 == metadata.len() && !State::of(metadata).differs(&State::of(&now)) {
        true => Ok(bytes),
        false => Err(io::Error::other("it was changed while it was read")),
    }
}

/// Pipes and the like have no size, and devices no end.
fn read_of_unknown_size(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_WITHOUT_SIZE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= MOST_WITHOUT_SIZE {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it does not end within {} MiB", MOST_WITHOUT_SIZE >> 20))),
    }
}

/// Reads at most so many bytes of a regular file, and looks at it then.
fn read_small(file: &File, size: usize) -> io::Result<(Vec<u8>, Metadata)> {
    let mut bytes = Vec::with_capacity(size);
    fill(file, &mut bytes, size);
    // What is missing, if anything.
    file.take((size - bytes.len()) as u64).read_to_end(&mut bytes)?;
    Ok((bytes, file.metadata()?))
}

/// Reads so many bytes in one call, where that is possible: the standard library takes two, or clears the memory before.
#[cfg(unix)]
fn fill(file: &File, bytes: &mut Vec<u8>, size: usize) {
    use std::os::fd::AsRawFd;
    let Some(room) = bytes.spare_capacity_mut().get_mut(..size) else { return };
    // SAFETY: the system writes to no more bytes than there is room for, and says to how many.
    unsafe {
        let count = libc::read(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len());
        bytes.set_len(bytes.len() + usize::try_from(count).unwrap_or(0));
    }
}

#[cfg(not(unix))]
fn fill(_: &File, _: &mut Vec<u8>, _: usize) {}

/// Says how a file that becomes shorter is to be reported. Without this, the default is what is said of it.
pub fn report_with(renderer: &Renderer) {
    shortened::report_with(renderer);
}

/// The signal.
#[cfg(unix)]
mod shortened {
    use cuweld::diagnostics::{Diagnostic, Entry, Message, Renderer};
    use std::ops::Range;
    use std::path::Path;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};
    use std::sync::{Once, OnceLock};

    /// A map, and what to say if a part of it is gone. The handler can neither lock nor allocate, so all is ready, and stays.
    struct Watched {
        addresses: Range<usize>,
        message: String,
        older: Option<&'static Watched>,
    }

    static NEWEST: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
    static RENDERER: OnceLock<Renderer> = OnceLock::new();
    static INSTALL: Once = Once::new();

    pub(super) fn report_with(renderer: &Renderer) {
        // There is one link in a run, and so one way of speaking.
        _ = RENDERER.set(renderer.clone());
    }

    fn message(renderer: Option<&Renderer>, path: &Path) -> String {
        let message = Message::InputChanged { file: path.to_string_lossy().into_owned() };
        match renderer {
            Some(renderer) => renderer.render(&Entry::Diagnostic(Diagnostic::new(message))),
            None => format!("{message}\n"),
        }
    }

    /// Remembers a map for the handler.
    pub(super) fn watch(map: &[u8], path: &Path) {
        INSTALL.call_once(install);
        let start = map.as_ptr() as usize;
        let watched = Box::leak(Box::new(Watched {
            addresses: start..start + map.len(),
            message: message(RENDERER.get(), path),
            older: None,
        }));
        let mut newest = NEWEST.load(Ordering::Acquire);
        loop {
            // SAFETY: every pointer in the list came from a box that was leaked, so it is valid for ever; none is changed once it is
            // in the list.
            watched.older = unsafe { newest.as_ref() };
            match NEWEST.compare_exchange_weak(newest, watched, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    fn install() {
        // SAFETY: the structure is plain numbers, for which zero is a value; the handler has the type that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
        }
    }

    /// Says which file is too short, and ends the program.
    extern "C" fn on_bus_error(signal: libc::c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system passes a valid structure, which for this signal has an address. See above for the list. Only functions
        // that are allowed in handlers are called. Where the address is none of ours, the signal does what it does by default
        // as soon as this returns.
        unsafe {
            let address = (*information).si_addr() as usize;
            let mut next = NEWEST.load(Ordering::Acquire).as_ref();
            while let Some(watched) = next {
                if watched.addresses.contains(&address) {
                    libc::write(libc::STDERR_FILENO, watched.message.as_ptr().cast(), watched.message.len());
                    libc::_exit(1);
                }
                next = watched.older;
            }
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
mod shortened {
    use cuweld::diagnostics::Renderer;
    use std::path::Path;

    pub(super) fn report_with(_: &Renderer) {}

    pub(super) fn watch(_: &[u8], _: &Path) {}
}
