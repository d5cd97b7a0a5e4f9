//! Verify: that the program is complete before it is written.
//!
//! Every live function must have code or be defined by the driver, and its register count must be known. Other phases ensure that; this one
//! guarantees that neither a defect of theirs nor an inconsistent object leads to a file that fails when it runs. References to removed
//! functions are found when relocations are decided.

use crate::diagnostics::{Failure, Message, Report};
use crate::driver::is_driver_function;
use crate::id::{IdSet, InputSectionId, InputSymbolId};
use crate::phases::load::{Inputs, Place};
use crate::phases::stages::Planned;

/// Reports every function that would be in an executable without code, or that too little is known of.
pub fn check(planned: &Planned<'_, '_>, report: &mut Report) -> Result<(), Failure> {
    let &Planned { inputs, resolution, live, plan, .. } = planned;
    let has_code = |function| resolution.code(inputs, function).is_some() && plan.function(function).text.is_some();
    let mut unknown = Vec::new();
    for function in live.functions() {
        if has_code(function) {
            let definition = resolution.symbols()[resolution.functions()[function].symbol].definition;
            unknown.extend(definition.filter(|&symbol| inputs.symbols()[symbol].registers == 0));
            continue;
        }
        let name = resolution.name(function);
        // An undefined symbol was reported as such.
        if resolution.code(inputs, function).is_some() || (resolution.functions()[function].kernel && is_driver_function(name)) {
            report.say(Message::NoCode { name: name.into() });
        }
    }
    if unknown.is_empty() { Ok(()) } else { check_registers(inputs, &unknown, report) }
}

/// Reports the first of some functions of whose code nothing says how many registers it uses. An alias has the code of another, of which
/// it may be said.
#[cold]
fn check_registers(inputs: &Inputs<'_>, functions: &[InputSymbolId], report: &mut Report) -> Result<(), Failure> {
    let symbols = inputs.symbols();
    let code = |&symbol: &InputSymbolId| match symbols[symbol].place() {
        Place::Section(section) => Some(section),
        _ => None,
    };
    let all = inputs.files().iter().flat_map(|file| &file.functions);
    let known: IdSet<InputSectionId> = all.filter(|&&symbol| symbols[symbol].registers > 0).filter_map(code).collect();
    if let Some(&function) = functions.iter().find(|function| code(function).is_none_or(|code| !known.contains(&code))) {
        let file = inputs.files()[inputs.file_of_symbol(function)].name.into();
        let problem = format!("nothing says how many registers function '{}' uses", symbols[function].name);
        return report.fatal(Message::BadObject { file, problem });
    }
    Ok(())
}
