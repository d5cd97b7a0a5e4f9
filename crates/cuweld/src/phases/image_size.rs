//! The limit of the output's size, checked before memory is allocated for it.
//!
//! A file of a few kilobytes can claim sizes and alignments of gigabytes. Reading checks most of them against the file, but some sizes are
//! sums of others; the size of the output bounds them all.

use super::load::Inputs;
use crate::diagnostics::{Failure, Message, Report};
use crate::options::Options;

/// How many times the size of all inputs a result may have: constants are copied to every kernel that reaches them.
const GROWTH: u64 = 16;
/// What it may have beyond that.
const ROOM: u64 = 32 << 20;

/// How large a result may be.
#[derive(Copy, Clone, Debug)]
pub struct Room {
    limit: u64,
}

/// Finds how large a result of these inputs may be.
pub fn find(inputs: &Inputs<'_>, options: &Options) -> Room {
    let limit = options.largest_image.unwrap_or_else(|| {
        let given: u64 = inputs.sections().iter().map(|section| section.data.len() as u64).sum();
        given.saturating_mul(GROWTH).saturating_add(ROOM)
    });
    Room { limit }
}

impl Room {
    /// The most bytes that a result may have.
    pub fn limit(self) -> u64 {
        self.limit
    }

    /// Refuses a result, or a part of one, that is larger than is allowed.
    pub fn check(self, size: u64, report: &mut Report) -> Result<(), Failure> {
        let Room { limit } = self;
        if size > limit {
            return report.fatal(Message::TooLarge { size, limit });
        }
        Ok(())
    }
}
