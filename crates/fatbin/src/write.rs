//! Writing fatbins, byte for byte as the toolkit's `fatbinary` does.
//!
//! ```
//! use fatbin::entry::Architecture;
//! use fatbin::write::{Builder, Settings};
//! # use cubin::target::Variant;
//! # let image = include_bytes!("../../cubin/tests/data/linked_90.cubin");
//!
//! let mut builder = Builder::new(Settings::default());
//! builder.cubin(Architecture { number: 90, variant: Variant::Plain }, image)?;
//! let fatbin = builder.to_vec();
//! # let fatbin = fatbin::Fatbin::parse(&fatbin)?;
//! # assert_eq!(fatbin.entries().next().ok_or("no entry")??.payload, image);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod embedded;
mod ptx;

pub use embedded::{Embedded, SourceStyle, Wrapper};

use std::borrow::Cow;
use std::io;

use cubin::target::Variant;

use crate::container::{self, MAGIC};
use crate::entry::{Architecture, EntryKind, Flags, HEADER_SIZE};

/// What holds for all entries of a fatbin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The name of each entry (`--ident`); none, if it is empty.
    pub name: String,
    /// Options that PTX is to be compiled with (`--cmdline`).
    pub options: String,
    /// The code was compiled for debugging (`-g`).
    pub debug: bool,
    /// The code is to be linked yet (`--device-c`).
    pub relocatable: bool,
    /// Which entries are packed, and how.
    pub compression: Compression,
    /// The system that entries say they were made on. No linker or driver is known to look at it.
    pub host: Host,
}

/// The system that a fatbin is made on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Host {
    /// Linux.
    #[default]
    Linux,
    /// Windows.
    Windows,
}

impl Host {
    /// The system that this was built for.
    pub const NATIVE: Host = if cfg!(windows) { Host::Windows } else { Host::Linux };

    fn flag(self) -> Flags {
        match self {
            Host::Linux => Flags::LINUX,
            Host::Windows => Flags::WINDOWS,
        }
    }
}

/// Which entries are packed, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// How.
    pub mode: Mode,
    /// Linked code, too, which is stored otherwise (`--compress-all`).
    pub all: bool,
}

/// How entries are packed (`--compress-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// With zstd, unless it is linked code.
    #[default]
    Balance,
    /// With zstd, as small as it gets, linked code, too.
    Size,
    /// With LZ4, unless it is linked code.
    Speed,
    /// Not at all.
    None,
}

/// How one payload is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Store,
    Zstd(i32),
    Lz4,
}

impl Settings {
    /// How a payload is packed. `linked` says that it is code that needs no more linking.
    fn method(&self, linked: bool) -> Method {
        let stored = linked && !self.debug && !self.compression.all;
        match self.compression.mode {
            Mode::None => Method::Store,
            Mode::Size => Method::Zstd(19),
            Mode::Balance | Mode::Speed if stored => Method::Store,
            Mode::Balance => Method::Zstd(5),
            Mode::Speed => Method::Lz4,
        }
    }
}

/// Why something can not be an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// It is no cubin.
    #[error("it is no cubin: {0}")]
    NotACubin(cubin::Error),
    /// The cubin is for another GPU.
    #[error("it is for sm_{found}, not for sm_{expected}")]
    OtherGpu {
        /// What it is for.
        found: u32,
        /// What it should be for.
        expected: Architecture,
    },
    /// It is no PTX.
    #[error("it is no PTX")]
    NotPtx,
    /// It can not be packed.
    #[error("it can not be packed: {0}")]
    Unpackable(String),
}

/// A fatbin that is being made.
#[derive(Clone, Debug, Default)]
pub struct Builder<'data> {
    settings: Settings,
    entries: Vec<NewEntry<'data>>,
}

#[derive(Clone, Debug)]
struct NewEntry<'data> {
    header: Vec<u8>,
    payload: Cow<'data, [u8]>,
}

/// What the header of an entry says beside its sizes.
struct Head<'data> {
    kind: u16,
    version: (u16, u16),
    architecture: Architecture,
    flags: u64,
    /// Text, and what follows its NUL.
    options: Option<(&'data str, &'data [u8])>,
}

