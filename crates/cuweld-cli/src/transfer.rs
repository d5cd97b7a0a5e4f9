//! Writing to a file what is in others already.
//!
//! Large tables go from the inputs to the output as they are. The system can copy them from file to file, which is faster than to map
//! them into memory page by page and to copy them from there; and some file systems only make a note that two files share them. What
//! is smaller is copied from memory, which is given back now and then: it is hardly ever looked at again.

use crate::bytes::Bytes;
use crate::output::Contents;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// From this many bytes on, it pays to open the input once more.
const LARGE: usize = 1 << 20;

/// After this many bytes, the memory of inputs is given back.
const NOW_AND_THEN: usize = 12 << 20;
/// For each input there have to be so many: to give back memory takes a call for each.
const FOR_EACH: usize = 4 << 10;

/// A file that is written, and the inputs that it may take over parts of.
pub struct Transfer<'files> {
    out: &'files mut Contents,
    /// Maps of inputs, by their addresses.
    maps: Vec<&'files Bytes>,
    unforgotten: usize,
}

impl<'files> Transfer<'files> {
    /// Begins to write a file.
    pub fn new(out: &'files mut Contents, inputs: impl Iterator<Item = &'files Bytes>) -> Self {
        let mut maps: Vec<&Bytes> = inputs.filter(|input| input.is_mapped()).collect();
        maps.sort_unstable_by_key(|map| map.as_ref().as_ptr().addr());
        Transfer { out, maps, unforgotten: 0 }
    }

    /// The file that bytes are a part of, at their start.
    fn source(&self, bytes: &[u8]) -> Option<File> {
        let start = bytes.as_ptr().addr();
        let behind = self.maps.partition_point(|map| map.as_ref().as_ptr().addr() <= start);
        let map = self.maps.get(behind.checked_sub(1)?)?;
        let offset = start - map.as_ref().as_ptr().addr();
        map.as_ref().get(offset..offset.checked_add(bytes.len())?)?;
        let mut file = map.reopen()?;
        file.seek(SeekFrom::Start(offset as u64)).ok()?;
        Some(file)
    }

    /// Writes bytes from memory.
    fn write_from_memory(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.unforgotten += written;
        if self.unforgotten >= NOW_AND_THEN.max(FOR_EACH * self.maps.len()) {
            self.unforgotten = 0;
            self.maps.iter().for_each(|map| map.forget());
        }
        Ok(written)
    }
}

impl Write for Transfer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let source = if bytes.len() >= LARGE { self.source(bytes) } else { None };
        let Some(source) = source else { return self.write_from_memory(bytes) };
        // Less than was asked for, if the input has become shorter: the rest is looked for in the map, and is found to be gone.
        match self.out.copy(&mut source.take(bytes.len() as u64))? {
            0 => self.write_from_memory(bytes),
            copied => Ok(copied as usize),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
