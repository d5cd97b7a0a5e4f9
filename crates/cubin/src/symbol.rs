//! Symbols: what the fields of a symbol table entry mean in a cubin.

use std::fmt;

use crate::elf::{self, SymbolRecord};

/// A number with a table of names: known values have a constant and a name, unknown ones show as numbers.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($value:expr, $constant:ident, $name:literal, $what:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u8);

        impl $type {
            $(#[doc = $what] pub const $constant: Self = Self($value);)*

            /// All known values and their names.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self($value), $name),)*];

            /// The name of a known value.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                Self::NAMES.iter().find(|row| row.0 == self).map(|row| row.1)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => out.pad(name),
                    None => out.pad(&self.0.to_string()),
                }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }
    };
}

named! {
    /// Who sees a symbol, and what happens when two files define it.
    Binding {
        elf::STB_LOCAL, LOCAL, "LOCAL", "Seen in its own file only.";
        elf::STB_GLOBAL, GLOBAL, "GLOBAL", "One definition per program.";
        elf::STB_WEAK, WEAK, "WEAK", "One of several definitions is chosen.";
    }
}

named! {
    /// What a symbol names.
    SymbolKind {
        elf::STT_NOTYPE, NOTYPE, "NOTYPE", "Nothing in particular.";
        elf::STT_OBJECT, OBJECT, "OBJECT", "A variable.";
        elf::STT_FUNC, FUNCTION, "FUNC", "A function or a kernel.";
        elf::STT_SECTION, SECTION, "SECTION", "A section.";
        elf::STT_FILE, FILE, "FILE", "A source file.";
        elf::STT_COMMON, COMMON, "COMMON", "A common variable.";
        elf::STT_TLS, TLS, "TLS", "A thread-local variable.";
        elf::STT_CUDA_TEXTURE, TEXTURE, "TEXTURE", "A texture reference.";
        elf::STT_CUDA_SAMPLER, SAMPLER, "SAMPLER", "A sampler reference.";
        elf::STT_CUDA_SURFACE, SURFACE, "SURFACE", "A surface reference.";
        elf::STT_CUDA_OBJECT, CUDA_OBJECT, "CUDA_OBJECT", "A variable whose memory space is in `other`.";
    }
}

/// The memory space of a variable, from bits 5 to 7 of `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// None given: functions, and all symbols of a linked file.
    None,
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// A constant bank.
    Constant,
    /// Shared memory that the system reserves.
    ReservedShared,
    /// A value that is not known.
    Other(u8),
}

impl Space {
    /// Decodes the three bits.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::None,
            1 => Self::Global,
            2 => Self::Shared,
            4 => Self::Constant,
            5 => Self::ReservedShared,
            other => Self::Other(other),
        }
    }
}

/// Bits of `other`.
pub mod other {
    /// Mask of the ELF visibility.
    pub const VISIBILITY: u8 = 0x03;
    /// The visibility of symbols that the compiler or linker makes for itself.
    pub const INTERNAL: u8 = 0x01;
    /// A managed variable; a unified function whose address is taken.
    pub const MANAGED: u8 = 0x04;
    /// A function: it is a kernel. A variable: it is in the unified data table.
    pub const ENTRY: u8 = 0x10;
    /// How far up the memory space is.
    pub const SPACE_SHIFT: u32 = 5;
    /// Mask of the memory space.
    pub const SPACE: u8 = 0xe0;
    /// Global memory.
    pub const SPACE_GLOBAL: u8 = 0x20;
    /// Shared memory.
    pub const SPACE_SHARED: u8 = 0x40;
    /// A constant bank.
    pub const SPACE_CONSTANT: u8 = 0x80;
    /// Shared memory that the system reserves.
    pub const SPACE_RESERVED: u8 = 0xa0;

    /// Whether the compiler or linker made the symbol for itself, or deleted it.
    #[must_use]
    pub const fn is_internal(other: u8) -> bool {
        other & VISIBILITY == INTERNAL
    }

    /// Whether the symbol is a variable in shared memory.
    #[must_use]
    pub const fn is_shared(other: u8) -> bool {
        other & SPACE == SPACE_SHARED
    }
}

