//! Host references and registration: what host objects record about their device code.
//!
//! # Registration
//!
//! A host object carries its device code as a fatbin, and a constructor that registers the fatbin with the runtime under a module id. When
//! device code of several objects is linked, none of these fatbins may be registered by itself: nvcc compiles a stub that calls the
//! registration functions of all linked modules, from a list of module ids that the device linker writes (`--register-link-binaries`).
//! [`Linker::modules`](crate::Linker::modules) is that list: modules that took part, in link order.
//!
//! # References
//!
//! The host compiler also records in each object the kernels that it launches and the variables that it accesses. If every object of a
//! link has that record, a kernel that none of them names can not be launched, and is not a GC root. One object without the record, or one that
//! is not a host object, may launch anything, and all kernels are roots.

use crate::options::{KernelRoots, Options};
use crate::phases::load::Demand;
use fatbin::host::{HostObject, Reference, ReferenceTo};
use std::borrow::Cow;

/// What host code refers to. In names, `*` stands for any characters.
#[derive(Clone, Debug)]
pub struct HostReferences {
    complete: bool,
    kernels: Vec<String>,
    variables: Vec<String>,
    /// What host code of the device runtime library refers to: it has to be live, but says nothing of the program.
    runtime_kernels: Vec<String>,
}

impl Default for HostReferences {
    fn default() -> Self {
        HostReferences { complete: true, kernels: Vec::new(), variables: Vec::new(), runtime_kernels: Vec::new() }
    }
}

impl HostReferences {
    /// An input that has no record: nothing can be concluded from those of the others.
    pub(super) fn add_unknown(&mut self, demand: Demand) {
        self.complete &= demand == Demand::Runtime;
    }

    /// A host object.
    pub(super) fn add(&mut self, object: &HostObject<'_>) {
        let is_recorded =
            |references: &fatbin::host::References<'_>| references.kind == Reference { to: ReferenceTo::Kernel, external: true };
        self.complete &= object.references.iter().any(is_recorded);
        for references in &object.references {
            let list = match references.kind.to {
                ReferenceTo::Kernel => &mut self.kernels,
                ReferenceTo::Variable | ReferenceTo::Constant => &mut self.variables,
            };
            list.extend(references.names.iter().map(|&name| name.to_owned()));
        }
    }

    /// A host object of the device runtime library.
    pub(super) fn add_runtime(&mut self, object: &HostObject<'_>) {
        let kernels = object.references.iter().filter(|references| references.kind.to == ReferenceTo::Kernel);
        self.runtime_kernels.extend(kernels.flat_map(|references| &references.names).map(|&name| name.to_owned()));
    }

    /// What inputs refer to that were opened apart from these.
    pub(crate) fn merge(&mut self, others: HostReferences) {
        self.complete &= others.complete;
        self.kernels.extend(others.kernels);
        self.variables.extend(others.variables);
        self.runtime_kernels.extend(others.runtime_kernels);
    }

    /// Whether it is known what host code refers to.
    pub fn are_known(&self) -> bool {
        self.complete && !self.kernels.is_empty()
    }

    /// The options of a link, with the kernels that host code may launch, if it is to say them, and does. Where they were given to
    /// the compiler of a whole program first, the reference linker takes them for names that were asked for.
    pub(crate) fn complete<'options>(&self, options: &'options Options, was_whole: bool) -> Cow<'options, Options> {
        if !matches!(options.kernels, KernelRoots::ByHostCode) || !self.are_known() {
            return Cow::Borrowed(options);
        }
        let launched = self.kernels.iter().chain(&self.runtime_kernels).cloned().collect();
        let kernels = if was_whole { KernelRoots::Matching(launched) } else { KernelRoots::LaunchedByHost(launched) };
        Cow::Owned(Options { kernels, ..options.clone() })
    }

    /// The names of kernels.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// The names of variables.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }
}
