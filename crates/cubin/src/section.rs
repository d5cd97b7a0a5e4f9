//! Section types and flags.

use std::fmt;

use crate::elf;

/// The type of a section (`sh_type`). Any value is possible; [`row`](Self::row) describes those that are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionType(pub u32);

/// What a section of a type holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contents {
    /// Bytes with a format of their own.
    Bytes,
    /// Nothing in the file: `size` says how much memory it takes, `offset` is only a place.
    NoBits,
    /// [`SymbolRecord`](crate::elf::SymbolRecord)s.
    Symbols,
    /// NUL-terminated strings.
    Strings,
    /// Relocations without addends.
    Rel,
    /// Relocations with addends.
    Rela,
    /// The records of [`crate::info`].
    Info,
    /// The contents of a constant bank.
    Constants,
}

/// One known section type.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownSectionType {
    /// The type.
    pub kind: SectionType,
    /// Its name as tools print it.
    pub name: &'static str,
    /// What such a section holds.
    pub contents: Contents,
    /// Whether it belongs only to the Mercury view (the code that later GPUs are finalized from).
    pub mercury: bool,
}

/// Lists the known types, lowest first, and names each as a constant of [`SectionType`].
macro_rules! section_types {
    ($($value:literal $constant:ident $name:literal $contents:ident $view:ident, $about:literal;)*) => {
        impl SectionType {
            $(#[doc = $about] pub const $constant: Self = Self($value);)*
        }
        /// All known section types, lowest number first.
        pub const TYPES: &[KnownSectionType] = &[
            $(KnownSectionType { kind: SectionType($value), name: $name, contents: Contents::$contents, mercury: view::$view },)*
        ];
    };
}

/// The words of the table's view column.
#[allow(non_upper_case_globals)]
mod view {
    pub(super) const sass: bool = false;
    pub(super) const mercury: bool = true;
}

section_types! {
    0 NULL "NULL" Bytes sass, "Not a section.";
    1 PROGBITS "PROGBITS" Bytes sass, "Code and data of a linked file, debug information of any.";
    2 SYMTAB "SYMTAB" Symbols sass, "The symbol table.";
    3 STRTAB "STRTAB" Strings sass, "A string table.";
    4 RELA "RELA" Rela sass, "Relocations with addends.";
    5 HASH "HASH" Bytes sass, "A symbol hash table (not seen in cubins).";
    6 DYNAMIC "DYNAMIC" Bytes sass, "Dynamic linking (not seen in cubins).";
    7 NOTE "NOTE" Bytes sass, "Notes; see [`crate::note`].";
    8 NOBITS "NOBITS" NoBits sass, "Memory without bytes in a linked file.";
    9 REL "REL" Rel sass, "Relocations without addends.";
    18 SYMTAB_SHNDX "SYMTAB_SHNDX" Bytes sass, "Section indices beyond the reach of the symbol table.";
    0x7000_0000 INFO "CUDA_INFO" Info sass, "Attributes of functions; see [`crate::info`].";
    0x7000_0001 CALLGRAPH "CUDA_CALLGRAPH" Bytes sass, "Calls; see [`crate::callgraph`].";
    0x7000_0002 PROTOTYPE "CUDA_PROTOTYPE" Bytes sass, "Prototypes of functions; see [`crate::callgraph`].";
    0x7000_0003 RESOLVED_RELA "CUDA_RESOLVED_RELA" Rela sass, "Relocations that the linker has applied.";
    0x7000_0004 METADATA "CUDA_METADATA" Bytes sass, "Metadata.";
    0x7000_0006 CONSTANT "CUDA_CONSTANT" Bytes sass, "Constants of no particular bank.";
    0x7000_0007 GLOBAL "CUDA_GLOBAL" NoBits sass, "Global variables that start as zero.";
    0x7000_0008 GLOBAL_INIT "CUDA_GLOBAL_INIT" Bytes sass, "Global variables with a value.";
    0x7000_0009 LOCAL "CUDA_LOCAL" NoBits sass, "Local memory.";
    0x7000_000a SHARED "CUDA_SHARED" NoBits sass, "Shared memory.";
    0x7000_000b RELOCATION_ACTION "CUDA_RELOCINFO" Bytes sass, "How the driver applies a relocation type.";
    0x7000_000c MERCURY "CUDA_MERCURY" Bytes mercury, "Mercury code.";
    0x7000_000d MERCURY_SASS_MAP "CUDA_MERCURY_SASS_MAP" Bytes mercury, "Which machine code Mercury code became.";
    0x7000_000e UNIFIED_FUNCTIONS "CUDA_UFT" Bytes sass, "Stubs of unified functions; see [`crate::unified`].";
    0x7000_0010 UNIFIED_INDEX "CUDA_UIDX" Bytes sass, "The index file of unified tables; see [`crate::unified`].";
    0x7000_0011 UNIFIED_FUNCTION_ENTRIES "CUDA_UFT_ENTRY" Bytes sass, "Entries of the unified function table; see [`crate::unified`].";
    0x7000_0012 UNIFIED_DATA "CUDA_UDT" Bytes sass, "Unified variables.";
    0x7000_0014 UNIFIED_DATA_ENTRIES "CUDA_UDT_ENTRY" Bytes sass, "Entries of the unified data table; see [`crate::unified`].";
    0x7000_0015 RESERVED_SHARED "CUDA_RESERVED_SHARED" NoBits sass, "Shared memory that the system reserves.";
    0x7000_0016 CAPSULE "CUDA_CAPMERC" Bytes mercury, "Mercury code, coded against the machine code.";
    0x7000_0064 CONSTANT_0 "CUDA_CONSTANT_B0" Constants sass, "Bank 0: kernel parameters.";
    0x7000_0065 CONSTANT_1 "CUDA_CONSTANT_B1" Constants sass, "Bank 1.";
    0x7000_0066 CONSTANT_2 "CUDA_CONSTANT_B2" Constants sass, "Bank 2: constants that the compiler makes.";
    0x7000_0067 CONSTANT_3 "CUDA_CONSTANT_B3" Constants sass, "Bank 3: constants of the program.";
    0x7000_0068 CONSTANT_4 "CUDA_CONSTANT_B4" Constants sass, "Bank 4.";
    0x7000_0069 CONSTANT_5 "CUDA_CONSTANT_B5" Constants sass, "Bank 5.";
    0x7000_006a CONSTANT_6 "CUDA_CONSTANT_B6" Constants sass, "Bank 6.";
    0x7000_006b CONSTANT_7 "CUDA_CONSTANT_B7" Constants sass, "Bank 7.";
    0x7000_0078 MERCURY_CONSTANT_PARAMETERS "CUDA_MERCURY_CONSTANT_PARAMS" Bytes mercury, "Kernel parameters.";
    0x7000_0079 MERCURY_CONSTANT_IMAGES "CUDA_MERCURY_CONSTANT_IMGHDR" Bytes mercury, "Slots of textures and surfaces.";
    0x7000_007a MERCURY_CONSTANT_DRIVER "CUDA_MERCURY_CONSTANT_DRIVER" Bytes mercury, "Constants of the driver.";
    0x7000_007b MERCURY_CONSTANT_OPT "CUDA_MERCURY_CONSTANT_OPT" Bytes mercury, "Constants that the compiler makes.";
    0x7000_007c MERCURY_CONSTANT_USER "CUDA_MERCURY_CONSTANT_USER" Bytes mercury, "Constants of the program.";
    0x7000_007d MERCURY_CONSTANT_PIC "CUDA_MERCURY_CONSTANT_PIC" Bytes mercury, "Constants of position-independent code.";
    0x7000_007e MERCURY_CONSTANT_TOOLS "CUDA_MERCURY_CONSTANT_TOOLS" Bytes mercury, "Constants of tools.";
    0x7000_0082 MERCURY_RELA "CUDA_MERCURY_RELA" Rela mercury, "Relocations of the Mercury view.";
    0x7000_0083 MERCURY_INFO "CUDA_MERCURY_INFO" Info mercury, "Attributes in the Mercury view.";
    0x7000_0084 MERCURY_CONSTANT_OPTIMIZER "CUDA_MERCURY_CONSTANT_OPTIMIZER" Bytes mercury,
        "Constants that the compiler makes for one function.";
    0x7000_0085 MERCURY_SYMTAB "CUDA_MERCURY_SYMTAB" Symbols mercury, "Symbol table of the Mercury view.";
    0x7000_0086 COMPAT "CUDA_COMPAT_INFO" Info sass, "What a GPU must provide; see [`crate::compat`].";
    0x7000_0087 EMBEDDED_HOST "CUDA_EMBEDDED_HOST" Bytes sass, "Host code.";
    0x7000_0088 MERCURY_RESOLVED_RELA "CUDA_MERCURY_RESOLVED_RELA" Rela mercury,
        "Relocations of the Mercury view that the linker has applied.";
    0x7000_008a MERCURY_CALLGRAPH "CUDA_MERCURY_CALLGRAPH" Bytes mercury, "Calls, in the Mercury view.";
    0x7000_008b MERCURY_PROTOTYPE "CUDA_MERCURY_PROTOTYPE" Bytes mercury, "Prototypes of functions, in the Mercury view.";
}

/// The types of CUDA are numbered from here.
const FIRST_OF_CUDA: u32 = 0x7000_0000;
/// What sections of the usual types hold, by number.
static CONTENTS: [Contents; 32] = contents_from(0);
/// What sections of CUDA's types hold, by number.
static CONTENTS_OF_CUDA: [Contents; 256] = contents_from(FIRST_OF_CUDA);

const fn contents_from<const COUNT: usize>(first: u32) -> [Contents; COUNT] {
    let mut contents = [Contents::Bytes; COUNT];
    let mut index = 0;
    while index < TYPES.len() {
        let number = TYPES[index].kind.0.wrapping_sub(first) as usize;
        if number < COUNT {
            contents[number] = TYPES[index].contents;
        }
        index += 1;
    }
    contents
}

impl SectionType {
    /// What is known about this type.
    #[must_use]
    pub fn row(self) -> Option<&'static KnownSectionType> {
        TYPES.binary_search_by_key(&self, |row| row.kind).ok().map(|index| &TYPES[index])
    }

    /// The name that tools print.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// What a section of this type holds; bytes, when the type is not known.
    #[must_use]
    pub fn contents(self) -> Contents {
        // Asked of every section, more than once: so it is looked up and not searched for.
        let row = match self.0.checked_sub(FIRST_OF_CUDA) {
            None => CONTENTS.get(self.0 as usize),
            Some(number) => CONTENTS_OF_CUDA.get(number as usize),
        };
        row.copied().unwrap_or(Contents::Bytes)
    }

    /// Whether a section of this type has no bytes in the file.
    #[must_use]
    pub fn is_no_bits(self) -> bool {
        self.contents() == Contents::NoBits
    }

    /// The type in an executable, which has plain types where a relocatable file tells the memories apart.
    #[must_use]
    pub fn in_executable(self) -> Self {
        match self {
            Self::SHARED | Self::GLOBAL | Self::RESERVED_SHARED => Self::NOBITS,
            Self::GLOBAL_INIT => Self::PROGBITS,
            constants if constants.contents() == Contents::Constants => Self::PROGBITS,
            other => other,
        }
    }

    /// The bank that a section of constants belongs to.
    #[must_use]
    pub fn constant_bank(self) -> Option<u8> {
        (self.contents() == Contents::Constants).then(|| (self.0 - Self::CONSTANT_0.0) as u8)
    }
}

