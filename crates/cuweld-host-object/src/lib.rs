//! The host object of a device link: the linked device code, and the functions through which the units of a program register it.
//!
//! A unit that was compiled to be linked (`-rdc=true`) has a constructor that calls a function which no unit defines,
//! `__cudaRegisterLinkedBinary` and the unit's id. A device link defines it, for each of its units. When the last of them has called, the
//! linked code is registered with the CUDA runtime, and then, in the order of their calls, what each unit has in it. nvcc compiles a C file
//! for this, which has the code as text in it; but all that differs between programs are names and addresses, so that the object can be
//! written at once:
//!
//! | section | contents |
//! |---|---|
//! | `.text` | the function that all units call, under all its names, and one that runs when the program ends |
//! | `.data` | their table: what was registered, how many units there are, and the addresses of everything |
//! | `.bss` | for each unit, what it gave: a function and a fatbin |
//! | `.nv_fatbin` | the linked code |
//! | `.nvFatBinSegment` | the wrapper through which the runtime finds it, and the fatbins of the units |
//! | `__nv_module_id` | `def` and the id of each unit: later device links pass over these units |
//! | `.note.gnu.property` | that the code has landing pads |
//! | `.init_array` | a constructor that calls for the units that clang has compiled, see [`Entries`] |
//!
//! The object is position independent, always: it can become a part of programs of any kind and of shared libraries.
//!
//! ```
//! use cuweld_host_object::{Entries, HostObject, Machine, Visibility};
//!
//! let object = HostObject {
//!     machine: Machine::X86_64,
//!     modules: &["_6a5d_unit_cu"],
//!     entries: Entries::default(),
//!     visibility: Visibility::Default,
//! };
//! let fatbin = [0; 16]; // made by the crate `fatbin`
//! assert!(object.to_vec(&fatbin).starts_with(b"\x7fELF"));
//! ```

#![forbid(unsafe_code)]

mod code;
pub mod elf;
mod entries;

pub use entries::{Entries, EntryList};

use code::{AARCH64, CODE_FLAGS, Code, NONE, X86_64};
use cubin::elf::{SHF_ALLOC, SHF_WRITE, SHT_NOBITS, SHT_NOTE, SHT_PROGBITS, STB_WEAK, STT_FUNC};
use elf::{Content, Object, Section, SectionIndex, Symbol};

/// The processor of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// ELF's number of it.
    #[must_use]
    pub fn number(self) -> u16 {
        self.code().machine
    }

    /// The processor that ELF gives this number.
    #[must_use]
    pub fn by_number(number: u16) -> Option<Self> {
        [Self::X86_64, Self::Aarch64].into_iter().find(|machine| machine.number() == number)
    }

    fn code(self) -> &'static Code {
        match self {
            Self::X86_64 => &X86_64,
            Self::Aarch64 => &AARCH64,
        }
    }
}

/// Who may call the functions that units call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visibility {
    /// Units in any program or shared library.
    #[default]
    Default,
    /// Units in the same program or shared library. Where two shared libraries contain the same unit, each with a device link of its own,
    /// the calls of one would reach the function of the other otherwise, and its kernels would never be registered.
    Hidden,
}

impl Visibility {
    fn number(self) -> u8 {
        match self {
            Self::Default => 0,
            Self::Hidden => 2,
        }
    }
}

/// A host object.
#[derive(Clone, Copy, Debug)]
pub struct HostObject<'data> {
    /// The processor that it is for.
    pub machine: Machine,
    /// The ids of the units, each once.
    pub modules: &'data [&'data str],
    /// What clang's host code has for registration.
    pub entries: Entries<'data>,
    /// Who may call the functions that it defines.
    pub visibility: Visibility,
}

/// The first word of a wrapper, and the version of one with linked code.
const WRAPPER: [u32; 2] = [0x4662_43b1, 2];

/// The size of the table.
const TABLE: u64 = 88;

/// From this size on, device code between code and data is in the way: on x86-64 they must not be more than 2 GiB apart.
const LARGE: u64 = 256 << 20;

/// The functions of the runtime and of the C library, in the order of the table.
const FUNCTIONS: [&str; 4] = ["__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaUnregisterFatBinary", "atexit"];

