//! The memory of the program: what happens when the language asks for a piece.

mod arena;
#[cfg(target_env = "gnu")]
#[path = "glibc.rs"]
mod pieces;
#[cfg(not(target_env = "gnu"))]
mod pieces;

pub use arena::{begin, close, has_room_for, open, use_huge_pages};
pub use pieces::{expect_large_pieces, expect_little, expect_much, touch_ahead};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The arena, and behind it the lists of pieces. When the system has no more, the program ends with an error: nothing that it could do needs no
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

// SAFETY: everything is done by the arena, the lists or the system's heap, each of which knows its own pieces, and nothing unwinds.
#[allow(unsafe_code, reason = "an interface of the standard library")]
unsafe impl GlobalAlloc for Heap {
    // Thousands of places ask for memory: what they would all repeat would make the program a tenth larger.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(memory) = arena::take(layout) {
            return memory;
        }
        or_end(match pieces::serves(layout) {
            true => pieces::take(layout.size()).map_or(ptr::null_mut(), |(memory, _)| memory),
            // SAFETY: the caller vouches for it.
            false => unsafe { System.alloc(layout) },
        })
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(memory) = arena::take_zeroed(layout) {
            return memory;
        }
        if !pieces::serves(layout) {
            // SAFETY: the caller vouches for it.
            let memory = or_end(unsafe { System.alloc_zeroed(layout) });
            pieces::in_huge_pages(memory, layout.size());
            return memory;
        }
        let (memory, is_zero) = pieces::take(layout.size()).unwrap_or((ptr::null_mut(), true));
        if !is_zero {
            // SAFETY: the piece has at least so many bytes, and nobody else has it.
            unsafe { ptr::write_bytes(memory, 0, layout.size()) };
        }
        or_end(memory)
    }

    #[inline(never)]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if arena::has(memory) {
            arena::give_back(memory, layout.size());
        } else if !KEEPS_ALL.load(Ordering::Relaxed) {
            match pieces::serves(layout) {
                true => pieces::give_back(memory, layout.size()),
                // SAFETY: the caller vouches for it.
                false => unsafe { System.dealloc(memory, layout) },
            }
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if arena::has(memory) {
            if arena::resize(memory, layout.size(), size) {
                return memory;
            }
        } else if !pieces::serves(layout) {
            // SAFETY: the caller vouches for it.
            return or_end(unsafe { System.realloc(memory, layout, size) });
        } else if let Some(memory) = pieces::resize(memory, layout.size(), size) {
            return memory;
        }
        // SAFETY: the caller vouches for the old piece and for the new size. The pieces are two, and each is as large as what is copied.
        unsafe {
            let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            ptr::copy_nonoverlapping(memory, other, layout.size().min(size));
            self.dealloc(memory, layout);
            other
        }
    }
}
