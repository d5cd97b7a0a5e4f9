//! Resolve: what every name means.
//!
//! Objects are taken in link order, and in each object first the functions, then everything else; the first mention of a
//! name fixes its place in the output's symbol table for good. A definition that comes later than another one of the same
//! name is *lost* (the earlier one stays) or *replaces* the earlier one: a strong definition replaces a weak one, and of two
//! weak functions the one with fewer registers wins, then the one compiled for the newer virtual architecture, then the first.
//!
//! What became of each definition is kept, not only who won: a lost or replaced copy leaves traces in the output (its bytes
//! in a data section, its frame in the debug information, its call edges).

use super::load::{InputSymbol, Inputs, OTHER_KERNEL, Place, Role, is_shared};
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FileId, FunctionId, Id, IdVec, InputSectionId, InputSymbolId, SymbolId};
use cubin::symbol::{Binding, SymbolKind};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// The meaning of every symbol of every input.
#[derive(Debug)]
pub struct Resolution<'data> {
    symbols: IdVec<SymbolId, Symbol<'data>>,
    functions: IdVec<FunctionId, Function>,
    meaning: IdVec<InputSymbolId, Option<SymbolId>>,
    fate: IdVec<InputSymbolId, Fate>,
    commons: Vec<SymbolId>,
    replaced_before: HashMap<FunctionId, FileId>,
}

/// A name, or one local symbol, and what it means.
#[derive(Clone, Debug)]
pub struct Symbol<'data> {
    /// Its name.
    pub name: &'data str,
    /// In which part of the symbol table it stands.
    pub part: Part,
    /// Local, weak or global.
    pub binding: Binding,
    /// Function, variable, texture...
    pub kind: SymbolKind,
    /// Memory space, visibility, and whether a function is a kernel.
    pub other: u8,
    /// Its size.
    pub size: u64,
    /// Where it was mentioned first.
    pub first: Mention,
    /// The definition that counts.
    pub definition: Option<Mention>,
    /// Set while every definition is tentative: the alignment it needs.
    pub common_align: Option<u64>,
    /// For shared variables: the alignment it needs.
    pub shared_align: u64,
    /// The function it is.
    pub function: Option<FunctionId>,
}

/// A symbol of an input, and that input.
#[derive(Copy, Clone, Debug)]
pub struct Mention {
    /// The object.
    pub file: FileId,
    /// Its symbol.
    pub symbol: InputSymbolId,
}

/// The two parts of a symbol table.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Part {
    /// Local and weak symbols, and sections.
    Local,
    /// Global symbols, and names that were undefined when they were mentioned first.
    Global,
}

/// A function, in order of first mention.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Whether it is a kernel.
    pub kernel: bool,
    /// The function whose code it names as well, when it is an alias.
    pub alias_of: Option<FunctionId>,
}

/// What became of a definition.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It defines nothing.
    Reference,
    /// It is the definition that counts.
    Taken,
    /// It counted until a later one replaced it.
    Replaced,
    /// An earlier one stayed.
    Lost,
}

impl<'data> Resolution<'data> {
    /// The symbols, in order of first mention.
    pub fn symbols(&self) -> &IdVec<SymbolId, Symbol<'data>> {
        &self.symbols
    }

    /// The functions, in order of first mention.
    pub fn functions(&self) -> &IdVec<FunctionId, Function> {
        &self.functions
    }

    /// What a symbol of an input means; nothing for section symbols, deleted ones, and those of lost copies.
    pub fn meaning(&self, symbol: InputSymbolId) -> Option<SymbolId> {
        self.meaning[symbol]
    }

    /// The function that a symbol of an input means.
    pub fn function(&self, symbol: InputSymbolId) -> Option<FunctionId> {
        self.meaning[symbol].and_then(|id| self.symbols[id].function)
    }

    /// What became of a definition.
    pub fn fate(&self, symbol: InputSymbolId) -> Fate {
        self.fate[symbol]
    }

    /// The variables that have only tentative definitions, in order of the first of those.
    pub fn commons(&self) -> impl DoubleEndedIterator<Item = SymbolId> + '_ {
        self.commons.iter().copied().filter(|&id| self.symbols[id].common_align.is_some())
    }

    /// The name of a function.
    pub fn name(&self, function: FunctionId) -> &'data str {
        self.symbols[self.functions[function].symbol].name
    }

    /// The section with the code of a function, in the object whose definition counts.
    pub fn code(&self, inputs: &Inputs<'data>, function: FunctionId) -> Option<(FileId, InputSectionId)> {
        let definition = self.symbols[self.functions[function].symbol].definition?;
        match inputs.symbols()[definition.symbol].place {
            Place::Section(section) => Some((definition.file, section)),
            _ => None,
        }
    }

    /// What became of the code in a section: the fate of the function it is the body of.
    pub fn code_fate(&self, inputs: &Inputs<'data>, section: InputSectionId) -> Fate {
        inputs.sections()[section].owner.map_or(Fate::Reference, |owner| self.fate[owner])
    }

    /// Whether debug information of `file` about `function` speaks of a copy that was replaced, and so was dropped with it.
    ///
    /// The reference linker drops the explicit-addend relocations of debug sections together with those of the code, when
    /// the replaced code has any of its own.
    pub fn debug_reference_was_dropped(&self, function: FunctionId, file: FileId) -> bool {
        self.replaced_before.get(&function).is_some_and(|&by| file < by)
    }
}