/// Where a symbol is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolSection {
    /// Nowhere in this file.
    Undefined,
    /// In no section: the value is absolute.
    Absolute,
    /// A common variable: the linker gives it a place, its value is its alignment.
    Common,
    /// In the section of this index.
    Index(u32),
    /// Another special value.
    Reserved(u16),
}

/// One symbol of a symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'data> {
    /// Its name; empty for the null symbol and for slots that the compiler left empty.
    pub name: &'data str,
    /// Where the name is in the string table.
    pub name_offset: u32,
    /// Binding.
    pub binding: Binding,
    /// Type.
    pub kind: SymbolKind,
    /// Visibility, kernel bit, memory space: see [`other`].
    pub other: u8,
    /// Where it is defined.
    pub section: SymbolSection,
    /// Offset in its section; the alignment, for shared variables of a relocatable file.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
}

impl Symbol<'_> {
    /// Whether this is a kernel.
    #[must_use]
    pub fn is_entry(&self) -> bool {
        self.kind == SymbolKind::FUNCTION && self.other & other::ENTRY != 0
    }

    /// The memory space of a variable.
    #[must_use]
    pub fn space(&self) -> Space {
        Space::from_bits(self.other >> other::SPACE_SHIFT)
    }

    /// Whether this file defines the symbol.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.section != SymbolSection::Undefined
    }

    /// The ELF visibility: 0 default, 1 internal, 2 hidden, 3 protected.
    #[must_use]
    pub fn visibility(&self) -> u8 {
        self.other & other::VISIBILITY
    }

    /// Binding and type in one byte, as stored.
    #[must_use]
    pub fn info(&self) -> u8 {
        info(self.binding, self.kind)
    }

    /// The symbol as it is stored, and its entry of `.symtab_shndx`: the section index when that does not fit into the
    /// record, else 0.
    #[must_use]
    pub fn record(&self) -> (SymbolRecord, u32) {
        let (section, extended) = match self.section {
            SymbolSection::Undefined => (elf::SHN_UNDEF, 0),
            SymbolSection::Absolute => (elf::SHN_ABS, 0),
            SymbolSection::Common => (elf::SHN_COMMON, 0),
            SymbolSection::Reserved(value) => (value, 0),
            SymbolSection::Index(index) => match u16::try_from(index) {
                Ok(short) if short < elf::SHN_LORESERVE => (short, 0),
                _ => (elf::SHN_XINDEX, index),
            },
        };
        let record = SymbolRecord {
            name: self.name_offset,
            info: self.info(),
            other: self.other,
            section,
            value: self.value,
            size: self.size,
        };
        (record, extended)
    }
}

/// Binding and type in one byte, as a symbol table stores them.
#[must_use]
pub fn info(binding: Binding, kind: SymbolKind) -> u8 {
    binding.0 << 4 | kind.0 & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = SymbolKind::NAMES.iter().map(|row| row.1).collect();
        let values: HashSet<_> = SymbolKind::NAMES.iter().map(|row| row.0).collect();
        assert_eq!(names.len(), SymbolKind::NAMES.len());
        assert_eq!(values.len(), SymbolKind::NAMES.len());
        assert!(SymbolKind::NAMES.iter().all(|row| row.0.0 < 16));
        assert_eq!(SymbolKind(9).to_string(), "9");
    }

    #[test]
    fn section_indices_leave_the_record_when_they_get_long() {
        let mut symbol = Symbol {
            name: "f",
            name_offset: 1,
            binding: Binding::GLOBAL,
            kind: SymbolKind::FUNCTION,
            other: other::ENTRY,
            section: SymbolSection::Index(0xfeff),
            value: 0,
            size: 0,
        };
        assert!(symbol.is_entry());
        assert_eq!(symbol.info(), 0x12);
        assert_eq!((symbol.record().0.section, symbol.record().1), (0xfeff, 0));
        // An index that looks like a special value is still an index.
        for index in [0xff00, 0xfff2, 0xffff, 0x1_0000] {
            symbol.section = SymbolSection::Index(index);
            assert_eq!((symbol.record().0.section, symbol.record().1), (elf::SHN_XINDEX, index));
        }
    }
}
