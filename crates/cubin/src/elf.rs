//! The fixed-size records of a 64-bit little-endian ELF file, and the constants that cubins use of ELF.
//!
//! These are plain values: nothing is checked here but that there are enough bytes.

/// Reads or writes one field. Records are described once, in [`record!`], and both directions follow from that.
pub(crate) trait Scalar: Sized {
    fn read(bytes: &[u8], offset: usize) -> Self;
    fn write(self, bytes: &mut [u8], offset: usize);
}

macro_rules! scalar {
    ($($type:ty),*) => { $(impl Scalar for $type {
        fn read(bytes: &[u8], offset: usize) -> Self {
            let mut value = [0; size_of::<$type>()];
            value.copy_from_slice(&bytes[offset..offset + size_of::<$type>()]);
            <$type>::from_le_bytes(value)
        }
        fn write(self, bytes: &mut [u8], offset: usize) {
            bytes[offset..offset + size_of::<$type>()].copy_from_slice(&self.to_le_bytes());
        }
    })* };
}
scalar!(u8, u16, u32, u64);

impl Scalar for [u8; 16] {
    fn read(bytes: &[u8], offset: usize) -> Self {
        let mut value = [0; 16];
        value.copy_from_slice(&bytes[offset..offset + 16]);
        value
    }
    fn write(self, bytes: &mut [u8], offset: usize) {
        bytes[offset..offset + 16].copy_from_slice(&self);
    }
}

