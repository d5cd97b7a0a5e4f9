//! A link from the command line: files in, a file out.

use crate::advice;
use crate::bytes::{self, Bytes};
use crate::compilers::{compile_options, compilers};
use crate::finalizer;
use crate::inputs::{self, Files};
use crate::messages::{Messages, as_text_file, usage_diagnostic};
use crate::options::{Architecture, CallgraphNames, HostInfo, LinkArguments};
use crate::output::{Contents, Pending};
use crate::outputs::{Outputs, not_written, writing_failed};
use crate::progress::Progress;
use crate::resources::{self, Size};
use crate::room::Room;
use crate::save;
use crate::side_files;
use crate::transfer::Transfer;
use crate::watch::Watch;
use cubin::release::{Release, Tool};
use cubin::target::{Target, Views};
use cuweld::diagnostics::{Diagnostic, Expansion, Failure, Message, Report, WarningPolicy};
use cuweld::imitations::Imitations;
use cuweld::inputs::lower::{Lowered, Object, lower, name_the_units, units_left_out};
use cuweld::inputs::{Skipped, Unknown, UnpackOptions, Unpacked, explain_missing_names, nothing_to_link, unpack};
use cuweld::observer::{Observer, Outline, Phase};
use cuweld::options::{
    KernelRoots, Listings, MapContents, NameStyle, OnEmpty, Options, OutputKind, ReleaseChoice, ToolNoteText, UnifiedIndex,
};
use cuweld::trace::Trace;
use cuweld::{Demand, Finished, Input, LeastMemory, Linked};
use cuweld_toolkit::{Compilation, Stage};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
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
    messages.choose_colors(arguments.messages.colors);
    let renderer = messages.renderer(arguments);
    bytes::report_with(&renderer);
    for warning in messages.show_found_while_reading(&renderer, &arguments.warnings) {
        report.add(usage_diagnostic(warning));
    }
    let mut watch = Watch::default();
    let result = match finalizer::asked_for(arguments) {
        Some(program) => match hand_over(program, arguments, &mut report) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        None => link(arguments, messages, &mut report, &mut watch),
    };
    match report.errors_not_shown() {
        0 => {}
        count => report.say(Message::ErrorsNotShown { count }),
    }
    report.revise(advice::add_to);
    messages.show(&renderer, report.entries());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_status()),
    }
}

/// Gives the link to another linker, and the status that it ends with.
fn hand_over(program: &Path, arguments: &LinkArguments, report: &mut Report) -> Result<ExitCode, Failure> {
    if let Some(folder) = &arguments.files.save_dir {
        save::save(folder, arguments, &inputs::read(arguments), report)?;
    }
    finalizer::hand_over(program, std::env::args_os().skip(1)).map_err(|error| {
        let (file, cause) = (program.to_string_lossy().into_owned(), error.to_string());
        report.add(Diagnostic::new(Message::CannotRun { file, cause: cause.clone() }).also(cause));
        Failure::Fatal
    })
}

fn link(arguments: &LinkArguments, messages: &Messages, report: &mut Report, watch: &mut Watch) -> Result<(), Failure> {
    let mut outputs = Outputs::begin(arguments, report)?;
    let outcome = link_into(&mut outputs, arguments, messages, report, watch);
    outputs.commit(outcome, report)
}

fn link_into(
    outputs: &mut Outputs,
    arguments: &LinkArguments,
    messages: &Messages,
    report: &mut Report,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let unified_index = side_files::read_unified_index(arguments.link.uidx_file.as_deref(), report)?;
    let Architecture::Real(target) = arguments.architecture else { return for_virtual_architecture(arguments, messages, report) };
    let host_section = side_files::read_host_section(arguments.link.nv_host.as_deref(), report)?;
    let (files, room) = read(arguments, target, watch);
    files.check_outputs(arguments, report)?;
    if let Some(folder) = &arguments.files.save_dir {
        save::save(folder, arguments, &files, report)?;
    }
    let inputs = Inputs { files: &files, target, host_section, unified_index, room };
    // What a file that was changed meanwhile made the link say is not what is wrong.
    let outcome = link_files(inputs, outputs, arguments, messages, report, watch)
        .or_else(|failure| files.check_unchanged(report).and(Err(failure)));
    // While the system takes apart old outputs, it can take apart the maps of the inputs.
    rayon::join(|| outputs.commit(outcome, report), || files.bytes().for_each(Bytes::forget)).0
}

