//! Unpacking: extracts the code for the target from every container.

use super::elsewhere::compile_for;
use super::in_parallel;
use super::joined::leave_out_parts;
use super::open::{Content, OpenInputs, Opened, check_module_ids, damaged};
use super::{Code, Module, Packed, Skipped, Unit, Unknown, Unpacked, Why};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::imitations::Imitation;
use crate::phases::load::Demand;
use crate::request::Request;
use cubin::target::Target;
use fatbin::choose::{Choice, Circumstances, Description, choose, inventory};
use fatbin::entry::{Architecture, EntryKind, Packing, Unpacker};
use fatbin::host::FatbinSection;
use fatbin::offload::{self, Image, ImageKind};
use fatbin::{Entry, Fatbin, HostObject, fatbins};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::ops::Range;

impl<'data> OpenInputs<'data> {
    /// Takes what is for the target.
    pub(crate) fn unpack(&self, request: &Request, report: &mut Report) -> Result<Unpacked<'data>, Failure> {
        let leaves_out = request.unpack.leave_out_linked_modules;
        let linked = if leaves_out { linked_modules(&self.opened) } else { HashMap::default() };
        let mut search = Search {
            request,
            report,
            linked,
            picks: Vec::new(),
            joined: Vec::new(),
            found: Unpacked::default(),
            further_modules: Vec::new(),
            has_missed: false,
        };
        for input in &self.opened {
            search.add(input)?;
        }
        let Search { picks, joined, mut found, further_modules, has_missed, .. } = search;
        found.modules.extend(further_modules.into_iter().rev());
        if has_missed {
            report.checkpoint()?;
        }
        let limit = request.unpack.limit.unwrap_or_else(|| default_limit(self.size));
        if let Some(message) = over_limit(&picks, limit) {
            return report.fatal(message);
        }
        // Of several errors, the one of the first input is reported, not the one that was found first.
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let units = in_parallel::map_with(picks, |unpacker, pick: Pick<'_>| pick.unpack(unpacker, limit));
        match units.into_iter().collect() {
            Ok(units) => found.units = units,
            Err(message) => return report.fatal(*message),
        }
        leave_out_parts(&mut found, &joined);
        Ok(found)
    }

    /// The targets that every input with code in a fatbin has machine code for: of the generation, as it is.
    #[must_use]
    pub fn common_targets(&self) -> Vec<&'static Target> {
        let mut common: Option<Vec<Architecture>> = None;
        for input in self.opened.iter().filter(|input| input.demand == Demand::Always) {
            for unit in input.units() {
                let is_code = |form: &Description| matches!(form.kind, EntryKind::Cubin | EntryKind::LtoIr);
                let found: Vec<Architecture> = unit.into_iter().filter(is_code).map(|form| form.architecture).collect();
                common = Some(match common {
                    Some(common) => common.into_iter().filter(|architecture| found.contains(architecture)).collect(),
                    None => found,
                });
            }
        }
        let common = common.unwrap_or_default();
        let is_common = |target: &&Target| common.contains(&Architecture { number: target.number, variant: target.variant });
        Target::all().iter().filter(is_common).collect()
    }
}

/// How many times their own size inputs unpack to at most, unless more is allowed. Code shrinks to a third or a tenth.
const EXPANSION: u64 = 64;
/// What they may unpack to beyond that: tables of zeros shrink to nothing.
const ROOM: u64 = 64 << 20;

fn default_limit(size: u64) -> u64 {
    size.saturating_mul(EXPANSION).saturating_add(ROOM)
}

/// Modules that are linked already, and the output of a device link that contains them.
fn linked_modules<'data>(opened: &[Opened<'data>]) -> HashMap<&'data str, Cow<'data, str>, foldhash::fast::RandomState> {
    let mut linked = HashMap::default();
    for input in opened {
        if let Content::Host(object) = &input.contents {
            linked.extend(object.linked_module_ids.iter().map(|&id| (id, input.name.clone())));
        }
    }
    linked
}

/// Code that was found, not yet unpacked.
struct Pick<'data> {
    name: Cow<'data, str>,
    demand: Demand,
    source: Source<'data>,
}

