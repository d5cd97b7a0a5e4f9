//! Reach: the functions of some kind that each kernel reaches.
//!
//! The sets of all kernels can have the size of the product of kernels and functions, so they are kept as small as possible:
//!
//! - parts of the graph that lead to the same functions of interest are merged ([`Parts`]): the search skips everything between them,
//!   and kernels that enter the same part share one set;
//! - where only the maximal sets matter, the others are not computed ([`largest_sets`]).

use crate::id::{FunctionId, Id, IdMap};
use crate::phases::callgraph::CallGraph;
use crate::phases::components::Components;
use std::collections::HashMap;

/// No part: nothing of interest is reached.
const NONE: u32 = u32::MAX;

/// The call graph, with everything left out that makes no difference to which functions of interest are reached.
struct Parts {
    /// Per component: the part that stands for it.
    of: Vec<u32>,
    /// Per component that stands for itself: the parts it leads to.
    next: Vec<Box<[u32]>>,
}

impl Parts {
    /// A component with functions of interest stands for itself; another one for what it leads to. Those that lead to the same are one.
    fn find(graph: &CallGraph<'_>, components: &Components, is_of_interest: impl Fn(FunctionId) -> bool) -> Self {
        let mut parts = Parts { of: vec![NONE; components.len()], next: Vec::new() };
        parts.next.resize_with(components.len(), Default::default);
        let mut known: HashMap<Box<[u32]>, u32> = HashMap::new();
        let mut next = Vec::new();
        for component in 0..components.len() {
            let members = components.members(component);
            next.clear();
            let successors = members.iter().flat_map(|&node| graph.successors(node)).map(|node| components.of_node(node));
            next.extend(successors.map(|successor| parts.of[successor]).filter(|&part| part != NONE));
            next.sort_unstable();
            next.dedup();
            let itself = component as u32;
            if functions(graph, members).any(&is_of_interest) {
                parts.next[component] = next.as_slice().into();
                parts.of[component] = itself;
            } else if let [] | [_] = *next {
                parts.of[component] = next.first().copied().unwrap_or(NONE);
            } else {
                parts.of[component] = known.get(next.as_slice()).copied().unwrap_or_else(|| {
                    known.insert(next.as_slice().into(), itself);
                    parts.next[component] = next.as_slice().into();
                    itself
                });
            }
        }
        parts
    }

    /// Visits all parts that others lead to, these included.
    fn visit(&self, starts: &[u32], visited: &mut Visited, mut found: impl FnMut(usize)) {
        visited.round += 1;
        let mut open = starts.to_vec();
        while let Some(part) = open.pop() {
            if std::mem::replace(&mut visited.rounds[part as usize], visited.round) != visited.round {
                found(part as usize);
                open.extend(&self.next[part as usize]);
            }
        }
    }
}

/// Which parts were visited, and in which round.
struct Visited {
    rounds: Vec<u32>,
    round: u32,
}

impl Visited {
    fn new(components: &Components) -> Self {
        Visited { rounds: vec![0; components.len()], round: 0 }
    }
}

/// The functions among nodes; the others are prototypes.
fn functions<'a>(graph: &'a CallGraph<'_>, nodes: &'a [u32]) -> impl Iterator<Item = FunctionId> + 'a {
    nodes.iter().filter(|&&node| (node as usize) < graph.len()).map(|&node| FunctionId::from_index(node as usize))
}

/// For each kernel, the functions of interest that it reaches.
#[derive(Debug)]
pub struct Reach {
    sets: Vec<Vec<FunctionId>>,
    /// Per kernel: its set, and whether the kernel itself is of interest.
    kernels: IdMap<FunctionId, (usize, bool)>,
}

impl Reach {
    /// The functions of interest that a kernel reaches by calls, in ascending order, with a number that kernels with the same have in
    /// common.
    pub fn set_of(&self, kernel: FunctionId) -> Option<(usize, &[FunctionId])> {
        let (number, _) = *self.kernels.get(&kernel)?;
        Some((number, self.sets.get(number)?))
    }

