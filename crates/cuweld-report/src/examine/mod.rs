//! Examining files: their cubins, and the facts of each.
//!
//! Containers are walked first, which touches little; then the cubins are unpacked and read in parallel, each by itself, as many at once
//! as there is room for, and only what the report keeps of one stays in memory. The order of the report is that of the files, whatever the number of threads.

mod image;
#[cfg(test)]
pub(crate) use image::call_graph;
pub(crate) use image::explain;
mod parts;
mod queue;
mod walk;

use crate::model::{Architecture, Duplicate, File, Function, Kind, Report, SCHEMA, VERSION};
use crate::names::Names;
use crate::occupancy::{BLOCK_SIZES, Limits};
use fatbin::entry::Unpacker;
use image::ImageFacts;
use queue::Queue;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use walk::{Found, Payload, Walk};

/// A file to examine.
#[derive(Clone, Copy, Debug)]
pub struct Examined<'data> {
    /// Its name, for the report.
    pub name: &'data str,
    /// Its contents.
    pub bytes: &'data [u8],
}

/// How many times its size what is packed may unpack to, taken together, as in a link.
const EXPANSION: usize = 64;
/// What it may unpack to beyond that.
const ROOM: usize = 64 << 20;

/// Code is worth naming as a duplicate from so many bytes on.
const WORTH_SHARING: u64 = 128;

