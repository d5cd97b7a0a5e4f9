//! Merge: maps input sections to output sections, and orders sections and symbols.
//!
//! The order of sections and symbols in the output is the order in which a walk over the inputs meets them first. Objects are
//! walked in link order, each in three passes: its functions, in symbol order; its other symbols, in symbol order; then the
//! sections that no symbol led to, its info records and its relocations, in section order. Nothing is sorted afterwards but
//! the section headers, and those by class only.
//!
//! Code, info and shared memory are never merged: a function keeps its own sections. Data sections of the same name are
//! appended to each other, each at its own alignment; there is no packing and no removal of single variables. Constants that
//! the compiler made for device functions move to the kernels that reach them (see [`constants`]).

mod constants;
mod cuda_12;
mod machine;
mod plan;
mod shared;
mod symbols;
mod unified;
mod walk;

pub use plan::{At, Local, Name, OutputSection, Piece, Placement, Plan};
pub use shared::{SharedPlacement, SharedVariable};
pub use walk::{Facts, merge};
