//! Walking containers: which cubins a file holds, and what else.

use super::Examined;
use crate::model::{File, OtherEntry};
use fatbin::archive::{Archive, Contents, Member};
use fatbin::container::Fatbins;
use fatbin::entry::{EntryKind, Packing};
use fatbin::host::FatbinSection;
use fatbin::{Entry, HostObject, Kind, fatbins, identify};
use std::collections::HashMap;
use std::sync::Arc;

/// A cubin that was found.
pub(super) struct Found<'data> {
    /// The file it is in.
    pub(super) file: u32,
    /// The archive member it is in.
    pub(super) member: Arc<str>,
    /// The cubin.
    pub(super) payload: Payload<'data>,
}

/// A cubin, as it is in its container.
#[derive(Clone, Copy)]
pub(super) enum Payload<'data> {
    /// As it is.
    Plain(&'data [u8]),
    /// In a fatbin.
    Entry(Entry<'data>),
}

impl Payload<'_> {
    /// Bytes in the file.
    pub(super) fn stored(&self) -> usize {
        match self {
            Payload::Plain(bytes) => bytes.len(),
            Payload::Entry(entry) => entry.bytes.len(),
        }
    }

    /// Bytes that it promises to unpack to.
    pub(super) fn unpacked(&self) -> usize {
        match self {
            Payload::Entry(entry) if entry.packing() != Packing::Stored => {
                usize::try_from(entry.unpacked_size).unwrap_or(usize::MAX)
            }
            Payload::Plain(_) | Payload::Entry(_) => 0,
        }
    }

    /// Bytes of memory while it is read, as far as its container tells the truth.
    pub(super) fn memory(&self) -> usize {
        self.stored().saturating_add(self.unpacked())
    }
}

impl Found<'_> {
    /// The architecture that the container names.
    pub(super) fn architecture(&self) -> String {
        match self.payload {
            Payload::Plain(_) => String::new(),
            Payload::Entry(entry) => format!("sm_{}", entry.architecture),
        }
    }
}

/// The cubins of all files.
#[derive(Default)]
pub(super) struct Walk<'data> {
    pub(super) found: Vec<Found<'data>>,
}

impl<'data> Walk<'data> {
    /// Walks through a file.
    pub(super) fn file(&mut self, index: u32, examined: &Examined<'data>) -> File {
        let kind = identify(examined.bytes);
        let mut file = File {
            name: examined.name.to_owned(),
            kind: kind.to_string(),
            bytes: examined.bytes.len() as u64,
            ..File::default()
        };
        let place = Place { file: index, member: "".into() };
        if let Err(problem) = self.bytes(examined.bytes, kind, &place, &mut file) {
            file.problems.push(problem);
        }
        file
    }

    fn bytes(&mut self, bytes: &'data [u8], kind: Kind, place: &Place, file: &mut File) -> Result<(), String> {
        match kind {
            Kind::Cubin(_) => {
                file.device += bytes.len() as u64;
                self.found.push(place.found(Payload::Plain(bytes)));
                Ok(())
            }
            Kind::Fatbin => self.fatbins(fatbins(bytes), bytes.len(), place, file),
            Kind::HostElf(_) | Kind::Coff(_) => {
                let object = HostObject::parse(bytes).map_err(|error| error.to_string())?;
                let mut sections = object.relocatable_code.iter().chain(&object.linked_code);
                sections.try_for_each(|section| self.section(section, place, file))
            }
            Kind::Archive | Kind::ThinArchive => {
                let archive = Archive::parse(bytes).map_err(|error| error.to_string())?;
                self.archive(&archive, place, file)
            }
            Kind::Ptx => {
                count_other(file, "PTX", "", bytes.len() as u64);
                file.device += bytes.len() as u64;
                Ok(())
            }
            other => Err(format!("{other}: there is no device code in it")),
        }
    }

