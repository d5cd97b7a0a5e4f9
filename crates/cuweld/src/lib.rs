//! A linker for CUDA device code.
//!
//! Relocatable cubins (what `nvcc -rdc=true` or `ptxas -c` make) go in as bytes; one executable cubin that the driver loads comes
//! out as bytes, with everything there is to say about it as values. Nothing is read from or written to files, nothing is printed,
//! and there is no global state.
//!
//! [`link()`] takes device objects; [`inputs`] makes them of everything else that users have. [`link`](mod@link) is the pipeline.

#![forbid(unsafe_code)]

mod demangle;
pub mod diagnostics;
mod id;
pub mod inputs;
pub mod link;
pub mod options;
mod phases;
mod stubs;
pub mod trace;
mod views;

pub use link::{Linked, link};
pub use phases::load::{Demand, Input};
