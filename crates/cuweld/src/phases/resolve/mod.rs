//! Resolve: symbol resolution, the prevailing definition of every symbol.
//!
//! Objects are walked in link order, and in each object first the functions, then everything else; the first mention of a
//! name fixes its position in the output's symbol table. A definition that comes later than another one of the same
//! name is *discarded* (the earlier one prevails) or *replaces* the earlier one: a strong definition replaces a weak one, and of two
//! weak functions the one with fewer registers wins, then the one compiled for the newer virtual architecture, then the first.
//!
//! The fate of each definition is kept, not only which one prevails: a discarded or replaced definition leaves traces in the output (its bytes
//! in a data section, its frame in the debug information, its call edges).

mod clash;
mod walk;

use super::intern::Interned;
use super::load::{InputSection, Inputs, Place, Role};
use crate::id::{FileId, FunctionId, IdMap, IdVec, InputSectionId, InputSymbolId, SymbolId};
use crate::imitations::{Imitation, Imitations};
use cubin::symbol::{Binding, SymbolKind, other};
use std::num::NonZeroU32;
use std::ops::Range;
pub use walk::resolve;

/// Debug sections that describe the bytes of code, and not the source.
pub const FOLLOWS_CODE: [&str; 3] = [".debug_frame", ".debug_line", ".nv_debug_line_sass"];

/// Symbol resolution: the prevailing definition of every symbol.
#[derive(Debug)]
pub struct Resolution<'data> {
    symbols: IdVec<SymbolId, Symbol>,
    interned: Interned,
    /// The symbols of names whose first mention has none, or was read later than others.
    late: IdMap<InputSymbolId, SymbolId>,
    functions: IdVec<FunctionId, Function<'data>>,
    meaning: IdVec<InputSymbolId, Option<SymbolId>>,
    fate: IdVec<InputSymbolId, Fate>,
    commons: Vec<SymbolId>,
    laid_out_by_kernel: Vec<SymbolId>,
    /// Where discarded variables are in each section, in order, without overlaps.
    discarded_ranges: IdMap<InputSectionId, Vec<Range<u64>>>,
    has_aliases: bool,
    has_discarded_definitions: bool,
    imitations: Imitations,
    replaced_before: IdMap<FunctionId, FileId>,
    variable_replaced_by: IdMap<SymbolId, FileId>,
}

/// A name, or one local symbol, and what it means.
#[derive(Clone, Debug)]
pub struct Symbol {
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
    pub first: InputSymbolId,
    /// The object that messages name: a variable's first mention, a function's first definition.
    pub named_after: FileId,
    /// The prevailing definition.
    pub definition: Option<InputSymbolId>,
    /// Set while every definition is tentative: the alignment it needs.
    pub common_align: Option<NonZeroU32>,
    /// The function it is.
    pub function: Option<FunctionId>,
}

// Hot: one per symbol.
const _: () = assert!(size_of::<Symbol>() == 32);

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
pub struct Function<'data> {
    /// Its name.
    name: &'data str,
    /// Its symbol.
    pub symbol: SymbolId,
    /// Whether it is a kernel.
    pub kernel: bool,
    /// The function whose code it names as well, when it is an alias.
    pub alias_of: Option<FunctionId>,
    /// The virtual architecture of its first definition, which later weak ones are compared with.
    virtual_sm: Option<u32>,
    /// The prototype that the first object that gave one gave it.
    prototype: Option<&'data str>,
    /// The size of the parameters of its first definition, if it is a kernel.
    pub parameters: Option<u64>,
}

/// The fate of a definition.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It defines nothing.
    Reference,
    /// It is the prevailing definition.
    Taken,
    /// It prevailed until a later one replaced it.
    Replaced,
    /// Discarded: an earlier one prevails.
    Discarded,
}

impl<'data> Resolution<'data> {
    /// The symbols, in order of first mention.
    pub fn symbols(&self) -> &IdVec<SymbolId, Symbol> {
        &self.symbols
    }

