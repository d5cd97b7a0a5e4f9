//! Registers: kernels whose register limit a callee exceeds, and the listing of the call graph.
//!
//! A kernel's register count is raised by one callee after the other, in the order of their code. Each step that exceeds the
//! kernel's limit is a separate error; the listing shows every step. Only these two need the steps, so they are computed only for them.

use super::Facts;
use crate::demangle::demangle;
use crate::diagnostics::{Diagnostic, Expansion, Message, Report, printable};
use crate::id::{FunctionId, Id, IdMap, PrototypeId};
use crate::options::{NameStyle, Options};
use crate::phases::explain::path;
use std::collections::HashMap;
use std::fmt::Write;

/// For how many errors it is shown on which way the function is called. To find one takes a search of the whole program.
const MOST_WAYS: usize = 100;

/// Checks the limits, and prints the call graph if it is asked for.
pub fn check(facts: &Facts<'_, '_>, report: &mut Report) {
    let options = facts.options;
    match options.dump_call_graph {
        Some(_) if facts.inputs.files().len() == 0 => {
            report.list("No relocatable objects found. Did not generate callgraph.");
            return;
        }
        Some(style) => facts.list_graph(style, options, report),
        None => {}
    }
    let exceeds = |kernel: &FunctionId| {
        let limit = facts.attributes.of(*kernel).register_limit.unwrap_or(u32::MAX);
        facts.properties.of(*kernel).is_some_and(|needs| needs.registers > limit)
    };
    let kernels: Vec<FunctionId> = facts.live.kernels().iter().rev().copied().collect();
    if options.dump_call_graph.is_some() || kernels.iter().any(exceeds) {
        facts.raise(&kernels, options.dump_call_graph, report);
    }
}

impl Facts<'_, '_> {
    fn shown(&self, function: FunctionId, style: NameStyle) -> String {
        let name = self.resolution.name(function);
        match style {
            NameStyle::Mangled => printable(name).into_owned(),
            NameStyle::Demangled => printable(&demangle(name)).into_owned(),
        }
    }

    /// Raises the register counts step by step: callees in the order of their code, for each the last kernel first.
    fn raise(&self, kernels: &[FunctionId], style: Option<NameStyle>, report: &mut Report) {
        let is_callee = |function: FunctionId| {
            self.live.contains(function)
                && !self.resolution.functions()[function].kernel
                && self.resolution.code(self.inputs, function).is_some()
        };
        let reach = self.usage.of(kernels, is_callee);
        let place_of_code = |function: FunctionId| self.plan.function(function).text;
        let registers_of = |function: FunctionId| self.attributes.of(function).registers;
        let mut steps: Vec<(FunctionId, usize)> = Vec::new();
        // Those that use more registers than all before them, once for all kernels that reach the same.
        let ascent = |callees: &[FunctionId]| {
            let mut callees = callees.to_vec();
            callees.sort_by_key(|&function| place_of_code(function));
            let mut most = 0;
            callees.retain(|&function| {
                let before = most;
                most = before.max(registers_of(function));
                most > before
            });
            callees
        };
        let mut ascents: HashMap<usize, Vec<FunctionId>> = HashMap::new();
        for (position, &kernel) in kernels.iter().enumerate() {
            let Some((number, callees)) = reach.set_of(kernel) else { continue };
            let ascent = ascents.entry(number).or_insert_with(|| ascent(callees));
            let raises = |function: &&FunctionId| registers_of(**function) > registers_of(kernel);
            steps.extend(ascent.iter().filter(raises).map(|&function| (function, position)));
        }
        steps.sort_by_key(|&(function, position)| (place_of_code(function), position));
        let mut explained = 0;
        for (function, position) in steps {
            let (kernel, registers) = (kernels[position], registers_of(function));
            let limit = self.attributes.of(kernel).register_limit.unwrap_or(u32::MAX);
            if registers > limit {
                explained += 1;
                report.add(self.over_limit(kernel, limit, function, registers, explained <= MOST_WAYS));
            }
            if let Some(style) = style {
                let (function, kernel) = (self.shown(function, style), self.shown(kernel, style));
                report.list(format!("regcount {registers} for {function} propagated to entry {kernel}"));
            }
        }
    }

