//! The entry point of the program, and its exit status.
//!
//! Ahead of `main` the language installs a handler that tells of a stack that was used up, for which it looks up where the stack ends in
//! a table that the system writes for it. That is a tenth of the time of a small link, and no input makes the stack grow. So where the C
//! library hands arguments to the language by itself, `main` is the one that the C library calls, and does the rest of the preparations.

use std::process::Termination;

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

#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
#[allow(unsafe_code, reason = "the function that the C library calls")]
mod main {
    use super::ExitCode;
    use std::io::Write;

    /// What a program ends with that has panicked.
    const PANICKED: ExitCode = ExitCode(101);

    // SAFETY: this is the name, and the type, of the function that a program begins with; nothing else is called so.
    #[unsafe(no_mangle)]
    extern "C" fn main(_: libc::c_int, _: *const *const libc::c_char) -> libc::c_int {
        crate::streams::open_closed();
        // A write to a pipe that nobody reads fails then.
        // SAFETY: the call takes no pointers.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let status = std::panic::catch_unwind(crate::begin).unwrap_or(PANICKED);
        _ = std::io::stdout().flush();
        libc::c_int::from(status.0)
    }
}
