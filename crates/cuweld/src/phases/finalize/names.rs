//! Names: every name's place in the two string tables.
//!
//! Names stand in the order in which the link met them. Where a file has two views, the tables are those of the linked
//! view with the other one's names behind them: in the table of section names, the machine's name of a section is
//! written over the linked one (it is never longer), and the linked one follows again, in full, with those of all other
//! sections of that view; in the table of symbol names, the machine's names of sections follow.

use super::Facts;
use super::strings::StringTableBuilder;
use crate::id::{IdMap, IdVec, PrototypeId, SectionId, SymbolId};
use crate::phases::load::{Place, Role};
use crate::phases::merge::{Content, Local, Name, OutputSection};
use crate::phases::number::{Extent, FileSection, is_named};
use crate::phases::resolve::is_internal;
use crate::views::{self, View};
use cubin::symbol::Binding;
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// Where the names are.
pub struct Names {
    /// Those of prototypes.
    pub prototypes: IdVec<PrototypeId, u32>,
    /// Those of symbols.
    pub symbols: IdVec<SymbolId, u32>,
    /// That of the arrays of unknown size, one for all kernels.
    pub shared_instance: u32,
    section_symbols: IdVec<SectionId, u32>,
    /// The machine's names of sections that have another one there.
    machine_section_symbols: IdMap<SectionId, u32>,
    sections: IdVec<SectionId, u32>,
    mercury_sections: IdVec<SectionId, u32>,
    /// The size of the table of section names, before it gets those of the Mercury view.
    pub linked_section_names: u64,
    /// Bytes that stay free behind the table of symbol names.
    pub room: u64,
}

/// What the reference linker calls a kernel's array of unknown size in a relocatable output.
const SHARED_INSTANCE: &str = "externsharedinstance";

impl Names {
    /// The name of a section of the file.
    pub fn section(&self, FileSection { section, view }: FileSection) -> u32 {
        match view {
            View::Machine => self.sections[section],
            View::Mercury => self.mercury_sections[section],
        }
    }

    /// The name of the symbol of a section.
    pub fn section_symbol(&self, section: SectionId, view: View) -> u32 {
        let renamed = self.machine_section_symbols.get(&section).filter(|_| view == View::Machine);
        renamed.copied().unwrap_or(self.section_symbols[section])
    }
}

/// The machine's name of a section, if it is not the one that it is linked under.
fn machine_name(name: Name<'_>) -> Option<String> {
    // Only constants have other names, so nearly all names can be told by their start.
    let is_constant =
        name.prefix.starts_with(".nv.constant.") || (name.prefix.is_empty() && name.stem.starts_with(".nv.constant."));
    if !is_constant {
        return None;
    }
    let whole = name.to_string();
    views::machine_name(&whole).map(|(start, rest)| [start, rest].concat())
}

/// Gives every name its place: the places, and the two tables.
pub fn name(facts: &Facts<'_, '_>) -> (Names, Vec<u8>, Vec<u8>) {
    let local = &local_functions(facts);
    let (of_sections, of_symbols) = rayon::join(|| name_sections(facts, local), || name_symbols(facts, local));
    let names = Names {
        prototypes: of_symbols.prototypes,
        symbols: of_symbols.symbols,
        shared_instance: of_symbols.shared_instance,
        section_symbols: of_symbols.sections,
        machine_section_symbols: of_symbols.machine_sections,
        sections: of_sections.machine,
        mercury_sections: of_sections.mercury,
        linked_section_names: of_sections.linked_size,
        room: of_sections.renamed_size.saturating_sub(of_symbols.renamed_size),
    };
    (names, of_sections.table, of_symbols.table)
}

/// Names of functions.
type LocalFunctions<'data> = HashSet<&'data str, RandomState>;

/// The names of functions that other objects may have functions of the same name beside.
fn local_functions<'data>(facts: &Facts<'_, 'data>) -> LocalFunctions<'data> {
    let symbols = facts.resolution.functions().iter().map(|function| &facts.resolution.symbols()[function.symbol]);
    symbols.filter(|symbol| symbol.binding == Binding::LOCAL).map(|symbol| symbol.name).collect()
}

