//! Layout: offsets in the memories that the linker lays out, and the final sizes of all sections.

mod limits;
mod shared;
mod textures;

use super::live::LiveSet;
use super::load::Inputs;
use super::merge::Plan;
use super::references::References;
use super::resolve::{Resolution, Symbol};
use super::usage::Usage;
use crate::diagnostics::{Failure, Report};
use crate::id::{FunctionId, IdMap, IdVec, SectionId, SymbolId};
use crate::options::Options;
use shared::SharedLayout;
pub use textures::TEXTURE_KINDS;
use textures::TextureLayout;

/// The offsets of everything whose address the driver does not choose.
#[derive(Debug)]
pub struct Layout {
    shared: SharedLayout,
    textures: TextureLayout,
    commons: IdMap<SymbolId, u64>,
    size: IdVec<SectionId, u64>,
    align: IdVec<SectionId, u64>,
}

impl Layout {
    /// Addresses in shared memory.
    pub fn shared(&self) -> &SharedLayout {
        &self.shared
    }

    /// Slots of textures, samplers and surfaces.
    pub fn textures(&self) -> &TextureLayout {
        &self.textures
    }

    /// The offset of a variable that had only tentative definitions.
    pub fn common(&self, symbol: SymbolId) -> Option<u64> {
        self.commons.get(&symbol).copied()
    }

    /// The size of a section whose size does not depend on what is written later.
    pub fn size(&self, section: SectionId) -> u64 {
        self.size[section]
    }

    /// The alignment of a section.
    pub fn align(&self, section: SectionId) -> u64 {
        self.align[section]
    }
}

/// The facts that layout reads.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// Which entry functions reach what.
    pub usage: &'facts Usage<'facts, 'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// Which shared variables and textures code refers to.
    pub references: &'facts References,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// What was asked for.
    pub options: &'facts Options,
}

impl Facts<'_, '_> {
    fn name(&self, function: FunctionId) -> String {
        self.resolution.name(function).into()
    }
}

/// Lays out shared memory, texture slots and tentative definitions.
pub fn layout(facts: &Facts<'_, '_>, report: &mut Report) -> Result<Layout, Failure> {
    let sections = facts.plan.sections();
    let mut size = IdVec::from(sections.iter().map(|section| section.size).collect::<Vec<_>>());
    let mut align = IdVec::from(sections.iter().map(|section| section.align).collect::<Vec<_>>());

    let mut commons = IdMap::default();
    if let (Some(section), true) = (facts.plan.global_zero(), !facts.options.keeps_relocations()) {
        // After everything that has an offset already, the newest first.
        for symbol in facts.resolution.commons().collect::<Vec<_>>().into_iter().rev() {
            let row = &facts.resolution.symbols()[symbol];
            let needed = row.common_align.map_or(1, |align| u64::from(align.get()));
            let offset = size[section].next_multiple_of(needed);
            commons.insert(symbol, offset);
            size[section] = offset + row.size;
            align[section] = align[section].max(needed);
        }
    }

    // A relocatable object leaves what kernels share to the final link.
    let (textures, shared) = match facts.options.lays_out_kernels() {
        true => (textures::lay_out(facts, &mut size, report)?, shared::lay_out(facts)),
        false => (TextureLayout::default(), shared::keep(facts)),
    };
    for (section, extent) in shared.sections() {
        size[section] = extent.size;
        align[section] = extent.align;
    }
    limits::check(facts, &shared, &size, report);
    Ok(Layout { shared, textures, commons, size, align })
}
