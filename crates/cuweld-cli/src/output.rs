//! Writing the result: whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pending = Pending::begin(path)?;
    pending.file.write_all(bytes)?;
    pending.commit()
}

/// A file that is being written. It stands beside its place until it is whole, so that whoever looks there sees the old file or the
/// new one, and never a part. If it never becomes whole, it is removed.
pub struct Pending {
    /// What to write to.
    pub file: File,
    /// Where it is, and where it is to be.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Pending {
    /// Begins to write a file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        // Devices and pipes can not be renamed onto.
        let existing = fs::metadata(path);
        if existing.as_ref().is_ok_and(|found| !found.is_file()) {
            return Ok(Pending { file: File::options().write(true).open(path)?, rename: None });
        }
        // A link is followed, so that the file it names is replaced and not the link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let beside = name_beside(&place);
        let file = File::options().write(true).create_new(true).open(&beside)?;
        let pending = Pending { file, rename: Some((beside, place)) };
        if let Ok(existing) = existing {
            pending.file.set_permissions(existing.permissions())?;
        }
        Ok(pending)
    }

    /// The file is whole: it takes its place.
    pub fn commit(mut self) -> io::Result<()> {
        let Some((beside, place)) = self.rename.take() else { return Ok(()) };
        fs::rename(&beside, &place).inspect_err(|_| self.rename = Some((beside, place)))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.rename {
            // The error that led here is the one to report.
            _ = fs::remove_file(beside);
        }
    }
}

fn name_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
