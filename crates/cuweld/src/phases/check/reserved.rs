//! Reserved: functions that use the reserved part of shared memory although it is disabled (`-disable-smem-reservation`).

use super::Facts;
use crate::diagnostics::{Message, Report};
use crate::id::FunctionId;
use crate::propagated::propagated_row;
use cubin::info::Attribute;

/// Names every function that uses what is not reserved, and every kernel that calls one.
pub fn check(facts: &Facts<'_, '_>, report: &mut Report) {
    let Some(row) = propagated_row(Attribute::RESERVED_SMEM_USED).filter(|_| facts.options.omit_reserved_shared) else { return };
    let uses_it = |function: &FunctionId| {
        let own = facts.attributes.value(*function, row);
        own.or_else(|| facts.properties.of(*function)?.values[row]).is_some()
    };
    for function in facts.live.functions().filter(uses_it) {
        report.say(Message::ReservedSharedUsed { name: facts.resolution.name(function).into() });
    }
}
