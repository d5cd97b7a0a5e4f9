//! Finalize: string tables, symbol table, notes and headers; then everything into one buffer.
//!
//! All sizes are known before the first byte is written, so the sections are disjoint slices of one buffer and can be written on any
//! number of threads.

mod headers;
mod map;
mod notes;
mod strings;
mod symbols;

use super::callgraph::CallGraph;
use super::info::Info;
use super::layout::Layout;
use super::live::LiveSet;
use super::load::Inputs;
use super::merge::{Content, OutputSection, Plan};
use super::number::{Numbering, is_named, prototyped};
use super::relocate::{Kept, Outcome, Referent, Relocations};
use super::resolve::Resolution;
use crate::id::{FunctionId, IdVec, PrototypeId, SectionId, SymbolId};
use crate::options::Options;
use crate::phases::attributes::Attributes;
use crate::phases::layout::TEXTURE_KINDS;
use crate::phases::merge::Local;
use cubin::callgraph::{Edge, encode_edges, encode_prototypes};
use cubin::elf::{RelRecord, RelaRecord};
use cubin::relocation::{self, Mode, Relocation};
use cubin::write::Image;
use rayon::prelude::*;
use strings::StringTableBuilder;

/// The facts that the file is made from.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// Who calls whom.
    pub graph: &'facts CallGraph<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
    /// What each function says of itself.
    pub attributes: &'facts Attributes,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses and sizes.
    pub layout: &'facts Layout,
    /// What is left of the relocations.
    pub relocations: &'facts Relocations,
    /// The attributes.
    pub info: &'facts Info<'facts, 'data>,
    /// The numbers of sections and symbols.
    pub numbering: &'facts Numbering,
    /// What was asked for.
    pub options: &'facts Options,
}

/// Where the names are.
struct Names {
    prototypes: IdVec<PrototypeId, u32>,
    symbols: IdVec<SymbolId, u32>,
    section_symbols: IdVec<SectionId, u32>,
    sections: IdVec<SectionId, u32>,
}

/// The bytes of sections that are made here.
enum Body {
    /// Written from the facts.
    FromFacts,
    /// Made already.
    Made(Vec<u8>),
}

/// The finished link: the size of the file is known, and it can be written.
pub struct Linked<'facts, 'data> {
    facts: Facts<'facts, 'data>,
    image: Image,
    bodies: Vec<Body>,
}

/// Makes everything but the copy of the inputs' bytes.
pub fn finalize<'facts, 'data>(facts: Facts<'facts, 'data>) -> Linked<'facts, 'data> {
    let (names, section_names, symbol_names) = facts.name();
    let symbols = symbols::write(&facts, &names);
    let mut tables = [Some(section_names), Some(symbol_names), Some(symbols.table), symbols.section_numbers];
    let sections = facts.plan.sections();
    let bodies: Vec<Body> = (facts.numbering.sections().iter())
        .map(|&id| {
            let made = match sections[id].content {
                Content::SectionNames => tables[0].take(),
                Content::SymbolNames => tables[1].take(),
                Content::Symbols => tables[2].take(),
                Content::SymbolSectionNumbers => tables[3].take(),
                Content::ToolNotes => Some(notes::tools(&facts)),
                Content::CudaNote => Some(notes::cuda(&facts)),
                Content::Compatibility => Some(notes::compatibility(&facts)),
                Content::RelocationActions => Some(notes::RELOCATION_ACTIONS.to_vec()),
                Content::CallGraph => Some(facts.call_graph(&names)),
                Content::Prototypes => Some(facts.prototypes(&names)),
                _ => None,
            };
            made.map_or(Body::FromFacts, Body::Made)
        })
        .collect();
    let image = headers::make(&facts, &names, &bodies);
    Linked { facts, image, bodies }
}

impl Linked<'_, '_> {
    /// The size of the file.
    pub fn size(&self) -> u64 {
        self.image.size()
    }

    /// Writes the file into a buffer of its size whose bytes are zero.
    pub fn write(&self, out: &mut [u8]) -> cubin::Result<()> {
        self.image.write_headers(out)?;
        let mut parts = Vec::with_capacity(self.bodies.len());
        let mut rest = out;
        let mut position = 0;
        // Sections stand in the file in the order of their numbers, so the buffer can be cut up from the front.
        for ((&id, body), header) in self.facts.numbering.sections().iter().zip(&self.bodies).zip(&self.image.sections[1..]) {
            if cubin::section::SectionType(header.kind).is_no_bits() {
                continue;
            }
            let (_, from_start) = rest.split_at_mut((header.offset - position) as usize);
            let (part, behind) = from_start.split_at_mut(header.size as usize);
            parts.push((id, body, part));
            rest = behind;
            position = header.offset + header.size;
        }
        parts.into_par_iter().with_min_len(64).try_for_each(|(id, body, part)| match body {
            Body::Made(bytes) => {
                part.copy_from_slice(bytes);
                Ok(())
            }
            Body::FromFacts => self.facts.write_section(id, part),
        })
    }
}

