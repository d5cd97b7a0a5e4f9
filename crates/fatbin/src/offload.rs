//! What clang keeps device code in (`.llvm.offloading`): images, each with a table of strings that says what it is.
//!
//! | offset | field |
//! |---|---|
//! | 0 | the bytes [`MAGIC`] |
//! | 4 | u32 version, 1 to 3 |
//! | 8 | u64 size of all |
//! | 16 | u64 offset of the first entry |
//! | 24 | u64 size of the entry in version 1, the number of entries from version 2 on |
//! | 32 | u64 size once it is unpacked, 0 when it is not packed: version 3 |
//!
//! | offset in an entry | field |
//! |---|---|
//! | 0 | u16 what the image is |
//! | 2 | u16 what language it is from, 2 for CUDA |
//! | 4 | u32 flags |
//! | 8 | u64 offset, u64 number of strings: a name and a value |
//! | 24 | u64 offset, u64 size of the image |
//!
//! A string is two offsets, of texts that end with a NUL; from version 2 on, the size of the value follows. All offsets count from the start
//! of the container. LLVM's documentation describes version 1 (`clang-offload-packager`), its header `OffloadBinary.h` all of them.
//!
//! A compiler makes a container for each GPU, or one for all. Where a host linker has joined objects (`ld -r`), those of several units follow
//! one another.

use cubin::target::Variant;

use crate::choose::Description;
use crate::entry::{Architecture, EntryKind};
use crate::error::{Container, Error, Item, Problem, Result};
use crate::little_endian::{Fields, length, slice};
use std::collections::HashSet;

/// The first four bytes of a container.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// The size of a header, as far as all versions have it, and of an entry.
const HEADER_SIZE: u64 = 32;
const ENTRY_SIZE: u64 = 40;

/// What containers are aligned to where several follow one another.
const ALIGNMENT: u64 = 8;

/// The most bytes of a value that are looked at.
const LONGEST_VALUE: usize = 256;

/// The language whose images are read.
const CUDA: u16 = 2;

/// Device code for one GPU.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Image<'data> {
    /// Where it is; see [`Error`] for what offsets count from.
    pub offset: u64,
    /// What it is.
    pub kind: ImageKind,
    /// What it was compiled for.
    pub architecture: Architecture,
    /// Its contents.
    pub bytes: &'data [u8],
}

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// A cubin.
    Cubin,
    /// PTX text.
    Ptx,
    /// LLVM's own intermediate code, which clang compiles when it links (`-foffload-lto`).
    Bitcode,
    /// Something else, by its number.
    Other(u16),
}

const BITCODE: u16 = 2;

impl ImageKind {
    fn from_number(number: u16) -> Self {
        match number {
            // An object, or a cubin that is linked already: its own header tells which.
            1 | 3 => Self::Cubin,
            BITCODE => Self::Bitcode,
            5 => Self::Ptx,
            other => Self::Other(other),
        }
    }
}

impl Image<'_> {
    /// What the choice for a target needs to know of it.
    #[must_use]
    pub fn description(&self) -> Description {
        let kind = match self.kind {
            ImageKind::Cubin => EntryKind::Cubin,
            ImageKind::Ptx => EntryKind::Ptx,
            ImageKind::Bitcode => EntryKind::Other(BITCODE),
            ImageKind::Other(number) => EntryKind::Other(number),
        };
        Description { kind, architecture: self.architecture, address_64: true }
    }
}

/// The images of each unit. A unit has one for each GPU, so that another one for a GPU is of the next unit.
pub fn units<'images, 'data>(images: &'images [Image<'data>]) -> impl Iterator<Item = &'images [Image<'data>]> {
    let mut rest = images;
    std::iter::from_fn(move || {
        let mut known = HashSet::new();
        let count = rest.iter().take_while(|image| known.insert(image.description())).count();
        let (unit, others) = rest.split_at_checked(count)?;
        rest = others;
        (!unit.is_empty()).then_some(unit)
    })
}