/// A record whose fields follow one another without gaps, in the order in which they are listed.
macro_rules! record {
    ($(#[$about:meta])* $name:ident, $size:literal { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name { $($(#[$field_about])* pub $field: $type,)* }

        // The listed fields fill the record exactly, so the offsets below stay inside it.
        const _: () = assert!($(size_of::<$type>() +)* 0 == $size);

        impl $name {
            /// Size of the record in a file, in bytes.
            pub const SIZE: usize = $size;

            /// Decodes a record.
            #[must_use]
            pub fn read(bytes: &[u8; $size]) -> Self {
                let mut offset = 0;
                $(let $field = <$type as Scalar>::read(bytes, offset); offset += size_of::<$type>();)*
                debug_assert_eq!(offset, $size);
                Self { $($field,)* }
            }

            /// Decodes the record at `offset` of `bytes`, if it lies there whole.
            #[must_use]
            pub fn parse(bytes: &[u8], offset: u64) -> Option<Self> {
                let rest = bytes.get(usize::try_from(offset).ok()?..)?;
                rest.first_chunk().map(Self::read)
            }

            /// Encodes the record into the first bytes of `out`.
            ///
            /// # Panics
            /// When `out` is shorter than [`SIZE`](Self::SIZE).
            pub fn write(&self, out: &mut [u8]) {
                let out = &mut out[..$size];
                let mut offset = 0;
                $(Scalar::write(self.$field, out, offset); offset += size_of::<$type>();)*
                debug_assert_eq!(offset, $size);
            }
        }
    };
}

pub(crate) use record;

record! {
    /// The header at the start of the file.
    Header, 64 {
        /// Magic number, class, data encoding, version, OS ABI and ABI version.
        ident: [u8; 16],
        /// What kind of file: [`ET_REL`], [`ET_EXEC`], [`ET_WHOLE_PROGRAM`].
        kind: u16,
        /// [`EM_CUDA`].
        machine: u16,
        /// 1; in files of CUDA 12 and before, the toolkit's number.
        version: u32,
        /// 0.
        entry: u64,
        /// Where the program headers are; 0 without any.
        program_header_offset: u64,
        /// Where the section headers are.
        section_header_offset: u64,
        /// Target and place of the toolkit note; see [`crate::read::File::sm`].
        flags: u32,
        /// 64.
        header_size: u16,
        /// 56, or 0 in some files without program headers.
        program_header_size: u16,
        /// Number of program headers.
        program_header_count: u16,
        /// 64.
        section_header_size: u16,
        /// Number of section headers; 0 when that is in section 0, see [`SHN_LORESERVE`].
        section_header_count: u16,
        /// Index of the section that holds the section names; [`SHN_XINDEX`] when that is in section 0.
        section_names: u16,
    }
}

record! {
    /// One entry of the section header table.
    SectionHeader, 64 {
        /// Offset of the name in the section name table.
        name: u32,
        /// See [`crate::section::SectionType`].
        kind: u32,
        /// See the `SHF_` constants.
        flags: u64,
        /// 0.
        address: u64,
        /// Where the contents are in the file.
        offset: u64,
        /// Size of the contents in memory, and in the file unless the type has no bytes there.
        size: u64,
        /// Another section: the symbol table of relocations, the strings of a symbol table.
        link: u32,
        /// A section, a symbol, or a number of symbols, depending on the type and on [`SHF_INFO_LINK`].
        info: u32,
        /// Alignment, in bytes.
        align: u64,
        /// Size of one entry of a table.
        entry_size: u64,
    }
}

record! {
    /// One entry of the program header table.
    ProgramHeader, 56 {
        /// [`PT_LOAD`], [`PT_PHDR`].
        kind: u32,
        /// `PF_` flags.
        flags: u32,
        /// Where the segment starts in the file.
        offset: u64,
        /// 0.
        virtual_address: u64,
        /// 0.
        physical_address: u64,
        /// Bytes in the file.
        file_size: u64,
        /// Bytes in memory.
        memory_size: u64,
        /// Alignment, in bytes.
        align: u64,
    }
}

record! {
    /// One entry of a symbol table, as stored; [`crate::symbol::Symbol`] is its meaning.
    SymbolRecord, 24 {
        /// Offset of the name in the string table.
        name: u32,
        /// Binding (high half) and type (low half).
        info: u8,
        /// Visibility and CUDA's own bits.
        other: u8,
        /// Section index or an `SHN_` value.
        section: u16,
        /// Offset in the section; alignment of a shared or common variable.
        value: u64,
        /// Size in bytes.
        size: u64,
    }
}

record! {
    /// A relocation without addend.
    RelRecord, 16 {
        /// Offset in the target section.
        offset: u64,
        /// Type.
        kind: u32,
        /// Symbol index.
        symbol: u32,
    }
}

record! {
    /// A relocation with addend.
    RelaRecord, 24 {
        /// Offset in the target section.
        offset: u64,
        /// Type.
        kind: u32,
        /// Symbol index.
        symbol: u32,
        /// Addend, two's complement.
        addend: u64,
    }
}

/// Defines constants of one type, each with its line of documentation.
macro_rules! constants {
    ($($type:ty { $($name:ident = $value:expr, $about:literal;)* })*) => {
        $($(#[doc = $about] pub const $name: $type = $value;)*)*
    };
}

/// The first four bytes of every ELF file.
pub const MAGIC: [u8; 4] = *b"\x7fELF";

constants! {
    u8 {
        CLASS_32 = 1, "Class byte (4) of a 32-bit file.";
        CLASS_64 = 2, "Class byte (4) of a 64-bit file.";
        DATA_LSB = 1, "Data byte (5) of a little-endian file.";
        OS_ABI_CUDA_12 = 0x33, "OS ABI byte (7) up to CUDA 12.";
        ABI_VERSION_CUDA_12 = 7, "ABI version byte (8) up to CUDA 12.";
        OS_ABI_CUDA_13 = 0x41, "OS ABI byte (7) from CUDA 13.";
        ABI_VERSION_CUDA_13 = 8, "ABI version byte (8) from CUDA 13.";
        STB_LOCAL = 0, "Binding: seen in its own file only.";
        STB_GLOBAL = 1, "Binding: one definition per program.";
        STB_WEAK = 2, "Binding: one definition is chosen.";
        STT_NOTYPE = 0, "Type: none.";
        STT_OBJECT = 1, "Type: a variable.";
        STT_FUNC = 2, "Type: a function.";
        STT_SECTION = 3, "Type: a section.";
        STT_FILE = 4, "Type: a source file.";
        STT_COMMON = 5, "Type: a common variable.";
        STT_TLS = 6, "Type: a thread-local variable.";
        STT_CUDA_TEXTURE = 10, "Type: a texture reference.";
        STT_CUDA_SAMPLER = 11, "Type: a sampler reference.";
        STT_CUDA_SURFACE = 12, "Type: a surface reference.";
        STT_CUDA_OBJECT = 13, "Type: a variable whose memory space is in `other`.";
    }
    u16 {
        EM_CUDA = 190, "Machine of every cubin.";
        ET_NONE = 0, "No file type.";
        ET_REL = 1, "A relocatable file: the compiler's or a relocatable link's output.";
        ET_EXEC = 2, "A linked file.";
        ET_WHOLE_PROGRAM = 0xff00, "A relocatable file that is a whole program but for library functions (`ptxas -ewp`).";
        SHN_UNDEF = 0, "Section of an undefined symbol.";
        SHN_LORESERVE = 0xff00, "First section index with a special meaning. From so many sections on, counts and \
            indices move elsewhere: the number of sections to section 0's size, the index of the section names to \
            its link, and the section of a symbol to `.symtab_shndx`.";
        SHN_ABS = 0xfff1, "Section of a symbol whose value is absolute.";
        SHN_COMMON = 0xfff2, "Section of a common variable.";
        SHN_XINDEX = 0xffff, "The real section index is elsewhere.";
    }
    u32 {
        SHT_NULL = 0, "Not a section.";
        SHT_PROGBITS = 1, "Contents of the program.";
        SHT_SYMTAB = 2, "Symbol table.";
        SHT_STRTAB = 3, "String table.";
        SHT_RELA = 4, "Relocations with addends.";
        SHT_HASH = 5, "Symbol hash table.";
        SHT_DYNAMIC = 6, "Dynamic linking.";
        SHT_NOTE = 7, "Notes.";
        SHT_NOBITS = 8, "Zeros, without bytes in the file.";
        SHT_REL = 9, "Relocations without addends.";
        SHT_SYMTAB_SHNDX = 18, "Section indices of symbols that do not fit into the symbol table.";
        PT_NULL = 0, "Not a segment.";
        PT_LOAD = 1, "A segment to load.";
        PT_PHDR = 6, "The program header table itself.";
        PF_X = 1, "Segment flag: executable.";
        PF_W = 2, "Segment flag: writable.";
        PF_R = 4, "Segment flag: readable.";
    }
    u64 {
        SHF_WRITE = 1, "Section flag: writable.";
        SHF_ALLOC = 2, "Section flag: takes memory when loaded.";
        SHF_EXECINSTR = 4, "Section flag: code.";
        SHF_INFO_LINK = 0x40, "Section flag: `info` is a section index.";
        SHF_CUDA_CUINFO = 0x0100_0000, "Section flag: `.note.nv.cuinfo`.";
        SHF_CUDA_TKINFO = 0x0200_0000, "Section flag: `.note.nv.tkinfo`.";
        SHF_CUDA_MERCURY = 0x1000_0000, "Section flag: belongs to the Mercury view of a file.";
    }
}