    /// The functions of interest that a kernel reaches, itself included; all but itself in ascending order.
    pub fn of(&self, kernel: FunctionId) -> impl Iterator<Item = FunctionId> + '_ {
        let (set, itself) = self.kernels.get(&kernel).copied().unwrap_or((usize::MAX, false));
        let others = self.sets.get(set).map(Vec::as_slice).unwrap_or_default();
        itself.then_some(kernel).into_iter().chain(others.iter().copied().filter(move |&function| function != kernel))
    }
}

/// Finds which functions that have a size each of `kernels` reaches, and the sum of these sizes over all kernels. Above the limit, it ends
/// with what it has.
pub fn find(
    graph: &CallGraph<'_>,
    components: &Components,
    kernels: &[FunctionId],
    size: impl Fn(FunctionId) -> Option<u64>,
    limit: u64,
) -> (Reach, u64) {
    let is_of_interest = |function: FunctionId| size(function).is_some();
    let sum_of = |functions: &[FunctionId]| functions.iter().filter_map(|&function| size(function)).fold(0, u64::saturating_add);
    let parts = Parts::find(graph, components, is_of_interest);
    let mut visited = Visited::new(components);
    let (mut sets, mut sums, mut sum) = (Vec::new(), Vec::new(), 0_u64);
    let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut result = IdMap::with_capacity_and_hasher(kernels.len(), Default::default());
    for &kernel in kernels {
        let successors = graph.successors(graph.node(kernel)).map(|node| parts.of[components.of_node(node)]);
        let mut starts: Vec<u32> = successors.filter(|&part| part != NONE).collect();
        starts.sort_unstable();
        starts.dedup();
        let set = *known.entry(starts).or_insert_with_key(|starts| {
            let mut found = Vec::new();
            parts.visit(starts, &mut visited, |part| {
                found.extend(functions(graph, components.members(part)).filter(|&function| is_of_interest(function)));
            });
            found.sort_unstable();
            sums.push(sum_of(&found));
            sets.push(found);
            sets.len() - 1
        });
        result.insert(kernel, (set, is_of_interest(kernel)));
        sum = sum.saturating_add(sums[set]);
        if sum > limit {
            break;
        }
    }
    (Reach { sets, kernels: result }, sum)
}

/// A search for the kernels that reach components, against the direction of calls. Every way is gone once, for whichever component is
/// asked about first.
pub struct WaysUp {
    /// Per component: those that call it.
    callers: Vec<Vec<u32>>,
    /// Per component: the kernels in it.
    kernels: Vec<Vec<FunctionId>>,
    seen: Vec<bool>,
}

impl WaysUp {
    pub(super) fn new(graph: &CallGraph<'_>, components: &Components, kernels: &[FunctionId]) -> Self {
        let mut ways = WaysUp {
            callers: vec![Vec::new(); components.len()],
            kernels: vec![Vec::new(); components.len()],
            seen: vec![false; components.len()],
        };
        for component in 0..components.len() {
            for next in components.members(component).iter().flat_map(|&node| graph.successors(node)) {
                ways.callers[components.of_node(next)].push(component as u32);
            }
        }
        for &kernel in kernels {
            ways.kernels[components.of(graph, kernel)].push(kernel);
        }
        ways
    }

    /// The kernels that reach a component, and none of those that were asked about before; the last one first.
    pub(super) fn next(&mut self, component: usize) -> Vec<FunctionId> {
        let mut found: Vec<FunctionId> = Vec::new();
        let mut open = vec![component as u32];
        while let Some(component) = open.pop().map(|component| component as usize) {
            if !std::mem::replace(&mut self.seen[component], true) {
                found.extend(&self.kernels[component]);
                open.extend(&self.callers[component]);
            }
        }
        found.sort_unstable_by_key(|&kernel| std::cmp::Reverse(kernel));
        found
    }
}

