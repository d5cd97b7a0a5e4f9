//! Threads and memory of a link: one thread and little memory if it is small, all processors if it is large.

use cuweld_toolkit::Jobs;
pub use memory::{begin as begin_arena, expect_large_pieces, keep_all, touch_ahead};

/// From this many bytes of input on, a link on one thread touches so much memory that a huge page takes the system less time: one costs as
/// much as 25 small ones.
const WORTH_HUGE_PAGE: usize = 24 << 10;
/// From this many bytes of input on, many huge pages save more time than memory is lost where they end.
const WORTH_HUGE_PAGES: usize = 512 << 10;
/// From this many files on, other threads save more time than it takes to start them.
const MANY_FILES: usize = 128;
/// If the files are many, huge pages pay from this many bytes in each on: of small ones, little is kept.
const LARGE_FILE: usize = 16 << 10;

/// What a link has to deal with.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Workload {
    /// So many bytes.
    pub bytes: usize,
    /// In so many files.
    pub files: usize,
}

impl Workload {
    /// Whether it is worth much memory.
    pub fn is_large(self) -> bool {
        self.bytes >= WORTH_HUGE_PAGES && (self.files < MANY_FILES || self.bytes / self.files >= LARGE_FILE)
    }

    /// How many threads there are to be: as many as were asked for, or as the link is worth.
    pub fn threads(self, asked_for: Option<u32>) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        match asked_for {
            Some(threads) if threads > 0 => (threads as usize).min(MOST_PER_PROCESSOR * processors()),
            _ => match (self.bytes / BYTES_PER_THREAD).max(self.files / FILES_PER_THREAD) {
                0 => 1,
                others => processors().min(1 + others),
            },
        }
    }
}

/// Takes as much of the machine as a link is worth: before its inputs are read, by what is expected of them, and after that by what they
/// turned out to be. `read` is told how many threads there are for it.
pub fn take_while_reading<T>(expected: Workload, asked_for: Option<u32>, read: impl FnOnce(usize) -> (T, Workload)) -> T {
    let readers = expected.threads(asked_for);
    let has_much = provide(expected, readers);
    if readers > 1 {
        start(readers);
    }
    let (result, found) = read(readers);
    if readers == 1 {
        let threads = found.threads(asked_for);
        if !has_much {
            provide(found, threads);
        }
        memory::open();
        start(threads);
    }
    result
}

/// Provides memory for a link. Gives whether that is all that can be done for it.
fn provide(workload: Workload, threads: usize) -> bool {
    if threads == 1 && workload.files < MANY_FILES && memory::has_room_for(workload.bytes) {
        if workload.bytes >= WORTH_HUGE_PAGE {
            memory::use_huge_pages();
        }
        return false;
    }
    // What several threads share, or is much, is given back and used again.
    memory::close();
    match workload.is_large() {
        true => memory::expect_much(threads),
        false => memory::expect_little(),
    }
    workload.is_large()
}

/// Starts threads.
fn start(threads: usize) {
    // This thread works, too: it would only wait for the others otherwise. It does wait until they have begun, and that is good: the
    // system would let them begin only when this one has used up its time.
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global();
    // It fails if there are threads already, and there are none yet, or if the system gives none: then this one works alone.
    if pool(threads).is_err() {
        _ = pool(1);
    }
}

/// Another thread is worth while for so many more bytes,
const BYTES_PER_THREAD: usize = 2 << 20;
/// or so many more files.
const FILES_PER_THREAD: usize = MANY_FILES;

/// More threads than this for each processor do nothing but wait for each other.
const MOST_PER_PROCESSOR: usize = 8;

/// How many compilers may run at once: as many as were asked for, or as there are processors. Under make, its jobserver has a say, too.
#[allow(unsafe_code, reason = "make passes files on by their numbers")]
pub fn jobs(asked_for: Option<u32>) -> Jobs {
    let limit = match asked_for {
        Some(jobs) if jobs > 0 => jobs as usize,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    };
    // SAFETY: no file with such a number was opened by this process yet but those that it was started with: the inputs are mapped and
    // closed again, and the output has no descriptor that stays.
    let client = unsafe { cuweld_toolkit::jobserver::Client::from_env() };
    client.and_then(|client| Jobs::granted_by(client, limit).ok()).unwrap_or_else(|| Jobs::new(limit))
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod memory;

/// Elsewhere memory is the standard library's.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod memory {
    pub fn begin() {}

    pub fn open() {}

    pub fn has_room_for(_: usize) -> bool {
        false
    }

    pub fn use_huge_pages() {}

    pub fn close() {}

    pub fn expect_much(_: usize) {}

    pub fn expect_little() {}

    pub fn expect_large_pieces() {}

    pub fn touch_ahead(_: usize) {}

    pub fn keep_all() {}
}

/// Runs a function, on another thread if the stack of this one is too small for names that are nested deeply.
#[cfg(unix)]
#[allow(unsafe_code, reason = "asks the system for a limit")]
pub fn on_large_stack<T: Send>(function: fn() -> T) -> T {
    const ENOUGH: libc::rlim_t = 512 << 10;
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is there to be written.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    if is_known && limit.rlim_cur < ENOUGH {
        let result = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(4 * ENOUGH as usize).spawn_scoped(scope, function);
            thread.ok().and_then(|thread| thread.join().ok())
        });
        if let Some(result) = result {
            return result;
        }
    }
    function()
}

/// Elsewhere a stack is large enough.
#[cfg(not(unix))]
pub fn on_large_stack<T>(function: fn() -> T) -> T {
    function()
}

/// What the program prints to.
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Messages,
}

/// How many characters fit into a line of the terminal that a stream is, if it is one.
pub fn terminal_width(stream: Stream) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| terminal::width(stream)).filter(|&width| width > 0)
}

#[cfg(unix)]
mod terminal {
    use super::Stream;

    #[allow(unsafe_code, reason = "the standard library does not tell how large a terminal is")]
    pub(super) fn width(stream: Stream) -> Option<usize> {
        let descriptor = match stream {
            Stream::Output => libc::STDOUT_FILENO,
            Stream::Messages => libc::STDERR_FILENO,
        };
        // SAFETY: the structure is plain numbers, for which zero is a value, and it is the one that this request fills.
        let (status, size) = unsafe {
            let mut size: libc::winsize = std::mem::zeroed();
            (libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size), size)
        };
        (status == 0).then_some(usize::from(size.ws_col))
    }
}

#[cfg(not(unix))]
mod terminal {
    pub(super) fn width(_: super::Stream) -> Option<usize> {
        None
    }
}
