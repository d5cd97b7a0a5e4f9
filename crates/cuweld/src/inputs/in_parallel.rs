//! Work on many inputs at once.

use rayon::prelude::*;

/// Does the same with each item, on all threads. One item needs no threads, and starts none: inputs may come one by one.
pub(super) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match items.len() {
        0 | 1 => items.into_iter().map(work).collect(),
        _ => items.into_par_iter().map(work).collect(),
    }
}
