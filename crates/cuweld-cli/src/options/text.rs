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

/// The string that has these bytes: in UTF-8, or else, as Windows' own tools write files, in the system's code page.
#[cfg(windows)]
pub(super) fn from_bytes(bytes: &[u8]) -> OsString {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => code_page::decode(bytes),
    }
}

/// The string that has these bytes. Only Unix can hold every sequence of bytes.
#[cfg(not(any(unix, windows)))]
pub(super) fn from_bytes(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Texts in the code page that the system is set to.
#[cfg(windows)]
#[allow(unsafe_code, reason = "the standard library knows no code pages")]
mod code_page {
    use std::ffi::OsString;
    use std::os::windows::ffi::OsStringExt;
    use std::ptr;

    const CP_ACP: u32 = 0;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn MultiByteToWideChar(page: u32, flags: u32, text: *const u8, size: i32, wide: *mut u16, room: i32) -> i32;
    }

    pub(super) fn decode(bytes: &[u8]) -> OsString {
        let Ok(size) = i32::try_from(bytes.len()) else { return OsString::new() };
        // SAFETY: the sizes are those of the two texts; without room, nothing is written and the number of characters is returned.
        let count = unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), size, ptr::null_mut(), 0) };
        let mut wide = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: as above, with room for as many characters.
        unsafe { MultiByteToWideChar(CP_ACP, 0, bytes.as_ptr(), size, wide.as_mut_ptr(), count) };
        OsString::from_wide(&wide)
    }
}

/// For messages, where a character that is not text may be replaced.
pub(super) fn shown(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}
