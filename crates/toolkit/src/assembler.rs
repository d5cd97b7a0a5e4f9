//! `ptxas`: from PTX to machine code.

use crate::{Error, lines};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The assembler.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

/// What the assembler made.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The file.
    pub image: Vec<u8>,
    /// What the assembler said, line by line.
    pub messages: Vec<String>,
    /// How long it took.
    pub duration: Duration,
}

impl Assembler {
    pub(crate) fn new(path: PathBuf) -> Self {
        // It runs in another folder, where a relative path would name something else.
        Assembler { path: std::path::absolute(&path).unwrap_or(path) }
    }

    /// Assembles `text`.
    ///
    /// The assembler runs in a private folder, where the text has the name `text_name` and the result `result_name`: these names
    /// appear in its messages and in the result.
    ///
    /// # Errors
    /// When the assembler refuses the text or can not be run.
    pub fn assemble(&self, text: &[u8], arguments: &[String], text_name: &str, result_name: &str) -> Result<Assembled, Error> {
        let unusable = |what: &str, error: std::io::Error| Error::Unusable(format!("{what}: {error}"));
        let start = Instant::now();
        let folder = private_folder().map_err(|error| unusable("a temporary folder could not be made", error))?;
        fs::write(folder.path().join(text_name), text)
            .map_err(|error| unusable("a temporary file could not be written", error))?;
        let output = Command::new(&self.path)
            .current_dir(folder.path())
            .args(arguments)
            .arg(text_name)
            .args(["-o", result_name])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| unusable(&format!("'{}' could not be run", self.path.display()), error))?;
        let mut messages = lines(&output.stdout);
        messages.extend(lines(&output.stderr));
        let image = fs::read(folder.path().join(result_name));
        match image {
            Ok(image) if output.status.success() => Ok(Assembled { image, messages, duration: start.elapsed() }),
            _ if messages.is_empty() => {
                Err(Error::Unusable(format!("'{}' ended without a result ({})", self.path.display(), output.status)))
            }
            _ => Err(Error::Refused(messages.join("\n"))),
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
