//! What changed in a function, and why.

use super::{Change, Changed, Quantity};
use crate::model::{Architecture, Function, Memory, Variable};
use crate::render::short;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// The block size that warps are compared for.
pub(super) const BLOCK: u32 = 256;

/// How many calls are followed in an architecture to find out whether functions are called there.
const MOST_CALLS: usize = 1 << 24;

/// An architecture of a report, and what is looked up in it for each function.
pub(super) struct Side<'report> {
    architecture: &'report Architecture,
    /// The functions with code. Of several with one name, the first.
    by_name: HashMap<&'report str, &'report Function>,
    /// The shared variables of each function.
    shared: HashMap<u32, Vec<&'report Variable>>,
    /// How many calls may still be followed.
    calls_left: Cell<usize>,
}

impl<'report> Side<'report> {
    pub(super) fn of(architecture: &'report Architecture) -> Self {
        let (mut by_name, mut shared) = (HashMap::new(), HashMap::<u32, Vec<&Variable>>::new());
        for function in architecture.functions.iter().filter(|function| function.code > 0) {
            by_name.entry(&*function.name).or_insert(function);
        }
        for variable in architecture.variables.iter().filter(|variable| variable.memory == Memory::Shared) {
            shared.entry(variable.owner.unwrap_or(u32::MAX)).or_default().push(variable);
        }
        Side { architecture, by_name, shared, calls_left: Cell::new(MOST_CALLS) }
    }

    /// Whether a function may call one of this name. Not known where too many calls would have to be followed.
    fn reaches(&self, from: u32, name: &str) -> Option<bool> {
        let (mut seen, mut open) = (HashSet::from([from]), vec![from]);
        while let Some(index) = open.pop() {
            let Some(function) = self.architecture.function(index) else { continue };
            if *function.name == *name {
                return Some(true);
            }
            let prototype = |&prototype: &u32| self.architecture.prototypes.get(prototype as usize);
            for &next in function.calls.iter().chain(function.indirect_calls.iter().filter_map(prototype).flatten()) {
                self.calls_left.set(self.calls_left.get().checked_sub(1)?);
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        Some(false)
    }
}

/// A function, before and after.
pub(super) struct Sides<'report> {
    pub(super) old: &'report Side<'report>,
    pub(super) new: &'report Side<'report>,
    pub(super) before: u32,
    pub(super) after: u32,
}

/// Warps with blocks of [`BLOCK`] threads, or of the largest size that can run.
pub(crate) fn warps(architecture: &Architecture, function: &Function) -> Option<u64> {
    let sizes = architecture.block_sizes.iter().zip(&function.warps);
    let mut usable = sizes.filter(|(size, warps)| **size <= BLOCK && **warps > 0);
    usable.next_back().map(|(_, &warps)| u64::from(warps))
}

impl Sides<'_> {
    /// What changed, if anything did.
    pub(super) fn changed(&self) -> Option<Changed> {
        let (old, new) = (self.old.architecture, self.new.architecture);
        let (before, after) = (old.function(self.before)?, new.function(self.after)?);
        let mut changes = Vec::new();
        let mut note = |what, old: Option<u64>, new: Option<u64>, because: &dyn Fn() -> Option<String>| {
            if old != new {
                changes.push(Change { what, old, new, because: because() });
            }
        };
        note(Quantity::Registers, Some(before.registers.into()), Some(after.registers.into()), &|| self.registers(before, after));
        note(Quantity::Stack, before.stack, after.stack, &|| self.stack(before, after));
        note(Quantity::Shared, Some(before.shared), Some(after.shared), &|| self.shared());
        note(Quantity::Warps, warps(old, before), warps(new, after), &|| {
            let causes = [(before.registers != after.registers, "registers"), (before.shared != after.shared, "shared memory")];
            let causes: Vec<&str> = causes.iter().filter(|(changed, _)| *changed).map(|(_, name)| *name).collect();
            (!causes.is_empty()).then(|| causes.join(" and "))
        });
        note(Quantity::Code, Some(before.code), Some(after.code), &|| None);
        let renamed_from = (before.name != after.name).then(|| before.demangled.clone());
        if changes.is_empty() && renamed_from.is_none() {
            return None;
        }
        Some(Changed { name: after.name.clone(), demangled: after.demangled.clone(), kind: after.kind, renamed_from, changes })
    }

