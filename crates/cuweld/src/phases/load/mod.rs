//! Load: parse every input object and check everything that later phases rely on.
//!
//! Raw ELF indices end here. What leaves this phase is one table of sections and one of symbols over all objects, whose
//! cross references are ids that are known to be good: a symbol's section, a relocation's symbol and the bytes it patches,
//! the function of an attribute record. An object that is wrong about any of them is rejected here, by name, section and
//! offset, so that later phases can trust their input.

mod arrange;
mod demand;
mod read;
mod rows;
mod variables;

pub use demand::Demand;
pub use rows::LeastMemory;
pub use variables::{Stretch, Variables};

use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::id::{FileId, Id, IdRange, IdVec, InputSectionId, InputSymbolId};
use crate::inputs::Packed;
use crate::options::Options;
use crate::views::View;
use cubin::read::Counts;
use cubin::release::Release;
use cubin::relocation::{Entries, RelocationType};
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind};
use cubin::target::Views;
use foldhash::fast::RandomState;
use rayon::prelude::*;
use rows::{Rows, blank};
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// An object to link: a name for messages and its bytes.
#[derive(Copy, Clone, Debug)]
pub struct Input<'data> {
    /// The name that messages use.
    pub name: &'data str,
    /// The object.
    pub contents: Contents<'data>,
    /// Whether it takes part in any case.
    pub demand: Demand,
}

/// The contents of an object.
#[derive(Copy, Clone, Debug)]
pub enum Contents<'data> {
    /// At hand.
    Here(&'data [u8]),
    /// To be unpacked if a function is missing without the object.
    Packed(&'data Packed<'data>),
}

impl<'data> Input<'data> {
    /// An object that takes part in any case.
    pub fn new(name: &'data str, bytes: &'data [u8]) -> Self {
        Input { name, contents: Contents::Here(bytes), demand: Demand::Always }
    }

    fn is_packed(&self) -> bool {
        matches!(self.contents, Contents::Packed(packed) if packed.unpacked().is_none())
    }

    /// Its bytes; none of an object that is still packed.
    fn bytes(&self) -> &'data [u8] {
        match self.contents {
            Contents::Here(bytes) => bytes,
            Contents::Packed(packed) => packed.unpacked().unwrap_or_default(),
        }
    }
}

/// The parsed inputs.
#[derive(Debug)]
pub struct Inputs<'data> {
    files: IdVec<FileId, ObjectFile<'data>>,
    sections: IdVec<InputSectionId, InputSection<'data>>,
    symbols: IdVec<InputSymbolId, InputSymbol<'data>>,
    name_hashes: IdVec<InputSymbolId, u32>,
    /// Only where there are two views.
    machine_symbols: IdVec<InputSymbolId, MachineSymbol>,
    two_views: bool,
    release: &'static Release,
    has_whole_programs: bool,
    left_out: Vec<usize>,
    /// Whether a function was missing before the device runtime library was taken.
    lacks_a_function: bool,
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
    /// How many of the machine's side stand before `.nv.compat` in the file, where it has that and two views.
    pub in_front_of_compatibility: Option<usize>,
    /// Its symbols.
    pub symbols: IdRange<InputSymbolId>,
    /// Those of them that are functions, in order, but for inner ones: these come after the function whose code they are part of.
    pub functions: Vec<InputSymbolId>,
    /// Those of them that are plain variables, in order.
    pub variables: Vec<Variables>,
    /// How many of them define something, sections aside.
    pub definitions: usize,
    /// The GPU it was compiled for.
    pub sm: u32,
    /// The virtual architecture it was compiled for (the `.target` of its PTX).
    pub virtual_sm: Option<u32>,
    /// Its call graph and prototype records, in order.
    pub calls: Vec<CallRecord<'data>>,
    /// Its unified functions and variables, in the order of their records.
    pub unified: Vec<UnifiedEntry>,
    /// Whether it is a whole program that leaves only library functions to be linked (`nvcc -ewp`): its shared memory is laid out.
    pub is_whole_program: bool,
    /// Functions whose stack size is unknown according to the object: recursions of whole programs.
    pub unknown_stacks: Vec<InputSymbolId>,
    /// Whether it is a part of the device runtime library.
    pub is_runtime: bool,
    /// The toolkit that made it, as it records it: 130 for CUDA 13.0.
    pub toolkit: Option<u32>,
    /// Whether it should say that its addresses have 64 bits, and does not.
    pub lacks_address_size: bool,
}

