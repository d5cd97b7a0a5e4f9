//! Versions: whether objects ask for more of the driver than they may.

use super::load::{Inputs, Role};
use crate::diagnostics::{Failure, Message, Report};
use crate::options::Options;
use cubin::info::{self, Attribute};

/// Refuses objects that ask for a newer version of the driver's interface than is allowed.
///
/// The first of them is reported once per function, because it is functions that ask.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
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
