//! Host objects: what the host compiler made of a CUDA source file, with the device code in sections.
//!
//! | section | contents |
//! |---|---|
//! | `__nv_relfatbin` | fatbins of relocatable device code: what a device linker links |
//! | `.nv_fatbin` | fatbins of code that is linked already |
//! | `.nvFatBinSegment` | a record per fatbin through which the host program registers it |
//! | `__nv_module_id` | names of the object's modules; in a device linker's own output, of the modules it has linked |
//! | `.llvm.offloading` | device code of clang, in containers of its own: see [`offload`](crate::offload) |
//! | `llvm_offload_entries`, `cuda_offloading_entries` | what there is to register of such code, with clang 21 and later or before |
//! | `.nvHRKE` and five like it | names that host code refers to, see [`Reference`] |
//!
//! Joined objects (`ld -r`) have the contents of several in each section, and may have several sections of one name.
//!
//! The sections are the same in ELF and in COFF objects, which differ in how sections are found: see the modules here.

mod coff;
mod elf;

use cubin::elf::{SHN_UNDEF, SHT_SYMTAB, SymbolRecord};
use cubin::symbol::Binding;

use crate::container::{Fatbins, fatbins_at};
use crate::error::{Container, Error, Item, Problem, Result};
use crate::identify::{ByteOrder, Class, CoffMachine, HostElf, Kind, identify};
use crate::little_endian::length;
use crate::offload::{Image, images};
use elf::SectionTable;

/// The prefix of a module id by which a device linker's output says that it contains the module.
const LINKED: &str = "def ";

/// A host object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostObject<'data> {
    bytes: &'data [u8],
    /// What its header says.
    pub format: Format,
    /// The sections with relocatable device code, in the order of the file.
    pub relocatable_code: Vec<FatbinSection<'data>>,
    /// The sections with device code that is linked already: a program of one source file, or a device linker's output.
    pub linked_code: Vec<FatbinSection<'data>>,
    /// Whether the object registers any fatbin. The reference reads no object that does not.
    pub has_registration: bool,
    /// The sections with relocatable device code in clang's containers.
    pub offload_code: Vec<OffloadSection<'data>>,
    /// The names of the sections that list what there is to register of that code.
    pub entry_lists: Vec<&'static str>,
    /// Names of the object's own modules. An object without one is known by its path.
    pub module_ids: Vec<&'data str>,
    /// Names of modules that a device linker has already linked into this object.
    ///
    /// Where such an object is linked again together with objects of these modules, those are to be left out.
    pub linked_module_ids: Vec<&'data str>,
    /// What host code refers to: for each section that is there, its names, which may be none.
    pub references: Vec<References<'data>>,
}

/// The format of a host object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// ELF.
    Elf(HostElf),
    /// COFF, the format of Windows.
    Coff(CoffMachine),
}

/// A section that holds fatbins.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FatbinSection<'data> {
    /// Where it is in the file.
    pub offset: u64,
    /// Its contents.
    pub data: &'data [u8],
}

impl<'data> FatbinSection<'data> {
    /// Its fatbins. After an error there is no further one. Errors count offsets from the start of the object.
    #[must_use]
    pub fn fatbins(&self) -> Fatbins<'data> {
        fatbins_at(self.data, self.offset)
    }
}

/// A section that holds clang's containers of device code.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OffloadSection<'data> {
    /// Where it is in the file.
    pub offset: u64,
    /// Its contents.
    pub data: &'data [u8],
}

impl<'data> OffloadSection<'data> {
    /// The images of CUDA code in it, in the order of the file. Errors count offsets from the start of the object.
    ///
    /// # Errors
    /// When a container is damaged, or of a form that is not known.
    pub fn images(&self) -> Result<Vec<Image<'data>>> {
        images(self.data, self.offset)
    }
}

/// The names in one of the sections that say what host code refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct References<'data> {
    /// What they are names of.
    pub kind: Reference,
    /// The names. In each, `*` stands for any characters: the host compiler does not know all of a name.
    pub names: Vec<&'data str>,
}

/// What host code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Kernels or variables.
    pub to: ReferenceTo,
    /// Whether the name is known to other files.
    pub external: bool,
}