/// Reads the inputs, and takes as much of the machine as they are worth. Also: room for the output, if it is worth while to make some.
fn read<'arguments>(
    arguments: &'arguments LinkArguments,
    target: &Target,
    watch: &mut Watch,
) -> (ManuallyDrop<Files<'arguments>>, Option<Room>) {
    let threads = |size| resources::threads(arguments.execution.threads, size);
    // Many files are read by all threads. Of few, it is soon known how large they are.
    let count = arguments.inputs.len();
    let expected_size = if count < resources::MANY_FILES { inputs::expected_size(arguments) } else { 0 };
    let expected = Size::of(expected_size, count);
    if expected > Size::Small {
        resources::start(expected, threads(expected));
    }
    let room_for = |size: Size, bytes: usize| {
        let output = arguments.output.clone().filter(|_| size == Size::Large);
        // Most of what is read gets into the output.
        output.map(|output| Room::new(output, bytes as u64 / 8 * 7))
    };
    let room = room_for(expected, expected_size);
    room.iter().for_each(Room::make);
    // It is not worth the time to give them back one by one at the end.
    let files = ManuallyDrop::new(run_phase(watch, Phase::Read, || inputs::read(arguments)));
    room.iter().for_each(Room::halt);
    let size = Size::of(files.size(), count).max(expected);
    let room = room.or_else(|| room_for(size, files.size()));
    if expected == Size::Small {
        resources::start(size, threads(size));
    } else if size > expected {
        resources::expect_much(rayon::current_num_threads());
    }
    if size == Size::Large {
        let memory = LeastMemory::of(files.bytes().map(AsRef::as_ref), target);
        resources::touch_ahead(memory.load);
        // From then on, other threads have little to do for a while.
        let room = room.clone();
        watch.while_resolving = Some(Box::new(move || {
            resources::touch_ahead(memory.link);
            room.iter().for_each(Room::make);
        }));
    }
    (files, room)
}

/// Runs a phase that comes before those of the library.
fn run_phase<T>(watch: &mut Watch, phase: Phase, run: impl FnOnce() -> T) -> T {
    _ = watch.begin(phase);
    let result = run();
    watch.end(phase);
    result
}

/// What was read.
struct Inputs<'files> {
    files: &'files Files<'files>,
    target: &'static Target,
    host_section: Option<Vec<u8>>,
    unified_index: Option<UnifiedIndex>,
    /// Where the output may go.
    room: Option<Room>,
}

