//! The records of `.nv.info` sections: attributes of a file or of one function, for the driver and for linkers.
//!
//! A record is four bytes: format, attribute, and a 16-bit value. Only format 4 is followed by more: the value is then
//! the length of a payload. `.nv.compat` holds records of the same shape with its own attributes
//! ([`crate::compat`]).
//!
//! Some payloads name symbols by index. A linker has to renumber those, so the table says where they are.

use std::fmt;

use crate::error::{Error, Problem, Result};

/// How a record holds its value.
pub mod format {
    /// The attribute alone says it all.
    pub const NO_VALUE: u8 = 1;
    /// The value is the low byte.
    pub const BYTE: u8 = 2;
    /// The value is the 16-bit field.
    pub const HALF: u8 = 3;
    /// The 16-bit field is the length of a payload that follows.
    pub const SIZED: u8 = 4;

    /// The name of a format.
    #[must_use]
    pub fn name(format: u8) -> Option<&'static str> {
        Some(match format {
            NO_VALUE => "NVAL",
            BYTE => "BVAL",
            HALF => "HVAL",
            SIZED => "SVAL",
            _ => return None,
        })
    }
}

/// Size of a record without payload.
pub const HEADER_SIZE: usize = 4;

/// The attribute of a record. Any value is possible; [`row`](Self::row) describes those that are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attribute(pub u8);

/// Which words of a payload are symbol indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// None.
    None,
    /// The first.
    First,
    /// Every one.
    All,
}

/// One known attribute.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownAttribute {
    /// The attribute.
    pub attribute: Attribute,
    /// Its name, without the prefix `EIATTR_` of other tools.
    pub name: &'static str,
    /// Which words of its payload are symbol indices.
    pub symbols: Symbols,
}

