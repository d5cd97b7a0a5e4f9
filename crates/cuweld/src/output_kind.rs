//! What an output is made for: the driver, or a later link (`-r`).
//!
//! An executable is a complete program: every callee of its entry functions is known, its memories can be laid out, and nothing is kept that
//! only a linker reads. A relocatable output is one object that replaces several: later objects can replace weak definitions, call its
//! functions and refer to its variables. So sections are merged and symbols resolved, and everything else is left to the final link. This is
//! the only place that compares kinds of output. Phases ask one of the questions below, one per decision.
//!
//! | question | executable | relocatable |
//! |---|---|---|
//! | which functions are live? | reachable from the GC roots | all: a later object can refer to any |
//! | which attributes do entry functions have? | those propagated from callees, too | their own: callees can be replaced |
//! | where are shared variables, textures, compiler-made constants? | laid out per kernel | sections are as large as their contents |
//! | which relocations are applied? | all but those that the driver applies | none: all are kept, against the merged sections |
//! | where are unified functions and variables? | where the index says | as in the objects |
//! | what do symbols hold? | what the driver and debuggers read | what the objects say |
//! | what do section types tell? | whether there are bytes | also which memory it is |
//! | which errors are reported? | also undefined symbols and limits of kernels | those of single objects |
//!
//! The reference linker applies some relocations of a relocatable output and defines some symbols too early, with values that only the final
//! link can know. This is imitated with `--compat`, and never otherwise ([`Options::settles_early`]).

use crate::imitations::Imitation;
use crate::options::Options;

/// What kind of file a link makes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum OutputKind {
    /// A file that the driver loads.
    Executable,
    /// One object in place of several, for a later link (`-r`).
    Relocatable,
}

/// Bytes of the reserved part of shared memory before the variables of the system.
const RESERVED_FOR_TOOLS: u64 = 0x40;

impl Options {
    fn is_executable(&self) -> bool {
        self.output == OutputKind::Executable
    }

    /// Whether dead code is removed: no later object can refer to it, and neither debuggers nor tools want it.
    pub(crate) fn removes_dead_code(&self) -> bool {
        self.is_executable() && !self.debug && !self.preserve_relocations && !self.tools_patch
    }

    /// Whether everything is known that entry functions can call, so that they say what all of it needs, and what is missing is an error.
    pub(crate) fn knows_all_callees(&self) -> bool {
        self.is_executable()
    }

    /// Whether the memories that each kernel has its own of are laid out: shared memory, texture slots, banks of compiler-made constants.
    pub(crate) fn lays_out_kernels(&self) -> bool {
        self.is_executable()
    }

    /// Whether the driver reads the file, and not a linker.
    pub(crate) fn is_for_driver(&self) -> bool {
        self.is_executable()
    }

    /// Whether unified functions and variables get their slots and offsets.
    pub(crate) fn places_unified(&self) -> bool {
        self.is_executable()
    }

    /// Whether nothing refers to the tables of unified functions, because the output is final and has no index of them.
    pub(crate) fn drops_unified_tables(&self) -> bool {
        self.is_executable() && self.unified_index.is_none()
    }

    /// Whether every relocation is kept for a later link, which alone can know the addresses, and tentative definitions stay tentative.
    pub(crate) fn keeps_relocations(&self) -> bool {
        !self.is_executable() && !self.imitates(Imitation::RelocatableSettles)
    }

    /// Whether the output is relocatable, and the reference linker is imitated in something that it settles too early there.
    pub(crate) fn settles_early(&self, imitation: Imitation) -> bool {
        !self.is_executable() && self.imitates(imitation)
    }

    /// Whether shared variables are in the symbol table: for a linker or a debugger.
    pub(crate) fn lists_shared_variables(&self) -> bool {
        !self.is_executable() || (self.debug && !self.suppress_debug_info) || self.preserve_relocations
    }

    /// Whether compiler-made constants of single functions are in the symbol table: for a linker alone.
    pub(crate) fn lists_internal_symbols(&self) -> bool {
        !self.is_executable() || self.preserve_relocations
    }

    /// Where the system's own shared variables start in the machine view: after what tools keep for themselves, once they are laid out.
    pub(crate) fn reserved_for_tools(&self) -> u64 {
        if self.is_executable() { RESERVED_FOR_TOOLS } else { 0 }
    }
}
