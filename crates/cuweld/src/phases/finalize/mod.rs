//! Finalize: string tables, symbol table, notes and headers; with them, everything that the file is written from.

mod compatibility;
mod headers;
mod map;
mod names;
mod notes;
mod segments;
mod symbols;
mod write;

use super::callgraph::CallGraph;
use super::info::Info;
use super::layout::Layout;
use super::live::LiveSet;
use super::load::Inputs;
use super::machine_debug::MachineDebug;
use super::merge::{Content, OutputSection, Plan};
use super::number::{FileSection, Numbering, prototyped};
use super::relocate::{Kept, Referent, Relocations};
use super::resolve::{Fate, Resolution};
use super::unified::Unified;
use crate::id::{FunctionId, InputSectionId, SectionId};
use crate::options::Options;
use crate::phases::attributes::Attributes;
use crate::phases::layout::TEXTURE_KINDS;
use crate::stubs;
use crate::views::View;
use cubin::callgraph::{Edge, encode_edges, encode_prototypes};
use cubin::elf::{Header, RelRecord, RelaRecord, SHT_STRTAB, SectionHeader};
use cubin::relocation::{self, Mode, Relocation};
use cubin::section::SectionType;
use cubin::write::Image;
use names::Names;
pub use names::{Named, name};
use rayon::prelude::*;

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
    /// The places of unified functions and variables.
    pub unified: &'facts Unified,
    /// What each function says of itself.
    pub attributes: &'facts Attributes,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses and sizes.
    pub layout: &'facts Layout,
    /// What is left of the relocations.
    pub relocations: &'facts Relocations,
    /// The attributes.
    pub info: &'facts Info,
    /// The machine's side of debug information, where there are two views.
    pub machine_debug: &'facts MachineDebug<'data>,
    /// The numbers of sections and symbols.
    pub numbering: &'facts Numbering,
    /// What was asked for.
    pub options: &'facts Options,
}

/// How the names of debug sections start that have the same bytes in both views: what they say depends on no address.
const SHARED_DEBUG: [&str; 7] =
    [".debug_abbrev", ".debug_str", ".debug_loc", ".debug_macinfo", ".debug_pubnames", ".debug_pubtypes", ".nv_debug_ptx_txt"];

/// The bytes of a section.
enum Body {
    /// It takes no room in the file.
    Nowhere,
    /// Those of its machine's side.
    Shared,
    /// Written from the facts.
    FromFacts,
    /// Made already, up to where only zeros follow.
    Made(Vec<u8>),
}

/// The finished file: its size is known, and it can be written.
pub struct Finished<'facts, 'data> {
    facts: Facts<'facts, 'data>,
    names: Names,
    image: Image,
    size: u64,
    /// The bytes of the sections, by their numbers.
    bodies: Vec<Body>,
}

/// Makes everything but the copy of the inputs' bytes.
pub fn finalize<'facts, 'data>(facts: Facts<'facts, 'data>, named: Named) -> Finished<'facts, 'data> {
    let Named { names, section_names, symbol_names } = named;
    let sections = facts.numbering.sections().par_iter().with_min_len(256).map(|&part| {
        let body = facts.body(part, &names);
        let header = facts.section_header(part, &names, &body);
        (body, header)
    });
    let (mut bodies, mut headers) = (Vec::new(), Vec::new());
    rayon::iter::once((Body::Nowhere, SectionHeader::default())).chain(sections).unzip_into_vecs(&mut bodies, &mut headers);
    // Behind the null section, every file starts with the two tables of names.
    for ((body, header), table) in bodies.iter_mut().zip(&mut headers).skip(1).zip([section_names, symbol_names]) {
        header.size = table.len() as u64;
        *body = Body::Made(table);
    }
    let image = headers::arrange(&facts, &names, &bodies, headers);
    let size = image.size();
    Finished { facts, names, image, size, bodies }
}

