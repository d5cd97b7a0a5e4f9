//! The options text of the note that a linked file carries (`.note.nv.tkinfo`).
//!
//! It does not repeat the command line. It goes through the table and writes `-name value ` for every option that was
//! given, with the last value, or all items of a list; an option without a value leaves two blanks after its name. So
//! the text depends neither on the order of the options nor on where they were read from.
//!
//! A detailed note, which `-g` asks for, begins with the inputs and also has options that name files. Of their paths it
//! has only the last part, and of options files nothing but the fact.

use super::table::{self, Id, Noted, Takes};
use super::text::{bytes, shown};
use super::typed::{Typed, Value};
use std::ffi::OsStr;

/// The options text of the note.
pub fn note_options(typed: &Typed) -> String {
    let detailed = is_detailed(typed);
    let mut text = String::new();
    if detailed {
        let inputs: Vec<String> = typed.inputs().map(last_part).collect();
        text.push_str(&format!("{} ", inputs.join(",")));
    }
    for row in table::rows() {
        let told = match row.noted {
            Noted::Never => false,
            Noted::Always => true,
            Noted::InDetail => detailed,
        };
        let Some(last) = typed.last(row.id).filter(|_| told) else {
            continue;
        };
        let value = match last {
            Value::Given => String::new(),
            Value::Text(path) if row.noted == Noted::InDetail => last_part(path),
            Value::Text(text) => shown(text),
            Value::Number(number) => number.to_string(),
            Value::Size(size) => size.to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::List(_) if matches!(row.takes, Takes::OptionsFiles(_)) => String::new(),
            Value::List(_) => typed.list(row.id).into_iter().map(shown).collect::<Vec<_>>().join(","),
        };
        text.push_str(&format!("-{} {value} ", row.short.unwrap_or_default()));
    }
    text
}

/// The object that the note speaks of: the output in a detailed note, else none.
pub fn note_object(typed: &Typed) -> String {
    typed.text(Id::OutputFile).filter(|_| is_detailed(typed)).map(last_part).unwrap_or_default()
}

fn is_detailed(typed: &Typed) -> bool {
    typed.truth(Id::VerboseTkinfo).unwrap_or_else(|| typed.has(Id::Debug))
}

/// The part of a path after the last slash. (Unlike `Path::file_name`, nothing for `folder/`.)
fn last_part(path: &OsStr) -> String {
    let bytes = bytes(path);
    let is_separator = |byte: &u8| *byte == b'/' || (cfg!(windows) && *byte == b'\\');
    let start = bytes.iter().rposition(is_separator).map_or(0, |at| at + 1);
    String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
}
