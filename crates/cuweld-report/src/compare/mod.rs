//! Comparing two reports: which kernels were added, removed or changed, and why.
//!
//! Functions are the same if their names are, within an architecture. Of what is left over, functions of one template are taken for renamed
//! if their code is the same, or if there is but one on either side.

pub(crate) mod because;

use crate::model::{Architecture, Function, Kind, Report};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// What the field `schema` of a comparison says.
pub const SCHEMA: &str = "cuweld-comparison";

/// How two reports differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version of the schema.
    pub version: u32,
    /// The files of the old report.
    pub old: Vec<String>,
    /// The files of the new report.
    pub new: Vec<String>,
    /// The differences, by architecture.
    pub architectures: Vec<ArchitectureChanges>,
}

/// How an architecture changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArchitectureChanges {
    /// Its name.
    pub name: String,
    /// Sizes of everything.
    pub totals: Vec<Total>,
    /// Functions that are new.
    pub added: Vec<Entry>,
    /// Functions that are gone.
    pub removed: Vec<Entry>,
    /// Functions that changed, kernels first, the largest change first.
    pub changed: Vec<Changed>,
    /// How many are as they were.
    pub unchanged: usize,
}

/// A size of everything, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// Of what.
    pub what: &'static str,
    /// Before.
    pub old: u64,
    /// After.
    pub new: u64,
}

/// A function that is new or gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its name in the symbol table.
    pub name: Arc<str>,
    /// Its name in the source.
    pub demangled: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// Its registers.
    pub registers: u32,
    /// Bytes of its code.
    pub code: u64,
}

/// A function that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Changed {
    /// Its name in the symbol table.
    pub name: Arc<str>,
    /// Its name in the source.
    pub demangled: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// Its old name in the source, if it has another now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<Arc<str>>,
    /// What changed.
    pub changes: Vec<Change>,
}

/// What can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Quantity {
    /// Registers per thread.
    Registers,
    /// Bytes of stack per thread.
    Stack,
    /// Bytes of static shared memory per block.
    Shared,
    /// Warps per multiprocessor with blocks of 256 threads, or of as many as may be if these are fewer.
    Warps,
    /// Bytes of code.
    Code,
}

impl Quantity {
    /// Its name in sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Registers => "registers",
            Quantity::Stack => "stack",
            Quantity::Shared => "shared memory",
            Quantity::Warps => "warps",
            Quantity::Code => "code",
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        self == Quantity::Warps
    }
}

/// One number, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Which.
    pub what: Quantity,
    /// Before; none if it was not known.
    pub old: Option<u64>,
    /// After; none if it is not known.
    pub new: Option<u64>,
    /// Because of what, as far as the reports tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Change {
    /// Whether it is a change for the worse. What is not known is worse than what is.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let more = self.new.unwrap_or(u64::MAX) > self.old.unwrap_or(u64::MAX);
        more != self.what.is_wanted()
    }
}

impl Comparison {
    /// Whether anything changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_same =
            |changes: &ArchitectureChanges| changes.added.is_empty() && changes.removed.is_empty() && changes.changed.is_empty();
        self.architectures.iter().all(is_same)
    }
}

/// Compares two reports.
#[must_use]
pub fn compare(old: &Report, new: &Report) -> Comparison {
    let nothing = Architecture::default();
    let names: BTreeMap<(u32, &str), ()> = old
        .architectures
        .iter()
        .chain(&new.architectures)
        .map(|architecture| ((number(&architecture.name), architecture.name.as_str()), ()))
        .collect();
    let files = |report: &Report| report.files.iter().map(|file| file.name.clone()).collect();
    let architectures = names.into_keys().map(|(_, name)| {
        let (before, after) = (old.architecture(name).unwrap_or(&nothing), new.architecture(name).unwrap_or(&nothing));
        changes(name, before, after)
    });
    Comparison { schema: SCHEMA, version: 1, old: files(old), new: files(new), architectures: architectures.collect() }
}

