//! Admission: whether the objects may be linked together, under the given options.

mod mercury;
mod tensor_memory;
mod versions;
mod whole_programs;

use super::load::Inputs;
use crate::diagnostics::{Failure, Report};
use crate::options::Options;

/// Refuses objects that can not be part of the link, whatever is in them.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    mercury::check(inputs, options, report)?;
    versions::check(inputs, options, report)?;
    tensor_memory::check(inputs, options, report)?;
    whole_programs::check(inputs, options, report)
}
