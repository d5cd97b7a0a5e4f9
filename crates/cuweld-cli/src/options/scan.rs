//! Reads arguments by the table: from words to what was typed, without asking what it means.
//!
//! The reference's grammar: a long name follows two dashes, a short name, often of several letters, after one,
//! and neither can be abbreviated or exchanged. A value follows as the next argument, whatever it looks like, or after
//! `=`. Three options let the value follow the short name directly (`-lm`, `-Ldir`, `-m64`), if no option has that
//! whole name. Everything else is an input. Reading stops at the first mistake.

use super::arguments::NewerWord;
use super::number::{self, NotANumber};
use super::problem::{Found, Problem, UsageProblem};
use super::system::System;
use super::table::{self, Id, OptionRow, Takes};
use super::text::{bytes, from_bytes, shown};
use super::typed::{Item, Typed, Value};
use super::words::{self, Stray};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How many options files may be open inside each other.
const DEEPEST_FILE: usize = 15;

/// What options files may come to, all together, in bytes. A file may be named many times, and name others many times.
const MOST_INCLUDED: usize = 512 << 20;
/// What a file, and what each word in it comes to besides its text.
const COST_OF_FILE: usize = 16 << 10;
const COST_OF_WORD: usize = 128;

/// Reads an options file, as far as one may go: a device or a pipe need not end.
pub fn read_options_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    File::open(path)?.take(MOST_INCLUDED as u64 + 1).read_to_end(&mut contents)?;
    if contents.len() > MOST_INCLUDED { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(contents) }
}

/// Options files of command lines that are not for the scanner, and what they came to so far.
#[derive(Default)]
pub struct OptionsFiles {
    included: Cell<usize>,
}

impl OptionsFiles {
    /// Reads one more.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let contents = read_options_file(path)?;
        let words = contents.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        self.included.set(self.included.get() + cost(words));
        if self.included.get() > MOST_INCLUDED { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(contents) }
    }
}

/// What an options file comes to.
fn cost<'words>(words: impl Iterator<Item = &'words [u8]>) -> usize {
    COST_OF_FILE + words.map(|word| COST_OF_WORD + word.len()).sum::<usize>()
}

/// How the scanner gets at the contents of a file.
pub(super) type ReadFile<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Vec<u8>>;

/// What the arguments say, and what there is to warn about; after a mistake, what was read up to it.
pub(super) struct Scanned {
    pub(super) typed: Typed,
    pub(super) warnings: Vec<UsageProblem>,
    pub(super) mistake: Option<UsageProblem>,
}

/// Reads all arguments.
pub(super) fn scan(system: System, arguments: impl Iterator<Item = OsString>, read_file: ReadFile<'_>) -> Scanned {
    let mut scanner = Scanner { system, typed: Typed::default(), warnings: Vec::new(), open_files: 0, included: 0, read_file };
    let result = scanner.words(&mut arguments.into_iter());
    let mistake = result.err().map(|problem| UsageProblem { problem, found: Found::WhileReading });
    Scanned { typed: scanner.typed, warnings: scanner.warnings, mistake }
}

struct Scanner<'a> {
    system: System,
    typed: Typed,
    warnings: Vec<UsageProblem>,
    open_files: usize,
    /// What options files came to so far.
    included: usize,
    read_file: ReadFile<'a>,
}

/// An option as it stands on the command line.
struct Spelled<'a> {
    row: &'static OptionRow,
    /// The name with its dashes.
    name: &'a [u8],
    /// What follows `=`, or directly after the name.
    value: Option<&'a [u8]>,
}

