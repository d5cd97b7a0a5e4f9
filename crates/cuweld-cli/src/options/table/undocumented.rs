//! Options that the reference takes although its help does not name them. Compilers use some of them.

use super::Id::*;
use super::Takes::{self, *};
use super::{Id, OptionRow, Origin};

const fn row(id: Id, long: &'static str, short: &'static str, takes: Takes, summary: &'static str) -> OptionRow {
    OptionRow { origin: Origin::Undocumented, ..OptionRow::new(id, long, short, takes, summary) }
}

#[rustfmt::skip] // a table reads better with several columns on a line
pub(super) const ROWS: &[OptionRow] = &[
    row(
        AllowUndefinedGlobals, "allow-undefined-globals", "allow-undefined-globals", Nothing,
        "Accept references to variables that no input defines.",
    ),
    row(
        CudaApiVersion, "cuda-api-version", "cuda-api-version", Text("major.minor"),
        "Refuse objects of a newer minor version; the major version must be the linker's.",
    ),
    row(
        DisableSmemReservation, "disable-smem-reservation", "disable-smem-reservation", Truth,
        "Leave the system's part of shared memory out of the sizes.",
    ),
    row(DotFile, "dot-file", "dot", Text("file"), "Write who calls whom to this file, for Graphviz."),
    row(
        EnableExtendedSmem, "enable-extended-smem", "enable-extended-smem", Truth,
        "Let kernels have all shared memory of the GPU for static variables.",
    ),
    row(Fdcmpt, "fdcmpt", "fdcmpt", Nothing, "With -uumn: taken and ignored; without it, refused."),
    row(
        ForcePartialLto, "force-partial-lto", "force-partial-lto", Nothing,
        "With -dlto: link the optimized code with the rest, even if nothing else is left.",
    ),
    row(ForceRela, "force-rela", "force-rela", Nothing, "Write every relocation with an explicit addend."),
    row(
        ForceWholeLto, "force-whole-lto", "force-whole-lto", Nothing,
        "With -dlto: treat the inputs as the whole program.",
    ),
    row(HostCcbin, "host-ccbin", "host-ccbin", Text("compiler"), "The host's compiler; -ghls asks it for its linker options."),
    row(
        HostLinkerOptions, "host-linker-options", "Xlinker", List("option"),
        "Options of the host's linker; -ghls asks it for its script with them.",
    ),
    row(NvHost, "nv-host", "nv-host", Text("file"), "Copy this file into the section .nv.host of the result."),
    row(
        ReserveNullPointer, "reserve-null-pointer", "reserve-null-pointer", Nothing,
        "Place no shared variable at address zero.",
    ),
    row(Shared, "shared", "shared", Nothing, "The host's side of the program is a shared library; matters to -ghls only."),
    row(SyscallConstOffset, "syscall-const-offset", "syscall-const-offset", Number("bytes"), "Taken and ignored."),
    row(ToolName, "tool-name", "tool-name", Text("name"), "The program's name in messages and in the note."),
    row(Uumn, "uumn", "uumn", Nothing, "Makes -fdcmpt acceptable."),
    row(
        VerboseTkinfo, "verbose-tkinfo", "verbose-tkinfo", Truth,
        "Whether the note is detailed; if not given, -g decides.",
    ),
];
