//! Opening: expands archives into members, and identifies every input by its contents.

use super::{RawInput, Unknown, Why, in_parallel};
use crate::diagnostics::Message;
use crate::phases::load::Demand;
use fatbin::archive::{Contents, Member};
use fatbin::choose::Description;
use fatbin::host::FatbinSection;
use fatbin::identify::{ByteOrder, Class, ElfType, HostElf};
use fatbin::offload::{self, Image};
use fatbin::{Archive, Fatbin, HostObject, Kind, fatbins, identify};
use hashbrown::HashSet;
use std::borrow::Cow;

/// Inputs that are opened and told by their contents, which is the same for all targets. Code is chosen, and unpacked, for one.
#[derive(Debug)]
pub struct OpenInputs<'data> {
    pub(super) opened: Vec<Opened<'data>>,
    /// How many bytes they have together.
    pub(super) size: u64,
}

impl<'data> OpenInputs<'data> {
    /// Opens archives, and tells everything by its contents.
    ///
    /// # Errors
    /// When an input is damaged or, if these are refused, nothing known.
    pub fn open(inputs: &[RawInput<'data>], unknown: Unknown) -> Result<Self, Box<Message>> {
        let size = inputs.iter().map(|input| input.bytes.len() as u64).sum();
        let mut found = Vec::new();
        for input in inputs {
            match input.kind {
                Kind::Archive | Kind::ThinArchive => {
                    let archive = Archive::parse(input.bytes).map_err(|error| damaged(&input.name, &error))?;
                    let mut room = NAMES_ROOM + NAMES_GROWTH * input.bytes.len();
                    add_members(&archive, input, &input.name, &mut room, &mut found)?;
                }
                _ => found.push(input.clone()),
            }
        }
        // Of several errors, the one of the first input is reported, not the one that was found first.
        let opened = in_parallel::map(found, |input| tell(input, unknown)).into_iter().collect::<Result<_, _>>()?;
        Ok(OpenInputs { opened, size })
    }

    fn host_objects(&self) -> impl Iterator<Item = &HostObject<'data>> {
        self.opened.iter().filter_map(Opened::host_object)
    }

    /// ELF's number of the host's processor, as the first object says.
    #[must_use]
    pub fn host_machine(&self) -> Option<u16> {
        self.host_objects().find_map(HostObject::elf_machine)
    }

    /// What clang's host code lists for registration.
    #[must_use]
    pub fn host_entries(&self) -> HostEntries<'data> {
        let objects = || self.host_objects().filter(|object| !object.offload_code.is_empty());
        let mut sections: Vec<&str> = objects().flat_map(|object| &object.entry_lists).copied().collect();
        sections.sort_unstable();
        sections.dedup();
        HostEntries { sections, symbols: objects().flat_map(HostObject::entry_symbols).collect() }
    }

    /// The ids of all modules that are not linked yet, but for those of the device runtime library.
    ///
    /// # Errors
    ///
    /// If one is no identifier.
    pub fn module_ids(&self) -> Result<Vec<&'data str>, Box<Message>> {
        self.module_ids_of(|demand| demand != Demand::Runtime)
    }

    /// The ids of the modules of the device runtime library.
    ///
    /// # Errors
    ///
    /// If one is no identifier.
    pub fn runtime_module_ids(&self) -> Result<Vec<&'data str>, Box<Message>> {
        self.module_ids_of(|demand| demand == Demand::Runtime)
    }

    fn module_ids_of(&self, is_wanted: impl Fn(Demand) -> bool) -> Result<Vec<&'data str>, Box<Message>> {
        let linked = self.host_objects().flat_map(|object| &object.linked_module_ids).copied();
        let linked: HashSet<&str, foldhash::fast::RandomState> = linked.collect();
        let mut ids = Vec::new();
        for input in self.opened.iter().filter(|input| is_wanted(input.demand)) {
            if let Some(object) = input.host_object() {
                check_module_ids(&input.name, object)?;
                ids.extend(object.module_ids.iter().copied().filter(|id| !linked.contains(id)));
            }
        }
        Ok(ids)
    }
}

/// Refuses an object with a module whose id is no identifier: ids become a part of names in C.
pub(super) fn check_module_ids(name: &str, object: &HostObject<'_>) -> Result<(), Box<Message>> {
    let is_word = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match object.module_ids.iter().find(|id| !is_word(id)) {
        Some(id) => {
            let problem = format!("the name of its module, '{id}', is no identifier");
            Err(Box::new(Message::BadContainer { file: name.to_owned(), problem }))
        }
        None => Ok(()),
    }
}

/// What clang's host code lists for registration.
#[derive(Clone, Debug, Default)]
pub struct HostEntries<'data> {
    /// The names of the sections with lists, each once.
    pub sections: Vec<&'static str>,
    /// The symbols of what is in them.
    pub symbols: Vec<&'data str>,
}

/// One file or member, told by its contents.
#[derive(Debug)]
pub(super) struct Opened<'data> {
    pub name: Cow<'data, str>,
    pub path: Cow<'data, str>,
    pub member: bool,
    pub demand: Demand,
    pub contents: Content<'data>,
}

