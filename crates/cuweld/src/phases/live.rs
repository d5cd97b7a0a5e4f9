//! Live: garbage collection of functions.
//!
//! The roots are the entry functions that may be launched, those whose address is taken (device code may launch them), the stubs of
//! unified functions, which other programs call, and functions that were asked for by name. The search follows calls, direct and
//! through pointers. A function whose address is taken is live even if the search does not reach it, because data may hold its
//! address, and so is everything that it calls. Variables are never removed.
//!
//! The reference linker removes what only such functions call, so that their calls lead nowhere. In a program with one entry function
//! that may be launched, it does the same to entry functions that are live because their address is taken. Both are imitated only with
//! `--compat`, and only where they break nothing: see [`relocate`](super::relocate).

mod launched;

use super::callgraph::CallGraph;
use super::load::Inputs;
use super::resolve::Resolution;
use crate::id::{FunctionId, Id, IdMap, IdVec, PrototypeId};
use crate::imitations::Imitation;
use crate::options::Options;
use launched::Launched;
use std::collections::HashSet;

/// The live functions, and which of them are kernels.
#[derive(Debug)]
pub struct LiveSet {
    live: IdVec<FunctionId, bool>,
    kernels: Vec<FunctionId>,
    stubs: Vec<FunctionId>,
    entries: Vec<FunctionId>,
    kept_kernels: Vec<FunctionId>,
    never_called: Vec<FunctionId>,
    /// How many live aliases a function has, if any.
    aliases: IdMap<FunctionId, usize>,
}

impl LiveSet {
    /// Whether a function is live.
    pub fn contains(&self, function: FunctionId) -> bool {
        self.live[function]
    }

    /// Whether a live function is provided by something outside of the link, or launched through it.
    pub fn is_extern(&self, inputs: &Inputs<'_>, resolution: &Resolution<'_>, function: FunctionId) -> bool {
        self.live[function] && (resolution.functions()[function].kernel || resolution.code(inputs, function).is_none())
    }

    /// The kernels that the program is entered at, in order of first mention: all live ones, except where the reference linker takes the
    /// only one that may be launched for the whole program, and is imitated.
    pub fn kernels(&self) -> &[FunctionId] {
        &self.kernels
    }

    /// The stubs of unified functions, in order of first mention. They are always live.
    pub fn stubs(&self) -> &[FunctionId] {
        &self.stubs
    }

    /// Where the program is entered from outside, in order of first mention: kernels, and stubs, unless there is but one kernel, which
    /// stands for the whole program. What is laid out per kernel is laid out for all of them.
    pub fn entries(&self) -> &[FunctionId] {
        &self.entries
    }

    /// The kernels that are live because their address is taken, and not because they may be launched, in order of first mention.
    pub fn kept_kernels(&self) -> &[FunctionId] {
        &self.kept_kernels
    }

    /// Whether a kernel is live only because its address is taken.
    pub fn is_kept_kernel(&self, function: FunctionId) -> bool {
        self.kept_kernels.binary_search(&function).is_ok()
    }

    /// Whether a function is the stub of a unified function.
    pub fn is_stub(&self, function: FunctionId) -> bool {
        self.stubs.binary_search(&function).is_ok()
    }

    /// The functions that are live only because their address is taken, in order of first mention.
    pub fn never_called(&self) -> &[FunctionId] {
        &self.never_called
    }

    /// How many aliases of a function are live.
    pub fn aliases_of(&self, function: FunctionId) -> usize {
        self.aliases.get(&function).copied().unwrap_or(0)
    }

    /// The live functions, in order of first mention.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.live.enumerate().filter(|(_, live)| **live).map(|(function, _)| function)
    }

    /// The functions that the file gives a prototype for, in order: those whose address is taken have theirs in the call graph.
    pub fn prototyped<'facts>(&'facts self, graph: &'facts CallGraph<'_>) -> impl Iterator<Item = FunctionId> + 'facts {
        self.functions().filter(|&function| graph.prototype(function).is_some() && graph.taken(function).is_none())
    }

    /// The prototypes that records name, in the order of these: of functions whose address is taken, of indirect calls, of other functions.
    /// Each may come several times.
    pub fn named_prototypes<'facts>(&'facts self, graph: &'facts CallGraph<'_>) -> impl Iterator<Item = PrototypeId> + 'facts {
        let taken = self.functions().filter_map(|function| graph.taken(function));
        let called = self.functions().flat_map(|caller| graph.indirect(caller).iter().copied());
        taken.chain(called).chain(self.prototyped(graph).filter_map(|function| graph.prototype(function)))
    }
}

/// Finds the live set: functions reachable from the GC roots.
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
pub(super) fn reachable(graph: &CallGraph<'_>, roots: impl Iterator<Item = FunctionId>) -> impl Iterator<Item = FunctionId> {
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
