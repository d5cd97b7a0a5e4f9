//! Mercury: whether the finalizer of the chosen release supports the version of the objects' Mercury code.
//!
//! This linker keeps the compiler's machine code, whatever its version. The reference linker regenerates it.

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::options::{Options, ReleaseChoice};
use crate::phases::load::{Inputs, Role};
use cubin::compat::Tag;
use cubin::info;
use cubin::release::Rule;
use cubin::target::Views;

/// Refuses objects whose code is newer than the release's finalizer.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    let ReleaseChoice::Exactly(release) = options.release else { return Ok(()) };
    if options.target.views == Views::One || !release.has(Rule::Cuda13Files) {
        return Ok(());
    }
    let tag = match release.has(Rule::FinalizerIsaVersion) {
        true => Tag::FINALIZER_ISA_VERSION,
        false => Tag::MERCURY_ISA_MAJOR_MINOR_VERSION,
    };
    let is_refused = |version: u16| version > release.newest_mercury || (version == 0 && release.has(Rule::FinalizerRefuses));
    for object in inputs.files().iter() {
        let sections = object.sections.iter().map(|id| &inputs.sections()[id]);
        let said = sections.filter(|section| section.role == Role::Compatibility);
        let records = said.flat_map(|section| info::records(section.data)).map_while(Result::ok);
        let mut versions = records.filter(|record| record.attribute.0 == tag.0).map(|record| record.value);
        let Some(version) = versions.find(|&version| is_refused(version)) else { continue };
        let file = object.name.to_owned();
        let headline = format!(
            "'{file}' has Mercury code of version {}.{}, which CUDA {} does not finalize",
            version >> 8,
            version & 0xff,
            release.name
        );
        if !release.has(Rule::FinalizerRefuses) {
            return report.fatal(Diagnostic::new(Message::NotFinalized { file }).headline(headline));
        }
        report.add(Diagnostic::new(Message::UnsupportedMercury { file }).headline(headline));
        return report.fatal(Message::FinalizationFailed {});
    }
    Ok(())
}
