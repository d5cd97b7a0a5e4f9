//! Blame: finds the units at fault when link-time optimization fails.
//!
//! The format of LTO-IR is not public. So each unit is optimized separately, which shows the symbols that it leaves undefined, or that it crashes
//! the optimizer. This is done only after a link has failed.

use super::arguments::{CompileOptions, LinkTimeOptimization};
use super::{CompilerError, Compilers, IntermediateModule, Optimization, side_by_side};
use crate::driver::is_driver_function;
use crate::inputs::HostReferences;

/// What came of optimizing one unit by itself.
pub(super) enum Alone {
    /// It needs these names of others.
    Needs(Vec<String>),
    /// It crashes the optimizer.
    Crashes,
    /// It is refused.
    Refused,
}

/// Optimizes every unit by itself.
pub(super) fn one_by_one(
    modules: &[IntermediateModule<'_>],
    options: &CompileOptions,
    optimization: &LinkTimeOptimization,
    compilers: &Compilers<'_>,
) -> Vec<Alone> {
    let arguments = options.optimizer_arguments(optimization, false, &HostReferences::default());
    side_by_side::map(modules, compilers.jobs, |module| {
        let alone = Optimization { name: module.name, modules: vec![module.clone()], arguments: arguments.clone() };
        match (compilers.optimize)(&alone) {
            Ok(optimized) => Alone::Needs(names_not_defined(&optimized.text)),
            Err(CompilerError::Crashed { .. }) => Alone::Crashes,
            Err(_) => Alone::Refused,
        }
    })
}

/// Whether PTX declares a function that it does not define and that the driver will not provide.
pub(super) fn lacks_a_function(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.split(".extern .func").skip(1).filter_map(function_name).any(|name| !is_driver_function(name))
}

/// The functions and variables that PTX declares and does not define, and that the driver will not provide.
pub(super) fn names_not_defined(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut names: Vec<String> = Vec::new();
    for declaration in text.split(".extern ").skip(1) {
        let name = match declaration.trim_start().strip_prefix(".func") {
            Some(function) => function_name(function),
            // Shared memory without a definition is what a launch gives.
            None if declaration.trim_start().starts_with(".shared") => None,
            None => variable_name(declaration),
        };
        if let Some(name) = name.filter(|name| !is_driver_function(name) && !names.iter().any(|known| known == name)) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Of `(.param .b32 r) name (...);` or `name (...);`.
fn function_name(declaration: &str) -> Option<&str> {
    let declaration = declaration.trim_start();
    // A function that returns something has a list of parameters before its name.
    let name = match declaration.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, behind)) => behind.trim_start(),
        None => declaration,
    };
    name.split(|character: char| !is_part_of_name(character)).next().filter(|name| !name.is_empty())
}

/// Of `.global .align 4 .b8 name[16];`.
fn variable_name(declaration: &str) -> Option<&str> {
    let declaration = declaration.split([';', '[']).next()?;
    declaration.split_whitespace().next_back().filter(|name| name.chars().all(is_part_of_name))
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || "_$.%".contains(character)
}

#[cfg(test)]
mod tests {
    use super::names_not_defined;

    #[test]
    fn what_is_declared_only() {
        for (text, expected) in [
            (".version 9.0\n.visible .entry k() { ret; }", &[][..]),
            (".extern .func  (.param .b32 func_retval0) vprintf\n(\n", &[]),
            (".extern .func  (.param .b32 func_retval0) _Z6nosuchi\n(\n", &["_Z6nosuchi"]),
            (".extern .func __assertfail\n(\n", &[]),
            (".extern .func missing\n(\n.extern .func missing(", &["missing"]),
            (".extern .global .align 4 .b8 table[16];\n.extern .shared .align 4 .b8 dynamic[];", &["table"]),
            (".extern .const .align 4 .u32 limit;", &["limit"]),
        ] {
            assert_eq!(names_not_defined(text.as_bytes()), expected, "{text}");
        }
    }
}
