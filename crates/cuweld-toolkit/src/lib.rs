//! The compilers of an installed CUDA toolkit, for links that need them.
//!
//! PTX and intermediate code can be turned into machine code only by NVIDIA's own tools. This crate finds them where they are
//! installed ([`Search`]) and uses what is public of them: the program `ptxas` ([`Assembler`]) and the library `libnvJitLink`
//! ([`Optimizer`]). Nothing is looked for until it is needed. [`ToolkitCompilers`] is what the linker takes.

mod assembler;
mod compilers;
mod optimizer;
mod search;

pub use assembler::Assembler;
pub use compilers::ToolkitCompilers;
pub use optimizer::Optimizer;
pub use search::{Place, Search};

/// The lines of a text.
fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
