//! Errors: what is wrong with a file, and where.

use std::fmt;

use crate::read::Section;

/// The result of reading or writing a cubin.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong, and where: the section and the file offset, as far as they are known.
///
/// Boxed, so that a `Result` stays as small as its good half: readers return millions of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Place>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    section: Option<(u32, String)>,
    offset: Option<u64>,
    problem: Problem,
}

impl Error {
    /// An error that concerns the file as a whole.
    #[must_use]
    pub fn new(problem: Problem) -> Self {
        Self(Box::new(Place { section: None, offset: None, problem }))
    }

    /// An error at `offset`, in bytes from the start of whatever is being read.
    ///
    /// Readers of section contents count from the start of the section; [`in_section`](Self::in_section) then makes
    /// it an offset in the file.
    #[must_use]
    pub fn at(offset: u64, problem: Problem) -> Self {
        Self(Box::new(Place { section: None, offset: Some(offset), problem }))
    }

    /// Says which section an error found in a section's contents belongs to.
    ///
    /// An offset that counted from the start of the section becomes one that counts from the start of the file; an
    /// error without one gets the place of the section.
    #[must_use]
    pub fn in_section(mut self, section: &Section<'_>) -> Self {
        if self.0.section.is_none() {
            self.0.section = Some((section.index, section.name.to_owned()));
            self.0.offset = Some(section.header.offset.saturating_add(self.0.offset.unwrap_or(0)));
        }
        self
    }

    /// Index and name of the section that is wrong.
    #[must_use]
    pub fn section(&self) -> Option<(u32, &str)> {
        self.0.section.as_ref().map(|(index, name)| (*index, name.as_str()))
    }

    /// Where in the file (or in the bytes that were given to a reader of section contents) it is wrong.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { section, offset, problem } = &*self.0;
        if let Some((index, name)) = section {
            write!(out, "section '{name}' ({index})")?;
            if offset.is_some() {
                out.write_str(" ")?;
            }
        }
        if let Some(offset) = offset {
            write!(out, "at offset {offset:#x}")?;
        }
        if section.is_some() || offset.is_some() {
            out.write_str(": ")?;
        }
        problem.fmt(out)
    }
}

impl std::error::Error for Error {}

/// What can be wrong with a cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file does not start with the ELF magic number, or is shorter than that.
    #[error("not an ELF file")]
    NotElf,
    /// The file is a 32-bit ELF file: a format that CUDA dropped long ago.
    #[error("a 32-bit ELF file, only 64-bit cubins are supported")]
    Elf32,
    /// The class is neither 32-bit nor 64-bit.
    #[error("unknown ELF class {0}")]
    UnknownClass(u8),
    /// The file is not little endian.
    #[error("ELF data encoding {0}, cubins are little endian (1)")]
    NotLittleEndian(u8),
    /// The file is an ELF file for something else.
    #[error("ELF machine {0}, a cubin has machine 190")]
    NotCuda(u16),
    /// The pair of OS ABI and ABI version is none that is known.
    #[error("unknown ABI {os_abi:#x} version {version}")]
    UnknownAbi {
        /// Byte 7 of the identification.
        os_abi: u8,
        /// Byte 8 of the identification.
        version: u8,
    },
    /// A header field has a value that the format does not allow.
    #[error("{field} is {found}, expected {expected}")]
    Field {
        /// Which field.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The value it must have.
        expected: u64,
    },
    /// Something reaches past the end of the file.
    #[error("{what} ends at {end:#x}, past the end of the file at {file_size:#x}")]
    PastEnd {
        /// What reaches too far.
        what: &'static str,
        /// Where it ends.
        end: u64,
        /// Where the file ends.
        file_size: u64,
    },
    /// A size or offset overflows.
    #[error("{0} overflows")]
    Overflow(&'static str),
    /// Parts of the file share so many bytes that together they are far larger than it.
    #[error("{0} overlap too much")]
    Overlap(&'static str),
    /// The name of a section or symbol is not in its string table.
    #[error("{what} {index} has its name at {name:#x} of a string table of {size:#x} bytes")]
    Name {
        /// `section` or `symbol`.
        what: &'static str,
        /// Which one.
        index: u32,
        /// Offset of the name in the string table.
        name: u32,
        /// Size of the string table.
        size: u64,
    },
    /// A string table is not UTF-8.
    #[error("the string table is not UTF-8")]
    NotText,
    /// An index names a section that does not exist.
    #[error("{what} names section {index} of {count}")]
    SectionIndex {
        /// What holds the index.
        what: &'static str,
        /// The index.
        index: u32,
        /// The number of sections.
        count: u32,
    },
    /// A section that must have a certain type has another.
    #[error("{what} is section {index}, which is no {expected}")]
    SectionKind {
        /// What refers to the section.
        what: &'static str,
        /// The section it refers to.
        index: u32,
        /// What that section should be.
        expected: &'static str,
    },
    /// There are two of something that a file has once.
    #[error("a second {0}")]
    Duplicate(&'static str),
    /// The section index of a symbol is in `.symtab_shndx`, which has no entry for it.
    #[error("symbol {0} has its section index in '.symtab_shndx', which has no entry for it")]
    NoExtendedIndex(u32),
    /// A symbol names a section that does not exist.
    #[error("symbol {symbol} names section {index} of {count}")]
    SymbolSection {
        /// The symbol.
        symbol: u32,
        /// The section index it holds.
        index: u32,
        /// The number of sections.
        count: u32,
    },
    /// A relocation names a symbol that does not exist.
    #[error("relocation names symbol {index} of {count}")]
    RelocationSymbol {
        /// The symbol index.
        index: u32,
        /// The number of symbols.
        count: u32,
    },
    /// A table's size is no multiple of the size of its entries.
    #[error("size {size:#x} is no multiple of the entry size {entry_size}")]
    PartialEntry {
        /// Size of the section.
        size: u64,
        /// Size of one entry.
        entry_size: u64,
    },
    /// The entries of a table are said to have another size than those of its kind.
    #[error("entries have {found:#x} bytes, where {expected:#x} are expected")]
    EntrySize {
        /// The size that the header says.
        found: u64,
        /// The size of its kind.
        expected: u64,
    },
    /// A section is not of a kind that holds relocations.
    #[error("no relocation section")]
    NotRelocations,
    /// A relocated field does not lie in its section.
    #[error("a relocated field of bits {first_bit}..{end_bit} does not fit into the {available} bytes left")]
    FieldPastEnd {
        /// First bit of the field.
        first_bit: u32,
        /// First bit after the field.
        end_bit: u32,
        /// Bytes from the relocation's offset to the end of the section.
        available: u64,
    },
    /// A record is cut off by the end of its section.
    #[error("{what} needs {needed} bytes, {available} are left")]
    CutRecord {
        /// What kind of record.
        what: &'static str,
        /// Its size.
        needed: u64,
        /// Bytes to the end of the section.
        available: u64,
    },
    /// A capsule holds a token of a kind that is not known.
    #[error("capsule token {0:#04x} is of no known kind")]
    CapsuleToken(u8),
    /// An entry of `.nv.callgraph` stands before any group, or opens a group that is not known.
    #[error("call graph entry ({0}, {1}) stands in no known group")]
    CallGraphGroup(u32, i32),
    /// A note holds something that does not fit its type.
    #[error("malformed {0} note")]
    Note(&'static str),
    /// The image does not fit into the bytes given for it.
    #[error("the image needs {needed:#x} bytes, {available:#x} were given")]
    ImageSize {
        /// What it needs.
        needed: u64,
        /// What it got.
        available: u64,
    },
}
