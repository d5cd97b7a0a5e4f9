//! The options of a link.

pub use crate::output_kind::OutputKind;

use crate::imitations::{Imitation, Imitations};
use crate::views::{self, LinkedView};
use cubin::note::{LAYOUT_VERSION, ToolNote};
use cubin::release::{Build, Release, Rule};
use cubin::target::Target;
use cubin::unified::{Index, NotAnIndex};

/// Everything that shapes a link, besides its inputs.
///
/// Later versions add fields: start from [`Options::new`], and set fields, or end a literal with `..Options::new(target)`.
#[derive(Clone, Debug)]
pub struct Options {
    /// The architecture to link for.
    pub target: &'static Target,
    /// What to produce.
    pub output: OutputKind,
    /// Keep everything, dead code included, and show shared variables to a debugger (`-g`).
    pub debug: bool,
    /// With `debug`: hide the shared variables all the same (`-suppress-debug-info`).
    pub suppress_debug_info: bool,
    /// Record the relocations that were applied (`-preserve-relocs`).
    pub preserve_relocations: bool,
    /// Link code that tools patch into programs, and nothing else (`-astoolspatch`): all of it is live.
    pub tools_patch: bool,
    /// More roots of garbage collection: functions and variables that must be defined (`-u`).
    pub keep: Vec<String>,
    /// Which kernels may be launched; the others, and what only they reach, are removed.
    pub kernels: KernelRoots,
    /// Leave the driver's reserved area out of the shared-memory sizes (`-disable-smem-reservation`).
    pub omit_reserved_shared: bool,
    /// Let kernels have all shared memory of the GPU for static variables (`-enable-extended-smem`).
    pub extended_shared: bool,
    /// Place no shared variable at address zero (`-reserve-null-pointer`).
    pub reserve_null_pointer: bool,
    /// Refuse objects that ask for a newer version of the driver's interface than this, 130 for 13.0 (`-cuda-api-version`).
    pub newest_api: Option<i32>,
    /// Bytes to be copied into a section `.nv.host` (`-nv-host`).
    pub host_section: Option<Vec<u8>>,
    /// The slots and offsets of unified functions and variables (`-uidx`).
    pub unified_index: Option<UnifiedIndex>,
    /// Accept undefined variables (`-allow-undefined-globals`).
    pub allow_undefined_globals: bool,
    /// What to do if no input has code or data for the target.
    pub on_empty: OnEmpty,
    /// Write every relocation with an explicit addend (`-force-rela`).
    pub force_explicit_addends: bool,
    /// Do not warn about kernels whose stack size can not be known.
    pub suppress_stack_size_warning: bool,
    /// Warn about those once per call that leads to a recursion, as the reference linker does, instead of once for all.
    pub stack_warning_per_call: bool,
    /// Warn about functions whose address is taken but that nothing calls (`-extrawarn`).
    pub extra_warnings: bool,
    /// Print the resources that the module and each kernel use (`-v`).
    pub verbose: bool,
    /// Print the call graph.
    pub dump_call_graph: Option<NameStyle>,
    /// The most bytes that the result may have (`--max-unpacked`); by default, a multiple of the size of the inputs.
    pub largest_image: Option<u64>,
    /// Listings that are made on request.
    pub listings: Listings,
    /// The release of CUDA whose rules the output follows.
    pub release: ReleaseChoice,
    /// Which defects of the reference linker to imitate, for comparing files; never the default.
    pub imitations: Imitations,
    /// The note that says which tool made the file.
    pub note: ToolNoteText,
}

/// An index of unified functions and variables: a file that is known to be one.
#[derive(Clone, Debug)]
pub struct UnifiedIndex {
    bytes: Vec<u8>,
    index: Index,
}

impl UnifiedIndex {
    /// Reads an index file.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, NotAnIndex> {
        let index = Index::parse(&bytes)?;
        Ok(UnifiedIndex { bytes, index })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

/// Which release of CUDA a link follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseChoice {
    /// The newest that an input names, or this one if it is newer. Of objects that are newer than all known releases, the link warns.
    AtLeast(&'static Release),
    /// This one, which refuses newer objects.
    Exactly(&'static Release),
}

impl ReleaseChoice {
    /// The release for a link of objects of which `toolkit` made the newest.
    pub(crate) fn settle(self, toolkit: Option<u32>) -> &'static Release {
        match self {
            Self::Exactly(release) => release,
            Self::AtLeast(least) => match toolkit {
                Some(toolkit) if toolkit > u32::from(least.toolkit) => Release::for_toolkit(toolkit),
                _ => least,
            },
        }
    }

    /// The newest release whose objects are linked without a warning.
    pub(crate) fn limit(self) -> &'static Release {
        match self {
            Self::Exactly(release) => release,
            Self::AtLeast(_) => Release::newest(),
        }
    }
}

/// What to do with a link that has nothing to link.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum OnEmpty {
    /// Make a file with nothing in it.
    #[default]
    Accept,
    /// Make it, and warn if there was code for other targets.
    WarnOfOtherTargets,
    /// Stop if there was code for other targets, and make it otherwise.
    RefuseOtherTargets,
    /// Stop.
    Refuse,
}

