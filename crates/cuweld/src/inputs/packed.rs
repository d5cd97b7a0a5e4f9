//! Code that is decompressed only if it is needed.
//!
//! Every link of a compiler driver names the device runtime library, few programs need it, and it is larger than most programs.

use super::open::damaged;
use crate::diagnostics::Message;
use fatbin::Entry;
use std::sync::OnceLock;

/// An object in a fatbin that is not unpacked yet.
#[derive(Clone, Debug)]
pub struct Packed<'data> {
    entry: Entry<'data>,
    /// The most that it may unpack to.
    limit: usize,
    bytes: OnceLock<Vec<u8>>,
}

impl<'data> Packed<'data> {
    pub(super) fn new(entry: Entry<'data>, limit: usize) -> Self {
        Packed { entry, limit, bytes: OnceLock::new() }
    }

    /// Unpacks it, unless that was done before. The name is for messages.
    pub(crate) fn unpack(&self, name: &str) -> Result<&[u8], Box<Message>> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let bytes = self.entry.unpack(self.limit).map_err(|error| damaged(name, &error))?;
        Ok(self.bytes.get_or_init(|| bytes.into_owned()))
    }

    /// Its contents, if it is unpacked.
    pub(crate) fn unpacked(&self) -> Option<&[u8]> {
        self.bytes.get().map(Vec::as_slice)
    }

    /// The same with contents of its own. What can not be unpacked is empty, which no object is.
    pub(super) fn into_owned(self) -> Vec<u8> {
        _ = self.unpack("");
        self.bytes.into_inner().unwrap_or_default()
    }
}
