//! Versions: whether there are objects at all, and whether they need a newer driver interface than is allowed.

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::options::{OnEmpty, Options};
use crate::phases::load::{Inputs, Role};
use cubin::compat::Tag;
use cubin::info::{self, Attribute};

/// Refuses objects that ask for a newer version of the driver's interface than is allowed.
///
/// The first of them is reported once per function, because it is functions that ask.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    if inputs.files().len() == 0 {
        let target = options.target.name.to_owned();
        let is_for_others = |said: &Diagnostic| matches!(said.message, Message::NoCodeForTarget { .. });
        let are_others = report.diagnostics().any(is_for_others);
        match options.on_empty {
            OnEmpty::WarnOfOtherTargets if are_others => report.say(Message::EmptyResult { target }),
            OnEmpty::Accept | OnEmpty::WarnOfOtherTargets => {}
            OnEmpty::RefuseOtherTargets if !are_others => {}
            OnEmpty::Refuse | OnEmpty::RefuseOtherTargets => {
                let hint = "compile for the target, or allow it with --allow-empty";
                return report.fatal(Diagnostic::new(Message::NothingForTarget { target }).hint(hint));
            }
        }
    }
    for object in inputs.files().iter().filter(|object| object.lacks_address_size) {
        report.say(Message::NoAddressSize { file: object.name.into() });
    }
    warn_of_missing_class(inputs, options, report);
    let Some(newest) = options.newest_api else { return Ok(()) };
    for object in inputs.files().iter() {
        let sections = object.sections.iter().map(|id| &inputs.sections()[id]);
        let asked = sections
            .filter(|section| section.role == Role::FunctionInfo)
            .flat_map(|section| info::records(section.data).filter_map(Result::ok))
            .filter(|record| record.attribute == Attribute::CUDA_API_VERSION)
            .filter_map(|record| record.word(0));
        let mut refused = false;
        for found in asked.filter(|&found| i64::from(found) > i64::from(newest)) {
            report.say(Message::NewerApi { file: object.name.into(), found, newest });
            refused = true;
        }
        if refused {
            return report.fatal(Message::MergeFailed {});
        }
    }
    Ok(())
}

/// Warns of objects that say something of where their code runs, but not the class of its instructions.
fn warn_of_missing_class(inputs: &Inputs<'_>, options: &Options, report: &mut Report) {
    let has_class = |data: &[u8]| info::records(data).flatten().any(|record| record.attribute.0 == Tag::ISA_CLASS.0);
    for object in inputs.files().iter() {
        let mut said =
            object.sections.iter().map(|id| &inputs.sections()[id]).filter(|section| section.role == Role::Compatibility);
        if said.any(|section| !has_class(section.data)) {
            let (file, number) = (object.name.into(), options.target.number);
            report.say(Message::LimitedByMissingProperty { file, number, property: "ISA_CLASS" });
        }
    }
}
