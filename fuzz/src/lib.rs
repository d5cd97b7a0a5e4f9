//! What fuzz targets share: how two files and a choice of options are packed into one input.

#![forbid(unsafe_code)]

use cubin::release::{Release, Tool};
use cubin::target::Target;
use cuweld::Request;
use cuweld::imitations::Imitations;
use cuweld::inputs::{RawInput, UnpackOptions};
use cuweld::options::{Options, OutputKind};

/// Two files, and which link they are for.
///
/// | offset | field |
/// |---|---|
/// | 0 | u8 the number of the GPU: 90 for sm_90; where there is none of that number, the place in the table of targets |
/// | 1 | u8 the options, one bit each |
/// | 2 | u32 size of the first file, little endian |
/// | 6 | the first file, then the second |
///
/// `cargo xtask fuzz` packs its seeds like this.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'data> {
    target: u8,
    options: u8,
    /// The first file.
    pub first: &'data [u8],
    /// The second file.
    pub second: &'data [u8],
}

impl<'data> Pair<'data> {
    /// Takes an input apart; a size that is too large gives everything to the first file.
    pub fn new(data: &'data [u8]) -> Option<Self> {
        let (&[target, options, a, b, c, d], files) = data.split_first_chunk()?;
        let size = u32::from_le_bytes([a, b, c, d]) as usize;
        let (first, second) = files.split_at(size.min(files.len()));
        Some(Pair { target, options, first, second })
    }

    /// The files, as a link takes them.
    pub fn inputs(&self) -> [RawInput<'data>; 2] {
        [RawInput::new("a", self.first), RawInput::new("b", self.second)]
    }

    /// The target.
    pub fn target(&self) -> &'static Target {
        let all = Target::all();
        let named = all.iter().find(|target| target.number == u32::from(self.target));
        named.unwrap_or(&all[usize::from(self.target) % all.len()])
    }

    /// How the files are opened and linked.
    pub fn request(&self) -> Request {
        let unpack = UnpackOptions { limit: Some(1 << 20), leave_out_linked_modules: true, ..UnpackOptions::default() };
        Request { unpack, ..self.link_options().into() }
    }

    fn link_options(&self) -> Options {
        let newest = Release::newest().newest_build(Tool::Nvlink);
        let bit = |number: u8| self.options >> number & 1 == 1;
        Options {
            debug: bit(0),
            preserve_relocations: bit(1),
            verbose: bit(2),
            output: if bit(3) { OutputKind::Relocatable } else { OutputKind::Executable },
            extra_warnings: bit(4),
            imitations: newest.filter(|_| bit(5)).map_or(Imitations::NONE, Imitations::of),
            ..Options::new(self.target())
        }
    }
}
