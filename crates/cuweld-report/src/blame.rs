//! Blame: which call path forces the registers and the stack of a function.
//!
//! A kernel gets the largest register count of all functions that it reaches, and the stack of its deepest call path. One sweep over the
//! strongly connected components of the call graph, callees first, records for each component where its maximum comes from; following
//! these records gives the path. So the cost is that of the graph and of the paths, however many paths lead through it.
//!
//! Calls through pointers go through the prototype: it is a node without resources of its own.

/// A call graph: functions first, then nodes that stand for prototypes.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// What each node needs by itself.
    pub own: Vec<Own>,
    /// Whom each node calls.
    pub calls: Vec<Vec<u32>>,
}

/// What a function needs by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Registers.
    pub registers: u32,
    /// Bytes of stack.
    pub frame: u64,
}

/// Where the maximum of a component comes from.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// The most registers.
    registers: u32,
    /// The node inside the component that has them, or calls into the component that does.
    node: u32,
    /// The node that it calls there.
    next: Option<u32>,
}

/// The stack of a component.
#[derive(Clone, Copy, Debug)]
enum Depth {
    /// Bytes, and the callee that needs most of them.
    Known { bytes: u64, next: Option<u32> },
    /// A recursion, in the component itself or in one that the node calls from it.
    Unknown { from: u32, next: Option<u32> },
}

/// The call paths that force registers and stack, for every function of a call graph.
#[derive(Debug)]
pub struct Blame<'graph> {
    graph: &'graph CallGraph,
    component: Vec<u32>,
    sources: Vec<Source>,
    depths: Vec<Depth>,
}

/// What forces the stack of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stack {
    /// The frames of this path add up to so many bytes.
    Known {
        /// Bytes.
        bytes: u64,
        /// From the function to the last one that adds to it.
        path: Vec<u32>,
    },
    /// There is a recursion.
    Unknown {
        /// From the function to one that calls an earlier one of the path.
        path: Vec<u32>,
    },
}

impl<'graph> Blame<'graph> {
    /// Finds out.
    #[must_use]
    pub fn of(graph: &'graph CallGraph) -> Self {
        let components = components(&graph.calls);
        let mut component = vec![0; graph.calls.len()];
        for (number, members) in (0..).zip(&components) {
            members.iter().for_each(|&node| component[node as usize] = number);
        }
        let mut blame = Blame {
            graph,
            component,
            sources: Vec::with_capacity(components.len()),
            depths: Vec::with_capacity(components.len()),
        };
        for members in &components {
            let (source, depth) = (blame.source(members), blame.depth(members));
            blame.sources.push(source);
            blame.depths.push(depth);
        }
        blame
    }

    fn component_of(&self, node: u32) -> usize {
        self.component[node as usize] as usize
    }

