//! Who uses which shared variables.
//!
//! There may be thousands of kernels, functions and variables, so their product is never computed: a query about a kernel is a maximum over
//! what it reaches, and only variables with several users are sorted into classes.

use super::Facts;
use crate::id::{FunctionId, IdMap, SymbolId};
use crate::phases::resolve::is_shared_variable;
use crate::phases::usage::{Callers, PerComponent};

/// A set of functions that one kernel reaches. Those that are a part of another are no class: whatever meets in them meets there.
pub type UserClass = u32;

/// Who uses what.
#[derive(Default)]
pub struct Users {
    /// Whether any code uses shared memory.
    any: bool,
    callers: PerComponent<Callers>,
    variables: IdMap<SymbolId, Callers>,
    /// Per variable with several users: the classes that it is in.
    classes: IdMap<SymbolId, Vec<UserClass>>,
    /// What leads to dynamic shared memory.
    dynamic: PerComponent<Option<bool>>,
}

/// The shared variables that a function's own code refers to.
fn shared(facts: &Facts<'_, '_>, function: FunctionId) -> impl Iterator<Item = SymbolId> {
    let symbols = facts.resolution.symbols();
    facts.references.of(function).iter().copied().filter(|&symbol| is_shared_variable(&symbols[symbol]))
}

/// The dynamic arrays that a function's own code refers to.
pub fn dynamic(facts: &Facts<'_, '_>, function: FunctionId) -> impl Iterator<Item = SymbolId> {
    shared(facts, function).filter(|&symbol| facts.resolution.symbols()[symbol].definition.is_none())
}

/// Whether a function's own code uses dynamic shared memory.
pub fn uses_dynamic(facts: &Facts<'_, '_>, function: FunctionId) -> bool {
    dynamic(facts, function).next().is_some()
}

impl Users {
    pub fn find(facts: &Facts<'_, '_>) -> Self {
        let functions = facts.resolution.functions().ids().filter(|&id| shared(facts, id).next().is_some());
        let functions: Vec<FunctionId> = functions.collect();
        if functions.is_empty() {
            return Users::default();
        }
        let mut users = Users { any: true, callers: facts.usage.callers(), ..Users::default() };
        for &function in &functions {
            let callers = facts.usage.at(&users.callers, function);
            for symbol in shared(facts, function) {
                let known = users.variables.entry(symbol).or_default();
                *known = known.join(callers);
            }
        }
        users.dynamic = users.largest_of_functions(facts, |function| Some(uses_dynamic(facts, function)));
        let symbols = facts.resolution.symbols();
        let has_several = |symbol: SymbolId| symbols[symbol].definition.is_some() && users.of(symbol) == Callers::Several;
        let uses_several = |function: FunctionId| shared(facts, function).any(has_several);
        let mut classes: IdMap<SymbolId, Vec<UserClass>> = IdMap::default();
        for (class, functions) in (0..).zip(facts.usage.largest_sets(&users.callers, uses_several)) {
            for symbol in functions.into_iter().flat_map(|function| shared(facts, function)) {
                let list = classes.entry(symbol).or_default();
                if list.last() != Some(&class) {
                    list.push(class);
                }
            }
        }
        users.classes = classes;
        users
    }

    /// How many entry functions use a variable.
    pub fn of(&self, symbol: SymbolId) -> Callers {
        self.variables.get(&symbol).copied().unwrap_or_default()
    }

    /// Where a variable meets others.
    pub fn together_with(&self, symbol: SymbolId) -> &[UserClass] {
        self.classes.get(&symbol).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether an entry function uses dynamic shared memory.
    pub fn reaches_dynamic(&self, facts: &Facts<'_, '_>, entry: FunctionId) -> bool {
        facts.usage.at(&self.dynamic, entry) == Some(true)
    }

    /// The connected sets of what leads to dynamic shared memory.
    pub fn connected_by_dynamic(&self, facts: &Facts<'_, '_>, is_debugged: bool) -> PerComponent<Option<u32>> {
        if !self.any {
            return PerComponent::default();
        }
        let pairs = if is_debugged { self.with_one_array(facts) } else { Vec::new() };
        facts.usage.connected(&self.callers, &self.dynamic, &pairs)
    }

    /// Pairs of functions that use the same dynamic array, of which a debugger is given one address. All users of an array are in some pair.
    fn with_one_array(&self, facts: &Facts<'_, '_>) -> Vec<(FunctionId, FunctionId)> {
        let mut first: IdMap<SymbolId, FunctionId> = IdMap::default();
        let is_reached = |&function: &FunctionId| facts.usage.at(&self.callers, function) != Callers::None;
        let users = facts.resolution.functions().ids().filter(is_reached);
        let uses = users.flat_map(|function| dynamic(facts, function).map(move |array| (array, function)));
        uses.map(|(array, function)| (*first.entry(array).or_insert(function), function)).collect()
    }

    /// For each component of the call graph, the largest of the values of all shared variables that it reaches.
    pub fn largest<T: Ord + Copy>(
        &self,
        facts: &Facts<'_, '_>,
        value: impl Fn(SymbolId) -> Option<T>,
    ) -> PerComponent<Option<T>> {
        self.largest_of_functions(facts, |function| shared(facts, function).filter_map(&value).max())
    }

    /// For each component of the call graph, the largest of the values of all functions that it reaches.
    pub fn largest_of_functions<T: Ord + Copy>(
        &self,
        facts: &Facts<'_, '_>,
        value: impl Fn(FunctionId) -> Option<T>,
    ) -> PerComponent<Option<T>> {
        if self.any { facts.usage.largest(value) } else { PerComponent::default() }
    }
}
