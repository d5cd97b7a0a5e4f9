//! The phases of a link, one file each. [`link`](crate::link) says in which order they run and why.

pub mod attributes;
pub mod callgraph;
pub mod components;
pub mod explain;
pub mod finalize;
pub mod image_size;
pub mod info;
pub mod layout;
pub mod listing;
pub mod live;
pub mod load;
pub mod machine_debug;
pub mod merge;
pub mod number;
pub mod propagate;
pub mod reach;
pub mod references;
pub mod registers;
pub mod relocate;
pub mod reserved;
pub mod resolve;
pub mod undefined;
pub mod unified;
pub mod versions;
pub mod why_live;
