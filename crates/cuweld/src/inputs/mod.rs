//! Inputs: opens containers, chooses the code for the target, and compiles what is not machine code.
//!
//! [`link`](crate::link()) takes relocatable device objects. Users have host objects, archives, fatbins and PTX. [`Linker`](crate::Linker)
//! converts them in two steps, both without files or processes:
//!
//! * unpacking: open every container, choose the code for the target in each, decompress it;
//! * [lowering](lower): compile PTX and LTO-IR, with compilers that the caller passes in.
//!
//! Inputs are identified by their contents, never by their names.

pub(crate) mod elsewhere;
mod host_info;
mod in_parallel;
mod joined;
pub mod lower;
mod open;
mod packed;
mod unpack;

pub(crate) use host_info::HostReferences;
pub use open::{HostEntries, OpenInputs};
pub use packed::Packed;
pub use unpack::nothing_to_link;

use crate::phases::load::Demand;
use fatbin::{Kind, identify};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A file, or a member of an archive that the caller has opened.
#[derive(Clone, Debug)]
pub struct RawInput<'data> {
    /// The name that messages use.
    pub name: Cow<'data, str>,
    /// Its absolute path: what an object that names no module is registered as.
    pub path: Cow<'data, str>,
    /// Its contents.
    pub bytes: &'data [u8],
    /// What they are.
    pub kind: Kind,
    /// Whether it is a member of an archive. Of those, the ones without code for the target are passed over in silence.
    pub member: bool,
    /// Whether it takes part in any case.
    pub demand: Demand,
}

impl<'data> RawInput<'data> {
    /// A file that takes part in any case.
    pub fn new(name: impl Into<Cow<'data, str>>, bytes: &'data [u8]) -> Self {
        let name = name.into();
        RawInput { path: name.clone(), name, bytes, kind: identify(bytes), member: false, demand: Demand::Always }
    }
}

/// How inputs are opened.
#[derive(Clone, Debug)]
pub struct UnpackOptions {
    /// The most that all inputs together may unpack to, in bytes; by default, a multiple of their own size.
    pub limit: Option<u64>,
    /// What to do with files that are nothing known.
    pub unknown: Unknown,
    /// Warn about objects that have no code for the target.
    pub warn_of_missing_code: bool,
    /// Leave out the modules that the output of a device link among the inputs names as its own: where that file registers them with
    /// the runtime (`--register-link-binaries`), they must not be registered a second time. Otherwise they are linked.
    pub leave_out_linked_modules: bool,
    /// Call objects that are a compiler driver's temporary files by the source that they were compiled from.
    pub name_by_source: bool,
}

impl Default for UnpackOptions {
    fn default() -> Self {
        UnpackOptions {
            limit: None,
            unknown: Unknown::Refuse,
            warn_of_missing_code: true,
            leave_out_linked_modules: false,
            name_by_source: false,
        }
    }
}

/// What to do with files that are nothing known.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unknown {
    /// Refuse them.
    Refuse,
    /// What the reference linker does, which goes by the name: some are refused, most are passed over.
    ByName,
}

/// What the inputs hold for the target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unpacked<'data> {
    /// The code, in link order.
    pub units: Vec<Unit<'data>>,
    /// The modules that the host's part of the program registers, in link order.
    pub modules: Vec<Module>,
    /// What host code refers to.
    pub host_references: HostReferences,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
}

/// The code of one translation unit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unit<'data> {
    /// The name that messages use: a file, or an archive and its member.
    pub name: Cow<'data, str>,
    /// The code.
    pub code: Code<'data>,
    /// Whether it takes part in any case.
    pub demand: Demand,
}

impl Unit<'_> {
    /// The same with contents of its own.
    pub fn into_owned(self) -> Unit<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        let code = match self.code {
            Code::Cubin(bytes) => Code::Cubin(owned(bytes)),
            Code::Packed(packed) => Code::Cubin(Cow::Owned(packed.into_owned())),
            Code::Ptx { text, options } => Code::Ptx { text: owned(text), options },
            Code::LtoIr { data, bare, options } => Code::LtoIr { data: owned(data), bare, options },
        };
        Unit { name: Cow::Owned(self.name.into_owned()), code, demand: self.demand }
    }
}