impl Facts<'_, '_> {
    /// Whether no other section has the name of this one, and no symbol has. Only one function has a name that is not local, and
    /// only one section is its code; so there is no need to look for the name, and such names are nearly all.
    fn has_name_of_its_own(&self, section: &OutputSection<'_>, local_functions: &LocalFunctions<'_>) -> bool {
        let content = |section: &OutputSection<'_>| match section.content {
            Content::Relocations { .. } => section.target.map(|target| self.plan.sections()[target].content),
            content => Some(content),
        };
        matches!(content(section), Some(Content::Text(_) | Content::FunctionInfo(_)))
            && !local_functions.contains(section.name.stem)
    }
}

struct SectionNames {
    machine: IdVec<SectionId, u32>,
    mercury: IdVec<SectionId, u32>,
    linked_size: u64,
    /// The size of the linked names that are not the machine's.
    renamed_size: u64,
    table: Vec<u8>,
}

fn name_sections(facts: &Facts<'_, '_>, local_functions: &LocalFunctions<'_>) -> SectionNames {
    let sections = facts.plan.sections();
    let two_views = facts.numbering.has_two_views();
    let length = |section: &OutputSection<'_>| section.name.len() + 1;
    let in_mercury = facts.numbering.sections().iter().filter(|part| part.view == View::Mercury);
    let mercury_bytes: usize = in_mercury.clone().map(|part| length(&sections[part.section]) + views::CAPSULE_PREFIX.len()).sum();
    let bytes: usize = sections.iter().map(length).sum::<usize>() + mercury_bytes;
    let is_new = |section: &OutputSection<'_>| facts.has_name_of_its_own(section, local_functions);
    let mut table = StringTableBuilder::with_capacity(sections.iter().filter(|section| !is_new(section)).count(), bytes + 1);
    let mut machine = IdVec::filled(0, sections.len());
    let mut mercury = IdVec::filled(0, if two_views { sections.len() } else { 0 });
    let mut renamed = Vec::new();
    let mut machine_only = Vec::new();
    for (id, section) in sections.enumerate().filter(|(_, section)| section.content != Content::Gone) {
        if section.content != Content::MachineParameters {
            let parts = section.name.parts();
            machine[id] = if is_new(section) { table.append(&parts) } else { table.add(&parts) };
            renamed.extend(machine_name(section.name).filter(|_| two_views).map(|name| (id, name)));
        }
        let is_machine_only = match section.content {
            Content::MachineParameters => true,
            Content::SymbolSectionNumbers => facts.numbering.extent() == Extent::ManyInFile,
            _ => false,
        };
        machine_only.extend(is_machine_only.then_some(id));
    }
    let linked_size = table.len();
    let mut renamed_size = 0;
    for (id, name) in renamed {
        table.overwrite(machine[id], sections[id].name.len(), &name);
        let is_present = facts.numbering.section(id, View::Machine) != 0;
        renamed_size += if is_present { sections[id].name.len() as u64 } else { 0 };
    }
    for id in machine_only {
        machine[id] = table.append(&sections[id].name.parts());
    }
    for part in in_mercury {
        let section = &sections[part.section];
        let prefix = match section.content {
            Content::Text(_) | Content::UnifiedStubs => views::CAPSULE_PREFIX,
            _ => views::MERCURY_PREFIX,
        };
        let [relocation, start, stem] = section.name.parts();
        mercury[part.section] = table.append(&[prefix, relocation, start, stem]);
    }
    SectionNames { machine, mercury, linked_size, renamed_size, table: table.finish() }
}

struct SymbolNames {
    prototypes: IdVec<PrototypeId, u32>,
    symbols: IdVec<SymbolId, u32>,
    shared_instance: u32,
    sections: IdVec<SectionId, u32>,
    machine_sections: IdMap<SectionId, u32>,
    /// The size of the machine's names that are not the linked ones.
    renamed_size: u64,
    table: Vec<u8>,
}