impl HostObject<'_> {
    /// The whole file.
    #[must_use]
    pub fn to_vec(&self, fatbin: &[u8]) -> Vec<u8> {
        let mut file = self.head(fatbin.len() as u64);
        file.extend_from_slice(fatbin);
        file
    }

    /// The file up to the fatbin, which comes last and has `fatbin_size` bytes.
    #[must_use]
    pub fn head(&self, fatbin_size: u64) -> Vec<u8> {
        let code = self.machine.code();
        // Each list counts as a unit.
        let count = (self.modules.len() + self.entries.lists.len()) as u64;
        let mut object = Object::new(code.machine);
        let mut instructions = code.bytes.to_vec();
        let lists = self.entries.lists.iter().map(|&list| (list, entries::append_code(list, code, &mut instructions)));
        let lists: Vec<(EntryList, u64)> = lists.collect();
        let text = object.section(Section { flags: CODE_FLAGS, align: 16, ..Section::new(".text", SHT_PROGBITS, &instructions) });
        let flags = SHF_ALLOC | SHF_WRITE;
        let mut table = vec![0; TABLE as usize];
        table[16..24].copy_from_slice(&count.to_le_bytes());
        lists.iter().for_each(|_| table.extend(entries::table()));
        let data = object.section(Section { flags, align: 8, ..Section::new(".data", SHT_PROGBITS, &table) });
        // The functions of the units, then their fatbins and a null pointer.
        let room = Content::Zeros(count * 8 + (count + 1) * 8);
        let bss = object.section(Section { flags, align: 8, content: room, ..Section::new(".bss", SHT_NOBITS, &[]) });
        let large = code.large.filter(|_| fatbin_size >= LARGE).unwrap_or_default();
        let fatbin = Section { flags: SHF_ALLOC | large, align: 8, ..Section::new(".nv_fatbin", SHT_PROGBITS, &[]) };
        let fatbin = object.section(Section { content: Content::Behind(fatbin_size), ..fatbin });
        let wrapper = [WRAPPER.map(u32::to_le_bytes).as_flattened(), &[0; 16]].concat();
        let wrapper = object.section(Section { flags, align: 8, ..Section::new(".nvFatBinSegment", SHT_PROGBITS, &wrapper) });
        let ids: String = self.modules.iter().map(|id| format!("def {id}\0")).collect();
        object.section(Section { flags: SHF_ALLOC, ..Section::new("__nv_module_id", SHT_PROGBITS, ids.as_bytes()) });
        object.section(Section::new(".note.GNU-stack", SHT_PROGBITS, &[]));
        let property = property(code.property);
        object.section(Section { flags: SHF_ALLOC, align: 8, ..Section::new(".note.gnu.property", SHT_NOTE, &property) });

        let local = |name, section, value, kind| Symbol { value, kind, ..Symbol::local(name, section) };
        object.symbol(local("cuweld_register_linked_binary", text, 0, STT_FUNC));
        let unregister = object.symbol(local("cuweld_unregister_linked_binary", text, code.unregister, STT_FUNC));
        let [data_start, bss_start, fatbin_start, wrapper_start] =
            [data, bss, fatbin, wrapper].map(|section| object.section_symbol(section));
        for &(offset, kind, addend) in code.relocations {
            object.relocation(text, offset, kind, data_start, addend);
        }
        let fatbins = i64::try_from(count * 8).unwrap_or_default();
        let own = [(24, wrapper_start, 0), (32, bss_start, 0), (40, bss_start, fatbins), (48, unregister, 0)];
        for (offset, symbol, addend) in own {
            object.relocation(data, offset, code.address, symbol, addend);
        }
        for (index, name) in FUNCTIONS.into_iter().enumerate() {
            let function = object.symbol(Symbol::undefined(name));
            object.relocation(data, 56 + 8 * index as u64, code.address, function, 0);
        }
        object.relocation(wrapper, 8, code.address, fatbin_start, 0);
        object.relocation(wrapper, 16, code.address, bss_start, fatbins);
        self.name_units(&mut object, text, data);
        let tables = (TABLE..).step_by(entries::TABLE as usize);
        for (&(list, offset), table) in lists.iter().zip(tables) {
            let text_start = object.section_symbol(text);
            let place = entries::Place { text: (text, text_start, offset), data: (data, data_start, table) };
            entries::connect(list, code, &place, &mut object);
        }
        object.to_vec()
    }

    /// Defines the functions that units call, and refers to the units.
    fn name_units<'data>(&'data self, object: &mut Object<'data>, text: SectionIndex, data: SectionIndex) {
        let code = self.machine.code();
        for id in self.modules {
            let name = format!("__cudaRegisterLinkedBinary{id}");
            let size = code.unregister;
            object.symbol(Symbol { kind: STT_FUNC, size, visibility: self.visibility.number(), ..Symbol::global(name, text) });
            // An archive gives up a unit that only device code refers to.
            let unit = object.symbol(Symbol::undefined(format!("__fatbinwrap{id}")));
            object.relocation(data, 0, NONE, unit, 0);
        }
        // Linkers that collect garbage may take a list for garbage to which only its ends are known.
        for name in self.entries.symbols {
            let entry = object.symbol(Symbol { binding: STB_WEAK, ..Symbol::undefined(*name) });
            object.relocation(data, 0, NONE, entry, 0);
        }
    }
}

/// A note that says one property of the code.
fn property((kind, value): (u32, u32)) -> Vec<u8> {
    /// Its type: NT_GNU_PROPERTY_TYPE_0.
    const TYPE: u32 = 5;
    // Sizes of name and description, type, name; type, size, value and padding of the property.
    let numbers = [4, 16, TYPE, u32::from_le_bytes(*b"GNU\0"), kind, 4, value, 0];
    numbers.map(u32::to_le_bytes).as_flattened().to_vec()
}