/// The images of CUDA code in a section that starts at `base` of something larger, which errors count from.
///
/// # Errors
/// When a container is damaged, packed, or of a version that is not known.
pub(crate) fn images(bytes: &[u8], base: u64) -> Result<Vec<Image<'_>>> {
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(rest) = slice(bytes, position, length(bytes).saturating_sub(position)).filter(|rest| !rest.is_empty()) {
        // A linker that joins sections fills what alignment leaves between them with zeros.
        let gap = length(rest.split(|&byte| byte != 0).next().unwrap_or_default()) & !(ALIGNMENT - 1);
        if gap > 0 || rest.iter().all(|&byte| byte == 0) {
            position += gap.max(1);
            continue;
        }
        let size = add_images(rest, base.saturating_add(position), &mut found)?;
        position = position.saturating_add(size).checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
    }
    Ok(found)
}

/// The images of the container at the start of `bytes`, and its size.
fn add_images<'data>(bytes: &'data [u8], offset: u64, found: &mut Vec<Image<'data>>) -> Result<u64> {
    let error = |problem| Error::new(Container::Offload, None, offset, problem);
    let cut = |what, needed| error(Problem::Cut { what, needed, available: length(bytes) });
    let header = Header::read(bytes).ok_or_else(|| cut("the header", HEADER_SIZE))?;
    if header.magic != MAGIC {
        return Err(error(Problem::OffloadMagic(header.magic)));
    }
    let count = match header.version {
        1 => 1,
        2 | 3 => header.entries,
        other => return Err(error(Problem::OffloadVersion(other))),
    };
    let all = slice(bytes, 0, header.size).ok_or_else(|| cut("the container", header.size))?;
    if header.version == 3 && Fields(all.get(HEADER_SIZE as usize..).unwrap_or_default()).u64().is_some_and(|size| size > 0) {
        return Err(error(Problem::PackedOffload));
    }
    let entries = count.checked_mul(ENTRY_SIZE).and_then(|size| slice(all, header.entries_offset, size));
    let entries = entries.ok_or_else(|| cut("the table of images", count.saturating_mul(ENTRY_SIZE)))?;
    // Images that share their bytes would let a small file stand for one of any size, and so would tables of strings.
    let mut left = header.size;
    for (index, record) in (0..).zip(entries.chunks_exact(ENTRY_SIZE as usize)) {
        let error = |problem| Error::new(Container::Offload, Some(Item::Entry(index)), offset, problem);
        let Some(entry) = Entry::read(record) else { continue };
        if entry.language != CUDA {
            continue;
        }
        let taken = entry.image_size.saturating_add(entry.strings_size(header.version));
        left = left.checked_sub(taken).ok_or_else(|| error(Problem::Overlap))?;
        let cut = |needed| error(Problem::Cut { what: "the image", needed, available: header.size });
        let image = slice(all, entry.image_offset, entry.image_size).ok_or_else(|| cut(entry.image_size))?;
        let name = entry.string(all, header.version, "arch").map_err(error)?;
        let architecture = architecture(name).ok_or_else(|| error(Problem::OffloadArchitecture(name.to_owned())))?;
        let kind = ImageKind::from_number(entry.kind);
        found.push(Image { offset: offset.saturating_add(entry.image_offset), kind, architecture, bytes: image });
    }
    Ok(header.size)
}

/// `sm_90a`.
fn architecture(name: &str) -> Option<Architecture> {
    let name = name.strip_prefix("sm_")?;
    let (number, variant) = match name.strip_suffix('a') {
        Some(number) => (number, Variant::Accelerated),
        None => name.strip_suffix('f').map_or((name, Variant::Plain), |number| (number, Variant::Family)),
    };
    Some(Architecture { number: number.parse().ok()?, variant })
}