/// Resolves all names.
pub fn resolve<'data>(inputs: &Inputs<'data>, report: &mut Report) -> Result<Resolution<'data>, Failure> {
    let mut resolver = Resolver {
        inputs,
        table: HashTable::with_capacity(inputs.symbols().len() / 2),
        hasher: FixedState::default(),
        had_relocations: HashMap::new(),
        result: Resolution {
            symbols: IdVec::new(),
            functions: IdVec::new(),
            meaning: IdVec::filled(None, inputs.symbols().len()),
            fate: IdVec::filled(Fate::Reference, inputs.symbols().len()),
            commons: Vec::new(),
            replaced_before: HashMap::new(),
        },
    };
    for (file, object) in inputs.files().enumerate() {
        for symbol in object.symbols.iter().filter(|&id| inputs.symbols()[id].is_function()) {
            resolver.function(Mention { file, symbol }, report);
        }
        for symbol in object.symbols.iter() {
            let row = &inputs.symbols()[symbol];
            if !row.is_function() && row.kind != SymbolKind::SECTION && !row.name.is_empty() {
                resolver.variable(Mention { file, symbol }, report);
            }
        }
        if report.has_errors() {
            return report.fatal(Message::MergeFailed {});
        }
    }
    Ok(resolver.result)
}

struct Resolver<'inputs, 'data> {
    inputs: &'inputs Inputs<'data>,
    table: HashTable<SymbolId>,
    hasher: FixedState,
    /// Whether some copy of a function that counted for a while had relocations with explicit addends.
    had_relocations: HashMap<FunctionId, bool>,
    result: Resolution<'data>,
}

