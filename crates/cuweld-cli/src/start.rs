//! The entry point of the program, and its exit status.
//!
//! Ahead of `main` the language installs a handler that tells of a stack that was used up, for which it looks up where the stack ends in
//! a table that the system writes for it. That is a tenth of the time of a small link, and no input makes the stack grow. So on Linux `main`
//! is the one that the C library calls, and does the rest of the preparations.

#[cfg(not(all(target_os = "linux", not(test))))]
use std::ffi::OsString;
use std::process::Termination;

#[cfg(all(target_os = "linux", not(test)))]
pub use main::arguments;

/// What the program was called with, its name first.
#[cfg(not(all(target_os = "linux", not(test))))]
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

/// What the program ends with.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct ExitCode(u8);

impl ExitCode {
    pub const SUCCESS: Self = ExitCode(0);
    pub const FAILURE: Self = ExitCode(1);
}

impl From<u8> for ExitCode {
    fn from(status: u8) -> Self {
        ExitCode(status)
    }
}

impl Termination for ExitCode {
    fn report(self) -> std::process::ExitCode {
        self.0.into()
    }
}

#[cfg(all(target_os = "linux", not(test)))]
#[allow(unsafe_code, reason = "the function that the C library calls")]
mod main {
    use super::ExitCode;
    use std::ffi::{CStr, OsStr, OsString};
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

    /// What a program ends with that has panicked.
    const PANICKED: ExitCode = ExitCode(101);

    /// How many words the program was called with, and their addresses.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static WORDS: AtomicPtr<*const libc::c_char> = AtomicPtr::new(ptr::null_mut());

    /// What the program was called with, its name first. Not every C library tells the language, if `main` is not its own.
    pub fn arguments() -> impl Iterator<Item = OsString> {
        let words = WORDS.load(Relaxed);
        // SAFETY: there are so many words. They end with NUL, are there as long as the program, and nobody writes to them.
        let word = move |index| unsafe { CStr::from_ptr(*words.add(index)) };
        (0..COUNT.load(Relaxed)).map(move |index| OsStr::from_bytes(word(index).to_bytes()).to_owned())
    }

    // SAFETY: this is the name, and the type, of the function that a program begins with; nothing else is called so.
    #[unsafe(no_mangle)]
    extern "C" fn main(count: libc::c_int, words: *mut *const libc::c_char) -> libc::c_int {
        COUNT.store(usize::try_from(count).unwrap_or(0), Relaxed);
        WORDS.store(words, Relaxed);
        crate::streams::open_closed();
        // A write to a pipe that nobody reads fails then.
        // SAFETY: the call takes no pointers.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let status = std::panic::catch_unwind(crate::begin).unwrap_or(PANICKED);
        _ = std::io::stdout().flush();
        libc::c_int::from(status.0)
    }
}
