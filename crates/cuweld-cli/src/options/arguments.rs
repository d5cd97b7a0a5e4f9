//! The meaning of the command line.
//!
//! Options that belong together are together; every field names the option that it comes from. Defaults that the
//! reference has are filled in; an `Option` is left where "not given" is a meaning of its own.

use super::architecture::Architecture;
use super::problem::UsageProblem;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the program is asked to do.
///
/// Where something is only printed, warnings about the rest of the command line are not kept.
#[derive(Clone, Debug)]
pub enum Invocation {
    /// Print the help (`-h`).
    Help,
    /// Print the version (`-V`).
    Version,
    /// Say more about a message (`--explain`).
    Explain(String),
    /// Print something that is made from the table of options (`--generate`).
    Generate(Generated),
    /// Write a script for the host's linker (`-ghls`).
    HostLinkerScript(Box<HostLinkerScript>),
    /// Link.
    Link(Box<LinkArguments>),
}

/// What can be made from the table of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// The manual page.
    ManualPage,
    /// Completions for bash.
    Bash,
    /// Completions for zsh.
    Zsh,
    /// Completions for fish.
    Fish,
}

/// The arguments of a link.
#[derive(Clone, Debug)]
pub struct LinkArguments {
    /// The architecture's name as it was typed (`-arch`).
    pub arch: String,
    /// The architecture: real or virtual, never intermediate code.
    pub architecture: Architecture,
    /// The result (`-o`). A real architecture always has one.
    pub output: Option<PathBuf>,
    /// The inputs, in the order in which they were typed. See [`LinkArguments::inputs_in_link_order`].
    pub inputs: Vec<InputItem>,
    /// Where libraries are looked for (`-L`).
    pub library_paths: Vec<PathBuf>,
    /// The host's processor, as `-cpu-arch` names it.
    pub cpu: Option<String>,
    /// What kind of link it is.
    pub link: LinkMode,
    /// What is kept.
    pub roots: Roots,
    /// What is compiled during the link, and how.
    pub compile: Compile,
    /// What is printed.
    pub messages: Messages,
    /// What is written beside the result.
    pub files: SideFiles,
    /// The release of CUDA to follow (`--release`).
    pub release: Option<String>,
    /// The tool to imitate (`--compat`).
    pub compat: Option<String>,
    /// What the note of the result says.
    pub note: NoteText,
    /// How the link is carried out, without an effect on the result.
    pub execution: Execution,
    /// What there is to say about the command line, in order. None is fatal.
    pub warnings: Vec<UsageProblem>,
    /// What not every release knows, in order.
    pub newer: Vec<NewerWord>,
    /// The files that options were read from.
    pub options_files: Vec<PathBuf>,
    /// The options once more, for a command line that does the same elsewhere.
    pub repeated: Vec<Repeated>,
}

impl LinkArguments {
    /// The inputs in the order in which they are linked: libraries (`-l`) come after all files, wherever they stand.
    pub fn inputs_in_link_order(&self) -> impl Iterator<Item = &InputItem> {
        let is_file = |item: &&InputItem| matches!(item.source, InputSource::File(_));
        self.inputs.iter().filter(is_file).chain(self.inputs.iter().filter(move |item| !is_file(item)))
    }

    /// Every file that the link writes. Standard output (`-`) is none.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        let SideFiles { register_link_binaries, time, dot, map, report, time_trace, .. } = &self.files;
        [&self.output, register_link_binaries, time, dot, map, report, time_trace].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Every file that the link reads besides its inputs.
    pub fn side_inputs(&self) -> impl Iterator<Item = &Path> {
        let named = [&self.link.uidx_file, &self.link.nv_host].into_iter().flatten();
        named.chain(&self.options_files).map(PathBuf::as_path)
    }
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputItem {
    /// Where it is.
    pub source: InputSource,
    /// Which members are taken if it is an archive (`--whole-archive`, `--no-whole-archive`).
    pub members: Members,
    /// Which pair of `--start-lib` and `--end-lib` it stands in, counted from 0.
    pub group: Option<usize>,
}

/// Where an input is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// At this path.
    File(PathBuf),
    /// `lib<name>.a` in a library path (`-lname`).
    Library(OsString),
    /// A file of just this name in a library path (`-l:name`).
    LibraryFile(OsString),
}

impl InputSource {
    /// The file, if it is not to be searched for.
    pub fn path(&self) -> Option<&Path> {
        match self {
            InputSource::File(path) => Some(path),
            InputSource::Library(_) | InputSource::LibraryFile(_) => None,
        }
    }
}

/// Which members of an archive are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// All; what is not used is removed later.
    All,
    /// Those that define a name which is needed.
    Needed,
}

