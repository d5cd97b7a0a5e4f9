//! Live: garbage collection of functions.
//!
//! The roots are the entry functions that may be launched, those whose address is taken (device code may launch them), the stubs of
//! unified functions, which other programs call, and functions that were asked for by name. The search follows calls, direct and
//! through pointers. A function whose address is taken is kept even if the search does not reach it, because data may hold its
//! address, and so is all that it calls. Variables are never removed.
//!
//! The reference linker removes what only such functions call, so that their calls go nowhere. If a program has one entry function
//! that may be launched, it does the same to entry functions that stay for their address. Both are imitated only where files are
//! compared, and the second only where it breaks nothing: see [`relocate`](super::relocate).

use super::callgraph::CallGraph;
use super::load::Inputs;
use super::resolve::Resolution;
use crate::id::{FunctionId, Id, IdMap, IdVec};
use crate::imitations::Imitation;
use crate::options::{KernelRoots, Options};
use std::collections::{BTreeMap, HashSet};

/// Which functions stay, and which of them are kernels.
#[derive(Debug)]
pub struct LiveSet {
    live: IdVec<FunctionId, bool>,
    kernels: Vec<FunctionId>,
    stubs: Vec<FunctionId>,
    entries: Vec<FunctionId>,
    kept_kernels: Vec<FunctionId>,
    never_called: Vec<FunctionId>,
    /// How many aliases that stay a function has, if any.
    aliases: IdMap<FunctionId, usize>,
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

    /// The kernels that the program is entered at, in order of first mention: all that stay, except where the reference linker takes the
    /// only one that may be launched for the whole program, and is imitated.
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

    /// The kernels that stay because their address is taken, and not because they may be launched, in order of first mention.
    pub fn kept_kernels(&self) -> &[FunctionId] {
        &self.kept_kernels
    }

    /// Whether a kernel stays only because its address is taken.
    pub fn is_kept_kernel(&self, function: FunctionId) -> bool {
        self.kept_kernels.binary_search(&function).is_ok()
    }

    /// Whether a function is the stub of a unified function.
    pub fn is_stub(&self, function: FunctionId) -> bool {
        self.stubs.binary_search(&function).is_ok()
    }

    /// The functions that stay only because their address is taken, in order of first mention.
    pub fn never_called(&self) -> &[FunctionId] {
        &self.never_called
    }

    /// How many aliases of a function stay.
    pub fn aliases_of(&self, function: FunctionId) -> usize {
        self.aliases.get(&function).copied().unwrap_or(0)
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
    let mut kernels: Vec<FunctionId> = functions.ids().filter(|&id| is_kernel(id)).collect();
    let (mut kept_kernels, mut never_called) = (Vec::new(), Vec::new());
    if options.removes_dead_code() {
        let launched = Launched::of(&options.kernels);
        let (mut entered, others) = kernels.iter().partition(|&&id| launched.may_be(resolution.name(id)));
        kept_kernels = others;
        kept_kernels.retain(|&id| graph.taken(id).is_some());
        let launched_count = Vec::len(&entered);
        if !(options.imitates(Imitation::LoneKernelIsEverything) && launched_count == 1) {
            entered.extend(&kept_kernels);
            entered.sort_unstable();
        }
        kernels = entered;
        let keep: HashSet<&str> = options.keep.iter().map(String::as_str).collect();
        let is_kept = |id: &FunctionId| keep.contains(resolution.name(*id));
        let asked_for = functions.ids().filter(|id| !keep.is_empty() && is_kept(id));
        // The reference linker takes a program's only kernel for all of it, and removes what only unified functions call.
        let follows_stubs = !(options.imitates(Imitation::LoneKernelIsEverything) && launched_count == 1);
        let stubs_followed = stubs.iter().copied().filter(|_| follows_stubs);
        for function in reachable(graph, kernels.iter().copied().chain(asked_for).chain(stubs_followed)) {
            live[function] = true;
        }
        never_called = functions.ids().filter(|&id| graph.taken(id).is_some() && !live[id]).collect();
        let kept = never_called.iter().chain(&stubs).copied();
        if options.imitates(Imitation::CallsOfAddressTaken) {
            kept.for_each(|function| live[function] = true);
            let live_callers = functions.ids().filter(|&id| live[id]);
            let undefined = live_callers.flat_map(|id| graph.calls(id)).copied().filter(|&callee| !is_defined(callee));
            undefined.collect::<Vec<_>>().into_iter().for_each(|function| live[function] = true);
        } else {
            reachable(graph, kept).for_each(|function| live[function] = true);
        }
    }
    let mut entries = kernels.clone();
    match *kernels {
        // What is laid out per kernel is laid out for these, even if the program is not entered there.
        [kernel] if kept_kernels.binary_search(&kernel).is_err() => entries.extend(&kept_kernels),
        _ => entries.extend(&stubs),
    }
    entries.sort_unstable();
    let mut aliases = IdMap::default();
    for (_, alias) in functions.enumerate().filter(|(id, _)| resolution.has_aliases() && live[*id]) {
        if let Some(function) = alias.alias_of {
            *aliases.entry(function).or_default() += 1;
        }
    }
    LiveSet { live, kernels, stubs, entries, kept_kernels, never_called, aliases }
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

/// Which kernels may be launched.
enum Launched<'options> {
    /// Every one.
    All,
    /// Those that a pattern matches. There may be thousands, so that only those are tried that start as the name does.
    Matching {
        /// Patterns that are names.
        names: HashSet<&'options str>,
        /// The others: what is before their first `*`, in ascending order, and the patterns that start so.
        starts: Vec<Start<'options>>,
    },
}

/// Patterns that start alike.
struct Start<'options> {
    text: &'options str,
    patterns: Vec<&'options str>,
    /// The longest other start that this one begins with.
    shorter: Option<usize>,
}

