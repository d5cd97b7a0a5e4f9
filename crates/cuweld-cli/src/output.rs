//! Writing the result: whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and renames it there, so that whoever looks sees the old file or the new one, and
/// never a part.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Devices and pipes can not be renamed onto.
    let existing = fs::metadata(path);
    if existing.as_ref().is_ok_and(|found| !found.is_file()) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    // A link is followed, so that the file it names is replaced and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let beside = name_beside(&place);
    let result =
        write_new(&beside, bytes, existing.ok().map(|found| found.permissions())).and_then(|()| fs::rename(&beside, &place));
    if result.is_err() {
        // The error that led here is the one to report.
        _ = fs::remove_file(&beside);
    }
    result
}

fn write_new(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(bytes)
}

fn name_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