/// A function or variable that has an entry in a table which several programs share.
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
    /// What section its section is linked to.
    pub link: u32,
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
#[derive(Clone, Debug)]
pub struct InputSection<'data> {
    /// Its name.
    pub name: &'data str,
    /// What it is for.
    pub role: Role,
    /// Its ELF type.
    pub kind: SectionType,
    /// Its ELF flags.
    pub flags: u64,
    align: u32,
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
    /// The function that code is the body of: the first symbol that is defined at its start.
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

    /// Its alignment, at least 1.
    pub fn align(&self) -> u64 {
        self.align.into()
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
    ModuleConstants(u8),
    /// Constants of one function, in this bank.
    FunctionConstants(u8),
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

/// What a symbol is that no section holds.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Homeless {
    /// Defined somewhere else, if it is not in a section after all.
    Undefined,
    /// Defined wherever the linker makes room for it.
    Common,
    /// Dynamic shared memory that a relocatable output of the reference linker puts into a section, where it has no size.
    SettledDynamic,
}

/// A symbol of an object. Kept small: there is one per symbol of every input.
#[derive(Clone, Debug)]
pub struct InputSymbol<'data> {
    /// Its name; empty for some that the compiler deleted.
    pub name: &'data str,
    section: Option<InputSectionId>,
    homeless: Homeless,
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

const _: () = assert!(size_of::<InputSection<'_>>() == 80);
const _: () = assert!(size_of::<InputSymbol<'_>>() == 48);

/// How names are hashed: in every run differently, so that no file can be made whose names all collide.
static NAME_STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The hash of a name, which is never 0.
pub fn name_hash(name: &[u8]) -> u32 {
    let mut hasher = NAME_STATE.build_hasher();
    hasher.write(name);
    (hasher.finish() as u32).max(1)
}

/// A symbol in the machine view, where there are two views.
#[derive(Copy, Clone, Debug, Default)]
pub struct MachineSymbol {
    /// Its offset.
    pub value: u64,
    /// Its size.
    pub size: u64,
}

impl InputSymbol<'_> {
    /// Where it is defined.
    pub fn place(&self) -> Place {
        match self.section {
            Some(section) => Place::Section(section),
            None if self.homeless == Homeless::Common => Place::Common,
            None => Place::Undefined,
        }
    }

    /// Whether it is dynamic shared memory in a relocatable output of the reference linker, which says that it is defined there.
    pub fn is_settled_dynamic(&self) -> bool {
        self.homeless == Homeless::SettledDynamic
    }

    /// Whether the symbol is a function, kernel or not, with a section of its own.
    pub fn is_function(&self) -> bool {
        self.kind == SymbolKind::FUNCTION && !self.is_inner_function()
    }

    /// Whether the symbol is a function inside the code of another, as whole programs have them.
    pub fn is_inner_function(&self) -> bool {
        self.kind == SymbolKind::FUNCTION && self.value != 0 && self.section.is_some()
    }

    /// Whether the symbol defines something, and is not just that of a section.
    fn is_definition(&self) -> bool {
        self.place() != Place::Undefined && self.kind != SymbolKind::SECTION
    }
}

/// What the reference linker calls a kernel's dynamic shared memory in a relocatable output.
pub const SHARED_INSTANCE: &str = "externsharedinstance";

impl<'data> Inputs<'data> {
    /// Which of the given inputs are not needed and take no part, in ascending order.
    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }

    /// The release of CUDA whose rules the output follows.
    pub fn release(&self) -> &'static Release {
        self.release
    }

    /// Whether there are [whole programs](ObjectFile::is_whole_program) among the objects.
    pub fn has_whole_programs(&self) -> bool {
        self.has_whole_programs
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

    /// The [hashes](name_hash) of the symbols' names; 0 for local ones, whose names mean nothing to other objects.
    pub fn name_hashes(&self) -> &IdVec<InputSymbolId, u32> {
        &self.name_hashes
    }

    /// Offset and size of a symbol in the machine view.
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

    /// The relocations that fill texture slots in a parameter bank. Only whole programs have any: otherwise slots are made by the link.
    pub fn slot_relocations(&self, bank: InputSectionId) -> impl Iterator<Item = InputSectionId> + '_ {
        self.attached(bank).filter(|&section| matches!(self.sections[section].role, Role::Relocations { .. }))
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

    /// The object that a symbol comes from.
    pub fn file_of_symbol(&self, symbol: InputSymbolId) -> FileId {
        let behind = self.files.as_slice().partition_point(|file| file.symbols.first() <= symbol);
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

/// Reads the inputs. Those that are packed are unpacked only if a function is missing without them: then everything is read again,
/// so that the tables are in link order.
pub fn load<'data>(inputs: &[Input<'data>], options: &Options, report: &mut Report) -> Result<Inputs<'data>, Failure> {
    let (packed, here): (Vec<usize>, Vec<usize>) = (0..inputs.len()).partition(|&index| inputs[index].is_packed());
    let loaded = if packed.is_empty() {
        read_all(inputs, false, options, report)?
    } else {
        let at_hand: Vec<Input<'data>> = here.iter().map(|&index| inputs[index]).collect();
        let mut loaded = read_all(&at_hand, true, options, report)?;
        if loaded.lacks_a_function {
            unpack(packed.iter().map(|&index| &inputs[index]), report)?;
            loaded = read_all(inputs, false, options, report)?;
        } else {
            loaded.left_out.iter_mut().for_each(|index| *index = here[*index]);
            loaded.left_out.extend(packed);
            loaded.left_out.sort_unstable();
        }
        loaded
    };
    let known = u32::from(options.release.limit().toolkit);
    for object in loaded.files.iter() {
        if let Some(found) = object.toolkit.filter(|&found| found > known) {
            report.say(Message::NewerObject { file: object.name.into(), found, known });
        }
    }
    Ok(loaded)
}

