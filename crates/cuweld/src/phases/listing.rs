//! Listings: what `-v`, `-dump-callgraph` and `-dot` tell.

use super::attributes::{Attributes, flowing_row};
use super::callgraph::CallGraph;
use super::layout::{Layout, TEXTURE_KINDS};
use super::live::LiveSet;
use super::merge::Plan;
use super::propagate::{KernelProperties, barriers};
use super::resolve::Resolution;
use crate::diagnostics::{Message, Report};
use crate::id::FunctionId;
use crate::options::Options;
use crate::sections::Memory;
use cubin::info::Attribute;
use cubin::symbol::SymbolKind;
use cubin::target::Views;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Warns of functions that are kept for their address although nothing calls through such a pointer.
pub fn warn_of_functions_never_called(resolution: &Resolution<'_>, live: &LiveSet, report: &mut Report) {
    for &function in live.never_called() {
        report.say(Message::NeverCalled { name: resolution.name(function).into() });
    }
}

/// Who may call whom, in Graphviz's language.
pub fn graphviz(resolution: &Resolution<'_>, graph: &CallGraph<'_>, live: &LiveSet) -> String {
    let mut text = String::from("digraph callgraph {\n");
    for caller in live.functions() {
        for callee in graph.callees(caller).filter(|&callee| live.contains(callee)) {
            _ = writeln!(text, "{} -> {};", resolution.name(caller), resolution.name(callee));
        }
    }
    text.push_str("}\n");
    text
}

/// The facts that the listing of resources reads.
pub struct Resources<'facts, 'data> {
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// Addresses and sizes.
    pub layout: &'facts Layout,
    /// What each function says of itself.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
    /// What was asked for.
    pub options: &'facts Options,
}

impl Resources<'_, '_> {
    /// Lists what the module and each kernel use, the kernel whose code comes last first.
    pub fn list(&self, report: &mut Report) {
        report.say(Message::ModuleResources { text: self.module() });
        let mut kernels = self.live.entries().to_vec();
        kernels.retain(|&entry| !self.live.is_stub(entry));
        kernels.sort_by_key(|&kernel| self.plan.function(kernel).text);
        for kernel in kernels.into_iter().rev() {
            report.say(Message::KernelHeading { kernel: self.resolution.name(kernel).into() });
            report.say(Message::KernelResources { text: self.kernel(kernel) });
        }
    }

    fn module(&self) -> String {
        let mut global = 0;
        let mut banks = BTreeMap::new();
        for (id, section) in self.plan.sections().enumerate() {
            let size = self.layout.size(id);
            match section.kind.memory(section) {
                Some(Memory::Global) => global += size,
                Some(Memory::Constants(bank)) if self.knows_banks() => *banks.entry(bank).or_default() += size,
                _ => {}
            }
        }
        let banks: String = banks.iter().map(|(bank, size): (&u8, &u64)| format!(", {size} bytes cmem[{bank}]")).collect();
        format!("{global} bytes gmem{banks}")
    }

    /// Whether constant banks have their numbers when this is listed: the machine view alone has those, where there are two.
    fn knows_banks(&self) -> bool {
        self.options.target.views == Views::One
    }

    fn kernel(&self, kernel: FunctionId) -> String {
        // A relocatable link knows only what the kernel's own code says, and nothing of its stack.
        let own = self.attributes.of(kernel);
        let (registers, barriers, stack) = match self.properties.of(kernel) {
            Some(needs) => (needs.registers, barriers(needs), needs.stack.map_or(own.frame, |stack| stack as u32)),
            None => {
                let barriers = flowing_row(Attribute::NUM_BARRIERS).and_then(|row| self.attributes.value(kernel, row));
                (own.registers, barriers.unwrap_or(0), if self.options.executable() { own.frame } else { 0 })
            }
        };
        let sections = self.plan.function(kernel);
        let size = |section: Option<_>| section.map_or(0, |section| self.layout.size(section));
        let mut text = format!(
            "used {registers} registers, used {barriers} barriers, {} stack, {} bytes smem, ",
            stack.cast_signed(),
            match self.options.executable() && !self.knows_banks() {
                true => self.layout.shared().used_by(kernel),
                false => size(sections.shared),
            }
        );
        if sections.parameters.is_some() && self.knows_banks() {
            _ = write!(text, "{} bytes cmem[0], ", size(sections.parameters));
        }
        if size(sections.constants) > 0 && self.knows_banks() {
            _ = write!(text, "{} bytes cmem[2], ", size(sections.constants));
        }
        text.push_str("0 bytes lmem");
        if self.layout.textures().is_used_by(kernel) && self.knows_banks() {
            for kind in [SymbolKind::TEXTURE, SymbolKind::SURFACE, SymbolKind::SAMPLER] {
                let slots = self.layout.textures().filled_slots(kernel);
                let count = slots.filter(|&(symbol, _)| self.resolution.symbols()[symbol].kind == kind).count();
                let plural = TEXTURE_KINDS.iter().find(|row| row.symbol == kind).map_or("", |row| row.plural);
                if count > 0 {
                    _ = write!(text, ", {count} {plural}");
                }
            }
        }
        text
    }
}
