//! The kinds of output sections, one file each, with all behaviour of the kind.
//!
//! The plan lists the sections; a kind says whether a section is needed, its class, whether it has a symbol, the fields of its header, and
//! how its bytes are written. Phases ask the kind, and do not know which kinds exist. A new
//! kind of section is a new implementation of [`SectionKind`], and a call of `Walk::create` where the merge walk meets it.
//!
//! | file | sections |
//! |---|---|
//! | `tables` | `.shstrtab`, `.strtab` |
//! | `symbols` | `.symtab`, `.symtab_shndx` |
//! | `notes` | `.note.nv.tkinfo`, `.note.nv.cuinfo`, `.nv.compat`, `.nv.rel.action`, `.nv.host` |
//! | `info` | `.nv.info`, `.nv.info.f` |
//! | `call_graph` | `.nv.callgraph`, `.nv.prototype` |
//! | `relocations` | `.rel`, `.rela` and `.nv.resolvedrela` of other sections |
//! | `code` | `.text.f` |
//! | `data` | `.nv.global`, `.nv.global.init`, `.nv.constant3` and the like |
//! | `constants` | `.nv.constant2.f`: constants that the compiler made for a function |
//! | `parameters` | `.nv.constant0.f`: parameters, and texture slots with their relocations |
//! | `shared` | `.nv.shared.f`, the module's shared memory, that of the system |
//! | `debug` | `.debug_*`, `.nv_debug_*` |
//! | `unified` | `.nv.uft`, `.nv.udt`, their entries and their index |

mod call_graph;
mod code;
mod compatibility;
mod constants;
mod data;
mod debug;
mod info;
mod notes;
mod parameters;
mod relocations;
mod shared;
mod symbols;
mod tables;
mod unified;

pub use call_graph::{CallGraphRecords, Prototypes};
pub use code::FunctionCode;
pub use constants::FunctionConstants;
pub use data::{GlobalZero, InitialisedData};
pub use debug::Debug;
pub use info::{FunctionInfo, ModuleInfo, StubsInfo};
pub use notes::{Compatibility, CudaNote, Host, RelocationActions, ToolNotes};
pub use parameters::{CompiledTextureSlots, MachineParameters, Parameters, TextureRelocations, TextureSlots};
pub use relocations::{KeptRelocations, ResolvedRelocations};
pub use shared::{KernelShared, ModuleShared, ReservedShared};
pub use symbols::{SymbolSectionNumbers, SymbolTable};
pub use tables::StringTable;
pub use unified::{RelocatableUnifiedData, UnifiedData, UnifiedEntries, UnifiedIndexCopy, UnifiedStubs};

use crate::id::{InputSectionId, SectionId};
use crate::phases::finalize::Output;
use crate::phases::load::InputSection;
use crate::phases::merge::{OutputSection, Piece, Plan};
use crate::phases::number::FileSection;
use crate::phases::stages::Settled;
use crate::phases::unified::Unified;
use crate::views::{self, View};
use cubin::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use cubin::release::Rule;
use cubin::section::SectionType;
use std::fmt;

/// A kind of output section. The defaults are those of a table that the linker makes.
pub trait SectionKind: fmt::Debug + Sync {
    /// Where sections of this kind stand in the file, and how they are loaded.
    fn class(&self, section: &OutputSection<'_>) -> Class {
        Class::by_flags(section.flags)
    }

    /// Which views have a section of this kind.
    fn in_views(&self) -> InViews {
        InViews::Each
    }

