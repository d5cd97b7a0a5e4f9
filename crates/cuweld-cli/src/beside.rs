//! New files without a name, and names beside the place that a file is to take.
//!
//! A file gets such a name for the moment between being complete and being in its place, or, where the system has no nameless files,
//! for as long as it is written. A kill at that time leaves it behind. So that others can tell, who gives a name holds a lock on the
//! file, which ends with the program, and only who holds the lock on a file may remove or change its name. The names are few and
//! known, so that every link into a folder can look for what others left there.

use crate::bytes::Identity;
use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub use system::{copy_attributes, exchange, give, open_nameless};
#[cfg(all(unix, not(target_os = "linux")))]
pub use without::copy_attributes;
#[cfg(not(target_os = "linux"))]
pub use without::{exchange, give, open_nameless};

/// How many names there are in a folder. To look for one takes a microsecond; beyond them, names are random and never looked for.
const NAMES: usize = 8;

fn names(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let random = RandomState::new().build_hasher().finish();
    let name = move |number: usize| match number {
        NAMES => format!(".cuweld-{random:016x}.tmp"),
        _ => format!(".cuweld-{number}.tmp"),
    };
    (0..=NAMES).map(move |number| folder.join(name(number)))
}

/// Removes what programs left behind that are gone.
pub fn remove_abandoned(folder: &Path) {
    names(folder).take(NAMES).for_each(|name| _ = remove_if_abandoned(&name));
}

