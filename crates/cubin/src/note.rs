//! Notes: which tools made a file, and for which toolkit.
//!
//! `.note.nv.tkinfo` has one note per tool that had a hand in the file, `.note.nv.cuinfo` a single one. (CUDA 12.9
//! calls the latter `.note.nv.cuver`.)

use crate::error::{Error, Problem, Result};

/// The name (owner) of CUDA's notes, with its terminating NUL.
pub const OWNER: &[u8; 12] = b"NVIDIA Corp\0";

/// Type of the note in `.note.nv.cuinfo`: [`CudaInfo`].
pub const CUDA_INFO: u32 = 1000;

/// Type of the notes in `.note.nv.tkinfo`: [`ToolNote`].
pub const TOOL: u32 = 2000;

/// Version of the layout of both notes since CUDA 13.
pub const LAYOUT_VERSION: u16 = 2;

/// What CUDA 12 has in `.note.nv.cuver`: the version of the layout, the virtual architecture, and two words of which only this value was seen.
#[must_use]
pub fn encode_cuda_12(virtual_sm: u16) -> Vec<u8> {
    let mut description = Vec::with_capacity(12);
    description.extend_from_slice(&1u16.to_le_bytes());
    description.extend_from_slice(&virtual_sm.to_le_bytes());
    description.extend_from_slice(&[1u32.to_le_bytes(); 2].concat());
    let mut out = Vec::new();
    Note { name: OWNER, kind: CUDA_INFO, description: &description }.encode(&mut out);
    out
}

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'data> {
    /// Who defines the type, with its terminating NUL.
    pub name: &'data [u8],
    /// What the description holds.
    pub kind: u32,
    /// The description.
    pub description: &'data [u8],
}

impl Note<'_> {
    /// Appends the note to a section.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for word in [self.name.len(), self.description.len()] {
            // Sizes of notes are far below 4 GiB: a longer one cannot be written and is cut at the reader's end.
            out.extend_from_slice(&u32::try_from(word).unwrap_or(u32::MAX).to_le_bytes());
        }
        out.extend_from_slice(&self.kind.to_le_bytes());
        for part in [self.name, self.description] {
            out.extend_from_slice(part);
            out.resize(out.len().next_multiple_of(4), 0);
        }
    }
}

/// The notes of a section, in order. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Notes<'data> {
    data: &'data [u8],
    position: usize,
}

/// Reads the notes of a section's contents. Errors count offsets from the start of `data`.
#[must_use]
pub fn notes(data: &[u8]) -> Notes<'_> {
    Notes { data, position: 0 }
}

const HEADER_SIZE: usize = 12;

impl<'data> Iterator for Notes<'data> {
    type Item = Result<Note<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.position;
        let rest = self.data.get(at..).filter(|rest| !rest.is_empty())?;
        let note = parse(rest);
        self.position = match note {
            // The last note's padding may be missing.
            Ok((_, size)) => at.saturating_add(size).min(self.data.len()),
            Err(_) => self.data.len(),
        };
        Some(note.map(|(note, _)| note).map_err(|problem| Error::at(at as u64, problem)))
    }
}

impl std::iter::FusedIterator for Notes<'_> {}

/// The note at the start of `bytes`, and its size with padding.
fn parse(bytes: &[u8]) -> std::result::Result<(Note<'_>, usize), Problem> {
    let cut = |needed: usize| Problem::CutRecord { what: "note", needed: needed as u64, available: bytes.len() as u64 };
    let word = |index: usize| bytes.as_chunks().0.get(index).map(|word| u32::from_le_bytes(*word));
    let (Some(name_size), Some(size), Some(kind)) = (word(0), word(1), word(2)) else {
        return Err(cut(HEADER_SIZE));
    };
    let aligned = |size: u32| usize::try_from(size).ok().and_then(|size| size.checked_next_multiple_of(4));
    let (Some(name_room), Some(room)) = (aligned(name_size), aligned(size)) else {
        return Err(cut(usize::MAX));
    };
    let start = HEADER_SIZE.saturating_add(name_room);
    let end = start.saturating_add(size as usize);
    let name = bytes.get(HEADER_SIZE..HEADER_SIZE.saturating_add(name_size as usize)).ok_or_else(|| cut(end))?;
    let description = bytes.get(start..end).ok_or_else(|| cut(end))?;
    Ok((Note { name, kind, description }, start.saturating_add(room)))
}

/// Which tool did what: the description of a note of type [`TOOL`].
///
/// Its strings follow one another after five offsets, in the order of the fields here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolNote<'data> {
    /// The object file, where tools were asked to name it; else empty.
    pub object: &'data str,
    /// The tool: `ptxas`, `nvlink`.
    pub tool: &'data str,
    /// The tool's version, as it prints it.
    pub version: &'data str,
    /// The tool's build, as it prints it.
    pub build: &'data str,
    /// The tool's options.
    pub options: &'data str,
}

/// Bytes before the strings of a tool note: its layout version and the five offsets.
const STRINGS: usize = 24;

