//! The heap of the library, and a reserve for when the system has no more memory.
//!
//! The language ends the process when an allocation fails, and this is somebody else's process. So what the system does not give is taken
//! from a reserve: a link comes to the end of its phase with it, and ends there with an error ([`watch`]).
//!
//! The reserve is data of the library that begins as zeros. Until it is used it is only an address.

#![allow(unsafe_code, reason = "an interface of the standard library, and memory that is handed out")]

use cuweld::observer::{Observer, Phase};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often the system had no memory.
static SHORTAGES: AtomicUsize = AtomicUsize::new(0);

/// Sees whether there is always enough memory from now on.
pub fn watch() -> Watch {
    Watch { before: SHORTAGES.load(Ordering::Relaxed) }
}

/// Ends a link where memory has run out, before its next phase.
pub struct Watch {
    before: usize,
}

impl Watch {
    /// Whether the system had no memory at some time since.
    pub fn has_seen_shortage(&self) -> bool {
        SHORTAGES.load(Ordering::Relaxed) != self.before
    }
}

impl Observer for Watch {
    fn begin(&mut self, _: Phase) -> ControlFlow<()> {
        if self.has_seen_shortage() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether the system has this much memory, the reserve aside. If not, that is a shortage.
pub fn is_there(bytes: usize) -> bool {
    let is_there = Layout::array::<u8>(bytes.max(1)).is_ok_and(|layout| {
        // SAFETY: the layout has a size, and what is given back is what was given.
        unsafe {
            let memory = std::hint::black_box(System.alloc(layout));
            if !memory.is_null() {
                System.dealloc(memory, layout);
            }
            !memory.is_null()
        }
    });
    if !is_there {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
    }
    is_there
}

/// The system's heap, and behind it the reserve.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: each piece is given back to where it is from, the system's heap or the reserve, and nothing unwinds.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller vouches for the layout.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() { RESERVE.take(layout) } else { memory }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller vouches for the layout.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if !memory.is_null() {
            return memory;
        }
        let memory = RESERVE.take(layout);
        if !memory.is_null() {
            // SAFETY: the piece has as many bytes. Some of them may have been another's.
            unsafe { ptr::write_bytes(memory, 0, layout.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match RESERVE.offset(memory) {
            Some(start) => RESERVE.give_back(start, layout.size()),
            // SAFETY: the caller vouches for the layout, and the piece is the system's.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if RESERVE.offset(memory).is_none() {
            // SAFETY: the caller vouches for layout and size, and the piece is the system's.
            let moved = unsafe { System.realloc(memory, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller vouches for the old piece and for the new size. The pieces are two, and each is as large as what is copied.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(memory, moved, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

static RESERVE: Reserve = Reserve::new();

/// Memory that is there from the start. Pieces are cut from its front. The last one can be given back, and when all are, it is whole again.
struct Reserve {
    room: UnsafeCell<Room>,
    /// How many pieces there are, and where the next one begins. In one word, there is no lock that a thread could be stopped with.
    state: AtomicU64,
}

#[repr(C, align(4096))]
struct Room([u8; Reserve::SIZE]);

// SAFETY: what is in the room belongs to whom a piece was given, and each is given once.
unsafe impl Sync for Reserve {}

impl Reserve {
    /// A phase of most links needs less.
    const SIZE: usize = 8 << 20;
    const PIECE: u64 = 1 << 32;

    const fn new() -> Self {
        Reserve { room: UnsafeCell::new(Room([0; Self::SIZE])), state: AtomicU64::new(0) }
    }

    fn room(&self) -> *mut u8 {
        self.room.get().cast()
    }

    /// Where the next piece begins.
    fn next(state: u64) -> usize {
        (state % Self::PIECE) as usize
    }

    /// Where a piece is, if it is one of the reserve's.
    fn offset(&self, memory: *mut u8) -> Option<usize> {
        let offset = memory.addr().wrapping_sub(self.room().addr());
        (offset < Self::SIZE).then_some(offset)
    }

    /// A piece, or null if there is no room.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
        let place = |state| {
            let start = Self::next(state).checked_next_multiple_of(layout.align())?;
            let end =
                start.checked_add(layout.size()).filter(|&end| end <= Self::SIZE && layout.align() <= align_of::<Room>())?;
            Some((start, end))
        };
        let taken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            place(state).map(|(_, end)| (state / Self::PIECE + 1) * Self::PIECE + end as u64)
        });
        match taken.ok().and_then(place) {
            // SAFETY: the place is in the room.
            Some((start, _)) => unsafe { self.room().add(start) },
            None => ptr::null_mut(),
        }
    }

    #[cold]
    fn give_back(&self, start: usize, size: usize) {
        _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            let (others, next) = (state / Self::PIECE - 1, Self::next(state));
            let next = match others {
                0 => 0,
                _ if start + size == next => start,
                _ => next,
            };
            Some(others * Self::PIECE + next as u64)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_ends_a_link_before_its_next_phase() -> Result<(), std::alloc::LayoutError> {
        static RESERVE: Reserve = Reserve::new();
        let mut watch = watch();
        assert!(!RESERVE.take(Layout::from_size_align(10, 1)?).is_null());
        assert!(watch.has_seen_shortage() && watch.begin(Phase::Load).is_break());
        Ok(())
    }

    #[test]
    fn the_reserve_is_whole_when_all_is_given_back() -> Result<(), std::alloc::LayoutError> {
        static RESERVE: Reserve = Reserve::new();
        let take = |size, align| Layout::from_size_align(size, align).map(|layout| RESERVE.offset(RESERVE.take(layout)));
        assert_eq!((take(10, 1)?, take(16, 16)?, take(1, 1)?), (Some(0), Some(16), Some(32)));
        // The last piece can be used again at once, others when all are back.
        RESERVE.give_back(32, 1);
        assert_eq!(take(8, 8)?, Some(32));
        RESERVE.give_back(0, 10);
        RESERVE.give_back(16, 16);
        assert_eq!(take(8, 8)?, Some(40));
        RESERVE.give_back(32, 8);
        RESERVE.give_back(40, 8);
        assert_eq!(take(Reserve::SIZE, 4096)?, Some(0));
        // There is not more, and no larger alignment.
        assert_eq!(take(1, 1)?, None);
        RESERVE.give_back(0, Reserve::SIZE);
        assert_eq!((take(Reserve::SIZE + 1, 1)?, take(1, 8192)?), (None, None));
        Ok(())
    }
}
