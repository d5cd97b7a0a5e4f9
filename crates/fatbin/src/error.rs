//! Errors: what is wrong with a container, and where.

use std::fmt;

/// The result of opening a container.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong, and where: the container, the thing in it, and the offset.
///
/// Offsets count from the start of the bytes that the container was read from: the file for archives and host objects,
/// and for fatbins too when they come from [`crate::host::FatbinSection::fatbins`].
///
/// Boxed, so that a `Result` stays as small as its good half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Place>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    container: Container,
    item: Option<Item>,
    offset: u64,
    problem: Problem,
}

/// The kind of container that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Container {
    /// An `ar` archive.
    Archive,
    /// An object for the host's linker.
    HostObject,
    /// A fatbin.
    Fatbin,
    /// What clang keeps device code in.
    Offload,
}

/// The thing in a container that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Item {
    /// An entry of a fatbin, counted from 0.
    Entry(u32),
    /// A member of an archive.
    Member(String),
    /// A section of a host object.
    Section(String),
}

impl Error {
    pub(crate) fn new(container: Container, item: Option<Item>, offset: u64, problem: Problem) -> Self {
        Self(Box::new(Place { container, item, offset, problem }))
    }

    /// The kind of container.
    #[must_use]
    pub fn container(&self) -> Container {
        self.0.container
    }

    /// The entry, member or section, when it is not the container as a whole.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        self.0.item.as_ref()
    }

    /// Where it is.
    #[must_use]
    pub fn offset(&self) -> u64 {
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
        let Place { container, item, offset, problem } = &*self.0;
        write!(out, "{container}")?;
        if let Some(item) = item {
            write!(out, " {item}")?;
        }
        write!(out, " at offset {offset:#x}: {problem}")
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Container {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Archive => "archive",
            Self::HostObject => "host object",
            Self::Fatbin => "fatbin",
            Self::Offload => "clang's container",
        })
    }
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(index) => write!(out, "entry {index}"),
            Self::Member(name) => write!(out, "member '{name}'"),
            Self::Section(name) => write!(out, "section '{name}'"),
        }
    }
}

