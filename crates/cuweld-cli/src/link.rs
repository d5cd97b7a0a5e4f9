//! A link from the command line: files in, a file out.

use crate::bytes::{self, Bytes};
use crate::compilers::compilers;
use crate::finalizer;
use crate::inputs::{self, Files, Seen};
use crate::messages::{Messages, as_text_file, new_report, usage_diagnostic};
use crate::options::{Architecture, LinkArguments};
use crate::output::{Contents, Pending};
use crate::outputs::{Outputs, not_written, writing_failed};
use crate::progress::Progress;
use crate::request::{check, on_empty, request};
use crate::resources::{self, Workload};
use crate::room::Room;
use crate::save::{self, Step};
use crate::side_files;
use crate::start::ExitCode;
use crate::transfer::Transfer;
use crate::virtual_target;
use crate::watch::Watch;
use cubin::target::{Target, Views};
use cuweld::diagnostics::{Diagnostic, Expansion, Failure, Message, Report};
use cuweld::inputs::lower::Compilers;
use cuweld::inputs::{OpenInputs, Skipped, Unknown, nothing_to_link};
use cuweld::observer::{Observer, Outline, Phase};
use cuweld::options::Options;
use cuweld::trace::Trace;
use cuweld::{Demand, LeastMemory, Linked, Linker, Product, Request};
use cuweld_toolkit::{Compilation, Stage};
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;

/// Links, prints what there is to say, and returns the status to end with.
pub fn run(arguments: &LinkArguments, messages: &Messages) -> ExitCode {
    let mut report = new_report(arguments);
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
    messages.show_report(&renderer, &mut report);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_status()),
    }
}

/// Gives the link to another linker, and the status that it ends with.
fn hand_over(program: &Path, arguments: &LinkArguments, report: &mut Report) -> Result<ExitCode, Failure> {
    if let Some(folder) = &arguments.files.save_dir {
        save::save(folder, &Step::Link, arguments, &inputs::read(arguments, &Seen::default(), 1), report)?;
    }
    finalizer::hand_over(program, std::env::args_os().skip(1)).map_err(|error| {
        let (file, cause) = (program.to_string_lossy().into_owned(), error.to_string());
        report.add(Diagnostic::new(Message::CannotRun { file, cause: cause.clone() }).also(cause));
        Failure::Fatal
    })
}

fn link(arguments: &LinkArguments, messages: &Messages, report: &mut Report, watch: &mut Watch) -> Result<(), Failure> {
    check(arguments, report)?;
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
    let Architecture::Real(target) = arguments.architecture else {
        return virtual_target::link(arguments.architecture.target(), outputs, arguments, messages, report);
    };
    let host_section = side_files::read_host_section(arguments.link.nv_host.as_deref(), report)?;
    let (files, room) = read(arguments, target, watch);
    files.check_outputs(arguments, report)?;
    if let Some(folder) = &arguments.files.save_dir {
        save::save(folder, &Step::Link, arguments, &files, report)?;
    }
    let explains = arguments.messages.verbose && !messages.as_reference(arguments);
    let mut request = request(arguments, messages, target, explains);
    request.options = Options { host_section, unified_index, on_empty: on_empty(arguments, messages), ..request.options };
    let session = Session { files: &files, arguments, messages, target, explains };
    let outcome = session.run(request, room, outputs, report, watch);
    // What a file that was changed meanwhile made the link say is not what is wrong.
    let outcome = outcome.or_else(|failure| files.check_unchanged(report).and(Err(failure)));
    if rayon::current_num_threads() < 2 {
        return outputs.commit(outcome, report);
    }
    // While the system takes apart old outputs, it can take apart the maps of the inputs.
    rayon::join(|| outputs.commit(outcome, report), || files.bytes().for_each(Bytes::forget)).0
}

