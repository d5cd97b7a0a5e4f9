//! Verify: that the program is whole before it is written.
//!
//! Every function that stays must have code, or be one that the driver defines. Other phases see to that; this one makes sure that no
//! mistake of theirs, and no object that contradicts itself, ends in a file that fails when it runs. References to functions that were
//! removed are found where relocations are settled.

use super::live::LiveSet;
use super::load::Inputs;
use super::merge::Plan;
use super::resolve::Resolution;
use crate::diagnostics::{Message, Report};
use crate::driver::is_driver_function;
use crate::options::Options;

/// Reports every function that would be in an executable without code.
pub fn check(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    live: &LiveSet,
    plan: &Plan<'_>,
    options: &Options,
    report: &mut Report,
) {
    if !options.executable() {
        return;
    }
    let has_code = |function| resolution.code(inputs, function).is_some() && plan.function(function).text.is_some();
    for function in live.functions().filter(|&function| !has_code(function)) {
        let name = resolution.name(function);
        // What nobody defines was reported as such.
        if resolution.code(inputs, function).is_some() || (resolution.functions()[function].kernel && is_driver_function(name)) {
            report.say(Message::NoCode { name: name.into() });
        }
    }
}
