//! Check: everything that is wrong with the program as a whole, and what is listed of it. All of it is said before the link ends.

mod listing;
mod parameters;
mod registers;
mod reserved;
mod undefined;
mod verify;
mod why_live;

pub use listing::warn_of_functions_never_called;

use super::attributes::Attributes;
use super::callgraph::CallGraph;
use super::layout::Layout;
use super::live::LiveSet;
use super::load::Inputs;
use super::merge::Plan;
use super::propagate::KernelProperties;
use super::resolve::Resolution;
use super::usage::Usage;
use crate::diagnostics::{Failure, Report};
use crate::imitations::Imitation;
use crate::observer::Outline;
use crate::options::Options;

/// The facts that are read.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The call graph.
    pub graph: &'facts CallGraph<'data>,
    /// Which entry functions reach what.
    pub usage: &'facts Usage<'facts, 'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// What each function says of itself.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses and sizes.
    pub layout: &'facts Layout,
    /// What was asked for.
    pub options: &'facts Options,
}

/// Checks the program, and lists what was asked for. A relocatable object is a part of a program: only the final link can say what is missing.
pub fn check(facts: &Facts<'_, '_>, report: &mut Report) -> Result<Outline, Failure> {
    let Facts { inputs, resolution, graph, live, options, .. } = facts;
    let account = why_live::list(facts, report);
    if options.executable() {
        undefined::check(facts, report);
        parameters::check(facts, report);
        verify::check(facts, report)?;
    }
    reserved::check(facts, report);
    if options.executable() {
        registers::check(facts, report);
    }
    if options.extra_warnings && !options.imitates(Imitation::FirstDynamicAlignment) {
        listing::warn_of_dynamic_shared_types(inputs, resolution, report);
    }
    if options.verbose {
        facts.list_resources(report);
    }
    let graphviz = options.listings.graphviz.then(|| listing::graphviz(resolution, graph, live, options.listings.every_pair));
    Ok(Outline { left_out: inputs.left_out().to_vec(), graphviz, account })
}