    fn registers(&self, before: &Function, after: &Function) -> Option<String> {
        let grew = after.registers > before.registers;
        // The path that forces the larger of both numbers explains the difference.
        let (from, to, path) =
            if grew { (self.new, self.old, &after.registers_path) } else { (self.old, self.new, &before.registers_path) };
        let Some(&culprit) = path.get(1..).and_then(<[u32]>::last) else {
            return match (before.max_registers, after.max_registers) {
                (old, new) if old != new => {
                    Some(new.map_or("they are not limited any more".into(), |most| format!("they are limited to {most} now")))
                }
                _ if grew && before.fingerprint == after.fingerprint => None,
                _ => Some("its own code".to_owned()),
            };
        };
        let other_side = if grew { self.before } else { self.after };
        Some(self.about(from, to, culprit, other_side, grew, |function| function.registers.into(), "registers"))
    }

    fn stack(&self, before: &Function, after: &Function) -> Option<String> {
        if after.stack.is_none() {
            let names: Vec<String> = after.cycle.iter().map(|&index| short(self.new.architecture, index)).collect();
            return Some(if names.is_empty() { "a recursion".to_owned() } else { format!("recursion: {}", names.join(" -> ")) });
        }
        if before.stack.is_none() {
            return Some("there is no recursion any more".to_owned());
        }
        let grew = after.stack > before.stack;
        let (from, to, path) =
            if grew { (self.new, self.old, &after.stack_path) } else { (self.old, self.new, &before.stack_path) };
        let other_side = if grew { self.before } else { self.after };
        if before.frame != after.frame && path.len() < 2 {
            return Some("its own code".to_owned());
        }
        let frame_elsewhere = |function: &Function| to.by_name.get(&*function.name).map_or(0, |other| other.frame);
        let grown = |index: &u32| {
            from.architecture.function(*index).map_or(0, |function| function.frame.saturating_sub(frame_elsewhere(function)))
        };
        let culprit = path.iter().copied().skip(1).max_by_key(grown).filter(|index| grown(index) > 0)?;
        Some(self.about(from, to, culprit, other_side, grew, |function| function.frame.into(), "bytes of stack"))
    }

    /// A sentence about a function that forces the larger of two numbers: it is called now, or it needs more than it did.
    #[allow(clippy::too_many_arguments, reason = "two sides of one function, and what to say of it")]
    fn about(
        &self,
        from: &Side<'_>,
        to: &Side<'_>,
        culprit: u32,
        other_side: u32,
        grew: bool,
        needs: impl Fn(&Function) -> u64,
        unit: &str,
    ) -> String {
        let name = short(from.architecture, culprit);
        let Some(function) = from.architecture.function(culprit) else { return name };
        let Some(is_reached) = to.reaches(other_side, &function.name) else { return name };
        match (grew, is_reached, to.by_name.get(&*function.name)) {
            (true, false, _) => format!("{name} is called now"),
            (false, false, _) => format!("{name} is not called any more"),
            (true, true, Some(other)) if needs(other) < needs(function) => {
                format!("{name} needs {} {unit}, and needed {}", needs(function), needs(other))
            }
            (false, true, Some(other)) if needs(other) < needs(function) => {
                format!("{name} needs {} {unit}, and needed {}", needs(other), needs(function))
            }
            _ => name,
        }
    }

    fn shared(&self) -> Option<String> {
        let of = |side: &Side<'_>, owner: u32| -> Vec<(String, u64)> {
            let own = side.shared.get(&owner).into_iter().flatten();
            own.map(|variable| (variable.demangled.to_string(), variable.bytes)).collect()
        };
        let (before, after) = (of(self.old, self.before), of(self.new, self.after));
        // Of several with one name, the first.
        let by_name = |variables: &[(String, u64)]| variables.iter().rev().cloned().collect::<HashMap<String, u64>>();
        let (old_ones, new_ones) = (by_name(&before), by_name(&after));
        let mut said = Vec::new();
        for (name, bytes) in &after {
            match old_ones.get(name) {
                None => said.push(format!("{name} is new")),
                Some(old) if old != bytes => said.push(format!("{name} {old} -> {bytes}")),
                Some(_) => {}
            }
        }
        let gone = before.iter().filter(|(name, _)| !new_ones.contains_key(name));
        said.extend(gone.map(|(name, _)| format!("{name} is gone")));
        (!said.is_empty()).then(|| said.join(", "))
    }
}