impl Scanner<'_> {
    fn words(&mut self, words: &mut dyn Iterator<Item = OsString>) -> Result<(), Problem> {
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            if is_option(&word) {
                self.option(&word, &mut words)?;
            } else if !self.response_file(&word)? {
                self.typed.push(Item::Input(word));
            }
        }
        Ok(())
    }

    fn option(
        &mut self,
        word: &OsStr,
        rest: &mut std::iter::Peekable<&mut dyn Iterator<Item = OsString>>,
    ) -> Result<(), Problem> {
        let Spelled { row, name, value } = spelled(bytes(word))?;
        let name = String::from_utf8_lossy(name).into_owned();
        let value = match (row.takes, value) {
            (Takes::Nothing, None) => None,
            (Takes::Nothing, Some(_)) => return Err(Problem::NoArgumentExpected { option: name }),
            (_, Some(value)) => Some(value.to_vec()),
            (takes, None) if takes.is_optional() => rest.next_if(|next| !is_option(next)).map(|next| bytes(&next).to_vec()),
            (_, None) => {
                let next = rest.next().ok_or_else(|| Problem::ArgumentExpected { option: name.clone() })?;
                Some(bytes(&next).to_vec())
            }
        };
        let value = read_value(row, value.as_deref())?;
        self.note_newer(row, &name, &value);
        self.set(row, value)
    }

    /// Notes what not every release knows, with what those say that do not.
    fn note_newer(&mut self, row: &OptionRow, name: &str, value: &Value) {
        let text = if let Value::Text(text) = value { Some(shown(text)) } else { None };
        let Some(toolkit) = table::first_toolkit(row.id, text.as_deref()) else { return };
        let (word, problem) = match text {
            Some(value) => (value.clone(), Problem::ValueNotDefined { value, option: row.long.to_owned() }),
            None => (name.to_owned(), Problem::UnknownOption { name: name.strip_prefix('-').unwrap_or_default().to_owned() }),
        };
        self.typed.is_newer(NewerWord { word, toolkit, problem: UsageProblem { problem, found: Found::WhileReading } });
    }

    fn set(&mut self, row: &OptionRow, value: Value) -> Result<(), Problem> {
        // A list grows; anything else is replaced, which is worth a warning unless nothing changes.
        let replaces = !matches!(value, Value::List(_)) && self.typed.last(row.id).is_some_and(|before| *before != value);
        if replaces {
            let problem = Problem::Redefinition { option: row.long.to_owned() };
            self.warnings.push(UsageProblem { problem, found: Found::WhileReading });
        }
        let files = match (&value, row.id) {
            (Value::List(files), Id::OptionsFile) => files.clone(),
            _ => Vec::new(),
        };
        self.typed.push(Item::Option { id: row.id, value });
        files.iter().try_for_each(|file| self.options_file(file))
    }

    fn options_file(&mut self, file: &OsStr) -> Result<(), Problem> {
        if self.open_files == DEEPEST_FILE {
            return Err(Problem::TooManyOptionsFiles { file: shown(file) });
        }
        let contents = (self.read_file)(Path::new(file)).map_err(|_| Problem::CannotOpenOptionsFile { file: shown(file) })?;
        let words = match self.system {
            System::Unix => words::options_file(&contents),
            System::Windows => words::windows_options_file(&contents),
        };
        let words = words.map_err(stray)?;
        self.nested(file, words)
    }

    /// Reads `@file`. A file that cannot be read is left to be an input, as in other linkers.
    fn response_file(&mut self, word: &OsStr) -> Result<bool, Problem> {
        let Some(file) = bytes(word).strip_prefix(b"@").filter(|file| !file.is_empty()) else {
            return Ok(false);
        };
        let file = from_bytes(file);
        let Ok(contents) = (self.read_file)(Path::new(&file)) else {
            return Ok(false);
        };
        if self.open_files == DEEPEST_FILE {
            return Err(Problem::TooManyOptionsFiles { file: shown(&file) });
        }
        self.nested(&file, words::response_file(&contents)).map(|()| true)
    }

    fn nested(&mut self, file: &OsStr, words: Vec<Vec<u8>>) -> Result<(), Problem> {
        self.typed.was_read_from(Path::new(file));
        self.included += cost(words.iter().map(Vec::as_slice));
        if self.included > MOST_INCLUDED {
            return Err(Problem::TooManyOptionsFiles { file: shown(file) });
        }
        self.open_files += 1;
        let result = self.words(&mut words.iter().map(|word| from_bytes(word)));
        self.open_files -= 1;
        result
    }
}

