//! Options that only cuweld has. Those that other linkers have, too, mean the same here.

use super::Id::*;
use super::Takes::{self, *};
use super::{Id, Origin, Row};

const fn row(id: Id, long: &'static str, short: &'static str, takes: Takes, summary: &'static str) -> Row {
    Row { origin: Origin::Extension, ..Row::new(id, long, short, takes, summary) }
}

/// The releases that can be followed.
const RELEASES: &[&str] = &["13.0", "13.1", "13.2", "13.3", "13.4", "13.5"];

/// The tools that can be imitated.
const TOOLS: &[&str] =
    &["nvlink-13.0.88", "nvlink-13.1.115", "nvlink-13.2.86", "nvlink-13.3.73", "nvlink-13.4.92", "nvlink-13.5.37"];

#[rustfmt::skip] // a table reads better with several columns on a line
pub(super) const ROWS: &[Row] = &[
    // clang's wrapper of nvlink passes these two on without their values.
    row(Undefined, "undefined", "u", EachIfAny("name"), "Keep this function or variable, whether or not anything refers to it."),
    row(LinkerKeyword, "z", "z", EachIfAny("keyword"), "Taken and ignored, for callers that address any linker."),
    row(AllowEmpty, "allow-empty", "", Nothing, "Make an empty file if no input has code or data for the target."),
    row(
        WholeArchive, "whole-archive", "", Nothing,
        "Take every member of the archives that follow, as is the default.",
    ),
    row(
        NoWholeArchive, "no-whole-archive", "", Nothing,
        "Take only those members of the archives that follow which define a name that is needed.",
    ),
    row(StartLib, "start-lib", "", Nothing, "Treat the objects that follow, up to --end-lib, like members of an archive.")
        .details("They are taken only if they define a name that is needed."),
    row(EndLib, "end-lib", "", Nothing, "End what --start-lib began."),
    row(
        Diagnostics, "diagnostics", "", Takes::Keyword { name: "style", allowed: &["rich", "nvlink", "json"] },
        "How to write messages.",
    )
    .details(
        "rich is for people, nvlink is word for word the reference's, json is one object per line. The default is nvlink \
         if the program is called nvlink, else rich. The environment variable CUWELD_DIAGNOSTICS changes the default.",
    ),
    row(Color, "color", "", Takes::Keyword { name: "when", allowed: &["auto", "always", "never"] }, "When messages have colours.")
        .details("auto, the default, is for terminals only, and respects NO_COLOR, CLICOLOR and CLICOLOR_FORCE."),
    row(ErrorLimit, "error-limit", "", Number("count"), "Stop after this many errors; 0 for no limit."),
    row(Explain, "explain", "", Text("code"), "Say more about a message's code, such as CW3108; 'list' shows all codes."),
    row(Threads, "threads", "", Number("count"), "How many threads to use; the result does not depend on it."),
    row(
        NoCommandLineNote, "no-command-line-note", "", Nothing,
        "Leave the options out of the note, so that the result does not depend on paths.",
    ),
    row(
        Release, "release", "", Takes::Keyword { name: "release", allowed: RELEASES },
        "The release of CUDA whose rules to follow.",
    )
    .details("Objects of newer releases are refused. The default is the release of the toolkit that the linker is put into (cuweld shim), or the newest that an input names."),
    row(
        Compat, "compat", "", Takes::Keyword { name: "tool", allowed: TOOLS },
        "Make the file that this tool would make: its release, its note and its defects.",
    )
    .details("Makes results comparable byte for byte. The environment variable CUWELD_COMPAT does the same."),
    row(NoteAs, "note-as", "", Takes::Keyword { name: "tool", allowed: TOOLS }, "The same as --compat, as is CUWELD_NOTE_AS."),
    row(NoteOptions, "note-options", "", Text("text"), "Write this text into the note instead of the options."),
    row(SaveDir, "save-dir", "", Text("folder"), "Copy all inputs and a script that repeats this link into a new folder.")
        .details("The folder holds everything that the link depends on but the CUDA toolkit: it can be sent to someone else."),
    row(PrintGcSections, "print-gc-sections", "", Nothing, "Print what was removed because nothing uses it."),
    row(WhyLive, "why-live", "", Each("name"), "Print the chain of references that keeps this name."),
    row(Trace, "trace", "", Nothing, "Print the inputs as they are read."),
    row(Map, "Map", "Map", Text("file"), "Write what went where to this file.")
        .details("- is standard output, %a in a name the architecture."),
    row(Report, "report", "", Text("file"), "Write what was linked, what was removed and who is to blame for registers and stack.")
        .details("HTML, JSON, Markdown or text, as the file's name ends. - is standard output, %a in a name the architecture."),
    row(Cref, "cref", "", Nothing, "Add a table of who defines and who refers to each name to the map."),
    row(TimeTrace, "time-trace", "", Text("file"), "Write when each phase ran to this file, for a trace viewer."),
    row(
        Toolkit, "toolkit", "", Text("folder"),
        "The CUDA toolkit whose compilers are used for PTX and link-time optimization.",
    ),
    row(Jobs, "jobs", "j", Number("count"), "How many compilers to run at once; the default is one for each processor.")
        .details("Under make, its jobserver is asked for each one beyond the first. The result does not depend on it."),
    row(Cache, "cache", "", Text("folder"), "Keep what was compiled in this folder, and do not compile it again; off for none.")
        .details(
            "The default is a folder of the user's, and none if the program is called nvlink. The environment variable CUWELD_CACHE does the \
             same, and CUWELD_CACHE_SIZE says how large it may become (2G).",
        ),
    row(
        CompilerLauncher, "compiler-launcher", "", Text("program"),
        "Put this program, such as sccache, before every command of the assembler.",
    )
    .details("The environment variable CUWELD_COMPILER_LAUNCHER does the same."),
    row(
        Progress, "progress", "", Takes::Keyword { name: "when", allowed: &["never", "auto", "always"] },
        "Show what is being compiled when that takes long: never, always, or if standard error is a terminal.",
    ),
    row(Finalizer, "finalizer", "", Text("program"), "The program that makes final code for sm_100 and later."),
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

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::release::Release;

    #[test]
    fn every_release_can_be_named() {
        assert!(Release::all().iter().map(|release| release.name).eq(RELEASES.iter().copied()));
        let programs = Release::all().iter().filter_map(|release| release.nvlink);
        assert!(programs.map(|build| format!("nvlink-{}", build.version)).eq(TOOLS.iter().copied()));
    }
}
