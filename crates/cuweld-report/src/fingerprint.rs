//! A number for some bytes that stays the same from release to release, because reports are kept and compared later.
//!
//! (Hashes of libraries make no such promise. Nobody gains by making two functions look alike, so speed is all that counts.)

/// A fingerprint in the making.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Fingerprint {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut fingerprint = Fingerprint(bytes.len() as u64);
        fingerprint.add_bytes(bytes);
        fingerprint
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
}