fn link_files(
    Inputs { files, target, host_section, unified_index, room }: Inputs<'_>,
    outputs: &mut Outputs,
    arguments: &LinkArguments,
    messages: &Messages,
    report: &mut Report,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let unpacked = run_phase(watch, Phase::Unpack, || {
        let raw = files.raw_inputs(arguments.files.register_link_binaries.is_some());
        if arguments.messages.trace {
            raw.iter().for_each(|input| report.list(&*input.name));
        }
        unpack(&raw, &unpack_options(arguments, messages, target), report)
    })?;
    say_how_reading_went(files, report)?;
    let explains = arguments.messages.verbose && !messages.as_reference(arguments);
    if explains {
        say_what_was_skipped(files, &unpacked, report);
    }
    let progress = Progress::start(arguments.compile.progress);
    let compilers = compilers(&arguments.compile, messages.is_nvlink(), progress.as_ref());
    let compile_options = compile_options(arguments, target, explains, !messages.as_reference(arguments));
    let lowered =
        run_phase(watch, Phase::Lower, || compilers.lend(|compilers| lower(&unpacked, &compile_options, compilers, report)));
    drop(progress);
    say_what_was_compiled(&compilers.done(), arguments, target, outputs, &mut watch.trace);
    let lowered = lowered?;
    // The result once more, if a report on it is wanted.
    let mut reported = None;
    let is_runtime = |unit: usize| unpacked.units.get(unit).is_some_and(|unit| unit.demand == Demand::Runtime);
    let (linked, ids, lacks_runtime) = match lowered {
        Lowered::Finished(image) => {
            let mut ids: Vec<&str> = unpacked.registered(is_runtime).collect();
            // The reference linker adds a module that was optimized in front of those before it.
            ids.reverse();
            if explains && !arguments.compile.emit_ptx {
                list_kernels(&image, report);
            }
            reported = arguments.files.report.as_ref().map(|_| image.to_vec());
            let linked = save_image(arguments, room, |file| file.write_all(&image), report);
            (linked.map(|image| Linked { image, map: None }), ids, (0..unpacked.units.len()).any(is_runtime))
        }
        Lowered::Objects(objects) => {
            let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
            let from_host = || unpacked.host_references.kernel_roots().unwrap_or_default();
            let kernels = given_roots(arguments).unwrap_or_else(from_host);
            let on_empty = on_empty(arguments, messages, report);
            let options = Options { host_section, unified_index, kernels, on_empty, ..link_options(arguments, messages, target) };
            let save = |image: &Finished<'_, '_>, report: &mut Report| {
                reported = arguments.files.report.as_ref().and_then(|_| image.to_vec().ok());
                save_image(arguments, room, |file| image.write_to(&mut Transfer::new(file, files.bytes())), report)
            };
            let linked = cuweld::link_with(&inputs, &options, report, watch, save).inspect_err(|_| {
                // What is missing may be in an input that could not be used.
                let is_missing = |found: &Diagnostic| matches!(found.message, Message::UndefinedReference { .. });
                if !messages.as_reference(arguments) && report.diagnostics().any(is_missing) {
                    compilers.lend(|compilers| name_the_units(&unpacked, &compile_options, compilers, report));
                    explain_missing_names(&files.raw_inputs(false), target, report);
                    if !explains {
                        say_what_was_skipped(files, &unpacked, report);
                    }
                }
            });
            if linked.is_ok() && explains && target.views == Views::Two {
                report.say(Message::CodeAsCompiled {});
            }
            let left_out = watch.outline.as_ref().map_or(Vec::new(), |outline| units_left_out(&objects, &outline.left_out));
            let ids = unpacked.registered(|unit| left_out.binary_search(&unit).is_ok()).collect();
            (linked, ids, left_out.iter().any(|&unit| is_runtime(unit)))
        }
    };
    let failure = linked.as_ref().err().copied();
    match failure {
        None => files.check_unchanged(report)?,
        Some(Failure::Errors) => {}
        Some(other) => return Err(other),
    }
    let Linked { image, map } = linked.unwrap_or(Linked { image: None, map: None });
    if let (Some(path), Some(saved)) = (&arguments.output, image) {
        outputs.add_pending(path, saved);
    }
    let Outline { graphviz, account, .. } = watch.outline.take().unwrap_or_default();
    // Links for several GPUs write the same list. One that needs the runtime library lists it, and those that do not must not undo that.
    let is_there = arguments.files.register_link_binaries.as_ref().is_some_and(|path| path.exists());
    let ids = Some(ids.as_slice()).filter(|_| !(lacks_runtime && is_there));
    add_side_files(outputs, ids, map.as_deref(), graphviz.as_ref(), arguments, report)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let (Some(path), Some(image)) = (&arguments.files.report, reported) {
        let text = crate::report::on_link(path, arguments.output.as_deref(), &image, account.as_ref());
        outputs.add(path, &text, report)?;
    }
    match &arguments.files.time_trace {
        Some(path) => outputs.add(path, watch.trace.to_json().as_bytes(), report),
        None => Ok(()),
    }
}

/// Tells of what was compiled where that was asked for.
fn say_what_was_compiled(
    compilations: &[Compilation],
    arguments: &LinkArguments,
    target: &Target,
    outputs: &mut Outputs,
    trace: &mut Trace,
) {
    for Compilation { stage, name, begin, duration, cached } in compilations {
        let what = match (stage, cached) {
            (_, true) => "take from the cache",
            (Stage::Optimize, false) => "optimize",
            (Stage::Assemble, false) => "compile",
        };
        trace.add(format!("{what} {name}"), *begin, *duration);
    }
    if arguments.files.time.is_some() {
        outputs.add_times(&side_files::times(target, compilations));
    }
}

/// Lists what the kernels of a program need that link-time optimization made whole. The reference linker lists nothing then.
fn list_kernels(image: &[u8], report: &mut Report) {
    let Ok(kernels) = cuweld::kernels::kernels(image) else { return };
    for kernel in kernels.iter().rev() {
        report.say(Message::KernelHeading { kernel: kernel.name.clone() });
        let stack = kernel.stack.map_or_else(|| "unknown".to_owned(), |stack| stack.to_string());
        let text = format!(
            "used {} registers, used {} barriers, {stack} stack, {} bytes smem, {} bytes cmem[0]",
            kernel.registers, kernel.barriers, kernel.shared, kernel.parameters
        );
        report.say(Message::KernelResources { text });
    }
}

