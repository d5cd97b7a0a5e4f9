//! The heap of links that are too large for the arena, and of other commands, where threads wait for each other in the C library's (musl).
//!
//! Sizes are rounded up to one of a few, eight between a power of two and the next, and each has a list of pieces that were given back. A
//! piece says nothing about itself, since who gives it back knows its size. Small ones are taken from lists, and cut from a run of memory,
//! that belong to the thread; others from lists and a region that all threads share, behind a lock; the largest are the system's own.

#![allow(unsafe_code, reason = "memory that is handed out")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Every piece begins at a multiple of this, and has a multiple of it.
pub(super) const ALIGNMENT: usize = 16;
/// The largest size that a thread has a list for.
const SMALL: usize = 8 << 10;
/// So much a thread takes at once, to cut small pieces from it.
const RUN: usize = 64 << 10;
/// From this size on, a piece is one of the system's own, and given back to it.
const LARGE: usize = 4 << 20;
/// How many addresses a region has; where the system limits them, it is few.
const REGIONS: [usize; 3] = [1 << 30, 64 << 20, LARGE];

/// A list of pieces: the address of the first, which holds that of the next; 0 ends it.
type List = usize;

/// The list for a size, and what pieces on it have: of large ones, at most a ninth is lost. The largest have whole huge pages, and no list.
#[inline(always)]
const fn class(size: usize) -> (usize, usize) {
    if size > LARGE {
        return (usize::MAX, size.next_multiple_of(HUGE_PAGE));
    }
    if size <= 8 * ALIGNMENT {
        let index = size.saturating_sub(1) / ALIGNMENT;
        return (index, (index + 1) * ALIGNMENT);
    }
    let shift = (size - 1).ilog2() - 3;
    let eighth = (size - 1) >> shift;
    ((shift as usize - 4) * 8 + eighth, (eighth + 1) << shift)
}

/// The size of the pieces on a list.
const fn size_in(class: usize) -> usize {
    match class {
        0..8 => (class + 1) * ALIGNMENT,
        _ => (9 + class % 8) << (3 + class / 8),
    }
}

const SMALL_CLASSES: usize = class(SMALL).0 + 1;
const CLASSES: usize = class(LARGE).0 + 1;

/// Memory that pieces are cut from.
#[derive(Copy, Clone)]
struct Uncut {
    next: usize,
    end: usize,
}

impl Uncut {
    const NONE: Self = Uncut { next: 0, end: 0 };

    #[inline(always)]
    fn cut(&mut self, size: usize) -> Option<usize> {
        let start = self.next;
        (self.end - start >= size).then(|| {
            self.next += size;
            start
        })
    }

    /// Makes the piece larger that was cut last.
    #[inline(always)]
    fn extend(&mut self, piece: usize, old: usize, new: usize) -> bool {
        piece + old == self.next && self.cut(new - old).is_some()
    }
}

thread_local! {
    static LISTS: [Cell<List>; SMALL_CLASSES] = const { [const { Cell::new(0) }; SMALL_CLASSES] };
    static FRESH: Cell<Uncut> = const { Cell::new(Uncut::NONE) };
}

/// What threads share.
struct Region {
    lists: [List; CLASSES],
    /// Memory that was never used.
    fresh: Uncut,
    /// The rest of a piece that was given back, for runs.
    used: Uncut,
    /// Where the addresses end behind `fresh`, which are not memory yet and so count for nothing.
    end: usize,
}

static REGION: Mutex<Region> = Mutex::new(Region::EMPTY);

/// Whether memory is worth huge pages.
static IS_MUCH: AtomicBool = AtomicBool::new(false);

fn region() -> MutexGuard<'static, Region> {
    REGION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A piece, and whether it is known to be zero, since it was never used; none if there is no memory.
#[inline(always)]
pub(super) fn take(size: usize) -> Option<(*mut u8, bool)> {
    let (class, size) = class(size);
    if size > SMALL {
        return take_shared(class, size);
    }
    let listed = LISTS.with(|lists| {
        let list = lists.get(class)?;
        pop(list.get()).map(|(piece, rest)| {
            list.set(rest);
            (piece, false)
        })
    });
    listed
        .or_else(|| {
            let mut fresh = FRESH.get();
            let piece = fresh.cut(size)?;
            FRESH.set(fresh);
            Some((at(piece), false))
        })
        .or_else(|| take_from_new_run(size))
}

#[cold]
fn take_from_new_run(size: usize) -> Option<(*mut u8, bool)> {
    let start = region().cut_run()?;
    FRESH.set(Uncut { next: start + size, end: start + RUN });
    Some((at(start), false))
}

#[inline(never)]
fn take_shared(class: usize, size: usize) -> Option<(*mut u8, bool)> {
    if size > LARGE {
        return Some((at(map(size, ACCESS)?), true));
    }
    let mut region = region();
    let listed = region.lists.get_mut(class).and_then(|list| {
        pop(*list).map(|(piece, rest)| {
            *list = rest;
            piece
        })
    });
    listed.map(|piece| (piece, false)).or_else(|| region.cut(size).map(|piece| (at(piece), true)))
}

