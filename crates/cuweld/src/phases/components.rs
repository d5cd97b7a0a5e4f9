//! Components: the strongly connected components of the call graph, callees before callers.
//!
//! Tarjan's algorithm, with an explicit stack. It finishes a component only after everything the component can reach, so the
//! order in which components are numbered is the order in which properties flow: from callees to callers.

use super::callgraph::CallGraph;
use crate::id::FunctionId;

/// The strongly connected components of the call graph, callees first.
#[derive(Debug)]
pub struct Components {
    of: Vec<u32>,
    members: Vec<u32>,
    starts: Vec<u32>,
    cyclic: Vec<bool>,
}

impl Components {
    /// How many components there are.
    pub fn len(&self) -> usize {
        self.cyclic.len()
    }

    /// The component of a node.
    pub fn of_node(&self, node: u32) -> usize {
        self.of[node as usize] as usize
    }

    /// The component of a function.
    pub fn of(&self, graph: &CallGraph<'_>, function: FunctionId) -> usize {
        self.of_node(graph.node(function))
    }

    /// The nodes of a component.
    pub fn members(&self, component: usize) -> &[u32] {
        &self.members[self.starts[component] as usize..self.starts[component + 1] as usize]
    }

    /// Whether a call in this component can come back to its caller.
    pub fn is_cyclic(&self, component: usize) -> bool {
        self.cyclic[component]
    }
}

const UNSEEN: u32 = u32::MAX;

/// A node whose successors are being visited.
struct Visit {
    node: u32,
    /// Where its successors start in the shared list of pending ones, and how far it got.
    next: u32,
    end: u32,
}

/// Finds the components.
pub fn find(graph: &CallGraph<'_>) -> Components {
    let nodes = graph.nodes();
    let mut result =
        Components { of: vec![UNSEEN; nodes], members: Vec::with_capacity(nodes), starts: vec![0], cyclic: Vec::new() };
    let mut order = vec![UNSEEN; nodes];
    let mut lowest = vec![0u32; nodes];
    let mut clock = 0u32;
    let mut path: Vec<u32> = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    let mut pending: Vec<u32> = Vec::new();
    for root in 0..nodes as u32 {
        if order[root as usize] != UNSEEN {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                order[node as usize] = clock;
                lowest[node as usize] = clock;
                clock += 1;
                path.push(node);
                let next = pending.len() as u32;
                pending.extend(graph.successors(node));
                visits.push(Visit { node, next, end: pending.len() as u32 });
            }
            let Some(visit) = visits.last_mut() else { break };
            let node = visit.node as usize;
            if visit.next < visit.end {
                let successor = pending[visit.next as usize];
                visit.next += 1;
                if order[successor as usize] == UNSEEN {
                    enter = Some(successor);
                } else if result.of[successor as usize] == UNSEEN {
                    lowest[node] = lowest[node].min(order[successor as usize]);
                }
                continue;
            }
            let Some(done) = visits.pop() else { break };
            // The successors of `done` are the last in the list, because those of deeper visits are gone.
            let own_calls = graph.successors(done.node).count();
            pending.truncate(done.end as usize - own_calls);
            if let Some(caller) = visits.last() {
                lowest[caller.node as usize] = lowest[caller.node as usize].min(lowest[node]);
            }
            if lowest[node] == order[node] {
                result.close(graph, &mut path, done.node);
            }
        }
    }
    result
}

impl Components {
    /// The nodes on the path from `first` on form a component.
    fn close(&mut self, graph: &CallGraph<'_>, path: &mut Vec<u32>, first: u32) {
        let component = self.cyclic.len() as u32;
        let start = self.members.len();
        while let Some(node) = path.pop() {
            self.of[node as usize] = component;
            self.members.push(node);
            if node == first {
                break;
            }
        }
        let members = self.members.len() - start;
        self.cyclic.push(members > 1 || graph.successors(first).any(|next| next == first));
        self.starts.push(self.members.len() as u32);
    }
}
