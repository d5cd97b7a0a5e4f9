//! The request for a whole link: how inputs are unpacked, compiled and linked.

use crate::inputs::UnpackOptions;
use crate::inputs::lower::CompileOptions;
use crate::options::Options;
use cubin::target::Target;

/// How inputs are opened, how code is compiled that is not machine code yet, and how all of it is linked.
#[derive(Clone, Debug)]
pub struct Request {
    /// How inputs are opened.
    pub unpack: UnpackOptions,
    /// How code is compiled.
    pub compile: CompileOptions,
    /// How it is linked.
    pub options: Options,
}

impl Request {
    /// A plain link for a target.
    #[must_use]
    pub fn new(target: &'static Target) -> Self {
        Options::new(target).into()
    }
}

impl From<Options> for Request {
    fn from(options: Options) -> Self {
        Request { unpack: UnpackOptions::default(), compile: CompileOptions::new(options.target), options }
    }
}
