//! Why live: which chain of calls keeps a function, or who uses a variable; and which functions were removed.

use super::callgraph::CallGraph;
use super::explain::referrers::Referrers;
use super::explain::{first_few, near, path};
use super::live::LiveSet;
use super::load::Inputs;
use super::resolve::Resolution;
use crate::demangle::demangle;
use crate::diagnostics::Report;
use crate::id::{FunctionId, SymbolId};
use crate::options::Options;

/// How many users of a variable are shown.
const MOST_USERS: usize = 5;

/// The facts that are read.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// Who calls whom.
    pub graph: &'facts CallGraph<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
    /// What was asked for.
    pub options: &'facts Options,
}

/// Lists what was asked for.
pub fn list(facts: &Facts<'_, '_>, report: &mut Report) {
    if facts.options.listings.removed {
        facts.list_removed(report);
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
}

impl Facts<'_, '_> {
    fn list_removed(&self, report: &mut Report) {
        for function in self.resolution.functions().ids().filter(|&function| !self.live.contains(function)) {
            if let Some(section) = self.resolution.code(self.inputs, function) {
                let file = self.inputs.file_of_section(section);
                let (file, size) = (self.inputs.files()[file].name, self.inputs.sections()[section].size);
                let name = demangle(self.resolution.name(function));
                report.list(format!("removed function {name} of {file}, {size} bytes"));
            }
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
                first_few(users, MOST_USERS)
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