    /// Calls from one component into others.
    fn calls_out<'a>(&'a self, members: &'a [u32]) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = members.first().map(|&node| self.component_of(node));
        let calls = |&node: &u32| self.graph.calls[node as usize].iter().map(move |&next| (node, next));
        members.iter().flat_map(calls).filter(move |&(_, next)| Some(self.component_of(next)) != own)
    }

    /// The most registers of a component. Of equal ones, those nearest to the caller count.
    fn source(&self, members: &[u32]) -> Source {
        let own = members.iter().map(|&node| Source { registers: self.graph.own[node as usize].registers, node, next: None });
        let called = self.calls_out(members).map(|(node, next)| {
            let registers = self.sources[self.component_of(next)].registers;
            Source { registers, node, next: Some(next) }
        });
        let better = |best: Source, other: Source| if other.registers > best.registers { other } else { best };
        own.chain(called).reduce(better).unwrap_or(Source { registers: 0, node: 0, next: None })
    }

    fn depth(&self, members: &[u32]) -> Depth {
        let first = members.first().copied().unwrap_or(0);
        let is_cyclic = members.len() > 1 || self.graph.calls[first as usize].contains(&first);
        if is_cyclic {
            return Depth::Unknown { from: first, next: None };
        }
        let mut deepest = (0, None);
        for (node, next) in self.calls_out(members) {
            match self.depths[self.component_of(next)] {
                Depth::Unknown { .. } => return Depth::Unknown { from: node, next: Some(next) },
                Depth::Known { bytes, .. } if bytes > deepest.0 => deepest = (bytes, Some(next)),
                Depth::Known { .. } => {}
            }
        }
        Depth::Known { bytes: deepest.0 + self.graph.own[first as usize].frame, next: deepest.1 }
    }

    /// Registers that a function needs with everything it calls, and the path to the one that needs them by itself.
    #[must_use]
    pub fn registers(&self, function: u32) -> (u32, Vec<u32>) {
        let needed = self.sources[self.component_of(function)].registers;
        let mut path = vec![function];
        let mut at = function;
        loop {
            // The function itself counts before others of its recursion.
            if self.graph.own[at as usize].registers == needed {
                return (needed, path);
            }
            let source = self.sources[self.component_of(at)];
            path.extend(self.way_inside(at, source.node).into_iter().skip(1));
            match source.next {
                Some(next) => path.push(next),
                None => return (needed, path),
            }
            at = path.last().copied().unwrap_or(function);
        }
    }

    /// The stack that a function needs with everything it calls.
    #[must_use]
    pub fn stack(&self, function: u32) -> Stack {
        let mut path = vec![function];
        let mut at = function;
        loop {
            match self.depths[self.component_of(at)] {
                Depth::Known { next: Some(next), .. } => path.push(next),
                Depth::Known { next: None, .. } => break,
                Depth::Unknown { next: Some(next), .. } => path.push(next),
                Depth::Unknown { from, next: None } => {
                    path.extend(self.way_inside(at, from).into_iter().skip(1));
                    path.extend(self.cycle_through(from));
                    return Stack::Unknown { path };
                }
            }
            at = path.last().copied().unwrap_or(function);
        }
        match self.depths[self.component_of(function)] {
            Depth::Known { bytes, .. } => Stack::Known { bytes, path },
            Depth::Unknown { .. } => Stack::Unknown { path },
        }
    }

    /// A shortest way between two nodes of one component, both ends included.
    fn way_inside(&self, from: u32, to: u32) -> Vec<u32> {
        if from == to { vec![from] } else { self.search(from, to) }
    }

    /// The rest of a shortest way from a node back to itself, without the node at either end.
    fn cycle_through(&self, node: u32) -> Vec<u32> {
        let way = self.search(node, node);
        way.get(1..way.len().saturating_sub(1)).unwrap_or_default().to_vec()
    }

    /// A shortest way with at least one call, inside of a component.
    fn search(&self, from: u32, to: u32) -> Vec<u32> {
        let inside = self.component_of(from);
        let mut reached_from = hashbrown::HashMap::<u32, u32, foldhash::fast::FixedState>::default();
        let mut open = std::collections::VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for &next in self.graph.calls[node as usize].iter().filter(|&&next| self.component_of(next) == inside) {
                if reached_from.contains_key(&next) {
                    continue;
                }
                reached_from.insert(next, node);
                if next == to {
                    let mut way = vec![to];
                    let mut at = node;
                    while at != from {
                        way.push(at);
                        at = reached_from.get(&at).copied().unwrap_or(from);
                    }
                    way.push(from);
                    way.reverse();
                    return way;
                }
                open.push_back(next);
            }
        }
        vec![from]
    }
}

/// The strongly connected components of a graph, callees first (Tarjan's algorithm, with a stack of its own).
fn components(calls: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; calls.len()];
    let mut low = vec![0; calls.len()];
    let mut is_open = vec![false; calls.len()];
    let (mut open, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    let mut walk: Vec<(u32, usize)> = Vec::new();
    for start in 0..calls.len() as u32 {
        if index[start as usize] != UNSEEN {
            continue;
        }
        walk.push((start, 0));
        while let Some((node, position)) = walk.last_mut() {
            let at = *node as usize;
            if *position == 0 {
                (index[at], low[at], is_open[at]) = (count, count, true);
                count += 1;
                open.push(*node);
            }
            match calls[at].get(*position) {
                Some(&next) => {
                    *position += 1;
                    match index[next as usize] {
                        UNSEEN => walk.push((next, 0)),
                        seen if is_open[next as usize] => low[at] = low[at].min(seen),
                        _ => {}
                    }
                }
                None => {
                    walk.pop();
                    if let Some(&(caller, _)) = walk.last() {
                        low[caller as usize] = low[caller as usize].min(low[at]);
                    }
                    if low[at] == index[at] {
                        let first = open.iter().rposition(|&member| member as usize == at).unwrap_or(0);
                        let mut members = open.split_off(first);
                        members.iter().for_each(|&member| is_open[member as usize] = false);
                        members.sort_unstable();
                        found.push(members);
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
