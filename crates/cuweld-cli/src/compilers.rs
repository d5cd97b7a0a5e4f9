//! What the command line says of how code is compiled.

use crate::options::{Compile, HostInfo, LinkArguments, OptimizationScope};
use cubin::target::Target;
use cuweld::inputs::lower::{CompileOptions, LinkTimeOptimization, Scope};
use cuweld_toolkit::{Search, ToolkitCompilers};
use std::ffi::OsString;

/// The compilers of the toolkit that the arguments tell of, or of any that can be found.
pub fn compilers(compile: &Compile) -> ToolkitCompilers {
    let search = Search { folder: compile.toolkit.clone(), nvvm_folder: compile.nvvm_path.clone(), not_this: None };
    ToolkitCompilers::new(search)
}

/// How code is to be compiled.
pub fn compile_options(arguments: &LinkArguments, target: &'static Target, report_durations: bool) -> CompileOptions {
    let texts =
        |options: &[OsString]| -> Vec<String> { options.iter().map(|option| option.to_string_lossy().into_owned()).collect() };
    let (compile, roots) = (&arguments.compile, &arguments.roots);
    let scope = match compile.scope {
        OptimizationScope::Partial => Scope::Partial,
        _ if arguments.link.relocatable => Scope::Partial,
        OptimizationScope::Whole => Scope::Whole,
        OptimizationScope::Automatic => Scope::Automatic,
    };
    CompileOptions {
        debug: arguments.link.debug && !arguments.link.suppress_debug_info,
        max_registers: compile.max_registers,
        // Blanks separate further arguments.
        assembler: texts(&compile.ptxas_options).iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        stack_protector: compile.device_stack_protector == Some(true),
        // The extended kind differs in what the reference's own optimizer does in parallel, and not in the result.
        split_compile: compile.split_compile.or(compile.split_compile_extended),
        fast_compile: compile.fast_compile.map(|level| level.name()),
        optimization: compile.link_time_optimization.then(|| LinkTimeOptimization {
            scope,
            emit_ptx: compile.emit_ptx,
            optimizer: texts(&compile.nvvm_options),
            kernels_used: roots.kernels_used.clone(),
            variables_used: roots.variables_used.clone(),
            use_host_references: roots.host_info != HostInfo::Ignore,
            ..LinkTimeOptimization::new()
        }),
        report_durations,
        ..CompileOptions::new(target)
    }
}
