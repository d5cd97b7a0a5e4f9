//! Load: parse every input object and check everything that later phases rely on.
//!
//! Raw ELF indices end here. What leaves this phase is one table of sections and one of symbols over all objects, whose
//! cross references are ids that are known to be good: a symbol's section, a relocation's symbol and the bytes it patches,
//! the function an attribute speaks of. An object that lies about any of them is refused here, by name, section and
//! offset, so that no later phase has to doubt its input.

mod arrange;
mod demand;
mod read;

pub use demand::Demand;

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::id::{FileId, Id, IdRange, IdVec, InputSectionId, InputSymbolId};
use crate::options::Options;
use crate::views::View;
use cubin::relocation::{Entries, RelocationType};
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind};
use cubin::target::Views;
use rayon::prelude::*;

/// An object to link: a name for messages and its bytes.
#[derive(Copy, Clone, Debug)]
pub struct Input<'data> {
    /// The name that messages use.
    pub name: &'data str,
    /// The object.
    pub bytes: &'data [u8],
    /// Whether it takes part in any case.
    pub demand: Demand,
}

impl<'data> Input<'data> {
    /// An object that takes part in any case.
    pub fn new(name: &'data str, bytes: &'data [u8]) -> Self {
        Input { name, bytes, demand: Demand::Always }
    }
}

/// The parsed inputs.
#[derive(Debug)]
pub struct Inputs<'data> {
    files: IdVec<FileId, ObjectFile<'data>>,
    sections: IdVec<InputSectionId, InputSection<'data>>,
    symbols: IdVec<InputSymbolId, InputSymbol<'data>>,
    /// Only where there are two views.
    machine_symbols: IdVec<InputSymbolId, MachineSymbol>,
    two_views: bool,
    left_out: Vec<usize>,
}

/// One object.
#[derive(Debug)]
pub struct ObjectFile<'data> {
    /// The name that messages use.
    pub name: &'data str,
    /// Its sections, as they are linked.
    pub sections: IdRange<InputSectionId>,
    /// The machine's side of those, where the object has two views of the program.
    pub machine_sections: IdRange<InputSectionId>,
    /// Its symbols.
    pub symbols: IdRange<InputSymbolId>,
    /// The GPU it was compiled for.
    pub sm: u32,
    /// The virtual architecture it was compiled for (the `.target` of its PTX).
    pub virtual_sm: Option<u32>,
    /// Its call graph and prototype records, in order.
    pub calls: Vec<CallRecord<'data>>,
    /// Its unified functions and variables, in the order of their records.
    pub unified: Vec<UnifiedEntry>,
}

/// A function or variable that has a place in a table which several programs share.
#[derive(Copy, Clone, Debug)]
pub struct UnifiedEntry {
    /// Which table.
    pub table: UnifiedTable,
    /// The function or variable.
    pub symbol: InputSymbolId,
    /// For variables: the offset in the object's own table.
    pub offset: u64,
    /// The first half of the identifier.
    pub first: u64,
    /// The second half of the identifier.
    pub second: u64,
}

/// The tables that several programs share.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum UnifiedTable {
    /// Stubs of functions.
    Functions,
    /// Variables.
    Variables,
}

