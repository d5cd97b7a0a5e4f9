//! Names: the offset of every name in the two string tables.
//!
//! Where a file has two views, the tables are those of the [linked](crate::phases::names) view with the other one's names after
//! them: in the table of section names, the machine's name of a section is written over the linked one (it is never longer), and
//! the linked one follows again, in full, with those of all other sections of that view; in the table of symbol names, the
//! machine's names of sections follow.
//!
//! Newer releases name what the file has, and nothing else, in the order of sections and of symbols.

use crate::id::{IdMap, IdVec, PrototypeId, SectionId, SymbolId};
use crate::imitations::Imitation;
use crate::phases::load::SHARED_INSTANCE;
use crate::phases::merge::{Local, Name, OutputSection, Plan};
use crate::phases::names::{LinkedNames, SectionNames, SymbolNames};
use crate::phases::number::{Extent, FileSection, Numbering};
use crate::phases::stages::Settled;
use crate::phases::strings::StringTableBuilder;
use crate::sections::InViews;
use crate::views::{self, View};

/// Bytes after the names of sections in files with two views: room for the names of two tables that are hardly ever there.
pub const SECTION_NAMES_ROOM: u64 = 36;

/// Where the names are.
pub struct Names {
    /// Those of prototypes.
    pub prototypes: IdVec<PrototypeId, u32>,
    /// Those of symbols.
    pub symbols: IdVec<SymbolId, u32>,
    /// The name of dynamic shared memory, one for all kernels.
    pub shared_instance: u32,
    section_symbols: IdVec<SectionId, u32>,
    /// The machine's names of sections that have another one there.
    machine_section_symbols: IdMap<SectionId, u32>,
    sections: IdVec<SectionId, u32>,
    mercury_sections: IdVec<SectionId, u32>,
    /// The size of the table of section names, before it gets those of the Mercury view.
    pub linked_section_names: u64,
    /// Bytes that stay free after the table of symbol names.
    pub room: u64,
}

