//! The whole device link in one process: host objects and archives in, one host object out that registers the linked code of all GPUs.
//!
//! This is what `nvcc -dlink` does with a linker for each GPU, a program that bundles their results, and the host's compiler.
//!
//! * [`link_each`]: the links, in parallel, over inputs that are opened once.
//! * [`Bundle`]: their results in one fatbin, and the host object around it.
//! * [`DeviceLink`]: both, from files to a file, for build scripts:
//!
//! ```no_run
//! // build.rs, after the units were compiled with `nvcc -dc`, or by the crate cc
//! fn main() -> Result<(), cuweld_device_link::Error> {
//!     cuweld_device_link::DeviceLink::new(["sm_80", "sm_90"])
//!         .input("out/libkernels.a")
//!         .to_library("kernels_device_link")
//! }
//! ```

#![forbid(unsafe_code)]

mod archive;
mod bundle;
mod files;
mod targets;

pub use bundle::{Bundle, architecture};
pub use cuweld_host_object::{Machine, Visibility};
pub use files::{DeviceLink, Error};
pub use targets::{Program, link_each};
