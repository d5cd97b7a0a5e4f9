//! Room for the output, before there is anything to write.
//!
//! When a file is written, most of the system's time goes into finding memory for it, and little into copying bytes. That part can be
//! done by another thread while the link has work for one thread only.

use crate::output::{Contents, Pending};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// It is not worth more: by then, other threads have better things to do.
const MOST: u64 = 8 << 20;
/// So much is made at once, and waited for at most when the file is wanted.
const BLOCK: usize = 128 << 10;

/// A file that is going to be written, in which another thread makes room meanwhile.
#[derive(Clone)]
pub struct Room(Arc<State>);

struct State {
    path: PathBuf,
    size: u64,
    is_halted: AtomicBool,
    file: Mutex<Option<Pending>>,
}

impl Room {
    /// Room for about this many bytes.
    pub fn new(path: PathBuf, size: u64) -> Self {
        Room(Arc::new(State { path, size: size.min(MOST), is_halted: AtomicBool::new(false), file: Mutex::new(None) }))
    }

    /// Has room made from now on. Does nothing if there is no other thread.
    pub fn make(&self) {
        if rayon::current_num_threads() > 1 {
            let state = Arc::clone(&self.0);
            state.is_halted.store(false, Ordering::Relaxed);
            rayon::spawn(move || _ = state.make());
        }
    }

    /// Has no more room made.
    pub fn halt(&self) {
        self.0.is_halted.store(true, Ordering::Relaxed);
    }

    /// The file, with as much room as there is by now; none if no room was made.
    pub fn take(&self) -> Option<Pending> {
        self.halt();
        self.0.file.lock().ok()?.take()
    }
}

impl State {
    /// Makes room. Whatever is wrong with the file will be found, and said, when it is written.
    fn make(&self) -> Option<()> {
        let is_halted = || self.is_halted.load(Ordering::Relaxed);
        let mut file = self.file.lock().ok()?;
        if is_halted() {
            return None;
        }
        let mut pending = file.take().or_else(|| Pending::begin_nameless(&self.path))?;
        let zeros = vec![0; BLOCK];
        if let Contents::File(new) = &pending.contents {
            while pending.room < self.size && !is_halted() {
                write_at(new, &zeros, pending.room)?;
                pending.room += BLOCK as u64;
            }
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
