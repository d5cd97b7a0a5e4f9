//! Reports on device code: kernels and functions, the resources that each needs, and the call paths that force them.
//!
//! A [`Report`] is a value. [`examine`](mod@examine) makes one of a file's bytes: a cubin, a fatbin, a host object, an archive, a
//! program or a shared library, all architectures inside. It is written as text, Markdown, JSON or one HTML page by [`render`],
//! and read back from its JSON ([`Report::from_json`]).
//!
//! The layers, lowest first:
//!
//! * [`model`]: the report itself; its JSON is a schema with a version, described in `docs/report.md`.
//! * [`blame`]: which call path forces the registers and the stack of a kernel, in time linear in the call graph.
//! * [`occupancy`]: how many warps of a kernel a multiprocessor holds, by the published limits of its architecture.
//! * [`examine`](mod@examine): from bytes to a report.
//! * [`compare`](mod@compare): which kernels changed between two reports, and because of what. [`budget`]: limits that they keep.
//! * [`render`]: from a report to what people read.
//!
//! What a file does not say is left out and never guessed: a linked kernel's own registers, before those of its callees were added,
//! and spills.

#![forbid(unsafe_code)]

pub mod blame;
pub mod budget;
pub mod compare;
pub mod examine;
mod fingerprint;
mod linked;
pub mod model;
mod names;
pub mod occupancy;
pub mod render;

pub use compare::compare;
pub use examine::{Examined, examine};
pub use linked::of_link;
pub use model::Report;
