//! Advice for messages to which the linker itself has no hint.

use cuweld::diagnostics::{Diagnostic, Message};
use std::path::Path;

/// Adds a hint to a diagnostic that has none, where there is one.
pub fn add_to(diagnostic: &mut Diagnostic) {
    if diagnostic.hint.is_none() {
        diagnostic.hint = usual(&diagnostic.message);
    }
}

/// Extensions of sources, and how they become inputs.
const SOURCES: [&str; 6] = ["cu", "c", "cc", "cpp", "cxx", "h"];

fn usual(message: &Message) -> Option<String> {
    let extension = |file: &str| Path::new(file).extension().map(|extension| extension.to_string_lossy().into_owned());
    let hint = match message {
        Message::UnknownFormat { file, .. } if extension(file).is_some_and(|found| SOURCES.contains(&&*found)) => {
            "it looks like a source file: compile it with nvcc -rdc=true -c, and link the object".to_owned()
        }
        Message::UnknownFormat { found, .. } if found.contains("empty") => {
            "did its compiler fail, or is it still running? Build it again".to_owned()
        }
        Message::UnknownFormat { found, .. } if found.contains("/GL") => {
            "compile it without /GL: only Microsoft's linker can read what that makes".to_owned()
        }
        Message::UnknownFormat { found, .. } if found.contains("bitcode") => {
            "compile it to code for the target, for example with clang's -march".to_owned()
        }
        Message::BadObject { .. } | Message::BadContainer { .. } => {
            "build it again; if it comes back, --save-dir keeps what is needed to look into it".to_owned()
        }
        Message::CannotWriteOutput { file, .. } => {
            let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())?;
            format!("there is no folder '{}'", folder.display())
        }
        Message::OutputIsInput { .. } => "give another name with -o".to_owned(),
        Message::NewerObject { .. } => "look for a newer version of cuweld, or compile all objects with one toolkit".to_owned(),
        _ => return None,
    };
    Some(hint)
}
