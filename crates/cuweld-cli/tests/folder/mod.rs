//! A folder to link in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with an object `a.cubin` for sm_90 that can be linked by itself.
pub struct Folder(pub TempDir);

impl Folder {
    /// Makes one.
    pub fn new() -> io::Result<Self> {
        let folder = Folder(tempfile::tempdir()?);
        let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/single_kernel/inputs/sm_90/a.cubin");
        fs::copy(object, folder.path("a.cubin"))?;
        Ok(folder)
    }

    /// Where a file of it is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program, to be run there.
    pub fn linker(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        command.current_dir(&self.0).arg("-arch=sm_90");
        command
    }

    /// Links.
    pub fn link(&self, arguments: &[&str]) -> io::Result<Output> {
        self.linker().args(arguments).output()
    }

    /// The names of all files.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }
}

/// Asserts that a link failed, and returns what it said.
pub fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{:?}: {said}", output.status);
    said
}
