//! Which cubin is unpacked next, and how many are at once: no more than there is room for.
//!
//! Cubins of one file differ a thousandfold in size, and unpacked they are some ten times the file. Each thread takes the largest one that
//! fits beside those that others are reading: large ones come first, one after the other, and small ones are read meanwhile.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// All cubins may take this part of their sum at once,
const PART: usize = 12;
/// and this much more, so that small files keep several threads busy.
const LEAST: usize = 28 << 20;

/// The cubins that are still to be read.
pub(super) struct Queue {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    /// What each takes, and its number.
    waiting: BTreeSet<(usize, usize)>,
    /// What is free of the room for them.
    room: usize,
    /// How many are being read.
    running: usize,
}

impl Queue {
    /// A queue of cubins that take so many bytes each.
    pub(super) fn new(sizes: impl Iterator<Item = usize>) -> Self {
        let waiting: BTreeSet<_> = sizes.enumerate().map(|(number, size)| (size, number)).collect();
        let total = waiting.iter().fold(0usize, |sum, &(size, _)| sum.saturating_add(size));
        Queue { state: Mutex::new(State { waiting, room: total / PART + LEAST, running: 0 }), ended: Condvar::new() }
    }

    /// Works on what is left, one after the other, until nothing is.
    pub(super) fn work(&self, mut read: impl FnMut(usize)) {
        while let Some((size, number)) = self.take() {
            read(number);
            let mut state = self.state();
            state.room = state.room.saturating_add(size);
            state.running -= 1;
            drop(state);
            self.ended.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest that there is room for, once there is.
    fn take(&self) -> Option<(usize, usize)> {
        let mut state = self.state();
        loop {
            let largest = *state.waiting.last()?;
            let fits = state.waiting.range(..=(state.room, usize::MAX)).next_back().copied();
            // One that is larger than all room is read alone.
            let alone = Some((state.room, largest.1)).filter(|_| state.running == 0);
            if let Some((size, number)) = fits.or(alone) {
                state.waiting.remove(&fits.unwrap_or(largest));
                state.room -= size;
                state.running += 1;
                return Some((size, number));
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, Queue};

    #[test]
    fn the_largest_that_fits_comes_next() {
        let queue = Queue::new([LEAST, LEAST / 2, 1, 2].into_iter());
        let taken = [queue.take(), queue.take(), queue.take()].map(|taken| taken.map(|(_, number)| number));
        // A part of the sum is free beside the first, and half of that one does not fit there.
        assert_eq!(taken, [Some(0), Some(3), Some(2)]);
        assert_eq!(queue.state().waiting.iter().copied().collect::<Vec<_>>(), [(LEAST / 2, 1)]);
    }

    #[test]
    fn everything_is_read_once_whatever_its_size_and_whatever_the_number_of_threads() {
        let sizes = [0, 1, LEAST, 100 * LEAST, 200 * LEAST, usize::MAX, 5, 5];
        for threads in [1, 3] {
            let queue = Queue::new(sizes.into_iter());
            let numbers = std::sync::Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| queue.work(|number| numbers.lock().expect("no panic").push(number)));
                }
            });
            let mut numbers = numbers.into_inner().expect("no panic");
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }
}
