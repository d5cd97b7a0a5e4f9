//! Everything in a cubin as text.

use crate::read::File;

/// Everything in a file as text.
#[must_use]
pub fn dump(file: &File<'_>) -> String {
    format!("{:?}", file.header())
}