/// What kind of thing host code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceTo {
    /// Kernels.
    Kernel,
    /// Variables in device memory.
    Variable,
    /// Variables in constant memory.
    Constant,
}

/// What is taken from a section.
#[derive(Clone, Copy)]
enum Role {
    RelocatableCode,
    LinkedCode,
    Registration,
    OffloadCode,
    EntryList(&'static str),
    ModuleIds,
    References(Reference),
}

const fn references(to: ReferenceTo, external: bool) -> Role {
    Role::References(Reference { to, external })
}

const ENTRY_LISTS: [&str; 2] = ["llvm_offload_entries", "cuda_offloading_entries"];

const SECTIONS: [(&str, Role); 13] = [
    ("__nv_relfatbin", Role::RelocatableCode),
    (".nv_fatbin", Role::LinkedCode),
    (".nvFatBinSegment", Role::Registration),
    (".llvm.offloading", Role::OffloadCode),
    (ENTRY_LISTS[0], Role::EntryList(ENTRY_LISTS[0])),
    (ENTRY_LISTS[1], Role::EntryList(ENTRY_LISTS[1])),
    ("__nv_module_id", Role::ModuleIds),
    (".nvHRKE", references(ReferenceTo::Kernel, true)),
    (".nvHRKI", references(ReferenceTo::Kernel, false)),
    (".nvHRDE", references(ReferenceTo::Variable, true)),
    (".nvHRDI", references(ReferenceTo::Variable, false)),
    (".nvHRCE", references(ReferenceTo::Constant, true)),
    (".nvHRCI", references(ReferenceTo::Constant, false)),
];

/// Whether a name may be one of these: most names of a host object differ in the first letters.
fn may_be_known(name: &[u8]) -> bool {
    matches!(name, [b'_', b'_', b'n', ..] | [b'.', b'n' | b'l', ..] | [b'l' | b'c', ..])
}

impl<'data> HostObject<'data> {
    /// Reads a COFF object, or a 64-bit little-endian ELF file of any machine and of any form: the caller says what programs and
    /// shared libraries are to mean.
    ///
    /// # Errors
    /// When the bytes are something else, or when the section headers or a section of interest are damaged.
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        let format = match identify(bytes) {
            Kind::HostElf(elf @ HostElf { class: Class::Bits64, byte_order: ByteOrder::Little, .. }) => Format::Elf(elf),
            Kind::Coff(machine) => Format::Coff(machine),
            kind @ Kind::HostElf(_) => return Err(error(None, 0, Problem::UnsupportedHost(kind))),
            found => {
                let expected = "a host object";
                return Err(error(None, 0, Problem::WrongKind { expected, found }));
            }
        };
        let mut object = Self::without_contents(bytes, format);
        // Sections that share their bytes would let a small file stand for one of any size.
        let mut left = length(bytes);
        let mut add = |name: &'static str, role, offset, data: std::result::Result<&'data [u8], Problem>| {
            let data = data.and_then(|data| {
                left = left.checked_sub(length(data)).ok_or(Problem::Overlap)?;
                Ok(data)
            });
            let data = data.map_err(|problem| error(Some(Item::Section(name.to_owned())), offset, problem))?;
            object.add(name, role, offset, data)
        };
        match format {
            Format::Elf(_) => {
                let Some(table) = SectionTable::find(bytes)? else { return Ok(object) };
                for index in 0..table.count {
                    let header = table.header(index)?;
                    let found = table.name_onwards(index, &header)?;
                    if !may_be_known(found) {
                        continue;
                    }
                    let is_named =
                        |name: &str| found.strip_prefix(name.as_bytes()).is_some_and(|rest| matches!(rest, [] | [0, ..]));
                    if let Some(&(name, role)) = SECTIONS.iter().find(|(name, _)| is_named(name)) {
                        add(name, role, header.offset, table.contents(&header))?;
                    }
                }
            }
            Format::Coff(_) => {
                for section in coff::sections(bytes)? {
                    let is_named = |name: &str| coff::significant(name.as_bytes()) == coff::significant(section.name);
                    if let Some(&(name, role)) = SECTIONS.iter().find(|(name, _)| is_named(name)) {
                        add(name, role, section.offset, section.contents(bytes))?;
                    }
                }
            }
        }
        Ok(object)
    }