    /// What its name starts with in the Mercury view.
    fn mercury_prefix(&self) -> &'static str {
        match self.in_views() {
            InViews::EachAsCode => views::CAPSULE_PREFIX,
            _ => views::MERCURY_PREFIX,
        }
    }

    /// The size of an entry, for tables.
    fn entry_size(&self, _section_type: SectionType) -> u32 {
        0
    }

    /// Which memory of the GPU it takes up, if that is limited or listed.
    fn memory(&self, _section: &OutputSection<'_>) -> Option<Memory> {
        None
    }

    /// Whether it holds debug information: bytes that refer to each other by offset.
    fn is_debug(&self) -> bool {
        false
    }

    /// Whether a function has one section of this kind at most, so that no other section has its name.
    fn is_one_of_function(&self, _plan: &Plan<'_>, _section: &OutputSection<'_>) -> bool {
        false
    }

    /// Whether its name in the string table stays that of the linked view if it is left out.
    fn keeps_linked_name(&self) -> bool {
        false
    }

    /// Whether its symbol has the name of the linked view in the machine view, too, where the file names only what it has.
    fn keeps_linked_symbol(&self) -> bool {
        false
    }

    /// The offset in the output section of an offset in a piece of it; none, if that part of the piece is left out.
    fn offset_of(&self, _unified: &Unified, piece: Piece, offset: u64, _view: View) -> Option<u64> {
        Some(piece.offset + offset)
    }

    /// Whether the file has it.
    fn is_needed(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        true
    }

    /// Whether a section that the file has also has a symbol.
    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        !self.is_about_section()
    }

    /// Whether it is a table about another section, with symbols by number: that has no symbol, and its header names both.
    fn is_about_section(&self) -> bool {
        false
    }

    /// The fields `link` and `info` of its header.
    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        (if self.is_about_section() { output.symbol_table(part.view) } else { 0 }, output.target_number(part))
    }

    /// Where its bytes come from.
    fn bytes(&self, _output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Written
    }

    /// The size of what is [written](Self::write).
    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        output.layout.size(part.section)
    }

    /// Whether it can be written in parts, entry by entry.
    fn is_written_by_entry(&self) -> bool {
        false
    }

    /// Writes it; if it is written by entry, the entries from `first` on. What `out` holds before is of no meaning.
    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        output.write_pieces(part, out)
    }

    /// The input section that a piece of it has in a view.
    fn source(&self, output: &Output<'_, '_>, _section: &OutputSection<'_>, piece: Piece, view: View) -> Option<InputSectionId> {
        output.inputs.in_view(piece.section, view)
    }

    /// The bytes of inputs that it consists of, and where in it they stand, if it consists of nothing else.
    fn unchanged<'all>(&self, _output: &'all Output<'_, '_>, _part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        None
    }
}

/// The type, flags and alignment that a section starts with.
#[derive(Copy, Clone, Debug)]
pub struct Shape {
    /// Its type in a relocatable file.
    pub section_type: SectionType,
    /// Its flags.
    pub flags: u64,
    /// Its alignment.
    pub align: u64,
}

impl Shape {
    /// Of a section that the linker makes.
    pub const fn new(section_type: SectionType, flags: u64, align: u64) -> Self {
        Shape { section_type, flags, align }
    }

    /// Of an input section.
    pub fn of(section: &InputSection<'_>) -> Self {
        Shape { section_type: section.kind, flags: section.flags, align: section.align() }
    }
}

/// Where the bytes of a section come from.
pub enum Bytes {
    /// They are those of the machine view.
    Shared,
    /// They are [written](SectionKind::write) into the file.
    Written,
    /// They are there already, up to where only zeros follow.
    Made(Vec<u8>),
}

/// The memories of the GPU whose use is limited or listed.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Memory {
    /// Global memory.
    Global,
    /// A constant bank of the module.
    Constants(u8),
    /// The parameter bank of a kernel.
    Parameters,
    /// The shared memory of a kernel.
    Shared,
}

/// Which views of a program have a section, where there are two.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum InViews {
    /// Both, one for all.
    Once,
    /// Each has its own.
    Each,
    /// Each has its own in releases that have this rule; in those before, there is one for both.
    EachSince(Rule),
    /// Each has its own, and it holds code, which is first in the Mercury view.
    EachAsCode,
    /// Each has its own, and it is last in the Mercury view.
    EachAtEnd,
    /// Only the machine view.
    MachineOnly,
}

/// The classes of sections, in file order.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Class {
    /// Names and symbols.
    Tables,
    /// Bytes that are not loaded.
    Debug,
    /// Notes, attributes, the call graph.
    Attributes,
    /// Relocations.
    Relocations,
    /// Loaded, never written: constants.
    Constants,
    /// Code.
    Code,
    /// Data.
    Data,
    /// Loaded, but without bytes in the file.
    NoBits,
    /// What only the machine view has, where there are two.
    MachineOnly,
}

impl Class {
    /// How many classes there are.
    pub const COUNT: usize = Class::MachineOnly as usize + 1;

    fn by_flags(flags: u64) -> Self {
        let has = |flag: u64| flags & flag != 0;
        match () {
            () if has(SHF_EXECINSTR) => Class::Code,
            () if has(SHF_WRITE) => Class::Data,
            () if has(SHF_ALLOC) => Class::Constants,
            () => Class::Attributes,
        }
    }
}