/// Adds what tells of the program, even if there are errors in it.
fn add_side_files(
    outputs: &mut Outputs,
    ids: Option<&[&str]>,
    map: Option<&str>,
    graphviz: Option<&Expansion>,
    arguments: &LinkArguments,
    report: &mut Report,
) -> Result<(), Failure> {
    let files = &arguments.files;
    if let (Some(path), Some(ids), false) = (&files.register_link_binaries, ids, arguments.compile.emit_ptx) {
        outputs.add(path, &as_text_file(&registrations(ids)), report)?;
    }
    if let (Some(path), Some(map)) = (&files.map, map) {
        outputs.add(path, map.as_bytes(), report)?;
    }
    if let (Some(path), Some(text)) = (&files.dot, graphviz) {
        outputs.add_text(path, text, report)?;
    }
    Ok(())
}

/// Writes the output, if one is wanted. It takes its place when everything else is done.
fn save_image(
    arguments: &LinkArguments,
    room: Option<Room>,
    write: impl FnOnce(&mut Contents) -> io::Result<()>,
    report: &mut Report,
) -> Result<Option<Pending>, Failure> {
    let Some(path) = &arguments.output else { return Ok(None) };
    let pending = room.as_ref().and_then(Room::take).map_or_else(|| Pending::begin(path), Ok);
    let mut pending = pending.map_err(|error| not_written(path, &error, report))?;
    match write(&mut pending.contents) {
        Ok(()) => Ok(Some(pending)),
        Err(error) => Err(writing_failed(path, &error, report)),
    }
}

/// What the compiler driver compiles the host's side of the program with.
pub fn registrations(ids: &[&str]) -> String {
    let mut text = format!("#define NUM_PRELINKED_OBJECTS {}\n", ids.len());
    for id in ids {
        text.push_str(&format!("DEFINE_REGISTER_FUNC({id})\n"));
    }
    text
}

/// The reference linker accepts a virtual architecture, reads the inputs and makes nothing of them.
fn for_virtual_architecture(arguments: &LinkArguments, messages: &Messages, report: &mut Report) -> Result<(), Failure> {
    if messages.as_reference(arguments) {
        return say_how_reading_went(&inputs::read(arguments), report);
    }
    let name = &arguments.arch;
    let text = format!("nothing can be linked for '{name}', which is a virtual architecture");
    let real = name.replace("compute_", "sm_");
    report.fatal(Diagnostic::new(Message::Usage { text }).hint(format!("name a real one, such as -arch={real}")))
}

/// Says what was found while inputs were read. That comes behind what there is to say about the contents of those that were read.
pub fn say_how_reading_went(files: &Files<'_>, report: &mut Report) -> Result<(), Failure> {
    if let Some(failure) = &files.failure {
        return report.fatal(failure.clone());
    }
    for passed_over in &files.passed_over {
        report.add(passed_over.clone());
        if report.has_errors() {
            return report.fatal(nothing_to_link());
        }
    }
    Ok(())
}

fn say_what_was_skipped(files: &Files<'_>, unpacked: &Unpacked<'_>, report: &mut Report) {
    for Skipped { name, why } in &unpacked.skipped {
        report.say(Message::Skipped { file: name.clone(), why: why.to_string() });
    }
    for name in &files.not_found {
        report.say(Message::Skipped { file: name.clone(), why: "no folder of libraries (-L) has it".into() });
    }
}

/// How inputs are opened.
pub fn unpack_options(arguments: &LinkArguments, messages: &Messages, target: &'static Target) -> UnpackOptions {
    UnpackOptions {
        target,
        link_time_optimization: arguments.compile.link_time_optimization,
        limit: arguments.execution.max_unpacked,
        unknown: if messages.takes_as_reference(arguments) { Unknown::ByName } else { Unknown::Refuse },
        warn_of_missing_code: !arguments.messages.suppress_arch_warning,
        imitations: imitated_release(arguments).map_or(Imitations::NONE, Imitations::of),
        leave_out_linked_modules: arguments.files.register_link_binaries.is_some(),
        name_by_source: !messages.as_reference(arguments),
    }
}