/// Code for the target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Code<'data> {
    /// An object.
    Cubin(Cow<'data, [u8]>),
    /// An object that is unpacked only if it is needed.
    Packed(Box<Packed<'data>>),
    /// PTX, and the options it is to be compiled with.
    Ptx {
        /// The text, without the NUL that may end it.
        text: Cow<'data, [u8]>,
        /// Options, as the assembler takes them, separated by blanks.
        options: String,
    },
    /// Intermediate code for link-time optimization, and the options it was compiled with.
    LtoIr {
        /// The code: bare, or alone in a fatbin.
        data: Cow<'data, [u8]>,
        /// Whether it is bare.
        bare: bool,
        /// Options, separated by blanks.
        options: String,
    },
}

/// A module that the host's part of the program registers.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Module {
    /// Its id: part of the name of a function.
    pub id: String,
    /// Whether its code takes part in any case.
    pub demand: Demand,
    /// Whether host code registers it, as that of a host object does.
    pub registers: bool,
    /// Its units.
    pub units: Range<usize>,
}

/// An input that was passed over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: Why,
}

/// Why an input was passed over.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It is a file of a kind that holds nothing to link.
    Kind(Kind),
    /// A host object without device code.
    NoDeviceCode,
    /// Its device code is for clang, which links it by itself.
    ForClang,
    /// Its device code is linked already: it was not compiled to be linked (`-rdc=true`), or it is the output of a device link.
    LinkedAlready,
    /// Another input is the output of a device link that had this one among its inputs.
    PartOf(String),
    /// A host object that does not register its device code, so that the program could not use it.
    NotRegistered,
    /// A member of an archive that has no code for the target, and what it has instead.
    NoCodeForTarget(String),
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Kind(kind) => write!(out, "it is {kind}"),
            Why::NoDeviceCode => out.write_str("it has no device code"),
            Why::ForClang => {
                out.write_str("its device code is in '.llvm.offloading', from where only clang links and registers it")
            }
            Why::LinkedAlready => {
                out.write_str("its device code is linked already, or was not compiled to be linked (-rdc=true)")
            }
            Why::PartOf(other) => write!(out, "'{other}' contains it, linked"),
            Why::NotRegistered => out.write_str("it does not register its device code"),
            Why::NoCodeForTarget(found) => write!(out, "it has no code for the target, only {found}"),
        }
    }
}

impl<'data> Unpacked<'data> {
    /// Adds what other inputs hold.
    pub fn append(&mut self, others: Unpacked<'data>) {
        let first = self.units.len();
        let renumber = |module: Module| Module { units: module.units.start + first..module.units.end + first, ..module };
        self.modules.extend(others.modules.into_iter().map(renumber));
        self.units.extend(others.units);
        self.host_references.merge(others.host_references);
        self.skipped.extend(others.skipped);
    }

    /// Removes the units that `keep` refuses.
    pub fn retain_units(&mut self, mut keep: impl FnMut(&mut Unit<'data>) -> bool) {
        let mut kept = vec![0];
        self.units.retain_mut(|unit| {
            let is_kept = keep(unit);
            kept.push(kept.last().map_or(0, |kept| kept + usize::from(is_kept)));
            is_kept
        });
        let new_index = |unit: usize| kept.get(unit).copied().unwrap_or(unit);
        for module in &mut self.modules {
            module.units = new_index(module.units.start)..new_index(module.units.end);
        }
    }

    /// The numbers of the units of the device runtime library.
    pub fn runtime_units(&self) -> impl Iterator<Item = usize> {
        self.units.iter().enumerate().filter(|(_, unit)| unit.demand == Demand::Runtime).map(|(index, _)| index)
    }
}
