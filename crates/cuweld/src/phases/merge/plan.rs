//! The plan: which sections and symbols the output has, in which order, and from which pieces of the inputs.

use super::shared::SharedVariable;
use crate::id::{FunctionId, Id, IdMap, IdRange, IdVec, InputSectionId, SectionId, SymbolId};
use crate::sections::{Class, InViews, SectionKind};
use cubin::elf::SHN_LORESERVE;
use cubin::section::SectionType;
use std::fmt;

/// What the output is made of. Sections are in order of creation, which is the order of their names.
#[derive(Debug)]
pub struct Plan<'data> {
    pub(super) sections: IdVec<SectionId, OutputSection<'data>>,
    pub(super) locals: Vec<Local>,
    pub(super) globals: Vec<Globals>,
    pub(super) placement: IdVec<InputSectionId, Option<Placement>>,
    pub(super) functions: IdVec<FunctionId, FunctionSections>,
    pub(super) module_shared: Option<SectionId>,
    pub(super) global_zero: Option<SectionId>,
    pub(super) unified_stubs: Option<SectionId>,
    pub(super) reserved: IdMap<SymbolId, u64>,
    pub(super) taken: IdMap<InputSectionId, u64>,
    pub(super) null_symbol_value: u64,
    pub(super) first_of_inputs: SectionId,
    pub(super) skips_creation_number: bool,
    pub(super) twice_numbered: Vec<SectionId>,
    pub(super) fixed: Fixed,
    pub(super) shared_variables: Vec<SharedVariable>,
}

/// The sections that every file has, and others refer to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fixed {
    /// Section numbers of symbols that have no room for them.
    pub section_numbers: SectionId,
    /// The notes of the tools.
    pub tool_notes: Option<SectionId>,
    /// The note of the toolkit and the virtual architecture.
    pub cuda_note: Option<SectionId>,
    /// What decides on which GPUs the code runs.
    pub compatibility: Option<SectionId>,
}

impl<'data> Plan<'data> {
    /// The sections, in order of creation.
    pub fn sections(&self) -> &IdVec<SectionId, OutputSection<'data>> {
        &self.sections
    }

    /// The local part of the symbol table, in order.
    pub fn locals(&self) -> &[Local] {
        &self.locals
    }

    /// The global part of the symbol table, in order.
    pub fn globals(&self) -> &[Globals] {
        &self.globals
    }

    /// The output section and offset of an input section.
    pub fn placement(&self, section: InputSectionId) -> Option<Placement> {
        self.placement[section]
    }

    /// The output section and offset of an input section, if it is in one.
    pub fn at(&self, section: InputSectionId) -> Option<At> {
        match self.placement[section] {
            Some(Placement::At(at)) => Some(at),
            _ => None,
        }
    }

    /// Says where an input section goes.
    pub(super) fn place(&mut self, input: InputSectionId, section: SectionId, offset: u64) {
        self.placement[input] = Some(Placement::At(At { section, offset }));
    }

    /// Input sections of output sections that were discarded since are dropped.
    pub(super) fn drop_discarded(&mut self) {
        if !self.sections.iter().any(|section| section.is_discarded) {
            return;
        }
        for placement in self.placement.iter_mut().flatten() {
            if let Placement::At(At { section, offset }) = *placement
                && self.sections[section].is_discarded
            {
                *placement = Placement::Dropped { offset };
            }
        }
    }

    /// How many bytes of an input section are taken, if not all.
    pub fn taken(&self, section: InputSectionId) -> Option<u64> {
        self.taken.get(&section).copied()
    }

    /// The output sections of a function.
    pub fn function(&self, function: FunctionId) -> &FunctionSections {
        &self.functions[function]
    }

    /// The section of shared variables that belong to no single kernel.
    pub fn module_shared(&self) -> Option<SectionId> {
        self.module_shared
    }

    /// Definitions of shared variables, in the order in which the walk met them.
    pub fn shared_variables(&self) -> &[SharedVariable] {
        &self.shared_variables
    }

    /// The section of variables that start as zero.
    pub fn global_zero(&self) -> Option<SectionId> {
        self.global_zero
    }

    /// The section with the section numbers of symbols that have no room for them.
    pub fn section_numbers(&self) -> SectionId {
        self.fixed.section_numbers
    }

    /// The section with the notes of the tools.
    pub fn tool_notes(&self) -> Option<SectionId> {
        self.fixed.tool_notes
    }

    /// The table of the stubs of unified functions, in an executable.
    pub fn unified_stubs(&self) -> Option<SectionId> {
        self.unified_stubs
    }

    /// The section with the note of the toolkit.
    pub fn cuda_note(&self) -> Option<SectionId> {
        self.fixed.cuda_note
    }

    /// The section that says on which GPUs the code runs.
    pub fn compatibility(&self) -> Option<SectionId> {
        self.fixed.compatibility
    }

    /// The offset of a shared variable of the system in its section.
    pub fn reserved(&self, symbol: SymbolId) -> Option<u64> {
        self.reserved.get(&symbol).copied()
    }

    /// The number that the reference linker gives a section when it creates it, which its table of large section numbers shows.
    ///
    /// Counted from 1; in an executable one number is skipped after the sections that every file starts with. Where there are two
    /// views, a section that is made for relocations without addends, which then stays empty, takes two numbers.
    pub fn creation_number(&self, section: SectionId) -> u32 {
        let number = section.index() + 1 + self.twice_numbered.partition_point(|&twice| twice < section);
        let skipped = self.skips_creation_number && section >= self.first_of_inputs;
        (number + usize::from(skipped)) as u32
    }

    /// Whether section numbers outgrow the 16 bits that symbols have for them: counted as the sections are created, although some
    /// of them may be left out of the file.
    pub fn has_large_numbers(&self) -> bool {
        let last = self.sections.enumerate().rfind(|(_, section)| section.kind.in_views() != InViews::MachineOnly);
        last.is_some_and(|(last, _)| self.creation_number(last) >= u32::from(SHN_LORESERVE))
    }

    /// The value of the symbol table's null entry: nothing, except where the reference linker leaves an offset there.
    pub fn null_symbol_value(&self) -> u64 {
        self.null_symbol_value
    }
}

