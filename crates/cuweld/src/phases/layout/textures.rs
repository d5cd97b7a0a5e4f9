//! Slots for textures, samplers and surfaces.
//!
//! Code names a texture by the offset of a slot in the kernel's parameter bank, and the driver fills the slot. The code of a device
//! function exists once, so the slots have to be at the same offset in every kernel: all references of the program, used or not,
//! have one common layout, which starts behind the largest parameter bank of all kernels. Kernels that reach no texture do
//! without it.

use super::Facts;
use super::sort::{Tie, dealt_merge_sort};
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FunctionId, Id, IdVec, SectionId, SymbolId};
use crate::phases::load::Place;
use crate::phases::reach;
use crate::phases::resolve::{Symbol, is_texture};
use cubin::relocation::RelocationType;
use cubin::symbol::SymbolKind;
use std::collections::{HashMap, HashSet};

/// The slots, and the kernels that have them.
#[derive(Debug, Default)]
pub struct TextureLayout {
    slots: Vec<(SymbolId, u64)>,
    offsets: HashMap<SymbolId, u64>,
    kernels: Vec<FunctionId>,
    /// The kernels that reach a sampler, or whose object keeps samplers apart from textures; for the others, nobody fills the slots
    /// of samplers.
    with_samplers: HashSet<FunctionId>,
    is_sampler: HashSet<SymbolId>,
}

/// A kind of reference.
pub struct TextureKind {
    /// Its symbols.
    pub symbol: SymbolKind,
    /// What messages call it.
    pub plural: &'static str,
    /// The most that a kernel can have.
    pub limit: usize,
    /// The relocation that makes the driver fill a slot.
    pub relocation: RelocationType,
}

/// The kinds of references, in the order in which their limits are checked.
pub const TEXTURE_KINDS: [TextureKind; 3] = [
    TextureKind { symbol: SymbolKind::TEXTURE, plural: "textures", limit: 256, relocation: RelocationType(6) },
    TextureKind { symbol: SymbolKind::SAMPLER, plural: "samplers", limit: 32, relocation: RelocationType(7) },
    TextureKind { symbol: SymbolKind::SURFACE, plural: "surfaces", limit: 32, relocation: RelocationType(52) },
];

impl TextureLayout {
    /// The slots that the driver fills for a kernel, in ascending order of offset.
    pub fn filled_slots(&self, kernel: FunctionId) -> impl DoubleEndedIterator<Item = (SymbolId, u64)> + '_ {
        let with_samplers = self.with_samplers.contains(&kernel);
        let is_filled = move |symbol| with_samplers || !self.is_sampler.contains(&symbol);
        self.slots.iter().copied().filter(move |&(symbol, _)| is_filled(symbol))
    }

    /// The offset of a reference's slot in the parameter bank.
    pub fn offset(&self, symbol: SymbolId) -> Option<u64> {
        self.offsets.get(&symbol).copied()
    }

    /// Whether a kernel has the slots.
    pub fn is_used_by(&self, kernel: FunctionId) -> bool {
        self.kernels.binary_search(&kernel).is_ok()
    }
}

/// Makes the slots, and enlarges the parameter banks of the kernels that use them.
pub fn lay_out(facts: &Facts<'_, '_>, size: &mut IdVec<SectionId, u64>, report: &mut Report) -> Result<TextureLayout, Failure> {
    let symbols = facts.resolution.symbols();
    let any = symbols.enumerate().any(|(id, symbol)| is_texture(symbol) && facts.references.any(id));
    if !facts.options.executable() || !any {
        return Ok(TextureLayout::default());
    }
    let uses = |function: FunctionId, is_wanted: fn(&Symbol<'_>) -> bool| {
        facts.references.of(function).iter().any(|&symbol| is_wanted(&symbols[symbol]))
    };
    let kernels = kernels_that_reach(facts, &|function| uses(function, is_texture));
    let mut references = Vec::new();
    for kind in &TEXTURE_KINDS {
        let of_kind = symbols.ids().rev().filter(|&id| symbols[id].kind == kind.symbol);
        let before = references.len();
        references.extend(of_kind);
        if let (Some(&last), true) = (kernels.last(), references.len() - before > kind.limit) {
            return report.fatal(Message::TooManyTextures { limit: kind.limit, kind: kind.plural, kernel: facts.name(last) });
        }
    }
    let references = dealt_merge_sort(&references, Tie::First, &|_, _| false);

    let bank = |kernel: FunctionId| facts.plan.function(kernel).parameters;
    let base = facts.live.kernels().iter().filter_map(|&kernel| bank(kernel)).map(|bank| size[bank]).max().unwrap_or(0);
    let slots: Vec<(SymbolId, u64)> =
        references.iter().enumerate().map(|(index, &symbol)| (symbol, base + 4 * index as u64)).collect();
    for bank in kernels.iter().filter_map(|&kernel| bank(kernel)) {
        size[bank] = base + 4 * slots.len() as u64;
    }
    let is_sampler = references.iter().copied().filter(|&id| symbols[id].kind == SymbolKind::SAMPLER).collect();
    let is_sampler_symbol = |symbol: &Symbol<'_>| symbol.kind == SymbolKind::SAMPLER;
    let mut with_samplers: HashSet<FunctionId> =
        kernels_that_reach(facts, &|function| uses(function, is_sampler_symbol)).into_iter().collect();
    // Any copy of the kernel will do, also one that was lost.
    for file in facts.inputs.files().iter().filter(|file| file.keeps_samplers_apart) {
        let functions = file.symbols.iter().filter(|&symbol| facts.inputs.symbols()[symbol].place != Place::Undefined);
        with_samplers.extend(functions.filter_map(|symbol| facts.resolution.function(symbol)));
    }
    Ok(TextureLayout { offsets: slots.iter().copied().collect(), slots, kernels, with_samplers, is_sampler })
}

/// The kernels that reach a function of some kind, in order. For a program's only kernel any function will do.
fn kernels_that_reach(facts: &Facts<'_, '_>, is_wanted: &impl Fn(FunctionId) -> bool) -> Vec<FunctionId> {
    let wanted: Vec<bool> = facts.resolution.functions().ids().map(is_wanted).collect();
    let kernels = facts.live.kernels();
    if kernels.len() == 1 {
        return if wanted.contains(&true) { kernels.to_vec() } else { Vec::new() };
    }
    let reach = reach::find(facts.graph, facts.components, kernels, |function| wanted[function.index()]);
    kernels.iter().copied().filter(|&kernel| reach.of(kernel).next().is_some()).collect()
}