/// The number in an architecture's name, to bring `sm_100` after `sm_90`.
fn number(name: &str) -> u32 {
    name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

fn changes(name: &str, old: &Architecture, new: &Architecture) -> ArchitectureChanges {
    let pairs = Pairs::of(old, new);
    let entry = |function: &Function| Entry {
        name: function.name.clone(),
        demangled: function.demangled.clone(),
        kind: function.kind,
        registers: function.registers,
        code: function.code,
    };
    let mut changed = Vec::new();
    let mut unchanged = 0;
    let (old_side, new_side) = (because::Side::of(old), because::Side::of(new));
    for &(before, after) in &pairs.same {
        let sides = because::Sides { old: &old_side, new: &new_side, before, after };
        match sides.changed() {
            Some(found) => changed.push(found),
            None => unchanged += 1,
        }
    }
    changed.sort_by_key(|changed| (changed.kind != Kind::Kernel, std::cmp::Reverse(weight(changed)), changed.name.clone()));
    ArchitectureChanges {
        name: name.to_owned(),
        totals: totals(old, new),
        added: pairs.added.iter().filter_map(|&index| new.function(index)).map(entry).collect(),
        removed: pairs.removed.iter().filter_map(|&index| old.function(index)).map(entry).collect(),
        changed,
        unchanged,
    }
}

/// How much a change matters: resources before size.
fn weight(changed: &Changed) -> (u64, u64) {
    let difference = |change: &Change| change.new.unwrap_or(1 << 32).abs_diff(change.old.unwrap_or(1 << 32));
    let of =
        |quantities: &[Quantity]| changed.changes.iter().filter(|change| quantities.contains(&change.what)).map(difference).sum();
    (of(&[Quantity::Registers, Quantity::Stack, Quantity::Shared, Quantity::Warps]), of(&[Quantity::Code]))
}

fn totals(old: &Architecture, new: &Architecture) -> Vec<Total> {
    let (before, after) = (old.parts(), new.parts());
    let kernels = |architecture: &Architecture| architecture.kernels().count() as u64;
    vec![
        Total { what: "in the file", old: old.stored(), new: new.stored() },
        Total { what: "unpacked", old: before.total(), new: after.total() },
        Total { what: "code", old: before.code, new: after.code },
        Total { what: "same code again", old: old.waste(), new: new.waste() },
        Total { what: "kernels", old: kernels(old), new: kernels(new) },
    ]
}

/// Which functions of two architectures are the same.
#[derive(Debug, Default)]
struct Pairs {
    same: Vec<(u32, u32)>,
    added: Vec<u32>,
    removed: Vec<u32>,
}

type ByName<'report> = BTreeMap<(&'report str, bool), Vec<u32>>;

impl Pairs {
    fn of(old: &Architecture, new: &Architecture) -> Self {
        let mut pairs = Pairs::default();
        let (mut before, mut after) = (by_name(old), by_name(new));
        let names: BTreeSet<_> = before.keys().chain(after.keys()).copied().collect();
        for name in names {
            let (old_ones, new_ones) = (before.remove(&name).unwrap_or_default(), after.remove(&name).unwrap_or_default());
            let both = old_ones.len().min(new_ones.len());
            pairs.same.extend(old_ones.iter().copied().zip(new_ones.iter().copied()));
            pairs.removed.extend(old_ones.iter().skip(both));
            pairs.added.extend(new_ones.iter().skip(both));
        }
        pairs.find_renamed(old, new);
        pairs.same.sort_unstable_by_key(|&(_, after)| after);
        pairs.added.sort_unstable();
        pairs.removed.sort_unstable();
        pairs
    }

    fn find_renamed(&mut self, old: &Architecture, new: &Architecture) {
        let key = |architecture: &'_ Architecture, index: u32| {
            architecture.function(index).map(|function| (function.template.to_string(), function.kind == Kind::Kernel))
        };
        let mut left_over: HashMap<(String, bool), (Vec<u32>, Vec<u32>)> = HashMap::new();
        for &index in &self.removed {
            left_over.entry(key(old, index).unwrap_or_default()).or_default().0.push(index);
        }
        for &index in &self.added {
            left_over.entry(key(new, index).unwrap_or_default()).or_default().1.push(index);
        }
        let code =
            |architecture: &Architecture, index: u32| architecture.function(index).map_or(0, |function| function.fingerprint);
        let mut renamed = Vec::new();
        for (mut gone, mut come) in left_over.into_values() {
            let mut by_code: HashMap<u64, VecDeque<u32>> = HashMap::new();
            come.iter().for_each(|&after| by_code.entry(code(new, after)).or_default().push_back(after));
            gone.retain(|&before| {
                let same = by_code.get_mut(&code(old, before)).filter(|_| code(old, before) != 0);
                let found = same.and_then(VecDeque::pop_front);
                renamed.extend(found.map(|after| (before, after)));
                found.is_none()
            });
            let left: BTreeSet<u32> = by_code.into_values().flatten().collect();
            come.retain(|after| left.contains(after));
            if let ([before], [after]) = (gone.as_slice(), come.as_slice()) {
                renamed.push((*before, *after));
            }
        }
        let (gone, come): (BTreeSet<u32>, BTreeSet<u32>) = renamed.iter().copied().unzip();
        self.removed.retain(|index| !gone.contains(index));
        self.added.retain(|index| !come.contains(index));
        self.same.extend(renamed);
    }
}

fn by_name(architecture: &Architecture) -> ByName<'_> {
    let mut found = ByName::new();
    for (index, function) in (0..).zip(&architecture.functions).filter(|(_, function)| function.kind != Kind::External) {
        // A program and the objects that it was linked from may be in one file.
        let is_object = architecture.images.get(function.image as usize).is_some_and(|image| image.relocatable);
        found.entry((&*function.name, is_object)).or_default().push(index);
    }
    found
}

#[cfg(test)]
mod tests;
