//! The threads that all links of the process share.
//!
//! They are started by the first link. A process that was forked has none of its parent's threads, and starts its own.

use crate::memory;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

/// The process that started the threads, and the threads.
type Started = Option<(u32, Arc<ThreadPool>)>;

/// What a program holds of the threads.
pub type Held = MutexGuard<'static, Started>;

static THREADS: Mutex<Started> = Mutex::new(None);

/// The most threads: links that would keep more of them busy take too little time to notice.
const MOST: usize = 16;

/// More than a thread needs before it works, its stack aside.
const MEMORY_OF_THREAD: usize = 64 << 10;

/// Runs `work` where it can spread over threads. Where the system gives none, it runs all the same, one thing after another.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        None => {
            if rayon::current_thread_index().is_none() {
                // The calling thread becomes all there is, and stays it. If that fails, threads are started when they are needed.
                std::mem::forget(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build());
            }
            work()
        }
    }
}

/// Has everyone else wait who wants threads.
pub fn hold() -> Held {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    match &*threads {
        Some((owner, pool)) if *owner == process => Some(Arc::clone(pool)),
        _ => {
            let count = thread::available_parallelism().map_or(1, |count| count.get().min(MOST));
            // What the standard library needs for a thread it takes from the system, or the process ends.
            let watch = memory::watch();
            let start = |thread: ThreadBuilder| {
                if watch.has_seen_shortage() || !memory::is_there(MEMORY_OF_THREAD) {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                let named = thread::Builder::new().name(format!("cuweld-{}", thread.index()));
                named.spawn(|| thread.run()).map(drop)
            };
            let pool = Arc::new(ThreadPoolBuilder::new().num_threads(count).spawn_handler(start).build().ok()?);
            // Each registers what it ends with, for which the same holds: now, as there is memory now.
            pool.broadcast(|_| ());
            // The parent's threads are not there to be stopped.
            std::mem::forget(threads.replace((process, Arc::clone(&pool))));
            Some(pool)
        }
    }
}