    /// What a name means, wherever it is not local.
    pub fn named(&self, inputs: &Inputs<'data>, name: &[u8]) -> Option<SymbolId> {
        self.interned.find(inputs, name).and_then(|first| self.meaning_of_name(first))
    }

    /// What a name means, given the first symbol that has it.
    fn meaning_of_name(&self, first: InputSymbolId) -> Option<SymbolId> {
        let late = || if self.late.is_empty() { None } else { self.late.get(&first).copied() };
        self.meaning[first].or_else(late)
    }

    /// The functions, in order of first mention.
    pub fn functions(&self) -> &IdVec<FunctionId, Function<'data>> {
        &self.functions
    }

    /// What a symbol of an input means; nothing for section symbols, deleted ones, and those of discarded definitions.
    pub fn meaning(&self, symbol: InputSymbolId) -> Option<SymbolId> {
        self.meaning[symbol]
    }

    /// The function that a symbol of an input means.
    pub fn function(&self, symbol: InputSymbolId) -> Option<FunctionId> {
        self.meaning[symbol].and_then(|id| self.symbols[id].function)
    }

    /// The fate of a definition.
    pub fn fate(&self, symbol: InputSymbolId) -> Fate {
        self.fate[symbol]
    }

    /// The variables that have only tentative definitions, in order of the first of those.
    pub fn commons(&self) -> impl DoubleEndedIterator<Item = SymbolId> + '_ {
        self.commons.iter().copied().filter(|&id| self.symbols[id].common_align.is_some())
    }

    /// Shared variables, textures, samplers and surfaces, in order of first mention.
    pub fn laid_out_by_kernel(&self) -> &[SymbolId] {
        &self.laid_out_by_kernel
    }

    /// Whether a relocation of `target` concerns only what did not get into the link, so that it is not even read.
    ///
    /// That is so for the frames and lines of a discarded definition of a function, and for the initial value of a discarded variable.
    #[inline] // Hot: one per relocation.
    pub fn ignores(&self, inputs: &Inputs<'data>, target: InputSectionId, offset: u64, symbol: InputSymbolId) -> bool {
        let section = &inputs.sections()[target];
        let is_in_discarded_variable = || {
            let ranges = self.discarded_ranges.get(&target).map(Vec::as_slice).unwrap_or_default();
            let next = ranges.partition_point(|range| range.end <= offset);
            ranges.get(next).is_some_and(|range| range.contains(&offset))
        };
        let is_discarded = self.fate[symbol] == Fate::Discarded;
        match section.role {
            Role::Debug => is_discarded && FOLLOWS_CODE.contains(&section.name) && inputs.symbols()[symbol].is_function(),
            Role::GlobalData | Role::UnifiedData => is_in_discarded_variable(),
            // The reference linker goes by the symbol that the relocation names, and so leaves pointers to weak functions
            // and variables null in constants that do count.
            Role::ModuleConstants(_) => {
                is_discarded && (self.imitations.contains(Imitation::NullPointersInConstants) || is_in_discarded_variable())
            }
            _ => false,
        }
    }

    /// Whether a relocation of `target` was forgotten when a later object's definition replaced the variable that it names: the
    /// reference linker does so in constants, and leaves null pointers there.
    #[inline] // Hot: one per relocation.
    pub fn forgets(&self, inputs: &Inputs<'data>, target: InputSectionId, symbol: InputSymbolId) -> bool {
        let is_constant = || matches!(inputs.sections()[target].role, Role::ModuleConstants(_));
        let replaced_by = || self.meaning[symbol].and_then(|id| self.variable_replaced_by.get(&id));
        self.imitations.contains(Imitation::ForgottenPointersInConstants)
            && is_constant()
            && replaced_by().is_some_and(|&by| target < inputs.files()[by].sections.first())
    }

    /// Whether any definition was discarded.
    pub fn has_discarded_definitions(&self) -> bool {
        self.has_discarded_definitions
    }

    /// Whether any function is an alias of another.
    pub fn has_aliases(&self) -> bool {
        self.has_aliases
    }

    /// The name of a function.
    pub fn name(&self, function: FunctionId) -> &'data str {
        self.functions[function].name
    }

    /// The section with the code of the prevailing definition of a function.
    pub fn code(&self, inputs: &Inputs<'data>, function: FunctionId) -> Option<InputSectionId> {
        let definition = self.symbols[self.functions[function].symbol].definition?;
        match inputs.symbols()[definition].place() {
            Place::Section(section) => Some(section),
            _ => None,
        }
    }

    /// The shared memory of a kernel, if its compiler has laid it out: that of a whole program's kernel.
    #[inline] // Hot: asked of every kernel, and of few programs.
    pub fn laid_out_shared<'inputs>(
        &self,
        inputs: &'inputs Inputs<'data>,
        kernel: FunctionId,
    ) -> Option<&'inputs InputSection<'data>> {
        if !inputs.has_whole_programs() {
            return None;
        }
        let code = self.code(inputs, kernel)?;
        let file = &inputs.files()[inputs.file_of_section(code)];
        let mut attached = inputs.attached(code).map(|section| &inputs.sections()[section]).filter(|_| file.is_whole_program);
        attached.find(|section| section.role == Role::KernelShared)
    }

    /// The fate of the code in a section: the fate of the function it is the body of.
    pub fn code_fate(&self, inputs: &Inputs<'data>, section: InputSectionId) -> Fate {
        inputs.sections()[section].owner.map_or(Fate::Reference, |owner| self.fate[owner])
    }

    /// Whether debug information of `file` about `function` is of a definition that was replaced, and so was dropped with it.
    ///
    /// The reference linker drops the explicit-addend relocations of debug sections together with those of the code, when
    /// the replaced code has any of its own.
    pub fn debug_reference_was_dropped(&self, function: FunctionId, file: FileId) -> bool {
        self.replaced_before.get(&function).is_some_and(|&by| file < by)
    }
}

