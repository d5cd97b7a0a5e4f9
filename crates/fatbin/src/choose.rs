//! Chooses the entry of a fatbin for a target.
//!
//! Some entries can be used for the target at all:
//!
//! * machine code as [`Target::accepts`] says: for the target's own GPU, or an earlier one of its generation;
//! * PTX and LTO-IR for any GPU up to the target's. Code for a variant `a` is for exactly that GPU's variant `a`, code
//!   for a variant `f` for this and later GPUs of the generation;
//! * only with 64-bit addresses.
//!
//! Of these, the one for the latest GPU wins, whatever its kind: PTX for a later GPU is compiled although there is machine
//! code for an earlier one. Then machine code wins over PTX, then `a` over `f` over plain. With link-time optimization,
//! LTO-IR wins over everything else; without, it is not used.

use std::cmp::Ordering;
use std::fmt;

use cubin::release::Release;
use cubin::target::{Target, Variant};

use crate::entry::{Architecture, EntryKind};

/// What the choice needs to know of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Description {
    /// What its payload is.
    pub kind: EntryKind,
    /// What it was compiled for.
    pub architecture: Architecture,
    /// Whether its addresses have 64 bits.
    pub address_64: bool,
}

/// The outcome of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The entry with this index.
    Entry(usize),
    /// There is only LTO-IR for the target, and link-time optimization was not asked for.
    OnlyLtoIr,
    /// There is nothing for the target.
    Nothing,
}

/// Machine code that, with link-time optimization, is for its own variant only.
const EXACT_WITH_LTO: Architecture = Architecture { number: 90, variant: Variant::Accelerated };

/// What else the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Link-time optimization was asked for.
    pub lto: bool,
    /// Machine code for a variant `a` is taken for the same GPU's other variants, as CUDA 13.0 does.
    pub accelerated_for_plain: bool,
    /// The release whose linker chooses.
    pub release: &'static Release,
}

impl Default for Circumstances {
    fn default() -> Self {
        Self { lto: false, accelerated_for_plain: false, release: Release::newest() }
    }
}

/// Chooses the entry for `target`.
#[must_use]
pub fn choose(entries: &[Description], target: &Target, circumstances: Circumstances) -> Choice {
    let lto = circumstances.lto;
    let mut best_lto: Option<(usize, &Description)> = None;
    let mut best_other: Option<(usize, &Description)> = None;
    let usable = entries.iter().enumerate().filter(|(_, entry)| usable(entry, target, circumstances));
    for (index, entry) in usable {
        let best = match entry.kind {
            EntryKind::LtoIr => &mut best_lto,
            _ => &mut best_other,
        };
        // Among equals the first cubin wins, but the last PTX or LTO-IR.
        let wins = best.is_none_or(|(_, other)| match rank(entry).cmp(&rank(other)) {
            Ordering::Less => false,
            Ordering::Equal => entry.kind != EntryKind::Cubin,
            Ordering::Greater => true,
        });
        if wins {
            *best = Some((index, entry));
        }
    }
    match (best_lto, best_other) {
        (Some((index, _)), _) if lto => Choice::Entry(index),
        (_, Some((index, _))) => Choice::Entry(index),
        (Some(_), None) => Choice::OnlyLtoIr,
        (None, None) => Choice::Nothing,
    }
}

fn usable(entry: &Description, target: &Target, circumstances: Circumstances) -> bool {
    let Circumstances { lto, accelerated_for_plain, release } = circumstances;
    let Architecture { number, variant } = entry.architecture;
    let accelerated = variant == Variant::Accelerated;
    let suits = match entry.kind {
        EntryKind::Cubin if lto && entry.architecture == EXACT_WITH_LTO => {
            number == target.number && target.variant == Variant::Accelerated
        }
        EntryKind::Cubin => {
            target.accepts(number, accelerated, release) || (accelerated_for_plain && accelerated && number == target.number)
        }
        EntryKind::Ptx | EntryKind::LtoIr => {
            let known = Target::is_retired(number) || Target::all().iter().any(|other| other.number == number);
            known
                && match variant {
                    Variant::Plain => number <= target.number,
                    Variant::Family => number <= target.number && number / 10 == target.number / 10,
                    Variant::Accelerated => number == target.number && target.variant == Variant::Accelerated,
                }
        }
        EntryKind::Other(_) => false,
    };
    suits && entry.address_64
}

/// The larger, the better: latest GPU, machine code, most special variant.
fn rank(entry: &Description) -> (u32, bool, u8) {
    let variant = match entry.architecture.variant {
        Variant::Plain => 0,
        Variant::Family => 1,
        Variant::Accelerated => 2,
    };
    (entry.architecture.number, entry.kind == EntryKind::Cubin, variant)
}

impl fmt::Display for Description {
    /// As compilers name it: `sm_90a`, `compute_90`, `lto_90`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            EntryKind::Cubin => write!(out, "sm_{}", self.architecture)?,
            EntryKind::Ptx => write!(out, "compute_{}", self.architecture)?,
            EntryKind::LtoIr => write!(out, "lto_{}", self.architecture)?,
            EntryKind::Other(number) => write!(out, "kind {number} for {}", self.architecture)?,
        }
        if !self.address_64 {
            out.write_str(" (32-bit)")?;
        }
        Ok(())
    }
}

/// What is there, for messages that say that nothing fits: `sm_80, sm_90a, compute_90`. Each once, in ascending order.
#[must_use]
pub fn inventory(entries: &[Description]) -> String {
    let order = |entry: &Description| {
        let kind = match entry.kind {
            EntryKind::Cubin => 0,
            EntryKind::Ptx => 1,
            EntryKind::LtoIr => 2,
            EntryKind::Other(number) => 3 + u32::from(number),
        };
        (kind, rank(entry), entry.address_64)
    };
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(order);
    sorted.dedup();
    let names: Vec<_> = sorted.iter().map(Description::to_string).collect();
    names.join(", ")
}