impl Facts<'_, '_> {
    /// Gives every name its place in the two string tables.
    fn name(&self) -> (Names, Vec<u8>, Vec<u8>) {
        let sections = self.plan.sections();
        let symbols = self.resolution.symbols();
        let (mut section_names, symbol_names) = rayon::join(|| self.name_sections(), || self.name_symbols());
        let (prototypes, symbol_offsets, section_symbols, symbol_bytes) = symbol_names;
        let section_bytes = std::mem::take(&mut section_names.1);
        debug_assert_eq!((section_symbols.len(), symbol_offsets.len()), (sections.len(), symbols.len()));
        let names = Names { prototypes, symbols: symbol_offsets, section_symbols, sections: section_names.0 };
        (names, section_bytes, symbol_bytes)
    }

    fn name_sections(&self) -> (IdVec<SectionId, u32>, Vec<u8>) {
        let sections = self.plan.sections();
        let bytes: usize = sections.iter().map(|section| section.name.len() + 1).sum();
        let mut table = StringTableBuilder::with_capacity(sections.len(), bytes + 1);
        let mut offsets = IdVec::filled(0, sections.len());
        for (id, section) in sections.enumerate().filter(|(_, section)| section.content != Content::Gone) {
            offsets[id] = table.add(&section.name.parts());
        }
        (offsets, table.finish())
    }

    #[allow(clippy::type_complexity, reason = "the four tables that one walk over the names makes")]
    fn name_symbols(&self) -> (IdVec<PrototypeId, u32>, IdVec<SymbolId, u32>, IdVec<SectionId, u32>, Vec<u8>) {
        let (sections, symbols) = (self.plan.sections(), self.resolution.symbols());
        let mut table = StringTableBuilder::with_capacity(self.plan.locals().len() + self.plan.globals().len(), 0);
        let mut place = |(id, text): (PrototypeId, &&str)| if self.graph.nameless() == Some(id) { 0 } else { table.add(&[text]) };
        let prototypes = IdVec::from(self.graph.prototypes().enumerate().map(&mut place).collect::<Vec<_>>());
        let mut of_symbol = IdVec::filled(0, symbols.len());
        let mut of_section = IdVec::filled(0, sections.len());
        for &entry in self.plan.locals() {
            match entry {
                Local::Section(id) if sections[id].content == Content::Gone => {}
                Local::Section(id) => of_section[id] = table.add(&sections[id].name.parts()),
                Local::Symbol(id) if self.is_named(id) => of_symbol[id] = table.add(&[symbols[id].name]),
                Local::Symbol(_) => {}
            }
        }
        for &id in self.plan.globals().iter().filter(|&&id| self.is_named(id)) {
            of_symbol[id] = table.add(&[symbols[id].name]);
        }
        (prototypes, of_symbol, of_section, table.finish())
    }

    fn is_named(&self, id: SymbolId) -> bool {
        is_named(id, self.resolution, self.layout, self.options)
    }

    fn function_number(&self, function: FunctionId) -> u32 {
        self.numbering.symbol(self.resolution.functions()[function].symbol)
    }

    /// Those of some functions that stay.
    fn alive<'list>(&'list self, functions: &'list [FunctionId]) -> impl Iterator<Item = FunctionId> + 'list {
        functions.iter().copied().filter(|&id| self.live.contains(id))
    }

    /// The call graph, in which each list is in order of first mention of the caller.
    fn call_graph(&self, names: &Names) -> Vec<u8> {
        let number = |function: FunctionId| self.function_number(function);
        let mut edges = Vec::new();
        for caller in self.live.functions() {
            edges.extend(
                self.alive(self.graph.calls(caller)).map(|callee| Edge::Call { caller: number(caller), callee: number(callee) }),
            );
        }
        for function in self.live.functions() {
            edges.extend(
                self.graph
                    .taken(function)
                    .map(|prototype| Edge::AddressTaken { function: number(function), prototype: names.prototypes[prototype] }),
            );
        }
        for caller in self.live.functions() {
            edges.extend(
                self.graph
                    .indirect(caller)
                    .iter()
                    .map(|&prototype| Edge::IndirectCall { caller: number(caller), prototype: names.prototypes[prototype] }),
            );
        }
        for caller in self.live.functions() {
            edges.extend(
                self.alive(self.graph.references(caller))
                    .map(|function| Edge::References { caller: number(caller), function: number(function) }),
            );
        }
        let mut bytes = Vec::new();
        encode_edges(&edges, &mut bytes);
        bytes
    }