enum Source<'data> {
    Entry(Entry<'data>),
    Cubin(&'data [u8]),
    Ptx(&'data [u8]),
    LtoIr(&'data [u8]),
}

/// Refuses inputs that together promise more than is allowed, before any is unpacked.
fn over_limit(picks: &[Pick<'_>], limit: u64) -> Option<Message> {
    let mut total: u64 = 0;
    for pick in picks {
        if let Source::Entry(entry) = &pick.source
            && entry.packing() != Packing::Stored
        {
            total = total.saturating_add(entry.unpacked_size);
            if total > limit {
                let problem = format!("the inputs up to this one unpack to {total} bytes, and {limit} are allowed");
                return Some(Message::BadContainer { file: pick.name.to_string(), problem });
            }
        }
    }
    None
}

impl<'data> Pick<'data> {
    fn unpack(self, unpacker: &mut Unpacker, limit: usize) -> Result<Unit<'data>, Box<Message>> {
        let code = match self.source {
            Source::Cubin(bytes) => Code::Cubin(bytes.into()),
            Source::Ptx(bytes) => Code::Ptx { text: without_nul(bytes).into(), options: String::new() },
            Source::LtoIr(bytes) => Code::LtoIr { data: bytes.into(), bare: true, options: String::new() },
            Source::Entry(entry) => {
                let mut unpack = || unpacker.unpack(&entry, limit).map_err(|error| damaged(&self.name, &error));
                match entry.kind {
                    EntryKind::Cubin if self.demand == Demand::Runtime && entry.packing() != Packing::Stored => {
                        Code::Packed(Box::new(Packed::new(entry, limit)))
                    }
                    EntryKind::Ptx => Code::Ptx { text: unpack()?, options: entry.options.to_owned() },
                    EntryKind::LtoIr => {
                        Code::LtoIr { data: Cow::Owned(entry.to_fatbin()), bare: false, options: entry.options.to_owned() }
                    }
                    EntryKind::Cubin | EntryKind::Other(_) => Code::Cubin(unpack()?),
                }
            }
        };
        Ok(Unit { name: self.name, code, demand: self.demand })
    }
}

/// The text before the NUL that may end it.
fn without_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The search for code, input by input.
struct Search<'search, 'data> {
    request: &'search Request,
    report: &'search mut Report,
    linked: HashMap<&'data str, Cow<'data, str>, foldhash::fast::RandomState>,
    picks: Vec<Pick<'data>>,
    /// The picks of each object that several were joined into.
    joined: Vec<Range<usize>>,
    found: Unpacked<'data>,
    /// All but the first module of each joined object. They are registered after all others, the last one first.
    further_modules: Vec<Module>,
    /// Whether a fatbin, bare of any object, had no code for the target.
    has_missed: bool,
}

impl<'data> Search<'_, 'data> {
    fn add(&mut self, input: &Opened<'data>) -> Result<(), Failure> {
        let first_unit = self.picks.len();
        let mut ids = Vec::new();
        let mut known_by_path = !input.member;
        match &input.contents {
            Content::Nothing(why) => return self.skip(input, why.clone()),
            Content::Host(object) => {
                match input.demand {
                    Demand::Runtime => self.found.host_references.add_runtime(object),
                    _ => self.found.host_references.add(object),
                }
                let has_images = self.add_images(input, object)?;
                // What clang compiles is registered by its entries.
                known_by_path &= !has_images;
                match self.reason_to_skip(object) {
                    Some(_) if has_images => {}
                    Some(why) => return self.skip(input, why),
                    None => ids = self.add_host_object(input, object)?,
                }
            }
            Content::Cubin(bytes) => self.pick_bare(input, Source::Cubin(bytes)),
            Content::Ptx(bytes) => self.pick_bare(input, Source::Ptx(bytes)),
            Content::LtoIr(_) if self.request.compile.optimization.is_none() => {
                return self.report.fatal(Message::NotIntermediateCode { file: input.name.to_string() });
            }
            Content::LtoIr(bytes) => {
                known_by_path = false;
                self.pick_bare(input, Source::LtoIr(bytes));
            }
            Content::Fatbin(bytes) => {
                self.found.host_references.add_unknown(input.demand);
                for fatbin in fatbins(bytes) {
                    self.choose(input, fatbin)?;
                }
                known_by_path &= self.picks.len() > first_unit;
            }
        }
        if ids.is_empty() && known_by_path {
            ids.push(identifier(&input.path));
        }
        let (demand, units) = (input.demand, first_unit..self.picks.len());
        let registers = matches!(input.contents, Content::Host(_));
        let mut modules = ids.into_iter().map(|id| Module { id, demand, registers, units: units.clone() });
        self.found.modules.extend(modules.next());
        self.further_modules.extend(modules);
        Ok(())
    }

    /// Chooses from each fatbin of an object that is not linked already, and gives the modules it has.
    fn add_host_object(&mut self, input: &Opened<'data>, object: &HostObject<'data>) -> Result<Vec<String>, Failure> {
        let fatbins: Vec<_> = object.relocatable_code.iter().flat_map(FatbinSection::fatbins).collect();
        // In a joined object, fatbins and modules are in the same order.
        let are_paired = fatbins.len() == object.module_ids.len();
        let is_linked = |index: usize| object.module_ids.get(index).is_some_and(|&id| self.linked.contains_key(id));
        let linked: Vec<bool> = (0..fatbins.len()).map(|index| are_paired && is_linked(index)).collect();
        let first = self.picks.len();
        for (fatbin, linked) in fatbins.into_iter().zip(&linked) {
            if !linked {
                self.choose(input, fatbin)?;
            }
        }
        if self.picks.len() > first + 1 {
            self.joined.push(first..self.picks.len());
        }
        check_module_ids(&input.name, object).or_else(|message| self.report.fatal(*message))?;
        let is_left = |index: usize| !linked.get(index).is_some_and(|&linked| linked);
        Ok(object.module_ids.iter().enumerate().filter(|&(index, _)| is_left(index)).map(|(_, &id)| id.to_owned()).collect())
    }

    /// Chooses from the images that clang has made of each unit. Gives whether there are any. The reference linker reads none.
    fn add_images(&mut self, input: &Opened<'data>, object: &HostObject<'data>) -> Result<bool, Failure> {
        if self.request.unpack.unknown == Unknown::ByName {
            return Ok(false);
        }
        let mut has_images = false;
        for section in &object.offload_code {
            let images = match section.images() {
                Ok(images) => images,
                Err(error) => return self.report.fatal(*damaged(&input.name, &error)),
            };
            for unit in offload::units(&images) {
                has_images = true;
                let described: Vec<Description> = unit.iter().map(Image::description).collect();
                if unit.iter().all(|image| image.kind == ImageKind::Bitcode) {
                    let message = Message::CodeForClang { file: input.name.to_string() };
                    self.report.add(Diagnostic::new(message).hint("compile it without -foffload-lto"));
                    continue;
                }
                if let Some(index) = self.choose_one(input, &described)?
                    && let Some(image) = unit.get(index)
                {
                    match image.kind {
                        ImageKind::Ptx => self.pick(input, Source::Ptx(image.bytes)),
                        _ => self.pick(input, Source::Cubin(image.bytes)),
                    }
                }
            }
        }
        Ok(has_images)
    }

    fn reason_to_skip(&self, object: &HostObject<'data>) -> Option<Why> {
        let linked: Option<Vec<&Cow<'_, str>>> = object.module_ids.iter().map(|id| self.linked.get(id)).collect();
        match linked.as_deref() {
            Some(&[other, ..]) => Some(Why::PartOf(other.to_string())),
            _ if object.relocatable_code.iter().all(|section| section.data.is_empty()) => {
                Some(match object.linked_code.is_empty() {
                    true if !object.offload_code.is_empty() => Why::ForClang,
                    true => Why::NoDeviceCode,
                    false => Why::LinkedAlready,
                })
            }
            _ if !object.has_registration => Some(Why::NotRegistered),
            _ => None,
        }
    }

    fn skip(&mut self, input: &Opened<'data>, why: Why) -> Result<(), Failure> {
        self.found.skipped.push(Skipped { name: input.name.to_string(), why });
        Ok(())
    }

    /// Takes code that no host object is around.
    fn pick_bare(&mut self, input: &Opened<'data>, source: Source<'data>) {
        self.found.host_references.add_unknown(input.demand);
        self.pick(input, source);
    }

    fn pick(&mut self, input: &Opened<'data>, source: Source<'data>) {
        self.picks.push(Pick { name: input.name.clone(), demand: input.demand, source });
    }

    /// Chooses an entry of a fatbin.
    fn choose(&mut self, input: &Opened<'data>, fatbin: fatbin::Result<Fatbin<'data>>) -> Result<(), Failure> {
        let entries = match fatbin.and_then(|fatbin| fatbin.entries().collect::<fatbin::Result<Vec<_>>>()) {
            Ok(entries) => entries,
            Err(error) => return self.report.fatal(*damaged(&input.name, &error)),
        };
        let described: Vec<Description> = entries.iter().map(Entry::description).collect();
        let chosen = self.choose_one(input, &described)?;
        if let Some(&entry) = chosen.and_then(|index| entries.get(index)) {
            let ids = input.host_object().map_or(&[][..], |object| &object.module_ids);
            let source = self.request.unpack.name_by_source.then(|| source_of(&input.name, entry.name, ids)).flatten();
            let name = source.unwrap_or_else(|| input.name.clone());
            self.picks.push(Pick { name, demand: input.demand, source: Source::Entry(entry) });
        }
        Ok(())
    }

    /// Chooses one of the forms that a unit has, if any is for the target.
    fn choose_one(&mut self, input: &Opened<'data>, described: &[Description]) -> Result<Option<usize>, Failure> {
        let circumstances = Circumstances {
            lto: self.request.compile.optimization.is_some(),
            accelerated_for_plain: self.request.options.imitates(Imitation::AcceleratedForPlain),
            release: self.request.options.release.limit(),
        };
        match choose(described, self.request.options.target, circumstances) {
            Choice::Entry(index) => Ok(Some(index)),
            Choice::OnlyLtoIr => {
                let headline = format!("'{}' has only intermediate code for the target", input.name);
                let hint = format!("ask for link-time optimization (-dlto), or {}", compile_for(self.request.options.target));
                self.report.fatal(Diagnostic::new(Message::NeedsLinkTimeOptimization {}).headline(headline).hint(hint))
            }
            Choice::Nothing => self.miss(input, described).map(|()| None),
        }
    }

    /// There is no code for the target.
    fn miss(&mut self, input: &Opened<'data>, described: &[Description]) -> Result<(), Failure> {
        let there = match described.is_empty() {
            true => "nothing".to_owned(),
            false => inventory(described),
        };
        if input.member {
            return self.skip(input, Why::NoCodeForTarget(there));
        }
        if self.request.unpack.warn_of_missing_code {
            let target = self.request.options.target.name.into();
            let message = Message::NoCodeForTarget { file: input.name.to_string(), target };
            self.report
                .add(Diagnostic::new(message).hint(format!("it has {there}; {}", compile_for(self.request.options.target))));
            let is_bare = matches!(input.contents, Content::Fatbin(_));
            if self.report.has_errors() && !is_bare {
                return self.report.fatal(nothing_to_link());
            }
            self.has_missed |= is_bare;
        }
        Ok(())
    }
}

/// The source of a temporary file of nvcc, which is gone when a message names it. Code with line numbers records its source; otherwise it is
/// derived from the names of the file and of its module.
fn source_of<'data>(path: &str, known: &'data str, ids: &[&str]) -> Option<Cow<'data, str>> {
    let temporary = path.rsplit(['/', '\\']).next()?.strip_prefix("tmpxft_")?;
    if !known.is_empty() {
        return Some(Cow::Borrowed(known));
    }
    // `PROCESS_0-NUMBER_STEM.o`
    let (stem, _) = temporary.split_once('-')?.1.split_once('_')?.1.rsplit_once('.')?;
    ids.iter().find_map(|id| {
        // `_HASH_LENGTH_NAME...`, the name as a part of an identifier
        let (length, name) = id.strip_prefix('_')?.split_once('_')?.1.split_once('_')?;
        let extension = name.get(..length.parse().ok()?)?.strip_prefix(&identifier(stem))?.strip_prefix('_')?;
        Some(Cow::Owned(format!("{stem}.{extension}")))
    })
}

/// Ends a link because of a warning about an input.
pub fn nothing_to_link() -> Diagnostic {
    Diagnostic::new(Message::NothingToLink {}).headline("an input can not be used, and warnings are errors (-Werror)")
}

/// A path as a part of a C identifier.
fn identifier(path: &str) -> String {
    let bytes = path.bytes().map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'_' }).collect();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::source_of;

    #[test]
    fn temporary_files_are_known_by_their_source() {
        let file = "/tmp/tmpxft_00001497_00000000-15_my-main.o";
        for (path, known, id, expected) in [
            (file, "", "_54075dbe_10_my_main_cu__Z1kPf", Some("my-main.cu")),
            (file, "from/notes.cu", "", Some("from/notes.cu")),
            (file, "", "_54075dbe_8_other_cu__Z1kPf", None),
            (file, "", "_54075dbe_999_my_main_cu", None),
            ("my-main.o", "from/notes.cu", "_54075dbe_10_my_main_cu", None),
            ("tmpxft_", "", "", None),
        ] {
            assert_eq!(source_of(path, known, &[id]).as_deref(), expected, "{path} {known} {id}");
        }
    }
}