    fn section(&mut self, section: &FatbinSection<'data>, place: &Place, file: &mut File) -> Result<(), String> {
        self.fatbins(section.fatbins(), section.data.len(), place, file)
    }

    fn fatbins(&mut self, fatbins: Fatbins<'data>, size: usize, place: &Place, file: &mut File) -> Result<(), String> {
        file.device += size as u64;
        let mut entries = 0;
        let walk = || {
            for fatbin in fatbins {
                for entry in fatbin.map_err(|error| error.to_string())?.entries() {
                    let entry = entry.map_err(|error| error.to_string())?;
                    entries += entry.bytes.len() as u64;
                    self.entry(entry, place, file);
                }
            }
            Ok(())
        };
        let walked = walk();
        // What no entry accounts for is headers and padding, or what could not be read.
        file.container += (size as u64).saturating_sub(entries);
        walked
    }

    fn entry(&mut self, entry: Entry<'data>, place: &Place, file: &mut File) {
        let kind = match entry.kind {
            EntryKind::Cubin => return self.found.push(place.found(Payload::Entry(entry))),
            EntryKind::Ptx => "PTX".to_owned(),
            EntryKind::LtoIr => "LTO-IR".to_owned(),
            EntryKind::Other(number) => format!("kind {number}"),
        };
        count_other(file, &kind, &format!("compute_{}", entry.architecture), entry.bytes.len() as u64);
    }

    fn archive(&mut self, archive: &Archive<'data>, place: &Place, file: &mut File) -> Result<(), String> {
        for member in archive.members() {
            let member = member.map_err(|error| error.to_string())?;
            let place = place.inside(&member);
            match member.contents {
                Contents::Inside(bytes) => self.member(archive, &member, bytes, &place, file),
                // A thin archive's members are files of their own, which can be examined themselves.
                _ => file.problems.push(format!("{}: a file of its own", place.member)),
            }
        }
        Ok(())
    }

    fn member(&mut self, archive: &Archive<'data>, member: &Member<'data>, bytes: &'data [u8], place: &Place, file: &mut File) {
        let kind = identify(bytes);
        let walked = match kind {
            Kind::Archive => match archive.parse_nested(member, bytes) {
                Ok(nested) => self.archive(&nested, place, file),
                Err(error) => Err(error.to_string()),
            },
            // Reports leave out what is neither host nor device code.
            Kind::Unknown | Kind::Empty | Kind::Bitcode => Ok(()),
            kind => self.bytes(bytes, kind, place, file),
        };
        if let Err(problem) = walked {
            file.problems.push(format!("{}: {problem}", place.member));
        }
    }
}

/// Where the walk is.
struct Place {
    file: u32,
    member: Arc<str>,
}

impl Place {
    fn found<'data>(&self, payload: Payload<'data>) -> Found<'data> {
        Found { file: self.file, member: self.member.clone(), payload }
    }

    fn inside(&self, member: &Member<'_>) -> Self {
        let name = member.display_name();
        let member = if self.member.is_empty() { name.as_ref().into() } else { format!("{}/{name}", self.member).into() };
        Place { file: self.file, member }
    }
}

/// Counts an entry that is no machine code. [`join_others`] puts those of a kind together.
pub(super) fn count_other(file: &mut File, kind: &str, architecture: &str, stored: u64) {
    file.others.push(OtherEntry { kind: kind.to_owned(), architecture: architecture.to_owned(), count: 1, stored });
}

/// Puts entries of one kind and architecture together, where the first of them is.
pub(super) fn join_others(file: &mut File) {
    let mut places = HashMap::<(String, String), usize>::new();
    let mut joined: Vec<OtherEntry> = Vec::new();
    for other in std::mem::take(&mut file.others) {
        let place = *places.entry((other.kind.clone(), other.architecture.clone())).or_insert(joined.len());
        match joined.get_mut(place) {
            Some(known) => {
                known.count += other.count;
                known.stored += other.stored;
            }
            None => joined.push(other),
        }
    }
    file.others = joined;
}
