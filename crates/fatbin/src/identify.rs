//! Identifies the format of an input by its bytes: names of files are unreliable.

use std::fmt;

use cubin::elf;
use object::pe;

use crate::archive;
use crate::container;
use crate::little_endian::{Fields, slice};

/// What some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Nothing at all.
    Empty,
    /// A device ELF file.
    Cubin(Class),
    /// An ELF file for a host.
    HostElf(HostElf),
    /// A Windows object.
    Coff(CoffMachine),
    /// What Microsoft's compiler makes with `/GL`: an object of its own intermediate code, without sections.
    MicrosoftIr,
    /// A fatbin.
    Fatbin,
    /// An old-style fatbin: a format that only very old compilers wrote.
    OldFatbin,
    /// An archive whose members are in it.
    Archive,
    /// An archive that only names its members.
    ThinArchive,
    /// PTX, the assembly language of a virtual GPU.
    Ptx,
    /// The compiler's intermediate language for link-time optimization, bare.
    LtoIr,
    /// LLVM bitcode.
    Bitcode,
    /// None of these.
    Unknown,
}

/// The width of an ELF file's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}

/// The byte order of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// What an ELF file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElfType {
    /// Input of a linker.
    Relocatable,
    /// A program.
    Executable,
    /// A shared library or a position-independent program.
    Shared,
    /// Something else, by its number.
    Other(u16),
}

/// An ELF file for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostElf {
    /// Width of its fields.
    pub class: Class,
    /// Byte order.
    pub byte_order: ByteOrder,
    /// What it is for.
    pub kind: ElfType,
    /// ELF's number of its processor: 62 is x86-64, 183 is AArch64.
    pub machine: u16,
}

/// The processor of a Windows object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoffMachine {
    /// x86-64.
    X64,
    /// 64-bit Arm.
    Arm64,
    /// 32-bit x86.
    X86,
}

/// Starts of files that tell what they are. Formats that need a closer look have functions of their own.
const MAGIC: [(&[u8], Kind); 7] = [
    (archive::MAGIC, Kind::Archive),
    (archive::THIN_MAGIC, Kind::ThinArchive),
    (&container::MAGIC.to_le_bytes(), Kind::Fatbin),
    (&container::OLD_MAGIC.to_le_bytes(), Kind::OldFatbin),
    (&[0xed, 0x43, 0x4e, 0x7f], Kind::LtoIr),
    (b"BC\xc0\xde", Kind::Bitcode),
    // Bitcode in a wrapper that says where it starts.
    (&0x0b17_c0de_u32.to_le_bytes(), Kind::Bitcode),
];

/// Tells what some bytes are.
///
/// Only headers are looked at: bytes that are identified may still be damaged.
#[must_use]
pub fn identify(bytes: &[u8]) -> Kind {
    if bytes.is_empty() {
        return Kind::Empty;
    }
    MAGIC
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map(|&(_, kind)| kind)
        .or_else(|| identify_elf(bytes))
        .or_else(|| is_ptx(bytes).then_some(Kind::Ptx))
        .or_else(|| identify_coff(bytes))
        .unwrap_or(Kind::Unknown)
}

fn identify_elf(bytes: &[u8]) -> Option<Kind> {
    const DATA_MSB: u8 = 2;
    const ET_DYN: u16 = 3;
    if !bytes.starts_with(&elf::MAGIC) {
        return None;
    }
    let class = match *bytes.get(4)? {
        elf::CLASS_32 => Class::Bits32,
        elf::CLASS_64 => Class::Bits64,
        _ => return None,
    };
    let (byte_order, number): (_, fn([u8; 2]) -> u16) = match *bytes.get(5)? {
        elf::DATA_LSB => (ByteOrder::Little, u16::from_le_bytes),
        DATA_MSB => (ByteOrder::Big, u16::from_be_bytes),
        _ => return None,
    };
    // Type and machine are at the same place in both classes.
    let kind = number(*bytes.get(16..)?.first_chunk()?);
    let machine = number(*bytes.get(18..)?.first_chunk()?);
    // A file by the rules for device code, whose machine was damaged, is no host's.
    let is_by_device_rules = matches!(
        bytes.get(7..9),
        Some(&[elf::OS_ABI_CUDA_13, elf::ABI_VERSION_CUDA_13] | &[elf::OS_ABI_CUDA_12, elf::ABI_VERSION_CUDA_12])
    );
    if machine == elf::EM_CUDA || is_by_device_rules {
        return Some(Kind::Cubin(class));
    }
    let kind = match kind {
        elf::ET_REL => ElfType::Relocatable,
        elf::ET_EXEC => ElfType::Executable,
        ET_DYN => ElfType::Shared,
        other => ElfType::Other(other),
    };
    Some(Kind::HostElf(HostElf { class, byte_order, kind, machine }))
}

