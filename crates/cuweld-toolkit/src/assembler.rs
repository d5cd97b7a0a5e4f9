//! `ptxas`: from PTX to machine code.

use crate::lines;
use cuweld::inputs::lower::{Assembled, Assembly, CompilerError, OBJECT_NAME, PTX_NAME};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The assembler.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    pub(crate) fn new(path: PathBuf) -> Self {
        // It runs in another folder, where a relative path would name something else.
        Assembler { path: std::path::absolute(&path).unwrap_or(path) }
    }

    /// Assembles `text`.
    ///
    /// The assembler runs in a private folder, where the text and the result have names that are always the same: they appear in its
    /// messages and in the result.
    ///
    /// # Errors
    /// When the assembler refuses the text or can not be run.
    pub fn assemble(&self, assembly: &Assembly<'_>) -> Result<Assembled, CompilerError> {
        let unusable = |what: &str, error: std::io::Error| CompilerError::Unusable(format!("{what}: {error}"));
        let start = Instant::now();
        let folder = private_folder().map_err(|error| unusable("a temporary folder could not be made", error))?;
        fs::write(folder.path().join(PTX_NAME), assembly.text)
            .map_err(|error| unusable("a temporary file could not be written", error))?;
        let output = Command::new(&self.path)
            .current_dir(folder.path())
            .args(&assembly.arguments)
            .arg(PTX_NAME)
            .args(["-o", OBJECT_NAME])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| unusable(&format!("'{}' could not be run", self.path.display()), error))?;
        let mut messages = lines(&output.stdout);
        messages.extend(lines(&output.stderr));
        let image = fs::read(folder.path().join(OBJECT_NAME));
        match image {
            Ok(image) if output.status.success() => Ok(Assembled { image, messages, duration: start.elapsed() }),
            _ if messages.is_empty() => {
                Err(CompilerError::Unusable(format!("'{}' ended without a result ({})", self.path.display(), output.status)))
            }
            _ => Err(CompilerError::Refused(messages.join("\n"))),
        }
    }
}

/// Makes a folder under a name that nobody can foresee, which only the user can enter.
fn private_folder() -> std::io::Result<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.prefix("cuweld-").tempdir()
}
