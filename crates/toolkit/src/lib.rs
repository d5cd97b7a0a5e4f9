//! The compilers of an installed CUDA toolkit, for links that need them.
//!
//! PTX and intermediate code can be turned into machine code only by NVIDIA's own tools. This crate finds them where they are
//! installed ([`Search`]) and uses what is public of them: the program `ptxas` ([`Assembler`]) and the library `libnvJitLink`
//! ([`Optimizer`]). Nothing is looked for until it is needed. [`ToolkitCompilers`] is what the linker takes.

mod assembler;
mod compilers;
mod optimizer;
mod search;

pub use assembler::{Assembled, Assembler};
pub use compilers::ToolkitCompilers;
pub use optimizer::{Module, Optimized, Optimizer};
pub use search::{Place, Search};

/// Why a tool made nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("{what} was not found")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// Where it was looked for, and why there.
        places: Vec<Place>,
    },
    /// It refused its input. What it said.
    #[error("the input was refused")]
    Refused(String),
    /// It could not be used.
    #[error("{0}")]
    Unusable(String),
}

/// The lines of a text.
fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