/// An entry of the local part of the symbol table.
#[derive(Copy, Clone, Debug)]
pub enum Local {
    /// The symbol of a section.
    Section(SectionId),
    /// A local or weak symbol.
    Symbol(SymbolId),
    /// Where a kernel's dynamic shared memory starts, as a relocatable output of the reference linker has it.
    SharedInstance(FunctionId),
}

/// Symbols of the global part one after the other. There are never so many that another thread should have some of them.
#[derive(Copy, Clone, Debug)]
pub struct Globals {
    /// The symbols.
    pub symbols: IdRange<SymbolId>,
    /// Whether there is nothing that could keep them out of the file.
    pub stay: bool,
}

/// The output section and offset of an input section.
#[derive(Copy, Clone, Debug)]
pub enum Placement {
    /// Into an output section.
    At(At),
    /// Into the constant banks of the kernels that reach it, at the same offset in each. The section that was made for it is discarded.
    InBanks {
        /// The offset.
        offset: u64,
    },
    /// Nowhere: the section that was made for it is discarded.
    Dropped {
        /// Its offset in that section.
        offset: u64,
    },
}

/// An output section, and an offset in it.
#[derive(Copy, Clone, Debug)]
pub struct At {
    /// The section.
    pub section: SectionId,
    /// The offset.
    pub offset: u64,
}

/// The output sections that belong to a function.
#[derive(Copy, Clone, Debug, Default)]
pub struct FunctionSections {
    /// Its code.
    pub text: Option<SectionId>,
    /// Its info records.
    pub info: Option<SectionId>,
    /// Its shared memory.
    pub shared: Option<SectionId>,
    /// Its parameters.
    pub parameters: Option<SectionId>,
    /// The relocations that fill the texture slots after its parameters.
    pub texture_relocations: Option<SectionId>,
    /// The constants that the compiler made for it.
    pub constants: Option<SectionId>,
}

/// A section of the output.
#[derive(Debug)]
pub struct OutputSection<'data> {
    /// Its name.
    pub name: Name<'data>,
    /// The kind, which answers questions about it.
    pub kind: &'static dyn SectionKind,
    /// The function that it belongs to, if it does to one.
    pub function: Option<FunctionId>,
    /// Whether it is discarded: all its input sections were moved to the banks of kernels.
    pub is_discarded: bool,
    /// Its type in a relocatable file.
    pub section_type: SectionType,
    /// Its flags.
    pub flags: u64,
    /// Its alignment, as far as its pieces ask for it.
    pub align: u64,
    /// The size of an entry, for tables.
    pub entry_size: u32,
    /// The size of its pieces.
    pub size: u64,
    /// The section it belongs to.
    pub target: Option<SectionId>,
    /// The sections with its relocations.
    pub relocations: RelocationSections,
    /// The pieces it is made of, in order.
    pub pieces: Pieces,
}

impl OutputSection<'_> {
    /// Where in the file it stands, and how it is loaded.
    pub fn class(&self) -> Class {
        self.kind.class(self)
    }

    /// The function whose code it is.
    pub fn code_of(&self) -> Option<FunctionId> {
        self.function.filter(|_| self.kind.in_views() == InViews::EachAsCode)
    }
}

/// The sections with the relocations of a section.
#[derive(Copy, Clone, Debug, Default)]
pub struct RelocationSections {
    /// Those without addends.
    pub implicit: Option<SectionId>,
    /// Those with addends.
    pub explicit: Option<SectionId>,
    /// Those that were applied, for `-preserve-relocs`.
    pub resolved: Option<SectionId>,
}

