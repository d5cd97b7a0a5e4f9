//! Early exit: which functions let dependent grids launch before they end (`griddepcontrol.launch_dependents`).
//!
//! The driver reads the record of entry functions, so each covers itself and the functions that it reaches by direct calls and references,
//! but not through pointers. Compilers record it per function since CUDA 13.4; for older objects it is derived from the machine code.

use super::callgraph::CallGraph;
use super::live::LiveSet;
use super::load::{Inputs, Role};
use super::resolve::Resolution;
use crate::id::{FunctionId, Id, IdSet, Lists};
use crate::options::Options;
use crate::views::View;
use cubin::fast_path;
use cubin::info::{self, Attribute};
use cubin::release::Rule;
use cubin::target::Views;
use rayon::prelude::*;

/// The functions that do. None, where no record says so.
pub fn find(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    graph: &CallGraph<'_>,
    live: &LiveSet,
    options: &Options,
) -> IdSet<FunctionId> {
    if options.target.views == Views::One || !inputs.release().has(Rule::PreexitRecords) {
        return IdSet::default();
    }
    let functions: Vec<FunctionId> = live.functions().collect();
    let own = functions.into_par_iter().filter(|&function| exits_early(inputs, resolution, function));
    let mut found: IdSet<FunctionId> = own.collect::<Vec<_>>().into_iter().collect();
    if options.knows_all_callees() && !found.is_empty() {
        let reaching = referrers(graph, &found);
        found.extend(live.kernels().iter().copied().filter(|kernel| reaching.contains(kernel)));
    }
    found
}

/// Some functions, and all that reach one of them by direct calls and references.
fn referrers(graph: &CallGraph<'_>, functions: &IdSet<FunctionId>) -> IdSet<FunctionId> {
    let all = (0..graph.len()).map(FunctionId::from_index);
    let pairs = all.flat_map(|from| graph.calls(from).iter().chain(graph.references(from)).map(move |&to| (to, from)));
    let referring = Lists::gather(graph.len(), &pairs.collect::<Vec<_>>());
    let (mut met, mut open) = (functions.clone(), Vec::from_iter(functions.iter().copied()));
    while let Some(function) = open.pop() {
        open.extend(referring[function].iter().copied().filter(|&from| met.insert(from)));
    }
    met
}

/// The compiler's record about a function, or else what its machine code shows.
fn exits_early(inputs: &Inputs<'_>, resolution: &Resolution<'_>, function: FunctionId) -> bool {
    let Some(code) = resolution.code(inputs, function) else { return false };
    let mut attached = inputs.attached(code).filter(|&section| inputs.sections()[section].role == Role::FunctionInfo);
    let info = attached.find_map(|section| inputs.in_view(section, View::Machine));
    let mut records = info.into_iter().flat_map(|section| info::records(inputs.sections()[section].data)).flatten();
    match records.find(|record| record.attribute == Attribute::PREEXIT_USED) {
        Some(said) => said.value != 0,
        None => inputs.in_view(code, View::Machine).is_some_and(|code| fast_path::exits_early(inputs.sections()[code].data)),
    }
}