macro_rules! attributes {
    ($($value:literal $name:ident $symbols:ident;)*) => {
        impl Attribute {
            $(#[doc = concat!("`EIATTR_", stringify!($name), "`")] pub const $name: Self = Self($value);)*
        }
        /// All known attributes, lowest first.
        pub static ATTRIBUTES: &[KnownAttribute] = &[
            $(KnownAttribute { attribute: Attribute($value), name: stringify!($name), symbols: Symbols::$symbols },)*
        ];
    };
}

attributes! {
    0x00 ERROR None;
    0x01 PAD None;
    0x02 IMAGE_SLOT First;
    0x03 JUMPTABLE_RELOCS None;
    0x04 CTAIDZ_USED None;
    0x05 MAX_THREADS None;
    0x06 IMAGE_OFFSET First;
    0x07 IMAGE_SIZE First;
    0x08 TEXTURE_NORMALIZED First;
    0x09 SAMPLER_INIT First;
    0x0a PARAM_CBANK First;
    0x0b SMEM_PARAM_OFFSETS None;
    0x0c CBANK_PARAM_OFFSETS None;
    0x0d SYNC_STACK None;
    0x0e TEXID_SAMPID_MAP None;
    0x0f EXTERNS All;
    0x10 REQNTID None;
    0x11 FRAME_SIZE First;
    0x12 MIN_STACK_SIZE First;
    0x13 SAMPLER_FORCE_UNNORMALIZED First;
    0x14 BINDLESS_IMAGE_OFFSETS First;
    0x15 BINDLESS_TEXTURE_BANK None;
    0x16 BINDLESS_SURFACE_BANK None;
    0x17 KPARAM_INFO None;
    0x18 SMEM_PARAM_SIZE None;
    0x19 CBANK_PARAM_SIZE None;
    0x1a QUERY_NUMATTRIB None;
    0x1b MAXREG_COUNT None;
    0x1c EXIT_INSTR_OFFSETS None;
    0x1d S2RCTAID_INSTR_OFFSETS None;
    0x1e CRS_STACK_SIZE None;
    0x1f NEED_CNP_WRAPPER None;
    0x20 NEED_CNP_PATCH None;
    0x21 EXPLICIT_CACHING None;
    0x22 ISTYPEP_USED None;
    0x23 MAX_STACK_SIZE First;
    0x24 SUQ_USED None;
    0x25 LD_CACHEMOD_INSTR_OFFSETS None;
    0x26 LOAD_CACHE_REQUEST First;
    0x27 ATOM_SYS_INSTR_OFFSETS None;
    0x28 COOP_GROUP_INSTR_OFFSETS None;
    0x29 COOP_GROUP_MASK_REGIDS None;
    0x2a SW1850030_WAR None;
    0x2b WMMA_USED None;
    0x2c HAS_PRE_V10_OBJECT None;
    0x2d ATOMF16_EMUL_INSTR_OFFSETS None;
    0x2e ATOM16_EMUL_INSTR_REG_MAP None;
    0x2f REGCOUNT First;
    0x30 SW2393858_WAR None;
    0x31 INT_WARP_WIDE_INSTR_OFFSETS None;
    0x32 SHARED_SCRATCH None;
    0x33 STATISTICS None;
    0x34 INDIRECT_BRANCH_TARGETS None;
    0x35 SW2861232_WAR None;
    0x36 SW_WAR None;
    0x37 CUDA_API_VERSION None;
    0x38 NUM_MBARRIERS None;
    0x39 MBARRIER_INSTR_OFFSETS None;
    0x3a COROUTINE_RESUME_ID_OFFSETS None;
    0x3b SAM_REGION_STACK_SIZE First;
    0x3c PER_REG_TARGET_PERF_STATS None;
    0x3d CTA_PER_CLUSTER None;
    0x3e EXPLICIT_CLUSTER None;
    0x3f MAX_CLUSTER_RANK None;
    0x40 INSTR_REG_MAP None;
    0x41 RESERVED_SMEM_USED None;
    0x42 RESERVED_SMEM_0_SIZE None;
    0x43 UCODE_SECTION_DATA None;
    0x44 UNUSED_LOAD_BYTE_OFFSET None;
    0x45 KPARAM_INFO_V2 None;
    0x46 SYSCALL_OFFSETS None;
    0x47 SW_WAR_MEMBAR_SYS_INSTR_OFFSETS None;
    0x48 GRAPHICS_GLOBAL_CBANK None;
    0x49 SHADER_TYPE None;
    0x4a VRC_CTA_INIT_COUNT None;
    0x4b TOOLS_PATCH_FUNC None;
    0x4c NUM_BARRIERS None;
    0x4d TEXMODE_INDEPENDENT None;
    0x4e PERF_STATISTICS None;
    0x4f AT_ENTRY_FRAGMENTS None;
    0x50 SPARSE_MMA_MASK None;
    0x51 TCGEN05_1CTA_USED None;
    0x52 TCGEN05_2CTA_USED None;
    0x53 GEN_ERRBAR_AT_EXIT None;
    0x54 REG_RECONFIG None;
    0x55 ANNOTATIONS None;
    0x57 STACK_CANARY_TRAP_OFFSETS None;
    0x58 STUB_FUNCTION_KIND None;
    0x59 LOCAL_CTA_ASYNC_STORE_OFFSETS None;
    0x5a MERCURY_FINALIZER_OPTIONS None;
    0x5b BLOCKS_ARE_CLUSTERS None;
    0x5c SANITIZE None;
    0x5d SYSCALLS_FALLBACK None;
    0x5e CUDA_REQ None;
    0x5f MERCURY_ISA_VERSION None;
    0x61 RTCORE_ENTRY None;
    0x62 CLUSTER_LAUNCH_CONTROL_USED None;
    0x64 MIN_PER_CTA_MEMORY_SIZE None;
    0x65 IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS None;
    0x66 LANGUAGE None;
    0x68 GRID_ATTRIBUTES None;
    0x69 STACK_OFFSET None;
    0x6a RT_LIVESTATE_SASS_MAP None;
    0x6b NVSAL_SW_WAR None;
    0x6c INSTR_OFFSETS None;
    0x6d PREEXIT_USED None;
}

impl Attribute {
    /// What is known about this attribute.
    #[must_use]
    pub fn row(self) -> Option<&'static KnownAttribute> {
        ATTRIBUTES.binary_search_by_key(&self, |row| row.attribute).ok().map(|index| &ATTRIBUTES[index])
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }

    /// Which words of a payload are symbol indices; none, when the attribute is not known.
    #[must_use]
    pub fn symbols(self) -> Symbols {
        SYMBOLS[usize::from(self.0)]
    }
}

/// The column of the table that is asked for with every record, by attribute.
static SYMBOLS: [Symbols; 256] = {
    let mut table = [Symbols::None; 256];
    let mut index = 0;
    while index < ATTRIBUTES.len() {
        table[ATTRIBUTES[index].attribute.0 as usize] = ATTRIBUTES[index].symbols;
        index += 1;
    }
    table
};

impl fmt::Display for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.pad(name),
            None => out.pad(&format!("{:#04x}", self.0)),
        }
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'data> {
    /// How the value is held: see [`mod@format`].
    pub format: u8,
    /// What the record says.
    pub attribute: Attribute,
    /// The value; the length of the payload when the format is [`format::SIZED`].
    pub value: u16,
    /// What follows, when the format is [`format::SIZED`]; else empty.
    pub payload: &'data [u8],
}