/// A record of an object's call graph.
#[derive(Copy, Clone, Debug)]
pub enum CallRecord<'data> {
    /// A direct call.
    Call { caller: InputSymbolId, callee: InputSymbolId },
    /// The function's address is taken; calls through this prototype may reach it.
    AddressTaken { function: InputSymbolId, prototype: &'data str },
    /// A call through a pointer with this prototype.
    IndirectCall { caller: InputSymbolId, prototype: &'data str },
    /// The code of `caller`, or data it refers to, holds the address of `function`.
    Reference { caller: InputSymbolId, function: InputSymbolId },
    /// The prototype of a function whose address is not taken.
    Prototype { function: InputSymbolId, prototype: &'data str },
}

/// A section of an object.
#[derive(Debug)]
pub struct InputSection<'data> {
    /// Its name.
    pub name: &'data str,
    /// What it is for.
    pub role: Role,
    /// Its ELF type.
    pub kind: SectionType,
    /// Its ELF flags.
    pub flags: u64,
    /// Its alignment, at least 1.
    pub align: u64,
    /// Its size in memory.
    pub size: u64,
    /// Its bytes; none when it only takes room.
    pub data: &'data [u8],
    /// The section it belongs to: the code that info, constants or shared variables are for, or what relocations patch.
    pub target: Option<InputSectionId>,
    /// The sections that belong to this one, as a list in section order: its head.
    pub first_attached: Option<InputSectionId>,
    /// The next section that belongs to the same target.
    pub next_attached: Option<InputSectionId>,
    /// The function that code is the body of: the first symbol that is defined in it.
    pub owner: Option<InputSymbolId>,
    /// The machine's side of the section, where the object has two views of the program.
    pub machine: Option<InputSectionId>,
    /// For relocations: whether an entry after the first has no addend.
    pub later_entry_without_addend: bool,
}

impl<'data> InputSection<'data> {
    /// The entries of a section of relocations; none for any other.
    pub fn entries(&self) -> Entries<'data> {
        match self.role {
            Role::Relocations { explicit_addends } => Entries::in_data(self.data, explicit_addends),
            _ => Entries::in_data(&[], false),
        }
    }

    /// Whether it is the stub of a unified function.
    pub fn is_stub(&self) -> bool {
        self.kind == SectionType::UNIFIED_FUNCTIONS
    }
}

/// What an input section is for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Role {
    /// The code of one function.
    Text,
    /// Attributes that name their function themselves.
    ModuleInfo,
    /// Attributes of the function that `target` is the code of.
    FunctionInfo,
    /// Constants of the whole module, in this bank.
    ModuleConstants(u32),
    /// Constants of one function, in this bank.
    FunctionConstants(u32),
    /// Initialised variables.
    GlobalData,
    /// Variables that several programs share.
    UnifiedData,
    /// What is in a table that several programs share.
    UnifiedEntries(UnifiedTable),
    /// The index of those tables that an earlier relocatable link was given.
    UnifiedIndex,
    /// Variables that start as zero.
    GlobalZero,
    /// Shared variables of one kernel.
    KernelShared,
    /// Shared variables of the module and of device functions.
    ModuleShared,
    /// Shared variables of the system.
    ReservedShared,
    /// Debug information and other bytes that are not loaded.
    Debug,
    /// Relocations of `target`, with addends in the entries or without.
    Relocations { explicit_addends: bool },
    /// Notes of the tools that made the object.
    ToolNotes,
    /// Properties that decide on which GPUs the code runs.
    Compatibility,
    /// Symbol and string tables, and what `load` has read already.
    Structure,
}

/// Where a symbol is defined.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// Somewhere else.
    Undefined,
    /// Wherever the linker makes room for it: `value` is its alignment.
    Common,
    /// In this section.
    Section(InputSectionId),
}

/// A symbol of an object.
#[derive(Debug)]
pub struct InputSymbol<'data> {
    /// Its name; empty for some that the compiler deleted.
    pub name: &'data str,
    /// Where it is defined.
    pub place: Place,
    /// Its offset in that section; for shared and common variables their alignment.
    pub value: u64,
    /// Its size.
    pub size: u64,
    /// Local, weak or global.
    pub binding: Binding,
    /// Function, variable, section, texture...
    pub kind: SymbolKind,
    /// Memory space, visibility, and whether a function is a kernel.
    pub other: u8,
    /// For functions: how many registers the code uses.
    pub registers: u32,
    /// For functions: how many bytes of stack the code uses itself.
    pub frame: u32,
}

/// What the machine's view says of a symbol, where there are two.
#[derive(Copy, Clone, Debug)]
pub struct MachineSymbol {
    /// Its offset.
    pub value: u64,
    /// Its size.
    pub size: u64,
}

impl InputSymbol<'_> {
    /// Whether the symbol is a function, kernel or not.
    pub fn is_function(&self) -> bool {
        self.kind == SymbolKind::FUNCTION
    }
}

