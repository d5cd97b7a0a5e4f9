//! The phases of a link, one file each. [`link`](crate::link) says in which order they run and why.

pub mod admission;
pub mod attributes;
pub mod callgraph;
pub mod check;
pub mod components;
pub mod early_exit;
pub mod explain;
pub mod finalize;
pub mod image_size;
pub mod info;
pub mod intern;
pub mod layout;
pub mod live;
pub mod load;
pub mod machine_debug;
pub mod merge;
pub mod names;
pub mod number;
pub mod propagate;
pub mod references;
pub mod relocate;
pub mod resolve;
pub mod stages;
pub mod strings;
pub mod unified;
pub mod usage;
