//! The code and data that refer to a symbol.

use crate::demangle::demangle;
use crate::id::{FileId, InputSectionId, InputSymbolId, SymbolId};
use crate::phases::live::LiveSet;
use crate::phases::load::{Inputs, Place, Role};
use crate::phases::resolve::{Fate, Resolution};
use cubin::symbol::{SymbolKind, other};
use std::collections::{HashMap, HashSet};

/// The facts that the search for references reads.
pub struct Referrers<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
}

impl Referrers<'_, '_> {
    /// Who refers to each of some names, one line per function or variable.
    pub fn of(&self, wanted: &[SymbolId]) -> HashMap<SymbolId, Vec<String>> {
        let wanted: HashSet<SymbolId> = wanted.iter().copied().collect();
        let mut references: HashMap<SymbolId, Vec<String>> = HashMap::new();
        let mut variables = HashMap::new();
        for (file, object) in self.inputs.files().enumerate() {
            for section in object.sections.iter() {
                let row = &self.inputs.sections()[section];
                let (Role::Relocations { .. }, Some(target)) = (row.role, row.target) else { continue };
                for entry in self.inputs.relocations(file, section) {
                    let Some(meaning) = entry.symbol.and_then(|symbol| self.resolution.meaning(symbol)) else { continue };
                    if !wanted.contains(&meaning) {
                        continue;
                    }
                    if let Some(line) = self.referrer(file, target, entry.offset, &mut variables) {
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
    fn referrer(&self, file: FileId, section: InputSectionId, offset: u64, variables: &mut Variables) -> Option<String> {
        let row = &self.inputs.sections()[section];
        let file_name = self.inputs.files()[file].name;
        match row.role {
            Role::Text => {
                let owner = row.owner?;
                let function = self.resolution.function(owner)?;
                let counts = self.resolution.fate(owner) == Fate::Taken && self.live.contains(function);
                let symbol = &self.inputs.symbols()[owner];
                let kind = if symbol.other & other::ENTRY != 0 { "kernel" } else { "function" };
                counts.then(|| format!("referenced by {kind} {} in {file_name}", demangle(symbol.name)))
            }
            Role::GlobalData | Role::UnifiedData | Role::ModuleConstants(_) => {
                let variables = variables.entry(section).or_insert_with(|| self.variables(file, section));
                // The last that begins there or before.
                let next = variables.partition_point(|&(start, ..)| start <= offset);
                let last = next.checked_sub(1).map(|last| variables[last]).filter(|&(start, size, _)| offset - start < size);
                let name = last.map_or_else(|| row.name.into(), |(.., symbol)| demangle(self.inputs.symbols()[symbol].name));
                Some(format!("referenced by variable {name} in {file_name}"))
            }
            _ => None,
        }
    }

    /// The variables of a section by offset.
    fn variables(&self, file: FileId, section: InputSectionId) -> Vec<(u64, u64, InputSymbolId)> {
        let symbols = self.inputs.files()[file].symbols.iter().map(|id| (id, &self.inputs.symbols()[id]));
        let mut variables: Vec<_> = symbols
            .filter(|(_, symbol)| {
                symbol.place() == Place::Section(section) && symbol.kind != SymbolKind::SECTION && symbol.size > 0
            })
            .map(|(id, symbol)| (symbol.value, symbol.size, id))
            .collect();
        // Of several at one offset the first comes last, where it is found.
        variables.reverse();
        variables.sort_by_key(|&(start, ..)| start);
        variables
    }
}

/// The variables of sections, where each begins and its size, by offset.
type Variables = HashMap<InputSectionId, Vec<(u64, u64, InputSymbolId)>>;