    fn prototypes(&self, names: &Names) -> Vec<u8> {
        let pairs: Vec<(u32, u32)> = prototyped(self.live, self.graph)
            .filter_map(|function| Some((self.function_number(function), names.prototypes[self.graph.prototype(function)?])))
            .collect();
        let mut bytes = Vec::new();
        encode_prototypes(&pairs, &mut bytes);
        bytes
    }

    /// Writes a section that is not made in advance.
    fn write_section(&self, id: SectionId, out: &mut [u8]) -> cubin::Result<()> {
        let section = &self.plan.sections()[id];
        match section.content {
            Content::ModuleInfo => self.info.write_module(self.numbering, out),
            Content::FunctionInfo(function) => self.info.write_function(function, self.numbering, out),
            Content::Relocations { explicit_addends } => {
                let kept = &self.target_outcome(section).kept;
                self.write_entries(kept.iter().filter(|entry| entry.explicit_addend == explicit_addends), explicit_addends, out);
            }
            Content::ResolvedRelocations => self.write_entries(self.target_outcome(section).resolved.iter(), true, out),
            Content::TextureRelocations(kernel) => self.write_texture_entries(kernel, out),
            _ => return self.write_pieces(id, section, out),
        }
        Ok(())
    }

    fn write_pieces(&self, id: SectionId, section: &OutputSection<'_>, out: &mut [u8]) -> cubin::Result<()> {
        for piece in section.pieces.iter() {
            let data = self.inputs.sections()[piece.section].data;
            let start = piece.offset as usize;
            out[start..start + data.len()].copy_from_slice(data);
        }
        for patch in &self.relocations.of(id).patches {
            let field = patch.kind.row().map(|row| row.field).unwrap_or_default();
            let mode = if patch.add { Mode::Add } else { Mode::Replace };
            relocation::apply(field, out, patch.offset, patch.value, patch.bank.unwrap_or(0), mode)?;
        }
        Ok(())
    }

    fn target_outcome(&self, section: &OutputSection<'_>) -> &Outcome {
        const NOTHING: &Outcome = &Outcome { kept: Vec::new(), resolved: Vec::new(), patches: Vec::new() };
        section.target.map_or(NOTHING, |target| self.relocations.of(target))
    }

    fn write_entries<'entry>(&self, entries: impl Iterator<Item = &'entry Kept>, explicit_addends: bool, out: &mut [u8]) {
        let size = if explicit_addends { RelaRecord::SIZE } else { RelRecord::SIZE };
        for (entry, out) in entries.zip(out.chunks_exact_mut(size)) {
            let entry = Relocation {
                offset: entry.offset,
                kind: entry.kind,
                symbol: self.numbering.referent(entry.referent),
                addend: entry.addend,
            };
            if explicit_addends { entry.rela().write(out) } else { entry.rel().write(out) }
        }
    }

    /// The relocations that make the driver fill texture slots, the last slot first.
    fn write_texture_entries(&self, kernel: FunctionId, out: &mut [u8]) {
        let slots = self.layout.textures().filled_slots(kernel).rev();
        for ((symbol, offset), out) in slots.zip(out.chunks_exact_mut(RelRecord::SIZE)) {
            let kind = TEXTURE_KINDS.iter().find(|kind| kind.symbol == self.resolution.symbols()[symbol].kind);
            let symbol = self.numbering.referent(Referent::Symbol(symbol));
            let Some(kind) = kind.map(|kind| kind.relocation) else { continue };
            Relocation { offset, kind, symbol, addend: 0 }.rel().write(out);
        }
    }

    /// The size of a section's bytes.
    fn size_of(&self, id: SectionId, body: &Body) -> u64 {
        let section = &self.plan.sections()[id];
        let entries = |count: usize| count as u64 * section.entry_size;
        match (body, section.content) {
            (Body::Made(bytes), _) => bytes.len() as u64,
            (_, Content::ModuleInfo) => self.info.module_size() as u64,
            (_, Content::FunctionInfo(function)) => self.info.function_size(function) as u64,
            (_, Content::Relocations { explicit_addends }) => {
                let kept = &self.target_outcome(section).kept;
                entries(kept.iter().filter(|entry| entry.explicit_addend == explicit_addends).count())
            }
            (_, Content::ResolvedRelocations) => entries(self.target_outcome(section).resolved.len()),
            (_, Content::TextureRelocations(kernel)) => entries(self.layout.textures().filled_slots(kernel).count()),
            _ => self.layout.size(id),
        }
    }
}
