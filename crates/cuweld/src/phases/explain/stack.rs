//! Unknown stack sizes: the kernels that have one, and the recursion that they reach.

use super::{first_few, path};
use crate::demangle::demangle;
use crate::diagnostics::{Diagnostic, Message};
use crate::id::FunctionId;
use crate::phases::callgraph::CallGraph;
use crate::phases::components::Components;
use crate::phases::resolve::Resolution;

/// One message for all kernels whose stack size is not known; none if there are no such kernels.
pub fn describe(
    kernels: &[FunctionId],
    graph: &CallGraph<'_>,
    components: &Components,
    resolution: &Resolution<'_>,
) -> Option<Diagnostic> {
    let first = demangle(resolution.name(*kernels.first()?)).into_owned();
    let headline = match kernels.len() {
        1 => format!("the stack size of kernel '{first}' can not be known"),
        count => format!("the stack sizes of {count} kernels can not be known"),
    };
    let mut diagnostic =
        Diagnostic::new(Message::UnknownStackSize { kernel: resolution.name(*kernels.first()?).into() }).headline(headline);
    if kernels.len() > 1 {
        let name = |&kernel: &FunctionId| format!("kernel {}", demangle(resolution.name(kernel)));
        diagnostic.also.extend(first_few(kernels, 5, name));
    }
    // A way around a cycle is looked for only where it is shown: each takes a search of the whole graph.
    let text = |component: usize| {
        let way = cycle(component, graph, components).unwrap_or_default();
        format!("recursion: {}", path::text(&way, graph, resolution))
    };
    diagnostic.also.extend(first_few(cycles_of(kernels, graph, components), 3, text));
    Some(diagnostic.hint("set a size that is enough, with cudaDeviceSetLimit(cudaLimitStackSize, bytes)"))
}

/// The cyclic components that kernels reach, in the order in which a search meets them.
fn cycles_of(kernels: &[FunctionId], graph: &CallGraph<'_>, components: &Components) -> Vec<usize> {
    let (mut seen, mut is_known) = (vec![false; graph.nodes()], vec![false; components.len()]);
    let mut open: Vec<u32> = kernels.iter().rev().map(|&kernel| graph.node(kernel)).collect();
    let mut cycles = Vec::new();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node as usize], true) {
            continue;
        }
        let component = components.of_node(node);
        if components.is_cyclic(component) && !std::mem::replace(&mut is_known[component], true) {
            cycles.push(component);
        }
        open.extend(graph.successors(node).filter(|&next| !seen[next as usize]));
    }
    cycles
}

/// A shortest cycle through the first function of a component.
fn cycle(component: usize, graph: &CallGraph<'_>, components: &Components) -> Option<Vec<u32>> {
    let start = components.members(component).iter().copied().min()?;
    let inside = |node: u32| components.of_node(node) == component;
    path::shortest(graph, std::iter::once(start), |node| node == start, inside, false)
}
