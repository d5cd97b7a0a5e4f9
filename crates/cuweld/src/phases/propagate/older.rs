//! Attributes that objects of older releases record differently, or not at all: barriers and languages.

use super::{Facts, Flow, Properties};
use crate::id::{FunctionId, Id};
use crate::phases::attributes::{Moment, moment_of_flags};
use crate::propagated::{Combine, PROPAGATED, propagated_row};
use cubin::info::Attribute;

impl Facts<'_, '_> {
    /// The languages of a kernel and of what it reaches, in the order in which they were read, its own first; and how many its own are.
    pub(super) fn languages(&self, kernel: FunctionId, flow: &Flow) -> (Vec<u32>, usize) {
        if self.attributes.languages_agree() {
            return (Vec::new(), 0);
        }
        let own: Vec<u16> = self.attributes.languages(kernel).collect();
        let is_other = |row: usize, value: u16| PROPAGATED[row].combine == Combine::Numbers && !own.contains(&value);
        let of_others = flow.values.iter().filter(|&&(row, value, _)| is_other(row, value));
        let mut others: Vec<(Moment, u16)> = of_others.map(|&(_, value, moment)| (moment, value)).collect();
        others.sort_unstable();
        (own.iter().copied().chain(others.into_iter().map(|(_, value)| value)).map(u32::from).collect(), own.len())
    }

    /// Counts the barriers of a kernel as the reference does where section flags say them: those of a kernel that calls what has a record
    /// stay in its flags, and those of functions that a lone kernel does not reach are forgotten.
    pub(super) fn forget_old_barriers(&self, kernel: FunctionId, flows: &[Flow], properties: &mut Properties) {
        // Hot: one per kernel, and most reach no function that says anything of barriers.
        let Some(row) = propagated_row(Attribute::NUM_BARRIERS).filter(|&row| properties.values[row].is_some()) else { return };
        let callees = self.graph.successors(kernel.index() as u32).map(|node| &flows[self.components.of_node(node)]);
        let called = callees.flat_map(|flow| &flow.values).filter(|&&(known, ..)| known == row);
        let mut known: Vec<(u16, bool)> = called.map(|&(_, value, moment)| (value, moment != moment_of_flags())).collect();
        if self.usage.lone_kernel().is_some() {
            let recorded = self.live.functions().filter(|&function| self.attributes.has_record(function, row));
            known.extend(recorded.filter_map(|function| Some((self.attributes.value(function, row)?, true))));
        }
        let own = self.attributes.value(kernel, row);
        let is_in_flags = own.is_some() && !self.attributes.has_record(kernel, row);
        properties.keeps_barriers_of_section = is_in_flags && known.iter().any(|&(_, recorded)| recorded);
        let own = own.filter(|_| !properties.keeps_barriers_of_section);
        properties.values[row] = known.into_iter().map(|(value, _)| value).chain(own).max();
        if properties.values[row].is_none() {
            properties.new_records.retain(|&new| new != row);
        }
    }
}
