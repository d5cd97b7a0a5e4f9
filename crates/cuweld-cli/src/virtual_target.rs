//! A link for a virtual architecture (`-arch=compute_90`), of which nothing comes: code for it is made by the driver, from PTX.
//!
//! The reference linker reads the inputs all the same, and refuses objects that no GPU of the architecture could run. Compiler drivers
//! ask for such links, so under its name that is what happens; under its own name cuweld says that there is nothing to link.
//! All modules are registered, and the driver links them.

use crate::inputs;
use crate::link::{add_side_files, registrations, say_how_reading_went};
use crate::messages::Messages;
use crate::options::LinkArguments;
use crate::outputs::Outputs;
use crate::request::imitations;
use cubin::read::File;
use cubin::target::{Target, Views};
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld::imitations::Imitation;
use cuweld::inputs::{OpenInputs, RawInput, Unknown};
use fatbin::{Kind, identify};

/// Links for a virtual architecture: checks the inputs.
pub fn link(
    target: &Target,
    outputs: &mut Outputs,
    arguments: &LinkArguments,
    messages: &Messages,
    report: &mut Report,
) -> Result<(), Failure> {
    let name = &arguments.arch;
    if !messages.takes_as_reference(arguments) {
        let text = format!("nothing can be linked for '{name}', which is a virtual architecture");
        let real = name.replace("compute_", "sm_");
        return report.fatal(Diagnostic::new(Message::Usage { text }).hint(format!("name a real one, such as -arch={real}")));
    }
    let files = inputs::read(arguments, &inputs::Seen::default(), 1);
    files.check_outputs(arguments, report)?;
    let raw = files.raw_inputs(false);
    for input in raw.iter().filter(|input| matches!(identify(input.bytes), Kind::Cubin(_))) {
        let Ok(object) = File::parse(input.bytes) else { continue };
        check(&object, &input.name, target, arguments, report)?;
    }
    say_how_reading_went(&files, report)?;
    let registered = arguments.files.register_link_binaries.as_ref().map(|_| registered(&raw)).transpose();
    let registered = registered.or_else(|message| report.fatal(*message))?;
    add_side_files(outputs, registered.as_deref(), None, None, arguments, report)
}

/// The list of modules that the host's part of the program registers. Which of them need the device runtime library is not known.
fn registered(raw: &[RawInput<'_>]) -> Result<String, Box<Message>> {
    let inputs = OpenInputs::open(raw, Unknown::ByName)?;
    let mut ids = inputs.module_ids()?;
    if !ids.is_empty() {
        ids.extend(inputs.runtime_module_ids()?);
    }
    Ok(registrations(&ids))
}

/// Refuses an object for a newer GPU than the architecture, which is the oldest one that can run the result.
fn check(object: &File<'_>, file: &str, target: &Target, arguments: &LinkArguments, report: &mut Report) -> Result<(), Failure> {
    let number = Target::current_number(object.sm());
    let has_two_views = Target::all().iter().any(|target| target.number == number && target.views == Views::Two);
    if has_two_views && imitations(arguments).contains(Imitation::VirtualTargetOfTwoViews) {
        return report.fatal(Message::Usage { text: "specified arch exceeds buffer length".into() });
    }
    let lacks_a_view = target.views == Views::Two && !has_two_views;
    if lacks_a_view {
        report.say(Message::LimitedByInput { file: file.into(), number: target.number });
    }
    match number > target.number || lacks_a_view && object.is_accelerated() {
        true => report.fatal(Message::WrongArchitecture { file: file.into(), target: arguments.arch.clone() }),
        false => Ok(()),
    }
}
