//! A small deterministic generator of random numbers (SplitMix64).
//!
//! The programs must be the same for the same seed on every machine and for years, so the sequence is ours
//! and not that of a library which may change it.

/// The state of the generator.
pub struct Rng(u64);

impl Rng {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        // The seed is scrambled once, so that neighbouring seeds give unrelated programs.
        let mut rng = Self(seed ^ 0x6a09_e667_f3bc_c909);
        rng.next();
        rng
    }

    /// The next 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % (bound as u64).max(1)) as usize
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of a hundred calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices. The list must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// One of the choices, each with the given weight.
    pub fn weighted<T: Copy>(&mut self, choices: &[(usize, T)]) -> T {
        let total = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        for &(weight, choice) in choices {
            if left < weight {
                return choice;
            }
            left -= weight;
        }
        choices[choices.len() - 1].1
    }

    /// Puts the list into a random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut rng = Rng::new(1);
        let first: Vec<u64> = (0..3).map(|_| rng.next()).collect();
        let mut again = Rng::new(1);
        assert_eq!(first, (0..3).map(|_| again.next()).collect::<Vec<_>>());
        assert_ne!(first[0], Rng::new(2).next());
    }

    #[test]
    fn weights_of_zero_are_never_chosen() {
        let mut rng = Rng::new(7);
        assert!((0..100).all(|_| rng.weighted(&[(0, 'a'), (3, 'b')]) == 'b'));
    }

    #[test]
    fn shuffling_keeps_every_element() {
        let mut list: Vec<u32> = (0..9).collect();
        Rng::new(5).shuffle(&mut list);
        assert_ne!(list, (0..9).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..9).collect::<Vec<_>>());
    }
}
