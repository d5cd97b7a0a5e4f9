//! Limits: memories that the program exceeds.

use super::Facts;
use super::shared::{self, SharedLayout};
use crate::demangle::demangle;
use crate::diagnostics::{Diagnostic, Message, Report};
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::phases::explain::memory;
use crate::phases::load::Place;
use crate::sections::Memory;

/// For so many kernels it is listed what fills their shared memory: it takes a walk over the call graph each.
const MOST_LISTS: u32 = 8;

/// Reports what exceeds its memory, in the order of the sections.
pub fn check(facts: &Facts<'_, '_>, shared: &SharedLayout, size: &IdVec<SectionId, u64>, report: &mut Report) {
    let target = facts.options.target;
    let limit = target.constant_limit;
    let is_program = facts.options.knows_all_callees();
    let mut explained = 0;
    for (id, section) in facts.plan.sections().enumerate() {
        let used = size[id];
        match (section.kind.memory(section), section.function) {
            (Some(Memory::Shared), Some(kernel)) if shared.used_by(kernel) > facts.options.shared_limit() => {
                explained += 1;
                report.add(facts.too_much_shared(kernel, shared, explained <= MOST_LISTS));
            }
            (Some(Memory::Parameters), Some(kernel)) if is_program && used > limit => {
                let message = Message::TooMuchParameters { kernel: facts.name(kernel), used, limit };
                report.add(
                    Diagnostic::new(message)
                        .headline(format!(
                            "kernel '{}' has {used} bytes of parameters and texture references; {limit} are the most",
                            facts.shown(kernel)
                        ))
                        .hint("pass large parameters through a pointer"),
                );
            }
            (Some(Memory::Constants(_)), _) if used > limit => report.add(facts.too_much_constant(id, used)),
            _ => {}
        }
    }
    for &kernel in facts.live.entries().iter().rev().filter(|_| is_program) {
        let constants = facts.plan.function(kernel).constants;
        if let Some(used) = constants.map(|section| size[section]).filter(|&used| used > limit) {
            let message = Message::TooMuchCompilerConstant { kernel: facts.name(kernel) };
            report.add(
                Diagnostic::new(message)
                    .headline(format!(
                        "the constants that the compiler made for kernel '{}' and what it calls have {used} bytes; {limit} are the most",
                        facts.shown(kernel)
                    ))
                    .hint("compile again with -Xptxas --disable-optimizer-constants"),
            );
        }
    }
}

impl Facts<'_, '_> {
    fn shown(&self, function: FunctionId) -> String {
        demangle(self.resolution.name(function)).into_owned()
    }

    fn too_much_shared(&self, kernel: FunctionId, shared: &SharedLayout, lists_variables: bool) -> Diagnostic {
        let (used, limit, target) = (
            shared.used_by(kernel),
            self.options.target.static_shared_limit(self.options.extended_shared),
            self.options.target.name,
        );
        let diagnostic = Diagnostic::new(Message::TooMuchShared { kernel: self.name(kernel), used, limit }).headline(format!(
            "kernel '{}' has {used} bytes of static shared memory; {limit} are the most on {target}",
            self.shown(kernel)
        ));
        let variables = if lists_variables { shared::variables_of(self, shared, kernel) } else { Vec::new() };
        memory::add_largest(diagnostic, self.inputs, self.resolution, variables)
            .hint("make the largest a dynamic array (extern __shared__), with cudaFuncSetAttribute for its size")
    }

    fn too_much_constant(&self, section: SectionId, used: u64) -> Diagnostic {
        let limit = self.options.target.constant_limit;
        let diagnostic = Diagnostic::new(Message::TooMuchConstant { used, limit })
            .headline(format!("the program has {used} bytes of __constant__ variables; {limit} are the most"));
        let inside = |&(_, symbol): &(SymbolId, &super::Symbol)| {
            let place = symbol.definition.map(|definition| self.inputs.symbols()[definition].place());
            matches!(place, Some(Place::Section(home)) if self.plan.at(home).is_some_and(|at| at.section == section))
        };
        let variables = self.resolution.symbols().enumerate().filter(inside).map(|(id, symbol)| (id, symbol.size));
        memory::add_largest(diagnostic, self.inputs, self.resolution, variables)
            .hint("move the largest to __device__ const variables")
    }
}
