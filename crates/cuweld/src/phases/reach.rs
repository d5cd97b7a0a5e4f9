//! Reach: which functions of some kind each kernel can get to.
//!
//! Most facts flow up the call graph as a maximum or a sum and need no sets (see [`propagate`](super::propagate)). Layouts do:
//! a shared variable's address depends on exactly which kernels use it. The sets are kept small in two ways: the search skips
//! parts of the graph with nothing of interest in them, and kernels whose calls lead to the same parts share one set.

use super::callgraph::CallGraph;
use super::components::Components;
use crate::id::{FunctionId, Id, IdMap};
use std::collections::HashMap;

/// For each kernel, the functions of interest that it reaches.
#[derive(Debug)]
pub struct Reach {
    sets: Vec<Vec<FunctionId>>,
    /// Per kernel: its set, and whether the kernel itself is of interest.
    kernels: IdMap<FunctionId, (usize, bool)>,
}

impl Reach {
    /// Kernels, in classes of those that reach the same.
    pub fn classes(&self, kernels: &[FunctionId]) -> Vec<Vec<FunctionId>> {
        let mut classes: Vec<Vec<FunctionId>> = Vec::new();
        let mut known: IdMap<(usize, Option<FunctionId>), usize> = IdMap::default();
        for &kernel in kernels {
            let Some(&(set, itself)) = self.kernels.get(&kernel) else { continue };
            let class = *known.entry((set, itself.then_some(kernel))).or_insert(classes.len());
            match classes.get_mut(class) {
                Some(members) => members.push(kernel),
                None => classes.push(vec![kernel]),
            }
        }
        classes
    }

    /// The functions of interest that a kernel reaches, itself included; all but itself in ascending order.
    pub fn of(&self, kernel: FunctionId) -> impl Iterator<Item = FunctionId> + '_ {
        let (set, itself) = self.kernels.get(&kernel).copied().unwrap_or((usize::MAX, false));
        let others = self.sets.get(set).map(Vec::as_slice).unwrap_or_default();
        itself.then_some(kernel).into_iter().chain(others.iter().copied().filter(move |&function| function != kernel))
    }
}

/// Finds what each of `kernels` reaches.
pub fn find(
    graph: &CallGraph<'_>,
    components: &Components,
    kernels: &[FunctionId],
    is_of_interest: impl Fn(FunctionId) -> bool,
) -> Reach {
    let function_of = |node: u32| ((node as usize) < graph.len()).then(|| FunctionId::from_index(node as usize));
    let node_counts = |node: u32| function_of(node).is_some_and(&is_of_interest);
    let mut leads_somewhere = vec![false; components.len()];
    for component in 0..components.len() {
        leads_somewhere[component] = components
            .members(component)
            .iter()
            .any(|&node| node_counts(node) || graph.successors(node).any(|next| leads_somewhere[components.of_node(next)]));
    }
    let worth_visiting = |node: &u32| leads_somewhere[components.of_node(*node)];

    let mut sets = Vec::new();
    let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut visited = vec![0u32; graph.nodes()];
    let mut result = IdMap::with_capacity_and_hasher(kernels.len(), Default::default());
    for &kernel in kernels {
        let mut starts: Vec<u32> = graph.successors(graph.node(kernel)).filter(worth_visiting).collect();
        starts.sort_unstable();
        starts.dedup();
        let set = *known.entry(starts).or_insert_with_key(|starts| {
            let round = sets.len() as u32 + 1;
            let mut found = Vec::new();
            let mut open = starts.clone();
            while let Some(node) = open.pop() {
                if std::mem::replace(&mut visited[node as usize], round) == round {
                    continue;
                }
                if node_counts(node) {
                    found.extend(function_of(node));
                }
                open.extend(graph.successors(node).filter(worth_visiting));
            }
            found.sort_unstable();
            sets.push(found);
            sets.len() - 1
        });
        result.insert(kernel, (set, is_of_interest(kernel)));
    }
    Reach { sets, kernels: result }
}