/// Takes a piece back.
#[inline(always)]
pub(super) fn give_back(piece: *mut u8, size: usize) {
    let (class, size) = class(size);
    if size > SMALL {
        return give_back_shared(piece, class, size);
    }
    LISTS.with(|lists| {
        if let Some(list) = lists.get(class) {
            list.set(push(piece, list.get()));
        }
    });
}

#[inline(never)]
fn give_back_shared(piece: *mut u8, class: usize, size: usize) {
    if size > LARGE {
        // SAFETY: this was mapped in this size, and nobody has it any more.
        _ = unsafe { libc::munmap(piece.cast(), size) };
    } else if let Some(list) = region().lists.get_mut(class) {
        *list = push(piece, *list);
    }
}

/// Makes a piece smaller or larger, if it can stay where it is or the system can move it.
#[inline(always)]
pub(super) fn resize(piece: *mut u8, old: usize, new: usize) -> Option<*mut u8> {
    let ((_, old), (_, new)) = (class(old), class(new));
    if old == new {
        return Some(piece);
    }
    if old > LARGE && new > LARGE {
        // SAFETY: this was mapped in this size, and nobody else has it.
        let moved = unsafe { libc::mremap(piece.cast(), old, new, libc::MREMAP_MAYMOVE) };
        return (moved != libc::MAP_FAILED).then(|| {
            expect_huge_pages(moved.addr(), new);
            moved.cast()
        });
    }
    let is_extended = if new < old || new > LARGE {
        false
    } else if old > SMALL {
        region().fresh.extend(piece.addr(), old, new)
    } else {
        let mut fresh = FRESH.get();
        let is_extended = new <= SMALL && fresh.extend(piece.addr(), old, new);
        FRESH.set(fresh);
        is_extended
    };
    is_extended.then_some(piece)
}

#[inline(always)]
fn at(address: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address)
}

/// The first piece of a list, and the rest.
#[inline(always)]
fn pop(list: List) -> Option<(*mut u8, List)> {
    // SAFETY: pieces on lists are nobody's, and hold the address of the next.
    (list != 0).then(|| unsafe { (at(list), at(list).cast::<List>().read()) })
}

/// A list that begins with this piece.
#[inline(always)]
fn push(piece: *mut u8, list: List) -> List {
    // SAFETY: the piece is nobody's by now, and is aligned and large enough for an address.
    unsafe { piece.cast::<List>().write(list) };
    piece.expose_provenance()
}

impl Region {
    const EMPTY: Self = Region { lists: [0; CLASSES], fresh: Uncut::NONE, used: Uncut::NONE, end: 0 };

    /// Cuts a piece of at most [`LARGE`] bytes.
    fn cut(&mut self, size: usize) -> Option<usize> {
        self.fresh.cut(size).or_else(|| {
            if self.end - self.fresh.end < LARGE {
                let reserve = |length| map(length, libc::PROT_NONE).map(|start| (start, start + length));
                let (start, end) = REGIONS.into_iter().find_map(reserve)?;
                // Small pages before the first huge one would cost more than they are worth.
                let aligned = start.next_multiple_of(HUGE_PAGE);
                let start = if IS_MUCH.load(Relaxed) && aligned + LARGE <= end { aligned } else { start };
                (self.fresh, self.end) = (Uncut { next: start, end: start }, end);
            }
            self.provide(LARGE)?;
            self.fresh.cut(size)
        })
    }

    /// Cuts a run. What a block left behind that moved as it grew is as much as the last of it: it is used before other memory is.
    fn cut_run(&mut self) -> Option<usize> {
        if self.used.end - self.used.next < RUN {
            self.used = self.largest_listed().unwrap_or(self.used);
        }
        self.used.cut(RUN).or_else(|| self.cut(RUN))
    }

    /// The largest piece on a list, if it has so many runs that what is left over is little beside them.
    fn largest_listed(&mut self) -> Option<Uncut> {
        let (class, list) = self.lists.iter_mut().enumerate().skip(class(4 * RUN).0).rfind(|(_, list)| **list != 0)?;
        let (piece, rest) = pop(*list)?;
        *list = rest;
        Some(Uncut { next: piece.addr(), end: piece.addr() + size_in(class) })
    }

    /// Makes memory of so many more addresses.
    fn provide(&mut self, size: usize) -> Option<()> {
        let start = self.fresh.end;
        if self.end - start < size {
            return None;
        }
        // SAFETY: the addresses are those of a region, and nobody was given them yet.
        let status = unsafe { libc::mprotect(at(start).cast(), size, ACCESS) };
        (status == 0).then(|| self.fresh.end += size)
    }

