//! The memory of a small link: pieces are cut from the front of one block, and only the last one can be given back.
//!
//! A small link asks for a few thousand pieces and is over before it would need many of them again. To keep books on them, as a heap does,
//! took a tenth of its time. The block belongs to one thread: others, and links with several of them, use the system's heap.

use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// The size of a huge page.
const PAGE: usize = 2 << 20;
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
pub fn has_room_for(input: usize) -> bool {
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
pub fn open() {
    if END.get() == boundary() {
        END.set(block().addr() + size_of::<Block>());
    }
}

/// Opens all of it, unless that is done or it is closed, and has the system provide it in huge pages.
#[allow(unsafe_code, reason = "the system is told which memory is large")]
pub fn use_huge_pages() {
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
pub fn close() {
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
