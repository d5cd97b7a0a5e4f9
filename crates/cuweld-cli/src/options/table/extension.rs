//! Options that only cuweld has. Those that other linkers have, too, mean the same here.

use super::Id::*;
use super::Takes::{self, *};
use super::{Id, OptionRow, Origin};

const fn row(id: Id, long: &'static str, short: &'static str, takes: Takes, summary: &'static str) -> OptionRow {
    OptionRow { origin: Origin::Extension, ..OptionRow::new(id, long, short, takes, summary) }
}

#[rustfmt::skip] // a table reads better with several columns on a line
pub(super) const ROWS: &[OptionRow] = &[
    // clang's wrapper of nvlink passes these two on without their values.
    row(Undefined, "undefined", "u", EachIfAny("name"), "Keep this function or variable, whether or not anything refers to it."),
    row(LinkerKeyword, "z", "z", EachIfAny("keyword"), "Accepted and ignored, for callers that pass linker keywords."),
    row(AllowEmpty, "allow-empty", "", Nothing, "Make an empty file if no input has code or data for the target."),
    row(
        WholeArchive, "whole-archive", "", Nothing,
        "Link every member of the archives that follow (the default).",
    ),
    row(
        NoWholeArchive, "no-whole-archive", "", Nothing,
        "Link only those members of the archives that follow which define an undefined symbol.",
    ),
    row(StartLib, "start-lib", "", Nothing, "Treat the objects that follow, up to --end-lib, like members of an archive.")
        .details("They are linked only if they define an undefined symbol."),
    row(EndLib, "end-lib", "", Nothing, "End what --start-lib began."),
    row(
        Diagnostics, "diagnostics", "", Takes::Keyword { name: "style", allowed: &["rich", "nvlink", "json"] },
        "The style of messages.",
    )
    .details(
        "rich is cuweld's own, nvlink is word for word the reference's, json is one object per line. The default is nvlink \
         if the program is called nvlink, else rich. The environment variable CUWELD_DIAGNOSTICS changes the default.",
    ),
    row(Color, "color", "", Takes::Keyword { name: "when", allowed: &["auto", "always", "never"] }, "When messages have colours.")
        .details("auto, the default, is for terminals only, and respects NO_COLOR, CLICOLOR and CLICOLOR_FORCE."),
    row(ErrorLimit, "error-limit", "", Number("count"), "Show this many errors at most, and say how many more there are; 0 for no limit."),
    row(Explain, "explain", "", Text("code"), "Explain the code of a message, such as CW3108; 'list' shows all codes."),
    row(Threads, "threads", "", Number("count"), "How many threads to use; the result does not depend on it."),
    row(
        NoCommandLineNote, "no-command-line-note", "", Nothing,
        "Leave the options out of the note, so that the result does not depend on paths.",
    ),
    row(
        Release, "release", "", Takes::CudaRelease("release"),
        "The release of CUDA whose conventions to follow.",
    )
    .details("Objects of newer releases are refused. The default is the release of the toolkit that the linker is put into (cuweld shim), or the newest that an input names."),
    row(
        Compat, "compat", "", Takes::NvlinkBuild("tool"),
        "Make the file that this tool makes, byte for byte: its release, its note and its defects.",
    )
    .details("Without the number of a build it is the newest of the release. The environment variable CUWELD_COMPAT does the same."),
    row(NoteAs, "note-as", "", Takes::NvlinkBuild("tool"), "The same as --compat, as is CUWELD_NOTE_AS."),
    row(NoteOptions, "note-options", "", Text("text"), "Write this text into the note instead of the options."),
    row(SaveDir, "save-dir", "", Text("folder"), "Copy all inputs and a script that repeats this link into a new folder.")
        .details("The folder holds everything that the link depends on but the CUDA toolkit: it can be sent to someone else."),
    row(PrintGcSections, "print-gc-sections", "", Nothing, "Print what was removed because nothing uses it."),
    row(WhyLive, "why-live", "", Each("name"), "Print the chain of references that keeps this name."),
    row(Trace, "trace", "", Nothing, "Print the inputs as they are read."),
    row(Map, "Map", "Map", Text("file"), "Write a link map to this file.")
        .details("- is standard output, %a in a name the architecture."),
    row(Report, "report", "", Text("file"), "Write a report: what was linked and removed, and the call paths that force registers and stack.")
        .details("HTML, JSON, Markdown or text, by the file's extension. - is standard output, %a in a name the architecture."),
    row(Cref, "cref", "", Nothing, "Add a cross-reference table to the map: where each symbol is defined and referenced."),
    row(TimeTrace, "time-trace", "", Text("file"), "Write the times of all phases to this file, for a trace viewer."),
    row(
        Toolkit, "toolkit", "", Text("folder"),
        "The CUDA toolkit whose compilers are used for PTX and link-time optimization.",
    ),
    row(Jobs, "jobs", "j", Number("count"), "How many compilers to run at once; the default is one for each processor.")
        .details("Under make, its jobserver is asked for each one beyond the first. The result does not depend on it."),
    row(Cache, "cache", "", Text("folder"), "Cache compiled code in this folder; off for no cache.")
        .details(
            "The default is a folder of the user's, and none if the program is called nvlink. The environment variable CUWELD_CACHE does the \
             same, and CUWELD_CACHE_SIZE says how large it may become (2G).",
        ),
    row(
        CompilerLauncher, "compiler-launcher", "", Text("program"),
        "Run every command of the assembler through this program, such as sccache.",
    )
    .details("The environment variable CUWELD_COMPILER_LAUNCHER does the same."),
    row(
        Progress, "progress", "", Takes::Keyword { name: "when", allowed: &["never", "auto", "always"] },
        "Show what is being compiled when that takes long: never, always, or if standard error is a terminal.",
    ),
    row(Finalizer, "finalizer", "", Text("program"), "The linker that generates machine code for sm_100 and later, where code has to be generated."),
    row(
        MaxUnpacked, "max-unpacked", "", Size("bytes"),
        "Refuse compressed inputs that unpack to more than this; K, M and G are understood.",
    ),
    row(
        Generate, "generate", "",
        Takes::Keyword { name: "kind", allowed: &["man", "complete-bash", "complete-zsh", "complete-fish"] },
        "Print the manual page or a shell's completions, and do nothing else.",
    ),
];