impl Facts<'_, '_> {
    /// The bytes of a section.
    fn body(&self, part: FileSection, names: &Names) -> Body {
        if self.shares_bytes(part) {
            return Body::Shared;
        }
        if !self.takes_bytes(part) {
            return Body::Nowhere;
        }
        let made = match self.plan.sections()[part.section].content {
            Content::SymbolSectionNumbers => symbols::section_numbers(self, names, part.view),
            Content::ToolNotes => Some(notes::tools(self)),
            Content::CudaNote => Some(notes::cuda(self)),
            Content::Compatibility => Some(compatibility::make(self)),
            Content::Host => self.options.host_section.clone(),
            Content::UnifiedIndex => Some(self.unified_index(part.section)),
            Content::UnifiedEntries(table) => Some(self.unified.encode(table, |symbol| self.numbering.symbol(symbol))),
            Content::UnifiedStubs if self.numbering.has_two_views() => Some(self.stubs(part)),
            Content::RelocationActions => Some(notes::RELOCATION_ACTIONS.to_vec()),
            Content::CallGraph => Some(self.call_graph(names)),
            Content::Prototypes => Some(self.prototypes(names)),
            Content::ReservedShared if part.view == View::Mercury => Some(self.reserved_shared(part.section, names)),
            _ => None,
        };
        made.map_or(Body::FromFacts, Body::Made)
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

    /// What the file has for shared variables of the system in the Mercury view. They have no contents, but take room: the
    /// reference linker fills it with what stands behind it in a file of its own, which is the start of the section headers.
    fn reserved_shared(&self, section: SectionId, names: &Names) -> Vec<u8> {
        let mut bytes = vec![0; 3 * SectionHeader::SIZE];
        let (_, headers) = bytes.split_at_mut(SectionHeader::SIZE);
        let section_names = SectionHeader {
            name: 1,
            kind: SHT_STRTAB,
            offset: Header::SIZE as u64,
            size: names.linked_section_names,
            align: 1,
            ..SectionHeader::default()
        };
        let symbol_names = SectionHeader {
            name: 1 + ".shstrtab".len() as u32 + 1,
            offset: section_names.offset + section_names.size,
            ..section_names
        };
        for (header, place) in [section_names, symbol_names].iter().zip(headers.chunks_exact_mut(SectionHeader::SIZE)) {
            header.write(place);
        }
        bytes.truncate(self.layout.size(section) as usize);
        bytes
    }

    /// The index of unified functions and variables, and behind it those that objects bring from an earlier link.
    fn unified_index(&self, section: SectionId) -> Vec<u8> {
        let mut bytes = self.options.unified_index.as_ref().map(|index| index.bytes().to_vec()).unwrap_or_default();
        for piece in self.plan.sections()[section].pieces.iter() {
            bytes.extend_from_slice(self.inputs.sections()[piece.section].data);
        }
        bytes
    }

    /// The table of stubs of unified functions, where there are two views.
    fn stubs(&self, FileSection { section, view }: FileSection) -> Vec<u8> {
        let pieces = self.plan.sections()[section].pieces.iter();
        let mut by_slot: Vec<_> =
            pieces.filter_map(|piece| Some((piece.offset, self.inputs.in_view(piece.section, view)?))).collect();
        by_slot.sort_unstable();
        let data: Vec<&[u8]> = by_slot.into_iter().map(|(_, section)| self.inputs.sections()[section].data).collect();
        if view == View::Machine {
            let mut bytes = vec![0; stubs::machine_size(data.len()) as usize];
            stubs::write_machine(&data, &mut bytes);
            return bytes;
        }
        // `load` has checked that capsules of stubs are like all others.
        let mut bytes = data.first().and_then(|stub| stubs::capsule(stub, data.len())).unwrap_or_default();
        self.name_companion(section, &mut bytes);
        bytes
    }

    /// A capsule starts with the number of the section that it is coded against.
    fn name_companion(&self, section: SectionId, capsule: &mut [u8]) {
        if let Some(companion) = capsule.get_mut(..4) {
            companion.copy_from_slice(&self.numbering.section(section, View::Machine).to_le_bytes());
        }
    }

    /// Whether a section has room in the file. What takes none in the machine's view takes some in the other.
    fn takes_bytes(&self, part: FileSection) -> bool {
        part.view == View::Mercury || !self.kind_in_file(self.plan.sections()[part.section].kind).is_no_bits()
    }

    /// Whether a section of the Mercury view has no bytes of its own in the file, but the machine's.
    fn shares_bytes(&self, FileSection { section: id, view }: FileSection) -> bool {
        let section = &self.plan.sections()[id];
        match section.content {
            _ if view == View::Machine => false,
            Content::Debug => {
                let is_known = SHARED_DEBUG.iter().any(|start| section.name.stem.starts_with(start));
                is_known || self.machine_debug.of(id).is_some_and(|contents| contents.is_shared)
            }
            Content::Pieces => section.target.is_none() && section.kind != SectionType::UNIFIED_DATA,
            _ => false,
        }
    }

    /// Writes a section that is not made in advance; of one that consists of entries, those from `first` on.
    fn write_section(&self, file_section: FileSection, first: usize, out: &mut [u8]) -> cubin::Result<()> {
        let FileSection { section: id, view } = file_section;
        let section = &self.plan.sections()[id];
        match section.content {
            Content::ModuleInfo => self.info.write_module(view, self.numbering, out),
            Content::FunctionInfo(function) => self.info.of(function, view).write(self.numbering, out),
            Content::UnifiedStubsInfo => self.info.stubs(view).write(self.numbering, out),
            Content::Relocations { explicit_addends } => {
                let kept = self.kept(section, view).iter().filter(|entry| entry.explicit_addend == explicit_addends);
                self.write_entries(kept.skip(first), explicit_addends, out);
            }
            Content::ResolvedRelocations => self.write_entries(self.resolved(section, view).iter().skip(first), true, out),
            Content::TextureRelocations(kernel) => self.write_texture_entries(kernel, section, view, out),
            // The driver fills them.
            Content::TextureSlots if view == View::Mercury => {}
            Content::Text(_) if view == View::Mercury => {
                self.write_pieces(file_section, section, out)?;
                self.name_companion(id, out);
            }
            _ => match self.machine_debug.of(id) {
                Some(contents) if view == View::Machine => contents.write(out),
                _ => return self.write_pieces(file_section, section, out),
            },
        }
        Ok(())
    }

    fn write_pieces(&self, part: FileSection, section: &OutputSection<'_>, out: &mut [u8]) -> cubin::Result<()> {
        for (start, data) in self.pieces(part, section) {
            let start = start as usize;
            if let Some(place) = out.get_mut(start..start + data.len()) {
                place.copy_from_slice(data);
            }
        }
        for patch in self.relocations.in_view(part.section, part.view).patches {
            let field = patch.kind.row().map(|row| row.field).unwrap_or_default();
            let mode = if patch.add { Mode::Add } else { Mode::Replace };
            relocation::apply(field, out, patch.offset, patch.value, patch.bank.unwrap_or(0), mode)?;
        }
        Ok(())
    }

    /// The bytes of inputs that a section is made of, and where in it they stand.
    fn pieces<'all>(&'all self, part: FileSection, section: &'all OutputSection<'_>) -> impl Iterator<Item = (u64, &'all [u8])> {
        section.pieces.iter().flat_map(move |piece| {
            let source = match section.content {
                Content::MachineParameters | Content::TextureSlots => Some(piece.section),
                // The machine's side of constants that only a copy of a function had that is gone is not known.
                Content::Pieces if self.is_of_gone_copy(piece.section, section) => Some(piece.section),
                _ => self.inputs.in_view(piece.section, part.view),
            };
            let data = source.map(|source| self.inputs.sections()[source].data).unwrap_or_default();
            let taken = self.plan.taken(piece.section).and_then(|size| data.get(..size as usize));
            let data = taken.unwrap_or(data);
            // Unified variables have a place each; all else stays together.
            let moves = match section.content {
                Content::UnifiedData => self.unified.moves(piece.section),
                _ => &[],
            };
            let whole = (section.content != Content::UnifiedData).then_some((piece.offset, data));
            let moved =
                moves.iter().map(move |(from, to)| (*to, data.get(from.start as usize..from.end as usize).unwrap_or_default()));
            whole.into_iter().chain(moved)
        })
    }

