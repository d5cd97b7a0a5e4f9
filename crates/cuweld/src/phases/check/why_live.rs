//! Why live: the call path that keeps a function, or the users of a variable; and the account of every function.
//!
//! The data for all reasons is computed once, in time linear in the call graph: there may be as many queries as functions.

use super::Facts;
use crate::account::{Account, Accounted, Outcome};
use crate::demangle::demangle;
use crate::diagnostics::Report;
use crate::id::{FunctionId, Id, SymbolId};
use crate::phases::explain::path::Ways;
use crate::phases::explain::referrers::Referrers;
use crate::phases::explain::{first_few, near};
use crate::phases::load::Role;
use crate::phases::resolve::Fate;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

/// How many users of a variable are shown.
const MOST_USERS: usize = 5;

/// Lists what was asked for, and makes the account if that was.
pub fn list(facts: &Facts<'_, '_>, report: &mut Report) -> Option<Account> {
    let listings = &facts.options.listings;
    let account = (listings.removed || listings.account).then(|| facts.account());
    if listings.removed {
        account.iter().for_each(|account| list_removed(account, report));
    }
    if !listings.why_live.is_empty() {
        list_reasons(facts, &listings.why_live, report);
    }
    account.filter(|_| listings.account)
}

fn list_reasons(facts: &Facts<'_, '_>, names: &[String], report: &mut Report) {
    let named = facts.named(names);
    let symbols = facts.resolution.symbols();
    let is_variable = |symbol: &&SymbolId| symbols[**symbol].function.is_none();
    let variables: Vec<SymbolId> = named.iter().flat_map(|(_, symbols)| symbols).filter(is_variable).copied().collect();
    let referrers = Referrers { inputs: facts.inputs, resolution: facts.resolution, live: facts.live };
    let mut users = if variables.is_empty() { HashMap::new() } else { referrers.of(&variables) };
    let reasons = Reasons::new(facts);
    for (name, meant) in named {
        if meant.is_empty() {
            report.list(format!("{name}: no input has a function or variable of this name"));
        }
        for symbol in meant {
            let shown = demangle(symbols[symbol].name(facts.inputs));
            let lines = match (symbols[symbol].function, users.remove(&symbol)) {
                (Some(function), _) => vec![reasons.text(function, Length::WholePath)],
                (None, Some(users)) => first_few(users, MOST_USERS, |user| user),
                (None, None) => vec!["stays because variables are not removed; nothing that stays refers to it".to_owned()],
            };
            for line in lines {
                report.list(format!("{shown}: {line}"));
            }
        }
    }
}

fn list_removed(account: &Account, report: &mut Report) {
    for removed in account.functions.iter().filter(|function| function.outcome == Outcome::Unreachable) {
        let Accounted { name, input, code, .. } = removed;
        report.list(format!("removed function {} of {}, {code} bytes", demangle(name), account.inputs[*input]));
    }
}

impl Facts<'_, '_> {
    /// The fate of the code of every function.
    fn account(&self) -> Account {
        let reasons = Reasons::new(self);
        let mut functions = Vec::new();
        for (input, object) in self.inputs.files().iter().enumerate() {
            for section in object.sections.iter() {
                let code = &self.inputs.sections()[section];
                let Some(owner) = code.owner.filter(|_| code.role == Role::Text) else { continue };
                let function =
                    self.resolution.function(owner).filter(|_| self.resolution.code_fate(self.inputs, section) == Fate::Taken);
                let outcome = match function {
                    None => Outcome::Discarded,
                    Some(function) if !self.live.contains(function) => Outcome::Unreachable,
                    Some(function) => {
                        let own = self.attributes.of(function);
                        let reason = reasons.text(function, Length::LastCall);
                        Outcome::Kept { reason, registers: own.registers, frame: own.frame }
                    }
                };
                let name = self.inputs.symbols()[owner].name.to_owned();
                // What stands for it in the other view is shorter.
                let size = code.machine.map_or(code.size, |machine| self.inputs.sections()[machine].size);
                functions.push(Accounted { name, input, code: size, outcome });
            }
        }
        Account { inputs: self.inputs.files().iter().map(|object| object.name.to_owned()).collect(), functions }
    }

    /// The functions and variables that each name may mean: as the symbol table or the source has it, with or without parameters.
    fn named<'names>(&self, names: &'names [String]) -> Vec<(&'names str, Vec<SymbolId>)> {
        let mut named: Vec<(&str, Vec<SymbolId>)> = Vec::new();
        let mut places = HashMap::new();
        for name in names {
            places.entry(name.as_str()).or_insert_with(|| {
                named.push((name, Vec::new()));
                named.len() - 1
            });
        }
        for (id, symbol) in self.resolution.symbols().enumerate() {
            let known = symbol.name(self.inputs);
            let shown = demangle(known);
            for spelling in [known, &shown, &near::base(&shown)] {
                let meant = places.get(spelling).map(|&place| &mut named[place].1);
                if let Some(meant) = meant.filter(|meant| meant.last() != Some(&id)) {
                    meant.push(id);
                }
            }
        }
        named
    }
}