impl fmt::Display for SectionType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.pad(name),
            None => out.pad(&format!("{:#x}", self.0)),
        }
    }
}

impl fmt::Debug for SectionType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The names of the section flags.
pub static FLAGS: &[(u64, &str)] = &[
    (elf::SHF_WRITE, "WRITE"),
    (elf::SHF_ALLOC, "ALLOC"),
    (elf::SHF_EXECINSTR, "EXEC"),
    (elf::SHF_INFO_LINK, "INFO_LINK"),
    (elf::SHF_CUDA_CUINFO, "CUINFO"),
    (elf::SHF_CUDA_TKINFO, "TKINFO"),
    (elf::SHF_CUDA_MERCURY, "MERCURY"),
];

/// Bits 20 and up of the flags of a text section hold the number of barriers, in files of CUDA 12 and before.
pub const BARRIER_SHIFT: u32 = 20;

/// Section flags as text: names joined by `+`, then what is left of them in hexadecimal; `-` for none.
#[must_use]
pub fn flags_text(flags: u64) -> String {
    let mut rest = flags;
    let mut parts = Vec::new();
    for &(bit, name) in FLAGS {
        if flags & bit != 0 {
            parts.push(name.to_owned());
            rest &= !bit;
        }
    }
    if rest != 0 {
        parts.push(format!("{rest:#x}"));
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join("+") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn types_ascend_and_names_are_unique() {
        assert!(TYPES.windows(2).all(|pair| pair[0].kind < pair[1].kind));
        let names: HashSet<_> = TYPES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TYPES.len());
    }

    #[test]
    fn contents_are_found_by_number() {
        assert!(TYPES.iter().all(|row| row.kind.contents() == row.contents));
        assert_eq!(SectionType(u32::MAX).contents(), Contents::Bytes);
    }

    #[test]
    fn executables_have_plain_types() {
        use SectionType as Type;
        let types = [Type::SHARED, Type::GLOBAL_INIT, Type::CONSTANT_3, Type::INFO].map(SectionType::in_executable);
        assert_eq!(types, [Type::NOBITS, Type::PROGBITS, Type::PROGBITS, Type::INFO]);
    }

    #[test]
    fn banks_are_numbered_by_type() {
        let banks: Vec<_> = TYPES.iter().filter_map(|row| row.kind.constant_bank()).collect();
        assert_eq!(banks, (0..8).collect::<Vec<_>>());
        assert_eq!(SectionType::CONSTANT_3.constant_bank(), Some(3));
        assert_eq!(SectionType::MERCURY_CONSTANT_USER.constant_bank(), None);
    }

    #[test]
    fn no_bits_are_the_spaces_without_contents() {
        let no_bits: Vec<_> = TYPES.iter().filter(|row| row.kind.is_no_bits()).map(|row| row.kind.0).collect();
        assert_eq!(no_bits, [8, 0x7000_0007, 0x7000_0009, 0x7000_000a, 0x7000_0015]);
    }

    #[test]
    fn unknown_types_and_flags_are_shown() {
        assert_eq!(SectionType(0x7000_0099).to_string(), "0x70000099");
        assert_eq!(SectionType(0x7000_0099).contents(), Contents::Bytes);
        assert_eq!(flags_text(0x60_0006), "ALLOC+EXEC+0x600000");
        assert_eq!(flags_text(0), "-");
    }

    #[test]
    fn every_flag_has_one_name() {
        let bits: HashSet<_> = FLAGS.iter().map(|flag| flag.0).collect();
        assert_eq!(bits.len(), FLAGS.len());
        assert!(FLAGS.iter().all(|flag| flag.0.is_power_of_two()));
    }
}
