//! Names as the source has them.

use std::borrow::Cow;

/// The source's name for a mangled one; the name itself if it is not mangled.
pub fn demangle(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(name)
}
