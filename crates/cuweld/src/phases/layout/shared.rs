//! The layout of shared memory.
//!
//! # The problem
//!
//! Every kernel has a shared memory of its own, which starts at offset 0 of the shared window. A variable that only one kernel reaches
//! (directly or through the functions that it calls) gets an offset among that kernel's own variables. A variable that several kernels reach
//! must have the same offset in all of them, because the code that refers to it exists once. And dynamic shared memory (`extern __shared__`)
//! has to start after everything else in each kernel that reaches it, again at one offset per function that refers to it.
//!
//! # The layout
//!
//! 1. Variables with several users form the *pool*, which every kernel's memory starts with. Two of them may overlap if no kernel
//!    uses both: from the largest to the smallest, each is put into the first group in which it shares no kernel with anyone, and the
//!    groups are placed one after the other. (This is a greedy colouring of the interference graph, whose nodes are variables.)
//! 2. A kernel's own variables, the widest alignment first, start after the last pool variable that the kernel itself reaches.
//! 3. Dynamic shared memory starts at the next multiple of 16 after all of that. Where a function that refers to it is reached by several
//!    kernels, they agree on the largest such offset; kernels that share such functions in a chain all get the same one.
//!
//! A variable that no code refers to is removed. One that only dead code refers to is not: it goes to the pool, where it interferes with
//! nobody.

pub use relocatable::keep;

mod relocatable;
mod users;

use super::Facts;
use crate::dealt_sort::{Tie, dealt_merge_sort};
use crate::id::{FunctionId, IdMap, IdSet, SectionId, SymbolId};
use crate::imitations::Imitation;
use crate::phases::merge::{Piece, SharedPlacement, SharedVariable};
use crate::phases::resolve::is_dynamic;
use crate::phases::usage::{Callers, PerComponent};
use cubin::release::Rule;
use std::cmp::Reverse;
use std::collections::HashMap;
use users::{UserClass, Users};

/// The least alignment of dynamic shared memory.
const DYNAMIC_ALIGN: u64 = 16;

/// Addresses in shared memory.
#[derive(Debug, Default)]
pub struct SharedLayout {
    addresses: IdMap<SymbolId, Address>,
    dynamic: IdMap<FunctionId, u64>,
    /// With `-g`, where debuggers are shown dynamic arrays.
    shown_dynamic: Option<IdMap<SymbolId, u64>>,
    has_pool: bool,
    names_dynamic: bool,
    sections: IdMap<SectionId, SharedExtent>,
    used: IdMap<FunctionId, u64>,
    instances: IdMap<FunctionId, u64>,
    /// How dynamic shared memory is to be aligned, where that is left to another link.
    declared: IdMap<SymbolId, u64>,
}

/// The address of a variable.
#[derive(Copy, Clone, Debug)]
pub struct Address {
    /// Its address, without what the driver reserves.
    pub offset: u64,
    /// The kernel whose own it is.
    pub kernel: Option<FunctionId>,
}

/// What becomes of a section of shared memory.
#[derive(Copy, Clone, Debug)]
pub struct SharedExtent {
    /// Its size, with what the driver reserves.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// Whether the file has it at all.
    pub present: bool,
    /// Whether it has a symbol, if the file has it.
    pub listed: bool,
}

impl SharedLayout {
    /// The address of a variable; none, if nothing refers to it.
    pub fn address(&self, symbol: SymbolId) -> Option<Address> {
        self.addresses.get(&symbol).copied()
    }

    /// Where dynamic shared memory starts for the code of a function.
    pub fn dynamic(&self, function: FunctionId) -> Option<u64> {
        self.dynamic.get(&function).copied()
    }

    /// Whether debuggers are shown dynamic shared memory: with `-g`.
    pub fn shows_dynamic(&self) -> bool {
        self.shown_dynamic.is_some()
    }

