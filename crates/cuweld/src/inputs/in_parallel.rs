//! Work on many inputs at once.

use rayon::prelude::*;

/// Does the same with each item, on all threads. One item needs no threads, and starts none: inputs may come one by one.
pub(super) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    map_with(items, |(): &mut (), item| work(item))
}

/// The same, with something that a thread keeps from one item to the next.
pub(super) fn map_with<T: Send, R: Send, Kept: Default>(items: Vec<T>, work: impl Fn(&mut Kept, T) -> R + Send + Sync) -> Vec<R> {
    match items.len() {
        0 | 1 => items.into_iter().map(|item| work(&mut Kept::default(), item)).collect(),
        _ => items.into_par_iter().map_init(Kept::default, work).collect(),
    }
}
