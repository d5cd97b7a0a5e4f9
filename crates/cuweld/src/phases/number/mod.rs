//! Number: the sections and symbols of the file, and their numbers.
//!
//! Sections are in order of creation, sorted by class: debug information first, then notes and attributes, relocations, constants,
//! code, data, and last sections without bytes in the file. Empty ones are left out. Symbols are in the order in which the walk over
//! the inputs met them, local part first.

mod entries;

use super::merge::{Local, Plan};
use super::relocate::Referent;
use super::resolve::is_shared_variable;
use super::stages::Settled;
use crate::id::{FunctionId, Id, IdMap, IdRange, IdVec, SectionId, SymbolId};
use crate::sections::{Class, InViews};
use crate::views::View;
use cubin::elf::SHN_LORESERVE;
use cubin::release::{Release, Rule};
use cubin::symbol::{Binding, SymbolKind};
use cubin::target::Views;
use entries::Table;
use rayon::prelude::*;
use std::ops::Range;

pub use entries::Entries;

/// The sections and symbols of the file, and their numbers.
#[derive(Debug)]
pub struct Numbering {
    sections: Vec<FileSection>,
    machine_number: IdVec<SectionId, u32>,
    /// Only where the file has two views.
    mercury_number: Option<IdVec<SectionId, u32>>,
    symbols: Symbols,
    linked_entries: usize,
    locals: u32,
    extent: Extent,
}

/// The symbol table's entries, and their numbers.
#[derive(Debug)]
struct Symbols {
    table: Table,
    number: IdVec<SymbolId, u32>,
    of_section: IdVec<SectionId, u32>,
    shared_instance: IdMap<FunctionId, u32>,
}

/// Whether there are so many sections that their numbers need more than the 16 bits that symbols have for them.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Extent {
    /// There are not.
    Usual,
    /// Only all sections together, of both views, are so many.
    ManyInFile,
    /// The sections that are linked are so many.
    ManyLinked,
}

impl Extent {
    /// Given how many sections there are in the machine view, and in the other, if there is one.
    fn of(plan: &Plan<'_>, machine: usize, mercury: Option<usize>) -> Self {
        let is_many_in_file = mercury.is_some_and(|mercury| machine + mercury + 1 >= SHN_LORESERVE as usize);
        match (plan.has_large_numbers(), is_many_in_file) {
            (true, _) => Extent::ManyLinked,
            (false, true) => Extent::ManyInFile,
            (false, false) => Extent::Usual,
        }
    }
}

/// A section of the file: a section of the plan, as one of the views has it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct FileSection {
    /// The section.
    pub section: SectionId,
    /// Whose contents it has.
    pub view: View,
}

impl Numbering {
    /// The sections in file order; the first of them has number 1.
    pub fn sections(&self) -> &[FileSection] {
        &self.sections
    }

    /// The number of a section as a view has it; 0 if the file does not have it. What means the same to both views exists once.
    pub fn section(&self, section: SectionId, view: View) -> u32 {
        match (view, &self.mercury_number) {
            (View::Mercury, Some(numbers)) if numbers[section] != 0 => numbers[section],
            _ => self.machine_number[section],
        }
    }

    /// How many entries the symbol table has. The machine view has some at the end that the other has not.
    pub fn symbols(&self, view: View) -> usize {
        match view {
            View::Mercury => self.linked_entries + 1,
            _ => self.symbols.table.len() + 1,
        }
    }

    /// The entries of the symbol table from number to number, but for the null entry.
    pub fn entries(&self, numbers: Range<usize>) -> impl Iterator<Item = Entries<'_>> {
        let place = |number: usize| number.saturating_sub(1);
        self.symbols.table.part(place(numbers.start)..place(numbers.end))
    }

    /// Each entry of a view's symbol table, but for the null entry.
    pub fn each_entry(&self, view: View) -> impl Iterator<Item = Local> {
        self.entries(1..self.symbols(view)).flat_map(Entries::iter)
    }

    /// The number of the first global symbol.
    pub fn first_global(&self) -> u32 {
        self.locals + 1
    }

    /// The number of a symbol; 0 if the file does not have it.
    pub fn symbol(&self, symbol: SymbolId) -> u32 {
        self.symbols.number[symbol]
    }

    /// The number of the symbol that a relocation or attribute means.
    pub fn referent(&self, referent: Referent) -> u32 {
        match referent {
            Referent::Symbol(symbol) => self.symbols.number[symbol],
            Referent::Section(section) => self.symbols.of_section[section],
            Referent::SharedInstance(kernel) => self.symbols.shared_instance.get(&kernel).copied().unwrap_or(0),
        }
    }

    /// Whether section numbers need more than the 16 bits that symbols have for them.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether the machine view has symbols that the other has not.
    pub fn has_machine_entries(&self) -> bool {
        self.symbols.table.len() > self.linked_entries
    }

    /// Whether the file has the program twice.
    pub fn has_two_views(&self) -> bool {
        self.mercury_number.is_some()
    }
}