impl<'data> Opened<'data> {
    pub(super) fn host_object(&self) -> Option<&HostObject<'data>> {
        match &self.contents {
            Content::Host(object) => Some(&**object),
            _ => None,
        }
    }

    /// The forms in which each of its units is there, as far as they can be read.
    pub(super) fn units(&self) -> Vec<Vec<Description>> {
        let of_fatbins = |fatbins: &mut dyn Iterator<Item = fatbin::Result<Fatbin<'data>>>| -> Vec<Vec<Description>> {
            let entries =
                |fatbin: Fatbin<'data>| fatbin.entries().map_while(Result::ok).map(|entry| entry.description()).collect();
            fatbins.flatten().map(entries).collect()
        };
        match &self.contents {
            Content::Host(object) => {
                let mut found = of_fatbins(&mut object.relocatable_code.iter().flat_map(FatbinSection::fatbins));
                for images in object.offload_code.iter().filter_map(|section| section.images().ok()) {
                    found.extend(offload::units(&images).map(|unit| unit.iter().map(Image::description).collect()));
                }
                found
            }
            Content::Fatbin(bytes) => of_fatbins(&mut fatbins(bytes)),
            _ => Vec::new(),
        }
    }
}

/// What a file or member is.
#[derive(Debug)]
pub(super) enum Content<'data> {
    Host(Box<HostObject<'data>>),
    Cubin(&'data [u8]),
    Fatbin(&'data [u8]),
    Ptx(&'data [u8]),
    LtoIr(&'data [u8]),
    Nothing(Why),
}

/// How many bytes the names of an archive's members may have together, for each of its own bytes and beyond that. Members may share a
/// long name, and those of archives in archives are longer still.
const NAMES_GROWTH: usize = 4;
const NAMES_ROOM: usize = 1 << 20;

/// A container that can not be opened.
pub(super) fn damaged(name: &str, error: &fatbin::Error) -> Box<Message> {
    Box::new(Message::BadContainer { file: name.to_owned(), problem: error.to_string() })
}

/// The members of an archive, and of archives in it. Members of thin archives are files, which the caller has to bring.
fn add_members<'data>(
    archive: &Archive<'data>,
    input: &RawInput<'data>,
    name: &str,
    room: &mut usize,
    found: &mut Vec<RawInput<'data>>,
) -> Result<(), Box<Message>> {
    for member in archive.members() {
        let member: Member<'data> = member.map_err(|error| damaged(name, &error))?;
        let Contents::Inside(bytes) = member.contents else { continue };
        let member_name = format!("{name}:{}", member.display_name());
        *room = room.checked_sub(member_name.len()).ok_or_else(|| {
            let problem = "the names of its members are too long".to_owned();
            Box::new(Message::BadContainer { file: input.name.to_string(), problem })
        })?;
        let kind = identify(bytes);
        if matches!(kind, Kind::Archive) {
            let nested = archive.parse_nested(&member, bytes).map_err(|error| damaged(name, &error))?;
            add_members(&nested, input, &member_name, room, found)?;
        } else {
            found.push(RawInput { name: member_name.into(), bytes, kind, member: true, ..input.clone() });
        }
    }
    Ok(())
}

fn tell(input: RawInput<'_>, unknown: Unknown) -> Result<Opened<'_>, Box<Message>> {
    let bytes = input.bytes;
    let contents = match input.kind {
        Kind::Cubin(_) => Content::Cubin(bytes),
        Kind::Fatbin => Content::Fatbin(bytes),
        Kind::Ptx => Content::Ptx(bytes),
        Kind::LtoIr => Content::LtoIr(bytes),
        Kind::Coff(_)
        | Kind::HostElf(HostElf { class: Class::Bits64, byte_order: ByteOrder::Little, kind: ElfType::Relocatable, .. }) => {
            if let Some(message) = by_name(&input, true).filter(|_| unknown == Unknown::ByName) {
                return Err(message);
            }
            let object = HostObject::parse(bytes).map_err(|error| damaged(&input.name, &error))?;
            Content::Host(Box::new(object))
        }
        // Programs and shared libraries hold only code that is linked already.
        // An empty file is what a compiler that failed leaves behind; the reference linker passes over it.
        kind @ Kind::Empty if input.member || unknown == Unknown::ByName => Content::Nothing(Why::Kind(kind)),
        kind @ (Kind::HostElf(_) | Kind::Archive | Kind::ThinArchive) => Content::Nothing(Why::Kind(kind)),
        kind if input.member => Content::Nothing(Why::Kind(kind)),
        kind => {
            let message = match unknown {
                Unknown::Refuse => {
                    Some(Box::new(Message::UnknownFormat { file: input.name.to_string(), found: kind.to_string() }))
                }
                Unknown::ByName => by_name(&input, false),
            };
            match message {
                Some(message) => return Err(message),
                None => Content::Nothing(Why::Kind(kind)),
            }
        }
    };
    Ok(Opened { name: input.name, path: input.path, member: input.member, demand: input.demand, contents })
}

/// The size up to which the reference linker takes a file for unreadable.
const LEAST_SIZE: usize = 56;

/// The message of the reference linker for a file whose contents do not fit its name, if it has one.
fn by_name(input: &RawInput<'_>, host_object: bool) -> Option<Box<Message>> {
    let file = input.name.to_string();
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    let message = match extension {
        _ if input.member => return None,
        _ if input.bytes.len() < LEAST_SIZE => Message::CannotOpenInput { file, cause: "the file is too short".into() },
        "cubin" if host_object => Message::NotADeviceElf { file },
        "cubin" => Message::NotADeviceObject { file },
        "fatbin" => Message::NotAFatbin { file },
        "ltoir" => Message::NotIntermediateCode { file },
        "ptx" => Message::CompilerFailed {},
        _ => return None,
    };
    Some(Box::new(message))
}
