//! Makes a program that shows a difference as small as possible.
//!
//! Parts are taken away from the largest to the smallest: options, units, functions, variables, actions,
//! directives. A step is kept if the same class of difference is still there. Rounds go on until nothing more
//! can be taken away.

use std::path::Path;

use super::difference::Difference;
use super::model::{Action, Assembler, DebugInfo, Initial, Pointer, Program, Role};
use super::run::{self, Tools, Verdict};

/// The smallest program found that still differs in the same way.
pub fn minimise(program: &Program, difference: &Difference, folder: &Path, tools: &Tools) -> Result<Program, String> {
    let mut smallest = program.clone();
    loop {
        let mut smaller = false;
        for step in STEPS {
            let mut at = 0;
            // The step itself says when there is no further place for it.
            while let Some(candidate) = step(&smallest, at) {
                if candidate != smallest && still_differs(&candidate, difference, folder, tools)? {
                    smallest = candidate;
                    smaller = true;
                } else {
                    at += 1;
                }
            }
        }
        if !smaller {
            return Ok(smallest);
        }
    }
}

/// Whether the program still shows this difference.
fn still_differs(program: &Program, wanted: &Difference, folder: &Path, tools: &Tools) -> Result<bool, String> {
    Ok(matches!(run::compare(program, folder, tools)?, Verdict::Different(found) if found == *wanted))
}

/// A way to make a program smaller at the n-th place, if there is one.
type Step = fn(&Program, usize) -> Option<Program>;

/// The ways, from coarse to fine.
const STEPS: &[Step] = &[
    drop_option,
    drop_unit,
    drop_name,
    drop_function,
    drop_variable,
    drop_alias,
    drop_unified,
    drop_action,
    drop_pointer,
    simplify_unit,
    simplify_kernel,
    simplify_variable,
];

fn drop_option(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    (at < copy.options.len()).then(|| copy.options.remove(at))?;
    Some(copy)
}

fn drop_unit(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    (at < copy.units.len() && copy.units.len() > 1).then(|| copy.units.remove(at))?;
    Some(copy)
}

/// Every name that is defined, in order of first definition.
fn names(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for unit in &program.units {
        let functions = unit.functions.iter().map(|function| &function.name);
        for name in functions.chain(unit.variables.iter().map(|variable| &variable.name)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Removes a name altogether: definitions, calls, uses and pointers.
fn drop_name(program: &Program, at: usize) -> Option<Program> {
    let name = names(program).into_iter().nth(at)?;
    let mut copy = program.clone();
    for unit in &mut copy.units {
        unit.functions.retain(|function| function.name != name);
        unit.variables.retain(|variable| variable.name != name);
        unit.aliases.retain(|alias| alias.of.name != name);
        for function in &mut unit.functions {
            function.body.retain(|action| !action.names().contains(&name.as_str()));
        }
        for variable in &mut unit.variables {
            if let Initial::Pointers(pointers) = &mut variable.initial {
                for pointer in pointers.iter_mut().filter(|pointer| pointer.name() == Some(name.as_str())) {
                    *pointer = Pointer::Null;
                }
            }
        }
    }
    Some(copy)
}

/// The copy with one element removed of the lists that `lists` gives for each unit.
fn without<T>(program: &Program, at: usize, list: fn(&mut super::model::Unit) -> &mut Vec<T>) -> Option<Program> {
    let mut copy = program.clone();
    let mut left = at;
    for unit in &mut copy.units {
        let list = list(unit);
        if left < list.len() {
            list.remove(left);
            return Some(copy);
        }
        left -= list.len();
    }
    None
}

fn drop_function(program: &Program, at: usize) -> Option<Program> {
    without(program, at, |unit| &mut unit.functions)
}

fn drop_variable(program: &Program, at: usize) -> Option<Program> {
    without(program, at, |unit| &mut unit.variables)
}

fn drop_alias(program: &Program, at: usize) -> Option<Program> {
    without(program, at, |unit| &mut unit.aliases)
}

/// Makes a unified function or variable an ordinary one.
fn drop_unified(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let mut left = at;
    for unit in &mut copy.units {
        if let Some(name) = unit.unified.iter().nth(left).cloned() {
            unit.unified.remove(&name);
            return Some(copy);
        }
        left -= unit.unified.len();
    }
    None
}

fn drop_action(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let mut left = at;
    for function in copy.units.iter_mut().flat_map(|unit| &mut unit.functions) {
        if left < function.body.len() {
            function.body.remove(left);
            return Some(copy);
        }
        left -= function.body.len();
    }
    None
}

fn drop_pointer(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let pointers = copy.units.iter_mut().flat_map(|unit| &mut unit.variables).flat_map(|variable| match &mut variable.initial {
        Initial::Pointers(pointers) => pointers.as_mut_slice(),
        Initial::None | Initial::Bytes(_) => &mut [],
    });
    *pointers.into_iter().nth(at)? = Pointer::Null;
    Some(copy)
}

/// A unit without debug information, of the same toolkit, without an older architecture, or without both.
fn simplify_unit(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let target = copy.target;
    let unit = copy.units.get_mut(at / 4)?;
    match at % 4 {
        0 => unit.debug = DebugInfo::None,
        1 => unit.assembler = Assembler::Own,
        2 => unit.virtual_arch = unit.real_arch,
        _ => {
            unit.virtual_arch = target;
            unit.real_arch = target;
        }
    }
    Some(copy)
}

/// A kernel without launch bounds and further parameters, or an action of the smallest size.
fn simplify_kernel(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let function = copy.units.iter_mut().flat_map(|unit| &mut unit.functions).nth(at)?;
    if let Role::Kernel { extra_bytes, bounds } = &mut function.role {
        *extra_bytes = 0;
        bounds.clear();
    }
    for action in &mut function.body {
        if let Action::OwnStack(size) = action {
            *size = 4;
        }
    }
    Some(copy)
}

fn simplify_variable(program: &Program, at: usize) -> Option<Program> {
    let mut copy = program.clone();
    let variable = copy.units.iter_mut().flat_map(|unit| &mut unit.variables).nth(at)?;
    variable.initial = Initial::None;
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::{STEPS, names};
    use crate::random::classes::Classes;
    use crate::random::generate;

    #[test]
    fn every_step_comes_to_an_end() {
        let program = generate::program(11, &["sm_90"], &Classes::default());
        for step in STEPS {
            assert!((0..10_000).any(|at| step(&program, at).is_none()));
        }
    }

    #[test]
    fn dropping_every_name_leaves_nothing() {
        let mut program = generate::program(12, &["sm_90"], &Classes::default());
        while !names(&program).is_empty() {
            program = super::drop_name(&program, 0).expect("there is a name");
        }
        assert!(program.units.iter().all(|unit| unit.functions.is_empty() && unit.variables.is_empty()));
    }
}