impl<'data> Builder<'data> {
    /// A fatbin without entries yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Builder { settings, entries: Vec::new() }
    }

    /// Adds a cubin.
    ///
    /// # Errors
    /// When it is none, is for another GPU, or can not be packed.
    pub fn cubin(&mut self, architecture: Architecture, bytes: &'data [u8]) -> Result<(), Unfit> {
        let file = cubin::read::File::parse(bytes).map_err(Unfit::NotACubin)?;
        if file.sm() != architecture.number {
            return Err(Unfit::OtherGpu { found: file.sm(), expected: architecture });
        }
        let has_mercury = file.header().flags & 0xff == MERCURY_FLAGS && file.abi() == cubin::read::Abi::Cuda13;
        let compat = file.section_named(".nv.compat").filter(|_| has_mercury).and_then(|index| file.section(index));
        let [.., abi_version, _, _, _, _, _, _, _] = file.header().ident;
        let head = Head {
            kind: EntryKind::Cubin.number(),
            version: (1, abi_version.into()),
            architecture,
            flags: if has_mercury { Flags::MERCURY.0 } else { 0 },
            options: compat.map(|section| ("", section.data)),
        };
        self.add(head, bytes.into(), self.settings.method(!self.settings.relocatable))
    }

    /// Adds PTX, without its comments and superfluous blanks.
    ///
    /// # Errors
    /// When it is none, or can not be packed.
    pub fn ptx(&mut self, architecture: Architecture, text: &[u8]) -> Result<(), Unfit> {
        let version = ptx::version(text).ok_or(Unfit::NotPtx)?;
        let options = std::mem::take(&mut self.settings.options);
        let head = Head { kind: EntryKind::Ptx.number(), version, architecture, flags: 0, options: Some((&options, &[])) };
        let added = self.add(head, ptx::shortened(text).into(), self.settings.method(false));
        self.settings.options = options;
        added
    }

    fn add(&mut self, head: Head<'_>, payload: Cow<'data, [u8]>, method: Method) -> Result<(), Unfit> {
        let unpacked_size = payload.len() as u64;
        let (packed, packing) = match method {
            Method::Store => (None, 0),
            Method::Lz4 => (Some(lz4_flex::block::compress(&payload)), Flags::LZ4.0),
            Method::Zstd(level) => (Some(zstd(&payload, level).map_err(Unfit::Unpackable)?), Flags::ZSTD.0),
        };
        let packed_size = packed.as_ref().map_or(0, Vec::len);
        let payload = packed.map_or(payload, Cow::Owned);
        let mut strings = Vec::new();
        let offset_of_next = |strings: &Vec<u8>| HEADER_SIZE + strings.len() as u32;
        let name_size = self.settings.name.len() as u32;
        if name_size > 0 {
            strings.extend(self.settings.name.as_bytes());
            end(&mut strings);
        }
        let options_offset = head.options.map_or(0, |_| offset_of_next(&strings));
        if let Some((text, behind)) = head.options {
            let size = if behind.is_empty() { text.len() } else { behind.len() };
            strings.extend((options_offset + 8).to_le_bytes());
            strings.extend((size as u32).to_le_bytes());
            strings.extend(text.as_bytes());
            strings.push(0);
            strings.extend(behind);
            strings.resize(strings.len().next_multiple_of(8), 0);
        }
        let variant = match head.architecture.variant {
            Variant::Plain => 0,
            Variant::Accelerated => Flags::ACCELERATED.0,
            Variant::Family => Flags::FAMILY.0,
        };
        let debug = if self.settings.debug { Flags::DEBUG.0 } else { 0 };
        let flags = Flags::ADDRESS_64.0 | self.settings.host.flag().0 | debug | packing | variant | head.flags;
        let mut header = Vec::with_capacity(HEADER_SIZE as usize + strings.len());
        header.extend(head.kind.to_le_bytes());
        header.extend(MARKER.to_le_bytes());
        header.extend((HEADER_SIZE + strings.len() as u32).to_le_bytes());
        header.extend((payload.len() as u64).next_multiple_of(8).to_le_bytes());
        header.extend((packed_size as u32).to_le_bytes());
        header.extend(options_offset.to_le_bytes());
        header.extend(head.version.1.to_le_bytes());
        header.extend(head.version.0.to_le_bytes());
        header.extend(head.architecture.number.to_le_bytes());
        header.extend(if name_size > 0 { HEADER_SIZE } else { 0 }.to_le_bytes());
        header.extend(name_size.to_le_bytes());
        header.extend(flags.to_le_bytes());
        header.extend(0_u64.to_le_bytes());
        header.extend(if packed_size > 0 { unpacked_size } else { 0 }.to_le_bytes());
        header.extend(strings);
        self.entries.push(NewEntry { header, payload });
        Ok(())
    }

    /// The size of the fatbin.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.body_size() + u64::from(container::HEADER_SIZE)
    }

    fn body_size(&self) -> u64 {
        self.entries.iter().map(|entry| entry.header.len() as u64 + (entry.payload.len() as u64).next_multiple_of(8)).sum()
    }

    /// Writes it, without making a copy of it first.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut header = Vec::with_capacity(usize::from(container::HEADER_SIZE));
        header.extend(MAGIC.to_le_bytes());
        header.extend(1_u16.to_le_bytes());
        header.extend(container::HEADER_SIZE.to_le_bytes());
        header.extend(self.body_size().to_le_bytes());
        out.write_all(&header)?;
        for NewEntry { header, payload } in &self.entries {
            out.write_all(header)?;
            out.write_all(payload)?;
            let padding = payload.len().next_multiple_of(8) - payload.len();
            out.write_all([0; 8].split_at(padding).0)?;
        }
        Ok(())
    }

    /// The whole of it.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size()).unwrap_or_default());
        // Writing into memory does not fail.
        _ = self.write_to(&mut bytes);
        bytes
    }
}

/// Low byte of the flags of a cubin with Mercury code.
const MERCURY_FLAGS: u32 = 2;

/// What every entry has after its kind.
const MARKER: u16 = 0x0101;

/// Ends a text: a NUL, and more up to a multiple of eight bytes.
fn end(text: &mut Vec<u8>) {
    text.push(0);
    text.resize(text.len().next_multiple_of(8), 0);
}

/// Packs with the C library, of which the toolkit's frames are, too.
#[cfg(feature = "libzstd")]
fn zstd(payload: &[u8], level: i32) -> Result<Vec<u8>, String> {
    zstd::bulk::compress(payload, level).map_err(|error| error.to_string())
}

/// No other encoder's frames are known to be taken by drivers.
#[cfg(not(feature = "libzstd"))]
fn zstd(_: &[u8], _: i32) -> Result<Vec<u8>, String> {
    Err("this was built without the C library of zstd".to_owned())
}
