//! Shared memory of a relocatable output.
//!
//! Nothing has an address yet, so sections only have to be large enough: the sizes of their variables are added up. The reference
//! linker, and the assembler, add the alignment to a size that is not larger than it.
//!
//! The reference linker settles dynamic shared memory all the same, which only the final link can do. That is imitated where files
//! are compared, and only there: a kernel's memory then ends where its array starts, and for each kernel that uses the array itself
//! there is a symbol that says where.

use super::{DYNAMIC_ALIGN, Facts, SharedExtent, SharedLayout, is_laid_out};
use crate::id::{FunctionId, IdMap};
use crate::phases::merge::SharedPlacement;
use cubin::release::Rule;

/// Finds the sizes of the sections.
pub fn keep(facts: &Facts<'_, '_>) -> SharedLayout {
    let mut layout = SharedLayout::default();
    let mut own: IdMap<FunctionId, Sum> = IdMap::default();
    let mut module = Sum::default();
    let mut has_dynamic = false;
    for variable in facts.plan.shared_variables() {
        match variable.owner {
            SharedPlacement::Kernel(kernel) => own.entry(kernel).or_default().add(variable.size, variable.align),
            SharedPlacement::Module => module.add(variable.size, variable.align),
            SharedPlacement::Dynamic => {
                has_dynamic = !facts.options.keeps_relocations();
                layout.declared.insert(variable.symbol, variable.align);
                if has_dynamic && variable.align > 1 {
                    module.align = module.align.max(variable.align);
                }
            }
        }
    }
    for &kernel in facts.live.kernels() {
        let Some(section) = facts.plan.function(kernel).shared else { continue };
        let mut sum = own.remove(&kernel).unwrap_or_default();
        sum.align = sum.align.max(module.align);
        let declared = facts.references.of(kernel).iter().filter_map(|symbol| layout.declared.get(symbol)).max().copied();
        if let Some(declared) = declared.filter(|_| has_dynamic) {
            let is_aligned = facts.inputs.release().has(Rule::DynamicSharedAligned);
            let declared = if is_aligned { declared } else { 1 };
            let unit = declared.max(DYNAMIC_ALIGN);
            let least = if declared > 1 { declared } else { 0 };
            let start = sum.size.next_multiple_of(unit).max(least);
            layout.instances.insert(kernel, start);
            sum.align = sum.align.max(unit);
            sum.size = if is_aligned { start.next_multiple_of(sum.align) } else { start };
        }
        // An empty one stays only if there is dynamic shared memory and it has its least alignment.
        layout.sections.insert(section, sum.extent(has_dynamic && sum.align == DYNAMIC_ALIGN));
    }
    if let Some(section) = facts.plan.module_shared() {
        if has_dynamic {
            module.align = module.align.max(DYNAMIC_ALIGN);
        }
        let stays_empty = has_dynamic || is_laid_out(facts, section);
        if stays_empty {
            module.align = module.align.max(facts.plan.sections()[section].align);
        }
        layout.sections.insert(section, module.extent(stays_empty));
    }
    layout
}

/// What the variables of a section need together.
#[derive(Default)]
struct Sum {
    size: u64,
    /// 0 if nothing asks for one.
    align: u64,
}

impl Sum {
    fn add(&mut self, size: u64, align: u64) {
        self.size = self.size.saturating_add(size);
        self.align = self.align.max(align);
    }

    /// An empty section that stays has no symbol.
    fn extent(&self, stays_empty: bool) -> SharedExtent {
        let present = self.size > 0 || stays_empty;
        let size = if self.size <= self.align { self.size + self.align } else { self.size };
        SharedExtent { size: if present { size } else { 0 }, align: self.align.max(1), present, listed: self.size > 0 }
    }
}