    /// The same, or bytes that were put together before, if the section consists of nothing else: in order, with zeros between them.
    fn unchanged_pieces(&self, part: FileSection, size: u64) -> Option<Vec<(u64, &[u8])>> {
        let section = &self.plan.sections()[part.section];
        if let (View::Machine, Some(contents)) = (part.view, self.machine_debug.of(part.section)) {
            return contents.unchanged();
        }
        let is_patched = !self.relocations.in_view(part.section, part.view).patches.is_empty();
        if is_patched || !matches!(section.content, Content::Pieces | Content::Debug) {
            return None;
        }
        let pieces: Vec<(u64, &[u8])> = self.pieces(part, section).filter(|(_, data)| !data.is_empty()).collect();
        let end = |&(start, data): &(u64, &[u8])| start + data.len() as u64;
        let in_order = pieces.is_sorted_by(|one, next| end(one) <= next.0) && pieces.last().is_none_or(|last| end(last) <= size);
        in_order.then_some(pieces)
    }

    /// Whether a piece of `section` belongs to a copy of a function that is not in the output, and the copy that is has none.
    fn is_of_gone_copy(&self, piece: InputSectionId, section: &OutputSection<'_>) -> bool {
        let function = |piece: InputSectionId| {
            let code = self.inputs.sections()[piece].target?;
            let owner = self.inputs.sections()[code].owner?;
            Some((self.resolution.function(owner)?, self.resolution.fate(owner) == Fate::Taken))
        };
        let Some((gone, false)) = function(piece) else { return false };
        !section.pieces.iter().any(|other| function(other.section) == Some((gone, true)))
    }