impl<'data> Record<'data> {
    /// A record with a payload, if that is short enough for one.
    #[must_use]
    pub fn sized(attribute: Attribute, payload: &'data [u8]) -> Option<Self> {
        let value = u16::try_from(payload.len()).ok()?;
        Some(Self { format: format::SIZED, attribute, value, payload })
    }

    /// The payload as 32-bit words; bytes that are left over at its end are not among them.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + use<'data> {
        self.payload.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// One word of the payload.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<u32> {
        self.payload.as_chunks().0.get(index).map(|word| u32::from_le_bytes(*word))
    }

    /// The words of the payload that are symbol indices.
    pub fn symbols(&self) -> impl Iterator<Item = u32> + use<'data> {
        let count = match self.attribute.symbols() {
            Symbols::None => 0,
            Symbols::First => 1,
            Symbols::All => usize::MAX,
        };
        self.words().take(count)
    }

    /// Size of the record in a section.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        HEADER_SIZE + self.payload.len()
    }

    /// Appends the record to a section.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.format, self.attribute.0]);
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(self.payload);
    }
}

/// The records of a section, in order. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Records<'data> {
    data: &'data [u8],
    position: usize,
}

/// Reads the records of a section's contents. Errors count offsets from the start of `data`.
#[must_use]
pub fn records(data: &[u8]) -> Records<'_> {
    Records { data, position: 0 }
}

impl Records<'_> {
    /// Where the next record starts.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The next record needs more bytes than there are: it is the last.
    #[cold]
    fn cut(&mut self, needed: usize) -> Error {
        let start = std::mem::replace(&mut self.position, self.data.len());
        let available = (self.data.len() - start) as u64;
        Error::at(start as u64, Problem::CutRecord { what: "record", needed: needed as u64, available })
    }
}

impl<'data> Iterator for Records<'data> {
    type Item = Result<Record<'data>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.position..).filter(|rest| !rest.is_empty())?;
        let Some((&[format, attribute, low, high], behind)) = rest.split_first_chunk() else {
            return Some(Err(self.cut(HEADER_SIZE)));
        };
        let value = u16::from_le_bytes([low, high]);
        let length = if format == format::SIZED { usize::from(value) } else { 0 };
        let Some(payload) = behind.get(..length) else {
            return Some(Err(self.cut(HEADER_SIZE + length)));
        };
        self.position += HEADER_SIZE + length;
        Some(Ok(Record { format, attribute: Attribute(attribute), value, payload }))
    }
}

impl std::iter::FusedIterator for Records<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn attributes_ascend_and_names_are_unique() {
        assert!(ATTRIBUTES.windows(2).all(|pair| pair[0].attribute < pair[1].attribute));
        let names: HashSet<_> = ATTRIBUTES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ATTRIBUTES.len());
        assert_eq!(Attribute(0x60).to_string(), "0x60");
        assert_eq!(Attribute::REGCOUNT.0, 0x2f);
    }

    #[test]
    fn records_round_trip() {
        let data = [4, 0x2f, 8, 0, 5, 0, 0, 0, 24, 0, 0, 0, 3, 0x5f, 1, 1, 1, 0x4d, 0, 0, 4, 0x0f, 0, 0];
        let all: Vec<_> = records(&data).collect::<Result<_>>().unwrap_or_default();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].words().collect::<Vec<_>>(), [5, 24]);
        assert_eq!(all[0].symbols().collect::<Vec<_>>(), [5]);
        assert_eq!((all[0].word(1), all[0].word(2)), (Some(24), None));
        assert_eq!((all[1].attribute, all[1].value), (Attribute::MERCURY_ISA_VERSION, 0x101));
        assert_eq!(all.iter().map(Record::encoded_len).sum::<usize>(), data.len());
        let mut out = Vec::new();
        all.iter().for_each(|record| record.encode(&mut out));
        assert_eq!(out, data);
    }

    #[test]
    fn a_cut_record_is_the_last() {
        for data in [&[4u8, 0x2f, 8, 0, 5, 0][..], &[1, 2]] {
            let mut all = records(data);
            assert!(all.next().is_some_and(|first| first.is_err()));
            assert!(all.next().is_none());
        }
        let error = records(&[1, 2]).next().and_then(Result::err).map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("at offset 0x0: record needs 4 bytes, 2 are left"));
    }
}
