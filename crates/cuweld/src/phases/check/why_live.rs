//! Why live: which chain of calls keeps a function, or who uses a variable; and what became of every function.
//!
//! The account of all functions is made once, in time linear in the call graph, and whatever is listed of them is read from it.

use super::Facts;
use crate::account::{Account, Accounted, Outcome};
use crate::demangle::demangle;
use crate::diagnostics::Report;
use crate::id::{FunctionId, Id, SymbolId};
use crate::phases::explain::referrers::Referrers;
use crate::phases::explain::{first_few, near, path};
use crate::phases::load::Role;
use crate::phases::resolve::Fate;
use std::collections::VecDeque;

/// How many users of a variable are shown.
const MOST_USERS: usize = 5;

/// Lists what was asked for, and makes the account if that was.
pub fn list(facts: &Facts<'_, '_>, report: &mut Report) -> Option<Account> {
    let listings = &facts.options.listings;
    let account = (listings.removed || listings.account).then(|| facts.account());
    if listings.removed {
        account.iter().for_each(|account| list_removed(account, report));
    }
    for name in &facts.options.listings.why_live {
        let symbols = facts.named(name);
        if symbols.is_empty() {
            report.list(format!("{name}: no input has a function or variable of this name"));
        }
        for symbol in symbols {
            let shown = demangle(facts.resolution.symbols()[symbol].name(facts.inputs));
            for line in facts.reasons(symbol) {
                report.list(format!("{shown}: {line}"));
            }
        }
    }
    account.filter(|_| listings.account)
}

fn list_removed(account: &Account, report: &mut Report) {
    for removed in account.functions.iter().filter(|function| function.outcome == Outcome::Unreachable) {
        let Accounted { name, input, code, .. } = removed;
        report.list(format!("removed function {} of {}, {code} bytes", demangle(name), account.inputs[*input]));
    }
}

impl Facts<'_, '_> {
    /// What became of the code of every function.
    fn account(&self) -> Account {
        let callers = self.callers();
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
                        let reason = self.reason_at_once(function, &callers);
                        Outcome::Kept { reason, registers: own.registers, frame: own.frame }
                    }
                };
                let name = self.inputs.symbols()[owner].name.to_owned();
                functions.push(Accounted { name, input, code: code.size, outcome });
            }
        }
        Account { inputs: self.inputs.files().iter().map(|object| object.name.to_owned()).collect(), functions }
    }

    /// For every node of the call graph, one that calls it on a shortest way from a kernel.
    fn callers(&self) -> Vec<Option<u32>> {
        let mut callers = vec![None; self.graph.nodes()];
        let mut open: VecDeque<u32> = self.live.kernels().iter().map(|&kernel| self.graph.node(kernel)).collect();
        while let Some(node) = open.pop_front() {
            for next in self.graph.successors(node) {
                if callers[next as usize].is_none() {
                    callers[next as usize] = Some(node);
                    open.push_back(next);
                }
            }
        }
        callers
    }

    /// Why a function stays, by its nearest caller where it has one.
    fn reason_at_once(&self, function: FunctionId, callers: &[Option<u32>]) -> String {
        let is_function = |node: u32| (node as usize) < self.graph.len();
        let caller = callers[function.index()].filter(|_| !self.resolution.functions()[function].kernel);
        let shown = |node: u32| demangle(self.resolution.name(FunctionId::from_index(node as usize)));
        match caller.map(|caller| (caller, callers[caller as usize])) {
            _ if !self.options.removes_dead_code() => self.reason(function),
            Some((caller, _)) if is_function(caller) => format!("called by {}", shown(caller)),
            // In between is the prototype of a pointer.
            Some((_, Some(caller))) => format!("called through a pointer by {}", shown(caller)),
            _ => self.reason(function),
        }
    }

    /// The functions and variables that a name may mean: as the symbol table or the source has it, with or without parameters.
    fn named(&self, name: &str) -> Vec<SymbolId> {
        let matches = |known: &str| {
            let shown = demangle(known);
            known == name || shown == name || near::base(&shown) == name
        };
        self.resolution.symbols().enumerate().filter(|(_, symbol)| matches(symbol.name(self.inputs))).map(|(id, _)| id).collect()
    }

    fn reasons(&self, symbol: SymbolId) -> Vec<String> {
        match self.resolution.symbols()[symbol].function {
            Some(function) => vec![self.reason(function)],
            None => {
                let referrers = Referrers { inputs: self.inputs, resolution: self.resolution, live: self.live };
                let users = referrers.of(&[symbol]).remove(&symbol).unwrap_or_default();
                if users.is_empty() {
                    return vec!["stays because variables are not removed; nothing that stays refers to it".to_owned()];
                }
                first_few(users, MOST_USERS, |user| user)
            }
        }
    }

    fn reason(&self, function: FunctionId) -> String {
        let is_wanted = |node: u32| node == self.graph.node(function);
        let kernels = self.live.kernels().iter().map(|&kernel| self.graph.node(kernel));
        let is_defined = self.resolution.code(self.inputs, function).is_some();
        if !self.live.contains(function) {
            return if is_defined {
                "was removed: no kernel reaches it"
            } else {
                "is not defined, and nothing that stays calls it"
            }
            .to_owned();
        }
        if !self.options.removes_dead_code() {
            return "stays because nothing is removed from such a link".to_owned();
        }
        if self.live.kernels().contains(&function) {
            return "is a kernel".to_owned();
        }
        if let Some(way) = path::shortest(self.graph, kernels, is_wanted, |_| true, false) {
            return format!("called as {}", path::text(&way, self.graph, self.resolution));
        }
        let callers = || self.resolution.functions().ids().filter(|&caller| self.live.contains(caller));
        let shown = |function: FunctionId| demangle(self.resolution.name(function));
        if let Some(user) = callers().find(|&user| self.graph.references(user).contains(&function)) {
            return format!("its address is taken by {}", shown(user));
        }
        if let Some(caller) = callers().find(|&caller| self.graph.calls(caller).contains(&function)) {
            return format!("called by {}", shown(caller));
        }
        if self.options.keep.iter().any(|name| name == self.resolution.name(function)) {
            return "asked for by name (-u)".to_owned();
        }
        "its address is taken by a variable".to_owned()
    }
}
