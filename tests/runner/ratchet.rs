//! `tests/ratchet.toml`: how far each case has come. It only rises.

use crate::case::tests_folder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// How far a case has come.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The stored inputs give the stored results. Every case has come that far.
    #[default]
    Golden,
    /// And the reference, run on fresh inputs, gives the same bytes, status and messages.
    Identical,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Golden => "golden",
            Level::Identical => "identical",
        }
    }
}

/// The levels of all cases, by case and architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratchet {
    levels: BTreeMap<String, BTreeMap<String, Level>>,
}

const HEADING: &str = "\
# How far each case has come: golden (the stored inputs give the stored results), identical (so does the reference on fresh inputs). Written by `cargo xtask bless`, which never lowers a level.
";

fn path() -> PathBuf {
    tests_folder().join("ratchet.toml")
}

impl Ratchet {
    /// Reads the record; an absent one is empty.
    pub fn read() -> Result<Self, String> {
        let path = path();
        if !path.exists() {
            return Ok(Ratchet::default());
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let levels = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Ratchet { levels })
    }

    /// What a case has reached.
    pub fn level(&self, case: &str, arch: &str) -> Level {
        self.levels.get(case).and_then(|archs| archs.get(arch)).copied().unwrap_or_default()
    }

    /// Records a level.
    pub fn set(&mut self, case: &str, arch: &str, level: Level) {
        self.levels.entry(case.to_owned()).or_default().insert(arch.to_owned(), level);
    }

    /// Forgets what is not a case any more.
    pub fn keep(&mut self, exists: impl Fn(&str, &str) -> bool) {
        for (case, archs) in &mut self.levels {
            archs.retain(|arch, _| exists(case, arch));
        }
        self.levels.retain(|_, archs| !archs.is_empty());
    }

    /// Writes the record, one line for each case.
    pub fn write(&self) -> Result<(), String> {
        let mut text = String::from(HEADING);
        for (case, archs) in &self.levels {
            let levels: Vec<String> = archs.iter().map(|(arch, level)| format!("{arch} = \"{}\"", level.name())).collect();
            text.push_str(&format!("{case} = {{ {} }}\n", levels.join(", ")));
        }
        fs::write(path(), text).map_err(|error| format!("{}: {error}", path().display()))
    }
}