struct Header {
    magic: [u8; 4],
    version: u32,
    size: u64,
    entries_offset: u64,
    entries: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let magic = fields.u32()?.to_le_bytes();
        let header =
            Self { magic, version: fields.u32()?, size: fields.u64()?, entries_offset: fields.u64()?, entries: fields.u64()? };
        // One that is smaller than its own header would be found again and again.
        (header.magic != MAGIC || header.size >= HEADER_SIZE).then_some(header)
    }
}

struct Entry {
    kind: u16,
    language: u16,
    strings_offset: u64,
    strings: u64,
    image_offset: u64,
    image_size: u64,
}

/// The size of a string in a table.
fn string_size(version: u32) -> u64 {
    if version == 1 { 16 } else { 24 }
}

impl Entry {
    fn read(record: &[u8]) -> Option<Self> {
        let mut fields = Fields(record);
        let (kind, language) = (fields.u16()?, fields.u16()?);
        let _flags = fields.u32()?;
        let (strings_offset, strings) = (fields.u64()?, fields.u64()?);
        Some(Self { kind, language, strings_offset, strings, image_offset: fields.u64()?, image_size: fields.u64()? })
    }

    /// The size of its table of strings.
    fn strings_size(&self, version: u32) -> u64 {
        self.strings.saturating_mul(string_size(version))
    }

