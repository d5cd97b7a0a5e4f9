//! What the command line means on one system and not on another: how Windows' compiler driver names folders and libraries.

use super::table::Id;
use super::text::{bytes, from_bytes};
use super::typed::Typed;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A system, as far as the command line depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux and its like.
    Unix,
    /// Windows.
    Windows,
}

impl System {
    /// The system that this program was built for.
    pub const NATIVE: System = if cfg!(windows) { System::Windows } else { System::Unix };

    /// The files that `-lNAME` may mean, in the order in which they are looked for. What is for Unix is found on Windows as well, where
    /// tools of Unix are used, too.
    pub fn library_files(self, name: &OsStr) -> Vec<OsString> {
        let file = |before: &str, behind: &str| [OsStr::new(before), name, OsStr::new(behind)].into_iter().collect::<OsString>();
        let windows = [has_extension(name).then(|| name.to_owned()), Some(file("", ".lib"))].into_iter().flatten();
        match self {
            System::Unix => vec![file("lib", ".a")],
            System::Windows => windows.chain([file("lib", ".a")]).collect(),
        }
    }

    /// The path of a file in a folder where libraries are looked for, as messages have it: on Windows, too, joined by a slash.
    pub fn library_path(self, folder: &Path, file: &OsStr) -> PathBuf {
        match self {
            System::Unix => folder.join(file),
            System::Windows => {
                let folder = bytes(folder.as_os_str());
                let folder = folder.strip_suffix(b"/").or(folder.strip_suffix(b"\\")).unwrap_or(folder);
                PathBuf::from([&from_bytes(folder), OsStr::new("/"), file].into_iter().collect::<OsString>())
            }
        }
    }
}

/// Whether a name is that of a library for Windows. Letters of the other case do not count, as for the reference.
fn has_extension(name: &OsStr) -> bool {
    bytes(name).ends_with(b".lib")
}

/// Finds words that are options for Microsoft's linker: `/LIBPATH:FOLDER`, and `NAME.lib`, which is a file if there is one, and else a
/// library to be looked for.
pub(super) fn take_microsoft_words(typed: &mut Typed, exists: &dyn Fn(&Path) -> bool) {
    const FOLDER: &[u8] = b"/LIBPATH:";
    typed.reinterpret(|word| {
        let text = bytes(word);
        if let Some((option, folder)) = text.split_at_checked(FOLDER.len())
            && option.eq_ignore_ascii_case(FOLDER)
        {
            return Some((Id::LibraryPath, from_bytes(folder)));
        }
        let is_bare = has_extension(word) && !text.iter().any(|byte| matches!(byte, b'/' | b'\\' | b':'));
        (is_bare && !exists(Path::new(word))).then(|| (Id::Library, word.to_owned()))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries() {
        for (system, name, expected) in [
            (System::Unix, "x", "libx.a"),
            (System::Windows, "x", "x.lib libx.a"),
            (System::Windows, "x.lib", "x.lib x.lib.lib libx.lib.a"),
            (System::Windows, "x.LIB", "x.LIB.lib libx.LIB.a"),
        ] {
            let files: Vec<String> =
                system.library_files(OsStr::new(name)).into_iter().map(|file| file.to_string_lossy().into_owned()).collect();
            assert_eq!(files.join(" "), expected);
        }
    }

    #[test]
    fn places_of_libraries() {
        for (system, folder, expected) in [
            (System::Unix, "d", "d/x.lib"),
            (System::Unix, "d/", "d/x.lib"),
            (System::Windows, "d", "d/x.lib"),
            (System::Windows, "d\\", "d/x.lib"),
            (System::Windows, "d//", "d//x.lib"),
            (System::Windows, "C:\\d/", "C:\\d/x.lib"),
        ] {
            assert_eq!(system.library_path(Path::new(folder), OsStr::new("x.lib")).to_str(), Some(expected));
        }
    }
}
