//! Number: which sections and symbols the file has, and their numbers.
//!
//! Sections are in order of creation, sorted by class: debug information first, then notes and attributes, relocations, constants,
//! code, data, and last what takes no room in the file. Empty ones are left out. Symbols are in the order in which the walk over
//! the inputs met them, local part first.

use super::callgraph::CallGraph;
use super::info::Info;
use super::layout::Layout;
use super::live::LiveSet;
use super::merge::{Content, Local, OutputSection, Plan};
use super::relocate::{Referent, Relocations, is_leftover};
use super::resolve::{Resolution, is_shared_variable};
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::options::Options;
use cubin::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOTE};
use cubin::section::SectionType;
use cubin::symbol::SymbolKind;

/// The sections and symbols of the file, and their numbers.
#[derive(Debug)]
pub struct Numbering {
    sections: Vec<SectionId>,
    section_number: IdVec<SectionId, u32>,
    entries: Vec<Local>,
    locals: u32,
    symbol_number: IdVec<SymbolId, u32>,
    section_symbol: IdVec<SectionId, u32>,
}

impl Numbering {
    /// The sections in file order; the first of them has number 1.
    pub fn sections(&self) -> &[SectionId] {
        &self.sections
    }

    /// The number of a section; 0 if the file does not have it.
    pub fn section(&self, section: SectionId) -> u32 {
        self.section_number[section]
    }

    /// The entries of the symbol table, behind the null entry.
    pub fn entries(&self) -> &[Local] {
        &self.entries
    }

    /// The number of the first global symbol.
    pub fn first_global(&self) -> u32 {
        self.locals + 1
    }

    /// The number of a symbol; 0 if the file does not have it.
    pub fn symbol(&self, symbol: SymbolId) -> u32 {
        self.symbol_number[symbol]
    }

    /// The number of the symbol that a relocation or attribute means.
    pub fn referent(&self, referent: Referent) -> u32 {
        match referent {
            Referent::Symbol(symbol) => self.symbol_number[symbol],
            Referent::Section(section) => self.section_symbol[section],
        }
    }
}

/// The facts that numbering reads.
pub struct Facts<'facts, 'data> {
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// Who calls whom.
    pub graph: &'facts CallGraph<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses and sizes.
    pub layout: &'facts Layout,
    /// What is left of the relocations.
    pub relocations: &'facts Relocations,
    /// The attributes.
    pub info: &'facts Info<'facts, 'data>,
    /// What was asked for.
    pub options: &'facts Options,
}

/// Numbers sections and symbols.
pub fn number(facts: &Facts<'_, '_>) -> Numbering {
    let plan = facts.plan;
    let mut present: Vec<SectionId> = plan.sections().ids().filter(|&id| facts.is_present(id)).collect();
    present.sort_by_key(|&id| class(&plan.sections()[id]));
    let mut section_number = IdVec::filled(0, plan.sections().len());
    for (index, &id) in present.iter().enumerate() {
        section_number[id] = index as u32 + 1;
    }

    let mut entries: Vec<Local> =
        plan.locals().iter().copied().filter(|&entry| facts.is_listed(entry, &section_number)).collect();
    let locals = entries.len() as u32;
    entries.extend(plan.globals().iter().filter(|&&id| facts.is_listed_global(id)).map(|&id| Local::Symbol(id)));
    let mut symbol_number = IdVec::filled(0, facts.resolution.symbols().len());
    let mut section_symbol = IdVec::filled(0, plan.sections().len());
    for (index, &entry) in entries.iter().enumerate() {
        let number = index as u32 + 1;
        match entry {
            Local::Section(id) => section_symbol[id] = number,
            Local::Symbol(id) => symbol_number[id] = number,
        }
    }
    Numbering { sections: present, section_number, entries, locals, symbol_number, section_symbol }
}

/// The classes of sections, in file order.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Class {
    /// Names and symbols.
    Tables,
    /// Bytes that are not loaded.
    Debug,
    /// Notes, attributes, the call graph.
    Attributes,
    /// Relocations.
    Relocations,
    /// Loaded, never written: constants.
    Constants,
    /// Code.
    Code,
    /// Data.
    Data,
    /// Loaded, but without bytes in the file.
    NoBits,
}

