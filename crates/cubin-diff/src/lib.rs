//! Compares two cubins in a linker's terms.
//!
//! Indices are what makes two linked files hard to compare: one more symbol, and every relocation after it has another
//! number. So everything is compared by name: a relocation by its symbol's name, a section by its name, the section of a
//! symbol by that section's name. A list (symbols, relocations, records) is compared as a set first and by its order
//! only when the set is the same. What is left after that is compared byte by byte.
//!
//! ```
//! # fn main() -> cubin::Result<()> {
//! # let bytes = include_bytes!("../../cubin/tests/data/kernel_75.cubin");
//! # let (left, right) = (bytes, bytes);
//! let differences = cubin_diff::compare(left, right)?;
//! assert!(differences.is_empty());
//! # Ok(())
//! # }
//! ```

use std::fmt;

use cubin::read::File;

mod bytes;
mod debug;
mod fields;
mod lists;
mod regenerated;
mod sections;
pub mod signature;
mod view;

pub use regenerated::{Regenerated, regenerated};
use view::View;

/// What part of a file a difference is in. Parts are compared in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Area {
    /// The file header.
    Header,
    /// Which sections there are, and their order.
    Sections,
    /// The header of a section.
    SectionHeader,
    /// The symbol tables.
    Symbols,
    /// Relocations.
    Relocations,
    /// Records of `.nv.info` sections.
    Info,
    /// `.nv.compat`.
    Compat,
    /// The call graph and the prototypes.
    CallGraph,
    /// Notes.
    Notes,
    /// String tables.
    Strings,
    /// Code, data and debug information.
    Contents,
    /// The program headers.
    Segments,
    /// The files as bytes.
    Bytes,
}

impl fmt::Display for Area {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Header => "header",
            Self::Sections => "sections",
            Self::SectionHeader => "section header",
            Self::Symbols => "symbols",
            Self::Relocations => "relocations",
            Self::Info => "info",
            Self::Compat => "compat",
            Self::CallGraph => "call graph",
            Self::Notes => "notes",
            Self::Strings => "strings",
            Self::Contents => "contents",
            Self::Segments => "segments",
            Self::Bytes => "bytes",
        })
    }
}

/// How something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Only the left file has it.
    OnlyLeft(String),
    /// Only the right file has it.
    OnlyRight(String),
    /// Both have it, with another value.
    Value {
        /// What has a value.
        what: String,
        /// Its value in the left file.
        left: String,
        /// Its value in the right file.
        right: String,
    },
    /// Both have the same things in another order.
    Order {
        /// Index of the first that is not the same.
        index: usize,
        /// What the left file has there.
        left: String,
        /// What the right file has there.
        right: String,
    },
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// In which part of the file.
    pub area: Area,
    /// Of what: a section, mostly; empty where the area says it all.
    pub place: String,
    /// How it differs.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.area)?;
        if !self.place.is_empty() {
            write!(out, " {}", self.place)?;
        }
        match &self.change {
            Change::OnlyLeft(what) => write!(out, ": only left: {what}"),
            Change::OnlyRight(what) => write!(out, ": only right: {what}"),
            Change::Value { what, left, right } => write!(out, ": {what}: {left} | {right}"),
            Change::Order { index, left, right } => {
                write!(out, ": another order from {index} on: {left} | {right}")
            }
        }
    }
}

/// All differences of two files, part by part. None means that the files are the same to the byte.
///
/// Fails when one of them is no cubin.
pub fn compare(left: &[u8], right: &[u8]) -> cubin::Result<Vec<Difference>> {
    let (left, right) = (File::parse(left)?, File::parse(right)?);
    Ok(compare_files(&left, &right))
}

/// All differences of two files that have been read already.
#[must_use]
pub fn compare_files(left: &File<'_>, right: &File<'_>) -> Vec<Difference> {
    if left.bytes() == right.bytes() {
        return Vec::new();
    }
    let (left, right) = (View::new(left), View::new(right));
    let mut out = Differences::default();
    fields::header(&left, &right, &mut out);
    sections::compare(&left, &right, &mut out);
    fields::segments(&left, &right, &mut out);
    out.0.sort_by_key(|difference| difference.area);
    bytes::files(&left, &right, &mut out);
    out.0
}

/// Collects differences.
#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, area: Area, place: &str, change: Change) {
        self.0.push(Difference { area, place: place.to_owned(), change });
    }

    /// Adds a difference when two values are not the same.
    fn value(&mut self, area: Area, place: &str, what: &str, left: String, right: String) {
        if left != right {
            self.add(area, place, Change::Value { what: what.to_owned(), left, right });
        }
    }
}