impl<'data> ToolNote<'data> {
    /// Reads a description.
    pub fn decode(description: &'data [u8]) -> Result<Self> {
        let string = |index: usize| {
            let offset = u32::from_le_bytes(*description.as_chunks().0.get(index)?);
            let strings = description.get(STRINGS..)?;
            let text = strings.get(usize::try_from(offset).ok()?..)?;
            let end = text.iter().position(|&byte| byte == 0)?;
            std::str::from_utf8(&text[..end]).ok()
        };
        let all = (string(1), string(2), string(3), string(4), string(5));
        let (Some(object), Some(tool), Some(version), Some(build), Some(options)) = all else {
            return Err(Error::new(Problem::Note("tool")));
        };
        Ok(Self { object, tool, version, build, options })
    }

    /// The whole note, as a section holds it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with_version(LAYOUT_VERSION)
    }

    /// The whole note with another version of the layout: CUDA 12 has the number of the toolkit there.
    #[must_use]
    pub fn encode_with_version(&self, version: u16) -> Vec<u8> {
        let strings = [self.object, self.tool, self.version, self.build, self.options];
        let mut description = u32::from(version).to_le_bytes().to_vec();
        let mut offset = 0_u32;
        for string in strings {
            description.extend_from_slice(&offset.to_le_bytes());
            offset = offset.saturating_add(u32::try_from(string.len() + 1).unwrap_or(u32::MAX));
        }
        for string in strings {
            description.extend_from_slice(string.as_bytes());
            description.push(0);
        }
        // The padding counts as part of the description.
        description.resize(description.len().next_multiple_of(4), 0);
        let mut out = Vec::with_capacity(HEADER_SIZE + OWNER.len() + description.len());
        Note { name: OWNER, kind: TOOL, description: &description }.encode(&mut out);
        out
    }
}

/// What a file was made for: the description of a note of type [`CUDA_INFO`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaInfo {
    /// Version of this layout: [`LAYOUT_VERSION`]. Version 1 (CUDA 12.9) is longer and has no toolkit number.
    pub note_version: u16,
    /// The virtual architecture that the code was compiled from.
    pub virtual_sm: u16,
    /// The toolkit, 130 for CUDA 13.0; 0 when the note does not say.
    pub toolkit: u16,
}

impl CudaInfo {
    /// Reads a description.
    pub fn decode(description: &[u8]) -> Result<Self> {
        let half = |index: usize| description.as_chunks().0.get(index).map(|half| u16::from_le_bytes(*half));
        let (Some(note_version), Some(virtual_sm), Some(toolkit)) = (half(0), half(1), half(2)) else {
            return Err(Error::new(Problem::Note("CUDA information")));
        };
        let toolkit = if note_version >= LAYOUT_VERSION { toolkit } else { 0 };
        Ok(Self { note_version, virtual_sm, toolkit })
    }

    /// The whole note, as a section holds it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut description = [0; 8];
        description[..2].copy_from_slice(&self.note_version.to_le_bytes());
        description[2..4].copy_from_slice(&self.virtual_sm.to_le_bytes());
        description[4..6].copy_from_slice(&self.toolkit.to_le_bytes());
        let mut out = Vec::with_capacity(HEADER_SIZE + OWNER.len() + description.len());
        Note { name: OWNER, kind: CUDA_INFO, description: &description }.encode(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_notes_round_trip() {
        for options in ["", "-a", "-ab", "-abc", "-arch sm_90 -c  "] {
            let note = ToolNote { object: "", tool: "ptxas", version: "V1", build: "Build x", options };
            let bytes = note.encode();
            assert_eq!(bytes.len() % 4, 0);
            let all: Vec<_> = notes(&bytes).collect::<Result<_>>().unwrap_or_default();
            assert_eq!(all.len(), 1);
            assert_eq!((all[0].name, all[0].kind), (&OWNER[..], TOOL));
            assert_eq!(ToolNote::decode(all[0].description), Ok(note));
        }
    }

    #[test]
    fn cuda_info_round_trips() {
        let info = CudaInfo { note_version: 2, virtual_sm: 90, toolkit: 130 };
        let bytes = info.encode();
        assert_eq!(bytes.len(), 32);
        let note = notes(&bytes).next().and_then(Result::ok).map(|note| CudaInfo::decode(note.description));
        assert_eq!(note, Some(Ok(info)));
    }

    #[test]
    fn notes_may_lie_about_their_sizes() {
        let bytes = CudaInfo { note_version: 2, virtual_sm: 90, toolkit: 130 }.encode();
        for length in 1..bytes.len() {
            assert!(notes(&bytes[..length]).last().is_some_and(|note| note.is_err()));
        }
        for byte in [0, 3, 4, 7] {
            let mut damaged = bytes.clone();
            damaged[byte] = 0xff;
            assert!(notes(&damaged).last().is_some_and(|note| note.is_err()));
        }
        assert!(ToolNote::decode(&[0xff; 40]).is_err());
        assert!(CudaInfo::decode(&[2]).is_err());
    }
}
