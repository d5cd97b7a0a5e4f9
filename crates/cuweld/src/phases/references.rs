//! References: which shared variables and textures the code of each function uses.
//!
//! Shared memory and texture slots are laid out by kernel, according to what the functions it reaches refer to; the only
//! record of that is in the relocations of their code.

use super::load::{Inputs, Role};
use super::resolve::{Resolution, is_dynamic, is_laid_out_by_kernel};
use crate::id::{FunctionId, IdSet, Lists, SymbolId};
use rayon::prelude::*;

/// The shared variables, textures, samplers and surfaces that each function's code refers to.
#[derive(Debug)]
pub struct References {
    uses: Lists<FunctionId, SymbolId>,
    referenced: IdSet<SymbolId>,
}

impl References {
    /// What a function's own code refers to, in the order of its relocations; a symbol stands once per relocation.
    pub fn of(&self, function: FunctionId) -> &[SymbolId] {
        &self.uses[function]
    }

    /// Whether a function's own code uses dynamic shared memory.
    pub fn uses_dynamic(&self, resolution: &Resolution<'_>, function: FunctionId) -> bool {
        self.of(function).iter().any(|&symbol| is_dynamic(&resolution.symbols()[symbol]))
    }

    /// Whether any code, dead code included, refers to a symbol.
    pub fn any(&self, symbol: SymbolId) -> bool {
        self.referenced.contains(&symbol)
    }
}

/// Scans the relocations of the code of all prevailing definitions.
pub fn find(inputs: &Inputs<'_>, resolution: &Resolution<'_>) -> References {
    let (symbols, functions) = (resolution.symbols(), resolution.functions());
    let mut uses = Vec::new();
    if !resolution.laid_out_by_kernel().is_empty() {
        let ids: Vec<FunctionId> = functions.ids().filter(|&id| functions[id].alias_of.is_none()).collect();
        uses = ids
            .par_iter()
            .flat_map_iter(|&function| {
                let code = resolution.code(inputs, function);
                let sections = code.into_iter().flat_map(|code| {
                    let file = inputs.file_of_section(code);
                    inputs
                        .attached(code)
                        .map(move |section| (file, section))
                        .filter(|&(_, section)| matches!(inputs.sections()[section].role, Role::Relocations { .. }))
                });
                let entries = sections.flat_map(|(file, section)| inputs.relocations(file, section));
                entries
                    .filter_map(|entry| resolution.meaning(entry.symbol?))
                    .filter(|&symbol| is_laid_out_by_kernel(&symbols[symbol]))
                    .map(move |symbol| (function, symbol))
            })
            .collect();
    }
    let referenced = uses.iter().map(|&(_, symbol)| symbol).collect();
    References { uses: Lists::gather(functions.len(), &uses), referenced }
}
