//! Threads and memory of a link: one thread and little memory if it is small, all processors if it is large.

pub use arena::begin as begin_arena;
use cuweld_toolkit::Jobs;
pub use heap::keep_all;
pub use huge_pages::{expect_large_pieces, touch_ahead};
use huge_pages::{expect_little, expect_much};

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
        arena::open();
        start(threads);
    }
    result
}

/// Provides memory for a link. Gives whether that is all that can be done for it.
fn provide(workload: Workload, threads: usize) -> bool {
    if threads == 1 && workload.files < MANY_FILES && arena::has_room_for(workload.bytes) {
        if workload.bytes >= WORTH_HUGE_PAGE {
            arena::use_huge_pages();
        }
        return false;
    }
    // What several threads share, or is much, is given back and used again.
    arena::close();
    match workload.is_large() {
        true => expect_much(threads),
        false => expect_little(),
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

/// Memory in huge pages, where the C library and the system offer it.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod huge_pages {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The size of a huge page.
    pub(super) const PAGE: usize = 2 << 20;

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

/// The memory of a small link: pieces are cut from the front of one block, and only the last one can be given back.
///
/// A small link asks for a few thousand pieces and is over before it would need many of them again. To keep books on them, as a heap does,
/// took a tenth of its time. The block belongs to one thread: others, and links with several of them, use the system's heap.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod arena {
    use super::huge_pages::PAGE;
    use std::alloc::Layout;
    use std::cell::{Cell, UnsafeCell};
    use std::ptr;

    /// So many bytes of input need less than the arena has: a link takes some three times their size.
    const MOST_INPUT: usize = 2 << 20;
    /// How much is cut from it at most. What is never used is only an address.
    const ROOM: usize = 8 << 20;
    /// How much of that is for the time before it is known how large the link is. Of this, huge pages take nothing.
    const FIRST_ROOM: usize = 128 << 10;

    /// With enough around it for a huge page to begin behind what comes first.
    #[repr(C, align(4096))]
    struct Block(UnsafeCell<[u8; ROOM + PAGE]>);

    // SAFETY: what is in it belongs to whom a piece was given, and each is given once.
    #[allow(unsafe_code, reason = "memory that is handed out")]
    unsafe impl Sync for Block {}

    static BLOCK: Block = Block(UnsafeCell::new([0; ROOM + PAGE]));

    thread_local! {
        /// Where the next piece begins. No thread but the one that opens the arena has any room.
        static NEXT: Cell<usize> = const { Cell::new(0) };
        /// Where there is no more room.
        static END: Cell<usize> = const { Cell::new(0) };
        /// From here on, nothing was written yet.
        static CLEAN: Cell<usize> = const { Cell::new(0) };
    }

    /// Whether it has room for a link of that much input.
    pub(super) fn has_room_for(input: usize) -> bool {
        input <= MOST_INPUT
    }

    fn block() -> *mut u8 {
        BLOCK.0.get().cast()
    }

    /// Where the first huge page may begin.
    fn boundary() -> usize {
        (block().addr() + FIRST_ROOM).next_multiple_of(PAGE)
    }

    /// Opens the arena for this thread, for what comes before a link.
    pub fn begin() {
        let boundary = boundary();
        NEXT.set(boundary - FIRST_ROOM);
        CLEAN.set(boundary - FIRST_ROOM);
        END.set(boundary);
    }

    /// Opens all of it, unless it is closed.
    pub(super) fn open() {
        if END.get() == boundary() {
            END.set(block().addr() + size_of::<Block>());
        }
    }

    /// Opens all of it, unless that is done or it is closed, and has the system provide it in huge pages.
    #[allow(unsafe_code, reason = "the system is told which memory is large")]
    pub(super) fn use_huge_pages() {
        if END.get() != boundary() {
            return;
        }
        open();
        let start = boundary();
        let size = (END.get() - start) / PAGE * PAGE;
        // SAFETY: the advice concerns memory of the block that nobody was given yet, and changes no contents.
        _ = unsafe { libc::madvise(block().with_addr(start).cast(), size, libc::MADV_HUGEPAGE) };
        NEXT.set(start);
        CLEAN.set(start);
    }

    /// Cuts nothing from it any more.
    pub(super) fn close() {
        END.set(0);
    }

    /// A piece, if there is room for it.
    #[inline(always)]
    pub(super) fn take(layout: Layout) -> Option<*mut u8> {
        // Alignments are powers of two.
        let start = (NEXT.get() + layout.align() - 1) & !(layout.align() - 1);
        let end = start.checked_add(layout.size())?;
        if end > END.get() {
            return None;
        }
        NEXT.set(end);
        Some(block().with_addr(start))
    }

    /// The same, with nothing in it.
    #[allow(unsafe_code, reason = "clears memory")]
    #[inline]
    pub(super) fn take_zeroed(layout: Layout) -> Option<*mut u8> {
        let memory = take(layout)?;
        let dirty = CLEAN.get().saturating_sub(memory.addr()).min(layout.size());
        // SAFETY: the piece has at least so many bytes, and nobody else has it.
        unsafe { ptr::write_bytes(memory, 0, dirty) };
        Some(memory)
    }

    /// Whether a piece was cut from it.
    #[inline(always)]
    pub(super) fn has(memory: *mut u8) -> bool {
        memory.addr().wrapping_sub(block().addr()) < size_of::<Block>()
    }

    /// Takes a piece back, if it is the last one.
    #[inline(always)]
    pub(super) fn give_back(memory: *mut u8, size: usize) {
        let (start, end) = (memory.addr(), NEXT.get());
        if start + size == end {
            NEXT.set(start);
            CLEAN.set(CLEAN.get().max(end));
        }
    }

    /// Makes a piece smaller, or larger if it is the last one and there is room.
    #[inline(always)]
    pub(super) fn resize(memory: *mut u8, old: usize, new: usize) -> bool {
        let (start, end) = (memory.addr(), NEXT.get());
        if start + old != end {
            return new <= old;
        }
        if start + new > END.get() {
            return false;
        }
        NEXT.set(start + new);
        CLEAN.set(CLEAN.get().max(end));
        true
    }
}

/// Elsewhere everything is on the system's heap.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
mod arena {
    #[cfg(unix)]
    use std::alloc::Layout;

    pub(super) fn has_room_for(_: usize) -> bool {
        false
    }

    pub fn begin() {}

    pub(super) fn open() {}

    pub(super) fn use_huge_pages() {}

    pub(super) fn close() {}

    #[cfg(unix)]
    pub(super) fn take(_: Layout) -> Option<*mut u8> {
        None
    }

    #[cfg(unix)]
    pub(super) fn take_zeroed(_: Layout) -> Option<*mut u8> {
        None
    }

    #[cfg(unix)]
    pub(super) fn has(_: *mut u8) -> bool {
        false
    }

    #[cfg(unix)]
    pub(super) fn give_back(_: *mut u8, _: usize) {}

    #[cfg(unix)]
    pub(super) fn resize(_: *mut u8, _: usize, _: usize) -> bool {
        false
    }
}

/// The heap of the program.
#[cfg(unix)]
mod heap {
    use super::arena;
    use super::huge_pages::{LARGE_PIECE, in_huge_pages};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The arena, and behind it the system's heap. When that has no more, the program ends with an error: nothing that it could do needs no
    /// memory.
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

    // SAFETY: everything is done by the system's heap or by the arena, each of which knows its own pieces, and nothing unwinds.
    #[allow(unsafe_code, reason = "an interface of the standard library")]
    unsafe impl GlobalAlloc for Heap {
        // Thousands of places ask for memory: what they would all repeat would make the program a tenth larger.
        #[inline(never)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if let Some(memory) = arena::take(layout) {
                return memory;
            }
            // SAFETY: the caller vouches for it.
            or_end(unsafe { System.alloc(layout) })
        }

        #[inline(never)]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if let Some(memory) = arena::take_zeroed(layout) {
                return memory;
            }
            // SAFETY: the caller vouches for it.
            let memory = or_end(unsafe { System.alloc_zeroed(layout) });
            if layout.size() >= LARGE_PIECE {
                in_huge_pages(memory, layout.size());
            }
            memory
        }

        #[inline(never)]
        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            if arena::has(memory) {
                arena::give_back(memory, layout.size());
            } else if !KEEPS_ALL.load(Ordering::Relaxed) {
                // SAFETY: the caller vouches for it.
                unsafe { System.dealloc(memory, layout) }
            }
        }

        #[inline(never)]
        unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            if !arena::has(memory) {
                // SAFETY: the caller vouches for it.
                return or_end(unsafe { System.realloc(memory, layout, size) });
            }
            if arena::resize(memory, layout.size(), size) {
                return memory;
            }
            // SAFETY: the caller vouches for the old piece and for the new size. The pieces are two, and each is as large as what is copied.
            unsafe {
                let larger = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                std::ptr::copy_nonoverlapping(memory, larger, layout.size().min(size));
                larger
            }
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
