//! A linker for CUDA device code.
//!
//! Links relocatable cubins (the output of `nvcc -rdc=true` or `ptxas -c`), as bytes, into one executable cubin, as bytes, for the driver to
//! load. Diagnostics and listings are values. The library reads and writes no files, prints nothing, and has no global state.
//!
//! Start with [`Linker`]: add inputs of any kind, and link them. Below it, [`link()`] takes device objects.
//!
//! ```
//! use cuweld::{Linker, options::Options, target::Target};
//!
//! let target = Target::by_name("sm_90").ok_or("not a target")?;
//! let mut linker = Linker::new(Options::new(target));
//! # let (kernel, scale) = (include_bytes!("../../../examples/two_units/kernel.cubin"), include_bytes!("../../../examples/two_units/scale.cubin"));
//! linker.add("kernel.cubin", kernel)?;
//! linker.add("scale.cubin", scale)?;
//! let linked = linker.link()?;
//! assert_eq!(linked.kernels()?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod account;
mod dealt_sort;
pub mod demangle;
pub mod diagnostics;
mod driver;
mod id;
pub mod imitations;
pub mod inputs;
pub mod kernels;
mod link;
mod linked;
mod linker;
pub mod observer;
pub mod options;
mod output_kind;
pub mod pattern;
mod phases;
mod propagated;
mod request;
mod sections;
mod stubs;
pub mod trace;
mod views;

pub use cubin::{release, target};
pub use linked::{Linked, Product, link};
pub use linker::{Added, LinkError, Linker};
pub use observer::Observer;
pub use phases::finalize::Finished;
pub use phases::load::{Demand, Input, LeastMemory};
pub use request::Request;