impl<'options> Launched<'options> {
    fn of(roots: &'options KernelRoots) -> Self {
        let (KernelRoots::Matching(patterns) | KernelRoots::LaunchedByHost(patterns)) = roots else { return Launched::All };
        let mut names = HashSet::new();
        let mut by_start: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for pattern in patterns {
            match pattern.split_once('*') {
                None => _ = names.insert(pattern.as_str()),
                Some((start, _)) => by_start.entry(start).or_default().push(pattern),
            }
        }
        let mut starts: Vec<Start<'_>> = Vec::with_capacity(by_start.len());
        for (text, mut patterns) in by_start {
            patterns.sort_unstable();
            patterns.dedup();
            let shorter = longest_beginning(&starts, starts.len().checked_sub(1), text);
            starts.push(Start { text, patterns, shorter });
        }
        Launched::Matching { names, starts }
    }

    fn may_be(&self, name: &str) -> bool {
        let (names, starts) = match self {
            Launched::All => return true,
            Launched::Matching { names, starts } => (names, starts),
        };
        // What a name begins with comes before it in any order of texts.
        let before = starts.partition_point(|start| start.text <= name).checked_sub(1);
        let fitting = std::iter::successors(longest_beginning(starts, before, name), |&at| starts[at].shorter);
        names.contains(name)
            || fitting.into_iter().any(|at| starts[at].patterns.iter().any(|pattern| matches_pattern(name, pattern)))
    }
}

/// The longest start that a text begins with, among one and those that it begins with itself.
fn longest_beginning(starts: &[Start<'_>], from: Option<usize>, text: &str) -> Option<usize> {
    std::iter::successors(from, |&at| starts[at].shorter).find(|&at| text.starts_with(starts[at].text))
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
    use super::{Launched, matches_pattern};
    use crate::options::KernelRoots;

    #[test]
    fn of_many_patterns_those_that_fit_are_found() {
        let patterns = ["exact", "a*z", "ab*", "abc*f", "abd*", "b*", "*end", "abc*f"];
        let roots = KernelRoots::Matching(patterns.map(str::to_owned).to_vec());
        let launched = Launched::of(&roots);
        for name in ["exact", "exactly", "az", "abz", "abcdf", "abcdg", "acf", "abd", "abe", "b", "c", "the end", "", "abc"] {
            let expected = patterns.iter().any(|pattern| matches_pattern(name, pattern));
            assert_eq!(launched.may_be(name), expected, "{name}");
        }
        assert!(Launched::of(&KernelRoots::All).may_be("anything"));
    }

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
