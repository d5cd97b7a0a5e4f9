//! Intern: gives equal names of the inputs' symbols one number.
//!
//! Names are sharded by hash, and every thread has a table for its shard. Each thread looks at the hashes of all symbols and handles those
//! of its shard only, so no thread waits for another.

use super::load::{Inputs, name_hash};
use crate::id::{Id, IdRange, IdVec, InputSymbolId};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

/// The names of all symbols that are not local.
#[derive(Debug)]
pub struct Interned {
    shares: Vec<Share>,
    /// The first symbol of the same name, for all but that one.
    first: IdVec<InputSymbolId, Option<InputSymbolId>>,
}

#[derive(Debug)]
struct Share {
    /// The first symbol of each name.
    first: HashTable<InputSymbolId>,
    /// The later ones, each with the first.
    later: Vec<(InputSymbolId, InputSymbolId)>,
}

/// Finds equal names.
pub fn intern(inputs: &Inputs<'_>) -> Interned {
    // Enough room for all names that are defined, and a few that are not, so that no table has to grow.
    let definitions: usize = inputs.files().iter().map(|object| object.definitions).sum();
    let count = rayon::current_num_threads();
    let capacity = (definitions + definitions / 16) / count + 64;
    let shares = (0..count).into_par_iter().with_max_len(1).map(|share| Share::intern(inputs, share, count, capacity));
    let mut shares: Vec<Share> = shares.collect();
    let mut first = IdVec::filled(None, inputs.symbols().len());
    for (symbol, same) in shares.iter_mut().flat_map(|share| share.later.drain(..)) {
        first[symbol] = Some(same);
    }
    Interned { shares, first }
}

impl Interned {
    /// The first symbol that has the name of this one.
    pub fn first(&self, symbol: InputSymbolId) -> InputSymbolId {
        self.first[symbol].unwrap_or(symbol)
    }

    /// How many symbols, from the start of these, are each the first one of their names.
    pub fn leading_first(&self, symbols: IdRange<InputSymbolId>) -> usize {
        let first = self.first.slice(symbols);
        first.iter().position(Option::is_some).unwrap_or(first.len())
    }

    /// The first symbol that has this name.
    pub fn find(&self, inputs: &Inputs<'_>, name: &[u8]) -> Option<InputSymbolId> {
        let hash = name_hash(name);
        let is_same = |&first: &InputSymbolId| inputs.symbols()[first].name.as_bytes() == name;
        self.shares[share_of(hash, self.shares.len())].first.find(spread(hash), is_same).copied()
    }
}

impl Share {
    fn intern(inputs: &Inputs<'_>, share: usize, shares: usize, capacity: usize) -> Self {
        let (symbols, hashes) = (inputs.symbols(), inputs.name_hashes());
        let (mut first, mut later) = (HashTable::with_capacity(capacity), Vec::new());
        let mut own = [0; 1024];
        for (start, block) in (0..).step_by(own.len()).zip(hashes.as_slice().chunks(own.len())) {
            // No processor could foresee which names are in this share, so nothing branches on it: each is listed over the last one
            // that was not.
            let mut count = 0;
            for (index, &hash) in block.iter().enumerate() {
                own[count] = start + index;
                let is_local = hash == 0;
                count += usize::from(!is_local & (share_of(hash, shares) == share));
            }
            for symbol in own[..count].iter().copied().map(InputSymbolId::from_index) {
                let hash = hashes[symbol];
                let is_same = |&other: &InputSymbolId| hashes[other] == hash && symbols[other].name == symbols[symbol].name;
                match first.entry(spread(hash), is_same, |&other| spread(hashes[other])) {
                    Entry::Occupied(known) => later.push((symbol, *known.get())),
                    Entry::Vacant(place) => _ = place.insert(symbol),
                }
            }
        }
        Share { first, later }
    }
}

/// The share that a hash is in.
fn share_of(hash: u32, shares: usize) -> usize {
    ((u64::from(hash) * shares as u64) >> 32) as usize
}

/// Makes a hash of a name fit for a table, which looks at both ends of 64 bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
