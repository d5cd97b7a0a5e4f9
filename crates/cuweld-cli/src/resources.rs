//! Threads and memory of a link: one thread and little memory if it is small, all processors if it is large.

use cuweld_toolkit::Jobs;
pub use heap::keep_all;
pub use huge_pages::{expect_large_pieces, touch_ahead};
use huge_pages::{expect_little, expect_much};

/// From this many bytes of input on, huge pages save more time than memory is lost where they end.
const WORTH_HUGE_PAGES: usize = 512 << 10;
/// From this many files on, other threads save more time than it takes to start them.
pub const MANY_FILES: usize = 64;
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
    match expected.is_large() {
        true => expect_much(readers),
        false => expect_little(),
    }
    if readers > 1 {
        start(readers);
    }
    let (result, found) = read(readers);
    let threads = if readers > 1 { readers } else { found.threads(asked_for) };
    if found.is_large() && !expected.is_large() {
        expect_much(threads);
    }
    if readers == 1 {
        start(threads);
    }
    result
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
const FILES_PER_THREAD: usize = 64;

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

/// Memory in huge pages, where the C library and the system offer it.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod huge_pages {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The size of a huge page.
    const PAGE: usize = 2 << 20;

    /// Has the heap grow in few steps, and never shrink: what a small link gives back it needs again a moment later, and then the system
    /// would have to provide it once more. Without effect where the C library does not offer this.
    #[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
    pub(super) fn expect_little() {
        /// What is not used is only an address.
        const STEP: i32 = 256 << 10;
        // SAFETY: the calls take no pointers.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
            libc::mallopt(libc::M_TOP_PAD, STEP);
        }
    }

    /// From this size on, a piece of memory that [comes and goes](expect_large_pieces) is one of the system's own.
    pub(super) const LARGE_PIECE: usize = 4 << 20;

    /// Whether large pieces come and go.
    static PIECES_COME_AND_GO: AtomicBool = AtomicBool::new(false);

    /// Asks for room for everything that a large link is going to need, in one piece of huge pages. A link of ten thousand functions touches
    /// some ten thousand pages of memory for the first time, and the system's work for each costs more than the linker's own work on it. In
    /// huge pages there are a few dozen; but where one of them ends, more may be lost than a small link needs.
    ///
    /// What is not used is only an address. Other heaps would be in small pages, so there are only as many that threads do not wait for
    /// each other too often: one for two of them. Without effect where the C library or the system do not offer this.
    #[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
    pub(super) fn expect_much(threads: usize) {
        /// Some systems promise no more memory than they have; then less is asked for.
        const ROOMS: [usize; 3] = [1 << 30, 256 << 20, 64 << 20];
        // SAFETY: the calls take no pointers but the one that `malloc` returned, which is not used after `free`. The advice
        // concerns memory that is free, in whole pages inside of it, and changes no contents.
        unsafe {
            let heaps = i32::try_from(threads.div_ceil(2)).unwrap_or(i32::MAX);
            libc::mallopt(libc::M_ARENA_MAX, heaps);
            // It is never shrunk, grows in large steps, and a large table is no piece of its own.
            for (parameter, value) in [(libc::M_TRIM_THRESHOLD, -1), (libc::M_TOP_PAD, PAGE as i32), (libc::M_MMAP_MAX, 0)] {
                libc::mallopt(parameter, value);
            }
            for room in ROOMS {
                let memory = libc::malloc(room);
                if memory.is_null() {
                    continue;
                }
                let unaligned = memory.align_offset(PAGE);
                if unaligned < room {
                    libc::madvise(memory.byte_add(unaligned), (room - unaligned) / PAGE * PAGE, libc::MADV_HUGEPAGE);
                }
                libc::free(memory);
                // What lies before the first huge page stays unused: many small pages would have to be touched there.
                std::hint::black_box(libc::malloc(unaligned));
                return;
            }
        }
    }

    /// Tells the heap that large pieces come and go, as the memory does that cubins are unpacked to: they are given back to the system
    /// at once, and are huge pages, which the system provides faster. By default the heap would learn to keep them, in a heap of each
    /// thread's own, where nothing else fits. Smaller ones stay: to ask for them again takes longer. Without effect where the C library or the
    /// system do not offer this.
    #[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
    pub fn expect_large_pieces() {
        // SAFETY: the calls take no pointers.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_PIECE as i32);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * LARGE_PIECE as i32);
            // Each heap keeps as much, however many threads there are.
            libc::mallopt(libc::M_ARENA_MAX, 4);
        }
        PIECES_COME_AND_GO.store(true, Ordering::Relaxed);
    }

    /// Asks for huge pages for a large piece.
    #[cold]
    #[allow(unsafe_code, reason = "the system is told which memory is large")]
    pub(super) fn in_huge_pages(memory: *mut u8, size: usize) {
        let unaligned = memory.align_offset(PAGE);
        if PIECES_COME_AND_GO.load(Ordering::Relaxed) && unaligned < size {
            // SAFETY: the advice concerns whole pages inside of the piece, and changes no contents.
            _ = unsafe {
                libc::madvise(memory.byte_add(unaligned).cast(), (size - unaligned) / PAGE * PAGE, libc::MADV_HUGEPAGE)
            };
        }
    }

    /// Lets another thread touch memory that this one is about to need, so that the system does its work on it beside this one's. The heap
    /// is that of a [large](super::Workload::is_large) link: it gives nothing back, and takes what comes next from where it ended. Without effect if there
    /// is no other thread, or where the system does not offer this.
    #[allow(unsafe_code, reason = "the system is told which memory comes next")]
    pub fn touch_ahead(size: usize) {
        if rayon::current_num_threads() < 2 || size < PAGE {
            return;
        }
        /// More than what may have been given back meanwhile.
        const PROBE: usize = 64 << 10;
        // SAFETY: what `malloc` returned is not used after `free`; the next pieces of the heap are cut from there.
        let start = unsafe {
            let memory = std::hint::black_box(libc::malloc(PROBE));
            libc::free(memory);
            memory.addr() / PAGE * PAGE
        };
        // SAFETY: this changes no contents, whatever it is that lies there by then; the heap never shrinks.
        rayon::spawn(move || {
            _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(start), size / PAGE * PAGE, libc::MADV_POPULATE_WRITE) }
        });
    }
}

