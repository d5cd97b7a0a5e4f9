//! Undefined references: who refers to the symbol, and which name was probably meant.

use super::referrers::Referrers;
use super::{first_few, near};
use crate::demangle::demangle;
use crate::diagnostics::{Diagnostic, Message};
use crate::id::SymbolId;
use crate::phases::load::{Inputs, Place};
use cubin::symbol::{Binding, SymbolKind};

/// How many references are shown.
const MOST_REFERENCES: usize = 3;
/// For how many names it is tried to find what was meant.
const MOST_HINTS: usize = 20;

/// What helps if nothing is known.
pub const USUAL_ADVICE: &str = "give the object or library that defines it, compiled with -rdc=true and for this architecture";

/// Makes one message for each missing name.
pub fn describe(facts: &Referrers<'_, '_>, missing: &[SymbolId]) -> Vec<Diagnostic> {
    let mut references = facts.of(missing);
    let definitions = if missing.is_empty() { Vec::new() } else { definitions(facts.inputs) };
    let mut diagnostics = Vec::with_capacity(missing.len());
    for (index, &id) in missing.iter().enumerate() {
        let symbol = &facts.resolution.symbols()[id];
        let name = symbol.name(facts.inputs);
        let file = facts.inputs.files()[symbol.named_after].name;
        let shown = demangle(name);
        let message = Message::UndefinedReference { name: name.into(), file: file.into() };
        let mut diagnostic = Diagnostic::new(message).headline(format!("undefined reference to '{shown}'"));
        diagnostic.also = first_few(references.remove(&id).unwrap_or_default(), MOST_REFERENCES, |reference| reference);
        if diagnostic.also.is_empty() {
            diagnostic.also.push(format!("named in {file}"));
        }
        if shown != name {
            diagnostic.also.push(format!("its symbol is {name}"));
        }
        let meant = if index < MOST_HINTS { meant(name, &shown, &definitions) } else { None };
        let meant = meant.or_else(|| is_device_runtime(name).then(|| DEVICE_RUNTIME_ADVICE.to_owned()));
        diagnostics.push(diagnostic.hint(meant.unwrap_or_else(|| USUAL_ADVICE.to_owned())));
    }
    diagnostics
}

/// The message for a name that units need of which nothing else is known.
pub fn needed_by(name: &str, units: &[&str]) -> Diagnostic {
    let shown = demangle(name);
    let message = Message::UndefinedReference { name: name.into(), file: units.first().copied().unwrap_or_default().into() };
    let mut diagnostic = Diagnostic::new(message).headline(format!("undefined reference to '{shown}'")).hint(USUAL_ADVICE);
    diagnostic.also = first_few(units, MOST_REFERENCES, |unit| format!("referenced in {unit}"));
    if shown != name {
        diagnostic.also.push(format!("its symbol is {name}"));
    }
    diagnostic
}

/// Something that an input defines.
struct Definition<'data> {
    name: &'data str,
    shown: String,
    base: String,
    file: &'data str,
    local: bool,
}

/// Everything that the inputs define.
fn definitions<'data>(inputs: &Inputs<'data>) -> Vec<Definition<'data>> {
    let mut definitions = Vec::new();
    for object in inputs.files().iter() {
        for symbol in object.symbols.iter().map(|id| &inputs.symbols()[id]) {
            let is_nameable = symbol.kind != SymbolKind::SECTION && !symbol.name.is_empty() && !symbol.name.starts_with('.');
            if symbol.place() != Place::Undefined && is_nameable {
                let shown = demangle(symbol.name).into_owned();
                let local = symbol.binding == Binding::LOCAL;
                let base = near::base(&shown);
                definitions.push(Definition { name: symbol.name, shown, base, file: object.name, local });
            }
        }
    }
    definitions
}

/// Defined names that are similar to an undefined one.
fn meant(name: &str, shown: &str, definitions: &[Definition<'_>]) -> Option<String> {
    let named = |definition: &&Definition<'_>| definition.shown.replace("<unnamed>::", "") == shown;
    if let Some(found) = definitions.iter().filter(|definition| definition.local).find(named) {
        return Some(format!(
            "{} defines it for itself only: take away 'static', or the namespace without a name around it",
            found.file
        ));
    }
    let base = near::base(shown);
    let visible = || definitions.iter().filter(|definition| !definition.local);
    if let Some(found) = visible().find(|definition| definition.base == base) {
        let advice = if is_mangled(name) == is_mangled(found.name) {
            "do its declarations agree?"
        } else {
            "declare both extern \"C\", or neither"
        };
        return Some(format!("{} defines '{}': {advice}", found.file, found.shown));
    }
    let nearest =
        visible().filter_map(|found| Some((near::distance(&base, &found.base)?, found))).min_by_key(|&(distance, _)| distance);
    nearest.map(|(_, found)| format!("{} defines '{}': is the name misspelled?", found.file, found.shown))
}

/// What helps if the device runtime is missing.
const DEVICE_RUNTIME_ADVICE: &str = "the device runtime defines it: add -lcudadevrt, and -L with the toolkit's folder of libraries. nvcc \
                                     adds them when it is given -rdc=true, unless it is told otherwise (-cudadevrt=none)";

/// Whether a name is one of the device runtime's: functions of `cuda_device_runtime_api.h` (launches from kernels, cooperative groups)
/// and those that they are replaced by.
fn is_device_runtime(name: &str) -> bool {
    let behind = name.strip_prefix("__cudaCDP2").or_else(|| name.strip_prefix("cuda")).unwrap_or_default();
    behind.starts_with(|first: char| first.is_ascii_uppercase())
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z")
}
