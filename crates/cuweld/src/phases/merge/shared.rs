//! Shared variables, in the order in which the walk meets them. Layout derives their offsets from it.

use super::plan::{FunctionSections, Local, Name};
use super::walk::{Facts, Walk};
use crate::dealt_sort::{Tie, dealt_merge_sort};
use crate::id::{FileId, FunctionId, IdMap, InputSectionId, InputSymbolId, SymbolId};
use crate::imitations::Imitation;
use crate::options::KernelRoots;
use crate::phases::load::{Role, SHARED_INSTANCE};
use crate::phases::resolve::is_dynamic;
use crate::phases::usage::Callers;
use crate::sections::ModuleShared;

/// A definition of a shared variable that takes room.
#[derive(Copy, Clone, Debug)]
pub struct SharedVariable {
    /// The variable.
    pub symbol: SymbolId,
    /// The size of this definition.
    pub size: u64,
    /// The alignment of this definition.
    pub align: u64,
    /// Whose it is.
    pub owner: SharedPlacement,
}

/// Whose a shared variable is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum SharedPlacement {
    /// One kernel's.
    Kernel(FunctionId),
    /// The kernels that use it.
    Module,
    /// None: dynamic shared memory, which has no offset among the others but takes part in their order.
    Dynamic,
}

impl Walk<'_, '_> {
    /// A definition of a shared variable.
    pub(super) fn shared_variable(&mut self, symbol: SymbolId, mention: InputSymbolId, section: InputSectionId) {
        let row = &self.facts.inputs.symbols()[mention];
        let kernel = self.facts.inputs.sections()[section].target.and_then(|code| self.function_of(code));
        if let Some(kernel) = kernel.filter(|&kernel| !self.facts.live.contains(kernel)) {
            self.shared_of_removed_kernel(kernel);
        }
        self.plan.shared_variables.push(SharedVariable {
            symbol,
            size: row.size,
            align: row.value.max(1),
            owner: kernel.map_or(SharedPlacement::Module, SharedPlacement::Kernel),
        });
    }

    /// The shared memory of a kernel that is not launched leaves its name behind, if nothing else.
    fn shared_of_removed_kernel(&mut self, kernel: FunctionId) {
        if self.plan.functions[kernel].shared.is_none() {
            self.plan.functions[kernel].shared = Some(self.create_shared(kernel, None));
        }
    }

    /// The reference linker moves the shared variables of a whole program's kernels after what is reserved. As they have no symbols, it
    /// moves the null symbol, once for each kernel.
    pub(super) fn note_laid_out_shared(&mut self) {
        let Facts { inputs, resolution, live, options, .. } = *self.facts;
        let size = |kernel: &FunctionId| resolution.laid_out_shared(inputs, *kernel).map_or(0, |section| section.size);
        let moves = options.imitates(Imitation::NullSymbolInShared);
        let moved = live.kernels().iter().filter(|&kernel| moves && size(kernel) > 0).count() as u64;
        if moved > 0 {
            self.plan.null_symbol_value = moved * options.reserved_shared();
        }
    }

    /// The shared memory of whole programs, which has no symbols that would tell of it.
    pub(super) fn laid_out_shared(&mut self, file: FileId) {
        let (inputs, live) = (self.facts.inputs, self.facts.live);
        for section in inputs.files()[file].sections.iter().map(|id| &inputs.sections()[id]) {
            let kernel = section.target.filter(|_| section.role == Role::KernelShared).and_then(|code| self.function_of(code));
            match kernel {
                Some(kernel) if live.contains(kernel) => self.shared_of_entry(kernel),
                Some(kernel) => self.shared_of_removed_kernel(kernel),
                None => {}
            }
        }
    }

    /// Whether a kernel's sections are made when there is something to put into them: if the kernel is live only for its address, and it
    /// is not host code that says which kernels are launched.
    pub(super) fn is_made_when_needed(&self, kernel: FunctionId) -> bool {
        self.facts.live.is_kept_kernel(kernel) && !matches!(self.facts.options.kernels, KernelRoots::LaunchedByHost(_))
    }

    /// The shared memory of an entry that has none yet.
    pub(super) fn shared_of_entry(&mut self, entry: FunctionId) {
        let FunctionSections { shared, text, .. } = self.plan.functions[entry];
        if shared.is_none() && text.is_some() {
            self.plan.functions[entry].shared = Some(self.create_shared(entry, text));
        }
    }

