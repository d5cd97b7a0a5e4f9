//! Blame: which call path forces the registers and the stack of a function.
//!
//! A kernel gets the largest register count of all functions that it reaches, and the stack of its deepest call path. One sweep over the
//! strongly connected components of the call graph, callees first, records for each component where its maximum comes from; following
//! these records gives the path. So the cost is that of the graph, however many paths lead through it.
//!
//! Paths that are longer than [`LONGEST`] are given without what lies before their ends: as many kernels can enter a chain of calls as the
//! chain has functions.
//!
//! Calls through pointers go through the prototype: it is a node without resources of its own.

/// How many functions a path has at most. Of a longer one the first of them are given, and its last function.
pub const LONGEST: usize = 64;

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

/// The path that begins at a node.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The node after it.
    next: Option<u32>,
    /// The last node.
    last: u32,
    /// How many nodes it has.
    length: usize,
}

/// The call paths that force registers and stack, for every function of a call graph.
#[derive(Debug)]
pub struct Blame<'graph> {
    graph: &'graph CallGraph,
    component: Vec<u32>,
    sources: Vec<Source>,
    depths: Vec<Depth>,
    /// From each node to one that has the most registers.
    to_registers: Vec<Way>,
    /// From each node to the last one that adds to its stack, or to one that a recursion is shown at.
    to_stack: Vec<Way>,
    /// The rest of the recursion that is shown at a node.
    cycles: Map<Vec<u32>>,
}

/// A table by nodes.
type Map<T> = hashbrown::HashMap<u32, T, foldhash::fast::FixedState>;

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
            to_registers: (0..graph.calls.len() as u32).map(Way::alone).collect(),
            to_stack: (0..graph.calls.len() as u32).map(Way::alone).collect(),
            cycles: Map::default(),
        };
        for members in &components {
            let (source, depth) = (blame.source(members), blame.depth(members));
            blame.sources.push(source);
            blame.depths.push(depth);
            blame.find_ways(members, source, depth);
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

    /// Finds the paths from all members of a component, behind which all are known.
    fn find_ways(&mut self, members: &[u32], source: Source, depth: Depth) {
        for (node, towards) in self.ways_inside(members, source.node) {
            // The function itself counts before others of its recursion.
            let is_source = self.graph.own[node as usize].registers == source.registers;
            let next = if is_source { None } else { towards.or(source.next) };
            self.to_registers[node as usize] = Way::through(node, next, &self.to_registers);
        }
        let (from, next) = match depth {
            Depth::Known { next, .. } => (members.first().copied().unwrap_or(0), next),
            Depth::Unknown { from, next } => (from, next),
        };
        for (node, towards) in self.ways_inside(members, from) {
            self.to_stack[node as usize] = Way::through(node, towards.or(next), &self.to_stack);
        }
        if let Depth::Unknown { from, next: None } = depth {
            self.cycles.insert(from, self.cycle_through(from));
        }
    }

    /// Registers that a function needs with everything it calls, and the path to the one that needs them by itself.
    #[must_use]
    pub fn registers(&self, function: u32) -> (u32, Vec<u32>) {
        (self.sources[self.component_of(function)].registers, path(function, &self.to_registers, &[]))
    }

    /// The stack that a function needs with everything it calls.
    #[must_use]
    pub fn stack(&self, function: u32) -> Stack {
        let cycle = self.cycles.get(&self.to_stack[function as usize].last);
        let path = path(function, &self.to_stack, cycle.map_or(&[], Vec::as_slice));
        match self.depths[self.component_of(function)] {
            Depth::Known { bytes, .. } => Stack::Known { bytes, path },
            Depth::Unknown { .. } => Stack::Unknown { path },
        }
    }

    /// The members of a component with the next node of a shortest way to one of them, nearest first.
    fn ways_inside(&self, members: &[u32], to: u32) -> Vec<(u32, Option<u32>)> {
        let mut found = vec![(to, None)];
        if members.len() == 1 {
            return found;
        }
        let inside = self.component_of(to);
        let mut callers = Map::<Vec<u32>>::default();
        for &node in members {
            for &next in self.graph.calls[node as usize].iter().filter(|&&next| self.component_of(next) == inside) {
                callers.entry(next).or_default().push(node);
            }
        }
        let mut position = 0;
        // Whoever is reached is not reached once more: its callers are taken out, and it is none of others' any more.
        let mut is_open: Map<()> = members.iter().filter(|&&node| node != to).map(|&node| (node, ())).collect();
        while let Some(&(node, _)) = found.get(position) {
            let new = callers.remove(&node).unwrap_or_default().into_iter().filter(|caller| is_open.remove(caller).is_some());
            found.extend(new.map(|caller| (caller, Some(node))));
            position += 1;
        }
        found
    }

    /// The rest of a shortest way from a node back to itself, without the node at either end.
    fn cycle_through(&self, node: u32) -> Vec<u32> {
        let inside = self.component_of(node);
        let mut reached_from = Map::<u32>::default();
        let mut open = std::collections::VecDeque::from([node]);
        while let Some(at) = open.pop_front() {
            for &next in self.graph.calls[at as usize].iter().filter(|&&next| self.component_of(next) == inside) {
                if next == node {
                    let before = |at: &u32| reached_from.get(at).copied();
                    let mut way: Vec<u32> = std::iter::successors(Some(at), before).filter(|&at| at != node).collect();
                    way.reverse();
                    return way;
                }
                if let hashbrown::hash_map::Entry::Vacant(place) = reached_from.entry(next) {
                    place.insert(at);
                    open.push_back(next);
                }
            }
        }
        Vec::new()
    }
}

impl Way {
    /// That of a node which calls nobody on it.
    fn alone(node: u32) -> Self {
        Way { next: None, last: node, length: 1 }
    }

    /// That of a node which calls the first one of a way.
    fn through(node: u32, next: Option<u32>, ways: &[Way]) -> Self {
        match next.map(|next| (next, ways[next as usize])) {
            Some((first, Way { last, length, .. })) => Way { next: Some(first), last, length: length + 1 },
            None => Way::alone(node),
        }
    }
}

/// The nodes of a way and of what comes behind it, as many as are given.
fn path(from: u32, ways: &[Way], behind: &[u32]) -> Vec<u32> {
    let way = ways[from as usize];
    let nodes = std::iter::successors(Some(from), |&node| ways[node as usize].next).chain(behind.iter().copied());
    if way.length + behind.len() <= LONGEST {
        return nodes.collect();
    }
    nodes.take(LONGEST - 1).chain([behind.last().copied().unwrap_or(way.last)]).collect()
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
