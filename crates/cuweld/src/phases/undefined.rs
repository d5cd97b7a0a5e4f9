//! Undefined: names that live code needs and nobody defines.
//!
//! Some functions are defined by the driver when it loads the program. The reference linker has a fixed list of them.

use super::explain;
use super::explain::referrers::Referrers;
use super::live::LiveSet;
use super::load::Inputs;
use super::resolve::{Resolution, Symbol, is_shared_variable, is_texture};
use crate::diagnostics::{Message, Report};
use crate::options::Options;

/// Functions that the driver defines.
const DRIVER_FUNCTIONS: [&str; 32] = [
    "__assertfail",
    "__profile",
    "cnpCtxSynchronize",
    "cnpDeviceGetAttribute",
    "cnpEventCreate",
    "cnpEventDestroy",
    "cnpEventRecord",
    "cnpFuncGetAttribute",
    "cnpGetCacheConfig",
    "cnpGetDevice",
    "cnpGetDeviceCount",
    "cnpGetLastError",
    "cnpGetLimit",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpSetLastError",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cudaGraphKernelNodeSetEnabled",
    "cudaGraphKernelNodeSetGridDim",
    "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply",
    "cudaGraphLaunch",
    "cudaGraphSetConditional",
    "free",
    "malloc",
    "vfprintf",
    "vprintf",
];

/// Every function whose name starts like this is the driver's too.
const DRIVER_PREFIX: &str = "__cuda_syscall";

/// What refers to the names that `-u` gives.
const COMMAND_LINE: &str = "the command line";

/// Whether the driver defines a function of this name.
pub fn is_driver_function(name: &str) -> bool {
    name.starts_with(DRIVER_PREFIX) || DRIVER_FUNCTIONS.binary_search(&name).is_ok()
}

/// Reports every name that is missing.
pub fn check(inputs: &Inputs<'_>, resolution: &Resolution<'_>, live: &LiveSet, options: &Options, report: &mut Report) {
    if !options.executable() {
        return;
    }
    for name in &options.keep {
        if !resolution.symbols().iter().any(|symbol| symbol.name(inputs) == name) {
            report.say(Message::UndefinedReference { name: name.clone(), file: COMMAND_LINE.into() });
        }
    }
    let mut missing = Vec::new();
    for (id, symbol) in resolution.symbols().enumerate() {
        if !symbol.is_undefined() {
            continue;
        }
        let is_missing = match symbol.function {
            Some(function) => live.contains(function) && !is_driver_function(symbol.name(inputs)),
            None => is_missing_variable(symbol, symbol.name(inputs)) && !options.allow_undefined_globals,
        };
        if is_missing {
            missing.push(id);
        }
    }
    if missing.is_empty() {
        return;
    }
    for diagnostic in explain::undefined::describe(&Referrers { inputs, resolution, live }, &missing) {
        report.add(diagnostic);
    }
}

/// Whether a variable must be defined by some input: not what the driver places, and not arrays of unknown size.
fn is_missing_variable(symbol: &Symbol, name: &str) -> bool {
    let is_dynamic = is_shared_variable(symbol) && symbol.size == 0;
    let is_drivers = name.starts_with("__U") || name.starts_with(".nv.");
    !is_texture(symbol) && !is_dynamic && !is_drivers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(DRIVER_FUNCTIONS.is_sorted());
        assert!(is_driver_function("vprintf") && is_driver_function("__cuda_syscall_x") && !is_driver_function("printf"));
    }
}