    /// With `-g`, where a dynamic array starts, wherever it is used.
    pub fn shown_dynamic(&self, array: SymbolId) -> Option<u64> {
        self.shown_dynamic.as_ref()?.get(&array).copied()
    }

    /// Whether dynamic shared memory has symbols in a file that shows shared variables.
    pub fn names_dynamic(&self) -> bool {
        self.names_dynamic
    }

    /// Whether any variable has several users.
    pub fn has_pool(&self) -> bool {
        self.has_pool
    }

    /// The bytes that a kernel's variables take.
    pub fn used_by(&self, kernel: FunctionId) -> u64 {
        self.used.get(&kernel).copied().unwrap_or(0)
    }

    /// Where dynamic shared memory starts for a kernel that uses it itself, in what a relocatable output of the reference linker
    /// holds.
    pub fn instance(&self, kernel: FunctionId) -> Option<u64> {
        self.instances.get(&kernel).copied()
    }

    /// How dynamic shared memory is to be aligned, if an object says so and it is left to another link.
    pub fn declared_align(&self, symbol: SymbolId) -> Option<u64> {
        self.declared.get(&symbol).copied().filter(|&align| align > 1)
    }

    /// What becomes of each section of shared memory.
    pub fn sections(&self) -> impl Iterator<Item = (SectionId, SharedExtent)> + '_ {
        self.sections.iter().map(|(&section, &extent)| (section, extent))
    }

    /// Whether a section of shared memory that the file has also has a symbol.
    pub fn is_listed(&self, section: SectionId) -> bool {
        self.sections.get(&section).is_some_and(|extent| extent.listed)
    }

    /// Whether the file has a section of shared memory.
    pub fn is_present(&self, section: SectionId) -> bool {
        self.sections.get(&section).is_some_and(|extent| extent.present)
    }
}

/// Variables of the pool that may overlap.
struct Group {
    members: Vec<SharedVariable>,
    users: IdSet<UserClass>,
}

/// The groups of the pool.
#[derive(Default)]
struct Groups<'users> {
    all: Vec<Group>,
    /// The first group that a class has no part in, if that is not the first one.
    first_without: IdMap<UserClass, usize>,
    /// Where the last variable of the same users went: those before have not become free.
    last: HashMap<&'users [UserClass], usize>,
}

impl<'users> Groups<'users> {
    /// Adds a variable to the first group in which it shares no user with anyone.
    fn add(&mut self, variable: SharedVariable, users: &'users [UserClass]) {
        let first_without = |class: &UserClass| self.first_without.get(class).copied().unwrap_or(0);
        let known = self.last.get(users).copied().unwrap_or(0);
        let start = users.iter().map(first_without).max().unwrap_or(0).max(known);
        let fits = |group: &Group| users.iter().all(|class| !group.users.contains(class));
        let found = self.all.get(start..).unwrap_or_default().iter().position(fits);
        let place = found.map_or(self.all.len(), |ahead| start + ahead);
        if place == self.all.len() {
            self.all.push(Group { members: Vec::new(), users: IdSet::default() });
        }
        self.last.insert(users, place);
        self.all[place].members.push(variable);
        self.all[place].users.extend(users);
        for class in users {
            let first = self.first_without.entry(*class).or_default();
            while self.all.get(*first).is_some_and(|group| group.users.contains(class)) {
                *first += 1;
            }
        }
    }
}

/// Lays out the shared memory of every kernel.
pub fn lay_out(facts: &Facts<'_, '_>) -> SharedLayout {
    let users = &Users::find(facts);
    let (own, groups) = share_out(facts, users);
    let mut work = Work::new(facts, users, groups);
    work.lay_out_pool();
    work.lay_out_own(own);
    work.lay_out_dynamic();
    work.kernel_sections();
    work.module_section();
    work.layout
}

