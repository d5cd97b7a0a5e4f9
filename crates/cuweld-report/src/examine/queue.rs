//! Which cubin is unpacked next, and how many are at once: no more than there is room for.
//!
//! Cubins of one file differ a thousandfold in size, and unpacked they are some ten times the file. Each thread takes the largest one that
//! fits beside those that others are reading: large ones come first, one after the other, and small ones are read meanwhile. A thread keeps
//! the memory that it unpacked one to for the next: the system clears what it gives, which takes a third of the time of unpacking.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// All cubins may take this part of their sum at once,
const PART: usize = 12;
/// and this much more, so that small files keep several threads busy.
const LEAST: usize = 28 << 20;
/// A thread that holds more than this gives it back once it needs less than half of it.
const WORTH_GIVING_BACK: usize = 4 << 20;

/// The cubins that are still to be read.
pub(super) struct Queue {
    /// All room for them.
    all: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What each takes, and its number.
    waiting: BTreeSet<(usize, usize)>,
    /// The room that no thread holds.
    free: usize,
}

/// What a thread holds.
#[derive(Default)]
struct Held {
    /// The room that counts as taken,
    bytes: usize,
    /// and the memory in it.
    memory: Vec<u8>,
}

impl Queue {
    /// A queue of cubins that take so many bytes each.
    pub(super) fn new(sizes: impl Iterator<Item = usize>) -> Self {
        let waiting: BTreeSet<_> = sizes.enumerate().map(|(number, size)| (size, number)).collect();
        let total = waiting.iter().fold(0usize, |sum, &(size, _)| sum.saturating_add(size));
        let all = total / PART + LEAST;
        Queue { all, state: Mutex::new(State { waiting, free: all }), changed: Condvar::new() }
    }

    /// Works on what is left, one after the other, until nothing is; `read` is given memory to unpack to.
    pub(super) fn work(&self, mut read: impl FnMut(usize, &mut Vec<u8>)) {
        let mut held = Held::default();
        while let Some(number) = self.take(&mut held) {
            read(number, &mut held.memory);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest that there is room for, once there is.
    fn take(&self, held: &mut Held) -> Option<usize> {
        let mut state = self.state();
        loop {
            let free = state.free + held.bytes;
            let largest = state.waiting.last().copied();
            let fits = state.waiting.range(..=(free, usize::MAX)).next_back().copied();
            // One that is larger than all room is read alone.
            let Some((size, number)) = fits.or(largest.filter(|_| free == self.all)) else {
                self.hold(&mut state, held, 0);
                largest?;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.waiting.remove(&(size, number));
            if held.bytes < size || (held.bytes > WORTH_GIVING_BACK && held.bytes / 2 > size) {
                self.hold(&mut state, held, size.min(free));
            }
            return Some(number);
        }
    }

    /// Lets a thread hold so much from now on.
    fn hold(&self, state: &mut State, held: &mut Held, bytes: usize) {
        state.free = state.free + held.bytes - bytes;
        *held = Held { bytes, memory: Vec::new() };
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, LEAST, Queue};

    #[test]
    fn the_largest_that_fits_comes_next() {
        let queue = Queue::new([LEAST, LEAST / 2, 1, 2].into_iter());
        let taken = [Held::default(), Held::default(), Held::default()].map(|mut held| queue.take(&mut held));
        // A part of the sum is free beside the first, and half of that one does not fit there.
        assert_eq!(taken, [Some(0), Some(3), Some(2)]);
        assert_eq!(queue.state().waiting.iter().copied().collect::<Vec<_>>(), [(LEAST / 2, 1)]);
    }

    #[test]
    fn a_thread_keeps_its_memory_until_it_needs_much_less() {
        let queue = Queue::new([LEAST, LEAST / 2, LEAST / 4, LEAST / 2 - 1].into_iter());
        let mut held = Held::default();
        let mut sizes = Vec::new();
        while queue.take(&mut held).is_some() {
            sizes.push(held.bytes);
            assert_eq!(queue.state().free, queue.all - held.bytes);
        }
        assert_eq!(sizes, [LEAST, LEAST, LEAST / 2 - 1, LEAST / 2 - 1]);
        assert_eq!(queue.state().free, queue.all);
    }

    #[test]
    fn everything_is_read_once_whatever_its_size_and_whatever_the_number_of_threads() {
        let sizes = [0, 1, LEAST, 100 * LEAST, 200 * LEAST, usize::MAX, 5, 5];
        for threads in [1, 3] {
            let queue = Queue::new(sizes.into_iter());
            let numbers = std::sync::Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| queue.work(|number, _| numbers.lock().expect("no panic").push(number)));
                }
            });
            let mut numbers = numbers.into_inner().expect("no panic");
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }
}
