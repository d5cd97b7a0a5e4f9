//! The options of a command line once more, so that they mean the same in another folder.

use super::arguments::Repeated;
use super::table::{self, Id, OptionRow, Takes};
use super::text::bytes;
use super::typed::{Item, Typed, Value};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What becomes of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// It names a file that the link reads.
    Reads,
    /// It names a file that the link writes.
    Writes,
    /// It is about inputs, which are given anew, or about the copy itself.
    LeftOut,
}

/// The options that do not mean the same elsewhere.
const TREATMENTS: &[(Id, Treatment)] = &[
    (Id::UidxFile, Treatment::Reads),
    (Id::NvHost, Treatment::Reads),
    (Id::OutputFile, Treatment::Writes),
    (Id::RegisterLinkBinaries, Treatment::Writes),
    (Id::Time, Treatment::Writes),
    (Id::DotFile, Treatment::Writes),
    (Id::Map, Treatment::Writes),
    (Id::Report, Treatment::Writes),
    (Id::TimeTrace, Treatment::Writes),
    (Id::Library, Treatment::LeftOut),
    (Id::LibraryPath, Treatment::LeftOut),
    (Id::OptionsFile, Treatment::LeftOut),
    (Id::WholeArchive, Treatment::LeftOut),
    (Id::NoWholeArchive, Treatment::LeftOut),
    (Id::StartLib, Treatment::LeftOut),
    (Id::EndLib, Treatment::LeftOut),
    (Id::NoteOptions, Treatment::LeftOut),
    (Id::SaveDir, Treatment::LeftOut),
];

/// The options in their order.
pub(super) fn repeated(typed: &Typed) -> Vec<Repeated> {
    let mut repeated = Vec::new();
    for item in typed.items() {
        let Item::Option { id, value } = item else { continue };
        let Some(row) = table::rows().find(|row| row.id == *id) else { continue };
        let treatment = TREATMENTS.iter().find(|(known, _)| known == id).map(|(_, treatment)| *treatment);
        let option = || row.shortest();
        match (treatment, value) {
            (Some(Treatment::LeftOut), _) => {}
            // Standard output.
            (Some(Treatment::Writes), Value::Text(path)) if path == "-" => repeated.push(Repeated::Word(joined(row, path))),
            (Some(Treatment::Writes), Value::Text(path)) => {
                repeated.push(Repeated::Writes { option: option(), path: PathBuf::from(path) });
            }
            (Some(Treatment::Reads), Value::Text(path)) => {
                repeated.push(Repeated::Reads { option: option(), path: PathBuf::from(path) });
            }
            (_, Value::Given) => repeated.push(Repeated::Word(option().into())),
            (_, Value::Text(text)) => repeated.push(Repeated::Word(joined(row, text))),
            (_, Value::Number(number)) => repeated.push(Repeated::Word(joined(row, number.to_string().as_ref()))),
            (_, Value::Size(size)) => repeated.push(Repeated::Word(joined(row, size.to_string().as_ref()))),
            (_, Value::Truth(truth)) => repeated.push(Repeated::Word(joined(row, truth.to_string().as_ref()))),
            (_, Value::List(items)) => {
                repeated.extend(items.iter().map(|item| Repeated::Word(joined(row, &as_item(row, item)))));
            }
        }
    }
    repeated
}

/// An option and its value in one word.
fn joined(row: &OptionRow, value: &OsStr) -> OsString {
    let mut word = OsString::from(row.shortest());
    word.push("=");
    word.push(value);
    word
}

/// An item of a list: commas in it have to stand between quotes.
fn as_item(row: &OptionRow, item: &OsStr) -> OsString {
    if !matches!(row.takes, Takes::List(_)) || !bytes(item).iter().any(|byte| b",\"".contains(byte)) {
        return item.to_owned();
    }
    let mut quoted = OsString::from("\"");
    quoted.push(item);
    quoted.push("\"");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading what was repeated gives the same options again.
    #[test]
    fn what_is_repeated_means_the_same() {
        let scan = |words: Vec<OsString>| {
            super::super::scan::scan(super::super::System::NATIVE, words.into_iter(), &mut |_| Ok(Vec::new())).typed
        };
        let words = "-arch=sm_90 --verbose -Xptxas -O1,\"a,b\",c -maxrregcount 0x20 -u one -u a,b -Ofc -kernels-used=k --max-unpacked=2M \
                     -disable-smem-reservation=true -o x/y -time=- --nv-host h -La -lb c.o --whole-archive";
        let typed = scan(words.split_whitespace().map(OsString::from).collect());
        let again = scan(
            repeated(&typed)
                .into_iter()
                .map(|repeated| match repeated {
                    Repeated::Word(word) => word,
                    Repeated::Reads { option, path } | Repeated::Writes { option, path } => {
                        format!("{option}={}", path.display()).into()
                    }
                })
                .collect(),
        );
        let left_out = [Id::Library, Id::LibraryPath, Id::WholeArchive];
        for row in table::rows() {
            let values = |typed: &Typed| typed.list(row.id).into_iter().map(OsStr::to_owned).collect::<Vec<_>>();
            let expected = if left_out.contains(&row.id) { None } else { typed.last(row.id) };
            match expected {
                Some(Value::List(_)) => assert_eq!(values(&again), values(&typed), "{}", row.long),
                _ => assert_eq!(again.last(row.id), expected, "{}", row.long),
            }
        }
        assert_eq!(again.inputs().count(), 0);
    }
}