/// Elsewhere the heap is what it is, and on systems that are no Unix it is not even the program's own.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
mod huge_pages {
    #[cfg(unix)]
    pub(super) const LARGE_PIECE: usize = usize::MAX;

    pub(super) fn expect_much(_: usize) {}

    pub(super) fn expect_little() {}

    pub fn expect_large_pieces() {}

    #[cfg(unix)]
    pub(super) fn in_huge_pages(_: *mut u8, _: usize) {}

    pub fn touch_ahead(_: usize) {}
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

/// The heap of the program.
#[cfg(unix)]
mod heap {
    use super::huge_pages::{LARGE_PIECE, in_huge_pages};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The system's heap. When it has no more, the program ends with an error: nothing that it could do needs no memory.
    struct Heap;

    #[global_allocator]
    static HEAP: Heap = Heap;

    /// Whether memory is kept that is given back.
    static KEEPS_ALL: AtomicBool = AtomicBool::new(false);

    /// Keeps all memory from now on that is given back: when the program ends soon, the system takes it as a whole.
    pub fn keep_all() {
        KEEPS_ALL.store(true, Ordering::Relaxed);
    }

    /// What is given, if there is something.
    #[inline(always)]
    fn or_end(memory: *mut u8) -> *mut u8 {
        #[cold]
        #[allow(unsafe_code, reason = "writes without memory of its own")]
        fn end() -> ! {
            const MESSAGE: &[u8] = b"cuweld: error: there is not enough memory for this link\n";
            // SAFETY: the message is as long as it says, and outlives the call.
            unsafe {
                libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(1)
            }
        }
        if memory.is_null() { end() } else { memory }
    }

    // SAFETY: everything is done by the system's heap, and nothing unwinds.
    #[allow(unsafe_code, reason = "an interface of the standard library")]
    unsafe impl GlobalAlloc for Heap {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller vouches for it.
            or_end(unsafe { System.alloc(layout) })
        }

        #[inline]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller vouches for it.
            let memory = or_end(unsafe { System.alloc_zeroed(layout) });
            if layout.size() >= LARGE_PIECE {
                in_huge_pages(memory, layout.size());
            }
            memory
        }

        #[inline]
        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            if !KEEPS_ALL.load(Ordering::Relaxed) {
                // SAFETY: the caller vouches for it.
                unsafe { System.dealloc(memory, layout) }
            }
        }

        #[inline]
        unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller vouches for it.
            or_end(unsafe { System.realloc(memory, layout, size) })
        }
    }
}

/// Elsewhere the heap is the standard library's.
#[cfg(not(unix))]
mod heap {
    pub fn keep_all() {}
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
