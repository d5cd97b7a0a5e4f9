//! Names: the offsets of the linked names in the two string tables.
//!
//! Names are in the order in which the link met them. That depends on no relocation and no number, so the tables are built in parallel with
//! the phases that decide those.

use super::load::{Place, Role, SHARED_INSTANCE};
use super::merge::Local;
use super::resolve::{Symbol, is_internal, is_leftover, is_named_in_any_case, is_shared_variable};
use super::stages::Planned;
use super::strings::StringTableBuilder;
use crate::id::{IdMap, IdVec, PrototypeId, SectionId, SymbolId};
use crate::sections::InViews;
use crate::views;
use cubin::release::Rule;
use cubin::symbol::Binding;
use cubin::target::Views;
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// The linked names.
pub struct LinkedNames {
    /// Those of sections.
    pub sections: SectionNames,
    /// Those of symbols.
    pub symbols: SymbolNames,
}

/// The names of sections.
pub struct SectionNames {
    /// Where they are.
    pub places: IdVec<SectionId, u32>,
    /// The table.
    pub table: StringTableBuilder,
}

/// The names of symbols.
pub struct SymbolNames {
    /// Where those of prototypes are.
    pub prototypes: IdVec<PrototypeId, u32>,
    /// Where those of symbols are.
    pub symbols: IdVec<SymbolId, u32>,
    /// Where those of the symbols of sections are.
    pub sections: IdVec<SectionId, u32>,
    /// Where the name of dynamic shared memory is, one for all kernels.
    pub shared_instance: u32,
    /// The table.
    pub table: StringTableBuilder,
}

/// Gives every linked name its offset; none, where only what the file has has a name, which is known when that is numbered.
pub fn place(facts: &Planned<'_, '_>) -> Option<LinkedNames> {
    if facts.is_compact() {
        return None;
    }
    let own = &facts.names_of_their_own();
    let (symbols, sections) = rayon::join(|| facts.name_symbols(own), || facts.name_sections(own));
    Some(LinkedNames { sections, symbols })
}

