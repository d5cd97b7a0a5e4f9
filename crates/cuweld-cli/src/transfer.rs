//! Writing to a file what is in others already.
//!
//! Large tables go from the inputs to the output as they are. The system can copy them from file to file, which is faster than to map
//! them into memory page by page and to copy them from there; and some file systems only make a note that two files share them.

use crate::bytes::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// From this many bytes on, it pays to open the input once more.
const LARGE: usize = 1 << 20;

/// A file that is written, and the inputs that it may take over parts of.
pub struct Transfer<'files> {
    out: &'files mut File,
    /// Maps of inputs, by their addresses.
    maps: Vec<&'files Bytes>,
}

impl<'files> Transfer<'files> {
    /// Begins to write a file.
    pub fn new(out: &'files mut File, inputs: impl Iterator<Item = &'files Bytes>) -> Self {
        let mut maps: Vec<&Bytes> = inputs.filter(|input| input.as_ref().len() >= LARGE && input.is_mapped()).collect();
        maps.sort_unstable_by_key(|map| map.as_ref().as_ptr().addr());
        Transfer { out, maps }
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
}

impl Write for Transfer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let source = if bytes.len() >= LARGE { self.source(bytes) } else { None };
        let Some(source) = source else { return self.out.write(bytes) };
        // Less than was asked for, if the input has become shorter: the rest is looked for in the map, and is found to be gone.
        match io::copy(&mut source.take(bytes.len() as u64), self.out)? {
            0 => self.out.write(bytes),
            copied => Ok(copied as usize),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
