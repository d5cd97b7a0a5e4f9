//! The walk over the inputs' symbols.

use super::clash::{self, Clash};
use super::{Fate, Function, Part, Resolution, Symbol, is_laid_out_by_kernel};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::driver::is_driver_function;
use crate::id::{FileId, FunctionId, IdMap, IdRange, IdVec, InputSectionId, InputSymbolId, SymbolId};
use crate::imitations::Imitation;
use crate::options::Options;
use crate::phases::intern::Interned;
use crate::phases::load::{CallRecord, InputSymbol, Inputs, Place, Role, Stretch, Variables};
use cubin::release::Rule;
use cubin::symbol::{Binding, SymbolKind, other};
use std::num::NonZeroU32;
use std::ops::Range;

/// Resolves all names.
pub fn resolve<'data>(
    inputs: &Inputs<'data>,
    interned: Interned,
    options: &Options,
    report: &mut Report,
) -> Result<Resolution<'data>, Failure> {
    // Enough room for all, several definitions of a name and a few undefined names included, so that no table has to grow.
    let definitions: usize = inputs.files().iter().map(|object| object.definitions).sum();
    let mut walk = Walk {
        inputs,
        had_relocations: IdMap::default(),
        clashes: Vec::new(),
        weak_is_global: inputs.release().has(Rule::WeakAmongGlobals),
        result: Resolution {
            symbols: IdVec::with_capacity(definitions + definitions / 16 + 64),
            interned,
            late: IdMap::default(),
            functions: IdVec::new(),
            meaning: IdVec::filled(None, inputs.symbols().len()),
            fate: IdVec::filled(Fate::Reference, inputs.symbols().len()),
            commons: Vec::new(),
            laid_out_by_kernel: Vec::new(),
            discarded_ranges: IdMap::default(),
            has_aliases: false,
            has_discarded_definitions: false,
            imitations: options.imitations,
            replaced_before: IdMap::default(),
            variable_replaced_by: IdMap::default(),
        },
    };
    for (file, object) in inputs.files().enumerate() {
        for symbol in inputs.in_order_of_reading(file, object.functions.iter().copied()) {
            match inputs.symbols()[symbol].is_inner_function() {
                true => walk.inner_function(Mention { file, symbol }),
                false => walk.function(Mention { file, symbol }),
            }
        }
        for stretch in object.stretches() {
            match stretch {
                Stretch::Variables(variables) => walk.variables(file, variables),
                Stretch::Others(symbols) => walk.others(file, symbols),
            }
        }
        walk.parameters(file);
        walk.prototypes(file);
        // All errors of an object are reported, but no further object is read.
        if !walk.clashes.is_empty() {
            return walk.report_clashes(file, report);
        }
    }
    walk.result.discarded_ranges.values_mut().for_each(put_in_order);
    Ok(walk.result)
}

/// Sorts ranges, and joins those that touch.
fn put_in_order(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        last.end = if touches { last.end.max(next.end) } else { last.end };
        touches
    });
}

/// A symbol of an input, and that input.
#[derive(Copy, Clone)]
struct Mention {
    file: FileId,
    symbol: InputSymbolId,
}

impl Mention {
    /// The symbol for a name that was not seen before, or for a local symbol.
    #[inline(always)] // Hot: one per symbol.
    fn symbol(self, row: &InputSymbol<'_>, definition: Option<InputSymbolId>, weak_is_global: bool) -> Symbol {
        let defined = row.place() != Place::Undefined;
        // A weak reference to something undefined is kept among the globals, as a global; dynamic shared memory is defined by no input.
        let is_dynamic = other::is_shared(row.other) && row.size == 0;
        let is_reference = !defined && !is_dynamic;
        let binding = if row.binding == Binding::WEAK && is_reference { Binding::GLOBAL } else { row.binding };
        Symbol {
            part: match binding {
                Binding::GLOBAL => Part::Global,
                Binding::WEAK if weak_is_global => Part::Global,
                _ => Part::Local,
            },
            binding,
            kind: row.kind,
            other: row.other,
            size: row.size,
            first: self.symbol,
            named_after: self.file,
            definition,
            common_align: None,
            function: None,
        }
    }
}

