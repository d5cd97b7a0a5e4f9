//! Usage: which entry functions reach what.
//!
//! Most attributes are propagated as a maximum or a sum and need no sets (see [`propagate`](super::propagate)). Layouts do: the offset of a
//! shared variable depends on exactly which kernels use it. The sets are kept small in two ways: the search skips parts of the graph
//! with nothing of interest in them, and kernels whose calls lead to the same parts share one set.
//!
//! A program's only kernel stands for everything: it is taken to reach all live code, whether or not it calls it.

use super::callgraph::CallGraph;
use super::components::Components;
use super::live::LiveSet;
use super::references::References;
use super::resolve::{Resolution, Symbol};
use crate::id::{FunctionId, Id, IdMap};
use std::collections::HashMap;

/// Which entry functions reach what.
#[derive(Copy, Clone)]
pub struct Usage<'facts, 'data> {
    graph: &'facts CallGraph<'data>,
    components: &'facts Components,
    live: &'facts LiveSet,
    lone_kernel: Option<FunctionId>,
}

/// Looks at which entry functions there are.
pub fn find<'facts, 'data>(
    graph: &'facts CallGraph<'data>,
    components: &'facts Components,
    live: &'facts LiveSet,
) -> Usage<'facts, 'data> {
    // One that stays for its address alone stands for itself.
    let lone_kernel = match *live.kernels() {
        [only] if !live.is_kept_kernel(only) => Some(only),
        _ => None,
    };
    Usage { graph, components, live, lone_kernel }
}

impl Usage<'_, '_> {
    /// The program's only kernel, which stands for everything.
    pub fn lone_kernel(&self) -> Option<FunctionId> {
        self.lone_kernel
    }

    /// The functions of interest that each kernel reaches.
    pub fn of_kernels(&self, is_of_interest: impl Fn(FunctionId) -> bool) -> Reach {
        self.of(self.live.kernels(), is_of_interest)
    }

    /// The functions of interest that each entry function reaches.
    pub fn of_entries(&self, is_of_interest: impl Fn(FunctionId) -> bool) -> Reach {
        self.of(self.live.entries(), is_of_interest)
    }

    /// The functions of interest that each of some entry functions reaches.
    pub fn of(&self, kernels: &[FunctionId], is_of_interest: impl Fn(FunctionId) -> bool) -> Reach {
        search(self.graph, self.components, kernels, is_of_interest)
    }

    /// For each function of interest: the entry functions that reach it, the last one first.
    pub fn entries_that_reach(&self, is_of_interest: impl Fn(FunctionId) -> bool) -> IdMap<FunctionId, Vec<FunctionId>> {
        let reach = self.of_entries(is_of_interest);
        let mut entries: IdMap<FunctionId, Vec<FunctionId>> = IdMap::default();
        for &entry in self.live.entries().iter().rev() {
            reach.of(entry).for_each(|function| entries.entry(function).or_default().push(entry));
        }
        entries
    }

    /// The kernels that reach code that refers to something of a kind, in order. For the lone kernel any code will do.
    pub fn kernels_that_refer(
        &self,
        resolution: &Resolution<'_>,
        references: &References,
        is_wanted: fn(&Symbol) -> bool,
    ) -> Vec<FunctionId> {
        let symbols = resolution.symbols();
        let wanted: Vec<bool> = (resolution.functions().ids())
            .map(|function| references.of(function).iter().any(|&symbol| is_wanted(&symbols[symbol])))
            .collect();
        if !wanted.contains(&true) {
            return Vec::new();
        }
        if let Some(lone_kernel) = self.lone_kernel {
            return vec![lone_kernel];
        }
        let reach = self.of_kernels(|function| wanted[function.index()]);
        self.live.kernels().iter().copied().filter(|&kernel| reach.of(kernel).next().is_some()).collect()
    }
}

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
fn search(
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
