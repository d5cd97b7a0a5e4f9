//! Between the operating system's strings, which need not be UTF-8, and bytes, which can be cut anywhere.

use std::ffi::{OsStr, OsString};

/// The bytes of a string; pure ASCII parts, such as an option's name, read the same on every system.
pub(super) fn bytes(text: &OsStr) -> &[u8] {
    text.as_encoded_bytes()
}

/// The string that has these bytes.
#[cfg(unix)]
pub(super) fn from_bytes(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).to_owned()
}

/// The string that has these bytes. Only Unix can hold every sequence of bytes.
#[cfg(not(unix))]
pub(super) fn from_bytes(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// For messages, where a character that is not text may be replaced.
pub(super) fn shown(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}