pub(super) struct Walk<'inputs, 'data> {
    inputs: &'inputs Inputs<'data>,
    /// Whether weak symbols stand among the global ones.
    weak_is_global: bool,
    /// Whether some definition of a function that prevailed for a while had relocations.
    had_relocations: IdMap<FunctionId, bool>,
    /// What does not fit together in the object at hand.
    clashes: Vec<Clash<'data>>,
    result: Resolution<'data>,
}

impl<'inputs, 'data> Walk<'inputs, 'data> {
    fn row(&self, symbol: InputSymbolId) -> &'inputs InputSymbol<'data> {
        &self.inputs.symbols()[symbol]
    }

    #[inline(always)] // Hot: one per symbol.
    fn find_or_create(
        &mut self,
        mention: Mention,
        row: &InputSymbol<'data>,
        definition: Option<InputSymbolId>,
    ) -> (SymbolId, bool) {
        let first = self.result.interned.first(mention.symbol);
        let known = self.result.meaning_of_name(first);
        let id = known.unwrap_or_else(|| self.result.symbols.push(mention.symbol(row, definition, self.weak_is_global)));
        if known.is_none() && first != mention.symbol {
            self.result.late.insert(first, id);
        }
        self.result.meaning[mention.symbol] = Some(id);
        (id, known.is_none())
    }

    fn function(&mut self, mention: Mention) {
        let row = self.row(mention.symbol);
        let (id, is_new) = self.find_or_create(mention, row, None);
        if is_new {
            let function = self.result.functions.push(Function {
                name: row.name,
                symbol: id,
                kernel: row.other & other::ENTRY != 0,
                alias_of: None,
                virtual_sm: None,
                prototype: None,
                parameters: None,
            });
            self.result.symbols[id].function = Some(function);
        } else {
            self.clashes.extend(clash::function(&self.result.symbols[id], row));
        }
        let (Place::Section(section), Some(function)) = (row.place(), self.result.symbols[id].function) else { return };
        match self.result.symbols[id].definition {
            None => {
                self.result.functions[function].alias_of = self.aliased(mention, section);
                self.result.has_aliases |= self.result.functions[function].alias_of.is_some();
                self.result.functions[function].virtual_sm = self.inputs.files()[mention.file].virtual_sm;
                self.result.symbols[id].named_after = mention.file;
                self.define(id, mention);
            }
            // In one object the attributes of both would be the function's.
            Some(earlier) if earlier >= self.inputs.files()[mention.file].symbols.first() => {
                let (name, first) = (row.name, clash::Owner::File(mention.file));
                self.clashes.push(Clash::Definition { name, first });
            }
            Some(earlier) if self.replaces(id, function, earlier, mention) => {
                self.result.fate[earlier] = Fate::Replaced;
                if self.note_relocations(function, earlier) {
                    self.result.replaced_before.insert(function, mention.file);
                }
                self.define(id, mention);
            }
            Some(_) => {
                self.result.fate[mention.symbol] = Fate::Discarded;
                self.result.has_discarded_definitions = true;
            }
        }
        let kernel = self.result.symbols[id].other & other::ENTRY != 0;
        self.result.functions[function].kernel = kernel;
    }

    /// A function inside the code of another, which it belongs to: it is there if the other is.
    fn inner_function(&mut self, mention: Mention) {
        let row = self.row(mention.symbol);
        let Place::Section(section) = row.place() else { return };
        let owner = self.inputs.sections()[section].owner.filter(|&owner| self.result.fate[owner] == Fate::Taken);
        let Some(function) = owner.and_then(|owner| self.result.function(owner)) else { return };
        let id = self.result.symbols.push(mention.symbol(row, Some(mention.symbol), false));
        self.result.symbols[id].function = Some(function);
        self.result.meaning[mention.symbol] = Some(id);
        self.result.fate[mention.symbol] = Fate::Taken;
    }

