//! Whole programs: objects that were compiled to be linked with the device runtime library and nothing else (`nvcc -ewp`).
//!
//! Their kernels hold the functions they call in their own code, and their shared memory is laid out by the compiler. Only the conventions
//! of the current toolkits are known.

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::imitations::Imitation;
use crate::options::Options;
use crate::phases::load::Inputs;
use cubin::release::Release;

/// Checks what whole programs are linked with.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    let files = || inputs.files().iter();
    if !files().any(|object| object.is_whole_program) {
        return Ok(());
    }
    let oldest = if options.imitates(Imitation::WholeProgramsOfOneRelease) { inputs.release() } else { Release::oldest() };
    let oldest = u32::from(oldest.toolkit);
    if let Some(old) = files().find(|object| object.toolkit.is_none_or(|toolkit| toolkit < oldest)) {
        let headline = format!("'{}' was made by an older toolkit, and a whole program (-ewp) is linked", old.name);
        return report.fatal(Diagnostic::new(Message::OldWholeProgram { file: old.name.into() }).headline(headline));
    }
    for other in files().filter(|object| !object.is_whole_program && !object.is_runtime) {
        report.say(Message::BesideWholeProgram { file: other.name.into() });
    }
    if report.has_errors() { report.fatal(Message::MergeFailed {}) } else { Ok(()) }
}
