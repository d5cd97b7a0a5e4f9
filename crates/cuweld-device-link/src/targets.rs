//! Links for several targets: inputs are opened once, and then linked for each.

use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::{Failure, Message, Report};
use cuweld::inputs::lower::{CompileOptions, Compilers, Lowered, Object, lower, units_left_out};
use cuweld::inputs::{OpenInputs, UnpackOptions, Unpacked};
use cuweld::observer::Outline;
use cuweld::options::{KernelRoots, Options};
use rayon::prelude::*;

/// What is asked for one target.
#[derive(Clone, Debug)]
pub struct Request {
    /// How code is chosen.
    pub unpack: UnpackOptions,
    /// How code is compiled that is not machine code yet.
    pub compile: CompileOptions,
    /// How it is linked.
    pub options: Options,
    /// Whether kernels that host code does not refer to are removed, if that is known.
    pub use_host_references: bool,
}

/// A program for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is for.
    pub target: &'static Target,
    /// The cubin.
    pub image: Vec<u8>,
    /// The ids of the units that register it, in link order.
    pub modules: Vec<String>,
}

/// Links for every target, side by side. Each has its own result, and its own report.
pub fn link_each(
    inputs: &OpenInputs<'_>,
    requests: Vec<(Request, Report)>,
    compilers: &Compilers<'_>,
) -> Vec<(Result<Program, Failure>, Report)> {
    let link = |(request, mut report): (Request, Report)| (link(inputs, &request, compilers, &mut report), report);
    match requests.len() {
        // One alone needs no threads, if it is small; and starts them itself, if it is not.
        0 | 1 => requests.into_iter().map(link).collect(),
        _ => requests.into_par_iter().map(link).collect(),
    }
}

/// Links for one target.
fn link(inputs: &OpenInputs<'_>, request: &Request, compilers: &Compilers<'_>, report: &mut Report) -> Result<Program, Failure> {
    let target = request.options.target;
    let unpacked = inputs.unpack(&request.unpack, report)?;
    let (image, left_out) = match lower(&unpacked, &request.compile, compilers, report)? {
        Lowered::Finished(image) => (image, runtime_units(&unpacked)),
        Lowered::Objects(objects) => {
            let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
            let mut options = request.options.clone();
            if request.use_host_references {
                options.kernels = unpacked.host_references.kernel_roots().unwrap_or_default();
            }
            let mut outline = Outline::default();
            let linked = cuweld::link_with(&inputs, &options, report, &mut outline, |file, report| {
                file.to_vec().or_else(|error| report.fatal(Message::Internal { text: error.to_string() }))
            })?;
            let left_out = units_left_out(&objects, &outline.left_out);
            (linked.image, left_out)
        }
    };
    let modules = unpacked.registering(|unit| left_out.binary_search(&unit).is_ok()).map(str::to_owned).collect();
    Ok(Program { target, image, modules })
}

/// The units of the device runtime library, which link-time optimization of a whole program leaves out.
fn runtime_units(unpacked: &Unpacked<'_>) -> Vec<usize> {
    let units = unpacked.units.iter().enumerate();
    units.filter(|(_, unit)| unit.demand == cuweld::Demand::Runtime).map(|(index, _)| index).collect()
}

impl Request {
    /// A link for a target, with nothing special about it.
    #[must_use]
    pub fn new(target: &'static Target) -> Self {
        Request {
            unpack: UnpackOptions {
                target,
                link_time_optimization: false,
                limit: None,
                unknown: cuweld::inputs::Unknown::Refuse,
                warn_of_missing_code: true,
                name_by_source: false,
                imitations: cuweld::imitations::Imitations::NONE,
                leave_out_linked_modules: true,
            },
            compile: CompileOptions::new(target),
            options: Options { kernels: KernelRoots::default(), ..Options::new(target) },
            use_host_references: true,
        }
    }
}
