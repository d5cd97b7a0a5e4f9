//! The names of architectures that `-arch` takes.

use cubin::target::Target;

/// What is linked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// A GPU: `sm_90`.
    Real(&'static Target),
    /// The virtual architecture of a GPU, which the reference accepts but writes no file for: `compute_90`.
    Virtual(&'static Target),
    /// The intermediate code of a GPU, which cannot be linked for: `lto_90`.
    Intermediate(&'static Target),
}

impl Architecture {
    /// The architecture of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        type Kind = fn(&'static Target) -> Architecture;
        let kinds: [(&str, Kind); 3] =
            [("sm_", Architecture::Real), ("compute_", Architecture::Virtual), ("lto_", Architecture::Intermediate)];
        kinds.into_iter().find_map(|(prefix, kind)| {
            let number = name.strip_prefix(prefix)?;
            Target::by_name(&format!("sm_{number}")).map(kind)
        })
    }

    /// The GPU.
    pub fn target(self) -> &'static Target {
        let (Architecture::Real(target) | Architecture::Virtual(target) | Architecture::Intermediate(target)) = self;
        target
    }

    /// Whether the reference says of this architecture that `-preserve-relocs` is incomplete.
    pub(super) fn records_relocations_incompletely(self) -> bool {
        self.target().lists_relocations_incompletely
    }
}

/// Whether `-arch` takes this name.
pub(super) fn is_known(name: &str) -> bool {
    Architecture::by_name(name).is_some()
}
