//! Tools patch: code that tools such as profilers patch into programs (`-astoolspatch`) must have been compiled for that.

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::options::Options;
use crate::phases::attributes::Attributes;
use crate::phases::load::Inputs;
use crate::phases::resolve::Resolution;
use cubin::info::{self, Attribute};
use cubin::release::Rule;

/// Refuses a link of tools' code if a function was not compiled as such.
pub fn check_tools_patch(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    attributes: &Attributes,
    options: &Options,
    report: &mut Report,
) -> Result<(), Failure> {
    for function in resolution.functions().ids().filter(|_| options.tools_patch) {
        let Some(code) = resolution.code(inputs, function) else { continue };
        let info = attributes.of(function).info.map(|(_, section)| inputs.sections()[section].data);
        let mut records = info.into_iter().flat_map(info::records).map_while(Result::ok);
        if records.any(|record| record.attribute == Attribute::TOOLS_PATCH_FUNC) {
            continue;
        }
        let option = if inputs.release().has(Rule::ToolsPatchByShortName) { "-astoolspatch" } else { "--astoolspatch" };
        let (name, file) = (resolution.name(function).into(), inputs.files()[inputs.file_of_section(code)].name.into());
        let headline = format!("'{name}' in '{file}' was not compiled as code that tools patch into programs");
        return report.fatal(Diagnostic::new(Message::NotAToolsPatch { name, file, option }).headline(headline));
    }
    Ok(())
}
