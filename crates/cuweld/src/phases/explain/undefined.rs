//! Undefined references: who refers to the name, and what was perhaps meant.

use super::{first_few, near};
use crate::demangle::demangle;
use crate::diagnostics::{Diagnostic, Message};
use crate::id::{FileId, InputSectionId, SymbolId};
use crate::phases::live::LiveSet;
use crate::phases::load::{InputSymbol, Inputs, OTHER_KERNEL, Place, Role};
use crate::phases::resolve::{Fate, Resolution};
use cubin::symbol::{Binding, SymbolKind};
use std::collections::{HashMap, HashSet};

/// How many references are shown.
const MOST_REFERENCES: usize = 3;
/// For how many names it is tried to find what was meant.
const MOST_HINTS: usize = 20;

/// The facts that are read.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
}

/// Makes one message for each missing name.
pub fn describe(facts: &Facts<'_, '_>, missing: &[SymbolId]) -> Vec<Diagnostic> {
    let mut references = facts.references(missing);
    let definitions = if missing.is_empty() { Vec::new() } else { facts.definitions() };
    let mut diagnostics = Vec::with_capacity(missing.len());
    for (index, &id) in missing.iter().enumerate() {
        let symbol = &facts.resolution.symbols()[id];
        let file = facts.inputs.files()[symbol.first.file].name;
        let shown = demangle(symbol.name);
        let message = Message::UndefinedReference { name: symbol.name.into(), file: file.into() };
        let mut diagnostic = Diagnostic::new(message).headline(format!("undefined reference to '{shown}'"));
        diagnostic.also = first_few(references.remove(&id).unwrap_or_default(), MOST_REFERENCES);
        if diagnostic.also.is_empty() {
            diagnostic.also.push(format!("named in {file}"));
        }
        if shown != symbol.name {
            diagnostic.also.push(format!("its symbol is {}", symbol.name));
        }
        let meant = if index < MOST_HINTS { meant(symbol.name, &shown, &definitions) } else { None };
        diagnostics.push(diagnostic.hint(meant.unwrap_or_else(|| {
            "give the object or library that defines it, compiled with -rdc=true and for this architecture".to_owned()
        })));
    }
    diagnostics
}

/// Something that an input defines.
struct Definition<'data> {
    name: &'data str,
    shown: String,
    base: String,
    file: &'data str,
    local: bool,
}

impl<'data> Facts<'_, 'data> {
    /// Who refers to each of some names, one line per function or variable.
    fn references(&self, missing: &[SymbolId]) -> HashMap<SymbolId, Vec<String>> {
        let missing: HashSet<SymbolId> = missing.iter().copied().collect();
        let mut references: HashMap<SymbolId, Vec<String>> = HashMap::new();
        for (file, object) in self.inputs.files().enumerate() {
            for section in object.sections.iter() {
                let row = &self.inputs.sections()[section];
                let (Role::Relocations { .. }, Some(target)) = (row.role, row.target) else { continue };
                for entry in self.inputs.relocations(file, section) {
                    let Some(meaning) = entry.symbol.and_then(|symbol| self.resolution.meaning(symbol)) else { continue };
                    if !missing.contains(&meaning) {
                        continue;
                    }
                    if let Some(line) = self.referrer(file, target, entry.offset) {
                        let lines = references.entry(meaning).or_default();
                        if lines.last() != Some(&line) {
                            lines.push(line);
                        }
                    }
                }
            }
        }
        references
    }

    /// What stands at an offset of a section, in words.
    fn referrer(&self, file: FileId, section: InputSectionId, offset: u64) -> Option<String> {
        let row = &self.inputs.sections()[section];
        let file_name = self.inputs.files()[file].name;
        match row.role {
            Role::Text => {
                let owner = row.owner?;
                let function = self.resolution.function(owner)?;
                let counts = self.resolution.fate(owner) == Fate::Taken && self.live.contains(function);
                let symbol = &self.inputs.symbols()[owner];
                let kind = if symbol.other & OTHER_KERNEL != 0 { "kernel" } else { "function" };
                counts.then(|| format!("referenced by {kind} {} in {file_name}", demangle(symbol.name)))
            }
            Role::GlobalData | Role::ModuleConstants(_) => {
                let holds = |symbol: &&InputSymbol<'_>| {
                    symbol.place == Place::Section(section)
                        && symbol.kind != SymbolKind::SECTION
                        && (symbol.value..symbol.value.saturating_add(symbol.size)).contains(&offset)
                };
                let symbols = self.inputs.files()[file].symbols.iter().map(|id| &self.inputs.symbols()[id]);
                let variable = { symbols }.find(holds);
                let name = variable.map_or_else(|| row.name.into(), |symbol| demangle(symbol.name));
                Some(format!("referenced by variable {name} in {file_name}"))
            }
            _ => None,
        }
    }

    /// Everything that the inputs define.
    fn definitions(&self) -> Vec<Definition<'data>> {
        let mut definitions = Vec::new();
        for object in self.inputs.files().iter() {
            for symbol in object.symbols.iter().map(|id| &self.inputs.symbols()[id]) {
                let is_nameable = symbol.kind != SymbolKind::SECTION && !symbol.name.is_empty() && !symbol.name.starts_with('.');
                if symbol.place != Place::Undefined && is_nameable {
                    let shown = demangle(symbol.name).into_owned();
                    let local = symbol.binding == Binding::LOCAL;
                    let base = near::base(&shown);
                    definitions.push(Definition { name: symbol.name, shown, base, file: object.name, local });
                }
            }
        }
        definitions
    }
}

/// What was perhaps meant by a name that nobody defines.
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

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z")
}
