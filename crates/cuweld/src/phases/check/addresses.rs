//! Addresses: that position-independent code does not load the address of a removed function.
//!
//! Such code refers to slots in its object's bank of addresses, which also has the addresses that dead code loads. Other references to
//! removed functions are found when relocations are decided.

use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FileId, FunctionId, InputSectionId, InputSymbolId};
use crate::phases::load::{InputRelocation, Inputs, Place, Role};
use crate::phases::stages::Planned;
use cubin::section::SectionType;

/// Goes through the banks of addresses of all objects.
pub fn check(planned: &Planned<'_, '_>, report: &mut Report) -> Result<(), Failure> {
    let sections = planned.inputs.sections();
    for (id, file) in planned.inputs.files().enumerate() {
        for bank in file.sections.iter().filter(|&bank| sections[bank].kind == SectionType::CONSTANT_4) {
            check_bank(planned, id, bank, report)?;
        }
    }
    Ok(())
}

/// Reports the first function that was removed, and whose address live code of an object loads from the object's bank of addresses.
#[cold]
fn check_bank(planned: &Planned<'_, '_>, file: FileId, bank: InputSectionId, report: &mut Report) -> Result<(), Failure> {
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
