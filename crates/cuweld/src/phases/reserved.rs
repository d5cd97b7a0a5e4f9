//! Reserved: functions that use the reserved part of shared memory, although there is to be none (`-disable-smem-reservation`).

use super::attributes::Attributes;
use super::live::LiveSet;
use super::propagate::KernelProperties;
use super::resolve::Resolution;
use crate::diagnostics::{Message, Report};
use crate::id::FunctionId;
use crate::options::Options;
use crate::propagated::propagated_row;
use cubin::info::Attribute;

/// The facts that are read.
pub struct Facts<'facts, 'data> {
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// What each function needs by itself.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
}

/// Names every function that uses what is not reserved, and every kernel that calls one.
pub fn check(facts: &Facts<'_, '_>, options: &Options, report: &mut Report) {
    let Some(row) = propagated_row(Attribute::RESERVED_SMEM_USED).filter(|_| options.omit_reserved_shared) else { return };
    let uses_it = |function: &FunctionId| {
        let own = facts.attributes.value(*function, row);
        own.or_else(|| facts.properties.of(*function)?.values[row]).is_some()
    };
    for function in facts.live.functions().filter(uses_it) {
        report.say(Message::ReservedSharedUsed { name: facts.resolution.name(function).into() });
    }
}