    /// The function whose code an alias names: the one that the code's section belongs to.
    fn aliased(&self, mention: Mention, section: InputSectionId) -> Option<FunctionId> {
        let owner = self.inputs.sections()[section].owner?;
        let counts = owner != mention.symbol && self.result.fate[owner] == Fate::Taken;
        counts.then(|| self.result.function(owner)).flatten()
    }

    fn define(&mut self, id: SymbolId, mention: Mention) {
        let row = self.row(mention.symbol);
        let symbol = &mut self.result.symbols[id];
        // What was undefined so far stays what it was declared as.
        if symbol.function.is_some() && symbol.definition.is_some() {
            symbol.other = row.other;
        }
        symbol.definition = Some(mention.symbol);
        symbol.binding = row.binding;
        symbol.size = row.size;
        self.result.fate[mention.symbol] = Fate::Taken;
    }

    /// Whether a second definition of a function replaces the prevailing one.
    fn replaces(&self, id: SymbolId, function: FunctionId, earlier: InputSymbolId, later: Mention) -> bool {
        if self.result.symbols[id].binding != Binding::WEAK {
            return false;
        }
        let (old, new) = (self.row(earlier), self.row(later.symbol));
        match new.registers.cmp(&old.registers) {
            _ if new.binding == Binding::GLOBAL => true,
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            // Compared with the first definition, not with the prevailing one now.
            std::cmp::Ordering::Equal => self.inputs.files()[later.file].virtual_sm > self.result.functions[function].virtual_sm,
        }
    }

    /// Notes that a definition of a function is about to be replaced. Whether any definition that prevailed so far had relocations.
    fn note_relocations(&mut self, function: FunctionId, definition: InputSymbolId) -> bool {
        let Place::Section(code) = self.row(definition).place() else { return false };
        let has = self.inputs.attached(code).any(|id| {
            let section = &self.inputs.sections()[id];
            matches!(section.role, Role::Relocations { .. }) && section.size > 0
        });
        let had = self.had_relocations.entry(function).or_default();
        *had |= has;
        *had
    }

    /// Plain variables. Nearly all have names that were not mentioned before.
    fn variables(&mut self, file: FileId, Variables { symbols: mut rest, .. }: Variables) {
        loop {
            let new = if self.result.late.is_empty() { self.result.interned.leading_first(rest) } else { 0 };
            let (new, others) = rest.split_at(new);
            self.new_variables(file, new);
            let Some(symbol) = others.get(0) else { return };
            self.variable(Mention { file, symbol }, self.row(symbol));
            rest = others.split_at(1).1;
        }
    }

    /// Plain variables with names that were not mentioned before.
    fn new_variables(&mut self, file: FileId, symbols: IdRange<InputSymbolId>) {
        let (first, weak_is_global) = (self.result.symbols.next_id(), self.weak_is_global);
        let rows = self.inputs.symbols().range(symbols);
        self.result.symbols.extend(rows.map(|(symbol, row)| Mention { file, symbol }.symbol(row, Some(symbol), weak_is_global)));
        let ids = IdRange::new(first, self.result.symbols.next_id());
        for (meaning, id) in self.result.meaning.slice_mut(symbols).iter_mut().zip(ids.iter()) {
            *meaning = Some(id);
        }
        self.result.fate.slice_mut(symbols).fill(Fate::Taken);
    }

    /// Symbols that may be anything, functions aside.
    fn others(&mut self, file: FileId, symbols: IdRange<InputSymbolId>) {
        for symbol in self.inputs.in_order_of_reading(file, symbols.iter()) {
            let row = self.row(symbol);
            // Labels of code that the compiler removed are local and undefined. So are questions to the linker, which are objects.
            let is_nowhere = row.binding == Binding::LOCAL && row.place() == Place::Undefined && row.kind != SymbolKind::OBJECT;
            if !matches!(row.kind, SymbolKind::FUNCTION | SymbolKind::SECTION) && !row.name.is_empty() && !is_nowhere {
                self.variable(Mention { file, symbol }, row);
            }
        }
    }

