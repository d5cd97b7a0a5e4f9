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

/// How much of a way is shown at either end: nobody reads a thousand calls.
const SHOWN: usize = 12;

/// A way in words. Prototypes stand for calls through pointers.
pub fn text(way: &[u32], graph: &CallGraph<'_>, resolution: &Resolution<'_>) -> String {
    let mut text = String::new();
    let mut through_pointer = false;
    let left_out = if way.len() > 2 * SHOWN + 1 { SHOWN..way.len() - SHOWN } else { 0..0 };
    for (position, &node) in way.iter().enumerate() {
        if left_out.contains(&position) {
            if position == left_out.start {
                text.push_str(&format!(" -> ... ({} more)", left_out.len()));
            }
            continue;
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
