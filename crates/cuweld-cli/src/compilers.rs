//! The toolkit's compilers, as the linker calls them.

use crate::options::{Compile, HostInfo, LinkArguments, OptimizationScope};
use cubin::target::Target;
use cuweld::inputs::lower::{
    Assembled, Assembly, CompileOptions, CompilerError, LinkTimeOptimization, OBJECT_NAME, Optimization, PTX_NAME, Scope,
};
use std::ffi::OsString;
use std::sync::OnceLock;
use toolkit::{Assembler, Error, Module, Optimizer, Search};

/// Compilers that are looked for when they are needed.
pub struct ToolkitCompilers {
    search: Search,
    assembler: OnceLock<Result<Assembler, CompilerError>>,
    optimizer: OnceLock<Result<Optimizer, CompilerError>>,
}

impl ToolkitCompilers {
    /// Those of the toolkit that the arguments tell of, or of any that can be found.
    pub fn new(compile: &Compile) -> Self {
        let search = Search { folder: compile.toolkit.clone(), nvvm_folder: compile.nvvm_path.clone() };
        ToolkitCompilers { search, assembler: OnceLock::new(), optimizer: OnceLock::new() }
    }

    /// Assembles PTX.
    pub fn assemble(&self, assembly: &Assembly<'_>) -> Result<Assembled, CompilerError> {
        let found = self.assembler.get_or_init(|| self.search.assembler().map_err(converted));
        let assembler = found.as_ref().map_err(Clone::clone)?;
        let assembled = assembler.assemble(assembly.text, &assembly.arguments, PTX_NAME, OBJECT_NAME).map_err(converted)?;
        Ok(Assembled { image: assembled.image, messages: assembled.messages, duration: assembled.duration })
    }

    /// Makes PTX of intermediate code.
    pub fn optimize(&self, optimization: &Optimization<'_>) -> Result<Vec<u8>, CompilerError> {
        let found = self.optimizer.get_or_init(|| self.search.optimizer().map_err(converted));
        let optimizer = found.as_ref().map_err(Clone::clone)?;
        let modules: Vec<Module<'_>> = (optimization.modules.iter())
            .map(|module| Module { name: module.name, data: module.data, bare: module.bare })
            .collect();
        optimizer.optimize(&modules, &optimization.arguments).map_err(converted)
    }
}

fn converted(error: Error) -> CompilerError {
    match error {
        Error::Missing { what, places } => {
            CompilerError::Missing { what: what.into(), places: places.iter().map(ToString::to_string).collect() }
        }
        Error::Refused(lines) => CompilerError::Refused(lines),
        Error::Unusable(problem) => CompilerError::Unusable(problem),
    }
}

/// How code is to be compiled.
pub fn compile_options(arguments: &LinkArguments, target: &'static Target, report_durations: bool) -> CompileOptions {
    let texts = |options: &[OsString]| options.iter().map(|option| option.to_string_lossy().into_owned()).collect();
    let (compile, roots) = (&arguments.compile, &arguments.roots);
    let scope = match compile.scope {
        OptimizationScope::Partial => Scope::Partial,
        _ if arguments.link.relocatable => Scope::Partial,
        OptimizationScope::Whole => Scope::Whole,
        OptimizationScope::Automatic => Scope::Automatic,
    };
    CompileOptions {
        target,
        debug: arguments.link.debug && !arguments.link.suppress_debug_info,
        max_registers: compile.max_registers,
        assembler: texts(&compile.ptxas_options),
        stack_protector: compile.device_stack_protector == Some(true),
        split_compile: compile.split_compile,
        fast_compile: compile.fast_compile.map(|level| level.name()),
        optimization: compile.link_time_optimization.then(|| LinkTimeOptimization {
            scope,
            emit_ptx: compile.emit_ptx,
            optimizer: texts(&compile.nvvm_options),
            kernels_used: roots.kernels_used.clone(),
            variables_used: roots.variables_used.clone(),
            use_host_references: roots.host_info != HostInfo::Ignore,
        }),
        report_durations,
    }
}