/// Which variables are a kernel's own, and the pool of the others.
fn share_out(facts: &Facts<'_, '_>, users: &Users) -> (IdMap<FunctionId, Vec<SharedVariable>>, Vec<Group>) {
    let mut own: IdMap<FunctionId, Vec<SharedVariable>> = IdMap::default();
    let mut module = Vec::new();
    for &variable in facts.plan.shared_variables() {
        match variable.owner {
            SharedPlacement::Kernel(kernel) => own.entry(kernel).or_default().push(variable),
            SharedPlacement::Module | SharedPlacement::Dynamic => module.push(variable),
        }
    }
    let mut groups = Groups::default();
    for variable in dealt_merge_sort(&module, Tie::Second, &|a, b| a.size > b.size) {
        match users.of(variable.symbol) {
            _ if variable.owner == SharedPlacement::Dynamic => {}
            Callers::None if !facts.references.any(variable.symbol) => {}
            Callers::One(kernel) => own.entry(kernel).or_default().push(variable),
            Callers::None | Callers::Several => groups.add(variable, users.together_with(variable.symbol)),
        }
    }
    (own, groups.all)
}

/// A layout that is being made.
struct Work<'work, 'facts, 'data> {
    facts: &'work Facts<'facts, 'data>,
    users: &'work Users,
    groups: Vec<Group>,
    /// What leads to a variable of the pool.
    uses_pool: PerComponent<Option<bool>>,
    /// Whether stubs of unified functions have their part of the pool.
    stubs_have_pool: bool,
    pool_end: u64,
    pool_align: u64,
    /// Where the pool ends for those that reach a part of it.
    pool_end_for: PerComponent<Option<u64>>,
    /// Where a kernel's memory ends.
    end: IdMap<FunctionId, u64>,
    /// The alignment of a kernel's memory.
    align: IdMap<FunctionId, u64>,
    /// Whether the program has dynamic shared memory, and the kernels that use it.
    has_dynamic: bool,
    with_dynamic: IdSet<FunctionId>,
    dynamic: DynamicAlignment,
    layout: SharedLayout,
}

impl<'work, 'facts, 'data> Work<'work, 'facts, 'data> {
    fn new(facts: &'work Facts<'facts, 'data>, users: &'work Users, groups: Vec<Group>) -> Self {
        let pool: IdSet<SymbolId> = groups.iter().flat_map(|group| &group.members).map(|variable| variable.symbol).collect();
        let uses_pool = users.largest(facts, |symbol| Some(pool.contains(&symbol)));
        // The reference linker gives stubs of unified functions their part of the pool only if the first of them has one.
        let is_user = |stub: &FunctionId| facts.usage.at(&uses_pool, *stub) == Some(true);
        let first_stub = facts.live.stubs().first();
        let stubs_have_pool = !facts.options.imitates(Imitation::FirstStubDecidesPool) || first_stub.is_some_and(is_user);
        let symbols = facts.resolution.symbols();
        // There can be many kernels, so no table grows one by one.
        let kernels = facts.live.entries().len();
        let mut layout = SharedLayout { has_pool: !groups.is_empty(), ..SharedLayout::default() };
        let laid_out = facts.live.entries().iter().map(|&kernel| fixed_part(facts, kernel).size);
        layout.used.reserve(kernels);
        layout.sections.reserve(kernels + 1);
        Work {
            facts,
            users,
            groups,
            uses_pool,
            stubs_have_pool,
            // Alignment takes what is reserved for the null pointer to the first address that is not zero.
            pool_end: laid_out.max().unwrap_or(0).max(facts.options.reserve_null_pointer.into()),
            pool_align: 1,
            pool_end_for: PerComponent::default(),
            end: IdMap::with_capacity_and_hasher(kernels, Default::default()),
            align: IdMap::with_capacity_and_hasher(kernels, Default::default()),
            has_dynamic: facts.resolution.laid_out_by_kernel().iter().any(|&id| is_dynamic(&symbols[id])),
            with_dynamic: facts.live.entries().iter().copied().filter(|&entry| users.reaches_dynamic(facts, entry)).collect(),
            dynamic: DynamicAlignment::find(facts, users),
            layout,
        }
    }

