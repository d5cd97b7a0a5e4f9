//! A link from the command line: files in, a file out.

use crate::compilers::{ToolkitCompilers, compile_options};
use crate::finalizer;
use crate::inputs::{self, Files};
use crate::messages::{Messages, usage_diagnostic};
use crate::options::{Architecture, CallgraphNames, HostInfo, LinkArguments};
use crate::output;
use crate::side_files;
use cubin::target::{Target, Views};
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report, WarningPolicy};
use cuweld::inputs::lower::{Compilers, Lowered, Object, lower, units_left_out};
use cuweld::inputs::{Skipped, Unknown, UnpackOptions, Unpacked, unpack};
use cuweld::options::{KernelRoots, Listings, MapContents, NameStyle, Options, OutputKind, ToolNoteText};
use cuweld::trace::Trace;
use cuweld::{Demand, Input};
use std::path::Path;
use std::process::ExitCode;

/// Links, prints what there is to say, and returns the status to end with.
pub fn run(arguments: &LinkArguments, messages: &Messages) -> ExitCode {
    let mut report = Report::new(WarningPolicy {
        // As in the reference linker, it is not `-w` that silences warnings.
        silent: arguments.messages.disable_infos,
        as_errors: arguments.messages.warnings_as_errors,
    })
    .limit_errors(arguments.messages.error_limit.filter(|&most| most > 0).map(|most| most as usize));
    let renderer = messages.renderer(arguments);
    for warning in messages.show_found_while_reading(&renderer, &arguments.warnings) {
        report.add(usage_diagnostic(warning));
    }
    let mut trace = Trace::default();
    let result = match finalizer::asked_for(arguments) {
        Some(program) => match finalizer::hand_over(program, std::env::args_os().skip(1)) {
            Ok(status) => return status,
            Err(error) => {
                let file = program.to_string_lossy().into_owned();
                report.fatal(Message::CannotRun { file, cause: error.to_string() })
            }
        },
        None => link(arguments, messages, &mut report, &mut trace),
    };
    match report.errors_not_shown() {
        0 => {}
        count => report.say(Message::ErrorsNotShown { count }),
    }
    messages.show(&renderer, report.entries());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_status()),
    }
}

/// Whether an option was given.
type IsGiven = fn(&LinkArguments) -> bool;

/// Options that are understood, but whose effect is not there yet.
const NOT_YET: &[(IsGiven, &str)] = &[(|arguments| arguments.files.save_dir.is_some(), "--save-dir")];

fn link(arguments: &LinkArguments, messages: &Messages, report: &mut Report, trace: &mut Trace) -> Result<(), Failure> {
    if let Some((_, option)) = NOT_YET.iter().find(|(is_given, _)| is_given(arguments)) {
        return report.fatal(Message::Usage { text: format!("{option} is not supported yet") });
    }
    if let Some(path) = &arguments.files.time {
        side_files::begin_table_of_times(path, report)?;
    }
    let unified_index = side_files::read_unified_index(arguments.link.uidx_file.as_deref(), report)?;
    // A virtual architecture is accepted, but there is nothing that could be made for it.
    let Architecture::Real(target) = arguments.architecture else { return Ok(()) };
    let host_section = side_files::read_host_section(arguments.link.nv_host.as_deref(), report)?;
    let files = trace.phase("read", || inputs::read(arguments, report))?;
    start_threads(arguments, &files);
    let raw = files.raw_inputs();
    if arguments.messages.trace {
        raw.iter().for_each(|input| report.list(input.name.as_str()));
    }
    let unpacked = trace.phase("unpack", || unpack(&raw, &unpack_options(arguments, messages, target), report))?;
    let explains = arguments.messages.verbose && !messages.as_reference(arguments);
    if explains {
        say_what_was_skipped(&files, &unpacked, report);
    }
    let compilers = ToolkitCompilers::new(&arguments.compile);
    let lowered = trace.phase("lower", || {
        let compilers = Compilers {
            assemble: &|assembly| compilers.assemble(assembly),
            optimize: &|optimization| compilers.optimize(optimization),
        };
        lower(&unpacked, &compile_options(arguments, target, explains), &compilers, report)
    })?;
    let (image, ids, graphviz) = match lowered {
        Lowered::Finished(image) => {
            let is_runtime = |unit: usize| unpacked.units.get(unit).is_some_and(|unit| unit.demand == Demand::Runtime);
            let mut ids: Vec<&str> = unpacked.registered(is_runtime).collect();
            // The reference linker adds a module that was optimized in front of those before it.
            ids.reverse();
            (image, ids, None)
        }
        Lowered::Objects(objects) => {
            let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
            let options = Options { host_section, unified_index, ..options(arguments, messages, target, &unpacked) };
            let linked = cuweld::link(&inputs, &options, report, trace).inspect_err(|_| {
                // What is missing may be in an input that could not be used.
                let is_missing = |found: &Diagnostic| matches!(found.message, Message::UndefinedReference { .. });
                if !messages.as_reference(arguments) && !explains && report.diagnostics().any(is_missing) {
                    say_what_was_skipped(&files, &unpacked, report);
                }
            })?;
            if explains && target.views == Views::Two {
                report.say(Message::CodeAsCompiled {});
            }
            let left_out = units_left_out(&objects, &linked.left_out);
            if let (Some(path), Some(map)) = (&arguments.files.map, &linked.map) {
                write(path, map.as_bytes(), report)?;
            }
            (linked.image, unpacked.registered(|unit| left_out.contains(&unit)).collect(), linked.graphviz)
        }
    };
    if let Some(path) = &arguments.files.register_link_binaries
        && !arguments.compile.emit_ptx
    {
        write(path, registrations(&ids).as_bytes(), report)?;
    }
    if let Some(path) = &arguments.output {
        trace.phase("save", || write(path, &image, report))?;
    }
    if let (Some(path), Some(text)) = (&arguments.files.dot, graphviz) {
        write(path, text.as_bytes(), report)?;
    }
    match &arguments.files.time_trace {
        Some(path) => write(path, trace.to_json().as_bytes(), report),
        None => Ok(()),
    }
}

