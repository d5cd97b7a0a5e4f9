//! CUDA device ELF files ("cubins"): reading, writing, tables of their contents, and a text dump.
//!
//! A cubin is a little-endian 64-bit ELF file of machine 190. The ELF layer is ordinary; what is special is inside:
//! section types for memory spaces and constant banks, symbols of textures and kernels, about two hundred relocation
//! types, and small record formats that describe functions to the driver (`.nv.info`), calls to the linker
//! (`.nv.callgraph`) and tools to the reader (`.note.nv.tkinfo`).
//!
//! The layers, lowest first:
//!
//! * [`elf`]: the fixed-size ELF records, as bytes and as structs, and their constants.
//! * [`section`], [`symbol`], [`relocation`], [`info`], [`callgraph`], [`note`], [`compat`], [`fast_path`], [`target`],
//!   [`unified`]: what the numbers mean. Each is a table, one row per fact, and a small interpreter of it.
//! * [`capsule`], [`mercury`]: the code that machine code for other GPUs is made from, as far as a linker has to know it.
//! * [`read`]: a whole file, checked. [`write`](mod@write): the headers of a whole file.
//! * [`dump`]: everything in a file as text; [`printable`]: names in it, which may be made to do harm.
//!
//! Nothing here links, touches a file system, or starts a thread. Bad input gives an [`Error`] that names the section
//! and the file offset; it never panics. Values this crate does not know are carried through, never dropped.
//!
//! ```
//! fn kernels(bytes: &[u8]) -> cubin::Result<Vec<String>> {
//!     let file = cubin::read::File::parse(bytes)?;
//!     let symbols = file.symbols()?;
//!     Ok(symbols.iter().filter(|s| s.is_entry()).map(|s| s.name.to_owned()).collect())
//! }
//! assert!(kernels(b"not a cubin").is_err());
//! ```

#![forbid(unsafe_code)]

pub mod callgraph;
pub mod capsule;
pub mod compat;
pub mod dump;
pub mod elf;
mod error;
pub mod fast_path;
pub mod info;
pub mod mercury;
pub mod note;
pub mod printable;
pub mod read;
pub mod release;
pub mod relocation;
pub mod section;
pub mod symbol;
pub mod target;
pub mod unified;
pub mod write;

pub use error::{Error, Problem, Result};