/// Unpacks what is needed after all.
fn unpack<'inputs, 'data: 'inputs>(
    packed: impl Iterator<Item = &'inputs Input<'data>>,
    report: &mut Report,
) -> Result<(), Failure> {
    for input in packed {
        if let Contents::Packed(packed) = input.contents
            && let Err(message) = packed.unpack(input.name)
        {
            return report.fatal(*message);
        }
    }
    Ok(())
}

/// Reads objects.
///
/// How many rows each has is known before it is read, so that all objects write theirs at once, each into its own part of the tables.
/// The rows of objects that are not linked are kept, but nothing names them. `others` says that there are objects which are not unpacked.
fn read_all<'data>(
    inputs: &[Input<'data>],
    others: bool,
    options: &Options,
    report: &mut Report,
) -> Result<Inputs<'data>, Failure> {
    let views = options.target.views;
    let counts: Vec<Counts> = inputs.par_iter().map(|input| Counts::of(input.bytes(), views)).collect();
    let count_of = |rows: fn(&Counts) -> usize| counts.iter().map(rows).sum::<usize>();
    let mut sections = blank(InputSection::BLANK, count_of(|counts| counts.sections));
    let mut symbols = blank(InputSymbol::BLANK, count_of(|counts| counts.symbols));
    let mut name_hashes = blank(0, symbols.len());
    let machine_rows = if views == Views::Two { symbols.len() } else { 0 };
    let mut machine_symbols = blank(MachineSymbol::default(), machine_rows);
    let mut free = Rows {
        first_section: 0,
        first_symbol: 0,
        sections: &mut sections,
        symbols: &mut symbols,
        name_hashes: &mut name_hashes,
        machine_symbols: &mut machine_symbols,
    };
    let parts: Vec<Rows<'_, '_>> = counts.iter().map(|counts| free.take(counts)).collect();
    let results: Vec<_> = inputs.par_iter().zip(parts).map(|(input, rows)| read::read(input, rows, options)).collect();
    let mut objects = Vec::with_capacity(results.len());
    for (result, input) in results.into_iter().zip(inputs) {
        match result {
            Ok(object) => objects.push(object),
            Err(diagnostic) => return refuse(input, options, *diagnostic, report),
        }
    }
    let (sections, symbols, name_hashes) = (sections.into(), symbols.into(), name_hashes.into());
    let (left_out, lacks_a_function) = demand::left_out(inputs, others, &objects, &symbols, &options.keep);
    let mut files: IdVec<FileId, ObjectFile<'data>> = IdVec::with_capacity(objects.len());
    for (index, object) in objects.into_iter().enumerate() {
        if let Some(object) = object
            && left_out.binary_search(&index).is_err()
        {
            files.push(object);
        }
    }
    let (machine_symbols, two_views) = (machine_symbols.into(), views == Views::Two);
    let release = options.release.settle(files.iter().filter_map(|file| file.toolkit).max());
    let has_whole_programs = files.iter().any(|file| file.is_whole_program);
    Ok(Inputs {
        files,
        sections,
        symbols,
        name_hashes,
        machine_symbols,
        two_views,
        release,
        has_whole_programs,
        left_out,
        lacks_a_function,
    })
}
