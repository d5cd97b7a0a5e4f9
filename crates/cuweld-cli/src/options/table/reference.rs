//! The documented options of the reference, in the order in which it registers them, which is the order in which the
//! note of a linked file lists them. (Where `-ghls`, `-h` and `-V` stand in it cannot be seen: they make no file.)

use super::Id::*;
use super::Noted::{Always, InDetail};
use super::Takes::{self, *};
use super::{Id, Noted, OptionRow};

const fn row(noted: Noted, id: Id, long: &'static str, short: &'static str, takes: Takes, summary: &'static str) -> OptionRow {
    OptionRow { noted, ..OptionRow::new(id, long, short, takes, summary) }
}

const fn glued(row: OptionRow) -> OptionRow {
    OptionRow { glued: true, ..row }
}

#[rustfmt::skip] // a table reads better with several columns on a line
pub(super) const ROWS: &[OptionRow] = &[
    row(
        Always, SuppressStackSizeWarning, "suppress-stack-size-warning", "suppress-stack-size-warning", Nothing,
        "Do not warn about kernels whose stack size cannot be known.",
    ),
    row(
        Always, SuppressArchWarning, "suppress-arch-warning", "suppress-arch-warning", Nothing,
        "Do not warn about objects that have no code for the target.",
    ),
    row(InDetail, OutputFile, "output-file", "o", Text("file"), "Write the result to this file."),
    row(Always, Debug, "debug", "g", Nothing, "Link for debugging: keep all code, and tell a debugger of shared variables.")
        .details("The note of the result names the inputs and the output, too."),
    row(Always, Arch, "arch", "arch", Architecture("architecture"), "Link for this GPU architecture, such as sm_90.")
        .details("Nothing is linked for a virtual architecture (compute_90)."),
    glued(row(
        Always, Machine, "machine", "m", ExactNumber { name: "bits", allowed: 64 },
        "The width of addresses; only 64 is possible.",
    )),
    glued(row(Always, Library, "library", "l", List("library"), "Link with the library lib<library>.a.")).details(
        "It is looked for in the folders that -L names; one that is not found is passed over. Libraries are linked after \
         all objects, wherever they stand. -l:<file> looks for a file of just that name.",
    ),
    glued(row(Always, LibraryPath, "library-path", "L", List("folder"), "Look for libraries in this folder.")),
    row(
        InDetail, RegisterLinkBinaries, "register-link-binaries", "", Text("file"),
        "Write the names of the registration functions of the linked objects to this file.",
    )
    .details("The compiler driver builds the host's side of the program with it."),
    row(Always, Verbose, "verbose", "v", Nothing, "Print what the module and each kernel use."),
    row(Always, Verbose2, "verbose2", "v2", Nothing, "Let the assembler of PTX print what it does."),
    row(
        Always, PreserveRelocs, "preserve-relocs", "preserve-relocs", Nothing,
        "Keep a record of the relocations that were applied, and keep all code.",
    ),
    row(Always, DisableWarnings, "disable-warnings", "w", Nothing, "Taken and ignored; -disable-infos silences warnings."),
    row(Always, WarningAsError, "warning-as-error", "Werror", Nothing, "Treat warnings as errors."),
    row(Always, DisableInfos, "disable-infos", "disable-infos", Nothing, "Print no warnings."),
    row(
        Always, KeepSystemLibraries, "keep-system-libraries", "keep-system-libraries", Nothing,
        "Link the device runtime library even if nothing refers to it.",
    ),
    row(
        Always, KernelsUsed, "kernels-used", "kernels-used", List("name"),
        "Keep only kernels whose name contains one of these, and what they use.",
    ),
    row(
        Always, VariablesUsed, "variables-used", "variables-used", List("name"),
        "Keep only variables whose name contains one of these, and those that code uses.",
    ),
    row(
        Always, CpuArch, "cpu-arch", "cpu-arch",
        Keyword { name: "cpu", allowed: &["AARCH64", "ARMv7", "PPC64LE", "RISCV64", "X86", "X86_64", "unknown"] },
        "The host's processor: libraries of objects for other hosts are passed over.",
    ),
    row(Always, ReportArch, "report-arch", "report-arch", Nothing, "Name the target in every message."),
    row(Always, EmitPtx, "emit-ptx", "emit-ptx", Nothing, "With -dlto: write PTX instead of linked code."),
    row(InDetail, Time, "time", "time", Text("file"), "Append a table of the time taken to this file; - is standard output."),
    row(Always, ExtraWarnings, "extra-warnings", "extrawarn", Nothing, "Warn about more."),
    row(Always, LinkTimeOpt, "link-time-opt", "lto", Nothing, "Optimize at link time."),
    row(Always, Dlto, "dlto", "dlto", Nothing, "Optimize at link time; the same as -lto."),
    row(
        Always, NvvmLatest, "nvvm-latest", "nvvm-latest", Nothing,
        "With -dlto: take the newest optimizer that the toolkit has, also for GPUs whose default is an older one.",
    ),
    row(
        Always, NvvmPath, "nvvmpath", "nvvmpath", Text("folder"),
        "The toolkit's folder of the NVVM library; needed to optimize at link time.",
    ),
    row(
        Always, SplitCompile, "split-compile", "split-compile", Number("threads"),
        "With -dlto: how many threads the optimizer may use; 0 for all.",
    ),
    row(
        Always, SplitCompileExtended, "split-compile-extended", "split-compile-extended", Number("threads"),
        "With -dlto: how many threads may compile parts of the program; 0 for all.",
    ),
    row(
        Always, OfastCompile, "Ofast-compile", "Ofc", OptionalText { name: "0|min|mid|max", default: "0" },
        "With -dlto: how much optimization to give up for faster compilation.",
    ),
    row(
        Always, SuppressDebugInfo, "suppress-debug-info", "suppress-debug-info", Nothing,
        "With -g: leave out what only a debugger needs.",
    ),
    row(
        Always, LinkAsToolsPatch, "link-as-tools-patch", "astoolspatch", Nothing,
        "Link code that tools patch into programs: all of it stays.",
    ),
    row(Always, Xptxas, "Xptxas", "Xptxas", List("option"), "Give these options to the assembler of PTX."),
    row(Always, Xnvvm, "Xnvvm", "Xnvvm", List("option"), "With -dlto: give these options to the optimizer."),
    row(
        Always, Maxrregcount, "maxrregcount", "maxrregcount", Number("registers"),
        "The most registers that code compiled during the link may use.",
    ),
    row(Always, DumpCallgraph, "dump-callgraph", "dump-callgraph", Nothing, "Print who calls whom."),
    row(
        Always, DumpCallgraphNoDemangle, "dump-callgraph-no-demangle", "dump-callgraph-no-demangle", Nothing,
        "Print who calls whom, with the names that the linker sees.",
    ),
    row(
        Always, UseHostInfo, "use-host-info", "use-host-info", Nothing,
        "Remove device code that the host's code does not refer to; this is the default.",
    ),
    row(
        Always, IgnoreHostInfo, "ignore-host-info", "ignore-host-info", Nothing,
        "Keep device code whether or not the host's code refers to it.",
    ),
    row(
        Always, RelocatableLink, "relocatable-link", "r", Nothing,
        "Make one object of the inputs, to be linked again.",
    ),
    row(Always, UidxFile, "uidx-file", "uidx", Text("file"), "The index of unified functions and variables."),
    row(
        Always, DeviceStackProtector, "device-stack-protector", "device-stack-protector", Truth,
        "Protect the stack in code that is compiled during the link.",
    ),
    row(
        InDetail, OptionsFile, "options-file", "optf", OptionsFiles("file"),
        "Read options and inputs from this file, in the place of this option.",
    )
    .details(
        "Words are separated by blanks and line ends; \" keeps blanks together, \\ takes away the meaning of the next \
         character. Files may name files, 15 deep.",
    ),
    OptionRow::new(
        GenHostLinkerScript, "gen-host-linker-script", "ghls",
        OptionalKeyword { name: "lcs-abs|lcs-aug", allowed: &["lcs-abs", "lcs-aug"] },
        "Write a linker script for the host's linker, and link nothing.",
    )
    .details("lcs-aug is the part that device code needs; lcs-abs, the default, is the host linker's own script with it."),
    OptionRow::new(Help, "help", "h", Nothing, "Print this help."),
    OptionRow::new(Version, "version", "V", Nothing, "Print the version, and that of the reference it works like."),
];