/// What kind of link it is.
#[derive(Clone, Debug)]
pub struct LinkMode {
    /// Make an object to be linked again (`-r`).
    pub relocatable: bool,
    /// For debugging (`-g`).
    pub debug: bool,
    /// Leave out what only a debugger needs (`-suppress-debug-info`).
    pub suppress_debug_info: bool,
    /// Record applied relocations (`-preserve-relocs`).
    pub preserve_relocs: bool,
    /// Link code that tools patch into programs (`-astoolspatch`).
    pub tools_patch: bool,
    /// Accept undefined variables (`-allow-undefined-globals`).
    pub allow_undefined_globals: bool,
    /// Make an empty file of nothing (`--allow-empty`).
    pub allow_empty: bool,
    /// Leave the system's part out of the sizes of shared memory (`-disable-smem-reservation`).
    pub disable_smem_reservation: bool,
    /// Let kernels have all shared memory for static variables (`-enable-extended-smem`).
    pub enable_extended_smem: bool,
    /// Write explicit addends only (`-force-rela`).
    pub force_rela: bool,
    /// Place no shared variable at address zero (`-reserve-null-pointer`).
    pub reserve_null_pointer: bool,
    /// The newest version of objects to accept, 130 for 13.0 (`-cuda-api-version`).
    pub api_version: Option<i32>,
    /// The index of unified functions and variables (`-uidx`).
    pub uidx_file: Option<PathBuf>,
    /// A file to be copied into a section `.nv.host` (`-nv-host`).
    pub nv_host: Option<PathBuf>,
}

/// What is kept although nothing else that is kept refers to it.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Parts of kernels' names; if any, other kernels are removed (`-kernels-used`).
    pub kernels_used: Vec<String>,
    /// Parts of variables' names (`-variables-used`).
    pub variables_used: Vec<String>,
    /// Whether what the host's code refers to decides (`-use-host-info`, `-ignore-host-info`).
    pub host_info: HostInfo,
    /// Keep the device runtime library (`-keep-system-libraries`).
    pub keep_system_libraries: bool,
    /// Further names (`-u`).
    pub undefined: Vec<String>,
}

/// Whether what the host's code refers to decides what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostInfo {
    /// It does, where objects tell of it and no used names are given.
    Default,
    /// The same, but said explicitly.
    Use,
    /// It does not.
    Ignore,
}

/// What is compiled during the link, and how.
#[derive(Clone, Debug)]
pub struct Compile {
    /// Optimize at link time (`-lto`, `-dlto`).
    pub link_time_optimization: bool,
    /// How much of the program the optimizer is to believe to see (`-force-partial-lto`, `-force-whole-lto`).
    pub scope: OptimizationScope,
    /// Write PTX (`-emit-ptx`).
    pub emit_ptx: bool,
    /// The folder of the NVVM library (`-nvvmpath`).
    pub nvvm_path: Option<PathBuf>,
    /// Threads of the optimizer (`-split-compile`).
    pub split_compile: Option<i32>,
    /// Threads of the extended kind (`-split-compile-extended`).
    pub split_compile_extended: Option<i32>,
    /// Optimization given up for speed (`-Ofc`).
    pub fast_compile: Option<FastCompile>,
    /// Options of the assembler (`-Xptxas`).
    pub ptxas_options: Vec<OsString>,
    /// Options of the optimizer (`-Xnvvm`).
    pub nvvm_options: Vec<OsString>,
    /// The newest optimizer of the toolkit (`-nvvm-latest`).
    pub nvvm_latest: bool,
    /// Most registers (`-maxrregcount`).
    pub max_registers: Option<i32>,
    /// Protect the stack (`-device-stack-protector`).
    pub device_stack_protector: Option<bool>,
    /// The toolkit (`--toolkit`).
    pub toolkit: Option<PathBuf>,
    /// How many compilers run at once (`--jobs`).
    pub jobs: Option<u32>,
    /// Where results are kept (`--cache`).
    pub cache: Option<OsString>,
    /// The program that runs the assembler (`--compiler-launcher`).
    pub launcher: Option<PathBuf>,
    /// When to show what is being compiled (`--progress`).
    pub progress: Option<ProgressDisplay>,
    /// The program that makes final code (`--finalizer`).
    pub finalizer: Option<PathBuf>,
}

/// When to show what is being compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressDisplay {
    /// Not at all.
    Never,
    /// When somebody may be watching.
    Auto,
    /// In any case.
    Always,
}

/// How much of the program link-time optimization sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimizationScope {
    /// What the inputs suggest.
    Automatic,
    /// A part.
    Partial,
    /// All of it.
    Whole,
}

/// How much optimization is given up for faster compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastCompile {
    /// None.
    Off,
    /// A little.
    Min,
    /// Some.
    Mid,
    /// Much.
    Max,
}

