//! What is damaged: inputs of the cases, and results that are inputs of later links.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that link together.
pub struct Subject {
    /// The architecture to link them for.
    pub architecture: String,
    /// The files, in link order. Each of them is damaged at times.
    pub files: Vec<PathBuf>,
}

impl Subject {
    /// Whether the files are linked as they are, or only lack a compiler.
    pub fn is_linked_by(&self, linker: &Path) -> bool {
        let arguments = [
            &format!("-arch={}", self.architecture),
            "--toolkit=/nonexistent",
            "-lto",
            "-nvvmpath=/nonexistent",
            "-o",
            "/dev/null",
        ];
        let ran = Command::new(linker).args(arguments).args(&self.files).output();
        ran.is_ok_and(|ran| ran.status.success() || String::from_utf8_lossy(&ran.stderr).contains("--toolkit"))
    }
}

/// Folders with files that are not arranged as cases are, and what they are linked for.
const OTHERS: &[(&str, &str)] = &[("crates/fatbin/tests/data", "sm_90"), ("crates/fatbin/tests/data", "sm_75")];

/// Names of files that are inputs.
const KINDS: &[&str] = &["cubin", "fatbin", "o", "a", "ptx", "ltoir"];

/// Everything that can be damaged.
pub fn find(root: &Path) -> Vec<Subject> {
    let mut found = Vec::new();
    for case in entries(&root.join("tests/cases")) {
        for folder in entries(&case.join("inputs")) {
            let inputs = inputs(&folder);
            let architecture = name(&folder);
            // What a case makes is a file that others may link, too: relocatable results among them.
            for result in self::inputs(&case.join("expected").join(&architecture)) {
                found.push(Subject { architecture: architecture.clone(), files: vec![result] });
            }
            found.push(Subject { architecture, files: inputs });
        }
    }
    for (folder, architecture) in OTHERS {
        for file in inputs(&root.join(folder)) {
            found.push(Subject { architecture: (*architecture).to_owned(), files: vec![file] });
        }
    }
    found.retain(|subject| !subject.files.is_empty());
    found
}

/// What is alike, together: kinds of files of which there are few are damaged as often as others.
pub fn by_kind(subjects: Vec<Subject>) -> Vec<Vec<Subject>> {
    let mut kinds: BTreeMap<(String, String), Vec<Subject>> = BTreeMap::new();
    for subject in subjects {
        let extension = subject.files[0].extension().unwrap_or_default().to_string_lossy().into_owned();
        kinds.entry((extension, subject.architecture.clone())).or_default().push(subject);
    }
    kinds.into_values().collect()
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let is_input = |path: &PathBuf| KINDS.iter().any(|kind| path.extension().is_some_and(|found| found == *kind));
    entries(folder).into_iter().filter(|path| path.is_file()).filter(is_input).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
