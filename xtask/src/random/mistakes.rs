//! Puts one mistake into a program, so that the linker has to refuse it or to warn.

use super::model::{Action, Function, FunctionRef, Linkage, Program, Role, Shape, Signature, Space, Variable, VariableRef};
use super::rng::Rng;

/// Puts one random mistake into the program. Where the program offers no place for it, nothing changes.
pub fn make(rng: &mut Rng, program: &mut Program) {
    let unit = rng.below(program.units.len());
    match rng.below(10) {
        0 => duplicate_function(rng, program),
        1 => duplicate_variable(rng, program, 0),
        2 => duplicate_variable(rng, program, 4),
        3 => change_role(rng, program),
        4 => change_signature(rng, program),
        5 => undefined_function(rng, program, "nowhere"),
        6 => undefined_variable(rng, program),
        7 => oversized(program, unit, Space::Const, 0x10004),
        8 => oversized(program, unit, Space::Shared, 0xc004),
        _ => tight_bound(rng, program),
    }
}

/// One of the functions that other units see.
fn some_function(rng: &mut Rng, program: &Program, linkages: &[Linkage]) -> Option<Function> {
    let all: Vec<_> =
        program.units.iter().flat_map(|unit| &unit.functions).filter(|function| linkages.contains(&function.linkage)).collect();
    (!all.is_empty()).then(|| (*rng.pick(&all)).clone())
}

/// A unit that does not define a name.
fn unit_without(rng: &mut Rng, program: &Program, name: &str) -> Option<usize> {
    let free: Vec<usize> = (0..program.units.len())
        .filter(|&unit| {
            let unit = &program.units[unit];
            unit.functions.iter().all(|function| function.name != name)
                && unit.variables.iter().all(|variable| variable.name != name)
        })
        .collect();
    (!free.is_empty()).then(|| *rng.pick(&free))
}

/// A kernel to put something wrong into.
fn some_kernel<'a>(rng: &mut Rng, program: &'a mut Program) -> Option<&'a mut Function> {
    let mut kernels: Vec<_> = program
        .units
        .iter_mut()
        .flat_map(|unit| &mut unit.functions)
        .filter(|function| matches!(function.role, Role::Kernel { .. }))
        .collect();
    let chosen = rng.below(kernels.len());
    (!kernels.is_empty()).then(|| kernels.swap_remove(chosen))
}

/// Two strong definitions of a function.
fn duplicate_function(rng: &mut Rng, program: &mut Program) {
    if let Some(mut function) = some_function(rng, program, &[Linkage::Strong])
        && let Some(unit) = unit_without(rng, program, &function.name)
    {
        function.body.clear();
        program.units[unit].functions.push(function);
    }
}

/// Two definitions of a variable, of sizes that differ by `more` bytes.
fn duplicate_variable(rng: &mut Rng, program: &mut Program, more: usize) {
    let all: Vec<Variable> = program
        .units
        .iter()
        .flat_map(|unit| &unit.variables)
        .filter(|variable| variable.linkage != Linkage::Local)
        .cloned()
        .collect();
    if all.is_empty() {
        return;
    }
    let mut variable = rng.pick(&all).clone();
    if let Some(unit) = unit_without(rng, program, &variable.name) {
        variable.shape.size += more;
        variable.initial = super::model::Initial::None;
        program.units[unit].variables.push(variable);
    }
}