impl Symbol {
    /// Its name.
    pub fn name<'data>(&self, inputs: &Inputs<'data>) -> &'data str {
        inputs.symbols()[self.first].name
    }

    /// Whether no object defines it, not even tentatively.
    pub fn is_undefined(&self) -> bool {
        self.definition.is_none() && self.common_align.is_none()
    }
}

/// Whether a symbol is a shared variable.
pub fn is_shared_variable(symbol: &Symbol) -> bool {
    symbol.function.is_none() && other::is_shared(symbol.other)
}

/// Whether a symbol is one of those whose address depends on which kernels use it.
pub fn is_laid_out_by_kernel(symbol: &Symbol) -> bool {
    is_shared_variable(symbol) || is_texture(symbol)
}

/// Whether a symbol is dynamic shared memory.
pub fn is_dynamic(symbol: &Symbol) -> bool {
    is_shared_variable(symbol) && symbol.definition.is_none() && symbol.size == 0
}

/// Whether a symbol is local to an object that does not define it: a question to the linker (`.nv.ptx.const0.size`).
pub fn is_leftover(symbol: &Symbol) -> bool {
    symbol.is_undefined() && symbol.binding == Binding::LOCAL && symbol.function.is_none()
}

/// Whether the compiler marked a symbol as internal: constants of one function, parameters.
pub fn is_internal(symbol: &Symbol) -> bool {
    other::is_internal(symbol.other) && !other::is_shared(symbol.other)
}

/// Whether a symbol has a name in the file wherever it is listed: nearly all have, but for some that are local or internal,
/// and shared variables.
pub fn is_named_in_any_case(symbol: &Symbol) -> bool {
    symbol.binding != Binding::LOCAL && !is_internal(symbol) && !is_shared_variable(symbol)
}

/// Whether a symbol is a texture, sampler or surface reference.
pub fn is_texture(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::TEXTURE | SymbolKind::SAMPLER | SymbolKind::SURFACE)
}