/// The variables that do what `--compat` does.
pub const COMPATIBILITY_VARIABLES: [&str; 2] = ["CUWELD_COMPAT", "CUWELD_NOTE_AS"];

/// The release whose program is to be imitated.
fn imitated_release(arguments: &LinkArguments) -> Option<&'static Release> {
    let variable = |name: &&str| std::env::var(name).ok();
    let named = arguments.compat.clone().or_else(|| COMPATIBILITY_VARIABLES.iter().find_map(variable))?;
    Release::of_tool(&named).filter(|(tool, _)| *tool == Tool::Nvlink).map(|(_, release)| release)
}

/// What to do if there is nothing to link. Under the reference's name that is no error: compiler drivers link files of the host alone, too.
/// That there was device code, but for other GPUs, is worth a warning there. Where modules are to be registered, some may be linked elsewhere.
fn on_empty(arguments: &LinkArguments, messages: &Messages, report: &Report) -> OnEmpty {
    let is_for_others = |said: &Diagnostic| matches!(said.message, Message::NoCodeForTarget { .. });
    let is_meant = arguments.link.allow_empty || arguments.files.register_link_binaries.is_some();
    match messages.takes_as_reference(arguments) {
        _ if is_meant || imitated_release(arguments).is_some() => OnEmpty::Accept,
        true if report.diagnostics().any(is_for_others) => OnEmpty::Warn,
        true => OnEmpty::Accept,
        false => OnEmpty::Refuse,
    }
}

/// The kernels to keep, if the command line says; else that is up to what host code refers to.
pub fn given_roots(arguments: &LinkArguments) -> Option<KernelRoots> {
    let roots = &arguments.roots;
    if !roots.kernels_used.is_empty() || !roots.variables_used.is_empty() {
        return Some(KernelRoots::Matching(roots.kernels_used.iter().map(|name| format!("*{name}*")).collect()));
    }
    (roots.host_info == HostInfo::Ignore).then_some(KernelRoots::All)
}

/// What the library is asked for, except for the kernels to keep.
pub fn link_options(arguments: &LinkArguments, messages: &Messages, target: &'static Target) -> Options {
    let (mode, roots) = (&arguments.link, &arguments.roots);
    let imitated = imitated_release(arguments);
    let note_options = match &arguments.note.other_options {
        _ if arguments.note.omit_options => "",
        Some(other) => other,
        None => &arguments.note.options,
    };
    let mut note = match imitated {
        Some(release) => ToolNoteText::nvlink(release, note_options),
        None => ToolNoteText::cuweld(note_options),
    };
    note.object = arguments.note.object.clone();
    if let Some(name) = &arguments.messages.tool_name {
        note.tool.clone_from(name);
    }
    let release = imitated.or_else(|| Release::by_name(arguments.release.as_deref()?));
    Options {
        release: release.map_or(ReleaseChoice::AtLeast(Release::oldest()), ReleaseChoice::Exactly),
        imitations: imitated.map_or(Imitations::NONE, Imitations::of),
        output: if mode.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: mode.debug,
        suppress_debug_info: mode.suppress_debug_info,
        preserve_relocations: mode.preserve_relocs,
        keep: roots.undefined.clone(),
        omit_reserved_shared: mode.disable_smem_reservation,
        extended_shared: mode.enable_extended_smem,
        reserve_null_pointer: mode.reserve_null_pointer,
        newest_api: mode.api_version,
        allow_undefined_globals: mode.allow_undefined_globals,
        force_explicit_addends: mode.force_rela,
        suppress_stack_size_warning: arguments.messages.suppress_stack_size_warning,
        stack_warning_per_call: messages.as_reference(arguments),
        extra_warnings: arguments.messages.extra_warnings,
        verbose: arguments.messages.verbose,
        largest_image: arguments.execution.max_unpacked,
        dump_call_graph: arguments.messages.dump_callgraph.map(|names| match names {
            // The reference linker demangles in either case.
            CallgraphNames::Mangled if !messages.as_reference(arguments) => NameStyle::Mangled,
            _ => NameStyle::Demangled,
        }),
        listings: Listings {
            removed: arguments.messages.print_gc_sections,
            account: arguments.files.report.is_some(),
            graphviz: arguments.files.dot.is_some(),
            every_pair: messages.as_reference(arguments),
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
