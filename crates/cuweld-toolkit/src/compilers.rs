//! The toolkit's compilers, as the linker calls them.

use crate::{Assembler, Optimizer, Search};
use cuweld::inputs::lower::{Assembled, Assembly, CompilerError, Compilers, Optimization, Optimized};
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
        let found = self.assembler.get_or_init(|| self.search.assembler());
        found.as_ref().map_err(Clone::clone)?.assemble(assembly)
    }

    /// Makes PTX of intermediate code.
    fn optimize(&self, optimization: &Optimization<'_>) -> Result<Optimized, CompilerError> {
        let found = self.optimizer.get_or_init(|| self.search.optimizer());
        found.as_ref().map_err(Clone::clone)?.optimize(optimization)
    }
}
