//! Parallel work on inputs.

use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Does the same with each item, on all threads. One item needs no threads, and starts none: inputs may come one by one.
pub(super) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match items.len() {
        0 | 1 => items.into_iter().map(work).collect(),
        _ => items.into_par_iter().map(work).collect(),
    }
}

/// The same, with something that a thread keeps from one item to the next. The work must not wait for other work.
pub(super) fn map_with<T: Send, R: Send, Kept: Default + Send>(
    items: Vec<T>,
    work: impl Fn(&mut Kept, T) -> R + Send + Sync,
) -> Vec<R> {
    if items.len() < 2 {
        return items.into_iter().map(|item| work(&mut Kept::default(), item)).collect();
    }
    // What rayon would keep ends with each piece that it cuts the list into.
    let kept: Vec<Mutex<Kept>> = (0..rayon::current_num_threads()).map(|_| Mutex::default()).collect();
    let with_own = |item: T| match rayon::current_thread_index().and_then(|thread| kept.get(thread)) {
        Some(own) => work(&mut own.lock().unwrap_or_else(PoisonError::into_inner), item),
        None => work(&mut Kept::default(), item),
    };
    items.into_par_iter().map(with_own).collect()
}
