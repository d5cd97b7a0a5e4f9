//! Hints for files that can not be read: similar names.

use cuweld::diagnostics::edit_distance;
use std::path::Path;

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;
/// How many names are shown.
const MOST_SHOWN: usize = 3;

/// What helps to find a file.
pub fn hint(path: &Path) -> Option<String> {
    if path.is_dir() {
        let objects = names(path).filter(|name| is_object(name)).count();
        return Some(match objects {
            0 => "it is a folder: name the files in it".to_owned(),
            count => format!("it is a folder, with {count} objects and libraries in it: name them, or -L with -l"),
        });
    }
    if path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Some(format!("there is no folder '{}'", folder.display()));
    }
    let name = path.file_name()?.to_string_lossy().into_owned();
    let mut near: Vec<(usize, String)> =
        names(folder).filter_map(|other| Some((distance(&name, &other)?, folder_and(path, &other)))).collect();
    near.sort();
    let shown: Vec<String> = near.into_iter().take(MOST_SHOWN).map(|(_, name)| format!("'{name}'")).collect();
    (!shown.is_empty()).then(|| format!("did you mean {}?", shown.join(" or ")))
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The path of another file in the same folder, as the user would write it.
fn folder_and(path: &Path, name: &str) -> String {
    path.with_file_name(name).to_string_lossy().into_owned()
}

fn is_object(name: &str) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    ["o", "obj", "a", "lib", "cubin", "fatbin", "ptx", "ltoir"].iter().any(|known| extension == *known)
}

/// How far a name is from the one that was meant, if it is near. Another extension is as near as a changed letter.
fn distance(name: &str, other: &str) -> Option<usize> {
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if stem(name) == stem(other) && is_object(other) {
        return Some(1);
    }
    let letters = |name: &str| name.to_lowercase().chars().collect::<Vec<char>>();
    let most = name.len() / 4;
    Some(edit_distance(&letters(name), &letters(other))).filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        for (name, other, expected) in [
            ("a.cubin", "a.o", Some(1)),
            ("a.cubin", "a.txt", None),
            ("kernel.o", "kernels.o", Some(1)),
            ("kernel.o", "KERNEL.O", Some(0)),
            ("kernel.o", "scale.o", None),
        ] {
            assert_eq!(distance(name, other), expected, "{name} {other}");
        }
    }
}