/// A piece of an output section.
#[derive(Copy, Clone, Debug)]
pub struct Piece {
    /// The input section it is.
    pub section: InputSectionId,
    /// Its offset in the output section.
    pub offset: u64,
    /// The section that was made for it, if it has moved from there when all pieces were known.
    pub origin: Option<SectionId>,
    /// Whether it was replaced, and nothing is left of it but its relocations.
    pub is_replaced: bool,
    /// Whether that is because it equals an earlier one.
    pub is_equal: bool,
}

impl Piece {
    /// A piece that is where its section says.
    pub fn new(section: InputSectionId, offset: u64) -> Self {
        Piece { section, offset, origin: None, is_replaced: false, is_equal: false }
    }
}

/// The pieces of a section: nearly always none or one, so that one needs no allocation.
#[derive(Clone, Debug, Default)]
pub enum Pieces {
    /// None.
    #[default]
    None,
    /// One.
    One(Piece),
    /// Several.
    Many(Vec<Piece>),
}

impl Pieces {
    /// A single piece, at the start.
    pub fn one(section: InputSectionId) -> Self {
        Pieces::One(Piece::new(section, 0))
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: Piece) {
        match self {
            Pieces::None => *self = Pieces::One(piece),
            Pieces::One(first) => *self = Pieces::Many(vec![*first, piece]),
            Pieces::Many(pieces) => pieces.push(piece),
        }
    }

    /// The pieces in the order of their relocations: the newest first, but what moved here later follows, as it came.
    pub fn newest_first(&self) -> Pieces {
        let mut pieces = self.clone();
        if let Pieces::Many(pieces) = &mut pieces {
            pieces.chunk_by_mut(|a, b| a.origin == b.origin).for_each(<[Piece]>::reverse);
        }
        pieces
    }

    /// Leaves out the last piece, but for its relocations, as it equals an earlier one.
    pub fn leave_out(&mut self) {
        let last = match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Many(pieces) => pieces.last_mut(),
        };
        if let Some(piece) = last {
            (piece.is_replaced, piece.is_equal) = (true, true);
        }
    }

    /// Marks all pieces as replaced by what comes.
    pub fn replace(&mut self) {
        match self {
            Pieces::None => {}
            Pieces::One(piece) => piece.is_replaced = true,
            Pieces::Many(pieces) => pieces.iter_mut().for_each(|piece| piece.is_replaced = true),
        }
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Piece> + '_ {
        self.as_slice().iter().copied().filter(|piece| !piece.is_replaced)
    }

    /// The pieces, in order, and what was replaced.
    pub fn with_replaced(&self) -> impl DoubleEndedIterator<Item = Piece> + '_ {
        self.as_slice().iter().copied()
    }

    fn as_slice(&self) -> &[Piece] {
        match self {
            Pieces::None => &[],
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        }
    }
}

/// The name of an output section, in parts, because most are made from a function's name and are written out only once.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Name<'data> {
    /// `.rela` and the like, or nothing.
    pub relocation: &'static str,
    /// `.text.` and the like, or nothing.
    pub prefix: &'static str,
    /// The name of a function, or the whole name.
    pub stem: &'data str,
}

impl<'data> Name<'data> {
    /// A name that is not made of parts.
    pub const fn plain(stem: &'data str) -> Self {
        Name { relocation: "", prefix: "", stem }
    }

    /// A name made from a function's.
    pub const fn of_function(prefix: &'static str, function: &'data str) -> Self {
        Name { relocation: "", prefix, stem: function }
    }

    /// The name of a section with relocations of the section with this name.
    pub const fn relocation(self, relocation: &'static str) -> Self {
        Name { relocation, ..self }
    }

    /// The parts to write one after the other.
    pub fn parts(&self) -> [&'data str; 3] {
        [self.relocation, self.prefix, self.stem]
    }

    /// The length of the whole name.
    pub fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().iter().try_for_each(|part| out.write_str(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_sections_take_two_creation_numbers() {
        let id = SectionId::from_index;
        let mut plan = Plan {
            sections: IdVec::new(),
            locals: Vec::new(),
            globals: Vec::new(),
            placement: IdVec::new(),
            functions: IdVec::new(),
            module_shared: None,
            global_zero: None,
            unified_stubs: None,
            reserved: IdMap::default(),
            taken: IdMap::default(),
            null_symbol_value: 0,
            first_of_inputs: id(8),
            skips_creation_number: true,
            twice_numbered: vec![id(10), id(12)],
            fixed: Fixed { section_numbers: id(3), tool_notes: Some(id(4)), cuda_note: Some(id(5)), compatibility: None },
            shared_variables: Vec::new(),
        };
        let numbers = |plan: &Plan<'_>| [0, 7, 8, 10, 11, 12, 13].map(|index| plan.creation_number(id(index)));
        assert_eq!(numbers(&plan), [1, 8, 10, 12, 14, 15, 17]);
        plan.skips_creation_number = false;
        assert_eq!(numbers(&plan), [1, 8, 9, 11, 13, 14, 16]);
    }
}