    /// Whether an entry function uses a variable of the pool.
    fn uses_pool(&self, entry: FunctionId) -> bool {
        self.facts.usage.at(&self.uses_pool, entry) == Some(true)
    }

    /// Whether the memory of an entry function starts with the pool.
    fn has_pool(&self, entry: FunctionId) -> bool {
        self.layout.has_pool && (self.stubs_have_pool || !self.facts.live.is_stub(entry))
    }

    /// Whether a debugger is shown shared variables.
    fn is_debugged(&self) -> bool {
        self.facts.options.debug && self.facts.options.lists_shared_variables()
    }

    /// What the driver reserves, as the linked view has it: where there are two views, only the machine view has a reserved part, so
    /// that to the linked one, a section with nothing else is empty.
    fn linked_reserved(&self) -> u64 {
        if self.facts.options.linked().counts_reserved_shared { self.facts.options.reserved_shared() } else { 0 }
    }

    fn lay_out_pool(&mut self) {
        let mut end_of: IdMap<SymbolId, u64> = IdMap::default();
        for group in &self.groups {
            let align = group.members.iter().map(|variable| variable.align).max().unwrap_or(1);
            let start = self.pool_end.next_multiple_of(align);
            self.pool_align = self.pool_align.max(align);
            self.pool_end = start + group.members.iter().map(|variable| variable.size).max().unwrap_or(0);
            for variable in &group.members {
                self.layout.addresses.insert(variable.symbol, Address { offset: start, kernel: None });
                let end = end_of.entry(variable.symbol).or_default();
                *end = (*end).max(start + variable.size);
            }
        }
        self.pool_end_for = self.users.largest(self.facts, |symbol| end_of.get(&symbol).copied());
        if self.layout.has_pool {
            // What a section of an input is aligned to says less: in relocatable outputs, dynamic shared memory widens it.
            let of_module = |variable: &&SharedVariable| variable.owner == SharedPlacement::Module;
            let aligns = self.facts.plan.shared_variables().iter().filter(of_module).map(|variable| variable.align);
            self.pool_align = aligns.fold(self.pool_align, u64::max).max(self.dynamic.widest);
        }
    }

    /// Each kernel's own variables, the widest alignment first.
    fn lay_out_own(&mut self, mut own: IdMap<FunctionId, Vec<SharedVariable>>) {
        let widest_first = |a: &SharedVariable, b: &SharedVariable| (Reverse(a.align), a.size) < (Reverse(b.align), b.size);
        for &kernel in self.facts.live.entries() {
            let variables = own.remove(&kernel).unwrap_or_default();
            let start = if variables.is_empty() { 0 } else { u64::from(self.facts.options.reserve_null_pointer) };
            let pool_end = self.facts.usage.at(&self.pool_end_for, kernel).filter(|_| self.has_pool(kernel));
            let fixed = fixed_part(self.facts, kernel);
            let mut cursor = pool_end.unwrap_or(start).max(fixed.size);
            // The memory of a stub is made when it is first needed; for dynamic shared memory alone, that is after the pool.
            let is_before_pool = !self.facts.live.is_stub(kernel) || !variables.is_empty() || self.uses_pool(kernel);
            let mut widest = if is_before_pool && self.layout.has_pool { self.pool_align.max(fixed.align) } else { fixed.align };
            for variable in dealt_merge_sort(&variables, Tie::First, &widest_first) {
                let offset = cursor.next_multiple_of(variable.align);
                self.layout.addresses.insert(variable.symbol, Address { offset, kernel: Some(kernel) });
                cursor = offset + variable.size;
                widest = widest.max(variable.align);
            }
            self.end.insert(kernel, cursor);
            self.align.insert(kernel, widest);
        }
    }