    /// Says that a function uses more registers than a kernel that calls it may, and on which way it is called.
    fn over_limit(&self, kernel: FunctionId, limit: u32, function: FunctionId, registers: u32, shows_way: bool) -> Diagnostic {
        let message = Message::RegisterLimit {
            kernel: self.resolution.name(kernel).into(),
            limit,
            function: self.resolution.name(function).into(),
            registers,
        };
        let shown = |function: FunctionId| self.shown(function, NameStyle::Demangled);
        let mut diagnostic = Diagnostic::new(message).headline(format!(
            "kernel '{}' may use {limit} registers, but calls '{}', which uses {registers}",
            shown(kernel),
            shown(function)
        ));
        let (start, end) = (self.graph.node(kernel), self.graph.node(function));
        let way = || path::shortest(self.graph, std::iter::once(start), |node| node == end, |_| true, false);
        if let Some(way) = shows_way.then(way).flatten() {
            diagnostic = diagnostic.also(format!("called as {}", path::text(&way, self.graph, self.resolution)));
        }
        if let Some(code) = self.resolution.code(self.inputs, function) {
            let file = self.inputs.file_of_section(code);
            diagnostic = diagnostic.also(format!("defined in {}", self.inputs.files()[file].name));
        }
        diagnostic.hint(format!(
            "compile that object with -maxrregcount={limit}, or relax the kernel's limit (__launch_bounds__, __maxnreg__)"
        ))
    }

    /// Lists every function with its registers and callees: those that it calls through pointers one by one, or as the prototype.
    fn list_graph(&self, style: NameStyle, options: &Options, report: &mut Report) {
        let every_pair = options.listings.every_pair;
        let mut text = Expansion::default();
        text.text(&format!("callgraph for sm_{}:\n", options.target.number));
        text.text("# A: s -> B // s (number A) potentially calls B\n");
        text.text("# s [N]     // s uses N registers\n");
        text.text("# ^s        // s is entry point\n");
        text.text("# &s        // s has address taken\n");
        let mut lists: IdMap<PrototypeId, usize> = IdMap::default();
        let number = |function: &FunctionId| (function.index() + 1).to_string();
        for function in self.resolution.functions().ids() {
            text.text(&format!("{}: ", number(&function)));
            if self.live.contains(function) {
                text.text(&self.described(function, style));
                for &through in self.graph.indirect(function).iter().rev() {
                    let targets = || self.graph.targets(through).iter().map(number).collect();
                    let list = *lists.entry(through).or_insert_with(|| text.list(targets()));
                    match every_pair {
                        true => text.each(" ", list, ""),
                        false => text.text(&format!(" P{}", through.index() + 1)),
                    }
                }
                self.graph.calls(function).iter().for_each(|callee| text.text(&format!(" {}", number(callee))));
            }
            text.text("\n");
        }
        let mut lists: Vec<(PrototypeId, usize)> = lists.into_iter().filter(|_| !every_pair).collect();
        lists.sort_unstable();
        for (id, list) in lists {
            text.text(&format!("P{}: prototype {} ->", id.index() + 1, printable(self.graph.prototypes()[id])));
            text.each(" ", list, "");
            text.text("\n");
        }
        report.list_expansion(text);
    }

    /// A function, and how many registers it uses.
    fn described(&self, function: FunctionId, style: NameStyle) -> String {
        let mut line = String::new();
        if self.resolution.functions()[function].kernel {
            line.push('^');
        }
        if self.graph.taken(function).is_some() {
            line.push('&');
        }
        line.push_str(&self.shown(function, style));
        if self.resolution.code(self.inputs, function).is_some() && !self.live.is_stub(function) {
            _ = write!(line, " [{}]", self.attributes.of(function).registers);
        }
        line.push_str(" ->");
        line
    }
}
