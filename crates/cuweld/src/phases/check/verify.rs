//! Verify: that the program is whole before it is written.
//!
//! Every live function must have code, or be one that the driver defines, and it must be known how many registers it uses. Other phases
//! see to that; this one makes sure that no mistake of theirs, and no object that contradicts itself, ends in a file that fails when it
//! runs. References to functions that were removed are found where relocations are decided on, but for those of position-independent code,
//! which names places in a bank of addresses: those are found here.

use crate::diagnostics::{Failure, Message, Report};
use crate::driver::is_driver_function;
use crate::id::{FileId, FunctionId, IdSet, InputSectionId, InputSymbolId};
use crate::phases::load::{InputRelocation, Inputs, Place, Role};
use crate::phases::stages::Planned;
use cubin::section::SectionType;

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
        // What nobody defines was reported as such.
        if resolution.code(inputs, function).is_some() || (resolution.functions()[function].kernel && is_driver_function(name)) {
            report.say(Message::NoCode { name: name.into() });
        }
    }
    if !unknown.is_empty() {
        check_registers(inputs, &unknown, report)?;
    }
    for (id, file) in inputs.files().enumerate() {
        let is_bank = |bank: &InputSectionId| inputs.sections()[*bank].kind == SectionType::CONSTANT_4;
        for bank in file.sections.iter().filter(is_bank) {
            check_addresses(planned, id, bank, report)?;
        }
    }
    Ok(())
}

/// Reports the first function that was removed, and whose address live code of an object loads from the object's bank of addresses.
#[cold]
fn check_addresses(planned: &Planned<'_, '_>, file: FileId, bank: InputSectionId, report: &mut Report) -> Result<(), Failure> {
    let &Planned { inputs, resolution, live, .. } = planned;
    let removed = |symbol| resolution.function(symbol).filter(|&function| !live.contains(function));
    let addresses = relocations(inputs, file, bank);
    let mut removed: Vec<(u64, FunctionId)> =
        addresses.filter_map(|(_, symbol, entry)| Some((entry.offset, removed(symbol)?))).collect();
    removed.sort_unstable();
    let is_live_code = |section: &InputSectionId| {
        let owner = inputs.sections()[*section].owner.and_then(|owner| resolution.function(owner));
        let is_its_code = |function| live.contains(function) && resolution.code(inputs, function) == Some(*section);
        inputs.sections()[*section].role == Role::Text && owner.is_some_and(is_its_code)
    };
    let code = inputs.files()[file].sections.iter().filter(|_| !removed.is_empty()).filter(is_live_code);
    for (section, symbol, entry) in code.flat_map(|section| relocations(inputs, file, section)) {
        let symbol = &inputs.symbols()[symbol];
        let place = symbol.value.wrapping_add_signed(entry.addend);
        let found = removed.binary_search_by_key(&place, |&(offset, _)| offset);
        if let (Ok(found), true) = (found, symbol.place() == Place::Section(bank)) {
            let name = resolution.name(removed[found].1).into();
            let [file, referrer] = [inputs.files()[file].name, inputs.sections()[section].name].map(String::from);
            return report.fatal(Message::RemovedButNeeded { name, referrer, file });
        }
    }
    Ok(())
}

/// The relocations of a section that name a symbol, with both.
fn relocations<'all>(
    inputs: &'all Inputs<'_>,
    file: FileId,
    section: InputSectionId,
) -> impl Iterator<Item = (InputSectionId, InputSymbolId, InputRelocation)> + use<'all> {
    let lists = inputs.attached(section).filter(|&list| matches!(inputs.sections()[list].role, Role::Relocations { .. }));
    let entries = lists.flat_map(move |list| inputs.relocations(file, list));
    entries.filter_map(move |entry| Some((section, entry.symbol?, entry)))
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
