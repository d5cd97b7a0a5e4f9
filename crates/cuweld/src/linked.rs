//! The result of a link.

use crate::diagnostics::{Failure, Message, Report};
use crate::kernels::{self, Kernel};
use crate::link::link_with;
use crate::observer::Observer;
use crate::options::Options;
use crate::phases::finalize::Finished;
use crate::phases::load::Input;
use std::io;

/// The result of a link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Linked<Image = Vec<u8>> {
    /// The file, or what was made of it.
    pub image: Image,
    /// The map, if it was asked for.
    pub map: Option<String>,
}

impl Linked {
    /// What each kernel of the image needs, in the order of its symbols.
    ///
    /// # Errors
    /// When the image is no cubin: link-time optimization may be asked for PTX instead.
    pub fn kernels(&self) -> cubin::Result<Vec<Kernel>> {
        kernels::kernels(&self.image)
    }
}

/// The file that a link makes, before it is written.
#[non_exhaustive]
pub enum Product<'link> {
    /// Sections and headers, which are built when it is written.
    Linked(&'link Finished<'link, 'link>),
    /// A file that compilers made: link-time optimization of a whole program leaves nothing to link.
    Compiled(&'link [u8]),
}

impl Product<'_> {
    /// The file as a whole.
    ///
    /// # Errors
    /// When the linker has made a mistake.
    pub fn to_vec(&self) -> cubin::Result<Vec<u8>> {
        match self {
            Product::Linked(file) => file.to_vec(),
            Product::Compiled(bytes) => Ok(bytes.to_vec()),
        }
    }

    /// Writes the file from its start to its end.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_to(&self, out: &mut (impl io::Write + Send)) -> io::Result<()> {
        match self {
            Product::Linked(file) => file.write_to(out),
            Product::Compiled(bytes) => out.write_all(bytes),
        }
    }
}

/// Links device objects. [`Linker`](crate::Linker) makes them of everything else that users have.
///
/// # Errors
/// When the inputs make no program, or the observer cancels the link.
pub fn link(
    inputs: &[Input<'_>],
    options: &Options,
    report: &mut Report,
    observer: &mut dyn Observer,
) -> Result<Linked, Failure> {
    link_with(inputs, options, report, observer, |file, report| match file.to_vec() {
        Ok(image) => Ok(image),
        Err(error) => report.fatal(Message::Internal { text: error.to_string() }),
    })
}
