//! Shared variables, in the order in which the walk meets them: addresses follow from it later.

use super::plan::{Local, Name};
use super::walk::{Facts, Walk};
use crate::id::{FunctionId, InputSectionId, InputSymbolId, SymbolId};
use crate::imitations::Imitation;
use crate::phases::load::Role;
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
    /// Whoever uses it.
    Module,
    /// Nobody's: dynamic shared memory, which has no place among the others but takes part in their order.
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

    /// A mention of dynamic shared memory. It has no place among the others, but takes part in their order.
    pub(super) fn dynamic_shared(&mut self, id: SymbolId, mention: InputSymbolId) {
        if self.plan.module_shared.is_none() {
            self.plan.module_shared = Some(self.create(Name::plain(".nv_debug.shared"), &ModuleShared, ModuleShared::SHAPE));
        }
        // Objects before CUDA 13.1 do not say how dynamic shared memory is aligned.
        let align = self.facts.inputs.symbols()[mention].value.max(1);
        if self.facts.resolution.symbols()[id].first == mention {
            self.dynamic.insert(id, self.plan.shared_variables.len());
            self.plan.shared_variables.push(SharedVariable { symbol: id, size: 0, align, owner: SharedPlacement::Dynamic });
        } else if !self.facts.options.imitates(Imitation::FirstDynamicAlignment)
            && let Some(&known) = self.dynamic.get(&id)
        {
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