    /// The value of a string, empty without one.
    fn string<'data>(&self, all: &'data [u8], version: u32, name: &str) -> std::result::Result<&'data str, Problem> {
        let needed = self.strings_size(version);
        let strings = slice(all, self.strings_offset, needed);
        let strings = strings.ok_or(Problem::Cut { what: "the table of strings", needed, available: length(all) })?;
        // No longer than what is looked for: many strings may name the same long text.
        let text = |offset, most: usize| {
            let rest = slice(all, offset, length(all).saturating_sub(offset))?;
            rest.iter().take(most).position(|&byte| byte == 0).and_then(|end| rest.get(..end))
        };
        for record in strings.chunks_exact(string_size(version) as usize) {
            let mut fields = Fields(record);
            let (Some(key), Some(value)) = (fields.u64(), fields.u64()) else { continue };
            if text(key, name.len() + 1) == Some(name.as_bytes()) {
                let value = text(value, LONGEST_VALUE).unwrap_or_default();
                return std::str::from_utf8(value).map_err(|_| Problem::NotText("architecture"));
            }
        }
        Ok("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container with images: what they are, what language they are from, their GPU.
    fn container(version: u32, images: &[(u16, u16, &str)]) -> Vec<u8> {
        let string_size = if version == 1 { 16 } else { 24 };
        let strings_at = HEADER_SIZE as usize + usize::from(version == 3) * 8 + images.len() * ENTRY_SIZE as usize;
        let texts_at = strings_at + images.len() * string_size;
        let mut texts = b"arch\0".to_vec();
        let values: Vec<usize> = images
            .iter()
            .map(|(.., gpu)| {
                let start = texts_at + texts.len();
                texts.extend(gpu.bytes().chain([0]));
                start
            })
            .collect();
        let images_at = texts_at + texts.len();
        let size = (images_at + images.len() * 4).next_multiple_of(8);
        let mut all = MAGIC.to_vec();
        all.extend(version.to_le_bytes());
        let entries = if version == 1 { ENTRY_SIZE } else { images.len() as u64 };
        let start = HEADER_SIZE + u64::from(version == 3) * 8;
        [size as u64, start, entries].iter().for_each(|number| all.extend(number.to_le_bytes()));
        all.resize(start as usize, 0);
        for (index, (kind, language, _)) in images.iter().enumerate() {
            all.extend(kind.to_le_bytes());
            all.extend(language.to_le_bytes());
            all.extend([0; 4]);
            let numbers = [strings_at + index * string_size, 1, images_at + index * 4, 4];
            numbers.iter().for_each(|&number| all.extend((number as u64).to_le_bytes()));
        }
        for ((.., gpu), value) in images.iter().zip(values) {
            all.extend((texts_at as u64).to_le_bytes());
            all.extend((value as u64).to_le_bytes());
            if version > 1 {
                all.extend((gpu.len() as u64).to_le_bytes());
            }
        }
        all.extend(texts);
        (0..images.len()).for_each(|index| all.extend([index as u8 + 1; 4]));
        all.resize(size, 0);
        all
    }

    fn found(bytes: &[u8]) -> Vec<(ImageKind, String, u8)> {
        let images = images(bytes, 0x100).expect("images");
        images.iter().map(|image| (image.kind, image.architecture.to_string(), image.bytes[0])).collect()
    }

    #[test]
    fn images_of_every_version_are_found() {
        for version in [1, 2, 3] {
            let one = container(version, &[(1, 2, "sm_90a")]);
            assert_eq!(found(&one), [(ImageKind::Cubin, "90a".to_owned(), 1)], "version {version}");
            // Joined objects, aligned further than a container needs.
            let joined = [one.clone(), vec![0; 24], container(version, &[(5, 2, "sm_80")]), vec![0; 16]].concat();
            assert_eq!(found(&joined)[1..], [(ImageKind::Ptx, "80".to_owned(), 1)]);
        }
        let several = container(2, &[(3, 2, "sm_75"), (1, 4, "gfx90a"), (4, 2, "sm_100f"), (2, 2, "sm_120")]);
        let expected = [(ImageKind::Cubin, "75", 1), (ImageKind::Other(4), "100f", 3), (ImageKind::Bitcode, "120", 4)];
        assert_eq!(found(&several), expected.map(|(kind, gpu, first)| (kind, gpu.to_owned(), first)));
        assert!(found(&[]).is_empty() && found(&[0; 7]).is_empty());
    }

    #[test]
    fn an_image_for_the_same_gpu_is_of_the_next_unit() {
        let unit = container(2, &[(1, 2, "sm_90"), (5, 2, "sm_90"), (1, 2, "sm_90a")]);
        let bytes = [unit.clone(), container(1, &[(1, 2, "sm_90")]), unit].concat();
        let images = images(&bytes, 0).expect("images");
        assert_eq!(units(&images).map(<[_]>::len).collect::<Vec<_>>(), [3, 1, 3]);
        assert_eq!(units(&[]).count(), 0);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = container(2, &[(1, 2, "sm_90"), (1, 2, "sm_80")]);
        for end in 1..whole.len() {
            assert!(images(&whole[..end], 0).is_err(), "cut off at {end}");
        }
        for index in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[index] ^= change;
                let found = images(&damaged, 0).map_or(0, |images| images.iter().map(|image| image.bytes.len()).sum());
                assert!(found <= whole.len(), "byte {index}");
            }
        }
        let mut shared = container(2, &[(1, 2, "sm_90"), (1, 2, "sm_80"), (1, 2, "sm_75"), (1, 2, "sm_86")]);
        let table = shared[40..48].to_vec();
        for entry in shared[32..].chunks_exact_mut(ENTRY_SIZE as usize).take(4) {
            entry[8..16].copy_from_slice(&table);
            entry[16] = 6;
        }
        assert_eq!(images(&shared, 0).expect_err("tables that share bytes").problem(), &Problem::Overlap);
        let mut packed = container(3, &[(1, 2, "sm_90")]);
        packed[32] = 1;
        assert_eq!(images(&packed, 0).expect_err("packed").problem(), &Problem::PackedOffload);
        let unknown = container(4, &[(1, 2, "sm_90")]);
        assert_eq!(images(&unknown, 0).expect_err("unknown").problem(), &Problem::OffloadVersion(4));
        let named = images(&container(1, &[(1, 2, "pascal")]), 0x40).expect_err("no GPU");
        assert_eq!(named.to_string(), "clang's container entry 0 at offset 0x40: 'pascal' is no GPU");
    }
}