/// Numbers sections and symbols.
pub fn number(facts: &Settled<'_, '_>) -> Numbering {
    let plan = facts.plan;
    let class_of = |id: SectionId| {
        let section = &plan.sections()[id];
        (!section.is_discarded && section.kind.is_needed(facts, id)).then(|| section.class())
    };
    let rows = 0..plan.sections().len();
    let classes: Vec<Option<Class>> =
        rows.into_par_iter().with_min_len(256).map(|row| class_of(SectionId::from_index(row))).collect();
    let mut present = in_order_of_class(&classes);
    let machine = View::machine(facts.options.target.views);
    let mut twins = (machine == View::Machine).then(|| twins(plan, facts.inputs.release(), &present));
    let extent = Extent::of(plan, present.len(), twins.as_ref().map(Vec::len));
    let overflow = plan.section_numbers();
    if extent != Extent::ManyLinked {
        let lists = [Some(&mut present), twins.as_mut()].into_iter().flatten();
        lists.for_each(|sections| sections.retain(|&id| id != overflow));
    }
    let machine_only = present.partition_point(|&id| classes[id.index()] < Some(Class::MachineOnly));
    let machine_entries: Vec<Local> = present[machine_only..].iter().map(|&id| Local::Section(id)).collect();
    if let (Extent::ManyInFile, Some(twins)) = (extent, &mut twins) {
        // The linked view did without them, so they stand with what the machine view alone has, and with the last table.
        present.insert(machine_only, overflow);
        twins.insert(twins.len().saturating_sub(1), overflow);
    }
    let in_view = |view: View| move |&section: &SectionId| FileSection { section, view };
    let mut sections: Vec<FileSection> = present.iter().map(in_view(machine)).collect();
    sections.extend(twins.iter().flatten().map(in_view(View::Mercury)));
    let mut machine_number = IdVec::filled(0, plan.sections().len());
    let mut mercury_number = twins.as_ref().map(|_| IdVec::filled(0, plan.sections().len()));
    for (index, &FileSection { section, view }) in sections.iter().enumerate() {
        let numbers = match (view, &mut mercury_number) {
            (View::Mercury, Some(numbers)) => numbers,
            _ => &mut machine_number,
        };
        numbers[section] = index as u32 + 1;
    }
    let (symbols, locals) = number_symbols(facts, &machine_number);
    let linked_entries = symbols.table.len();
    let mut numbering = Numbering { sections, machine_number, mercury_number, symbols, linked_entries, locals, extent };
    machine_entries.into_iter().for_each(|entry| numbering.symbols.push(entry));
    numbering
}

/// Numbers the symbols that all views have, local ones first; also: how many those are.
fn number_symbols(facts: &Settled<'_, '_>, section_number: &IdVec<SectionId, u32>) -> (Symbols, u32) {
    let plan = facts.plan;
    let mut symbols = Symbols {
        table: Table::default(),
        number: IdVec::filled(0, facts.resolution.symbols().len()),
        of_section: IdVec::filled(0, plan.sections().len()),
        shared_instance: IdMap::default(),
    };
    let is_listed = |entry: &Local| facts.is_listed(*entry, section_number);
    let weak_is_global = facts.inputs.release().has(Rule::WeakAmongGlobals);
    let is_global = |entry: &Local| weak_is_global && matches!(entry, Local::SharedInstance(_));
    let listed = || plan.locals().iter().copied().filter(is_listed);
    listed().filter(|entry| !is_global(entry)).for_each(|entry| symbols.push(entry));
    let in_question = plan.globals().iter().filter(|globals| !globals.stay).flat_map(|globals| globals.symbols.iter());
    let among_locals = in_question.filter(|&id| facts.stands_among_locals(id) && facts.is_listed_global(id));
    among_locals.for_each(|id| symbols.push(Local::Symbol(id)));
    let locals = symbols.table.len() as u32;
    for globals in plan.globals() {
        if globals.stay {
            symbols.extend(globals.symbols);
        } else {
            let listed = globals.symbols.iter().filter(|&id| facts.is_listed_global(id) && !facts.stands_among_locals(id));
            listed.for_each(|id| symbols.push(Local::Symbol(id)));
        }
    }
    listed().filter(is_global).for_each(|entry| symbols.push(entry));
    (symbols, locals)
}

