//! The threads that all links of the process share.
//!
//! They are started by the first link. A process that was forked has none of its parent's threads, and starts its own.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The process that started the threads, and the threads.
type Started = Option<(u32, Arc<ThreadPool>)>;

/// What a program holds of the threads.
pub type Held = MutexGuard<'static, Started>;

static THREADS: Mutex<Started> = Mutex::new(None);

/// The most threads: links that would keep more of them busy take too little time to notice.
const MOST: usize = 16;

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
            let count = std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST));
            let builder = ThreadPoolBuilder::new().num_threads(count).thread_name(|index| format!("cuweld-{index}"));
            let pool = Arc::new(builder.build().ok()?);
            // The parent's threads are not there to be stopped.
            std::mem::forget(threads.replace((process, Arc::clone(&pool))));
            Some(pool)
        }
    }
}
