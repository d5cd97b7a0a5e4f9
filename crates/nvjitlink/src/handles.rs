//! The links that a program has created and not destroyed yet.
//!
//! A handle is a number that is never used again and never followed as a pointer, so that one which is null, made up or used up can be
//! told.

use crate::session::Session;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The links by their numbers.
pub struct Handles {
    sessions: BTreeMap<usize, Arc<Mutex<Session>>>,
    next: usize,
}

/// Numbers are far apart and odd, so that they are no addresses of anything.
const FIRST: usize = 0x5157;
const STEP: usize = 0x10;

/// What a program holds of the table of links.
pub type Held = MutexGuard<'static, Handles>;

static HANDLES: Mutex<Handles> = Mutex::new(Handles { sessions: BTreeMap::new(), next: FIRST });

fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has everyone else wait who wants a link.
pub fn hold() -> Held {
    handles()
}

impl Handles {
    /// Forgets links that another thread was busy with which is not there any more.
    pub fn forget_abandoned(&mut self) {
        self.sessions.retain(|_, session| !matches!(session.try_lock(), Err(TryLockError::WouldBlock)));
    }
}

/// Gives a link a number.
pub fn insert(session: Session) -> usize {
    let mut handles = handles();
    let number = handles.next;
    handles.next = number.wrapping_add(STEP);
    handles.sessions.insert(number, Arc::new(Mutex::new(session)));
    number
}

/// The link of a number. Functions that are called with the same one wait for each other.
pub fn find(number: usize) -> Option<Arc<Mutex<Session>>> {
    handles().sessions.get(&number).cloned()
}

/// Forgets a link. Says whether there was one.
pub fn remove(number: usize) -> bool {
    let removed = handles().sessions.remove(&number);
    removed.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_good_until_it_is_removed() {
        let number = insert(Session::create(&["-arch=sm_90".to_owned()], 0).0);
        assert!(find(number).is_some() && find(number + 1).is_none() && find(0).is_none());
        assert!(remove(number) && !remove(number) && find(number).is_none());
    }
}