    /// The relocations that are left of the section that `section` is for.
    fn kept(&self, section: &OutputSection<'_>, view: View) -> &[Kept] {
        let Some(target) = section.target else { return &[] };
        match self.machine_debug.of(target) {
            Some(contents) if view == View::Machine => &contents.kept,
            _ => self.relocations.in_view(target, view).kept,
        }
    }

    /// The relocations that were applied to the section that `section` is for.
    fn resolved(&self, section: &OutputSection<'_>, view: View) -> &[Kept] {
        section.target.map_or(&[], |target| self.relocations.in_view(target, view).resolved)
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
    fn write_texture_entries(&self, kernel: FunctionId, section: &OutputSection<'_>, view: View, out: &mut [u8]) {
        let textures = self.layout.textures();
        let two_views = self.numbering.has_two_views();
        let slots = textures.filled_slots(kernel).rev();
        for ((symbol, offset), out) in slots.zip(out.chunks_exact_mut(section.entry_size as usize)) {
            let kind = TEXTURE_KINDS.iter().find(|kind| kind.symbol == self.resolution.symbols()[symbol].kind);
            let symbol = self.numbering.referent(Referent::Symbol(symbol));
            let Some(kind) = kind else { continue };
            let (kind, offset) = match view {
                View::Mercury => (kind.mercury_relocation, offset - textures.base()),
                View::Machine if two_views => (kind.machine_relocation, offset),
                View::Machine => (kind.relocation, offset),
            };
            let entry = Relocation { offset, kind, symbol, addend: 0 };
            if two_views || self.options.force_explicit_addends { entry.rela().write(out) } else { entry.rel().write(out) }
        }
    }

    /// The size of a section's bytes.
    fn size_of(&self, FileSection { section: id, view }: FileSection, body: &Body) -> u64 {
        let section = &self.plan.sections()[id];
        let entries = |count: usize| count as u64 * u64::from(section.entry_size);
        match (body, section.content) {
            (_, Content::ReservedShared) if view == View::Machine => self.layout.size(id) + self.options.reserved_for_tools(),
            (_, Content::ReservedShared) => self.layout.size(id),
            (Body::Made(bytes), _) => bytes.len() as u64,
            (_, Content::Symbols) => entries(self.numbering.symbols(view)),
            (_, Content::ModuleInfo) => self.info.module_size(),
            (_, Content::FunctionInfo(function)) => self.info.of(function, view).len() as u64,
            (_, Content::UnifiedStubsInfo) => self.info.stubs(view).len() as u64,
            (_, Content::Relocations { explicit_addends }) => {
                let kept = self.kept(section, view).iter();
                entries(kept.filter(|entry| entry.explicit_addend == explicit_addends).count())
            }
            (_, Content::ResolvedRelocations) => entries(self.resolved(section, view).len()),
            (_, Content::TextureRelocations(kernel)) => entries(self.layout.textures().filled_slots(kernel).count()),
            (_, Content::TextureSlots) if view == View::Mercury => self.layout.size(id) - self.layout.textures().base(),
            (_, Content::Text(_)) => {
                let source = section.pieces.iter().next().and_then(|piece| self.inputs.in_view(piece.section, view));
                source.map_or(0, |source| self.inputs.sections()[source].size)
            }
            _ => match self.machine_debug.of(id) {
                Some(contents) if view == View::Machine => contents.size(),
                _ => self.layout.size(id),
            },
        }
    }
}
