//! Runs compilers in parallel.
//!
//! They run in separate processes for seconds. The threads that wait for them are not those of the linker's pool: their number is that of
//! compilers that may run at once, however few processors there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the same with each item, at most `jobs` at a time. Results are in the order of the items.
pub(super) fn map<T: Sync, R: Send>(items: &[T], jobs: impl Fn() -> usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if let [] | [_] = items {
        return items.iter().map(work).collect();
    }
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((item, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).zip(results.get(index))
        } {
            let value = work(item);
            if let Ok(mut result) = result.lock() {
                *result = Some(value);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs().min(items.len()) {
            // Where there are no more threads, the others do the work.
            if thread::Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
    results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_order() {
        let items: Vec<usize> = (0..100).collect();
        for jobs in [0, 1, 2, 7, 1000] {
            assert_eq!(map(&items, || jobs, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(map(&[], || 4, |item: &usize| *item).is_empty());
    }
}
