//! The table of options: one row per option, from which everything that knows options is made: the scanner, the note
//! that a linked file carries, `--help`, the manual page, the shells' completions, and the tests.

mod extension;
mod reference;
mod undocumented;

use super::architecture::Architecture;
use cubin::release::{Release, Tool};

/// Which option a row is. One variant per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is named after its row, which says what it does")]
pub enum Id {
    // Documented options of the reference.
    SuppressStackSizeWarning,
    SuppressArchWarning,
    OutputFile,
    Debug,
    Arch,
    Machine,
    Library,
    LibraryPath,
    RegisterLinkBinaries,
    Verbose,
    Verbose2,
    PreserveRelocs,
    DisableWarnings,
    WarningAsError,
    DisableInfos,
    KeepSystemLibraries,
    KernelsUsed,
    VariablesUsed,
    CpuArch,
    ReportArch,
    EmitPtx,
    Time,
    ExtraWarnings,
    LinkTimeOpt,
    Dlto,
    NvvmLatest,
    NvvmPath,
    SplitCompile,
    SplitCompileExtended,
    OfastCompile,
    SuppressDebugInfo,
    LinkAsToolsPatch,
    Xptxas,
    Xnvvm,
    Maxrregcount,
    DumpCallgraph,
    DumpCallgraphNoDemangle,
    UseHostInfo,
    IgnoreHostInfo,
    RelocatableLink,
    UidxFile,
    DeviceStackProtector,
    OptionsFile,
    GenHostLinkerScript,
    Help,
    Version,
    // Options of the reference that its help does not name.
    AllowUndefinedGlobals,
    CudaApiVersion,
    DisableSmemReservation,
    DotFile,
    EnableExtendedSmem,
    Fdcmpt,
    ForcePartialLto,
    ForceRela,
    ForceWholeLto,
    HostCcbin,
    HostLinkerOptions,
    NvHost,
    ReserveNullPointer,
    Shared,
    SyscallConstOffset,
    ToolName,
    Uumn,
    VerboseTkinfo,
    // Options that the reference does not have.
    Undefined,
    LinkerKeyword,
    AllowEmpty,
    WholeArchive,
    NoWholeArchive,
    StartLib,
    EndLib,
    Diagnostics,
    Color,
    ErrorLimit,
    Explain,
    Threads,
    NoCommandLineNote,
    Release,
    Compat,
    NoteAs,
    NoteOptions,
    SaveDir,
    PrintGcSections,
    WhyLive,
    Trace,
    Map,
    Report,
    Cref,
    TimeTrace,
    Toolkit,
    Jobs,
    Cache,
    CompilerLauncher,
    Progress,
    Finalizer,
    MaxUnpacked,
    Generate,
}

