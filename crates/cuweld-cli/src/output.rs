//! Writing the result: whole or not at all.
//!
//! The bytes go into a new file, and only when all of them are there does it take the place of the old one. Whoever looks sees one of
//! the two and never a part, whether the disk is full or the program is killed. Where the system can make files that have no name
//! yet, nothing is left behind either.

use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pending = Pending::begin(path)?;
    pending.file.write_all(bytes)?;
    pending.commit()
}

/// A file that is being written. If it is not committed, nothing is left of it.
pub struct Pending {
    /// What to write to.
    pub file: File,
    /// How long it is already, whatever was written to it.
    pub(crate) room: u64,
    whereabouts: Whereabouts,
}

enum Whereabouts {
    /// Where it is to be: a device or a pipe, onto which nothing can be renamed.
    Place,
    /// Nowhere yet.
    Nameless { place: PathBuf, replaces: bool },
    /// Beside its place.
    Beside { beside: PathBuf, place: PathBuf, replaces: bool },
}

impl Pending {
    /// Begins to write a file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let Some(target) = Target::of(path) else {
            let file = File::options().write(true).open(path)?;
            return Ok(Pending { file, room: 0, whereabouts: Whereabouts::Place });
        };
        match target.open_nameless() {
            Some(file) => target.begin(file, |place, replaces| Whereabouts::Nameless { place, replaces }),
            None => {
                let beside = name_beside(&target.place);
                let file = new_file(&beside, target.permissions.as_ref())?;
                target.begin(file, |place, replaces| Whereabouts::Beside { beside, place, replaces })
            }
        }
    }

    /// The same, if it can be done so that nothing is left of the file even if the program is killed.
    pub fn begin_nameless(path: &Path) -> Option<Self> {
        let target = Target::of(path)?;
        let file = target.open_nameless()?;
        target.begin(file, |place, replaces| Whereabouts::Nameless { place, replaces }).ok()
    }

    /// The file is whole: it takes its place.
    pub fn commit(mut self) -> io::Result<()> {
        if self.room > 0 {
            let size = self.file.stream_position()?;
            self.file.set_len(size)?;
        }
        if let Whereabouts::Nameless { place, replaces } = &self.whereabouts {
            // Where there is no old file, the name is the only thing that was missing.
            if !replaces && names::give(&self.file, place).is_ok() {
                return Ok(());
            }
            // A name can not be given over another; a name can be changed to another.
            let (beside, place, replaces) = (name_beside(place), place.clone(), *replaces);
            names::give(&self.file, &beside)?;
            self.whereabouts = Whereabouts::Beside { beside, place, replaces };
        }
        if let Whereabouts::Beside { beside, place, replaces } = &self.whereabouts {
            // Files that change places need not be on the disk first, as one that replaces another must on some systems. What is
            // beside afterwards is the old one, and goes.
            if !(*replaces && names::exchange(beside, place).is_ok()) {
                fs::rename(beside, place)?;
                self.whereabouts = Whereabouts::Place;
            }
        }
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Whereabouts::Beside { beside, .. } = &self.whereabouts {
            // If this fails, there is nothing that could be done about it.
            _ = fs::remove_file(beside);
        }
    }
}

/// Where a file is to be, and what the old one there is like.
struct Target {
    place: PathBuf,
    permissions: Option<Permissions>,
}

impl Target {
    /// None for devices and pipes, which stay what they are.
    fn of(path: &Path) -> Option<Self> {
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|found| !found.is_file()) {
            return None;
        }
        // A link is followed, so that the file it names is replaced and not the link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Some(Target { place, permissions: existing.map(|found| found.permissions()) })
    }

    fn open_nameless(&self) -> Option<File> {
        names::open_nameless(folder_of(&self.place), self.permissions.as_ref())
    }

    fn begin(self, file: File, whereabouts: impl FnOnce(PathBuf, bool) -> Whereabouts) -> io::Result<Pending> {
        let pending = Pending { file, room: 0, whereabouts: whereabouts(self.place, self.permissions.is_some()) };
        if let Some(permissions) = self.permissions {
            pending.file.set_permissions(permissions)?;
        }
        Ok(pending)
    }
}

/// Makes a file that nobody may read who may not read the old one.
fn new_file(path: &Path, permissions: Option<&Permissions>) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(permissions) = permissions {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(permissions.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = permissions;
    options.open(path)
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name that nobody can foresee.
fn name_beside(path: &Path) -> PathBuf {
    let number = RandomState::new().build_hasher().finish();
    path.with_file_name(format!(".cuweld-{number:016x}.tmp"))
}

/// Files that have no name yet, and names that change places.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "these system calls are not in the standard library")]
mod names {
    use std::ffi::CString;
    use std::fs::{File, Permissions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    /// What the system takes off is what the user wants nobody to have.
    const MODE: u32 = 0o666;

    /// Makes a file in a folder; none, if its file system can not.
    pub(super) fn open_nameless(folder: &Path, permissions: Option<&Permissions>) -> Option<File> {
        let mode = permissions.map_or(MODE, |permissions| permissions.mode() & 0o777);
        let file = File::options().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder).ok()?;
        // A name is given by way of this folder, which not every system has.
        Path::new("/proc/self/fd").exists().then_some(file)
    }

    /// Gives it a name, which must be free.
    pub(super) fn give(file: &File, path: &Path) -> io::Result<()> {
        let now = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let then = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: both texts end with NUL and outlive the call, which keeps neither.
        let status =
            unsafe { libc::linkat(libc::AT_FDCWD, now.as_ptr(), libc::AT_FDCWD, then.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets two names change places, at once.
    pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
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
mod names {
    use std::fs::{File, Permissions};
    use std::io;
    use std::path::Path;

    pub(super) fn open_nameless(_: &Path, _: Option<&Permissions>) -> Option<File> {
        None
    }

    pub(super) fn give(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
