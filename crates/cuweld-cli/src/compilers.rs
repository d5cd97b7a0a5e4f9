//! The compilers, as the command line configures them.

use crate::options::{self, Compile, HostInfo, LinkArguments, OptimizationScope};
use crate::progress::Progress;
use crate::resources;
use cubin::target::Target;
use cuweld::inputs::lower::{CompileOptions, LinkTimeOptimization, Scope};
use cuweld_toolkit::{Cache, Search, Setup, ToolkitCompilers, Worker};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Environment variables that do what options of the same names do.
const CACHE_VARIABLE: &str = "CUWELD_CACHE";
const LAUNCHER_VARIABLE: &str = "CUWELD_COMPILER_LAUNCHER";
/// How large a cache may become.
const CACHE_SIZE_VARIABLE: &str = "CUWELD_CACHE_SIZE";

/// The compilers of the toolkit that the arguments tell of, or of any that can be found. Called as nvlink, the program keeps nothing
/// unless it is told to.
pub fn compilers(compile: &Compile, called_as_nvlink: bool, progress: Option<&Progress>) -> ToolkitCompilers {
    let search = Search { folder: compile.toolkit.clone(), nvvm_folder: compile.nvvm_path.clone(), not_this: None };
    let (asked_cache, launcher, jobs) = (compile.cache.clone(), compile.launcher.clone(), compile.jobs);
    let observer = progress.map(Progress::observer);
    let setup = move || Setup {
        worker: Worker::this_program(),
        cache: cache(asked_cache, called_as_nvlink),
        launcher: launcher.or_else(|| variable(LAUNCHER_VARIABLE).map(PathBuf::from)),
        jobs: resources::jobs(jobs),
        observer,
    };
    ToolkitCompilers::new(search, setup)
}

/// The value of a variable of the environment, unless it is empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where results are kept, if they are.
fn cache(asked_for: Option<OsString>, called_as_nvlink: bool) -> Option<Cache> {
    let folder = match asked_for.or_else(|| variable(CACHE_VARIABLE)) {
        Some(word) if word == OsStr::new("off") => None,
        Some(folder) => std::path::absolute(folder).ok(),
        None if called_as_nvlink => None,
        None => Cache::usual_folder(),
    };
    let size = std::env::var(CACHE_SIZE_VARIABLE).ok().and_then(|text| options::size(&text));
    folder.map(|folder| Cache::new(folder, size))
}

/// How code is to be compiled.
pub fn compile_options(
    arguments: &LinkArguments,
    target: &'static Target,
    report_durations: bool,
    explain_undefined: bool,
) -> CompileOptions {
    let texts =
        |options: &[OsString]| -> Vec<String> { options.iter().map(|option| option.to_string_lossy().into_owned()).collect() };
    let (compile, roots) = (&arguments.compile, &arguments.roots);
    // The extended kind differs in what the reference's own optimizer does in parallel, and not in the result.
    let split_compile = compile.split_compile.or(compile.split_compile_extended);
    let scope = match compile.scope {
        OptimizationScope::Partial => Scope::Partial,
        _ if arguments.link.relocatable => Scope::Partial,
        OptimizationScope::Whole => Scope::Whole,
        OptimizationScope::Automatic => Scope::Automatic,
    };
    let nvvm_latest = compile.nvvm_latest.then(|| "-nvvm-latest".to_owned()).into_iter();
    CompileOptions {
        debug: arguments.link.debug && !arguments.link.suppress_debug_info,
        max_registers: compile.max_registers,
        // Blanks separate further arguments.
        assembler: texts(&compile.ptxas_options).iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        stack_protector: compile.device_stack_protector == Some(true),
        split_compile,
        fast_compile: compile.fast_compile.map(|level| level.name()),
        optimization: compile.link_time_optimization.then(|| LinkTimeOptimization {
            scope,
            emit_ptx: compile.emit_ptx,
            optimizer: texts(&compile.nvvm_options),
            library: nvvm_latest.chain(split_compile.map(|threads| format!("-split-compile={threads}"))).collect(),
            kernels_used: roots.kernels_used.clone(),
            variables_used: roots.variables_used.clone(),
            use_host_references: roots.host_info != HostInfo::Ignore,
            ..LinkTimeOptimization::new()
        }),
        report_durations,
        explain_undefined,
        ..CompileOptions::new(target)
    }
}

#[cfg(test)]
mod tests {
    use super::compile_options;
    use crate::options::{Invocation, parse};
    use cubin::target::Target;
    use std::ffi::OsString;
    use std::io;

    /// With several threads, the optimizer orders variables in another way.
    #[test]
    fn the_optimizer_is_told_of_its_threads() {
        for option in ["-split-compile=2", "-split-compile-extended=2"] {
            let words = ["-arch=sm_90", "-dlto", "-nvvmpath=folder", "a.o", "-o", "out", option].map(OsString::from);
            let invocation = parse(words.into_iter(), true, &mut |_| Err(io::ErrorKind::NotFound.into()));
            let Ok(Invocation::Link(arguments)) = invocation else { panic!("{option}: no link") };
            let options = compile_options(&arguments, Target::by_name("sm_90").expect("a target"), false, false);
            assert_eq!(options.optimization.expect("it was asked for").library, ["-split-compile=2"], "{option}");
        }
    }
}
