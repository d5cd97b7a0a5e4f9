//! Room for the output, before there is anything to write.
//!
//! When a file is written, most of the system's time goes into finding memory for it, and little into copying bytes. That part can be
//! done by another thread while the link has not come far, and has work for one thread only.

use crate::output::Pending;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// It is not worth more: by then, other threads have better things to do.
const MOST: u64 = 8 << 20;
/// So much is made at once, and waited for at most when the file is wanted.
const BLOCK: usize = 128 << 10;

/// A file that is going to be written, in which another thread makes room meanwhile.
pub struct Room(Arc<State>);

#[derive(Default)]
struct State {
    is_wanted: AtomicBool,
    file: Mutex<Option<Pending>>,
}

impl Room {
    /// Has room made for about this many bytes. Does nothing if there is no other thread.
    pub fn begin(path: &Path, size: u64) -> Self {
        let state = Arc::new(State::default());
        if rayon::current_num_threads() > 1 {
            let (state, path) = (Arc::clone(&state), PathBuf::from(path));
            rayon::spawn(move || _ = state.make(&path, size.min(MOST)));
        }
        Room(state)
    }

    /// The file, with as much room as there is by now; none if no room was made.
    pub fn take(self) -> Option<Pending> {
        self.0.is_wanted.store(true, Ordering::Relaxed);
        self.0.file.lock().ok()?.take()
    }
}

impl State {
    /// Makes room. Whatever is wrong with the file will be found, and said, when it is written.
    fn make(&self, path: &Path, size: u64) -> Option<()> {
        let is_wanted = || self.is_wanted.load(Ordering::Relaxed);
        let mut file = self.file.lock().ok()?;
        if is_wanted() {
            return None;
        }
        let mut pending = Pending::begin_nameless(path)?;
        let zeros = vec![0; BLOCK];
        while pending.room < size && !is_wanted() {
            write_at(&pending.file, &zeros, pending.room)?;
            pending.room += BLOCK as u64;
        }
        *file = Some(pending);
        Some(())
    }
}

/// Writes without changing the place where the next bytes go.
#[cfg(unix)]
fn write_at(file: &std::fs::File, bytes: &[u8], offset: u64) -> Option<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset).ok()
}

/// Elsewhere no room is made.
#[cfg(not(unix))]
fn write_at(_: &std::fs::File, _: &[u8], _: u64) -> Option<()> {
    None
}
