//! The toolkit's compilers, as the linker calls them.

use crate::{Assembler, Error, Module, Optimizer, Search};
use cuweld::inputs::lower::{Assembled, Assembly, CompilerError, Compilers, OBJECT_NAME, Optimization, Optimized, PTX_NAME};
use std::sync::OnceLock;

/// Compilers that are looked for when they are needed.
#[derive(Debug)]
pub struct ToolkitCompilers {
    search: Search,
    assembler: OnceLock<Result<Assembler, CompilerError>>,
    optimizer: OnceLock<Result<Optimizer, CompilerError>>,
}

impl ToolkitCompilers {
    /// Those of the toolkit that the search finds.
    #[must_use]
    pub fn new(search: Search) -> Self {
        ToolkitCompilers { search, assembler: OnceLock::new(), optimizer: OnceLock::new() }
    }

    /// Lends them to a link.
    pub fn lend<T>(&self, link: impl FnOnce(&Compilers<'_>) -> T) -> T {
        link(&Compilers { assemble: &|assembly| self.assemble(assembly), optimize: &|optimization| self.optimize(optimization) })
    }

    /// Assembles PTX.
    fn assemble(&self, assembly: &Assembly<'_>) -> Result<Assembled, CompilerError> {
        let found = self.assembler.get_or_init(|| self.search.assembler().map_err(converted));
        let assembler = found.as_ref().map_err(Clone::clone)?;
        let assembled = assembler.assemble(assembly.text, &assembly.arguments, PTX_NAME, OBJECT_NAME).map_err(converted)?;
        Ok(Assembled { image: assembled.image, messages: assembled.messages, duration: assembled.duration })
    }

    /// Makes PTX of intermediate code.
    fn optimize(&self, optimization: &Optimization<'_>) -> Result<Optimized, CompilerError> {
        let found = self.optimizer.get_or_init(|| self.search.optimizer().map_err(converted));
        let optimizer = found.as_ref().map_err(Clone::clone)?;
        let modules: Vec<Module<'_>> = (optimization.modules.iter())
            .map(|module| Module { name: module.name, data: module.data, bare: module.bare })
            .collect();
        let optimized = optimizer.optimize(&modules, &optimization.arguments).map_err(converted)?;
        Ok(Optimized { text: optimized.text, linked: optimized.linked })
    }
}

fn converted(error: Error) -> CompilerError {
    match error {
        Error::Missing { what, places } => {
            CompilerError::Missing { what: what.into(), places: places.iter().map(ToString::to_string).collect() }
        }
        Error::Refused(text) => CompilerError::Refused(text),
        Error::Unusable(problem) => CompilerError::Unusable(problem),
    }
}