/// A name that is a function in one unit and a kernel or a variable in another.
fn change_role(rng: &mut Rng, program: &mut Program) {
    let Some(function) = some_function(rng, program, &[Linkage::Strong, Linkage::Weak]) else {
        return;
    };
    let Some(unit) = unit_without(rng, program, &function.name) else {
        return;
    };
    for function in &mut program.units[unit].functions {
        function.body.retain(|action| !action.names().contains(&function.name.as_str()));
    }
    let mentioned = program.units[unit]
        .functions
        .iter()
        .any(|other| other.body.iter().any(|action| action.names().contains(&function.name.as_str())));
    if mentioned {
        return;
    }
    if rng.chance(30) {
        let shape = Shape { space: Space::Global, align: 4, size: 8, managed: false };
        let initial = super::model::Initial::None;
        let variable = Variable { name: function.name, linkage: function.linkage, shape, initial };
        program.units[unit].variables.push(variable);
        return;
    }
    let role = match function.role {
        Role::Kernel { .. } => Role::Device(Signature::Nothing),
        Role::Device(_) => Role::Kernel { extra_bytes: 0, bounds: Vec::new() },
    };
    program.units[unit].functions.push(Function { role, body: Vec::new(), ..function });
}

/// A call with another signature than the definition has.
fn change_signature(rng: &mut Rng, program: &mut Program) {
    let Some(function) = some_function(rng, program, &[Linkage::Strong, Linkage::Weak]) else {
        return;
    };
    let Role::Device(signature) = function.role else {
        return;
    };
    let Some(unit) = unit_without(rng, program, &function.name) else {
        return;
    };
    let other = if signature == Signature::Word { Signature::Long } else { Signature::Word };
    for caller in &mut program.units[unit].functions {
        for action in &mut caller.body {
            if let Action::Call(callee) | Action::TakeAddress(callee) = action
                && callee.name == function.name
            {
                callee.signature = other;
            }
        }
    }
}

/// A call of a function that nothing defines.
fn undefined_function(rng: &mut Rng, program: &mut Program, name: &str) {
    if let Some(kernel) = some_kernel(rng, program) {
        kernel.body.push(Action::Call(FunctionRef { name: name.into(), signature: Signature::Word }));
    }
}

/// A use of a variable that nothing defines.
fn undefined_variable(rng: &mut Rng, program: &mut Program) {
    let space = *rng.pick(&[Space::Global, Space::Const, Space::Shared]);
    if let Some(kernel) = some_kernel(rng, program) {
        let shape = Shape { space, align: 4, size: 8, managed: false };
        kernel.body.push(Action::Touch(VariableRef { name: "nothing".into(), shape }, 0));
    }
}

/// A variable that is larger than its memory, as far as the assembler lets it pass: two halves in two units.
fn oversized(program: &mut Program, unit: usize, space: Space, limit: usize) {
    let next = (unit + 1) % program.units.len();
    for (unit, name) in [(unit, "huge0"), (next, "huge1")] {
        let shape = Shape { space, align: 4, size: limit / 2, managed: false };
        let name = name.to_owned();
        let initial = super::model::Initial::None;
        program.units[unit].variables.push(Variable {
            name: name.clone(),
            linkage: Linkage::Strong,
            shape: shape.clone(),
            initial,
        });
        for unit in &mut program.units {
            for function in &mut unit.functions {
                if matches!(function.role, Role::Kernel { .. }) {
                    function.body.push(Action::Touch(VariableRef { name: name.clone(), shape: shape.clone() }, 0));
                }
            }
        }
    }
}

/// A kernel that may use few registers and calls a function of another unit that needs many. Within one unit the
/// assembler would already refuse.
fn tight_bound(rng: &mut Rng, program: &mut Program) {
    let mut callees = Vec::new();
    for unit in &mut program.units {
        for function in unit.functions.iter_mut().filter(|function| function.linkage != Linkage::Local) {
            if let Role::Device(signature) = function.role {
                function.body.push(Action::Registers(70));
                callees.push(FunctionRef { name: function.name.clone(), signature });
            }
        }
    }
    if callees.is_empty() {
        return;
    }
    let callee = rng.pick(&callees).clone();
    let Some(unit) = unit_without(rng, program, &callee.name) else { return };
    let kernel = program.units[unit].functions.iter_mut().find(|function| matches!(function.role, Role::Kernel { .. }));
    if let Some(kernel) = kernel {
        kernel.role = Role::Kernel { extra_bytes: 0, bounds: vec![".maxnreg 32"] };
        kernel.body = vec![Action::Call(callee)];
    }
}