/// The roots of garbage collection.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum KernelRoots {
    /// The kernels that host code among the inputs refers to, where every input records that; otherwise every kernel.
    #[default]
    ByHostCode,
    /// Every kernel may be launched.
    All,
    /// Only kernels whose name matches one of these patterns (`*` matches any run of characters).
    Matching(Vec<String>),
    /// The same, with the patterns that host code gives for the kernels it launches.
    LaunchedByHost(Vec<String>),
}

/// Listings that only who wants to know something asks for.
#[derive(Clone, Debug, Default)]
pub struct Listings {
    /// The functions that were removed (`--print-gc-sections`).
    pub removed: bool,
    /// The fate of every function, for a report (`--report`).
    pub account: bool,
    /// Who may call whom, in Graphviz's language (`-dot`).
    pub graphviz: bool,
    /// List who may call whom through pointers pair by pair, as the reference linker does; otherwise by prototype.
    pub every_pair: bool,
    /// Names, mangled or not, of which to say why they are live (`--why-live`).
    pub why_live: Vec<String>,
    /// The output section and offset of each input section (`--Map`).
    pub map: Option<MapContents>,
}

/// What a map tells.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum MapContents {
    /// Sections, their pieces and symbols.
    Sections,
    /// That, and which objects define and mention each name (`--cref`).
    SectionsAndCrossReferences,
}

/// How names are written in listings.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NameStyle {
    /// As the source has them.
    Demangled,
    /// As the symbol table has them.
    Mangled,
}

/// The texts of a tool note.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolNoteText {
    /// The object in the note; usually empty.
    pub object: String,
    /// The tool's name.
    pub tool: String,
    /// The tool's version.
    pub version: String,
    /// The tool's build.
    pub build: String,
    /// The options it was called with.
    pub options: String,
}

impl ToolNoteText {
    /// The note that cuweld writes in its own name.
    pub fn cuweld(options: &str) -> Self {
        ToolNoteText {
            object: String::new(),
            tool: "cuweld".into(),
            version: concat!("cuweld ", env!("CARGO_PKG_VERSION")).into(),
            build: "https://github.com/cuweld/cuweld".into(),
            options: options.into(),
        }
    }

    /// The note that this build of nvlink would write: for comparing files, never the default.
    pub fn nvlink(build: &Build, options: &str) -> Self {
        ToolNoteText {
            object: String::new(),
            tool: "nvlink".into(),
            version: build.version_text.into(),
            build: build.build_text.into(),
            options: options.into(),
        }
    }

    /// The note that this build of libnvJitLink would write: for comparing files, never the default.
    pub fn nvjitlink(build: &Build) -> Self {
        ToolNoteText {
            object: "in-memory-ELF-image".into(),
            tool: "nvJIT API".into(),
            version: build.version_text.into(),
            build: build.build_text.into(),
            options: "JIT API Command Line Options".into(),
        }
    }

    /// The note as a release writes it.
    pub(crate) fn encode(&self, release: &Release) -> Vec<u8> {
        let Self { object, tool, version, build, options } = self;
        let layout = if release.has(Rule::Cuda13Files) { LAYOUT_VERSION } else { release.toolkit };
        ToolNote { object, tool, version, build, options }.encode_with_version(layout)
    }
}

impl Options {
    /// A plain executable link for `target`.
    pub fn new(target: &'static Target) -> Self {
        Options {
            target,
            output: OutputKind::Executable,
            debug: false,
            suppress_debug_info: false,
            preserve_relocations: false,
            tools_patch: false,
            keep: Vec::new(),
            kernels: KernelRoots::ByHostCode,
            omit_reserved_shared: false,
            extended_shared: false,
            reserve_null_pointer: false,
            newest_api: None,
            host_section: None,
            unified_index: None,
            allow_undefined_globals: false,
            on_empty: OnEmpty::Accept,
            force_explicit_addends: false,
            suppress_stack_size_warning: false,
            stack_warning_per_call: false,
            extra_warnings: false,
            verbose: false,
            dump_call_graph: None,
            largest_image: None,
            listings: Listings::default(),
            release: ReleaseChoice::AtLeast(Release::oldest()),
            imitations: Imitations::NONE,
            note: ToolNoteText::cuweld(&format!("-arch {} ", target.name)),
        }
    }

    /// Whether the reference linker is imitated in this.
    pub(crate) fn imitates(&self, imitation: Imitation) -> bool {
        self.imitations.contains(imitation) && imitation.row().views.is_none_or(|views| views == self.target.views)
    }

    /// In what the view differs that is linked.
    pub(crate) fn linked(&self) -> &'static LinkedView {
        views::linked(self.target.views)
    }

    /// The bytes that the driver reserves at the start of every kernel's shared memory.
    pub(crate) fn reserved_shared(&self) -> u64 {
        if self.omit_reserved_shared { 0 } else { self.target.reserved_shared }
    }

    /// The most bytes of static shared memory that a kernel may have.
    pub(crate) fn shared_limit(&self) -> u64 {
        // Told to reserve nothing, the reference linker still does not count what is reserved elsewhere.
        let uncounted = self.omit_reserved_shared && self.imitates(Imitation::UncountedReservedShared);
        self.target.static_shared_limit(self.extended_shared) + if uncounted { self.target.reserved_shared } else { 0 }
    }

    /// Whether it is known which kernels are used, so that others are removed.
    pub(crate) fn knows_used_kernels(&self) -> bool {
        self.removes_dead_code() && matches!(self.kernels, KernelRoots::Matching(_) | KernelRoots::LaunchedByHost(_))
    }
}