impl<'data> Planned<'_, 'data> {
    /// Whether the file has names of what it has and of nothing else, and no room between tables.
    pub fn is_compact(&self) -> bool {
        self.options.target.views == Views::Two && self.inputs.release().has(Rule::CompactFiles)
    }

    /// Whether a symbol that the plan lists has a name in the file: a shared variable that nothing refers to does not, and neither has
    /// a compiler-made constant that was moved to the banks of kernels.
    pub fn is_named(&self, id: SymbolId) -> bool {
        let (symbol, lays_out) = (&self.resolution.symbols()[id], self.options.lays_out_kernels());
        if is_named_in_any_case(symbol) {
            return true;
        }
        if lays_out && is_leftover(symbol) {
            return false;
        }
        if let (true, Some(definition)) = (is_internal(symbol), symbol.definition)
            && let Place::Section(section) = self.inputs.symbols()[definition].place()
        {
            return self.plan.at(section).is_some_and(|at| self.layout.size(at.section) > 0);
        }
        if !lays_out || !is_shared_variable(symbol) {
            return true;
        }
        match symbol.definition {
            Some(_) => self.layout.shared().address(id).is_some(),
            None => self.layout.shared().names_dynamic(),
        }
    }

    /// For each section, whether no other section has its name, and no symbol has. Only one function has a name that is not local, and
    /// only one section is its code, and one each has its attributes, its shared variables and its parameters; so there is no need to
    /// look for the name, and such names are nearly all.
    fn names_of_their_own(&self) -> IdVec<SectionId, bool> {
        // Other objects may have functions of the same name beside these.
        let symbols = self.resolution.functions().iter().map(|function| &self.resolution.symbols()[function.symbol]);
        let local = symbols.filter(|symbol| symbol.binding == Binding::LOCAL).map(|symbol| symbol.name(self.inputs));
        let local: HashSet<&str, RandomState> = local.collect();
        let sections = self.plan.sections().iter();
        let own =
            sections.map(|section| section.kind.is_one_of_function(self.plan, section) && !local.contains(section.name.stem));
        IdVec::from(own.collect::<Vec<_>>())
    }

    fn name_sections(&self, own: &IdVec<SectionId, bool>) -> SectionNames {
        let sections = self.plan.sections();
        let linked: usize = sections.iter().map(|section| section.name.len() + 1).sum();
        // Where there are two views, nearly all names come twice.
        let bytes = match self.options.target.views {
            Views::One => linked,
            Views::Two => 2 * linked + sections.len() * views::CAPSULE_PREFIX.len(),
        };
        let mut table = StringTableBuilder::with_capacity(own.iter().filter(|&&own| !own).count(), bytes + 1);
        let mut places = IdVec::filled(0, sections.len());
        for (id, section) in sections.enumerate() {
            if !section.is_discarded && section.kind.in_views() != InViews::MachineOnly {
                let parts = section.name.parts();
                places[id] = if own[id] { table.append(&parts) } else { table.add(&parts) };
            }
        }
        SectionNames { places, table }
    }

    fn name_symbols(&self, own: &IdVec<SectionId, bool>) -> SymbolNames {
        let (plan_sections, plan_symbols) = (self.plan.sections(), self.resolution.symbols());
        let length = |entry: &Local| match *entry {
            Local::Section(id) => plan_sections[id].name.len() + 1,
            Local::Symbol(id) => plan_symbols[id].name(self.inputs).len() + 1,
            Local::SharedInstance(_) => 0,
        };
        let locals: usize = self.plan.locals().iter().map(length).sum();
        let prototypes: usize = self.graph.prototypes().iter().map(|text| text.len() + 1).sum();
        let names = self.plan.locals().iter().filter(|entry| matches!(entry, Local::Symbol(_))).count();
        let mut table = StringTableBuilder::with_capacity(names + self.graph.prototypes().len(), 1 + locals + prototypes);
        let mut place = |(id, text): (PrototypeId, &&str)| if self.graph.nameless() == Some(id) { 0 } else { table.add(&[text]) };
        let prototypes = IdVec::from(self.graph.prototypes().enumerate().map(&mut place).collect::<Vec<_>>());
        let mut symbols = IdVec::filled(0, plan_symbols.len());
        let mut sections = IdVec::filled(0, plan_sections.len());
        let (mut shared_instance, mut has_global_instance) = (0, false);
        let weak_is_global = self.inputs.release().has(Rule::WeakAmongGlobals);
        let constants = self.names_of_constants();
        for &entry in self.plan.locals() {
            match entry {
                Local::Section(id) if plan_sections[id].is_discarded => {}
                Local::Section(id) => {
                    let parts = plan_sections[id].name.parts();
                    sections[id] = if own[id] { table.append(&parts) } else { table.add(&parts) };
                }
                Local::Symbol(id) if self.is_named(id) => {
                    symbols[id] = match constants.get(&id) {
                        Some((section, number)) => table.add(&[section, ".", number]),
                        None => table.add(&[plan_symbols[id].name(self.inputs)]),
                    }
                }
                Local::Symbol(_) => {}
                Local::SharedInstance(_) if weak_is_global => has_global_instance = true,
                Local::SharedInstance(_) => shared_instance = table.add(&[SHARED_INSTANCE]),
            }
        }
        // No two global symbols have the same name, and few have one that is there already.
        for (offset, name) in table.names() {
            if let Some(id) = self.resolution.named(self.inputs, name) {
                symbols[id] = offset;
            }
        }
        let places = symbols.split_mut(self.plan.globals().iter().map(|globals| globals.symbols));
        table.append_all(self.plan.globals().iter().zip(places).collect(), |globals| {
            let name = |(id, symbol): (SymbolId, &Symbol)| (globals.stay || self.is_named(id)).then(|| symbol.name(self.inputs));
            plan_symbols.range(globals.symbols).map(name)
        });
        if has_global_instance {
            shared_instance = table.add(&[SHARED_INSTANCE]);
        }
        SymbolNames { prototypes, symbols, sections, shared_instance, table }
    }

    /// The names of the constants that compilers made for functions, where there are two views: the section's, and which one of the
    /// object it is. They differ from those in the objects, and only files that are not executed have them.
    pub fn names_of_constants(&self) -> IdMap<SymbolId, (&'data str, String)> {
        let mut names = IdMap::default();
        let are_renamed = self.options.target.views == Views::Two && !self.inputs.release().has(Rule::ConstantsKeepNames);
        if !self.options.lists_internal_symbols() || !are_renamed {
            return names;
        }
        for object in self.inputs.files().iter() {
            let constants = object.symbols.iter().filter_map(|symbol| {
                let Place::Section(section) = self.inputs.symbols()[symbol].place() else { return None };
                let section = &self.inputs.sections()[section];
                let id = self.resolution.meaning(symbol)?;
                let is_constant =
                    matches!(section.role, Role::FunctionConstants(_)) && is_internal(&self.resolution.symbols()[id]);
                is_constant.then_some((id, section.name))
            });
            names.extend(constants.zip(1u32..).map(|((id, section), number)| (id, (section, number.to_string()))));
        }
        names
    }
}
