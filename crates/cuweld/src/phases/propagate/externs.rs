//! Lists of external functions: those that are defined outside of the link, and kernels that are launched from the device.
//!
//! A kernel's record names every one that it reaches, in the order in which records first name them. The lists can be many and long: they are
//! shared where nothing is added, hold numbers of mentions, and their size is limited.

use super::{Facts, PropagatedValue};
use crate::id::{FunctionId, Id, IdMap};
use crate::phases::attributes::Moment;
use crate::propagated::{Combine, PROPAGATED};
use std::rc::Rc;

/// What an entry of a list takes in the output, and here.
pub const EXTERN_SIZE: u64 = 4;

/// Mentions, in their order; of each function one.
pub type List = Rc<[u32]>;

/// Every mention of an outside function in a record.
pub struct Externs {
    /// The function that each mention names.
    names: Vec<FunctionId>,
    own: IdMap<FunctionId, List>,
    /// In which round a function was seen.
    seen: Vec<u32>,
    round: u32,
    /// The entries of all lists there are.
    entries: u64,
}

impl Externs {
    /// Finds all mentions.
    pub fn find(facts: &Facts<'_, '_>) -> Self {
        let mut mentions: Vec<(Moment, u32, FunctionId, FunctionId)> = Vec::new();
        for function in facts.resolution.functions().ids() {
            let Some(named) = &facts.attributes.of(function).externs else { continue };
            for &PropagatedValue { row, first, .. } in facts.attributes.propagated(function) {
                if PROPAGATED[row].combine == Combine::Functions {
                    let named = named.iter().zip(0..).map(|(&named, position)| (first, position, named, function));
                    mentions
                        .extend(named.filter(|&(_, _, named, _)| facts.live.is_extern(facts.inputs, facts.resolution, named)));
                }
            }
        }
        mentions.sort_unstable();
        let mut own: IdMap<FunctionId, Vec<u32>> = IdMap::default();
        for (&(_, _, _, function), mention) in mentions.iter().zip(0..) {
            own.entry(function).or_default().push(mention);
        }
        let functions = if mentions.is_empty() { 0 } else { facts.resolution.functions().len() };
        let names = mentions.iter().map(|&(_, _, named, _)| named).collect();
        let mut externs = Externs { names, own: IdMap::default(), seen: vec![0; functions], round: 0, entries: 0 };
        externs.own = own.into_iter().map(|(function, list)| (function, externs.each_once(list).into())).collect();
        externs
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What a function's own records name.
    pub fn own(&self, function: FunctionId) -> Option<List> {
        self.own.get(&function).cloned()
    }

    /// The functions of a list.
    pub fn functions(&self, list: &List) -> impl Iterator<Item = FunctionId> {
        list.iter().map(|&mention| self.names[mention as usize])
    }

    /// The bytes of all lists that were joined of others and are there still.
    pub fn size(&self) -> u64 {
        EXTERN_SIZE * self.entries
    }

    /// Makes one list of several.
    pub fn join(&mut self, mut lists: Vec<List>) -> Option<List> {
        lists.sort_unstable_by_key(|list| list.as_ptr());
        lists.dedup_by(|one, other| Rc::ptr_eq(one, other));
        if lists.len() < 2 {
            return lists.pop();
        }
        let mut all = lists.concat();
        // They are sorted already, so that this only has to merge them.
        all.sort();
        let all = self.each_once(all);
        if let Some(same) = lists.iter().find(|list| ***list == *all) {
            return Some(Rc::clone(same));
        }
        // A list without another owner is freed now.
        let gone: u64 = lists.iter().filter(|list| Rc::strong_count(list) == 1).map(|list| list.len() as u64).sum();
        self.entries = (self.entries + all.len() as u64).saturating_sub(gone);
        Some(all.into())
    }

    /// Of each function the first mention.
    fn each_once(&mut self, mut list: Vec<u32>) -> Vec<u32> {
        self.round += 1;
        let (names, seen, round) = (&self.names, &mut self.seen, self.round);
        list.retain(|&mention| std::mem::replace(&mut seen[names[mention as usize].index()], round) != round);
        list
    }
}