/// Bit of `other`: the function is a kernel.
pub const OTHER_KERNEL: u8 = 0x10;
/// Bits of `other`: the memory space of a variable.
const OTHER_SPACE: u8 = 0xe0;
/// The memory space of shared variables.
pub const SPACE_SHARED: u8 = 0x40;

/// Whether a variable with this `other` lives in shared memory.
pub fn is_shared(other: u8) -> bool {
    other & OTHER_SPACE == SPACE_SHARED
}

impl<'data> Inputs<'data> {
    /// Which of the given inputs are not needed and take no part, in ascending order.
    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }

    /// The objects, in link order.
    pub fn files(&self) -> &IdVec<FileId, ObjectFile<'data>> {
        &self.files
    }

    /// The sections of all objects.
    pub fn sections(&self) -> &IdVec<InputSectionId, InputSection<'data>> {
        &self.sections
    }

    /// The symbols of all objects.
    pub fn symbols(&self) -> &IdVec<InputSymbolId, InputSymbol<'data>> {
        &self.symbols
    }

    /// Offset and size of a symbol in the machine's view.
    pub fn machine_symbol(&self, symbol: InputSymbolId) -> MachineSymbol {
        match self.two_views {
            true => self.machine_symbols[symbol],
            false => MachineSymbol { value: self.symbols[symbol].value, size: self.symbols[symbol].size },
        }
    }

    /// The sections that belong to `section`, in section order.
    pub fn attached(&self, section: InputSectionId) -> impl Iterator<Item = InputSectionId> + '_ {
        std::iter::successors(self.sections[section].first_attached, |&id| self.sections[id].next_attached)
    }

    /// A section as a view has it; the section itself, where there is but one.
    pub fn in_view(&self, section: InputSectionId, view: View) -> Option<InputSectionId> {
        match view {
            View::Machine if self.two_views => self.sections[section].machine,
            _ => Some(section),
        }
    }

    /// The entries of a relocation section, with the symbols as ids.
    pub fn relocations(
        &self,
        file: FileId,
        section: InputSectionId,
    ) -> impl DoubleEndedIterator<Item = InputRelocation> + use<'data> {
        let first_symbol = self.files[file].symbols.first().index();
        self.sections[section].entries().map(move |entry| InputRelocation {
            offset: entry.offset,
            kind: entry.kind,
            symbol: (entry.symbol != 0).then(|| InputSymbolId::from_index(first_symbol + entry.symbol as usize)),
            addend: entry.addend,
        })
    }

    /// The object that a section comes from.
    pub fn file_of_section(&self, section: InputSectionId) -> FileId {
        let behind = self.files.as_slice().partition_point(|file| file.sections.first() <= section);
        FileId::from_index(behind.saturating_sub(1))
    }

    /// The symbol that a record of `file` means by this raw index. Only the machine's records may name one that is not there.
    pub fn symbol_of(&self, file: FileId, raw: u32) -> Option<InputSymbolId> {
        self.files[file].symbols.get(raw)
    }
}

/// A relocation entry whose symbol is an id.
#[derive(Copy, Clone, Debug)]
pub struct InputRelocation {
    /// Where in the target section.
    pub offset: u64,
    /// What to do there.
    pub kind: RelocationType,
    /// The symbol; none for entries that need none.
    pub symbol: Option<InputSymbolId>,
    /// The number to add to the symbol's address.
    pub addend: i64,
}

/// Checks whether an object may take part in a link at all: that it can be read, and is for the target.
///
/// What it holds is not looked at: that takes time, and [`load`] does it.
pub fn check(input: &Input<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    read::open(input, options).map(drop).or_else(|diagnostic| refuse(input, options, *diagnostic, report))
}

/// Refuses an object.
fn refuse<T>(input: &Input<'_>, options: &Options, diagnostic: Diagnostic, report: &mut Report) -> Result<T, Failure> {
    if matches!(diagnostic.message, Message::WrongArchitecture { .. }) && read::lacks_a_view(input, options.target) {
        report.say(Message::LimitedByInput { file: input.name.into(), number: options.target.number });
    }
    report.fatal(diagnostic)
}