/// Whether an argument is an option. A single dash is the name of an input.
fn is_option(word: &OsStr) -> bool {
    matches!(bytes(word), [b'-', _, ..])
}

/// Finds the row of an option, and cuts off what belongs to its value.
fn spelled(word: &[u8]) -> Result<Spelled<'_>, Problem> {
    let (name, value) = match word.iter().position(|&byte| byte == b'=') {
        Some(at) => (word.get(..at).unwrap_or_default(), word.get(at + 1..)),
        None => (word, None),
    };
    let behind_dash = name.get(1..).unwrap_or_default();
    let row = match behind_dash.strip_prefix(b"-") {
        Some(long) => table::by_long_name(long),
        None => table::by_short_name(behind_dash),
    };
    if let Some(row) = row {
        return Ok(Spelled { row, name, value });
    }
    if let Some((row, value)) = table::by_glued_name(word.get(1..).unwrap_or_default()) {
        return Ok(Spelled { row, name, value: Some(value) });
    }
    Err(Problem::UnknownOption { name: String::from_utf8_lossy(behind_dash).into_owned() })
}

/// Reads a value as the option's row asks.
fn read_value(row: &OptionRow, value: Option<&[u8]>) -> Result<Value, Problem> {
    let text = value.unwrap_or_default();
    let quoted = || String::from_utf8_lossy(text).into_owned();
    let not_defined = || Problem::ValueNotDefined { value: quoted(), option: row.long.to_owned() };
    let number = || {
        number::signed(text).map_err(|problem| match problem {
            NotANumber::Malformed => Problem::ExpectedNumber { value: quoted() },
            NotANumber::OutOfRange => Problem::NumberOutOfRange { value: quoted() },
        })
    };
    match row.takes {
        Takes::Nothing => Ok(Value::Given),
        Takes::Text(_) => Ok(Value::Text(from_bytes(text))),
        Takes::OptionalText { default, .. } => Ok(Value::Text(value.map_or_else(|| default.into(), from_bytes))),
        Takes::Keyword { allowed, .. } => {
            let word = allowed.iter().find(|word| word.as_bytes() == text).ok_or_else(not_defined)?;
            Ok(Value::Text(word.into()))
        }
        Takes::OptionalKeyword { allowed, .. } => {
            let wanted = |word: &&&str| value.is_none_or(|value| word.as_bytes() == value);
            let word = allowed.iter().find(wanted).ok_or_else(not_defined)?;
            Ok(Value::Text(word.into()))
        }
        Takes::Architecture(_) => {
            let known = std::str::from_utf8(text).is_ok_and(super::architecture::is_known);
            if known { Ok(Value::Text(from_bytes(text))) } else { Err(not_defined()) }
        }
        Takes::CudaRelease(_) | Takes::NvlinkBuild(_) => {
            let words = row.takes.words();
            let word = words.iter().find(|word| word.as_bytes() == text).ok_or_else(not_defined)?;
            Ok(Value::Text(word.into()))
        }
        Takes::Number(_) => Ok(Value::Number(number()?)),
        Takes::ExactNumber { allowed, .. } => {
            if number()? == allowed {
                Ok(Value::Number(allowed))
            } else {
                Err(not_defined())
            }
        }
        Takes::Size(_) => Ok(Value::Size(number::size(text).map_err(|_| Problem::ExpectedSize { value: quoted() })?)),
        Takes::Truth => match text {
            b"true" => Ok(Value::Truth(true)),
            b"false" => Ok(Value::Truth(false)),
            _ => Err(Problem::ExpectedTruth { value: quoted() }),
        },
        Takes::List(_) | Takes::OptionsFiles(_) => {
            let items = words::list(text).map_err(stray)?;
            Ok(Value::List(items.iter().map(|item| from_bytes(item)).collect()))
        }
        Takes::Each(_) | Takes::EachIfAny(_) => Ok(Value::List(value.map(from_bytes).into_iter().collect())),
    }
}

fn stray(stray: Stray) -> Problem {
    let character = match stray {
        Stray::Quote => "\"",
        // The reference leaves the character out.
        Stray::Backslash => "",
    };
    Problem::StrayCharacter { character: character.to_owned() }
}