    /// Dynamic shared memory, after all else.
    fn lay_out_dynamic(&mut self) {
        let null_pointer = u64::from(self.facts.options.reserve_null_pointer);
        let is_debugged = self.is_debugged();
        for &kernel in &self.with_dynamic {
            let align = self.align.entry(kernel).or_insert(1);
            *align = (*align).max(self.dynamic.of(self.facts, kernel));
        }
        let layout = &mut self.layout;
        let sets = self.users.connected_by_dynamic(self.facts, is_debugged);
        // The reference linker aligns each kernel's start alone. What a debugger is shown is behind the kernel's section, which the pool may
        // have widened, and so aligned as that is.
        let is_alone = !is_debugged && self.facts.options.imitates(Imitation::FirstDynamicAlignment);
        let is_behind = is_debugged && self.facts.inputs.release().has(Rule::DynamicSharedAligned);
        let unit = |kernel| match is_alone {
            true => (self.dynamic.unit(self.facts, kernel), 1),
            false => (1, if is_behind { self.align[&kernel] } else { self.dynamic.of(self.facts, kernel) }),
        };
        layout.dynamic = agree_on_dynamic_starts(self.facts, &sets, null_pointer, unit, &mut self.end);
        if is_debugged && self.has_dynamic {
            let arrays = self.facts.resolution.laid_out_by_kernel().iter();
            let arrays = arrays.filter(|&&id| is_dynamic(&self.facts.resolution.symbols()[id]));
            // What no kernel reaches is shown at the start of all memory.
            let unreached = null_pointer.next_multiple_of(DYNAMIC_ALIGN);
            let mut shown: IdMap<SymbolId, u64> = arrays.map(|&array| (array, unreached)).collect();
            let reached = |(&function, &start)| users::dynamic(self.facts, function).map(move |array| (array, start));
            shown.extend(layout.dynamic.iter().flat_map(reached));
            layout.shown_dynamic = Some(shown);
        }
        // It has no address of its own unless a debugger is shown one. A reserved part before a pool hides that: it has a symbol.
        let is_hidden = self.layout.has_pool && self.linked_reserved() > 0;
        self.layout.names_dynamic = self.layout.shows_dynamic() || is_hidden;
    }

    fn kernel_sections(&mut self) {
        let (reserved, linked_reserved) = (self.facts.options.reserved_shared(), self.linked_reserved());
        for &kernel in self.facts.live.entries() {
            let Some(section) = self.facts.plan.function(kernel).shared else { continue };
            let uses_dynamic = self.with_dynamic.contains(&kernel);
            let (mut end, align) = (self.end[&kernel], self.align[&kernel]);
            if uses_dynamic && self.facts.inputs.release().has(Rule::DynamicSharedAligned) {
                end = end.next_multiple_of(align);
            }
            // An empty section stays only if its alignment is that of dynamic shared memory; one with a reserved part is not empty.
            let right_align = align == DYNAMIC_ALIGN || (linked_reserved > 0 && align > DYNAMIC_ALIGN);
            let is_wanted = self.has_dynamic && (uses_dynamic || self.layout.has_pool);
            let wanted_empty = (is_wanted && right_align) || fixed_part(self.facts, kernel).is_there;
            let present = end > 0 || wanted_empty;
            self.layout.used.insert(kernel, end);
            // Where the compiler laid out nothing, nothing is added.
            let reserves = present && (end > 0 || is_wanted || !self.facts.options.linked().counts_reserved_shared);
            let size = if reserves { end + reserved } else { 0 };
            let listed = reserves && end + linked_reserved > 0;
            self.layout.sections.insert(section, SharedExtent { size, align, present, listed });
        }
    }

