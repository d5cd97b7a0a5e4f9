//! Explain: the context that people need to act on a message.
//!
//! It is computed only when a message is made, from the facts of the phases: who refers to an undefined symbol, on which path a kernel calls a
//! function, which variables fill a memory.

pub mod architecture;
pub mod clash;
pub mod memory;
pub mod near;
pub mod path;
mod prototype;
pub mod referrers;
pub mod stack;
pub mod undefined;

/// The first few of many, and how many more there are.
pub fn first_few<T>(items: impl IntoIterator<Item = T>, most: usize, show: impl FnMut(T) -> String) -> Vec<String> {
    let mut items = items.into_iter();
    let mut shown: Vec<String> = items.by_ref().take(most).map(show).collect();
    match items.count() {
        0 => {}
        more => shown.push(format!("and {more} more")),
    }
    shown
}

/// A number of bytes.
fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}
