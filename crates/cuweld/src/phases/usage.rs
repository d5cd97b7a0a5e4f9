//! Usage: which entry functions reach what.
//!
//! Most attributes are propagated as a maximum or a sum and need no sets (see [`propagate`](super::propagate)). Layout mostly needs the same:
//! a maximum over what a component of the call graph reaches, or the number of kernels that reach it ([`PerComponent`]). Few queries need the
//! sets themselves, such as the variables that a kernel uses together. Those are kept as small as possible (`reach.rs`).
//!
//! A program's only kernel stands for everything: it is taken to reach all live code, whether or not it calls it.

mod reach;

use super::callgraph::CallGraph;
use super::components::Components;
use super::live::LiveSet;
use super::references::References;
use super::resolve::{Resolution, Symbol};
use crate::id::{FunctionId, Id, IdMap};
pub use reach::{Callers, Reach, WaysUp};

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
    // One that is live for its address alone stands for itself.
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

    /// The functions of interest that each of some entry functions reaches.
    pub fn of(&self, kernels: &[FunctionId], is_of_interest: impl Fn(FunctionId) -> bool) -> Reach {
        let size = |function: FunctionId| is_of_interest(function).then_some(0);
        reach::find(self.graph, self.components, kernels, size, u64::MAX).0
    }

    /// For each function that has a size: the entry functions that reach it, the last one first; and the sum of the sizes, each as
    /// often as it is reached. Above the limit, it ends with what it has.
    pub fn entries_that_reach(
        &self,
        size: impl Fn(FunctionId) -> Option<u64>,
        limit: u64,
    ) -> (IdMap<FunctionId, Vec<FunctionId>>, u64) {
        let (reach, sum) = reach::find(self.graph, self.components, self.live.entries(), size, limit);
        let mut entries: IdMap<FunctionId, Vec<FunctionId>> = IdMap::default();
        if sum <= limit {
            for &entry in self.live.entries().iter().rev() {
                reach.of(entry).for_each(|function| entries.entry(function).or_default().push(entry));
            }
        }
        (entries, sum)
    }

    /// Looks for the entry functions that reach functions.
    pub fn ways_up(&self) -> WaysUp {
        WaysUp::new(self.graph, self.components, self.live.entries())
    }

    /// The entry functions that reach a function and were not found on these ways before, the last one first.
    pub fn newly_reaching(&self, ways: &mut WaysUp, function: FunctionId) -> Vec<FunctionId> {
        ways.next(self.components.of(self.graph, function))
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
        let reaches = self.largest(|function| Some(wanted[function.index()]));
        self.live.kernels().iter().copied().filter(|&kernel| self.at(&reaches, kernel) == Some(true)).collect()
    }

    /// How many entry functions reach each component. Every one reaches itself.
    pub fn callers(&self) -> PerComponent<Callers> {
        PerComponent(reach::callers(self.graph, self.components, self.live.entries()))
    }

    /// The largest of the values of all functions that each component reaches, its own included.
    pub fn largest<T: Ord + Copy>(&self, value: impl Fn(FunctionId) -> Option<T>) -> PerComponent<Option<T>> {
        PerComponent(reach::largest(self.graph, self.components, value))
    }

    /// The sets of functions of interest that some entry function reaches, itself included, without those that are a part of another.
    pub fn largest_sets(
        &self,
        callers: &PerComponent<Callers>,
        is_of_interest: impl Fn(FunctionId) -> bool,
    ) -> Vec<Vec<FunctionId>> {
        reach::largest_sets(self.graph, self.components, &callers.0, self.live.entries(), is_of_interest)
    }

    /// Which components are connected, by calls or by `pairs` of functions, among those that entry functions reach and that lead somewhere:
    /// the same number for all of a connected set.
    pub fn connected(
        &self,
        callers: &PerComponent<Callers>,
        leads: &PerComponent<Option<bool>>,
        pairs: &[(FunctionId, FunctionId)],
    ) -> PerComponent<Option<u32>> {
        let is_reached = |component: usize| callers.0.get(component).is_some_and(|callers| *callers != Callers::None);
        let is_concerned = |component: usize| leads.0.get(component) == Some(&Some(true)) && is_reached(component);
        let component = |function| self.components.of(self.graph, function);
        let pairs = pairs.iter().map(|&(one, other)| (component(one), component(other)));
        PerComponent(reach::connected(self.graph, self.components, is_concerned, pairs))
    }

    /// The value of the component that a function is in.
    pub fn at<T: Copy + Default>(&self, values: &PerComponent<T>, function: FunctionId) -> T {
        values.0.get(self.components.of(self.graph, function)).copied().unwrap_or_default()
    }
}

/// A value for each component of the call graph. Where nothing was looked for, there are none.
#[derive(Debug, Default)]
pub struct PerComponent<T>(Vec<T>);