impl<'data> Resolver<'_, 'data> {
    fn row(&self, mention: Mention) -> &InputSymbol<'data> {
        &self.inputs.symbols()[mention.symbol]
    }

    fn file_name(&self, mention: Mention) -> String {
        self.inputs.files()[mention.file].name.into()
    }

    /// The symbol that a mention means already.
    fn known(&self, name: &str) -> Option<SymbolId> {
        let symbols = &self.result.symbols;
        self.table.find(self.hasher.hash_one(name), |&id| symbols[id].name == name).copied()
    }

    /// Makes a symbol for a name that was not seen before, or for a local symbol.
    fn create(&mut self, mention: Mention) -> SymbolId {
        let row = &self.inputs.symbols()[mention.symbol];
        let defined = row.place != Place::Undefined;
        // A weak reference to something undefined is kept among the globals, as a global.
        let binding = if row.binding == Binding::WEAK && !defined { Binding::GLOBAL } else { row.binding };
        let id = self.result.symbols.push(Symbol {
            name: row.name,
            part: if binding == Binding::GLOBAL { Part::Global } else { Part::Local },
            binding,
            kind: row.kind,
            other: row.other,
            size: row.size,
            first: mention,
            definition: None,
            common_align: None,
            shared_align: row.value,
            function: None,
        });
        if row.binding != Binding::LOCAL {
            let symbols = &self.result.symbols;
            let hasher = &self.hasher;
            self.table.insert_unique(hasher.hash_one(row.name), id, |&other| hasher.hash_one(symbols[other].name));
        }
        id
    }

    fn find_or_create(&mut self, mention: Mention) -> (SymbolId, bool) {
        let row = self.row(mention);
        let known = if row.binding == Binding::LOCAL { None } else { self.known(row.name) };
        match known {
            Some(id) => (id, false),
            None => (self.create(mention), true),
        }
    }

    fn function(&mut self, mention: Mention, report: &mut Report) {
        let (id, is_new) = self.find_or_create(mention);
        self.result.meaning[mention.symbol] = Some(id);
        let row = &self.inputs.symbols()[mention.symbol];
        if is_new {
            let function = self.result.functions.push(Function {
                symbol: id,
                kernel: row.other & OTHER_KERNEL != 0,
                alias_of: self.aliased(mention),
            });
            self.result.symbols[id].function = Some(function);
        } else if !self.check_function(id, mention, report) {
            return;
        }
        let Place::Section(_) = row.place else { return };
        let Some(function) = self.result.symbols[id].function else { return };
        match self.result.symbols[id].definition {
            None => self.define(id, mention),
            Some(earlier) if self.replaces(id, earlier, mention) => {
                self.result.fate[earlier.symbol] = Fate::Replaced;
                if self.note_relocations(function, earlier) {
                    self.result.replaced_before.insert(function, mention.file);
                }
                self.define(id, mention);
            }
            Some(earlier) => {
                self.result.fate[mention.symbol] = Fate::Lost;
                if self.result.symbols[id].binding == Binding::GLOBAL && row.binding == Binding::GLOBAL {
                    report.say(Message::MultipleDefinition {
                        name: row.name.into(),
                        file: self.file_name(mention),
                        first: self.file_name(earlier),
                    });
                }
            }
        }
        let kernel = self.result.symbols[id].other & OTHER_KERNEL != 0;
        self.result.functions[function].kernel = kernel;
    }

    /// The function whose code an alias names: the one that a definition in the same section belongs to.
    fn aliased(&self, mention: Mention) -> Option<FunctionId> {
        let Place::Section(section) = self.row(mention).place else { return None };
        let owner = self.inputs.sections()[section].owner?;
        if owner == mention.symbol || self.result.fate[owner] != Fate::Taken { None } else { self.result.function(owner) }
    }

    /// Whether a further mention of a function agrees with what is known of the name.
    fn check_function(&self, id: SymbolId, mention: Mention, report: &mut Report) -> bool {
        let (known, row) = (&self.result.symbols[id], self.row(mention));
        if known.function.is_none() {
            report.say(Message::NoCallGraphNode {});
            return false;
        }
        if (known.other ^ row.other) & OTHER_KERNEL != 0 {
            report.say(Message::NotAKernelEverywhere { name: row.name.into() });
        }
        true
    }

    fn define(&mut self, id: SymbolId, mention: Mention) {
        let row = &self.inputs.symbols()[mention.symbol];
        let symbol = &mut self.result.symbols[id];
        symbol.definition = Some(mention);
        symbol.binding = row.binding;
        symbol.size = row.size;
        symbol.other = row.other;
        self.result.fate[mention.symbol] = Fate::Taken;
    }

    /// Whether a second definition of a function takes the place of the first.
    fn replaces(&self, id: SymbolId, earlier: Mention, later: Mention) -> bool {
        if self.result.symbols[id].binding != Binding::WEAK {
            return false;
        }
        let (old, new) = (self.row(earlier), self.row(later));
        if new.binding == Binding::GLOBAL {
            return true;
        }
        let virtual_sm = |mention: Mention| self.inputs.files()[mention.file].virtual_sm;
        match new.registers.cmp(&old.registers) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => virtual_sm(later) > virtual_sm(earlier),
            std::cmp::Ordering::Greater => false,
        }
    }

    /// Notes that a copy of a function is about to be replaced. Whether any copy that counted so far had relocations.
    fn note_relocations(&mut self, function: FunctionId, copy: Mention) -> bool {
        let Place::Section(code) = self.row(copy).place else { return false };
        let has = self.inputs.attached(code).any(|id| {
            let section = &self.inputs.sections()[id];
            section.role == (Role::Relocations { explicit_addends: true }) && section.size > 0
        });
        let had = self.had_relocations.entry(function).or_default();
        *had |= has;
        *had
    }

    fn variable(&mut self, mention: Mention, report: &mut Report) {
        let row = &self.inputs.symbols()[mention.symbol];
        if let Place::Section(section) = row.place
            && !self.has_home(section)
        {
            return;
        }
        let (id, is_new) = self.find_or_create(mention);
        self.result.meaning[mention.symbol] = Some(id);
        if !is_new && !self.check_variable(id, mention, report) {
            return;
        }
        match row.place {
            Place::Undefined => {}
            Place::Common => self.common(id, mention),
            Place::Section(_) => self.define_variable(id, mention, report),
        }
    }

    /// Whether what is defined in a section gets into the link at all: not what belongs to a lost function's code.
    fn has_home(&self, section: InputSectionId) -> bool {
        let row = &self.inputs.sections()[section];
        match (row.role, row.target) {
            (Role::FunctionConstants(_), Some(code)) => {
                matches!(self.result.code_fate(self.inputs, code), Fate::Taken | Fate::Replaced)
            }
            (Role::KernelShared, Some(code)) => self.inputs.sections()[code].owner.is_some(),
            _ => true,
        }
    }

    /// Whether a further mention of a variable agrees with what is known of the name.
    fn check_variable(&self, id: SymbolId, mention: Mention, report: &mut Report) -> bool {
        let (known, row) = (&self.result.symbols[id], self.row(mention));
        if known.function.is_some() {
            report.say(Message::SpaceMismatch {
                name: row.name.into(),
                file: self.file_name(mention),
                first: self.file_name(known.first),
            });
            return false;
        }
        let defined = row.place != Place::Undefined;
        let unknown_size = known.definition.is_none() && known.size == 0;
        if row.size != known.size
            && known.common_align.is_none()
            && row.place != Place::Common
            && (defined || row.size != 0)
            && !unknown_size
        {
            report.say(Message::SizeMismatch {
                name: row.name.into(),
                file: self.file_name(mention),
                first: self.file_name(known.first),
            });
        }
        true
    }

    /// A tentative definition: the largest size counts, with the first one's alignment.
    fn common(&mut self, id: SymbolId, mention: Mention) {
        let row = &self.inputs.symbols()[mention.symbol];
        let symbol = &mut self.result.symbols[id];
        if symbol.common_align.is_some() {
            symbol.size = symbol.size.max(row.size);
        } else if symbol.definition.is_none() {
            symbol.common_align = Some(row.value.max(1));
            symbol.size = row.size;
            self.result.commons.push(id);
        }
    }

    fn define_variable(&mut self, id: SymbolId, mention: Mention, report: &mut Report) {
        let row = &self.inputs.symbols()[mention.symbol];
        let symbol = &self.result.symbols[id];
        match symbol.definition {
            None => {
                if symbol.common_align.is_some() && row.size < symbol.size {
                    report.say(Message::CommonLargerThanDefinition { name: row.name.into(), file: self.file_name(symbol.first) });
                }
                self.result.symbols[id].common_align = None;
                self.define_keeping_attributes(id, mention);
            }
            Some(earlier) => match (symbol.binding, row.binding) {
                (Binding::GLOBAL, Binding::GLOBAL) => {
                    self.result.fate[mention.symbol] = Fate::Lost;
                    report.say(Message::MultipleDefinition {
                        name: row.name.into(),
                        file: self.file_name(mention),
                        first: self.file_name(earlier),
                    });
                }
                (Binding::WEAK, Binding::GLOBAL) => {
                    self.result.fate[earlier.symbol] = Fate::Replaced;
                    self.define_keeping_attributes(id, mention);
                }
                _ => self.result.fate[mention.symbol] = Fate::Lost,
            },
        }
    }

    /// Like `define`, but a variable keeps the memory space and visibility of its first mention.
    fn define_keeping_attributes(&mut self, id: SymbolId, mention: Mention) {
        let other = self.result.symbols[id].other;
        self.define(id, mention);
        self.result.symbols[id].other = other;
    }
}

/// Whether a symbol is a shared variable.
pub fn is_shared_variable(symbol: &Symbol<'_>) -> bool {
    symbol.function.is_none() && is_shared(symbol.other)
}

/// Whether the compiler marked a symbol as its own business: constants of one function, parameters.
pub fn is_internal(symbol: &Symbol<'_>) -> bool {
    symbol.other & 3 == 1 && !is_shared(symbol.other)
}

/// Whether a symbol is a texture, sampler or surface reference.
pub fn is_texture(symbol: &Symbol<'_>) -> bool {
    matches!(symbol.kind, SymbolKind::TEXTURE | SymbolKind::SAMPLER | SymbolKind::SURFACE)
}