    fn without_contents(bytes: &'data [u8], format: Format) -> Self {
        Self {
            bytes,
            format,
            relocatable_code: Vec::new(),
            linked_code: Vec::new(),
            has_registration: false,
            offload_code: Vec::new(),
            entry_lists: Vec::new(),
            module_ids: Vec::new(),
            linked_module_ids: Vec::new(),
            references: Vec::new(),
        }
    }

    /// ELF's number of its processor, if it is an ELF file.
    #[must_use]
    pub fn elf_machine(&self) -> Option<u16> {
        match self.format {
            Format::Elf(elf) => Some(elf.machine),
            Format::Coff(_) => None,
        }
    }

    /// The names of the functions and variables that the object defines for the host's own linker. What can not be read is left
    /// out: this is for explanations. COFF objects give none: their host compiler spells names in another way than device code does.
    #[must_use]
    pub fn names_for_the_host(&self) -> Vec<&'data str> {
        let Format::Elf(_) = self.format else { return Vec::new() };
        let Ok(Some(table)) = SectionTable::find(self.bytes) else { return Vec::new() };
        let headers = (0..table.count).filter_map(|index| table.header(index).ok());
        let mut names = Vec::new();
        for header in headers.filter(|header| header.kind == SHT_SYMTAB) {
            let strings = table.header(u64::from(header.link)).ok().and_then(|strings| table.contents(&strings).ok());
            let (Some(strings), Ok(symbols)) = (strings, table.contents(&header)) else { continue };
            let records = symbols.chunks_exact(SymbolRecord::SIZE).filter_map(|record| SymbolRecord::parse(record, 0));
            let is_visible = |record: &SymbolRecord| record.section != SHN_UNDEF && record.info >> 4 != Binding::LOCAL.0;
            let name = |record: SymbolRecord| strings.get(record.name as usize..)?.split(|&byte| byte == 0).next();
            names.extend(records.filter(is_visible).filter_map(name).filter_map(|name| std::str::from_utf8(name).ok()));
        }
        names
    }

    /// The names of the symbols of what its entry lists hold.
    pub fn entry_symbols(&self) -> impl Iterator<Item = &'data str> {
        /// How clang names them, before the name of the function or variable.
        const PREFIX: &str = ".offloading.entry.";
        let names = if self.entry_lists.is_empty() { Vec::new() } else { self.names_for_the_host() };
        names.into_iter().filter(|name| name.starts_with(PREFIX))
    }

    fn add(&mut self, name: &str, role: Role, offset: u64, data: &'data [u8]) -> Result<()> {
        let names = || strings(data).map_err(|problem| error(Some(Item::Section(name.to_owned())), offset, problem));
        match role {
            Role::RelocatableCode => self.relocatable_code.push(FatbinSection { offset, data }),
            Role::LinkedCode => self.linked_code.push(FatbinSection { offset, data }),
            Role::Registration => self.has_registration = true,
            Role::OffloadCode => self.offload_code.push(OffloadSection { offset, data }),
            Role::EntryList(name) => self.entry_lists.push(name),
            Role::ModuleIds => {
                for id in names()? {
                    match id.strip_prefix(LINKED) {
                        Some(linked) => self.linked_module_ids.push(linked),
                        None => self.module_ids.push(id),
                    }
                }
            }
            Role::References(kind) => {
                let names = names()?;
                self.references.push(References { kind, names });
            }
        }
        Ok(())
    }
}

/// The NUL-terminated strings of a section. Where alignment or an empty list left NULs alone, there are no strings.
fn strings(data: &[u8]) -> std::result::Result<Vec<&str>, Problem> {
    data.split(|&byte| byte == 0)
        .filter(|string| !string.is_empty())
        .map(|string| std::str::from_utf8(string).map_err(|_| Problem::NotText("name")))
        .collect()
}

fn error(item: Option<Item>, offset: u64, problem: Problem) -> Error {
    Error::new(Container::HostObject, item, offset, problem)
}

fn cut(what: &'static str, needed: u64, available: u64) -> Problem {
    Problem::Cut { what, needed, available }
}
