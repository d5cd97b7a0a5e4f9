//! The optimizer: compiles LTO-IR to PTX.

use crate::library::{Kind, Library, Made, Module, Product, Work};
use crate::worker::Worker;
use cuweld::inputs::lower::{CompilerError, Optimization, Optimized};
use std::path::Path;

/// The optimizer, which is in `libnvJitLink`.
#[derive(Debug)]
pub struct Optimizer {
    library: Library,
}

impl Optimizer {
    pub(crate) fn new(library: Library) -> Self {
        Optimizer { library }
    }

    pub(crate) fn path(&self) -> &Path {
        self.library.path()
    }

    /// Makes one PTX text of all modules.
    pub(crate) fn optimize(&self, optimization: &Optimization<'_>, worker: Option<&Worker>) -> Result<Optimized, CompilerError> {
        let modules = optimization.modules.iter().map(|module| Module {
            kind: if module.bare { Kind::Intermediate } else { Kind::Fatbin },
            name: module.name,
            data: module.data,
        });
        let work = Work { product: Product::Ptx, arguments: optimization.arguments.clone(), modules: modules.collect() };
        let Made { image, intermediate, .. } = self.library.make(&work, worker)?;
        Ok(Optimized { text: image, linked: intermediate })
    }
}
