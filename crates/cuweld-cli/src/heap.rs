//! The heap of a large link, in huge pages.
//!
//! A link of ten thousand functions touches some ten thousand pages of memory for the first time, and the system's work
//! for each costs more than the linker's own work on it. In huge pages there are a few dozen.

/// From this many bytes of input on it pays.
pub const WORTH_HUGE_PAGES: usize = 1 << 20;
/// From this many files on it pays, whatever their size.
pub const MANY_FILES: usize = 64;

/// Asks for room for everything that the link is going to need, in one piece of huge pages. What is not used is only an
/// address. Without effect where the C library or the system do not offer this.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#[allow(unsafe_code, reason = "the C library's allocator is told what to expect")]
pub fn expect_much() {
    /// Some systems promise no more memory than they have; then less is asked for.
    const ROOMS: [usize; 3] = [1 << 30, 256 << 20, 64 << 20];
    const PAGE: usize = 2 << 20;
    // SAFETY: the calls take no pointers but the one that `malloc` returned, which is not used after `free`. The advice
    // concerns memory that is free, in whole pages inside of it, and changes no contents.
    unsafe {
        // One heap for all threads, never shrunk, and no piece of its own for a large table.
        for (parameter, value) in [(libc::M_ARENA_MAX, 1), (libc::M_TRIM_THRESHOLD, -1), (libc::M_MMAP_MAX, 0)] {
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
            return;
        }
    }
}

/// Elsewhere the heap is what it is.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
pub fn expect_much() {}