impl Symbols {
    /// Gives an entry the next number.
    fn push(&mut self, entry: Local) {
        self.table.push(entry);
        let number = self.table.len() as u32;
        match entry {
            Local::Section(id) => self.of_section[id] = number,
            Local::Symbol(id) => self.number[id] = number,
            Local::SharedInstance(kernel) => _ = self.shared_instance.insert(kernel, number),
        }
    }

    /// Gives symbols the next numbers.
    fn extend(&mut self, symbols: IdRange<SymbolId>) {
        let first = self.table.len() as u32 + 1;
        self.table.extend(symbols);
        self.number.slice_mut(symbols).iter_mut().zip(first..).for_each(|(number, next)| *number = next);
    }
}

/// The sections that have a class, by class, and otherwise in their order.
fn in_order_of_class(classes: &[Option<Class>]) -> Vec<SectionId> {
    let mut next = [0usize; Class::COUNT + 1];
    for class in classes.iter().flatten() {
        next[*class as usize + 1] += 1;
    }
    for class in 0..Class::COUNT {
        next[class + 1] += next[class];
    }
    let mut sections = vec![SectionId::from_index(0); next[Class::COUNT]];
    for (row, class) in classes.iter().enumerate() {
        if let Some(class) = class {
            let place = &mut next[*class as usize];
            sections[*place] = SectionId::from_index(row);
            *place += 1;
        }
    }
    sections
}

/// The sections that the Mercury view has its own of, in file order: that of the machine view, or code first and the symbol table last.
fn twins(plan: &Plan<'_>, release: &Release, present: &[SectionId]) -> Vec<SectionId> {
    let (mut code, mut others, mut symbols) = (Vec::with_capacity(present.len()), Vec::with_capacity(present.len()), Vec::new());
    let in_one_order = release.has(Rule::ViewsInOneOrder);
    for &id in present {
        match plan.sections()[id].kind.in_views() {
            InViews::EachAsCode if !in_one_order => code.push(id),
            InViews::EachAtEnd if !in_one_order => symbols.push(id),
            InViews::Each | InViews::EachAsCode | InViews::EachAtEnd => others.push(id),
            InViews::EachSince(rule) if release.has(rule) => others.push(id),
            InViews::Once | InViews::EachSince(_) | InViews::MachineOnly => {}
        }
    }
    code.extend(others);
    code.extend(symbols);
    code
}

impl Settled<'_, '_> {
    fn is_listed(&self, entry: Local, section_number: &IdVec<SectionId, u32>) -> bool {
        match entry {
            Local::Section(id) => section_number[id] != 0 && self.plan.sections()[id].kind.has_symbol(self, id),
            Local::Symbol(id) => self.is_named(id),
            Local::SharedInstance(_) => true,
        }
    }

    /// The binding of a shared variable.
    pub fn shared_binding(&self, id: SymbolId) -> Binding {
        let symbol = &self.resolution.symbols()[id];
        let is_of_one_kernel = || self.layout.shared().address(id).is_some_and(|address| address.kernel.is_some());
        let is_local = self.inputs.release().has(Rule::SharedOfOneKernelLocal);
        if is_local && symbol.definition.is_some() && is_of_one_kernel() { Binding::LOCAL } else { symbol.binding }
    }

    /// Whether a symbol that was global stands where its binding is that of a local one by now.
    fn stands_among_locals(&self, id: SymbolId) -> bool {
        self.options.target.views == Views::Two
            && self.inputs.release().has(Rule::LocalsTogether)
            && is_shared_variable(&self.resolution.symbols()[id])
            && self.shared_binding(id) == Binding::LOCAL
    }

    fn is_listed_global(&self, id: SymbolId) -> bool {
        let symbol = &self.resolution.symbols()[id];
        let names_unified_table =
            || symbol.definition.is_none() && symbol.name(self.inputs).starts_with("__U") && symbol.kind != SymbolKind::FUNCTION;
        self.is_named(id) && !(self.options.drops_unified_tables() && names_unified_table())
    }
}
