//! Slots for textures, samplers and surfaces.
//!
//! Code names a texture by the offset of a slot in the kernel's parameter bank, and the driver fills the slot. The code of a device
//! function exists once, so the slots have to be at the same offset in every kernel: all references of the program, used or not,
//! have one common layout, which starts after the largest parameter bank of all kernels. Kernels that reach no texture do
//! without it.

use super::Facts;
use crate::dealt_sort::{Tie, dealt_merge_sort};
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FunctionId, IdMap, IdSet, IdVec, SectionId, SymbolId};
use crate::phases::resolve::{Symbol, is_texture};
use cubin::relocation::RelocationType;
use cubin::symbol::SymbolKind;
use cubin::target::Views;

/// The slots, and the kernels that have them.
#[derive(Debug, Default)]
pub struct TextureLayout {
    slots: Vec<(SymbolId, u64)>,
    offsets: IdMap<SymbolId, u64>,
    base: u64,
    kernels: Vec<FunctionId>,
    /// The kernels that reach a sampler or a surface; for others, the slots of samplers stay empty.
    with_samplers: IdSet<FunctionId>,
    is_sampler: IdSet<SymbolId>,
}

/// The alignment of the slots where there are two views of them.
const SLOTS_ALIGN: u64 = 16;

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
    /// The same in the machine view, where there are two.
    pub machine_relocation: RelocationType,
    /// The same in the Mercury view.
    pub mercury_relocation: RelocationType,
}

/// The kinds of references, in the order in which their limits are checked.
pub const TEXTURE_KINDS: [TextureKind; 3] = [
    TextureKind {
        symbol: SymbolKind::TEXTURE,
        plural: "textures",
        limit: 256,
        relocation: RelocationType::R_CUDA_TEX_HEADER_INDEX,
        machine_relocation: RelocationType::R_CUDA_TEX_HEADER_INDEX,
        mercury_relocation: RelocationType::R_MERCURY_TEX_HEADER_INDEX,
    },
    TextureKind {
        symbol: SymbolKind::SAMPLER,
        plural: "samplers",
        limit: 32,
        relocation: RelocationType::R_CUDA_SAMP_HEADER_INDEX,
        machine_relocation: RelocationType::R_CUDA_SAMP_HEADER_INDEX_0,
        mercury_relocation: RelocationType::R_MERCURY_SAMP_HEADER_INDEX,
    },
    TextureKind {
        symbol: SymbolKind::SURFACE,
        plural: "surfaces",
        limit: 32,
        relocation: RelocationType::R_CUDA_SURF_HEADER_INDEX,
        machine_relocation: RelocationType::R_CUDA_SURF_HEADER_INDEX,
        mercury_relocation: RelocationType::R_MERCURY_SURF_HEADER_INDEX,
    },
];

impl TextureLayout {
    /// The slots that the driver fills for a kernel, in ascending order of offset.
    pub fn filled_slots(&self, kernel: FunctionId) -> impl DoubleEndedIterator<Item = (SymbolId, u64)> + '_ {
        let with_samplers = self.with_samplers.contains(&kernel);
        let is_filled = move |symbol| with_samplers || !self.is_sampler.contains(&symbol);
        self.slots.iter().copied().filter(move |&(symbol, _)| is_filled(symbol))
    }

    /// Where in the parameter bank the slots start.
    pub fn base(&self) -> u64 {
        self.base
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
    let candidates = facts.resolution.laid_out_by_kernel();
    let any = candidates.iter().any(|&id| is_texture(&symbols[id]) && facts.references.any(id));
    if !any {
        return Ok(TextureLayout::default());
    }
    let kernels_that_reach =
        |is_wanted: fn(&Symbol) -> bool| facts.usage.kernels_that_refer(facts.resolution, facts.references, is_wanted);
    let kernels = kernels_that_reach(is_texture);
    let mut references = Vec::new();
    for kind in &TEXTURE_KINDS {
        let of_kind = candidates.iter().rev().copied().filter(|&id| symbols[id].kind == kind.symbol);
        let before = references.len();
        references.extend(of_kind);
        if let (Some(&last), true) = (kernels.last(), references.len() - before > kind.limit) {
            return report.fatal(Message::TooManyTextures { limit: kind.limit, kind: kind.plural, kernel: facts.name(last) });
        }
    }
    let references = dealt_merge_sort(&references, Tie::First, &|_, _| false);

    let bank = |kernel: FunctionId| facts.plan.function(kernel).parameters;
    let base = facts.live.kernels().iter().filter_map(|&kernel| bank(kernel)).map(|bank| size[bank]).max().unwrap_or(0);
    let base = match facts.options.target.views {
        Views::One => base,
        Views::Two if kernels.is_empty() => 0,
        Views::Two => base.next_multiple_of(SLOTS_ALIGN),
    };
    let slots: Vec<(SymbolId, u64)> =
        references.iter().enumerate().map(|(index, &symbol)| (symbol, base + 4 * index as u64)).collect();
    for bank in kernels.iter().filter_map(|&kernel| bank(kernel)) {
        size[bank] = base + 4 * slots.len() as u64;
    }
    let is_sampler = references.iter().copied().filter(|&id| symbols[id].kind == SymbolKind::SAMPLER).collect();
    let is_more_than_texture = |symbol: &Symbol| is_texture(symbol) && symbol.kind != SymbolKind::TEXTURE;
    let with_samplers = kernels_that_reach(is_more_than_texture).into_iter().collect();
    Ok(TextureLayout { offsets: slots.iter().copied().collect(), slots, base, kernels, with_samplers, is_sampler })
}