impl Names {
    /// The name of a section of the file.
    pub fn section(&self, FileSection { section, view }: FileSection) -> u32 {
        match view {
            View::Mercury => self.mercury_sections[section],
            _ => self.sections[section],
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

/// All names.
pub struct Named {
    /// Their offsets.
    pub(super) names: Names,
    /// The table of section names.
    pub(super) section_names: Vec<u8>,
    /// The table of symbol names.
    pub(super) symbol_names: Vec<u8>,
}

/// Adds the names of the other view, where there are two; or gives all names their places, where none has one yet.
pub fn name(settled: &Settled<'_, '_>, numbering: &Numbering, linked: Option<LinkedNames>) -> Named {
    match linked {
        Some(linked) => add_other_view(settled.plan, numbering, linked),
        None => name_what_is_there(settled, numbering),
    }
}

/// Names what the file has.
fn name_what_is_there(settled: &Settled<'_, '_>, numbering: &Numbering) -> Named {
    let ((machine, mercury, section_names), (machine_sections, symbols)) =
        rayon::join(|| sections_there(settled, numbering), || symbols_there(settled, numbering));
    let names = Names {
        prototypes: symbols.prototypes,
        symbols: symbols.symbols,
        shared_instance: symbols.shared_instance,
        section_symbols: symbols.sections,
        machine_section_symbols: machine_sections,
        sections: machine,
        mercury_sections: mercury,
        linked_section_names: 0,
        room: 0,
    };
    Named { names, section_names, symbol_names: symbols.table.finish() }
}

/// Names the sections of the file, in their order.
fn sections_there(settled: &Settled<'_, '_>, numbering: &Numbering) -> (IdVec<SectionId, u32>, IdVec<SectionId, u32>, Vec<u8>) {
    let (sections, parts) = (settled.plan.sections(), numbering.sections());
    let misnames = settled.options.imitates(Imitation::ConstantsOfStubsMisnamed);
    let bytes: usize = parts.iter().map(|part| sections[part.section].name.len() + views::CAPSULE_PREFIX.len() + 1).sum();
    let mut table = StringTableBuilder::with_capacity(parts.len(), bytes + SECTION_NAMES_ROOM as usize);
    let (mut machine, mut mercury) = (IdVec::filled(0, sections.len()), IdVec::filled(0, sections.len()));
    for &FileSection { section: id, view } in parts {
        let section = &sections[id];
        let is_misnamed = misnames && are_constants_of_stub(settled.plan, section);
        if view == View::Mercury {
            let [relocation, start, stem] = match is_misnamed {
                true => [section.name.relocation, ".nv.constant.optimizer", "ft"],
                false => section.name.parts(),
            };
            mercury[id] = table.add(&[section.kind.mercury_prefix(), relocation, start, stem]);
        } else {
            machine[id] = match machine_name(section.name) {
                Some(_) if is_misnamed => table.add(&[section.name.relocation, ".nv.constant2.", "t"]),
                Some(name) => table.add(&[&name]),
                None => table.add(&section.name.parts()),
            };
        }
    }
    let mut table = table.finish();
    table.resize(table.len() + SECTION_NAMES_ROOM as usize, 0);
    (machine, mercury, table)
}

/// Whether a section holds the constants of a stub of a unified function, or their relocations. The reference linker makes their names from
/// that of the stubs' section, `.nv.uft`, of which it cuts off as much as `.text` is long, or `.text.`.
fn are_constants_of_stub(plan: &Plan<'_>, section: &OutputSection<'_>) -> bool {
    let Some(stubs) = plan.unified_stubs() else { return false };
    let target = section.target.filter(|_| section.name.prefix.starts_with(".nv.constant."));
    target.is_some_and(|target| [Some(target), plan.sections()[target].target].contains(&Some(stubs)))
}

/// Names the symbols of the machine view in their order, then what has another name in the Mercury view, then prototypes as records name
/// them.
fn symbols_there(settled: &Settled<'_, '_>, numbering: &Numbering) -> (IdMap<SectionId, u32>, SymbolNames) {
    let (sections, symbols) = (settled.plan.sections(), settled.resolution.symbols());
    let prototypes = settled.graph.prototypes();
    let mut machine_sections = IdMap::default();
    let mut names = SymbolNames {
        prototypes: IdVec::filled(0, prototypes.len()),
        symbols: IdVec::filled(0, symbols.len()),
        sections: IdVec::filled(0, sections.len()),
        shared_instance: 0,
        table: StringTableBuilder::with_capacity(numbering.symbols(View::Machine), 0),
    };
    let constants = settled.names_of_constants();
    for entry in numbering.each_entry(View::Machine) {
        match entry {
            Local::Section(id) => match machine_name(sections[id].name) {
                Some(name) if !sections[id].kind.keeps_linked_symbol() => {
                    _ = machine_sections.insert(id, names.table.add(&[&name]))
                }
                _ => names.sections[id] = names.table.add(&sections[id].name.parts()),
            },
            Local::Symbol(id) => {
                names.symbols[id] = match constants.get(&id) {
                    Some((section, number)) => names.table.add(&[section, ".", number]),
                    None => names.table.add(&[symbols[id].name(settled.inputs)]),
                }
            }
            Local::SharedInstance(_) => names.shared_instance = names.table.add(&[SHARED_INSTANCE]),
        }
    }
    for entry in numbering.each_entry(View::Mercury) {
        let Local::Section(id) = entry else { continue };
        if machine_sections.contains_key(&id) {
            names.sections[id] = names.table.add(&sections[id].name.parts());
        }
    }
    // The empty prototype is the start of the table.
    for id in settled.live.named_prototypes(settled.graph).filter(|&id| !prototypes[id].is_empty()) {
        if names.prototypes[id] == 0 {
            names.prototypes[id] = names.table.add(&[prototypes[id]]);
        }
    }
    (machine_sections, names)
}

/// Adds the names of the other view, where there are two.
fn add_other_view(plan: &Plan<'_>, numbering: &Numbering, LinkedNames { sections, symbols }: LinkedNames) -> Named {
    let linked_section_names = sections.table.len();
    let (of_sections, of_symbols) =
        rayon::join(|| name_sections(plan, numbering, sections), || name_section_symbols(plan, numbering, symbols));
    let ((mercury_sections, sections, kept_free), (machine_section_symbols, symbols, taken)) = (of_sections, of_symbols);
    let names = Names {
        prototypes: symbols.prototypes,
        symbols: symbols.symbols,
        shared_instance: symbols.shared_instance,
        section_symbols: symbols.sections,
        machine_section_symbols,
        sections: sections.places,
        mercury_sections,
        linked_section_names,
        room: kept_free.saturating_sub(taken),
    };
    Named { names, section_names: sections.table.finish(), symbol_names: symbols.table.finish() }
}

/// Names the sections of both views. Also: how many bytes the linked names have that are not the machine's.
fn name_sections(plan: &Plan<'_>, numbering: &Numbering, mut names: SectionNames) -> (IdVec<SectionId, u32>, SectionNames, u64) {
    if !numbering.has_two_views() {
        return (IdVec::new(), names, 0);
    }
    let sections = plan.sections();
    let mut mercury = IdVec::filled(0, sections.len());
    let mut kept_free = 0;
    let mut machine_only = Vec::new();
    for (id, section) in sections.enumerate().filter(|(_, section)| !section.is_discarded) {
        let is_machine_only = section.kind.in_views() == InViews::MachineOnly;
        let is_appended = is_machine_only || (id == plan.section_numbers() && numbering.extent() == Extent::ManyInFile);
        machine_only.extend(is_appended.then_some(id));
        if !is_machine_only && let Some(name) = machine_name(section.name) {
            let is_present = numbering.section(id, View::Machine) != 0;
            // The name of a list of relocations that turned out to be empty stays as it is.
            if is_present || !section.kind.keeps_linked_name() {
                names.table.overwrite(names.places[id], section.name.len(), &name);
            }
            kept_free += if is_present { section.name.len() as u64 } else { 0 };
        }
    }
    for id in machine_only {
        names.places[id] = names.table.append(&sections[id].name.parts());
    }
    for part in numbering.sections().iter().filter(|part| part.view == View::Mercury) {
        let section = &sections[part.section];
        let [relocation, start, stem] = section.name.parts();
        mercury[part.section] = names.table.append(&[section.kind.mercury_prefix(), relocation, start, stem]);
    }
    (mercury, names, kept_free)
}

/// Names the machine's symbols of sections, where the linked names are others. Also: how many bytes these names take.
fn name_section_symbols(
    plan: &Plan<'_>,
    numbering: &Numbering,
    mut names: SymbolNames,
) -> (IdMap<SectionId, u32>, SymbolNames, u64) {
    let mut machine_sections = IdMap::default();
    let mut taken = 0;
    if !numbering.has_two_views() {
        return (machine_sections, names, taken);
    }
    for entry in numbering.each_entry(View::Machine) {
        let Local::Section(id) = entry else { continue };
        let section = &plan.sections()[id];
        if section.kind.in_views() == InViews::MachineOnly {
            names.sections[id] = names.table.append(&section.name.parts());
        } else if let Some(name) = machine_name(section.name) {
            taken += name.len() as u64 + 1;
            machine_sections.insert(id, names.table.append(&[&name]));
        }
    }
    (machine_sections, names, taken)
}