/// The sets of functions of interest that some kernel reaches, itself included, without those that are a part of another as the graph
/// shows it: a kernel that enters a chain of calls in the middle adds nothing to one that enters it before.
pub fn largest_sets(
    graph: &CallGraph<'_>,
    components: &Components,
    callers: &[Callers],
    kernels: &[FunctionId],
    is_of_interest: impl Fn(FunctionId) -> bool,
) -> Vec<Vec<FunctionId>> {
    let parts = Parts::find(graph, components, &is_of_interest);
    let mut is_inside = vec![false; components.len()];
    for component in (0..components.len()).filter(|&component| callers[component] != Callers::None) {
        let successors = components.members(component).iter().flat_map(|&node| graph.successors(node));
        for part in successors.map(|node| parts.of[components.of_node(node)]) {
            if part != NONE && part != parts.of[component] {
                is_inside[part as usize] = true;
            }
        }
    }
    let mut starts: Vec<u32> = kernels.iter().map(|&kernel| parts.of[components.of(graph, kernel)]).collect();
    starts.retain(|&part| part != NONE && !is_inside[part as usize]);
    starts.sort_unstable();
    starts.dedup();
    let mut visited = Visited::new(components);
    let set = |part: u32| {
        let mut found = Vec::new();
        parts.visit(&[part], &mut visited, |part| {
            found.extend(functions(graph, components.members(part)).filter(|&function| is_of_interest(function)));
        });
        found
    };
    starts.into_iter().map(set).collect()
}

/// How many of some kernels reach a function.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Callers {
    /// None of them.
    #[default]
    None,
    /// One.
    One(FunctionId),
    /// Several.
    Several,
}

impl Callers {
    /// The callers of both.
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Callers::None, known) | (known, Callers::None) => known,
            (one, other) if one == other => one,
            _ => Callers::Several,
        }
    }
}

/// How many of `kernels` reach each component. Every kernel reaches itself.
pub fn callers(graph: &CallGraph<'_>, components: &Components, kernels: &[FunctionId]) -> Vec<Callers> {
    let mut callers = vec![Callers::None; components.len()];
    for &kernel in kernels {
        let known = &mut callers[components.of(graph, kernel)];
        *known = known.join(Callers::One(kernel));
    }
    // Callers come after their callees.
    for component in (0..components.len()).rev().filter(|_| !kernels.is_empty()) {
        let own = callers[component];
        if own != Callers::None {
            for next in components.members(component).iter().flat_map(|&node| graph.successors(node)) {
                let known = &mut callers[components.of_node(next)];
                *known = known.join(own);
            }
        }
    }
    callers
}

/// The largest of the values of all functions that each component reaches, its own included.
pub fn largest<T: Ord + Copy>(
    graph: &CallGraph<'_>,
    components: &Components,
    value: impl Fn(FunctionId) -> Option<T>,
) -> Vec<Option<T>> {
    let mut largest: Vec<Option<T>> = Vec::with_capacity(components.len());
    for component in 0..components.len() {
        let members = components.members(component);
        let own = functions(graph, members).filter_map(&value).max();
        let successors = members.iter().flat_map(|&node| graph.successors(node)).map(|node| components.of_node(node));
        let called = successors.filter_map(|next| *largest.get(next)?).max();
        largest.push(own.max(called));
    }
    largest
}

/// Which components are connected by calls, among those that are concerned: the same number for all of a connected set.
pub fn connected(
    graph: &CallGraph<'_>,
    components: &Components,
    is_concerned: impl Fn(usize) -> bool,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Vec<Option<u32>> {
    let mut leader: Vec<u32> = (0..components.len() as u32).collect();
    fn find(leader: &mut [u32], component: usize) -> u32 {
        let mut root = component;
        while leader[root] as usize != root {
            // Every second step of the way is left out from now on.
            leader[root] = leader[leader[root] as usize];
            root = leader[root] as usize;
        }
        root as u32
    }
    let calls = (0..components.len()).filter(|&component| is_concerned(component)).flat_map(|component| {
        let called = components.members(component).iter().flat_map(|&node| graph.successors(node));
        called.map(move |next| (component, components.of_node(next)))
    });
    for (one, other) in calls.chain(pairs).filter(|&(one, other)| is_concerned(one) && is_concerned(other)) {
        let (one, other) = (find(&mut leader, one), find(&mut leader, other));
        leader[one.max(other) as usize] = one.min(other);
    }
    (0..components.len()).map(|component| is_concerned(component).then(|| find(&mut leader, component))).collect()
}