/// What can be wrong with a container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes are something else than what they were given as.
    #[error("this is {found}, not {expected}")]
    WrongKind {
        /// What they should be.
        expected: &'static str,
        /// What they are.
        found: crate::identify::Kind,
    },
    /// Something reaches past the end of what holds it.
    #[error("{what} needs {needed} bytes, {available} are left")]
    Cut {
        /// What is cut off.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// Sections share so many bytes that together they are larger than the file.
    #[error("sections overlap")]
    Overlap,
    /// A fatbin was expected, and there is something else.
    #[error("a fatbin starts with 0xba55ed50, here is {0:#010x}")]
    FatbinMagic(u32),
    /// An old-style fatbin, whose entries are of another format.
    #[error("an old-style fatbin (magic 0x1ee55a01), which is not supported")]
    OldFatbin,
    /// A fatbin of a version that is not known.
    #[error("fatbin version {0}, only version 1 is known")]
    FatbinVersion(u16),
    /// One of clang's containers was expected, and there is something else.
    #[error("clang's container starts with 10 ff 10 ad, here is {0:02x?}")]
    OffloadMagic([u8; 4]),
    /// One of clang's containers has a version that is not known.
    #[error("version {0}, only 1 to 3 are known")]
    OffloadVersion(u32),
    /// One of clang's containers is packed as a whole.
    #[error("it is packed, which is not supported")]
    PackedOffload,
    /// An image in one of clang's containers is for no GPU that has a number.
    #[error("'{0}' is no GPU")]
    OffloadArchitecture(String),
    /// A header says that it is smaller than its fixed part.
    #[error("a header of {found} bytes, it has at least {least}")]
    HeaderSize {
        /// What it says.
        found: u64,
        /// The size of the fixed part.
        least: u64,
    },
    /// A string does not lie in the header that refers to it.
    #[error("{what} of {size} bytes at {offset:#x}, outside of the entry's header")]
    Outside {
        /// `name` or `options`.
        what: &'static str,
        /// Where it is said to be, from the start of the entry.
        offset: u64,
        /// How long it is said to be.
        size: u64,
    },
    /// A string is not UTF-8.
    #[error("the {0} is not UTF-8 text")]
    NotText(&'static str),
    /// A payload is packed in a way that is not known.
    #[error("packed in an unknown way (flags {0:#x}), only LZ4 and zstd are known")]
    UnknownCompression(u64),
    /// A payload is obfuscated, which only the compiler that made it can undo.
    #[error("an obfuscated payload, which cannot be unpacked")]
    Obfuscated,
    /// A payload is larger than the caller allows.
    #[error("unpacks to {promised} bytes, more than the limit of {limit}")]
    OverLimit {
        /// The size that the header gives.
        promised: u64,
        /// The caller's limit.
        limit: u64,
    },
    /// A payload cannot be as large as its header says, however well it was packed.
    #[error("{packed} packed bytes cannot unpack to {promised}")]
    Implausible {
        /// The size of the packed bytes.
        packed: u64,
        /// The size that the header gives.
        promised: u64,
    },
    /// The packed bytes are damaged.
    #[error("damaged {method} data: {reason}")]
    Damaged {
        /// How they are packed.
        method: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// A payload unpacks to another size than its header says.
    #[error("unpacks to {unpacked} bytes, its header says {promised}")]
    UnpackedSize {
        /// The size that came out.
        unpacked: u64,
        /// The size that the header gives.
        promised: u64,
    },
    /// A host object of a kind that is not read.
    #[error("{0} is not supported as a host object, only 64-bit little-endian ELF and COFF are")]
    UnsupportedHost(crate::identify::Kind),
    /// The section headers have a size that the format does not allow.
    #[error("section headers of {0} bytes, they have 64")]
    SectionHeaderSize(u16),
    /// The index of the section that holds the section names is too large.
    #[error("section names are in section {index} of {count}")]
    SectionNames {
        /// The index.
        index: u64,
        /// The number of sections.
        count: u64,
    },
    /// A section's name does not lie in the table of names.
    #[error("section {section} has its name at {name:#x} of a table of {size:#x} bytes")]
    SectionName {
        /// Index of the section.
        section: u64,
        /// Offset of the name.
        name: u32,
        /// Size of the table.
        size: u64,
    },
    /// A COFF section's name does not lie in the table of strings.
    #[error("the name of section {0} is outside of the table of strings")]
    CoffSectionName(usize),
    /// A member header does not end as all of them do.
    #[error("a member's header ends with a backquote and a newline, here are {0:02x?}")]
    MemberEnd([u8; 2]),
    /// The number in a member's header is none.
    #[error("the member's {field} is '{found}', no decimal number")]
    MemberNumber {
        /// Which field.
        field: &'static str,
        /// What is there.
        found: String,
    },
    /// A member's name is in the table of long names, which does not hold it.
    #[error("the member's name is at {offset} of a table of {size} bytes")]
    LongName {
        /// Offset of the name.
        offset: u64,
        /// Size of the table.
        size: u64,
    },
    /// A member's name is longer than any path.
    #[error("the member's name has {0} bytes")]
    NameSize(u64),
    /// The index of symbols knows of a member after the end of the archive: the file was cut off.
    #[error("the archive's index names a member at {member}, and the archive ends at {size}")]
    MissingMember {
        /// Where the member should be.
        member: u64,
        /// Where the archive ends.
        size: u64,
    },
    /// Another archive refers to a member that is not there.
    #[error("another archive refers to a member here, and there is none")]
    NoMember,
    /// Archives in archives, too many deep.
    #[error("archives are nested more than {0} deep")]
    TooDeep(u8),
}