fn remove_if_abandoned(name: &Path) -> io::Result<()> {
    let is_file = fs::symlink_metadata(name)?.is_file();
    match is_file.then(|| open_locked(name)).flatten() {
        Some(_lock) => fs::remove_file(name),
        None => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Opens a file and locks it; none, if it is locked, or is another by now.
pub fn open_locked(path: &Path) -> Option<File> {
    let open = |write: bool| open_itself(File::options().read(true).write(write), path);
    let file = open(true).or_else(|_| open(false)).ok()?;
    lock(&file).ok()?;
    has_name(&file, path).then_some(file)
}

/// Locks a file until it is closed, if nobody else has.
#[cfg(unix)]
#[allow(unsafe_code, reason = "locks are not in the standard library of every compiler that will do")]
fn lock(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the call takes numbers only, and the file is open.
    let status = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Elsewhere nobody could read a file that is locked.
#[cfg(not(unix))]
fn lock(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens what has this name, without following a link or waiting for anything.
fn open_itself(options: &mut fs::OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

fn has_name(file: &File, path: &Path) -> bool {
    let identity = |found: io::Result<Metadata>| found.ok().and_then(|found| Identity::of(&found));
    identity(file.metadata()) == identity(fs::symlink_metadata(path))
}

/// Tries one name after the other until there is one that nobody uses.
fn under_any_name<T>(folder: &Path, mut take: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let mut failure = io::ErrorKind::AlreadyExists.into();
    for name in names(folder) {
        let taken = match take(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && remove_if_abandoned(&name).is_ok() => take(&name),
            taken => taken,
        };
        match taken {
            Ok(taken) => return Ok((taken, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failure = error,
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

/// Gives a nameless file a name in a folder.
pub fn give_any(file: &File, folder: &Path) -> io::Result<PathBuf> {
    // Where there are no locks, nobody removes what others left behind.
    _ = lock(file);
    under_any_name(folder, |name| give(file, name)).map(|((), name)| name)
}

/// Makes a file with a name in a folder, which nobody may read who may not read the old one.
pub fn create(folder: &Path, old: Option<&Metadata>) -> io::Result<(File, PathBuf)> {
    under_any_name(folder, |name| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        if let Some(old) = old {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(old.permissions().mode() & 0o777);
        }
        #[cfg(not(unix))]
        let _ = old;
        let file = options.open(name)?;
        _ = lock(&file);
        // It may have been taken for abandoned before it was locked.
        if has_name(&file, name) { Ok(file) } else { Err(io::ErrorKind::AlreadyExists.into()) }
    })
}

/// Has a write fail that would make a file larger than the system lets it be, instead of a signal end the program; and has the system
/// tell how programs ended, whatever whoever started this one ignores.
#[cfg(unix)]
#[allow(unsafe_code, reason = "signals are not in the standard library")]
pub fn settle_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler has the type that is asked for and does nothing. Programs that are run later do not inherit it.
    unsafe {
        libc::signal(libc::SIGXFSZ, nothing as *const () as libc::sighandler_t);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Elsewhere there are no such signals.
#[cfg(not(unix))]
pub fn settle_signals() {}

/// Files that have no name yet, and names that change places.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "these system calls are not in the standard library")]
mod system {
    use std::ffi::{CStr, CString};
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    /// What the system takes off is what the user wants nobody to have.
    const MODE: u32 = 0o666;

    /// Makes a file in a folder, which nobody may read who may not read the old one; none, if its file system can not.
    pub fn open_nameless(folder: &Path, old: Option<&Metadata>) -> Option<File> {
        let mode = old.map_or(MODE, |old| old.permissions().mode() & 0o777);
        let file = File::options().read(true).write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder).ok()?;
        // A name is given by way of this folder, which not every system has.
        Path::new("/proc/self/fd").exists().then_some(file)
    }

    /// Gives it a name, which must be free.
    pub fn give(file: &File, path: &Path) -> io::Result<()> {
        let now = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let then = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: both texts end with NUL and outlive the call, which keeps neither.
        let status =
            unsafe { libc::linkat(libc::AT_FDCWD, now.as_ptr(), libc::AT_FDCWD, then.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives a new file the list of who has access that an old one has, and attributes that users gave that. Whether there were any,
    /// or the new one had some that the old one has not.
    pub fn copy_attributes(old: &Path, new: &File) -> io::Result<bool> {
        const ACCESS: &CStr = c"system.posix_acl_access";
        const OF_USERS: &[u8] = b"user.";
        let old = CString::new(old.as_os_str().as_bytes())?;
        // SAFETY: the texts end with NUL, and the system writes no more bytes than there is room for. File systems without attributes
        // say so.
        let list =
            read(|room| unsafe { libc::listxattr(old.as_ptr(), room.as_mut_ptr().cast(), room.len()) }).unwrap_or_default();
        let names = || list.split_inclusive(|&byte| byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok());
        let mut is_changed = false;
        if !names().any(|name| name == ACCESS) {
            // A new file in some folders has a list of the folder's.
            // SAFETY: the text ends with NUL.
            is_changed = unsafe { libc::fremovexattr(new.as_raw_fd(), ACCESS.as_ptr()) } == 0;
        }
        for name in names().filter(|&name| name == ACCESS || name.to_bytes().starts_with(OF_USERS)) {
            // SAFETY: as above.
            let get =
                |room: &mut [u8]| unsafe { libc::getxattr(old.as_ptr(), name.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
            let value = read(get)?;
            // SAFETY: the system reads as many bytes as there are.
            let status = unsafe { libc::fsetxattr(new.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
            if status != 0 {
                return Err(io::Error::last_os_error());
            }
            is_changed = true;
        }
        Ok(is_changed)
    }

    /// What the system writes to where there is enough room.
    fn read(mut write: impl FnMut(&mut [u8]) -> isize) -> io::Result<Vec<u8>> {
        // The second is the most that it has of anything.
        for size in [256, 64 << 10] {
            let mut bytes = vec![0; size];
            if let Ok(count) = usize::try_from(write(&mut bytes)) {
                bytes.truncate(count);
                return Ok(bytes);
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::ERANGE) {
                return Err(error);
            }
        }
        Err(io::Error::from_raw_os_error(libc::ERANGE))
    }

    /// Lets two names change places, at once.
    pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
        let (one, other) = (CString::new(one.as_os_str().as_bytes())?, CString::new(other.as_os_str().as_bytes())?);
        // SAFETY: both texts end with NUL and outlive the call, which keeps neither.
        let status = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                one.as_ptr(),
                libc::AT_FDCWD,
                other.as_ptr(),
                libc::RENAME_EXCHANGE,
            )
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Elsewhere every file has a name.
#[cfg(not(target_os = "linux"))]
mod without {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    /// None can be made.
    pub fn open_nameless(_: &Path, _: Option<&Metadata>) -> Option<File> {
        None
    }

    /// Without attributes, nothing changes.
    #[cfg(unix)]
    pub fn copy_attributes(_: &Path, _: &File) -> io::Result<bool> {
        Ok(false)
    }

    /// Not needed.
    pub fn give(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not possible.
    pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
