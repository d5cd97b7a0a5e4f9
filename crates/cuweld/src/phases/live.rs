//! Live: which functions stay.
//!
//! The search starts at the kernels, at the stubs of unified functions, which other programs call, and at functions that were
//! asked for by name, and follows calls, direct and through pointers. A function whose address is taken is kept even if the search
//! does not reach it, because data may hold its address; but what only such functions call is not kept, except undefined names,
//! which the driver defines. Variables are never removed.

use super::callgraph::CallGraph;
use super::load::Inputs;
use super::resolve::Resolution;
use crate::id::{FunctionId, Id, IdVec};
use crate::options::{KernelRoots, Options};

/// Which functions stay, and which of them are kernels.
#[derive(Debug)]
pub struct LiveSet {
    live: IdVec<FunctionId, bool>,
    kernels: Vec<FunctionId>,
    stubs: Vec<FunctionId>,
    entries: Vec<FunctionId>,
    never_called: Vec<FunctionId>,
}

impl LiveSet {
    /// Whether a function stays.
    pub fn contains(&self, function: FunctionId) -> bool {
        self.live[function]
    }

    /// Whether a function that stays is provided by something outside of the link, or launched through it.
    pub fn is_extern(&self, inputs: &Inputs<'_>, resolution: &Resolution<'_>, function: FunctionId) -> bool {
        self.live[function] && (resolution.functions()[function].kernel || resolution.code(inputs, function).is_none())
    }

    /// The kernels that stay, in order of first mention.
    pub fn kernels(&self) -> &[FunctionId] {
        &self.kernels
    }

    /// The stubs of unified functions, in order of first mention. They always stay.
    pub fn stubs(&self) -> &[FunctionId] {
        &self.stubs
    }

    /// Where the program is entered from outside, in order of first mention: kernels, and stubs, unless there is but one kernel, which
    /// stands for the whole program. What is laid out per kernel is laid out for all of them.
    pub fn entries(&self) -> &[FunctionId] {
        &self.entries
    }

    /// Whether a function is the stub of a unified function.
    pub fn is_stub(&self, function: FunctionId) -> bool {
        self.stubs.binary_search(&function).is_ok()
    }

    /// The functions that stay only because their address is taken, in order of first mention.
    pub fn never_called(&self) -> &[FunctionId] {
        &self.never_called
    }

    /// The functions that stay, in order of first mention.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.live.enumerate().filter(|(_, live)| **live).map(|(function, _)| function)
    }
}

/// Finds what stays.
pub fn find(inputs: &Inputs<'_>, resolution: &Resolution<'_>, graph: &CallGraph<'_>, options: &Options) -> LiveSet {
    let functions = resolution.functions();
    let is_defined = |function: FunctionId| resolution.code(inputs, function).is_some();
    let is_kernel = |function: FunctionId| functions[function].kernel && is_defined(function);
    let is_stub = |function: FunctionId| resolution.code(inputs, function).is_some_and(|code| inputs.sections()[code].is_stub());
    let stubs: Vec<FunctionId> = functions.ids().filter(|&id| is_stub(id)).collect();
    let mut live = IdVec::filled(!options.removes_dead_code(), functions.len());
    let mut never_called = Vec::new();
    if options.removes_dead_code() {
        // What is launched from the device is in a record of addresses that are taken, and host code does not tell of it.
        let by_device = |id: FunctionId| matches!(options.kernels, KernelRoots::LaunchedByHost(_)) && graph.taken(id).is_some();
        let is_root = |id: FunctionId| is_kernel(id) && (may_be_launched(resolution.name(id), &options.kernels) || by_device(id));
        let is_kept = |id: FunctionId| options.keep.iter().any(|name| name == resolution.name(id));
        let roots: Vec<FunctionId> = functions.ids().filter(|&id| is_root(id) || is_kept(id)).collect();
        // The reference linker takes a program's only kernel for all of it, and removes what only unified functions call.
        let follows_stubs = !(options.imitate_defects && functions.ids().filter(|&id| is_root(id)).count() == 1);
        let entered = stubs.iter().copied().filter(|_| follows_stubs);
        for function in reachable(graph, roots.into_iter().chain(entered)) {
            live[function] = true;
        }
        never_called = functions.ids().filter(|&id| graph.taken(id).is_some() && !live[id]).collect();
        for &function in never_called.iter().chain(&stubs) {
            live[function] = true;
        }
        let undefined: Vec<FunctionId> = functions
            .ids()
            .filter(|&id| live[id])
            .flat_map(|id| graph.calls(id))
            .copied()
            .filter(|&callee| !is_defined(callee))
            .collect();
        for function in undefined {
            live[function] = true;
        }
    }
    let kernels: Vec<FunctionId> = functions.ids().filter(|&id| live[id] && is_kernel(id)).collect();
    let mut entries = kernels.clone();
    if kernels.len() != 1 {
        entries.extend(&stubs);
        entries.sort_unstable();
    }
    LiveSet { live, kernels, stubs, entries, never_called }
}

/// Every function that calls from `roots` may reach, roots included.
fn reachable(graph: &CallGraph<'_>, roots: impl Iterator<Item = FunctionId>) -> impl Iterator<Item = FunctionId> {
    let mut seen = vec![false; graph.nodes()];
    let mut open: Vec<u32> = roots.map(|function| graph.node(function)).collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            open.extend(graph.successors(node).filter(|&next| !seen[next as usize]));
        }
    }
    seen.truncate(graph.len());
    seen.into_iter().enumerate().filter(|(_, seen)| *seen).map(|(index, _)| FunctionId::from_index(index))
}

fn may_be_launched(name: &str, roots: &KernelRoots) -> bool {
    match roots {
        KernelRoots::All => true,
        KernelRoots::Matching(patterns) | KernelRoots::LaunchedByHost(patterns) => {
            patterns.iter().any(|pattern| matches_pattern(name, pattern))
        }
    }
}

/// Whether a name matches a pattern in which `*` stands for any run of characters.
fn matches_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // Taking the earliest place for every middle part leaves the most room for the ones behind it.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn patterns() {
        for (name, pattern, expected) in [
            ("kernel", "kernel", true),
            ("kernel", "kern", false),
            ("kernel", "*ern*", true),
            ("kernel", "k*l", true),
            ("kernel", "k*e*e*l", true),
            ("kernel", "*", true),
            ("aba", "ab*ba", false),
            ("_Z5kmainPi", "_Z5kmain*", true),
        ] {
            assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
        }
    }
}
