//! Unpacking alone: how long the cubins of a file take that a report reads, without reading them.
//!
//! Each thread has memory of its own that stays, and takes the largest cubin that is left: no report can be faster.

use fatbin::archive::{Archive, Contents};
use fatbin::entry::{EntryKind, Unpacker};
use fatbin::{Entry, HostObject, Kind, fatbins, identify};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use crate::bench::inputs::failed;

/// The most that one entry may unpack to.
const MOST: usize = 2 << 30;

/// Unpacks all cubins of a file.
pub(super) fn main(path: &Path) -> Result<bool, String> {
    let bytes = fs::read(path).map_err(failed(path))?;
    let mut waiting = Vec::new();
    find(&bytes, &mut waiting)?;
    waiting.sort_by_key(|entry| entry.unpacked_size);
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().ok()?.pop();
    let work = || {
        let (mut unpacker, mut memory) = (Unpacker::default(), Vec::new());
        while let Some(entry) = next() {
            unpacker.unpack_into(&entry, MOST, &mut memory).map_err(|error| error.to_string())?;
        }
        Ok::<(), String>(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread stopped".to_owned())?)
    })?;
    Ok(true)
}

fn find<'data>(bytes: &'data [u8], found: &mut Vec<Entry<'data>>) -> Result<(), String> {
    let words = |error: fatbin::Error| error.to_string();
    let mut take = |fatbins: fatbin::container::Fatbins<'data>| {
        for fatbin in fatbins {
            for entry in fatbin?.entries() {
                found.push(entry?);
            }
        }
        Ok::<(), fatbin::Error>(())
    };
    match identify(bytes) {
        Kind::Fatbin => take(fatbins(bytes)).map_err(words)?,
        Kind::HostElf(_) => {
            let object = HostObject::parse(bytes).map_err(words)?;
            for section in object.relocatable_code.iter().chain(&object.linked_code) {
                take(section.fatbins()).map_err(words)?;
            }
        }
        Kind::Archive => {
            for member in Archive::parse(bytes).map_err(words)?.members() {
                if let Contents::Inside(inside) = member.map_err(words)?.contents {
                    find(inside, found)?;
                }
            }
        }
        _ => {}
    }
    found.retain(|entry| entry.kind == EntryKind::Cubin);
    Ok(())
}