/// Whether the first thing that is neither blank nor a comment is `.version`, with which all PTX begins.
///
/// A NUL ends the text, as it does for the reference; and like there, nothing else of the text is looked at.
#[must_use]
pub fn is_ptx(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        // Blank as in C: vertical tabs too.
        let start = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'..=b'\r')).unwrap_or(rest.len());
        rest = rest.split_at(start).1;
        let end: &[u8] = if rest.starts_with(b"//") {
            b"\n"
        } else if rest.starts_with(b"/*") {
            rest = rest.split_at(2).1;
            b"*/"
        } else {
            return rest.starts_with(b".version");
        };
        let Some(found) = rest.windows(end.len()).position(|window| window == end) else {
            return false;
        };
        let (comment, behind) = rest.split_at(found);
        if comment.contains(&0) {
            return false;
        }
        rest = behind.split_at(end.len()).1;
    }
}

/// A Windows object has no magic number: it starts with its machine. Its sections are checked by who reads them.
fn identify_coff(bytes: &[u8]) -> Option<Kind> {
    const HEADER: u64 = 20;
    let machine = |number| match number {
        0x8664 => Some(CoffMachine::X64),
        0xaa64 => Some(CoffMachine::Arm64),
        0x014c => Some(CoffMachine::X86),
        _ => None,
    };
    let mut fields = Fields(bytes);
    let first = fields.u16()?;
    let second = fields.u16()?;
    if first == 0 && second == 0xffff {
        // An import library's member starts like this, too, with version 0.
        let version = fields.u16()?;
        let machine = machine(fields.u16()?).filter(|_| version > 0)?;
        let _time = fields.u32()?;
        // The class tells objects for many sections (`/bigobj`) from others without any.
        let is_big = fields.0.starts_with(&pe::ANON_OBJECT_HEADER_BIGOBJ_CLASS_ID.0);
        return Some(if is_big { Kind::Coff(machine) } else { Kind::MicrosoftIr });
    }
    slice(bytes, 0, HEADER)?;
    machine(first).map(Kind::Coff)
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("an empty file"),
            Self::Cubin(class) => write!(out, "a {class} device ELF file"),
            Self::HostElf(elf) => elf.fmt(out),
            Self::Coff(CoffMachine::X64) => out.write_str("an x86-64 COFF object"),
            Self::Coff(CoffMachine::Arm64) => out.write_str("an ARM64 COFF object"),
            Self::Coff(CoffMachine::X86) => out.write_str("an x86 COFF object"),
            Self::MicrosoftIr => out.write_str("an object of Microsoft's link-time code generation (/GL)"),
            Self::Fatbin => out.write_str("a fatbin"),
            Self::OldFatbin => out.write_str("an old-style fatbin"),
            Self::Archive => out.write_str("an archive"),
            Self::ThinArchive => out.write_str("a thin archive"),
            Self::Ptx => out.write_str("PTX text"),
            Self::LtoIr => out.write_str("LTO-IR"),
            Self::Bitcode => out.write_str("LLVM bitcode"),
            Self::Unknown => out.write_str("a file of unknown format"),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bits32 => "32-bit",
            Self::Bits64 => "64-bit",
        })
    }
}

impl fmt::Display for HostElf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.byte_order {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        };
        let kind = match self.kind {
            ElfType::Relocatable => "object",
            ElfType::Executable => "program",
            ElfType::Shared => "shared library",
            ElfType::Other(_) => "file",
        };
        write!(out, "a {} {order} ELF {kind} for ", self.class)?;
        match self.machine {
            3 => out.write_str("x86"),
            62 => out.write_str("x86-64"),
            183 => out.write_str("AArch64"),
            other => write!(out, "machine {other}"),
        }
    }
}
