//! The number of compilers that run at once.

use jobserver::{Acquired, Client, HelperThread};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A limit that all compilers of a process share, and with make's jobserver all processes of a build.
pub struct Jobs {
    limit: usize,
    pool: Arc<Pool>,
    /// Asks the jobserver, if there is one.
    requests: Option<HelperThread>,
}

#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many more jobs this process may run of its own right.
    free: usize,
    /// What the jobserver granted and nobody took yet.
    granted: Vec<Acquired>,
    /// How many jobs wait.
    waiting: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one compiler.
pub(crate) struct Slot {
    pool: Arc<Pool>,
    /// What goes back to the jobserver.
    granted: Option<Acquired>,
}

impl Jobs {
    /// At most `limit` at once.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        let state = State { free: limit, ..State::default() };
        Jobs { limit, pool: Arc::new(Pool { state: Mutex::new(state), changed: Condvar::new() }), requests: None }
    }

    /// As many as a jobserver grants, and one that whoever was started by it may run in any case; at most `limit`.
    ///
    /// # Errors
    /// When no thread can be started to ask it.
    pub fn granted_by(client: Client, limit: usize) -> std::io::Result<Self> {
        let mut jobs = Jobs::new(1);
        jobs.limit = limit.max(1);
        let pool = Arc::clone(&jobs.pool);
        jobs.requests = Some(client.into_helper_thread(move |granted| {
            let mut state = pool.lock();
            // One that comes too late goes back at once.
            if let Ok(granted) = granted
                && state.waiting > state.granted.len()
            {
                state.granted.push(granted);
                pool.changed.notify_one();
            }
        })?);
        Ok(jobs)
    }

    /// The most that run at once.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Waits until one more may run.
    pub(crate) fn acquire(&self) -> Slot {
        let pool = Arc::clone(&self.pool);
        let mut state = pool.lock();
        state.waiting += 1;
        let mut asked = false;
        let granted = loop {
            if state.free > 0 {
                state.free -= 1;
                break None;
            }
            if let Some(granted) = state.granted.pop() {
                break Some(granted);
            }
            if let Some(requests) = self.requests.as_ref().filter(|_| !asked) {
                asked = true;
                requests.request_token();
            }
            state = pool.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.waiting -= 1;
        drop(state);
        Slot { pool, granted }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        match self.granted.take() {
            Some(granted) => drop(granted),
            None => {
                self.pool.lock().free += 1;
                self.pool.changed.notify_one();
            }
        }
    }
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Jobs").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// The most jobs that ran at once when 16 wanted to.
    fn most_at_once(jobs: &Jobs) -> usize {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let _slot = jobs.acquire();
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        most.into_inner()
    }

    #[test]
    fn no_more_than_the_limit_run_at_once() {
        assert_eq!(most_at_once(&Jobs::new(0)), 1);
        assert!(most_at_once(&Jobs::new(3)) <= 3);
    }

    #[test]
    fn a_jobserver_grants_one_more_than_it_has() {
        let client = Client::new(2).expect("a jobserver");
        let jobs = Jobs::granted_by(client.clone(), 16).expect("a thread");
        assert!(most_at_once(&jobs) <= 3);
        drop(jobs);
        // All that was granted is back.
        let all = [client.acquire(), client.acquire()];
        assert!(all.iter().all(Result::is_ok));
    }
}
