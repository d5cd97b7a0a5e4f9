//! Programs that fork while other threads of theirs use the library.
//!
//! The new process has the memory of the old one and only the thread that forked: what another thread had locked would stay so for
//! ever. So that thread takes all locks of the library before, and gives them back in both processes. A link that another thread was
//! busy with is gone in the new process.

#![allow(unsafe_code, reason = "the system is told what to do before and after a fork")]

use crate::{handles, threads};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// What this thread has locked for a fork of its own.
    static LOCKS: RefCell<Option<(handles::Held, threads::Held)>> = const { RefCell::new(None) };
}

/// Is ready for forks from now on.
pub fn expect() {
    static ONCE: Once = Once::new();
    // SAFETY: the functions have the type that is asked for, and the system forgets them when the library is unloaded. If there is no
    // memory for this, forks are what they are.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) });
}

unsafe extern "C" fn before() {
    let locks = (handles::hold(), threads::hold());
    _ = LOCKS.try_with(|held| held.replace(Some(locks)));
}

unsafe extern "C" fn in_parent() {
    _ = LOCKS.try_with(RefCell::take);
}

unsafe extern "C" fn in_child() {
    if let Ok(Some((mut handles, _))) = LOCKS.try_with(RefCell::take) {
        handles.forget_abandoned();
    }
}