    /// The huge pages that the next pieces will be cut from, but for the one that is begun.
    fn ahead(&mut self, size: usize) -> (usize, usize) {
        let known = self.fresh.end - self.fresh.next;
        _ = self.provide(size.saturating_sub(known).next_multiple_of(HUGE_PAGE));
        let start = self.fresh.next.next_multiple_of(HUGE_PAGE);
        (start, size.min(self.fresh.end.saturating_sub(start)) / HUGE_PAGE * HUGE_PAGE)
    }
}

/// What memory is for.
const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Addresses of the system's.
fn map(size: usize, access: libc::c_int) -> Option<usize> {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the system chooses the place, where nothing else is.
    let start = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
    (start != libc::MAP_FAILED).then(|| {
        expect_huge_pages(start.addr(), size);
        start.expose_provenance()
    })
}

fn expect_huge_pages(start: usize, size: usize) {
    if IS_MUCH.load(Relaxed) {
        // SAFETY: the advice concerns memory of this heap, and changes no contents.
        _ = unsafe { libc::madvise(at(start).cast(), size, libc::MADV_HUGEPAGE) };
    }
}

/// Has the system provide memory in huge pages from now on. A link of ten thousand functions touches some ten thousand pages of memory for
/// the first time, and the system's work for each costs more than the linker's own work on it. In huge pages there are a few dozen; but
/// where one of them ends, more may be lost than a small link needs.
pub fn expect_much(_: usize) {
    IS_MUCH.store(true, Relaxed);
}

/// Tells that large pieces come and go, as the memory does that cubins are unpacked to.
pub fn expect_large_pieces() {
    IS_MUCH.store(true, Relaxed);
}

/// What a small link needs is little enough.
pub fn expect_little() {}

/// The C library's own pieces are few and small.
pub(super) fn in_huge_pages(_: *mut u8, _: usize) {}

/// Lets another thread touch memory that this one is about to need, so that the system does its work on it beside this one's. Without effect
/// if there is no other thread, or where the system does not offer this.
pub fn touch_ahead(size: usize) {
    if rayon::current_num_threads() < 2 || size < HUGE_PAGE {
        return;
    }
    let (start, size) = region().ahead(size);
    // SAFETY: this changes no contents, whatever is there by then; the region is never given back.
    rayon::spawn(move || _ = unsafe { libc::madvise(at(start).cast(), size, libc::MADV_POPULATE_WRITE) });
}

/// Whether this heap has a piece of this kind: others are the C library's.
#[inline(always)]
pub(super) const fn serves(layout: Layout) -> bool {
    layout.align() <= ALIGNMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_by_a_ninth_at_most() {
        let mut last = (0, ALIGNMENT);
        for size in (1..SMALL).chain([SMALL + 1, LARGE - 1, LARGE]) {
            let (class, rounded) = class(size);
            assert!(rounded >= size && rounded % ALIGNMENT == 0, "{size}");
            assert_eq!(rounded, size_in(class), "{size}");
            assert!(rounded - size <= (ALIGNMENT - 1).max(size / 8), "{size}");
            assert!(class == last.0 && rounded == last.1 || class > last.0 && rounded > last.1, "{size}");
            last = (class, rounded);
        }
    }

    #[test]
    fn pieces_are_used_again_and_stay_where_they_can() {
        for size in [1, 24, SMALL, SMALL + 1, LARGE, LARGE + 1] {
            let (first, is_zero) = take(size).expect("memory");
            // SAFETY: the piece has so many bytes.
            assert!(!is_zero || unsafe { first.add(size - 1).read() } == 0, "{size}");
            assert!(first.addr() % ALIGNMENT == 0 && resize(first, size, size) == Some(first), "{size}");
            give_back(first, size);
            let (second, is_zero) = take(size).expect("memory");
            // Other threads take what all share.
            assert!(size > SMALL || (second == first && !is_zero), "{size}");
            give_back(second, size);
        }
    }

    #[test]
    fn runs_are_cut_from_what_was_given_back() {
        let mut region = Region::EMPTY;
        for size in [2 * RUN, 9 * RUN / 2, LARGE] {
            let (piece, _) = take(size).expect("memory");
            region.lists[class(size).0] = push(piece, 0);
        }
        let mut is_used = || region.cut_run().is_some() && region.fresh.next == 0;
        // The rest of one piece and the other one are too little.
        assert!((0..LARGE / RUN + 4).all(|_| is_used()) && !is_used());
    }

    #[test]
    fn the_largest_pieces_grow_without_a_copy() {
        let (piece, _) = take(LARGE + 1).expect("memory");
        // SAFETY: the pieces have so many bytes.
        unsafe {
            piece.add(LARGE).write(7);
            let larger = resize(piece, LARGE + 1, 9 * LARGE).expect("memory");
            assert_eq!((larger.add(LARGE).read(), larger.add(9 * LARGE - 1).read()), (7, 0));
            give_back(larger, 9 * LARGE);
        }
    }
}