fn name_symbols(facts: &Facts<'_, '_>, local_functions: &LocalFunctions<'_>) -> SymbolNames {
    let (plan_sections, plan_symbols) = (facts.plan.sections(), facts.resolution.symbols());
    // Some have a name and no entry.
    let is_named = |id: SymbolId| {
        let has_entry = facts.numbering.symbol(id) != 0;
        has_entry || is_named(id, facts.inputs, facts.resolution, facts.plan, facts.layout, facts.options)
    };
    let globals: usize = facts.plan.globals().iter().map(|&id| plan_symbols[id].name.len() + 1).sum();
    let mut table = StringTableBuilder::with_capacity(0, globals);
    let mut place = |(id, text): (PrototypeId, &&str)| if facts.graph.nameless() == Some(id) { 0 } else { table.add(&[text]) };
    let prototypes = IdVec::from(facts.graph.prototypes().enumerate().map(&mut place).collect::<Vec<_>>());
    let mut symbols = IdVec::filled(0, plan_symbols.len());
    let mut sections = IdVec::filled(0, plan_sections.len());
    let mut shared_instance = 0;
    let constants = names_of_constants(facts);
    for &entry in facts.plan.locals() {
        match entry {
            Local::Section(id) if plan_sections[id].content == Content::Gone => {}
            Local::Section(id) => {
                let (section, parts) = (&plan_sections[id], plan_sections[id].name.parts());
                let is_new = facts.has_name_of_its_own(section, local_functions);
                sections[id] = if is_new { table.append(&parts) } else { table.add(&parts) };
            }
            Local::Symbol(id) if is_named(id) => {
                symbols[id] = match constants.get(&id) {
                    Some((section, number)) => table.add(&[section, ".", number]),
                    None => table.add(&[plan_symbols[id].name]),
                }
            }
            Local::Symbol(_) => {}
            Local::SharedInstance(_) => shared_instance = table.add(&[SHARED_INSTANCE]),
        }
    }
    // No two global symbols have the same name, and few have one that is there already.
    for (offset, name) in table.names() {
        if let Some(id) = facts.resolution.named(facts.inputs, name) {
            symbols[id] = offset;
        }
    }
    for &id in facts.plan.globals().iter().filter(|&&id| is_named(id)) {
        if symbols[id] == 0 {
            symbols[id] = table.append(&[plan_symbols[id].name]);
        }
    }
    let mut machine_sections = IdMap::default();
    let mut renamed_size = 0;
    for &entry in facts.numbering.entries(View::Machine).iter().filter(|_| facts.numbering.has_two_views()) {
        let Local::Section(id) = entry else { continue };
        if plan_sections[id].content == Content::MachineParameters {
            sections[id] = table.append(&plan_sections[id].name.parts());
        } else if let Some(name) = machine_name(plan_sections[id].name) {
            renamed_size += name.len() as u64 + 1;
            machine_sections.insert(id, table.append(&[&name]));
        }
    }
    SymbolNames { prototypes, symbols, shared_instance, sections, machine_sections, renamed_size, table: table.finish() }
}

/// The names of the constants that compilers made for functions, where there are two views: the section's, and which one of the object
/// it is. They differ from those in the objects, and only files that are not executed have them.
fn names_of_constants<'data>(facts: &Facts<'_, 'data>) -> IdMap<SymbolId, (&'data str, String)> {
    let mut names = IdMap::default();
    let are_shown = !facts.options.executable() || facts.options.preserve_relocations;
    if !are_shown || !facts.numbering.has_two_views() {
        return names;
    }
    for object in facts.inputs.files().iter() {
        let constants = object.symbols.iter().filter_map(|symbol| {
            let Place::Section(section) = facts.inputs.symbols()[symbol].place() else { return None };
            let section = &facts.inputs.sections()[section];
            let id = facts.resolution.meaning(symbol)?;
            let is_constant = matches!(section.role, Role::FunctionConstants(_)) && is_internal(&facts.resolution.symbols()[id]);
            is_constant.then_some((id, section.name))
        });
        names.extend(constants.zip(1u32..).map(|((id, section), number)| (id, (section, number.to_string()))));
    }
    names
}
