//! The same link, done again in other circumstances, gives the same bytes and the same words.

use crate::case::Case;
use crate::compare;
use crate::linker::{Files, Outcome, run, write};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a link must not depend on.
struct Circumstances {
    /// What they are called in messages.
    name: &'static str,
    /// As many threads as there are, if none are named.
    threads: Option<&'static str>,
    /// The language of the user.
    locale: &'static str,
    /// Name the inputs by absolute paths, and link in another folder.
    from_elsewhere: bool,
}

/// Ten in a row.
const ALL: [Circumstances; 10] = [
    Circumstances { name: "once", threads: None, locale: "C", from_elsewhere: false },
    Circumstances { name: "again", threads: None, locale: "C", from_elsewhere: false },
    Circumstances { name: "on one thread", threads: Some("1"), locale: "C", from_elsewhere: false },
    Circumstances { name: "on two threads", threads: Some("2"), locale: "C", from_elsewhere: false },
    Circumstances { name: "on seven threads", threads: Some("7"), locale: "C", from_elsewhere: false },
    Circumstances { name: "in German", threads: Some("2"), locale: "de_DE.UTF-8", from_elsewhere: false },
    Circumstances { name: "in Turkish", threads: Some("3"), locale: "tr_TR.UTF-8", from_elsewhere: false },
    Circumstances { name: "from elsewhere", threads: None, locale: "C", from_elsewhere: true },
    Circumstances { name: "from elsewhere on four threads", threads: Some("4"), locale: "ja_JP.UTF-8", from_elsewhere: true },
    Circumstances { name: "for the last time", threads: None, locale: "C", from_elsewhere: false },
];

/// Links a case in all circumstances.
pub fn check(case: &Case, arch: &str) -> Result<(), String> {
    let inputs = case.stored_inputs(arch)?;
    let first = link(case, arch, &inputs, &ALL[0])?;
    for circumstances in &ALL[1..] {
        let other = link(case, arch, &inputs, circumstances)?;
        compare::outcomes(ALL[0].name, &first, circumstances.name, &other)?;
    }
    Ok(())
}

fn link(case: &Case, arch: &str, inputs: &Files, circumstances: &Circumstances) -> Result<Outcome, String> {
    let failed = |error: std::io::Error| format!("no folder to work in: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let elsewhere = tempfile::tempdir().map_err(failed)?;
    write(folder.path(), inputs)?;
    let mut outcome = Outcome { status: 0, messages: String::new(), outputs: Files::new() };
    for line in &case.recipe.link {
        let words = Case::words(line, arch);
        // The only thing that may differ: the note tells how the linker was called.
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        command
            .arg("--no-command-line-note")
            .stdin(Stdio::null())
            .env("LC_ALL", circumstances.locale)
            .env("LANG", circumstances.locale);
        match circumstances.from_elsewhere {
            true => command.args(words.iter().map(|word| absolute(word, case, inputs, folder.path()))).current_dir(&elsewhere),
            false => command.args(words).current_dir(&folder),
        };
        match circumstances.threads {
            Some(threads) => command.arg(format!("--threads={threads}")),
            None => &mut command,
        };
        let (status, messages) = run(&mut command)?;
        outcome.messages.push_str(&messages.replace(&format!("{}/", folder.path().display()), ""));
        outcome.status = status;
        if status != 0 {
            break;
        }
    }
    for name in &case.recipe.outputs {
        // A file of options names its files as it likes.
        if let Some(bytes) = [&folder, &elsewhere].iter().find_map(|folder| fs::read(folder.path().join(name)).ok()) {
            outcome.outputs.insert(name.clone(), bytes);
        }
    }
    Ok(outcome)
}

/// A word of a command line for use in another folder: names of files that the case has or makes, alone or after an option, and folders.
fn absolute(word: &str, case: &Case, inputs: &Files, folder: &Path) -> String {
    let is_file =
        |name: &str| inputs.contains_key(name) || case.recipe.outputs.iter().any(|output| output == name) || name == ".";
    let ends = word.char_indices().map(|(index, _)| index).filter(|&index| is_file(&word[index..]));
    let is_start = |&index: &usize| index == 0 || word[..index].ends_with(['=', ',']) || word[..index] == *"-L";
    match ends.into_iter().find(is_start) {
        Some(index) => format!("{}{}/{}", &word[..index], folder.display(), &word[index..]),
        None => word.to_owned(),
    }
}