/// For some functions, the first that does something with each of them.
type First<'facts> = LazyCell<HashMap<FunctionId, FunctionId>, Box<dyn FnOnce() -> HashMap<FunctionId, FunctionId> + 'facts>>;

/// Why a function is live, or is not.
enum Reason {
    /// Nothing that would have to be named.
    Final(&'static str),
    /// A kernel reaches it, in the end through this node of the call graph: a function, or a prototype.
    Reached {
        caller: u32,
    },
    AddressTaken {
        user: FunctionId,
    },
    /// Called by a function that no kernel reaches.
    Called {
        caller: FunctionId,
    },
}

/// How much of a call path is printed.
#[derive(Clone, Copy)]
enum Length {
    WholePath,
    LastCall,
}

/// What tells why functions are live, for listings and for the account.
struct Reasons<'facts, 'data> {
    facts: &'facts Facts<'facts, 'data>,
    /// The ways from kernels to what they call.
    ways: Ways,
    /// Who takes a function's address, and who calls it.
    takers: First<'facts>,
    callers: First<'facts>,
    /// What was asked for by name.
    kept: HashSet<&'facts str>,
}

impl<'facts, 'data> Reasons<'facts, 'data> {
    fn new(facts: &'facts Facts<'facts, 'data>) -> Self {
        let ways = Ways::new(facts.graph, facts.live.kernels().iter().map(|&kernel| facts.graph.node(kernel)));
        Reasons {
            facts,
            ways,
            takers: LazyCell::new(Box::new(|| facts.first(|user| facts.graph.references(user)))),
            callers: LazyCell::new(Box::new(|| facts.first(|caller| facts.graph.calls(caller)))),
            kept: facts.options.keep.iter().map(String::as_str).collect(),
        }
    }

    /// Why a function is live, or is not.
    fn of(&self, function: FunctionId) -> Reason {
        let Facts { planned, .. } = self.facts;
        let (node, name) = (planned.graph.node(function), planned.resolution.name(function));
        let is_defined = || planned.resolution.code(planned.inputs, function).is_some();
        if !planned.live.contains(function) {
            let removed = "was removed: no kernel reaches it";
            return Reason::Final(if is_defined() { removed } else { "is not defined, and nothing that stays calls it" });
        }
        if !planned.options.removes_dead_code() {
            return Reason::Final("stays because nothing is removed from such a link");
        }
        if self.ways.begin_at(node) {
            return Reason::Final("is a kernel");
        }
        if let Some(caller) = self.ways.before(node) {
            return Reason::Reached { caller };
        }
        if let Some(&user) = self.takers.get(&function) {
            return Reason::AddressTaken { user };
        }
        if let Some(&caller) = self.callers.get(&function) {
            return Reason::Called { caller };
        }
        let asked_for = self.kept.contains(name);
        Reason::Final(if asked_for { "asked for by name (-u)" } else { "its address is taken by a variable" })
    }

    /// A function's reason in words: with the whole call path from a kernel, or with its last caller alone.
    fn text(&self, function: FunctionId, length: Length) -> String {
        let Facts { planned, .. } = self.facts;
        let shown = |function: FunctionId| demangle(planned.resolution.name(function));
        match (self.of(function), length) {
            (Reason::Final(reason), _) => reason.to_owned(),
            (Reason::AddressTaken { user }, _) => format!("its address is taken by {}", shown(user)),
            (Reason::Called { caller }, _) => format!("called by {}", shown(caller)),
            (Reason::Reached { .. }, Length::WholePath) => {
                let way = self.ways.text(planned.graph.node(function), planned.graph, planned.resolution);
                format!("called as {}", way.unwrap_or_default())
            }
            (Reason::Reached { caller }, Length::LastCall) => {
                let is_function = |node: u32| (node as usize) < planned.graph.len();
                let of_node = |node: u32| shown(FunctionId::from_index(node as usize));
                match self.ways.before(caller) {
                    // In between is the prototype of a pointer.
                    Some(before) if !is_function(caller) => format!("called through a pointer by {}", of_node(before)),
                    _ => format!("called by {}", of_node(caller)),
                }
            }
        }
    }
}

impl Facts<'_, '_> {
    /// For each function that any live one does something with, the first that does.
    fn first<'graph>(&self, with: impl Fn(FunctionId) -> &'graph [FunctionId]) -> HashMap<FunctionId, FunctionId> {
        let mut first = HashMap::new();
        for user in self.resolution.functions().ids().filter(|&user| self.live.contains(user)) {
            for &function in with(user) {
                first.entry(function).or_insert(user);
            }
        }
        first
    }
}
