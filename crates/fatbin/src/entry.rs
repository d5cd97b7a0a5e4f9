//! One entry of a fatbin: a header that says what the payload is, and the payload.
//!
//! | offset | field |
//! |---|---|
//! | 0 | u16 kind |
//! | 2 | u16 0x0101 |
//! | 4 | u32 size of this header with the strings after it |
//! | 8 | u64 size of the payload in the file, padded to 8 |
//! | 16 | u32 size of the packed payload, 0 when it is not packed |
//! | 20 | u32 offset of the options from the start of the entry, 0 without any |
//! | 24 | u16 minor, u16 major version of what the payload is written in |
//! | 28 | u32 number of the GPU |
//! | 32 | u32 offset, u32 size of the name, 0 without one |
//! | 40 | u64 flags |
//! | 48 | u64 key of an obfuscated payload |
//! | 56 | u64 size of the payload once it is unpacked, 0 when it is not packed |
//!
//! The options are a u32 offset from the start of the entry, a u32 size, and the text.

pub(crate) mod group;
mod unpack;
mod zstd;

pub use group::Part;
pub use unpack::Unpacker;

use std::fmt;

use cubin::target::Variant;

use crate::choose::Description;
use crate::error::{Container, Error, Item, Problem, Result};
use crate::little_endian::{Fields, length, slice};

/// The size of an entry's header without the strings.
pub(crate) const HEADER_SIZE: u32 = 64;

/// What an entry's payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// PTX text, to be compiled.
    Ptx,
    /// A cubin.
    Cubin,
    /// The compiler's intermediate language, for link-time optimization.
    LtoIr,
    /// Something else, by its number.
    Other(u16),
}

impl EntryKind {
    const NUMBERS: [(u16, Self); 3] = [(1, Self::Ptx), (2, Self::Cubin), (8, Self::LtoIr)];

    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Other(number) => number,
            known => Self::NUMBERS.iter().find(|(_, kind)| *kind == known).map_or(0, |&(number, _)| number),
        }
    }

    fn from_number(number: u16) -> Self {
        Self::NUMBERS.iter().find(|(known, _)| *known == number).map_or(Self::Other(number), |&(_, kind)| kind)
    }
}

/// The GPU, real or virtual, that an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Architecture {
    /// Its number: 90.
    pub number: u32,
    /// The letter after the number.
    pub variant: Variant,
}

impl fmt::Display for Architecture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.variant {
            Variant::Plain => "",
            Variant::Accelerated => "a",
            Variant::Family => "f",
        };
        write!(out, "{}{letter}", self.number)
    }
}

/// What is known of an entry's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub u64);

impl Flags {
    /// Addresses have 64 bits.
    pub const ADDRESS_64: Self = Self(0x1);
    /// Compiled for debugging.
    pub const DEBUG: Self = Self(0x2);
    /// Made on a Linux host.
    pub const LINUX: Self = Self(0x10);
    /// Made on a Windows host.
    pub const WINDOWS: Self = Self(0x40);
    /// Packed as one LZ4 block.
    pub const LZ4: Self = Self(0x2000);
    /// Packed as one zstd frame.
    pub const ZSTD: Self = Self(0x8000);
    /// All flags that say how the payload is packed.
    pub const PACKED: Self = Self(0xf000);
    /// The payload is obfuscated.
    pub const OBFUSCATED: Self = Self(0x1_0000);
    /// For the variant `a` of its GPU.
    pub const ACCELERATED: Self = Self(0x10_0000);
    /// For the variant `f` of its GPU.
    pub const FAMILY: Self = Self(0x20_0000);
    /// A cubin with Mercury code beside the machine code.
    pub const MERCURY: Self = Self(0x100_0000);

    /// Whether all flags of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// How a payload is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packing {
    /// Not at all.
    Stored,
    /// One LZ4 block: CUDA 12 and before, and `--compress-mode=speed`.
    Lz4,
    /// One zstd frame: CUDA 13.
    Zstd,
    /// Some other way, by its flags.
    Unknown(u64),
}

/// One entry of a fatbin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<'data> {
    /// Its place among the entries of its fatbin.
    pub index: u32,
    /// Where it starts; see [`Error`] for what offsets count from.
    pub offset: u64,
    /// All of its bytes: header and payload.
    pub bytes: &'data [u8],
    /// What its payload is.
    pub kind: EntryKind,
    /// What it was compiled for.
    pub architecture: Architecture,
    /// Major and minor version of what the payload is written in: of the PTX language for PTX.
    pub version: (u16, u16),
    /// Its flags.
    pub flags: Flags,
    /// The name that `fatbinary --ident` gave it; empty without one. By custom the name of the source file.
    pub name: &'data str,
    /// The options it was compiled with, or is to be compiled with; empty without any.
    pub options: &'data str,
    /// Its payload as it is in the file, without padding when it is packed.
    pub payload: &'data [u8],
    /// The size that the unpacked payload must have; 0 when it is not packed.
    pub unpacked_size: u64,
    /// Which part of the unpacked payload it is, where several images are packed together.
    pub part: Option<Part>,
}