/// Makes a report on files. `looked_at` is told how many bytes of a file were looked at and are not needed any more.
#[must_use]
pub fn examine(files: &[Examined<'_>], looked_at: &(dyn Fn(usize, usize) + Sync)) -> Report {
    let mut walk = Walk::default();
    let mut reported = Vec::with_capacity(files.len());
    for file in files {
        let found = walk.file(reported.len() as u32, file);
        looked_at(reported.len(), file.bytes.len());
        reported.push(found);
    }
    let examined = read(&walk.found, looked_at);
    let mut architectures: BTreeMap<(u32, String), Architecture> = BTreeMap::new();
    for (found, facts) in walk.found.iter().zip(examined) {
        match facts {
            Ok(mut facts) => {
                facts.image.file = found.file;
                facts.image.member = found.member.to_string();
                facts.image.stored = found.payload.stored() as u64;
                if let Payload::Entry(entry) = found.payload {
                    facts.image.name = entry.name.to_owned();
                    facts.architecture = format!("sm_{}", entry.architecture);
                }
                let key = (facts.sm, std::mem::take(&mut facts.architecture));
                architectures.entry(key).or_default().add(facts);
            }
            Err(problem) => report_problem(&mut reported, found, problem),
        }
    }
    reported.iter_mut().for_each(walk::join_others);
    let finish = |((sm, name), architecture)| finish(architecture, sm, name);
    Report {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        tool: concat!("cuweld ", env!("CARGO_PKG_VERSION")).to_owned(),
        files: reported,
        architectures: architectures.into_iter().map(finish).collect(),
    }
}

/// Reads all cubins, in the order of the queue; the facts are in that of the cubins.
fn read(all: &[Found<'_>], looked_at: &(dyn Fn(usize, usize) + Sync)) -> Vec<Result<ImageFacts, String>> {
    let names = Names::default();
    let too_much = too_much(all);
    let memory = |(found, too_much): (&Found<'_>, &Option<String>)| if too_much.is_some() { 0 } else { found.payload.memory() };
    let queue = Queue::new(all.iter().zip(&too_much).map(memory));
    let facts: Vec<OnceLock<_>> = all.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        let mut unpacker = Unpacker::default();
        queue.work(|number, memory| {
            let (Some(found), Some(place)) = (all.get(number), facts.get(number)) else { return };
            let bytes = match (&found.payload, too_much.get(number).cloned().flatten()) {
                (_, Some(problem)) => Err(problem),
                (Payload::Plain(bytes), None) => Ok(*bytes),
                (Payload::Entry(entry), None) => {
                    let limit = found.payload.unpacked();
                    unpacker.unpack_into(entry, limit, memory).map_err(|error| error.to_string())
                }
            };
            _ = place.set(bytes.and_then(|bytes| image::examine(bytes, &names).map_err(|error| error.to_string())));
            looked_at(found.file as usize, found.payload.stored());
        });
    };
    rayon::scope(|scope| (0..rayon::current_num_threads().min(all.len())).for_each(|_| scope.spawn(|_| work())));
    facts.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// What is not unpacked, and why: a small file may promise to unpack to more than any machine has.
fn too_much(all: &[Found<'_>]) -> Vec<Option<String>> {
    let stored = all.iter().map(|found| found.payload.stored()).fold(0usize, usize::saturating_add);
    let limit = stored.saturating_mul(EXPANSION).saturating_add(ROOM);
    let mut left = limit;
    let judge = |found: &Found<'_>| {
        let unpacked = found.payload.unpacked();
        let Some(rest) = left.checked_sub(unpacked) else {
            return Some(format!("it unpacks to {unpacked} bytes; {limit} are allowed for all, of which {left} are left"));
        };
        left = rest;
        None
    };
    all.iter().map(judge).collect()
}

/// What can not be read is said, and its bytes are counted as something else.
fn report_problem(files: &mut [File], found: &Found<'_>, problem: String) {
    if let Some(file) = files.get_mut(found.file as usize) {
        let place = if found.member.is_empty() { String::new() } else { format!("{}: ", found.member) };
        file.problems.push(format!("{place}{problem}"));
        walk::count_other(file, "unreadable", &found.architecture(), found.payload.stored() as u64);
    }
}

impl Architecture {
    /// Adds a cubin after those before it.
    fn add(&mut self, facts: ImageFacts) {
        let (image, first) = (self.images.len() as u32, self.functions.len() as u32);
        let first_prototype = self.prototypes.len() as u32;
        for mut targets in facts.prototypes {
            targets.iter_mut().for_each(|index| *index += first);
            self.prototypes.push(targets);
        }
        self.images.push(facts.image);
        for mut function in facts.functions {
            function.image = image;
            let Function { registers_path, stack_path, cycle, calls, indirect_calls, .. } = &mut function;
            [registers_path, stack_path, cycle, calls].into_iter().flatten().for_each(|index| *index += first);
            indirect_calls.iter_mut().for_each(|index| *index += first_prototype);
            self.functions.push(function);
        }
        for mut variable in facts.variables {
            variable.image = image;
            variable.owner = variable.owner.map(|owner| owner + first);
            self.variables.push(variable);
        }
    }
}

/// Adds what can be said once all cubins of an architecture are known.
fn finish(mut architecture: Architecture, sm: u32, name: String) -> Architecture {
    architecture.name = name;
    architecture.limits = Limits::of(sm);
    if let Some(limits) = architecture.limits {
        architecture.block_sizes = BLOCK_SIZES.to_vec();
        for function in architecture.functions.iter_mut().filter(|function| function.kind == Kind::Kernel) {
            let needs = function.needs(sm);
            function.warps = BLOCK_SIZES.iter().map(|&threads| limits.warps_of(threads, &needs)).collect();
        }
    }
    architecture.duplicates = duplicates(&architecture);
    architecture
}

/// Functions with the same code, the largest waste first.
pub(crate) fn duplicates(architecture: &Architecture) -> Vec<Duplicate> {
    let mut by_code: Vec<(u64, u64, u32)> = (0..)
        .zip(&architecture.functions)
        .filter(|(_, function)| function.code >= WORTH_SHARING && function.fingerprint != 0)
        .map(|(index, function)| (function.code, function.fingerprint, index))
        .collect();
    by_code.sort_unstable();
    let groups = by_code.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).filter(|group| group.len() > 1);
    let mut duplicates: Vec<Duplicate> = groups
        .map(|group| Duplicate {
            bytes: group[0].0,
            waste: group[0].0 * (group.len() as u64 - 1),
            functions: group.iter().map(|&(.., index)| index).collect(),
        })
        .collect();
    duplicates.sort_by_key(|duplicate| (std::cmp::Reverse(duplicate.waste), duplicate.functions.clone()));
    duplicates
}

#[cfg(test)]
mod tests;
