//! Paths through the call graph.

use crate::demangle::demangle;
use crate::id::{FunctionId, Id};
use crate::phases::callgraph::CallGraph;
use crate::phases::resolve::Resolution;
use std::collections::VecDeque;

/// The shortest way from some functions to one that is wanted, as nodes of the graph, both ends included. The way has at least
/// one call, unless `at_once` allows that a start is wanted itself.
pub fn shortest(
    graph: &CallGraph<'_>,
    starts: impl Iterator<Item = u32>,
    is_wanted: impl Fn(u32) -> bool,
    may_visit: impl Fn(u32) -> bool,
    at_once: bool,
) -> Option<Vec<u32>> {
    const NOBODY: u32 = u32::MAX;
    let mut reached_from = vec![None; graph.nodes()];
    let mut open = VecDeque::new();
    let way = |reached_from: &[Option<u32>], last: u32| {
        let mut way: Vec<u32> = std::iter::successors(Some(last), |&node| {
            reached_from.get(node as usize).copied().flatten().filter(|&before| before != NOBODY)
        })
        .collect();
        way.reverse();
        way
    };
    for start in starts {
        if at_once && is_wanted(start) {
            return Some(vec![start]);
        }
        reached_from[start as usize] = Some(NOBODY);
        open.push_back(start);
    }
    while let Some(node) = open.pop_front() {
        for next in graph.successors(node).filter(|&next| may_visit(next)) {
            if is_wanted(next) {
                let mut way = way(&reached_from, node);
                way.push(next);
                return Some(way);
            }
            if reached_from[next as usize].is_none() {
                reached_from[next as usize] = Some(node);
                open.push_back(next);
            }
        }
    }
    None
}

/// Shortest ways from some functions to all that they reach, found at once.
pub struct Ways {
    /// The node before each that is reached: itself where a way begins.
    before: Vec<Option<u32>>,
    /// How many calls lead there.
    calls: Vec<u32>,
    /// The last node of the way that is shown of its beginning.
    shown: Vec<u32>,
}

impl Ways {
    /// Looks for all ways.
    pub fn new(graph: &CallGraph<'_>, starts: impl Iterator<Item = u32>) -> Self {
        let nobody = vec![0; graph.nodes()];
        let mut ways = Ways { before: vec![None; graph.nodes()], calls: nobody.clone(), shown: nobody };
        let mut open = VecDeque::new();
        for start in starts {
            (ways.before[start as usize], ways.shown[start as usize]) = (Some(start), start);
            open.push_back(start);
        }
        while let Some(node) = open.pop_front() {
            let (calls, shown) = (ways.calls[node as usize] + 1, ways.shown[node as usize]);
            for next in graph.successors(node) {
                let index = next as usize;
                if ways.before[index].is_none() {
                    ways.before[index] = Some(node);
                    ways.calls[index] = calls;
                    ways.shown[index] = if (calls as usize) < SHOWN { next } else { shown };
                    open.push_back(next);
                }
            }
        }
        ways
    }

    /// Whether ways begin there.
    pub fn begin_at(&self, node: u32) -> bool {
        self.before[node as usize] == Some(node)
    }

    /// The node before one, on the way there.
    pub fn before(&self, node: u32) -> Option<u32> {
        self.before[node as usize].filter(|&before| before != node)
    }

    /// The way to a node in words, if there is one with a call. How long that takes does not depend on the way's length.
    pub fn text(&self, last: u32, graph: &CallGraph<'_>, resolution: &Resolution<'_>) -> Option<String> {
        self.before(last)?;
        let backwards = |node: u32| std::iter::successors(Some(node), |&node| self.before(node));
        let length = self.calls[last as usize] as usize + 1;
        let is_short = length <= MOST_SHOWN;
        let mut first: Vec<u32> = backwards(if is_short { last } else { self.shown[last as usize] }).collect();
        let mut end: Vec<u32> = if is_short { Vec::new() } else { backwards(last).take(SHOWN).collect() };
        first.reverse();
        end.reverse();
        Some(text_of_ends(&first, length - first.len() - end.len(), &end, graph, resolution))
    }
}

/// How many calls of a path are shown at either end.
const SHOWN: usize = 12;

/// A way that is longer is not shown as a whole.
const MOST_SHOWN: usize = 2 * SHOWN + 1;

/// A way in words. Prototypes stand for calls through pointers.
pub fn text(way: &[u32], graph: &CallGraph<'_>, resolution: &Resolution<'_>) -> String {
    match way.len() {
        0..=MOST_SHOWN => text_of_ends(way, 0, &[], graph, resolution),
        length => text_of_ends(&way[..SHOWN], length - 2 * SHOWN, &way[length - SHOWN..], graph, resolution),
    }
}

fn text_of_ends(first: &[u32], left_out: usize, last: &[u32], graph: &CallGraph<'_>, resolution: &Resolution<'_>) -> String {
    let mut text = String::new();
    let mut through_pointer = false;
    for (position, &node) in first.iter().chain(last).enumerate() {
        if position == first.len() {
            text.push_str(&format!(" -> ... ({left_out} more)"));
        }
        if node as usize >= graph.len() {
            through_pointer = true;
            continue;
        }
        text.push_str(match (position, through_pointer) {
            (0, _) => "",
            (_, false) => " -> ",
            (_, true) => " -> (through a pointer) ",
        });
        text.push_str(&demangle(resolution.name(FunctionId::from_index(node as usize))));
        through_pointer = false;
    }
    text
}
