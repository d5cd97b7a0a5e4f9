//! A number for some bytes that stays the same from release to release, because reports are kept and compared later.
//!
//! (Hashes of libraries make no such promise. Collisions gain an attacker nothing here, so it only has to be fast.)

/// A fingerprint in the making.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u64);

/// How many pieces are worked on at once: more would not fit into registers.
const LANES: usize = 4;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Fingerprint {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut fingerprint = Fingerprint(bytes.len() as u64);
        fingerprint.add_bytes(bytes);
        fingerprint
    }

    /// The fingerprints of several pieces, in their order. Each step of one waits for the one before it, and not for those of
    /// others: in parallel they take a fraction of the time.
    pub(crate) fn of_each(pieces: &[&[u8]]) -> Vec<Self> {
        let mut by_size: Vec<usize> = (0..pieces.len()).collect();
        by_size.sort_unstable_by_key(|&place| pieces[place].len());
        let mut fingerprints: Vec<Self> = pieces.iter().map(|piece| Fingerprint(piece.len() as u64)).collect();
        let (groups, rest) = by_size.as_chunks::<LANES>();
        for group in groups {
            // Those of about the same size are together, and the first is the smallest.
            let together = pieces[group[0]].len() / 8 * 8;
            let parts = group.map(|place| pieces[place].split_at(together));
            let mut lanes = group.map(|place| fingerprints[place]);
            let words = parts.map(|(start, _)| start.as_chunks::<8>().0);
            for step in 0..together / 8 {
                for (lane, words) in lanes.iter_mut().zip(&words) {
                    lane.add(u64::from_le_bytes(words[step]));
                }
            }
            for ((place, mut lane), (_, end)) in group.iter().zip(lanes).zip(parts) {
                lane.add_bytes(end);
                fingerprints[*place] = lane;
            }
        }
        rest.iter().for_each(|&place| fingerprints[place].add_bytes(pieces[place]));
        fingerprints
    }

    pub(crate) fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(MULTIPLIER);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(32));
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.add(u64::from_le_bytes(last));
    }

    /// The number; never 0, which stands for none.
    pub(crate) fn finish(mut self) -> u64 {
        self.add(MULTIPLIER);
        self.0.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn a_fingerprint_is_what_it_always_was() {
        assert_eq!(Fingerprint::of(b"").finish(), Fingerprint::of(b"").finish());
        assert_ne!(Fingerprint::of(b"").finish(), Fingerprint::of(b"\0").finish());
        let every_bit: std::collections::HashSet<u64> = (0..512u32)
            .map(|bit| {
                let mut bytes = [0; 64];
                bytes[bit as usize / 8] = 1 << (bit % 8);
                Fingerprint::of(&bytes).finish()
            })
            .collect();
        assert_eq!(every_bit.len(), 512);
    }

    #[test]
    fn pieces_side_by_side_have_the_fingerprints_that_each_has_alone() {
        let bytes: Vec<u8> = (0..=255).collect();
        let sizes = [0, 1, 7, 8, 9, 200, 256, 64, 64, 3, 100, 16, 250];
        for count in 0..=sizes.len() {
            let pieces: Vec<&[u8]> = sizes[..count].iter().map(|&size| &bytes[256 - size..]).collect();
            let alone: Vec<u64> = pieces.iter().map(|piece| Fingerprint::of(piece).finish()).collect();
            let together: Vec<u64> = Fingerprint::of_each(&pieces).into_iter().map(Fingerprint::finish).collect();
            assert_eq!(together, alone);
        }
    }
}
