//! The heap of links that are too large for the arena, and of other commands: that of glibc, in huge pages where the system offers them.

use std::alloc::Layout;
use std::sync::atomic::{AtomicBool, Ordering};

/// The size of a huge page.
const PAGE: usize = 2 << 20;

/// Has the heap grow in few steps, and never shrink: what a small link gives back it needs again a moment later, and then the system
/// would have to provide it once more. Without effect where the C library does not offer this.
#[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
pub fn expect_little() {
    /// What is not used is only an address.
    const STEP: i32 = 256 << 10;
    // SAFETY: the calls take no pointers.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}

/// From this size on, a piece of memory that [comes and goes](expect_large_pieces) is one of the system's own.
const LARGE_PIECE: usize = 4 << 20;

/// Whether large pieces come and go.
static PIECES_COME_AND_GO: AtomicBool = AtomicBool::new(false);

/// Asks for room for everything that a large link is going to need, in one piece of huge pages. A link of ten thousand functions touches
/// some ten thousand pages of memory for the first time, and the system's work for each costs more than the linker's own work on it. In
/// huge pages there are a few dozen; but where one of them ends, more may be lost than a small link needs.
///
/// What is not used is only an address. Other heaps would be in small pages, so there are only as many that threads do not wait for
/// each other too often: one for two of them. Without effect where the C library or the system do not offer this.
#[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
pub fn expect_much(threads: usize) {
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
#[allow(unsafe_code, reason = "the system is told which memory is large")]
pub(super) fn in_huge_pages(memory: *mut u8, size: usize) {
    if size < LARGE_PIECE {
        return;
    }
    let unaligned = memory.align_offset(PAGE);
    if PIECES_COME_AND_GO.load(Ordering::Relaxed) && unaligned < size {
        // SAFETY: the advice concerns whole pages inside of the piece, and changes no contents.
        _ = unsafe { libc::madvise(memory.byte_add(unaligned).cast(), (size - unaligned) / PAGE * PAGE, libc::MADV_HUGEPAGE) };
    }
}

/// Lets another thread touch memory that this one is about to need, so that the system does its work on it beside this one's. The heap
/// is that of a [large](crate::resources::Workload::is_large) link: it gives nothing back, and takes what comes next from where it ended. Without effect if there
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

/// Every piece is glibc's.
#[inline(always)]
pub(super) const fn serves(_: Layout) -> bool {
    false
}

pub(super) fn take(_: usize) -> Option<(*mut u8, bool)> {
    None
}

pub(super) fn give_back(_: *mut u8, _: usize) {}

pub(super) fn resize(_: *mut u8, _: usize, _: usize) -> Option<*mut u8> {
    None
}