    fn variable(&mut self, mention: Mention, row: &InputSymbol<'data>) {
        let definition = match row.place() {
            Place::Section(section) if !self.has_home(section) => return,
            Place::Section(_) => Some(mention.symbol),
            Place::Common | Place::Undefined => None,
        };
        let (id, is_new) = self.find_or_create(mention, row, definition);
        if is_new && is_laid_out_by_kernel(&self.result.symbols[id]) {
            self.result.laid_out_by_kernel.push(id);
        }
        if is_new && definition.is_some() {
            self.result.fate[mention.symbol] = Fate::Taken;
            return;
        }
        if !is_new {
            let symbol = &self.result.symbols[id];
            let is_initialised = |symbol: InputSymbolId| self.is_initialised(symbol);
            let known_initialised = symbol.definition.is_some_and(is_initialised);
            let clashes = clash::variable(symbol, known_initialised, row, is_initialised(mention.symbol), mention.file);
            if self.result.imitations.contains(Imitation::DynamicSharedTwice) {
                self.clashes.extend(clash::settled_dynamic(symbol, row));
            }
            self.clashes.extend(clashes);
            if symbol.function.is_some() {
                return;
            }
        }
        match row.place() {
            Place::Undefined => {}
            Place::Common => self.common(id, mention),
            Place::Section(_) => self.define_variable(id, mention),
        }
    }

    /// Whether a definition has bytes, as opposed to starting as zero. Unified variables count as the latter.
    fn is_initialised(&self, symbol: InputSymbolId) -> bool {
        match self.row(symbol).place() {
            Place::Section(section) => !matches!(self.inputs.sections()[section].role, Role::GlobalZero | Role::UnifiedData),
            _ => false,
        }
    }

    /// Whether a definition is in global memory.
    fn is_global_memory(&self, symbol: InputSymbolId) -> bool {
        match self.row(symbol).place() {
            Place::Section(section) => {
                matches!(self.inputs.sections()[section].role, Role::GlobalZero | Role::GlobalData | Role::UnifiedData)
            }
            _ => false,
        }
    }

    /// Whether what is defined in a section gets into the link at all: not what belongs to the code of a discarded definition.
    fn has_home(&self, section: InputSectionId) -> bool {
        let row = &self.inputs.sections()[section];
        match (row.role, row.target) {
            // All definitions of a kernel share one section of parameters.
            (Role::FunctionConstants(0), _) => true,
            (Role::FunctionConstants(_), Some(code)) => {
                matches!(self.result.code_fate(self.inputs, code), Fate::Taken | Fate::Replaced)
            }
            // Whole programs have an empty one, and a symbol in it.
            (Role::ReservedShared, _) => row.size > 0,
            (Role::KernelShared, Some(code)) => self.inputs.sections()[code].owner.is_some(),
            _ => true,
        }
    }