/// What follows an option's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: naming the option switches it on.
    Nothing,
    /// Any text. The field names it in the help, as in all rows below.
    Text(&'static str),
    /// Any text, and `default` when the next argument is an option or there is none.
    OptionalText {
        /// What the value is called.
        name: &'static str,
        /// The value of the option without one.
        default: &'static str,
    },
    /// One of a few words.
    Keyword {
        /// What the value is called.
        name: &'static str,
        /// The words.
        allowed: &'static [&'static str],
    },
    /// One of a few words, and the first one when the next argument is an option or there is none.
    OptionalKeyword {
        /// What the value is called.
        name: &'static str,
        /// The words.
        allowed: &'static [&'static str],
    },
    /// The name of a real or virtual GPU architecture.
    Architecture(&'static str),
    /// A release of CUDA.
    CudaRelease(&'static str),
    /// A build of the reference linker.
    NvlinkBuild(&'static str),
    /// A 32-bit number.
    Number(&'static str),
    /// One number, and no other.
    ExactNumber {
        /// What the value is called.
        name: &'static str,
        /// The number.
        allowed: i32,
    },
    /// A number of bytes.
    Size(&'static str),
    /// `true` or `false`.
    Truth,
    /// Items separated by commas. Giving the option again adds items.
    List(&'static str),
    /// One item each time the option is given.
    Each(&'static str),
    /// One item each time the option is given, but none when the next argument is an option or there is none.
    EachIfAny(&'static str),
    /// Like a list, of files whose words are read in the option's place.
    OptionsFiles(&'static str),
}

impl Takes {
    /// What the value is called in the help, if there is one.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Takes::Nothing => None,
            Takes::Truth => Some("true|false"),
            Takes::Text(name)
            | Takes::OptionalText { name, .. }
            | Takes::Keyword { name, .. }
            | Takes::OptionalKeyword { name, .. }
            | Takes::Architecture(name)
            | Takes::CudaRelease(name)
            | Takes::NvlinkBuild(name)
            | Takes::Number(name)
            | Takes::ExactNumber { name, .. }
            | Takes::Size(name)
            | Takes::List(name)
            | Takes::Each(name)
            | Takes::EachIfAny(name)
            | Takes::OptionsFiles(name) => Some(name),
        }
    }

    /// Whether the option may stand without a value.
    pub fn is_optional(self) -> bool {
        matches!(self, Takes::OptionalText { .. } | Takes::OptionalKeyword { .. } | Takes::EachIfAny(_))
    }

    /// Whether items are separated by commas.
    pub fn is_list(self) -> bool {
        matches!(self, Takes::List(_) | Takes::OptionsFiles(_))
    }

    /// The words that a shell can offer as the value.
    pub fn words(self) -> Vec<String> {
        match self {
            Takes::Keyword { allowed, .. } | Takes::OptionalKeyword { allowed, .. } => {
                allowed.iter().map(|&word| word.to_owned()).collect()
            }
            Takes::Truth => vec!["true".to_owned(), "false".to_owned()],
            Takes::Architecture(_) => cubin::target::Target::all().iter().map(|target| target.name.to_owned()).collect(),
            Takes::CudaRelease(_) => Release::all().iter().map(|release| release.name.to_owned()).collect(),
            Takes::NvlinkBuild(_) => Tool::Nvlink.build_names(),
            _ => Vec::new(),
        }
    }
}

/// Whether the note of a linked file tells that the option was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// No.
    Never,
    /// Yes.
    Always,
    /// Only in the detailed note that `-g` asks for, and of a path only the last part.
    InDetail,
}

/// Where an option comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The reference's help names it.
    Reference,
    /// The reference takes it, but its help does not name it.
    Undocumented,
    /// Only cuweld has it.
    Extension,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// Which option it is.
    pub id: Id,
    /// Its name after two dashes.
    pub long: &'static str,
    /// Its name after one dash, if it has one. Often of several letters.
    pub short: Option<&'static str>,
    /// What follows the name.
    pub takes: Takes,
    /// Whether the value may follow the short name without a blank or `=` between them: `-lm`.
    pub glued: bool,
    /// Whether the note tells of it.
    pub noted: Noted,
    /// Where it comes from.
    pub origin: Origin,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What else there is to say; often nothing.
    pub details: &'static str,
}

impl OptionRow {
    const fn new(id: Id, long: &'static str, short: &'static str, takes: Takes, summary: &'static str) -> Self {
        OptionRow {
            id,
            long,
            short: if short.is_empty() { None } else { Some(short) },
            takes,
            glued: false,
            noted: Noted::Never,
            origin: Origin::Reference,
            summary,
            details: "",
        }
    }

    const fn details(self, details: &'static str) -> Self {
        OptionRow { details, ..self }
    }

    /// The option as messages and notes name it: by its short name, after a dash.
    pub fn shortest(&self) -> String {
        match self.short {
            Some(short) => format!("-{short}"),
            None => format!("--{}", self.long),
        }
    }
}

/// What only newer releases of the reference know: an option or a value of one, and the first toolkit that does. Targets know theirs.
const NEWER: [(Id, Option<&str>, u16); 4] = [
    (Id::Verbose2, None, 132),
    (Id::LinkAsToolsPatch, None, 133),
    (Id::CpuArch, Some("RISCV64"), 133),
    (Id::NvvmLatest, None, 135),
];

/// The first toolkit of CUDA 13 that knows an option with this value, if not all do.
pub fn first_toolkit(id: Id, value: Option<&str>) -> Option<u16> {
    let of_option = || NEWER.iter().find(|row| row.0 == id && (row.1.is_none() || row.1 == value)).map(|row| row.2);
    let of_target = || Architecture::by_name(value?).map(|architecture| architecture.target().first_toolkit);
    let first = if id == Id::Arch { of_target() } else { of_option() };
    first.filter(|&first| first > Release::oldest().toolkit)
}

/// All rows. Those of the reference come first, in the order in which its notes list them.
pub fn rows() -> impl Iterator<Item = &'static OptionRow> {
    [reference::ROWS, undocumented::ROWS, extension::ROWS].into_iter().flatten()
}

/// The row with this long name.
pub fn by_long_name(name: &[u8]) -> Option<&'static OptionRow> {
    rows().find(|row| row.long.as_bytes() == name)
}

/// The row with this short name.
pub fn by_short_name(name: &[u8]) -> Option<&'static OptionRow> {
    rows().find(|row| row.short.is_some_and(|short| short.as_bytes() == name))
}

/// The row whose short name begins this argument, if its value may follow directly, and that value.
pub fn by_glued_name(argument: &[u8]) -> Option<(&'static OptionRow, &[u8])> {
    rows().filter(|row| row.glued).find_map(|row| Some((row, argument.strip_prefix(row.short?.as_bytes())?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_ids_are_unique() {
        let mut seen = HashSet::new();
        for row in rows() {
            assert!(seen.insert(format!("{:?}", row.id)), "{:?} twice", row.id);
            assert!(seen.insert(format!("--{}", row.long)), "--{} twice", row.long);
            if let Some(short) = row.short {
                assert!(seen.insert(format!("-{short}")), "-{short} twice");
            }
        }
    }

    #[test]
    fn every_row_explains_itself() {
        for row in rows() {
            assert!(row.summary.ends_with('.') && row.summary.len() < 120, "--{}", row.long);
            assert!(row.details.is_empty() || row.details.ends_with('.'), "--{}", row.long);
            assert!(row.origin == Origin::Reference || row.noted == Noted::Never, "--{}", row.long);
        }
    }
}
