//! Refreshes what is stored, and says what changed.
//!
//! With the reference toolkit, inputs are built from the sources and results come from the reference; without it, only
//! cuweld's own messages and the results of its default mode are refreshed. Then every case is tried, and what it reached is recorded.

use crate::case::{Case, NVLINK_MESSAGES, RICH_MESSAGES, tests_folder};
use crate::linker::{Files, Linker, Mode, Outcome};
use crate::ratchet::{Level, Ratchet};
use crate::say;
use crate::toolkit::Toolkit;
use crate::{differential, golden};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Refreshes the cases whose name contains `filter`.
pub fn bless(cases: &[Arc<Case>], filter: Option<&str>, toolkit: Option<&Toolkit>, before: &Ratchet) -> Result<(), String> {
    let mut after = before.clone();
    let mut refused = Vec::new();
    if toolkit.is_none() {
        say("no reference toolkit: only what cuweld's default mode gives is refreshed");
    }
    for case in cases.iter().filter(|case| filter.is_none_or(|filter| case.name.contains(filter))) {
        let reference = case.reference()?;
        let toolkit = toolkit.filter(|toolkit| toolkit.known == reference);
        for arch in &case.recipe.archs {
            refresh(case, arch, toolkit)?;
            if let Err(why) = golden(case, arch) {
                refused.push(format!("{} {arch}: {}", case.name, why.trim_end()));
                continue;
            }
            let (old, (new, why)) = (before.level(&case.name, arch), reached(case, arch, toolkit));
            if !why.is_empty() {
                say(&format!("{} {arch}: {}", case.name, why.trim_end()));
            }
            if new > old {
                say(&format!("{} {arch} is {new:?} now", case.name));
            } else if new < old && toolkit.is_some() {
                refused.push(format!("{} {arch} was {old:?} and is {new:?}", case.name));
            }
            after.set(&case.name, arch, new.max(old));
        }
        if let Err(why) = case.check_reason() {
            refused.push(format!("{}: {why}", case.name));
        }
    }
    after.keep(|name, arch| cases.iter().any(|case| case.name == name && case.recipe.archs.iter().any(|known| known == arch)));
    if after != *before {
        after.write()?;
    }
    if refused.is_empty() { Ok(()) } else { Err(format!("not what it must be:\n  {}", refused.join("\n  "))) }
}

/// How far a case has come, and what keeps it from the next level.
fn reached(case: &Case, arch: &str, toolkit: Option<&Toolkit>) -> (Level, String) {
    match toolkit {
        Some(toolkit) if case.recipe.deviates.is_none() => match differential(case, arch, toolkit) {
            Ok(()) => (Level::Identical, String::new()),
            Err(why) => (Level::Golden, why),
        },
        _ => (Level::Golden, String::new()),
    }
}

/// Stores fresh inputs and results.
fn refresh(case: &Case, arch: &str, toolkit: Option<&Toolkit>) -> Result<(), String> {
    let cuweld = Linker::cuweld();
    let mut expected = case.expected(arch)?.outcome;
    if let Some(toolkit) = toolkit {
        let all = toolkit.build(case, arch).map_err(|error| format!("{} {arch}: {error}", case.name))?;
        let sources = case.sources()?;
        let built: Files = all.iter().filter(|(name, _)| !sources.contains_key(*name) && case.reads(name)).map(clone).collect();
        store(&case.inputs_folder(arch), &built)?;
        let author = if case.recipe.deviates.is_some() { &cuweld } else { &toolkit.linker() };
        expected = author.link(case, arch, &all, Mode::Reference)?;
        if expected.status != case.recipe.status {
            let told = format!("status {}, case.toml says {}\n{}", expected.status, case.recipe.status, expected.messages);
            return Err(format!("{} {arch}: {told}", case.name));
        }
    }
    let mut own = cuweld.link(case, arch, &case.stored_inputs(arch)?, Mode::Default)?;
    own.outputs.retain(|name, bytes| expected.outputs.get(name) != Some(bytes));
    store(&case.default_folder(arch), &own.outputs)?;
    store(&case.expected_folder(arch), &with_messages(expected, own.messages))
}

/// The files that an outcome is stored as.
fn with_messages(outcome: Outcome, rich: String) -> Files {
    let mut files = outcome.outputs;
    for (name, text) in [(NVLINK_MESSAGES, outcome.messages), (RICH_MESSAGES, rich)] {
        if !text.is_empty() {
            files.insert(name.into(), text.into_bytes());
        }
    }
    files
}

fn clone((name, bytes): (&String, &Vec<u8>)) -> (String, Vec<u8>) {
    (name.clone(), bytes.clone())
}

/// A path as people know it.
fn shown(path: &Path) -> String {
    format!("tests/{}", path.strip_prefix(tests_folder()).unwrap_or(path).display())
}

/// Makes a folder hold exactly these files; says which changed.
fn store(folder: &Path, files: &Files) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if files.is_empty() && !folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(failed)?;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !files.contains_key(&name) {
            say(&format!("removed {}", shown(&path)));
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        let old = fs::read(&path).ok();
        if old.as_ref() != Some(bytes) {
            say(&format!("{} {}", if old.is_some() { "changed" } else { "new" }, shown(&path)));
            fs::write(&path, bytes).map_err(failed)?;
        }
    }
    if files.is_empty() {
        // Nothing is left in it.
        fs::remove_dir(folder).map_err(failed)?;
    }
    Ok(())
}
