//! Files that were open when the program began.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

/// Fails for standard output (1) or the stream of errors (2), if it was closed when the program began.
///
/// By the time that a link begins there is the null device in its place, which takes everything and keeps nothing.
pub fn was_open(number: u32) -> io::Result<()> {
    if beginning::is_closed(number) { Err(io::Error::other("it is closed")) } else { Ok(()) }
}

/// Opens standard output (1) or the stream of errors (2) once more.
#[cfg(unix)]
pub fn open(number: u32) -> io::Result<File> {
    use std::os::fd::AsFd;
    was_open(number)?;
    let stream = if number == 1 { io::stdout().as_fd().try_clone_to_owned() } else { io::stderr().as_fd().try_clone_to_owned() };
    stream.map(File::from)
}

/// The number of the open file that a name in a folder stands for.
#[cfg(unix)]
pub fn number(folder: &Path, name: &OsStr) -> Option<u32> {
    let of_this_program =
        || std::fs::canonicalize("/proc/self").is_ok_and(|own| folder.starts_with(own) && folder.ends_with("fd"));
    // Names of links, if they lead nowhere because the system's folder is not there.
    let is_link = ["/dev/fd", "/proc/self/fd"].iter().any(|link| folder == Path::new(link));
    let is_one = is_link || (folder.starts_with("/proc") && of_this_program());
    is_one.then(|| name.to_str()?.parse().ok()).flatten()
}

/// The number of the stream that a name stands for that is not there, but is on every system.
///
/// Other programs remove what they could not write to, and GNU's take the link that leads to a stream for a file of their own.
#[cfg(unix)]
pub fn number_of_missing(name: &Path) -> Option<u32> {
    let names = [("/dev/stdout", 1), ("/dev/stderr", 2)];
    let (_, number) = names.into_iter().find(|(known, _)| name == Path::new(known))?;
    std::fs::symlink_metadata(name).is_err().then_some(number)
}

/// Elsewhere they have none.
#[cfg(not(unix))]
pub fn number_of_missing(_: &Path) -> Option<u32> {
    None
}

/// Elsewhere open files have no names.
#[cfg(not(unix))]
pub fn number(_: &Path, _: &OsStr) -> Option<u32> {
    None
}

#[cfg(windows)]
pub fn open(_: u32) -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(not(any(unix, windows)))]
pub fn open(_: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens the null device in the place of what was closed: else the files of a link would take their numbers.
#[cfg(all(target_os = "linux", not(test)))]
pub fn open_closed() {
    beginning::open_closed();
}

/// What was closed when the program began.
#[cfg(all(target_os = "linux", not(test)))]
#[allow(unsafe_code, reason = "asks about files by their numbers")]
mod beginning {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// A bit for each stream that was closed.
    static CLOSED: AtomicU32 = AtomicU32::new(0);

    /// Opens the null device in the place of what was closed.
    pub(super) fn open_closed() {
        for number in [0, 1, 2] {
            // SAFETY: any number may be asked about, and the text ends with NUL. The lowest number that is free is that of the stream.
            unsafe {
                if libc::fcntl(number, libc::F_GETFD) == -1 {
                    CLOSED.fetch_or(1 << number, Relaxed);
                    libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
                }
            }
        }
    }

    pub(super) fn is_closed(number: u32) -> bool {
        CLOSED.load(Relaxed) & 1 << number != 0
    }
}

#[cfg(not(all(target_os = "linux", not(test))))]
mod beginning {
    pub(super) fn is_closed(_: u32) -> bool {
        false
    }
}