/// Reads the inputs, and takes as much of the machine as they are worth. Also: room for the output, if it is worth while to make some.
fn read<'arguments>(
    arguments: &'arguments LinkArguments,
    target: &Target,
    watch: &mut Watch,
) -> (ManuallyDrop<Files<'arguments>>, Option<Room>) {
    let (expected, seen) = inputs::expected(arguments);
    let room_for = |workload: Workload| {
        let output = arguments.output.clone().filter(|_| workload.is_large());
        // Most of what is read gets into the output.
        output.map(|output| Room::new(output, workload.bytes as u64 / 8 * 7))
    };
    let (files, room, workload) = resources::take_while_reading(expected, arguments.execution.threads, |readers| {
        // One thread makes no room, and others may not have been started yet.
        let room = room_for(expected).filter(|_| readers > 1);
        room.iter().for_each(Room::make);
        // It is not worth the time to give them back one by one at the end.
        let files = ManuallyDrop::new(run_phase(watch, Phase::Read, || inputs::read(arguments, &seen, readers)));
        room.iter().for_each(Room::halt);
        let workload = Workload { bytes: files.size().max(expected.bytes), ..expected };
        let room = room.or_else(|| room_for(workload));
        ((files, room, workload), workload)
    });
    if workload.is_large() {
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
pub fn run_phase<T>(watch: &mut Watch, phase: Phase, run: impl FnOnce() -> T) -> T {
    _ = watch.begin(phase);
    let result = run();
    watch.end(phase);
    result
}

/// What the program does around a link of the library.
struct Session<'session> {
    files: &'session Files<'session>,
    arguments: &'session LinkArguments,
    messages: &'session Messages,
    target: &'static Target,
    /// Whether more is told than the reference linker tells.
    explains: bool,
}

impl<'session> Session<'session> {
    fn run(
        &self,
        request: Request,
        room: Option<Room>,
        outputs: &mut Outputs,
        report: &mut Report,
        watch: &mut Watch,
    ) -> Result<(), Failure> {
        let mut linker = Linker::new(request).reporting_to(std::mem::take(report));
        let outcome = self.add_inputs(&mut linker, watch).and_then(|()| self.link(&mut linker, room, outputs, watch));
        *report = linker.take_report();
        outcome
    }

    fn add_inputs(&self, linker: &mut Linker<'session>, watch: &mut Watch) -> Result<(), Failure> {
        run_phase(watch, Phase::Unpack, || {
            let raw = self.files.raw_inputs(self.arguments.files.register_link_binaries.is_some());
            if self.arguments.messages.trace {
                raw.iter().for_each(|input| linker.report_mut().list(&*input.name));
            }
            linker.add_all(&raw).map_err(|error| error.failure())
        })?;
        say_how_reading_went(self.files, linker.report_mut())?;
        if self.explains {
            self.say_what_was_skipped(linker);
        }
        Ok(())
    }

    fn link(&self, linker: &mut Linker<'_>, room: Option<Room>, outputs: &mut Outputs, watch: &mut Watch) -> Result<(), Failure> {
        let Session { files, arguments, explains, .. } = *self;
        watch.progress = Progress::start(arguments.compile.progress);
        let compilers = compilers(&arguments.compile, self.messages.is_nvlink(), watch.progress.as_ref());
        let mut is_compiled = false;
        // The result once more, if a report on it is wanted.
        let mut reported = None;
        let linked = compilers.lend(|compilers| {
            let linked = linker.link_into(compilers, watch, |product, report| {
                if let Product::Compiled(image) = product {
                    is_compiled = true;
                    if explains && !arguments.compile.emit_ptx {
                        list_kernels(image, report);
                    }
                }
                reported = arguments.files.report.as_ref().and_then(|_| product.to_vec().ok());
                save_image(arguments, room, |file| product.write_to(&mut Transfer::new(file, files.bytes())), report)
            });
            linked.map_err(|error| self.explain(error.failure(), linker, compilers))
        });
        say_what_was_compiled(&compilers.done(), arguments, self.target, outputs, &mut watch.trace);
        let failure = linked.as_ref().err().copied();
        match failure {
            None => files.check_unchanged(linker.report_mut())?,
            // Much is known of a program with errors in it, once it is compiled.
            Some(Failure::Errors) if watch.reached > Some(Phase::Lower) => {}
            Some(other) => return Err(other),
        }
        let registrations = self.registrations(linker, is_compiled);
        let report = linker.report_mut();
        if failure.is_none() && !is_compiled && explains && self.target.views == Views::Two {
            report.say(Message::CodeAsCompiled {});
        }
        let Linked { image, map } = linked.unwrap_or(Linked { image: None, map: None });
        if let (Some(path), Some(saved)) = (&arguments.output, image) {
            outputs.add_result(path, saved);
        }
        let Outline { graphviz, account, .. } = watch.outline.take().unwrap_or_default();
        add_side_files(outputs, registrations.as_deref(), map.as_deref(), graphviz.as_ref(), arguments, report)?;
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

    /// What is missing may be in an input that could not be used.
    fn explain(&self, failure: Failure, linker: &mut Linker<'_>, compilers: &Compilers<'_>) -> Failure {
        let is_missing = |found: &Diagnostic| matches!(found.message, Message::UndefinedReference { .. });
        if !self.messages.as_reference(self.arguments) && linker.report().diagnostics().any(is_missing) {
            if let Ok(inputs) = OpenInputs::open(&self.files.raw_inputs(false), Unknown::ByName) {
                linker.explain_undefined(&inputs, compilers);
            }
            if !self.explains {
                self.say_what_was_skipped(linker);
            }
        }
        failure
    }

    fn say_what_was_skipped(&self, linker: &mut Linker<'_>) {
        for Skipped { name, why } in linker.skipped().to_vec() {
            linker.report_mut().say(Message::Skipped { file: name, why: why.to_string() });
        }
        for name in &self.files.not_found {
            let why = "no folder of libraries (-L) has it".into();
            linker.report_mut().say(Message::Skipped { file: name.clone(), why });
        }
    }

    /// The list of modules that the host's part of the program registers, if it is to be written.
    fn registrations(&self, linker: &Linker<'_>, is_compiled: bool) -> Option<String> {
        let path = self.arguments.files.register_link_binaries.as_ref().filter(|_| !self.arguments.compile.emit_ptx)?;
        // Links for several GPUs write the same list. One that needs the runtime library lists it, and those that do not must not undo that.
        if linker.units_left_out().any(|unit| unit.demand == Demand::Runtime) && path.exists() {
            return None;
        }
        let mut ids: Vec<&str> = linker.modules().map(|module| module.id.as_str()).collect();
        if is_compiled {
            // The reference linker adds a module that was optimized before those before it.
            ids.reverse();
        }
        Some(registrations(&ids))
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
    trace_compilations(compilations, trace);
    if arguments.files.time.is_some() {
        outputs.add_times(&side_files::times(target, compilations));
    }
}

/// Adds what was compiled to a trace.
pub fn trace_compilations(compilations: &[Compilation], trace: &mut Trace) {
    for Compilation { stage, name, begin, duration, cached, .. } in compilations {
        let what = match (stage, cached) {
            (_, true) => "take from the cache",
            (Stage::Optimize, false) => "optimize",
            (Stage::Assemble, false) => "compile",
        };
        trace.add(format!("{what} {name}"), *begin, *duration);
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
pub fn add_side_files(
    outputs: &mut Outputs,
    registrations: Option<&str>,
    map: Option<&str>,
    graphviz: Option<&Expansion>,
    arguments: &LinkArguments,
    report: &mut Report,
) -> Result<(), Failure> {
    let files = &arguments.files;
    if let (Some(path), Some(text)) = (&files.register_link_binaries, registrations) {
        outputs.add(path, &as_text_file(text), report)?;
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
        Ok(()) => {
            resources::keep_all();
            Ok(Some(pending))
        }
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

/// Says what was found while inputs were read. That comes after what there is to say about the contents of those that were read.
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