    /// A tentative definition: the largest size prevails, with the first one's alignment. Definitions that only say that
    /// the variable starts as zero are as good as tentative.
    fn common(&mut self, id: SymbolId, mention: Mention) {
        let row = self.row(mention.symbol);
        let definition = self.result.symbols[id].definition;
        if definition.is_some_and(|definition| self.is_initialised(definition)) {
            return;
        }
        if let Some(definition) = definition {
            self.result.fate[definition] = Fate::Replaced;
        }
        let symbol = &mut self.result.symbols[id];
        symbol.definition = None;
        if symbol.common_align.is_some() {
            symbol.size = symbol.size.max(row.size);
        } else {
            // `load` has checked that it is small.
            symbol.common_align = Some(u32::try_from(row.value).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN));
            symbol.size = row.size;
            self.result.commons.push(id);
        }
    }

    fn define_variable(&mut self, id: SymbolId, mention: Mention) {
        let row = self.row(mention.symbol);
        let symbol = &self.result.symbols[id];
        let fate = match symbol.definition {
            // It remains tentative, and this definition's bytes are unused.
            None if symbol.common_align.is_some() && !self.is_initialised(mention.symbol) => {
                if row.binding == Binding::WEAK {
                    Fate::Discarded
                } else {
                    Fate::Replaced
                }
            }
            None => Fate::Taken,
            Some(earlier) if symbol.binding == Binding::WEAK && row.binding == Binding::GLOBAL => {
                self.result.fate[earlier] = Fate::Replaced;
                if self.is_global_memory(earlier) {
                    self.result.variable_replaced_by.insert(id, mention.file);
                }
                Fate::Taken
            }
            Some(_) => Fate::Discarded,
        };
        if fate == Fate::Taken {
            self.result.symbols[id].common_align = None;
            self.define(id, mention);
        }
        // Of two weak definitions, the second one's value is discarded; not so if the first one is strong.
        let both_weak = self.result.symbols[id].binding == Binding::WEAK && row.binding == Binding::WEAK;
        if let (Fate::Discarded, true, Place::Section(section)) = (fate, both_weak, row.place()) {
            self.result.discarded_ranges.entry(section).or_default().push(row.value..row.value + row.size);
        }
        self.result.has_discarded_definitions |= fate == Fate::Discarded;
        self.result.fate[mention.symbol] = fate;
    }

    /// Weak definitions of a kernel must have parameters of the same size.
    fn parameters(&mut self, file: FileId) {
        for id in self.inputs.files()[file].sections.iter() {
            let section = &self.inputs.sections()[id];
            let (Role::FunctionConstants(0), Some(code)) = (section.role, section.target) else { continue };
            let owner = self.inputs.sections()[code].owner;
            let Some(function) = owner.and_then(|owner| self.result.function(owner)) else { continue };
            let symbol = &self.result.symbols[self.result.functions[function].symbol];
            match self.result.functions[function].parameters {
                None => self.result.functions[function].parameters = Some(section.size),
                Some(size) if size != section.size && symbol.binding == Binding::WEAK => {
                    self.clashes.push(Clash::Parameters { name: symbol.name(self.inputs) });
                }
                Some(_) => {}
            }
        }
    }

    /// Every mention of a function must have the same prototype; the last one prevails. What a taken address says is believed until the next
    /// mention. Prototypes of driver functions are not compared: compilers have not always said the same of their registers.
    fn prototypes(&mut self, file: FileId) {
        for record in &self.inputs.files()[file].calls {
            let (function, prototype, is_address) = match *record {
                CallRecord::Prototype { function, prototype } => (function, prototype, false),
                CallRecord::AddressTaken { function, prototype } => (function, prototype, true),
                _ => continue,
            };
            let Some(id) = self.result.function(function) else { continue };
            let known = self.result.functions[id].prototype;
            let symbol = &self.result.symbols[self.result.functions[id].symbol];
            let name = symbol.name(self.inputs);
            let differs = |known: &str| {
                known != prototype && !(is_driver_function(name) && without_registers(known) == without_registers(prototype))
            };
            if !is_address && known.is_some_and(differs) {
                self.clashes.push(Clash::Prototype { name, first: symbol.named_after });
            } else {
                self.result.functions[id].prototype = Some(prototype);
            }
        }
    }

    /// Says what does not fit together, and ends the link.
    fn report_clashes(&self, file: FileId, report: &mut Report) -> Result<Resolution<'data>, Failure> {
        Clash::describe_all(&self.clashes, self.inputs, file).for_each(|diagnostic| report.add(diagnostic));
        let function_over_variable = self.clashes.iter().any(Clash::confuses_call_graph);
        let message = if function_over_variable { Message::NoCallGraphNode {} } else { Message::MergeFailed {} };
        let file = self.inputs.files()[file].name;
        report.fatal(Diagnostic::new(message).headline(format!("'{file}' can not be in one program with the objects before it")))
    }
}

/// The part of a prototype that says what a function takes and returns.
fn without_registers(prototype: &str) -> &str {
    prototype.split('|').next().unwrap_or(prototype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_put_in_order() {
        let mut ranges = vec![8..12, 0..4, 20..24, 2..6, 12..16, 21..22];
        put_in_order(&mut ranges);
        assert_eq!(ranges, [0..6, 8..16, 20..24]);
    }
}