/// Below this many bytes of input, starting a thread takes longer than it could save.
const WORTH_THREADS: usize = 256 << 10;

/// This thread works, too: it would only wait for the others otherwise.
fn start_threads(arguments: &LinkArguments, files: &Files) {
    let threads = match arguments.execution.threads {
        Some(threads) if threads > 0 => threads as usize,
        _ if files.size() < WORTH_THREADS => 1,
        // As many as the machine has processors.
        _ => 0,
    };
    // It fails if there are threads already, and there are none yet, or if the system gives none: then this one works alone.
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global();
    if pool(threads).is_err() {
        _ = pool(1);
    }
}

fn write(path: &Path, bytes: &[u8], report: &mut Report) -> Result<(), Failure> {
    output::write(path, bytes).map_err(|error| {
        let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
        report.add(Diagnostic::new(Message::CannotWriteOutput { file, cause: cause.clone() }).also(cause));
        Failure::Fatal
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
fn options(arguments: &LinkArguments, messages: &Messages, target: &'static Target, unpacked: &Unpacked<'_>) -> Options {
    let (mode, roots) = (&arguments.link, &arguments.roots);
    let note_as = arguments.note.note_as.clone().or_else(|| std::env::var("CUWELD_NOTE_AS").ok());
    let note_options = if arguments.note.omit_options { "" } else { &arguments.note.options };
    let mut note = match note_as.as_deref() {
        Some("nvlink-13.0.88") => ToolNoteText::nvlink_13_0_88(note_options),
        _ => ToolNoteText::cuweld(note_options),
    };
    note.object = arguments.note.object.clone();
    if let Some(name) = &arguments.messages.tool_name {
        note.tool.clone_from(name);
    }
    let kernels = if !roots.kernels_used.is_empty() || !roots.variables_used.is_empty() {
        KernelRoots::Matching(roots.kernels_used.iter().map(|name| format!("*{name}*")).collect())
    } else if roots.host_info == HostInfo::Ignore {
        KernelRoots::All
    } else {
        unpacked.host_references.kernel_roots().unwrap_or_default()
    };
    Options {
        // Files are compared to find differences, and known ones would only hide others.
        imitate_defects: note_as.as_deref() == Some("nvlink-13.0.88"),
        output: if mode.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: mode.debug,
        suppress_debug_info: mode.suppress_debug_info,
        preserve_relocations: mode.preserve_relocs,
        keep: roots.undefined.clone(),
        kernels,
        omit_reserved_shared: mode.disable_smem_reservation,
        reserve_null_pointer: mode.reserve_null_pointer,
        newest_api: mode.api_version,
        allow_undefined_globals: mode.allow_undefined_globals,
        force_explicit_addends: mode.force_rela,
        refuse_newer_objects: messages.as_reference(arguments),
        suppress_stack_size_warning: arguments.messages.suppress_stack_size_warning,
        stack_warning_per_call: messages.as_reference(arguments),
        extra_warnings: arguments.messages.extra_warnings,
        verbose: arguments.messages.verbose,
        dump_call_graph: arguments.messages.dump_callgraph.map(|names| match names {
            // The reference linker demangles in either case.
            CallgraphNames::Mangled if !messages.as_reference(arguments) => NameStyle::Mangled,
            _ => NameStyle::Demangled,
        }),
        listings: Listings {
            removed: arguments.messages.print_gc_sections,
            graphviz: arguments.files.dot.is_some(),
            why_live: arguments.messages.why_live.clone(),
            map: arguments.files.map.as_ref().map(|_| match arguments.files.cref {
                true => MapContents::SectionsAndCrossReferences,
                false => MapContents::Sections,
            }),
        },
        note,
        ..Options::new(target)
    }
}
