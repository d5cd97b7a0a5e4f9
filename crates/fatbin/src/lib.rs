//! The containers that carry CUDA device code: fatbins, the host objects that embed them, and archives of those.
//!
//! A compiler seldom hands a linker a bare cubin. It packs code for several GPUs, as machine code, as PTX and as an
//! intermediate language, into a *fatbin*; puts the fatbin into a section of the host object; and a build system puts
//! host objects into archives. This crate opens all of these, one layer per module:
//!
//! * [`identify`](mod@identify): what some bytes are, told from the bytes alone.
//! * [`archive`]: `ar` archives, thin ones too, and their members.
//! * [`host`]: host objects: their fatbins, module ids, and what host code refers to.
//! * [`container`]: fatbins, one after another, and the entries in each.
//! * [`entry`]: one entry: kind, architecture, flags, and its payload, unpacked.
//! * [`offload`]: what clang keeps device code in.
//! * [`write`](mod@write): new fatbins, and C source with one in it.
//! * [`choose`](mod@choose): which entry of a fatbin is for a target.
//!
//! Bytes go in, borrowed views come out: nothing here touches a file system or starts a thread. Bad input gives an
//! [`Error`] that names the container, the entry or member, and the offset; it never panics, and never makes this crate
//! allocate more than the caller allows.
//!
//! ```
//! use fatbin::{choose::Choice, container::fatbins, host::HostObject};
//!
//! /// The cubin for `target` in each translation unit of a host object.
//! fn cubins(object: &[u8], target: &cubin::target::Target) -> fatbin::Result<Vec<Vec<u8>>> {
//!     let mut found = Vec::new();
//!     for section in HostObject::parse(object)?.relocatable_code {
//!         for unit in section.fatbins() {
//!             let entries = unit?.entries().collect::<fatbin::Result<Vec<_>>>()?;
//!             let described: Vec<_> = entries.iter().map(|entry| entry.description()).collect();
//!             if let Choice::Entry(index) = fatbin::choose::choose(&described, target, Default::default()) {
//!                 found.push(entries[index].unpack(1 << 30)?.into_owned());
//!             }
//!         }
//!     }
//!     Ok(found)
//! }
//! # let target = cubin::target::Target::by_name("sm_90").unwrap();
//! # assert!(cubins(b"no object", target).is_err());
//! # assert_eq!(fatbins(b"").count(), 0);
//! ```

#![forbid(unsafe_code)]

pub mod archive;
pub mod choose;
pub mod container;
pub mod entry;
mod error;
pub mod host;
pub mod identify;
mod little_endian;
pub mod offload;
pub mod write;

pub use archive::Archive;
pub use container::{Fatbin, fatbins};
pub use entry::Entry;
pub use error::{Container, Error, Item, Problem, Result};
pub use host::HostObject;
pub use identify::{Kind, identify};
