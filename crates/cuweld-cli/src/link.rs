//! A link from the command line: files in, a file out.

use crate::inputs::{self, Files};
use crate::messages::{Messages, usage_diagnostic};
use crate::options::{Architecture, CallgraphNames, HostInfo, LinkArguments};
use crate::output;
use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report, WarningPolicy};
use cuweld::inputs::{Code, Skipped, Unit, Unknown, UnpackOptions, Unpacked, unpack};
use cuweld::options::{KernelRoots, NameStyle, Options, OutputKind, ToolNoteText};
use cuweld::trace::Trace;
use std::path::Path;
use std::process::ExitCode;

/// Links, prints what there is to say, and returns the status to end with.
pub fn run(arguments: &LinkArguments, messages: &Messages) -> ExitCode {
    let mut report = Report::new(WarningPolicy {
        // As in the reference linker, it is not `-w` that silences warnings.
        silent: arguments.messages.disable_infos,
        as_errors: arguments.messages.warnings_as_errors,
    });
    for warning in &arguments.warnings {
        report.add(usage_diagnostic(warning));
    }
    let mut trace = Trace::default();
    let result = link(arguments, messages, &mut report, &mut trace);
    messages.show(&messages.renderer(arguments), report.entries());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_status()),
    }
}

fn link(arguments: &LinkArguments, messages: &Messages, report: &mut Report, trace: &mut Trace) -> Result<(), Failure> {
    // A virtual architecture is accepted, but there is nothing that could be made for it.
    let Architecture::Real(target) = arguments.architecture else { return Ok(()) };
    let files = trace.phase("read", || inputs::read(arguments, report))?;
    let raw = files.raw_inputs();
    let unpacked = trace.phase("unpack", || unpack(&raw, &unpack_options(arguments, messages, target), report))?;
    if arguments.messages.verbose && !messages.as_reference(arguments) {
        say_what_was_skipped(&files, &unpacked, report);
    }
    let options = options(arguments, target, &unpacked);
    let objects: Vec<Input<'_>> = unpacked.units.iter().filter_map(object).collect();
    let linked = cuweld::link(&objects, &options, report, trace)?;
    if let Some(path) = &arguments.files.register_link_binaries {
        let ids: Vec<&str> = unpacked.registered(|unit| linked.left_out.contains(&unit)).collect();
        write(path, registrations(&ids).as_bytes(), report)?;
    }
    if let Some(path) = &arguments.output {
        trace.phase("save", || write(path, &linked.image, report))?;
    }
    match &arguments.files.time_trace {
        Some(path) => write(path, trace.to_json().as_bytes(), report),
        None => Ok(()),
    }
}

fn object<'unit>(unit: &'unit Unit<'_>) -> Option<Input<'unit>> {
    match &unit.code {
        Code::Cubin(bytes) => Some(Input { demand: unit.demand, ..Input::new(&unit.name, bytes) }),
        _ => None,
    }
}

fn write(path: &Path, bytes: &[u8], report: &mut Report) -> Result<(), Failure> {
    output::write(path, bytes).or_else(|error| {
        let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
        report.add(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause));
        Err(Failure::Fatal)
    })
}

/// What the compiler driver compiles the host's side of the program with.
fn registrations(ids: &[&str]) -> String {
    let mut text = format!("#define NUM_PRELINKED_OBJECTS {}\n", ids.len());
    for id in ids {
        text.push_str(&format!("DEFINE_REGISTER_FUNC({id})\n"));
    }
    text
}

fn say_what_was_skipped(files: &Files, unpacked: &Unpacked<'_>, report: &mut Report) {
    for Skipped { name, why } in &unpacked.skipped {
        report.say(Message::Skipped { file: name.clone(), why: why.to_string() });
    }
    for name in &files.not_found {
        report.say(Message::Skipped { file: name.clone(), why: "no folder of libraries (-L) has it".into() });
    }
}

/// The most that inputs may unpack to if nothing is said.
const DEFAULT_LIMIT: u64 = 8 << 30;

fn unpack_options(arguments: &LinkArguments, messages: &Messages, target: &'static Target) -> UnpackOptions {
    UnpackOptions {
        target,
        link_time_optimization: arguments.compile.link_time_optimization,
        limit: arguments.execution.max_unpacked.unwrap_or(DEFAULT_LIMIT),
        unknown: if messages.as_reference(arguments) { Unknown::ByName } else { Unknown::Refuse },
        warn_of_missing_code: !arguments.messages.suppress_arch_warning,
    }
}

/// What the library is asked for.
fn options(arguments: &LinkArguments, target: &'static Target, unpacked: &Unpacked<'_>) -> Options {
    let (mode, roots) = (&arguments.link, &arguments.roots);
    let note_as = arguments.note.note_as.clone().or_else(|| std::env::var("CUWELD_NOTE_AS").ok());
    let note_options = if arguments.note.omit_options { "" } else { &arguments.note.options };
    let mut note = match note_as.as_deref() {
        Some("nvlink-13.0.88") => ToolNoteText::nvlink_13_0_88(note_options),
        _ => ToolNoteText::cuweld(note_options),
    };
    note.object = arguments.note.object.clone();
    let kernels = if !roots.kernels_used.is_empty() || !roots.variables_used.is_empty() {
        KernelRoots::Matching(roots.kernels_used.iter().map(|name| format!("*{name}*")).collect())
    } else if roots.host_info == HostInfo::Ignore {
        KernelRoots::All
    } else {
        unpacked.host_references.kernel_roots().unwrap_or_default()
    };
    Options {
        output: if mode.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: mode.debug,
        suppress_debug_info: mode.suppress_debug_info,
        preserve_relocations: mode.preserve_relocs,
        kernels,
        omit_reserved_shared: mode.disable_smem_reservation,
        allow_undefined_globals: mode.allow_undefined_globals,
        force_explicit_addends: mode.force_rela,
        suppress_stack_size_warning: arguments.messages.suppress_stack_size_warning,
        extra_warnings: arguments.messages.extra_warnings,
        verbose: arguments.messages.verbose,
        dump_call_graph: arguments.messages.dump_callgraph.map(|names| match names {
            CallgraphNames::Demangled => NameStyle::Demangled,
            CallgraphNames::Mangled => NameStyle::Mangled,
        }),
        note,
        ..Options::new(target)
    }
}