impl<'data> Entry<'data> {
    /// Reads the entry at the start of `bytes`, which ends with the fatbin.
    pub(crate) fn parse(bytes: &'data [u8], index: u32, offset: u64) -> Result<Self> {
        let error = |problem| Error::new(Container::Fatbin, Some(Item::Entry(index)), offset, problem);
        let cut = |what, needed| error(Problem::Cut { what, needed, available: length(bytes) });

        let header = Header::read(bytes).ok_or_else(|| cut("the header", u64::from(HEADER_SIZE)))?;
        if header.header_size < HEADER_SIZE {
            return Err(error(Problem::HeaderSize { found: u64::from(header.header_size), least: u64::from(HEADER_SIZE) }));
        }
        let header_size = u64::from(header.header_size);
        let head = slice(bytes, 0, header_size).ok_or_else(|| cut("the header", header_size))?;
        let size = header_size.saturating_add(header.payload_size);
        let bytes = slice(bytes, 0, size).ok_or_else(|| cut("the entry", size))?;

        let flags = Flags(header.flags);
        // What padding follows a payload that is not packed cannot be told from it.
        let payload_size = match packing(flags) {
            Packing::Stored => header.payload_size,
            _ => u64::from(header.packed_size),
        };
        let available = header.payload_size;
        if payload_size > available {
            return Err(error(Problem::Cut { what: "the packed payload", needed: payload_size, available }));
        }
        Ok(Self {
            index,
            offset,
            bytes,
            kind: EntryKind::from_number(header.kind),
            architecture: Architecture { number: header.number, variant: variant(flags) },
            version: (header.major, header.minor),
            flags,
            name: text(head, "name", header.name_offset, header.name_size).map_err(error)?,
            // A group has its table of images there.
            options: if header.kind == group::KIND { "" } else { options(head, header.options_offset).map_err(error)? },
            payload: slice(bytes, header_size, payload_size).ok_or_else(|| cut("the payload", size))?,
            unpacked_size: header.unpacked_size,
            part: None,
        })
    }

    /// How its payload is packed.
    #[must_use]
    pub fn packing(&self) -> Packing {
        packing(self.flags)
    }

    /// What the choice for a target needs to know of it.
    #[must_use]
    pub fn description(&self) -> Description {
        Description { kind: self.kind, architecture: self.architecture, address_64: self.flags.contains(Flags::ADDRESS_64) }
    }

    /// A fatbin with this entry alone, for tools that take their input that way.
    #[must_use]
    pub fn to_fatbin(&self) -> Vec<u8> {
        crate::container::build(&[self.bytes])
    }

    fn error(&self, problem: Problem) -> Error {
        Error::new(Container::Fatbin, Some(Item::Entry(self.index)), self.offset, problem)
    }
}

/// The variant that flags select.
fn variant(flags: Flags) -> Variant {
    if flags.contains(Flags::ACCELERATED) {
        Variant::Accelerated
    } else if flags.contains(Flags::FAMILY) {
        Variant::Family
    } else {
        Variant::Plain
    }
}

fn packing(flags: Flags) -> Packing {
    match Flags(flags.0 & Flags::PACKED.0) {
        Flags(0) => Packing::Stored,
        Flags::LZ4 => Packing::Lz4,
        Flags::ZSTD => Packing::Zstd,
        Flags(other) => Packing::Unknown(other),
    }
}

/// The fixed part of an entry's header, field by field; the module's documentation says what they are.
struct Header {
    kind: u16,
    header_size: u32,
    payload_size: u64,
    packed_size: u32,
    options_offset: u32,
    minor: u16,
    major: u16,
    number: u32,
    name_offset: u32,
    name_size: u32,
    flags: u64,
    unpacked_size: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let kind = fields.u16()?;
        let _marker = fields.u16()?;
        let header_size = fields.u32()?;
        let payload_size = fields.u64()?;
        let packed_size = fields.u32()?;
        let options_offset = fields.u32()?;
        let minor = fields.u16()?;
        let major = fields.u16()?;
        let number = fields.u32()?;
        let name_offset = fields.u32()?;
        let name_size = fields.u32()?;
        let flags = fields.u64()?;
        let _key = fields.u64()?;
        let unpacked_size = fields.u64()?;
        Some(Self {
            kind,
            header_size,
            payload_size,
            packed_size,
            options_offset,
            minor,
            major,
            number,
            name_offset,
            name_size,
            flags,
            unpacked_size,
        })
    }
}

/// The option text that the block at `offset` of an entry's header refers to.
fn options(header: &[u8], offset: u32) -> std::result::Result<&str, Problem> {
    if offset == 0 {
        return Ok("");
    }
    let block =
        slice(header, u64::from(offset), 8).ok_or(Problem::Outside { what: "options", offset: u64::from(offset), size: 8 })?;
    let mut fields = Fields(block);
    let (text_offset, text_size) = (fields.u32(), fields.u32());
    text(header, "options", text_offset.unwrap_or(0), text_size.unwrap_or(0))
}

/// The text at `offset` of an entry's header, up to its first NUL.
///
/// Options of cubins for the newest GPUs are an empty text, and after its NUL a copy of the cubin's `.nv.compat`.
fn text<'data>(header: &'data [u8], what: &'static str, offset: u32, size: u32) -> std::result::Result<&'data str, Problem> {
    if offset == 0 || size == 0 {
        return Ok("");
    }
    let bytes = slice(header, u64::from(offset), u64::from(size)).ok_or_else(|| Problem::Outside {
        what,
        offset: u64::from(offset),
        size: u64::from(size),
    })?;
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    std::str::from_utf8(bytes).map_err(|_| Problem::NotText(what))
}