/// Reads the inputs.
pub fn load<'data>(inputs: &[Input<'data>], options: &Options, report: &mut Report) -> Result<Inputs<'data>, Failure> {
    let results: Vec<_> = inputs.par_iter().map(|input| read::read(input, options)).collect();
    let mut parsed = Vec::with_capacity(results.len());
    for (result, input) in results.into_iter().zip(inputs) {
        match result {
            Ok(object) => parsed.push(object),
            Err(diagnostic) => return refuse(input, options, *diagnostic, report),
        }
    }
    let left_out = demand::left_out(inputs, &parsed, &options.keep);
    let two_views = options.target.views == Views::Two;
    let count = |rows: fn(&Parsed<'_>) -> usize| parsed.iter().flatten().map(rows).sum();
    let mut all = Inputs {
        files: IdVec::with_capacity(parsed.len()),
        sections: IdVec::with_capacity(count(|object| object.sections.len())),
        symbols: IdVec::with_capacity(count(|object| object.symbols.len())),
        machine_symbols: IdVec::with_capacity(count(|object| object.machine_symbols.len())),
        two_views,
        left_out,
    };
    for (index, object) in parsed.into_iter().enumerate() {
        if let Some(object) = object
            && all.left_out.binary_search(&index).is_err()
        {
            if let Some(found) = object.newer_toolkit {
                report.say(Message::NewerObject { file: object.file.name.into(), found, known: read::KNOWN_TOOLKIT });
            }
            object.append_to(&mut all);
        }
    }
    Ok(all)
}

/// One object with ids that count from its own start.
struct Parsed<'data> {
    file: ObjectFile<'data>,
    sections: Vec<InputSection<'data>>,
    symbols: Vec<InputSymbol<'data>>,
    machine_symbols: Vec<MachineSymbol>,
    /// The toolkit that made it, if it is newer than all that are known.
    newer_toolkit: Option<u32>,
}

impl<'data> Parsed<'data> {
    /// Moves the object behind those that are there already: every id moves up by what they hold.
    fn append_to(mut self, all: &mut Inputs<'data>) {
        let (section_base, symbol_base) = (all.sections.len(), all.symbols.len());
        let section = |id: InputSectionId| InputSectionId::from_index(section_base + id.index());
        let symbol = |id: InputSymbolId| InputSymbolId::from_index(symbol_base + id.index());
        for mut row in self.sections {
            row.target = row.target.map(section);
            row.first_attached = row.first_attached.map(section);
            row.next_attached = row.next_attached.map(section);
            row.machine = row.machine.map(section);
            row.owner = row.owner.map(symbol);
            all.sections.push(row);
        }
        for mut row in self.symbols {
            if let Place::Section(id) = row.place {
                row.place = Place::Section(section(id));
            }
            all.symbols.push(row);
        }
        for row in self.machine_symbols {
            all.machine_symbols.push(row);
        }
        for record in &mut self.file.calls {
            match record {
                CallRecord::Call { caller: a, callee: b } | CallRecord::Reference { caller: a, function: b } => {
                    *a = symbol(*a);
                    *b = symbol(*b);
                }
                CallRecord::AddressTaken { function: a, .. }
                | CallRecord::IndirectCall { caller: a, .. }
                | CallRecord::Prototype { function: a, .. } => *a = symbol(*a),
            }
        }
        for entry in &mut self.file.unified {
            entry.symbol = symbol(entry.symbol);
        }
        let range = |ids: &IdRange<InputSectionId>| IdRange::new(section(ids.first()), section(ids.end()));
        self.file.sections = range(&self.file.sections);
        self.file.machine_sections = range(&self.file.machine_sections);
        self.file.symbols = IdRange::new(InputSymbolId::from_index(symbol_base), all.symbols.next_id());
        all.files.push(self.file);
    }
}