/// The class of a section.
pub fn class(section: &OutputSection<'_>) -> Class {
    let has = |flag: u64| section.flags & flag != 0;
    match section.content {
        Content::SectionNames | Content::SymbolNames | Content::Symbols | Content::SymbolSectionNumbers => Class::Tables,
        Content::Debug if section.flags == 0 => Class::Debug,
        Content::Relocations { .. } | Content::ResolvedRelocations | Content::TextureRelocations(_) => Class::Relocations,
        Content::KernelShared(_) | Content::ModuleShared | Content::GlobalZero => Class::NoBits,
        _ if has(SHF_EXECINSTR) => Class::Code,
        _ if has(SHF_WRITE) => Class::Data,
        _ if has(SHF_ALLOC) => Class::Constants,
        _ => Class::Attributes,
    }
}

impl Facts<'_, '_> {
    fn is_present(&self, id: SectionId) -> bool {
        let section = &self.plan.sections()[id];
        let target = || section.target.map(|target| self.relocations.of(target));
        match section.content {
            Content::Gone => false,
            Content::SymbolSectionNumbers => self.plan.has_large_numbers(),
            Content::Pieces | Content::Text(_) | Content::GlobalZero => self.layout.size(id) > 0,
            // Objects without functions have empty ones, and those stay.
            Content::Debug => true,
            Content::KernelShared(_) | Content::ModuleShared => match self.options.executable() {
                true => self.layout.shared().is_present(id),
                false => self.layout.size(id) > 0,
            },
            Content::ModuleInfo => self.info.module_size() > 0,
            Content::FunctionInfo(function) => self.info.function_size(function) > 0,
            Content::Relocations { explicit_addends } => {
                target().is_some_and(|outcome| outcome.kept.iter().any(|entry| entry.explicit_addend == explicit_addends))
            }
            Content::ResolvedRelocations => target().is_some_and(|outcome| !outcome.resolved.is_empty()),
            Content::TextureRelocations(kernel) => self.layout.textures().is_used_by(kernel),
            Content::Prototypes => self.prototyped().next().is_some(),
            Content::SectionNames
            | Content::SymbolNames
            | Content::Symbols
            | Content::ToolNotes
            | Content::CudaNote
            | Content::Compatibility
            | Content::CallGraph
            | Content::RelocationActions => true,
        }
    }

    /// The functions that the file gives a prototype for.
    fn prototyped(&self) -> impl Iterator<Item = FunctionId> + '_ {
        prototyped(self.live, self.graph)
    }

    fn is_listed(&self, entry: Local, section_number: &IdVec<SectionId, u32>) -> bool {
        match entry {
            Local::Section(id) => section_number[id] != 0 && self.has_symbol(id),
            Local::Symbol(id) => self.is_named(id),
        }
    }

    /// Whether a section that the file has also has a symbol.
    fn has_symbol(&self, id: SectionId) -> bool {
        let section = &self.plan.sections()[id];
        match section.content {
            Content::KernelShared(_) | Content::ModuleShared | Content::Debug => self.layout.size(id) > 0,
            Content::Pieces
            | Content::Text(_)
            | Content::GlobalZero
            | Content::ToolNotes
            | Content::CudaNote
            | Content::CallGraph
            | Content::Prototypes
            | Content::RelocationActions => true,
            _ => section.kind == SectionType(SHT_NOTE),
        }
    }

    fn is_listed_global(&self, id: SymbolId) -> bool {
        let symbol = &self.resolution.symbols()[id];
        let names_unified_table =
            symbol.definition.is_none() && symbol.name.starts_with("__U") && symbol.kind != SymbolKind::FUNCTION;
        self.is_named(id) && !(self.options.executable() && names_unified_table)
    }

    /// Whether a symbol that the plan lists has a name in the file.
    fn is_named(&self, id: SymbolId) -> bool {
        is_named(id, self.resolution, self.layout, self.options)
    }
}

/// Whether a symbol that the plan lists has a name in the file: a shared variable that nothing refers to does not.
pub fn is_named(id: SymbolId, resolution: &Resolution<'_>, layout: &Layout, options: &Options) -> bool {
    let symbol = &resolution.symbols()[id];
    if options.executable() && is_leftover(symbol) {
        return false;
    }
    if !options.executable() || !is_shared_variable(symbol) {
        return true;
    }
    match symbol.definition {
        Some(_) => layout.shared().address(id).is_some(),
        None => layout.shared().largest_dynamic().is_some(),
    }
}

/// The functions that the file gives a prototype for: those whose address is taken have it in the call graph.
pub fn prototyped<'facts>(live: &'facts LiveSet, graph: &'facts CallGraph<'_>) -> impl Iterator<Item = FunctionId> + 'facts {
    live.functions().filter(|&function| graph.prototype(function).is_some() && graph.taken(function).is_none())
}
