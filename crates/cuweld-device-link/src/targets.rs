//! Links for several targets: inputs are opened once, and then linked for each.

use cubin::target::Target;
use cuweld::diagnostics::Report;
use cuweld::inputs::OpenInputs;
use cuweld::inputs::lower::Compilers;
use cuweld::observer::{Observer, Phase};
use cuweld::{LinkError, Linker, Request};
use rayon::prelude::*;

/// A program for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// What it is for.
    pub target: &'static Target,
    /// The cubin.
    pub image: Vec<u8>,
    /// The ids of the units that register it, in link order.
    pub modules: Vec<String>,
    /// What went where, if it was asked for.
    pub map: Option<String>,
}

/// Links for every target, in parallel. Each has its own result, its own report, and its own observer.
///
/// Modules that are linked already are left out, whatever the requests say: the host object would register them a second time.
pub fn link_each<Watch: Observer>(
    inputs: &OpenInputs<'_>,
    requests: Vec<(Request, Report, Watch)>,
    compilers: &Compilers<'_>,
) -> Vec<(Result<Program, LinkError>, Report, Watch)> {
    let link = |(mut request, report, mut watch): (Request, Report, Watch)| {
        request.unpack.leave_out_linked_modules = true;
        let target = request.options.target;
        let mut linker = Linker::new(request).reporting_to(report);
        let program = link(&mut linker, inputs, target, compilers, &mut watch);
        (program, linker.take_report(), watch)
    };
    match requests.len() {
        // One alone needs no threads, if it is small; and starts them itself, if it is not.
        0 | 1 => requests.into_iter().map(link).collect(),
        _ => requests.into_par_iter().map(link).collect(),
    }
}

/// Links for one target.
fn link<'data>(
    linker: &mut Linker<'data>,
    inputs: &OpenInputs<'data>,
    target: &'static Target,
    compilers: &Compilers<'_>,
    watch: &mut dyn Observer,
) -> Result<Program, LinkError> {
    // An observer that wants no link is asked again before the next phase.
    _ = watch.begin(Phase::Unpack);
    linker.add_opened(inputs)?;
    watch.end(Phase::Unpack);
    let linked = linker.link_observed(compilers, watch).inspect_err(|_| linker.explain_undefined(inputs, compilers))?;
    // Bare device code is listed by its path, and not registered.
    let modules = linker.modules().filter(|module| module.registers).map(|module| module.id.clone()).collect();
    Ok(Program { target, image: linked.image, modules, map: linked.map })
}
