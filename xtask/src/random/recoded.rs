//! Code that the reference generated anew.
//!
//! For sm_100 and later, the reference linker makes the machine code of every function itself, and some of it then differs from the
//! compiler's. A linker that keeps the compiler's code is right as well: the functions whose code differs must then have the code of an
//! input, and nothing else may differ but what follows from that, such as offsets in the code.

use std::collections::BTreeSet;

use cubin::read::{File, Section};
use cubin::relocation;
use cubin::section::Contents;
use cubin_diff::{Area, Difference as Found};

use super::difference::{Difference, kind};
use super::run::Outcome;

/// The functions whose code the reference generated anew.
#[derive(Debug, Default, PartialEq)]
pub struct Recoded {
    /// Their names.
    pub functions: Vec<String>,
    /// Whether bytes of code are all that differs. Otherwise, offsets differ as well.
    pub in_place: bool,
}

/// What differs, if only the outputs do: the functions that were generated anew, or, when there is more to it, the class of the rest.
/// `None` where code is not generated anew.
pub fn recoded(reference: &Outcome, candidate: &Outcome, inputs: &[Vec<u8>]) -> Option<Result<Recoded, Difference>> {
    let (expected, found) = (reference.output.as_ref()?, candidate.output.as_ref()?);
    if expected == found {
        return None;
    }
    let (expected, found) = (File::parse(expected).ok()?, File::parse(found).ok()?);
    expected.mercury_symbol_table()?;
    let inputs: Vec<File<'_>> = inputs.iter().filter_map(|input| File::parse(input).ok()).collect();
    let differences = cubin_diff::compare_files(&expected, &found);
    let is_code = |difference: &Found| match difference.area {
        Area::Contents => difference.place.starts_with("'.text."),
        area => area == Area::Bytes,
    };
    let in_place = differences.iter().all(is_code);
    let sorted = cubin_diff::regenerated(differences);
    if sorted.functions.is_empty() {
        return None;
    }
    let mut others: BTreeSet<String> = sorted.others.iter().map(class).collect();
    if !sorted.functions.iter().all(|function| is_from_inputs(&found, function, &inputs)) {
        others.insert("code of no input".to_owned());
    }
    Some(match others.is_empty() {
        true => Ok(Recoded { functions: sorted.functions, in_place }),
        false => Err(Difference::of_kind(others.into_iter().collect::<Vec<_>>().join(", "))),
    })
}

/// The class of a difference: what part of the file, and what kind of section.
fn class(difference: &Found) -> String {
    let place = difference.place.split('\'').nth(1).map(kind).unwrap_or_default();
    format!("{} {place}", difference.area).trim_end().to_owned()
}

/// Whether a function has the code of an input, but for instructions that have relocations there.
fn is_from_inputs(output: &File<'_>, function: &str, inputs: &[File<'_>]) -> bool {
    let is_code = |section: &&Section<'_>| section.name.strip_prefix(".text.") == Some(function);
    output.sections().iter().filter(is_code).all(|code| {
        inputs.iter().any(|input| input.sections().iter().filter(is_code).any(|source| is_from_input(code, input, source)))
    })
}

/// Whether a code is that of a section of an input, likewise.
pub(super) fn is_from_input(code: &Section<'_>, input: &File<'_>, source: &Section<'_>) -> bool {
    let relocated = relocated_instructions(input, source);
    code.data.len() == source.data.len()
        && (code.data.chunks(INSTRUCTION).zip(source.data.chunks(INSTRUCTION)).enumerate())
            .all(|(index, (one, other))| one == other || relocated.contains(&index))
}

/// The size of an instruction.
const INSTRUCTION: usize = 16;

/// The instructions of a section that have relocations, by index.
fn relocated_instructions(file: &File<'_>, code: &Section<'_>) -> BTreeSet<usize> {
    let is_list =
        |list: &&Section<'_>| matches!(list.kind().contents(), Contents::Rel | Contents::Rela) && list.header.info == code.index;
    let entries = file.sections().iter().filter(is_list).flat_map(|list| relocation::entries(list).into_iter().flatten());
    entries.filter_map(|entry| Some(usize::try_from(entry.offset).ok()? / INSTRUCTION)).collect()
}
