//! Check: errors of the program as a whole, and its listings. All errors are reported before the link ends.

mod addresses;
mod listing;
mod parameters;
mod registers;
mod reserved;
mod tools_patch;
mod undefined;
mod verify;
mod why_live;

pub use listing::warn_of_functions_never_called;
pub use tools_patch::check_tools_patch;

use super::attributes::Attributes;
use super::propagate::KernelProperties;
use super::stages::Planned;
use super::usage::Usage;
use crate::diagnostics::{Failure, Report};
use crate::imitations::Imitation;
use crate::observer::Outline;
use std::ops::Deref;

/// The facts that are read.
pub struct Facts<'facts, 'data> {
    /// What was planned.
    pub planned: &'facts Planned<'facts, 'data>,
    /// Which entry functions reach what.
    pub usage: &'facts Usage<'facts, 'data>,
    /// The attributes of each function.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
}

impl<'facts, 'data> Deref for Facts<'facts, 'data> {
    type Target = Planned<'facts, 'data>;

    fn deref(&self) -> &Self::Target {
        self.planned
    }
}

/// Checks the program, and lists what was asked for. A relocatable object is a part of a program: only the final link can say what is missing.
pub fn check(facts: &Facts<'_, '_>, report: &mut Report) -> Result<Outline, Failure> {
    let &Planned { inputs, resolution, graph, live, options, .. } = facts.planned;
    let is_program = options.knows_all_callees();
    let account = why_live::list(facts, report);
    if is_program {
        undefined::check(facts.planned, report);
        parameters::check(facts.planned, report);
        verify::check(facts.planned, report)?;
    }
    reserved::check(facts, report);
    if is_program {
        registers::check(facts, report);
    }
    if options.extra_warnings && !options.imitates(Imitation::FirstDynamicAlignment) {
        listing::warn_of_dynamic_shared_types(inputs, resolution, report);
    }
    if options.verbose {
        facts.list_resources(report);
    }
    if is_program && !report.has_errors() {
        addresses::check(facts.planned, report)?;
    }
    let graphviz = options.listings.graphviz.then(|| listing::graphviz(resolution, graph, live, options.listings.every_pair));
    Ok(Outline { left_out: inputs.left_out().to_vec(), graphviz, account })
}
