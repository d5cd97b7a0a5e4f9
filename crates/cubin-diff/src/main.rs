//! `cubin-diff`: says how two cubins differ, or shows what one holds.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use cubin::read::File;
use cubin_diff::{Area, Difference};

const USAGE: &str = "\
Says how two cubins differ, in the terms of a linker.

usage: cubin-diff [--most N] [--regenerated] LEFT RIGHT
       cubin-diff --dump FILE

  --most N       show at most N differences of each part of the file; 0 shows all (default: 20)
  --regenerated  name the functions whose machine code differs, and leave out what follows from that: for files of which
                 one keeps the compiler's code and the other has generated it anew
  --dump FILE    show everything in a file as text
  --help         show this

Exit status: 0 when nothing differs that is not left out, 1 when something does, 2 when something is wrong.
";

/// How many differences of each part of a file are shown unless `--most` says otherwise.
const MOST: usize = 20;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Request {
    Help,
    Dump(PathBuf),
    Compare { most: usize, regenerated: bool, left: PathBuf, right: PathBuf },
}

fn main() -> ExitCode {
    let answer = parse(std::env::args_os().skip(1)).and_then(|request| run(&request));
    match answer {
        Ok(same) => ExitCode::from(u8::from(!same)),
        Err(message) => {
            // When even this cannot be written, the exit status still tells.
            let _ = writeln!(io::stderr(), "cubin-diff: {message}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut arguments = arguments;
    let mut files = Vec::new();
    let mut most = MOST;
    let mut regenerated = false;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{} needs a value", argument.display()));
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Request::Help),
            Some("--dump") => return Ok(Request::Dump(value()?.into())),
            Some("--most") => {
                let value = value()?;
                let number = value.to_str().and_then(|value| value.parse().ok());
                most = number.ok_or_else(|| format!("--most: '{}' is no number", value.display()))?;
            }
            Some("--regenerated") => regenerated = true,
            Some(option) if option.starts_with("--") => {
                return Err(format!("unknown option {option}"));
            }
            _ => files.push(PathBuf::from(argument)),
        }
    }
    match <[PathBuf; 2]>::try_from(files) {
        Ok([left, right]) => Ok(Request::Compare { most, regenerated, left, right }),
        Err(files) => Err(format!("expected two files, got {}; see --help", files.len())),
    }
}

/// Does what was asked for. Returns whether the files are the same.
fn run(request: &Request) -> Result<bool, String> {
    match request {
        Request::Help => print(USAGE).map(|()| true),
        Request::Dump(path) => {
            let bytes = read(path.as_os_str())?;
            let file = File::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            print(&cubin::dump::dump(&file)).map(|()| true)
        }
        Request::Compare { most, regenerated, left, right } => {
            let (left_bytes, right_bytes) = (read(left.as_os_str())?, read(right.as_os_str())?);
            let file = |bytes, path: &PathBuf| File::parse(bytes).map_err(|error| format!("{}: {error}", path.display()));
            let mut differences = cubin_diff::compare_files(&file(&left_bytes, left)?, &file(&right_bytes, right)?);
            if *regenerated {
                let sorted = cubin_diff::regenerated(differences);
                sorted.functions.iter().try_for_each(|name| print(&format!("other code: '{name}'\n")))?;
                differences = sorted.others;
            }
            print(&report(&differences, *most))?;
            Ok(differences.is_empty())
        }
    }
}

fn read(path: &OsStr) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// One line for each difference, and how many of each part are not shown.
fn report(differences: &[Difference], most: usize) -> String {
    let most = if most == 0 { usize::MAX } else { most };
    let mut by_area: BTreeMap<Area, Vec<&Difference>> = BTreeMap::new();
    for difference in differences {
        by_area.entry(difference.area).or_default().push(difference);
    }
    let mut text = String::new();
    for (area, differences) in by_area {
        for difference in differences.iter().take(most) {
            text.push_str(&format!("{difference}\n"));
        }
        if let Some(more) = differences.len().checked_sub(most).filter(|more| *more > 0) {
            text.push_str(&format!("{area}: {more} more\n"));
        }
    }
    text
}

/// Writes to standard output. A reader that has seen enough is no error.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Request, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn arguments() {
        let compare = |most, regenerated| Request::Compare { most, regenerated, left: "a".into(), right: "b".into() };
        assert_eq!(parsed(&["a", "b"]), Ok(compare(20, false)));
        assert_eq!(parsed(&["a", "--most", "3", "b"]), Ok(compare(3, false)));
        assert_eq!(parsed(&["a", "b", "--regenerated"]), Ok(compare(20, true)));
        assert_eq!(parsed(&["--dump", "a"]), Ok(Request::Dump("a".into())));
        assert_eq!(parsed(&["a"]), Err("expected two files, got 1; see --help".to_owned()));
        assert_eq!(parsed(&["--most", "x", "a", "b"]), Err("--most: 'x' is no number".to_owned()));
        assert_eq!(parsed(&["--dump"]), Err("--dump needs a value".to_owned()));
        assert_eq!(parsed(&["--what"]), Err("unknown option --what".to_owned()));
    }
}