    /// Stubs, and kernels that are live for their address, have a shared memory if what they lead to uses any. It is made when the first
    /// variable of it is met: first those that have one user, then the others, the largest first each; of several users, the newest first. That
    /// of one user of dynamic shared memory alone comes last.
    pub(super) fn shared_where_needed(&mut self) {
        let Facts { references, resolution, usage, live, .. } = *self.facts;
        if self.plan.unified_stubs.is_none() && live.kept_kernels().is_empty() {
            return;
        }
        let mut users: IdMap<SymbolId, Vec<FunctionId>> = IdMap::default();
        for function in live.functions() {
            for &symbol in references.of(function) {
                users.entry(symbol).or_default().push(function);
            }
        }
        let users = |variable: &SharedVariable| users.get(&variable.symbol).map(Vec::as_slice).unwrap_or_default();
        let callers = usage.callers();
        let callers_of = |variable: &SharedVariable| {
            users(variable).iter().fold(Callers::None, |known, &function| known.join(usage.at(&callers, function)))
        };
        let is_of_module = |variable: &&SharedVariable| !matches!(variable.owner, SharedPlacement::Kernel(_));
        let variables: Vec<SharedVariable> = self.plan.shared_variables.iter().filter(is_of_module).copied().collect();
        let sorted = dealt_merge_sort(&variables, Tie::Second, &|a, b| a.size > b.size);
        let of_one = |variable: &SharedVariable| match callers_of(variable) {
            Callers::One(entry) => Some(entry),
            Callers::None | Callers::Several => None,
        };
        let (dynamic, fixed): (Vec<&SharedVariable>, Vec<&SharedVariable>) =
            sorted.iter().partition(|variable| is_dynamic(&resolution.symbols()[variable.symbol]));
        // Kernels that may be launched have theirs already.
        fixed.iter().filter_map(|variable| of_one(variable)).for_each(|entry| self.shared_of_entry(entry));
        let mut ways = usage.ways_up();
        for &function in sorted.iter().filter(|variable| callers_of(variable) == Callers::Several).flat_map(users) {
            usage.newly_reaching(&mut ways, function).into_iter().for_each(|entry| self.shared_of_entry(entry));
        }
        dynamic.iter().filter_map(|variable| of_one(variable)).for_each(|entry| self.shared_of_entry(entry));
    }

    /// A mention of dynamic shared memory. It has no offset among the others, but takes part in their order.
    pub(super) fn dynamic_shared(&mut self, id: SymbolId, mention: InputSymbolId) {
        if self.plan.module_shared.is_none() {
            self.plan.module_shared = Some(self.create(Name::plain(".nv_debug.shared"), &ModuleShared, ModuleShared::SHAPE));
        }
        // Objects before CUDA 13.1 do not say how dynamic shared memory is aligned.
        let row = &self.facts.inputs.symbols()[mention];
        let imitates = self.facts.options.imitates(Imitation::FirstDynamicAlignment);
        let align = match row.value {
            0 => 1,
            // Where it starts for one kernel, which is a multiple of its alignment.
            start if row.name == SHARED_INSTANCE && !imitates => 1 << start.trailing_zeros(),
            align => align,
        };
        if self.facts.resolution.symbols()[id].first == mention {
            self.dynamic.insert(id, self.plan.shared_variables.len());
            self.plan.shared_variables.push(SharedVariable { symbol: id, size: 0, align, owner: SharedPlacement::Dynamic });
        } else if !imitates && let Some(&known) = self.dynamic.get(&id) {
            let known = &mut self.plan.shared_variables[known];
            known.align = known.align.max(align);
        }
    }

    /// Lists the symbols that a relocatable output of the reference linker has in place of dynamic shared memory: one for each kernel
    /// that uses some, in the order of their relocations.
    pub(super) fn list_shared_instances(&mut self) {
        let Facts { inputs, resolution, references, live, .. } = self.facts;
        let relocations = |&kernel: &FunctionId| {
            let code = resolution.code(inputs, kernel)?;
            inputs.attached(code).find(|&section| matches!(inputs.sections()[section].role, Role::Relocations { .. }))
        };
        let is_user = |kernel: &FunctionId| references.uses_dynamic(resolution, *kernel);
        let mut kernels: Vec<FunctionId> = live.kernels().iter().copied().filter(is_user).collect();
        kernels.sort_by_key(relocations);
        self.plan.locals.extend(kernels.into_iter().map(Local::SharedInstance));
    }
}
