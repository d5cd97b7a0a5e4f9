//! Listings: the output of `-v`, `-dump-callgraph` and `-dot`.

use super::Facts;
use crate::diagnostics::{Expansion, Message, Report, printable};
use crate::id::{FunctionId, IdMap, InputSymbolId, PrototypeId};
use crate::imitations::Imitation;
use crate::phases::callgraph::CallGraph;
use crate::phases::layout::TEXTURE_KINDS;
use crate::phases::live::LiveSet;
use crate::phases::load::{InputRelocation, Inputs};
use crate::phases::propagate::barriers;
use crate::phases::resolve::{Resolution, is_dynamic};
use crate::propagated::propagated_row;
use crate::sections::Memory;
use cubin::info::Attribute;
use cubin::symbol::SymbolKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Warns of functions that are kept for their address although nothing calls through such a pointer.
pub fn warn_of_functions_never_called(resolution: &Resolution<'_>, live: &LiveSet, report: &mut Report) {
    for &function in live.never_called() {
        report.say(Message::NeverCalled { name: resolution.name(function).into() });
    }
}

/// Warns of dynamic shared memory that units declare with types of different alignments. Objects before CUDA 13.1 do not tell any.
pub fn warn_of_dynamic_shared_types(inputs: &Inputs<'_>, resolution: &Resolution<'_>, report: &mut Report) {
    let file_of = |mention: InputSymbolId| inputs.files()[inputs.file_of_symbol(mention)].name.to_owned();
    for (mention, declared) in inputs.symbols().enumerate() {
        let Some(symbol) = resolution.meaning(mention).map(|id| &resolution.symbols()[id]).filter(|symbol| is_dynamic(symbol))
        else {
            continue;
        };
        let (align, first_align) = (declared.value, inputs.symbols()[symbol.first].value);
        if align != first_align && align != 0 && first_align != 0 {
            let (file, first, name) = (file_of(mention), file_of(symbol.first), declared.name.to_owned());
            report.say(Message::DynamicSharedTypes { name, file, align, first, first_align });
        }
    }
}

/// Who may call whom, in Graphviz's language: pair by pair, or with a node for each prototype, which calls through pointers go through.
pub fn graphviz(resolution: &Resolution<'_>, graph: &CallGraph<'_>, live: &LiveSet, every_pair: bool) -> Expansion {
    // The reference linker writes names as they are, also those that are no words to Graphviz.
    let shown = |name: &str| if every_pair && !name.contains(DOT_SYNTAX) { printable(name).into_owned() } else { dot_name(name) };
    let name = |function: FunctionId| shown(resolution.name(function));
    let names = |functions: &[FunctionId]| -> Vec<String> {
        functions.iter().filter(|&&function| live.contains(function)).map(|&function| name(function)).collect()
    };
    let prototype = |id: PrototypeId| dot_name(&format!("prototype {}", graph.prototypes()[id]));
    let mut text = Expansion::default();
    text.text("digraph callgraph {\n");
    let mut lists: IdMap<PrototypeId, usize> = IdMap::default();
    for caller in live.functions() {
        let before = format!("{} -> ", name(caller));
        for &through in graph.indirect(caller).iter().rev() {
            let list = *lists.entry(through).or_insert_with(|| text.list(names(graph.targets(through))));
            match every_pair {
                true => text.each(&before, list, ";\n"),
                false => text.text(&format!("{before}{};\n", prototype(through))),
            }
        }
        names(graph.calls(caller)).iter().for_each(|callee| text.text(&format!("{before}{callee};\n")));
    }
    let mut lists: Vec<(PrototypeId, usize)> = lists.into_iter().filter(|_| !every_pair).collect();
    lists.sort_unstable();
    for (id, list) in lists {
        text.each(&format!("{} -> ", prototype(id)), list, ";\n");
    }
    text.text("}\n");
    text
}

/// A name that is no word, as Graphviz reads it.
fn dot_name(name: &str) -> String {
    let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts_well = !name.starts_with(|first: char| first.is_ascii_digit());
    if !name.is_empty() && is_word(name) && starts_well && !DOT_KEYWORDS.contains(&name.to_ascii_lowercase().as_str()) {
        return name.to_owned();
    }
    format!("\"{}\"", printable(name).replace('\\', "\\\\").replace('"', "\\\""))
}

/// Characters that make another graph of a name.
const DOT_SYNTAX: &[char] = &[' ', '\t', '\n', '"', ';', '[', ']', '{', '}', '<', '>', '#', '/', '\\'];

/// Names that mean something to Graphviz.
const DOT_KEYWORDS: [&str; 6] = ["node", "edge", "graph", "digraph", "subgraph", "strict"];

