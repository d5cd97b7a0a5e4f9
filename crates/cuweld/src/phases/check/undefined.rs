//! Undefined: symbols that live code refers to and that neither an input nor the [driver](crate::driver) defines.

use crate::diagnostics::{Message, Report};
use crate::driver::is_driver_function;
use crate::phases::explain;
use crate::phases::explain::referrers::Referrers;
use crate::phases::resolve::{Symbol, is_shared_variable, is_texture};
use crate::phases::stages::Planned;
use std::collections::HashSet;

/// What refers to the names that `-u` gives.
const COMMAND_LINE: &str = "the command line";

/// Reports every name that is missing.
pub fn check(planned: &Planned<'_, '_>, report: &mut Report) {
    let &Planned { inputs, resolution, live, options, .. } = planned;
    // Local names count, too.
    let asked_for = resolution.symbols().iter().filter(|_| !options.keep.is_empty());
    let known: HashSet<&str> = asked_for.map(|symbol| symbol.name(inputs)).collect();
    for name in &options.keep {
        if !known.contains(name.as_str()) {
            report.say(Message::UndefinedReference { name: name.clone(), file: COMMAND_LINE.into() });
        }
    }
    let mut missing = Vec::new();
    for (id, symbol) in resolution.symbols().enumerate() {
        if !symbol.is_undefined() {
            continue;
        }
        let is_missing = match symbol.function {
            // A kernel is launched from somewhere, if not from here.
            Some(function) => {
                let is_needed = live.contains(function) || resolution.functions()[function].kernel;
                is_needed && !is_driver_function(symbol.name(inputs))
            }
            None => is_missing_variable(symbol, symbol.name(inputs)) && !options.allow_undefined_globals,
        };
        if is_missing {
            missing.push(id);
        }
    }
    if missing.is_empty() {
        return;
    }
    for diagnostic in explain::undefined::describe(&Referrers { inputs, resolution, live }, &missing) {
        report.add(diagnostic);
    }
}

/// Whether a variable must be defined by some input: not what the driver provides, and not dynamic shared memory.
fn is_missing_variable(symbol: &Symbol, name: &str) -> bool {
    let is_dynamic = is_shared_variable(symbol) && symbol.size == 0;
    let is_drivers = name.starts_with("__U") || name.starts_with(".nv.");
    !is_texture(symbol) && !is_dynamic && !is_drivers
}