impl FastCompile {
    /// The names, in ascending order.
    const NAMES: [(&'static str, FastCompile); 4] =
        [("0", FastCompile::Off), ("min", FastCompile::Min), ("mid", FastCompile::Mid), ("max", FastCompile::Max)];

    /// The level of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
    }

    /// As the compilers' options have it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

/// What is printed.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Resources (`-v`).
    pub verbose: bool,
    /// No remarks (`-disable-infos`). In the reference this option suppresses warnings, and no remarks.
    pub disable_infos: bool,
    /// Warnings are errors (`-Werror`).
    pub warnings_as_errors: bool,
    /// More warnings (`-extrawarn`).
    pub extra_warnings: bool,
    /// No warning about objects without code for the target (`-suppress-arch-warning`).
    pub suppress_arch_warning: bool,
    /// No warning about unknown stack sizes (`-suppress-stack-size-warning`).
    pub suppress_stack_size_warning: bool,
    /// Name the target in messages (`-report-arch`).
    pub report_arch: bool,
    /// Print who calls whom (`-dump-callgraph`, `-dump-callgraph-no-demangle`).
    pub dump_callgraph: Option<CallgraphNames>,
    /// The program's name in messages (`-tool-name`).
    pub tool_name: Option<String>,
    /// How to write messages (`--diagnostics`).
    pub diagnostics: Option<DiagnosticsStyle>,
    /// When to use colours (`--color`); none to decide by the terminal.
    pub colors: Option<Colors>,
    /// How many errors are shown at most (`--error-limit`); 0 for no limit.
    pub error_limit: Option<u32>,
    /// Print removed sections (`--print-gc-sections`).
    pub print_gc_sections: bool,
    /// Explain why these names are kept (`--why-live`).
    pub why_live: Vec<String>,
    /// Print inputs as they are read (`--trace`).
    pub trace: bool,
}

/// The names in a printed call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallgraphNames {
    /// As the source has them.
    Demangled,
    /// As the linker sees them.
    Mangled,
}

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsStyle {
    /// For people.
    Rich,
    /// Word for word the reference's.
    Nvlink,
    /// One JSON object per line.
    Json,
}

impl DiagnosticsStyle {
    const ALL: [DiagnosticsStyle; 3] = [DiagnosticsStyle::Rich, DiagnosticsStyle::Nvlink, DiagnosticsStyle::Json];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            DiagnosticsStyle::Rich => "rich",
            DiagnosticsStyle::Nvlink => "nvlink",
            DiagnosticsStyle::Json => "json",
        }
    }

    /// The style of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }
}

/// When colours are used, if that does not depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// In every case.
    Always,
    /// In no case.
    Never,
}

/// What is written beside the result.
#[derive(Clone, Debug)]
pub struct SideFiles {
    /// Registration functions (`--register-link-binaries`).
    pub register_link_binaries: Option<PathBuf>,
    /// The table of times (`-time`); `-` is standard output.
    pub time: Option<PathBuf>,
    /// The call graph for Graphviz (`-dot`).
    pub dot: Option<PathBuf>,
    /// What went where (`--Map`).
    pub map: Option<PathBuf>,
    /// What was linked (`--report`).
    pub report: Option<PathBuf>,
    /// Add cross references to the map (`--cref`).
    pub cref: bool,
    /// When phases ran (`--time-trace`).
    pub time_trace: Option<PathBuf>,
    /// A copy of everything that the link needs (`--save-dir`).
    pub save_dir: Option<PathBuf>,
}

/// What the note of the result says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteText {
    /// The object it speaks of; usually empty.
    pub object: String,
    /// The options, as the reference would list them.
    pub options: String,
    /// Leave the options out (`--no-command-line-note`).
    pub omit_options: bool,
    /// Write these options instead (`--note-options`).
    pub other_options: Option<String>,
}

/// An option, or a value of one, that not every release knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerWord {
    /// The word.
    pub word: String,
    /// The first toolkit that knows it.
    pub toolkit: u16,
    /// What earlier ones say.
    pub problem: UsageProblem,
}

/// How a link is carried out.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Threads (`--threads`).
    pub threads: Option<u32>,
    /// The most that a compressed input may unpack to (`--max-unpacked`).
    pub max_unpacked: Option<u64>,
}

/// An option for a command line that does the same elsewhere. Inputs and libraries are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// A word that can stay as it is.
    Word(OsString),
    /// An option that names a file which the link reads.
    Reads {
        /// The option with its dashes.
        option: String,
        /// The file.
        path: PathBuf,
    },
    /// An option that names a file which the link writes.
    Writes {
        /// The option with its dashes.
        option: String,
        /// The file.
        path: PathBuf,
    },
}

/// The arguments of `-ghls`.
#[derive(Clone, Debug)]
pub struct HostLinkerScript {
    /// The host linker's own script with what device code needs (`lcs-abs`), or only the latter (`lcs-aug`).
    pub complete: bool,
    /// Where it is written (`-o`); standard output if not given.
    pub output: Option<PathBuf>,
    /// Print the commands that are run (`-v`).
    pub verbose: bool,
    /// Make the host's compiler link an object (`-r`).
    pub relocatable: bool,
    /// Make the host's compiler link a shared library (`--shared`).
    pub shared: bool,
    /// The host's compiler (`--host-ccbin`).
    pub host_compiler: Option<OsString>,
    /// Options of the host's linker, to be used instead of those that the compiler would give it (`-Xlinker`).
    pub linker_options: Vec<OsString>,
    /// The program's name in messages (`-tool-name`).
    pub tool_name: Option<String>,
    /// The files that options were read from.
    pub options_files: Vec<PathBuf>,
    /// What there is to say about the command line, in order. None is fatal.
    pub warnings: Vec<UsageProblem>,
}