impl Facts<'_, '_> {
    /// Lists what the module and each kernel use, the kernel whose code comes last first.
    pub fn list_resources(&self, report: &mut Report) {
        report.say(Message::ModuleResources { text: self.module() });
        let mut kernels = self.live.entries().to_vec();
        kernels.retain(|&entry| !self.live.is_stub(entry));
        kernels.sort_by_key(|&kernel| self.plan.function(kernel).text);
        let mut barriers = 0;
        for kernel in kernels.into_iter().rev() {
            let before = if self.options.imitates(Imitation::BarriersOfKernelBefore) { barriers } else { 0 };
            barriers = self.barriers(kernel).unwrap_or(before);
            report.say(Message::KernelHeading { kernel: self.resolution.name(kernel).into() });
            report.say(Message::KernelResources { text: self.kernel(kernel, barriers) });
        }
    }

    /// How many named barriers a kernel uses, if a record or a flag says.
    fn barriers(&self, kernel: FunctionId) -> Option<u16> {
        match self.properties.of(kernel) {
            Some(needs) => barriers(needs),
            None => propagated_row(Attribute::NUM_BARRIERS).and_then(|row| self.attributes.value(kernel, row)),
        }
    }

    fn module(&self) -> String {
        let mut global = 0;
        let mut banks = BTreeMap::new();
        for (id, section) in self.plan.sections().enumerate() {
            let size = self.layout.size(id);
            match section.kind.memory(section) {
                Some(Memory::Global) => global += size,
                Some(Memory::Constants(bank)) if self.options.linked().has_banks => *banks.entry(bank).or_default() += size,
                _ => {}
            }
        }
        let banks: String = banks.iter().map(|(bank, size): (&u8, &u64)| format!(", {size} bytes cmem[{bank}]")).collect();
        format!("{global} bytes gmem{banks}")
    }

    fn kernel(&self, kernel: FunctionId, barriers: u16) -> String {
        // A relocatable link knows only what the kernel's own code says, and nothing of its stack.
        let own = self.attributes.of(kernel);
        let (registers, stack) = match self.properties.of(kernel) {
            Some(needs) => (needs.registers, needs.stack.map_or(own.frame, |stack| stack as u32)),
            None => (own.registers, if self.options.knows_all_callees() { own.frame } else { 0 }),
        };
        let (sections, has_banks) = (self.plan.function(kernel), self.options.linked().has_banks);
        let size = |section: Option<_>| section.map_or(0, |section| self.layout.size(section));
        let mut text = format!(
            "used {registers} registers, used {barriers} barriers, {} stack, {} bytes smem, ",
            stack.cast_signed(),
            match self.options.lays_out_kernels() && !has_banks {
                true => self.layout.shared().used_by(kernel),
                false => size(sections.shared),
            }
        );
        if sections.parameters.is_some() && has_banks {
            _ = write!(text, "{} bytes cmem[0], ", size(sections.parameters));
        }
        if size(sections.constants) > 0 && has_banks {
            _ = write!(text, "{} bytes cmem[2], ", size(sections.constants));
        }
        text.push_str("0 bytes lmem");
        if has_banks {
            let kinds = self.texture_slots(kernel);
            for kind in [SymbolKind::TEXTURE, SymbolKind::SURFACE, SymbolKind::SAMPLER] {
                let count = kinds.iter().filter(|&&slot| slot == kind).count();
                let plural = TEXTURE_KINDS.iter().find(|row| row.symbol == kind).map_or("", |row| row.plural);
                if count > 0 {
                    _ = write!(text, ", {count} {plural}");
                }
            }
        }
        text
    }

    /// What the texture slots of a kernel are for: those that the link made, or those that the compiler made for a whole program.
    fn texture_slots(&self, kernel: FunctionId) -> Vec<SymbolKind> {
        if self.layout.textures().is_used_by(kernel) {
            let slots = self.layout.textures().filled_slots(kernel);
            return slots.map(|(symbol, _)| self.resolution.symbols()[symbol].kind).collect();
        }
        let bank = self.plan.function(kernel).parameters.map(|bank| &self.plan.sections()[bank].pieces);
        let pieces = bank.into_iter().flat_map(|pieces| pieces.iter());
        let lists = pieces.flat_map(|piece| self.inputs.slot_relocations(piece.section));
        let entries = lists.flat_map(|list| self.inputs.relocations(self.inputs.file_of_section(list), list));
        // Samplers that have a slot of their own are not counted.
        let kind = |entry: InputRelocation| TEXTURE_KINDS.iter().find(|row| row.relocation == entry.kind).map(|row| row.symbol);
        entries.filter_map(kind).collect()
    }
}