    fn module_section(&mut self) {
        let Some(section) = self.facts.plan.module_shared() else { return };
        let (options, has_dynamic) = (self.facts.options, self.has_dynamic);
        let reserved = options.reserved_shared();
        let is_shown = self.layout.has_pool && options.lists_shared_variables();
        let extent = if is_shown || (self.is_debugged() && has_dynamic) {
            // The null pointer takes no room where nothing follows it.
            let null_pointer = u64::from(options.reserve_null_pointer);
            let end = if self.layout.has_pool || self.pool_end > null_pointer { self.pool_end } else { 0 };
            let (size, listed) = (end + reserved, end + self.linked_reserved() > 0);
            let dynamic_align = if has_dynamic { DYNAMIC_ALIGN } else { 1 };
            SharedExtent { size, align: self.pool_align.max(dynamic_align), present: true, listed }
        } else {
            let align = match (has_dynamic, self.layout.has_pool) {
                (false, _) => self.facts.plan.sections()[section].align,
                (true, false) => DYNAMIC_ALIGN,
                (true, true) => DYNAMIC_ALIGN.max(self.pool_align),
            };
            let present = (has_dynamic && align == DYNAMIC_ALIGN) || is_laid_out(self.facts, section);
            // Where applied relocations are recorded, the reserved part counts, and what is not empty has a symbol.
            let counts_reserved = options.linked().counts_reserved_shared;
            let is_recorded = has_dynamic && options.preserve_relocations && counts_reserved;
            let size = if present && (!counts_reserved || is_recorded) { reserved } else { 0 };
            SharedExtent { size, align, present, listed: is_recorded && size > 0 }
        };
        self.layout.sections.insert(section, extent);
    }
}

/// The start of a kernel's shared memory that its compiler laid out.
struct FixedPart {
    is_there: bool,
    size: u64,
    align: u64,
}

/// What the compiler laid out of a kernel's shared memory: all variables of a whole program, and none of any other.
fn fixed_part(facts: &Facts<'_, '_>, kernel: FunctionId) -> FixedPart {
    let section = facts.resolution.laid_out_shared(facts.inputs, kernel);
    FixedPart {
        is_there: section.is_some(),
        size: section.map_or(0, |section| section.size),
        align: section.map_or(1, |section| section.align()),
    }
}

/// Whether a section of the module's shared memory is that of a whole program, which stays, although nothing is in it.
fn is_laid_out(facts: &Facts<'_, '_>, section: SectionId) -> bool {
    let inputs = facts.inputs;
    let is_of_whole_program = |piece: Piece| inputs.files()[inputs.file_of_section(piece.section)].is_whole_program;
    let is_empty = |piece: Piece| inputs.sections()[piece.section].size == 0;
    let mut pieces = facts.plan.sections()[section].pieces.iter();
    inputs.has_whole_programs() && pieces.any(|piece| is_of_whole_program(piece) && is_empty(piece))
}

/// The variables in a kernel's shared memory, with their sizes.
pub fn variables_of(facts: &Facts<'_, '_>, layout: &SharedLayout, kernel: FunctionId) -> Vec<(SymbolId, u64)> {
    let uses = |function: FunctionId| facts.references.of(function);
    let reach = facts.usage.of(&[kernel], |function| !uses(function).is_empty());
    let used: IdSet<SymbolId> = reach.of(kernel).flat_map(uses).copied().collect();
    let is_in = |variable: &&SharedVariable| {
        layout.address(variable.symbol).is_some_and(|address| match address.kernel {
            Some(owner) => owner == kernel,
            None => used.contains(&variable.symbol),
        })
    };
    facts.plan.shared_variables().iter().filter(is_in).map(|variable| (variable.symbol, variable.size)).collect()
}

/// How dynamic shared memory is aligned.
struct DynamicAlignment {
    /// The widest alignment of all variables, whichever kernels use them.
    widest: u64,
    of: PerComponent<Option<u64>>,
    /// What the reference linker aligns the start to: the array that the end of the first function's code refers to.
    first: PerComponent<Option<(Reverse<SectionId>, u64)>>,
}

