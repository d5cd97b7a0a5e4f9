//! Writing the result: whole or not at all.
//!
//! The bytes go into a new file, and only when all of them are there does it take the place of the old one. Whoever looks sees one of
//! the two and never a part, whether the disk is full or the program is killed. Where the system can make files that have no name
//! yet, nothing is left behind either.

use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let existing = fs::metadata(path);
    // Devices and pipes can not be renamed onto.
    if existing.as_ref().is_ok_and(|found| !found.is_file()) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    // A link is followed, so that the file it names is replaced and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let permissions = existing.ok().map(|found| found.permissions());
    let new = New { place: &place, bytes, permissions };
    match nameless::open(folder_of(&place), new.permissions.as_ref()) {
        Some(file) => new.write_nameless(file),
        None => new.write_beside(),
    }
}

/// A file that is to take its place.
struct New<'data> {
    place: &'data Path,
    bytes: &'data [u8],
    /// Those of the old file.
    permissions: Option<Permissions>,
}

impl New<'_> {
    fn fill(&self, file: &mut File) -> io::Result<()> {
        if let Some(permissions) = &self.permissions {
            file.set_permissions(permissions.clone())?;
        }
        file.write_all(self.bytes)
    }

    /// Fills a file without a name, and gives it one.
    fn write_nameless(&self, mut file: File) -> io::Result<()> {
        self.fill(&mut file)?;
        // Where there is no old file, the name is the only thing that was missing.
        if self.permissions.is_none() && nameless::give_name(&file, self.place).is_ok() {
            return Ok(());
        }
        // A name can not be given over another; a name can be changed to another.
        let beside = name_beside(self.place);
        match nameless::give_name(&file, &beside) {
            Ok(()) => self.rename(&beside),
            Err(_) => self.write_beside(),
        }
    }

    fn write_beside(&self) -> io::Result<()> {
        let beside = name_beside(self.place);
        let mut file = new_file(&beside, self.permissions.as_ref())?;
        let result = self.fill(&mut file);
        if result.is_err() {
            // The error that led here is the one to report.
            _ = fs::remove_file(&beside);
            return result;
        }
        self.rename(&beside)
    }

    fn rename(&self, beside: &Path) -> io::Result<()> {
        fs::rename(beside, self.place).inspect_err(|_| _ = fs::remove_file(beside))
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

/// Files that have no name yet.
#[cfg(target_os = "linux")]
mod nameless {
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
    pub(super) fn open(folder: &Path, permissions: Option<&Permissions>) -> Option<File> {
        let mode = permissions.map_or(MODE, |permissions| permissions.mode() & 0o777);
        File::options().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder).ok()
    }

    /// Gives it a name, which must be free.
    #[allow(unsafe_code, reason = "the one system call for this is not in the standard library")]
    pub(super) fn give_name(file: &File, path: &Path) -> io::Result<()> {
        let now = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let then = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: both texts end with NUL and outlive the call, which keeps neither.
        let status =
            unsafe { libc::linkat(libc::AT_FDCWD, now.as_ptr(), libc::AT_FDCWD, then.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Elsewhere every file has a name.
#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::fs::{File, Permissions};
    use std::io;
    use std::path::Path;

    pub(super) fn open(_: &Path, _: Option<&Permissions>) -> Option<File> {
        None
    }

    pub(super) fn give_name(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