impl DynamicAlignment {
    fn find(facts: &Facts<'_, '_>, users: &Users) -> Self {
        let imitates = facts.options.imitates(Imitation::FirstDynamicAlignment);
        let dynamic = facts.plan.shared_variables().iter().filter(|variable| variable.owner == SharedPlacement::Dynamic);
        let declared: IdMap<SymbolId, u64> = dynamic.map(|variable| (variable.symbol, variable.align)).collect();
        // At first, the reference linker aligned the pool to what is declared, and no array.
        let is_heeded = !imitates || facts.inputs.release().has(Rule::DynamicSharedAligned);
        let align_of = |symbol| declared.get(symbol).filter(|_| is_heeded);
        let aligns = |function| facts.references.of(function).iter().filter_map(align_of).copied();
        let of = users.largest_of_functions(facts, |function| {
            users::uses_dynamic(facts, function).then(|| aligns(function).max().unwrap_or(DYNAMIC_ALIGN))
        });
        // Compilers list the relocations from the end of the code on.
        let first = |function| Some((Reverse(facts.plan.function(function).text?), aligns(function).next()?));
        let first = users.largest_of_functions(facts, |function| if imitates { first(function) } else { None });
        DynamicAlignment { widest: declared.into_values().max().unwrap_or(1), of, first }
    }

    /// What a kernel that uses some needs.
    fn of(&self, facts: &Facts<'_, '_>, kernel: FunctionId) -> u64 {
        facts.usage.at(&self.of, kernel).unwrap_or(DYNAMIC_ALIGN).max(DYNAMIC_ALIGN)
    }

    /// What it starts at a multiple of for a kernel.
    fn unit(&self, facts: &Facts<'_, '_>, kernel: FunctionId) -> u64 {
        let first = facts.usage.at(&self.first, kernel).map(|(_, align)| align.max(DYNAMIC_ALIGN));
        first.unwrap_or_else(|| self.of(facts, kernel))
    }
}

/// Finds where dynamic shared memory starts, and enlarges the kernels concerned up to there.
///
/// No array starts before `first`, and each starts at a multiple of what its kernel needs (`unit`: by itself, and of what all agree on). All
/// kernels that are connected through functions they share, or, where debuggers are given one address of each array, through arrays, have to
/// agree, so each connected set takes its largest start, and the widest alignment of all. Whoever calls a component that leads to dynamic shared memory is connected with it.
fn agree_on_dynamic_starts(
    facts: &Facts<'_, '_>,
    sets: &PerComponent<Option<u32>>,
    first: u64,
    unit: impl Fn(FunctionId) -> (u64, u64),
    end: &mut IdMap<FunctionId, u64>,
) -> IdMap<FunctionId, u64> {
    let set_of = |function: FunctionId| facts.usage.at(sets, function);
    let concerned: Vec<(FunctionId, u32)> =
        facts.live.entries().iter().filter_map(|&kernel| Some((kernel, set_of(kernel)?))).collect();
    let mut start: IdMap<u32, u64> = IdMap::default();
    let mut widest: IdMap<u32, u64> = IdMap::default();
    for &(kernel, set) in &concerned {
        let (own, common) = unit(kernel);
        let needed = end.get(&kernel).copied().unwrap_or(0).max(first).next_multiple_of(own);
        let (agreed, widest) = (start.entry(set).or_default(), widest.entry(set).or_default());
        (*agreed, *widest) = ((*agreed).max(needed), (*widest).max(common));
    }
    for (set, agreed) in &mut start {
        *agreed = agreed.next_multiple_of(widest[set]);
    }
    for (kernel, set) in concerned {
        let end = end.entry(kernel).or_default();
        *end = (*end).max(start.get(&set).copied().unwrap_or(0));
    }
    (facts.resolution.functions().ids())
        .filter_map(|function| Some((function, *start.get(&set_of(function)?)?)))
        .filter(|&(function, _)| users::uses_dynamic(facts, function))
        .collect()
}
