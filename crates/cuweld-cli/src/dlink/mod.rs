//! `cuweld dlink`: the whole device link. Host objects and archives in, one host object out, with linked code for several GPUs.

mod options;

pub use options::{MODES, one_of};

use crate::bytes;
use crate::compilers::compilers;
use crate::inputs::{self, Files, RUNTIME_LIBRARY};
use crate::libraries::Processor;
use crate::link::{add_side_files, registrations, say_how_reading_went, trace_compilations};
use crate::messages::{Messages, new_report, usage_diagnostic};
use crate::options::{
    Architecture, InputItem, InputSource, Invocation, LinkArguments, OptionsFiles, SideFiles, read_options_file,
};
use crate::output::Pending;
use crate::outputs::{Outputs, not_written, writing_failed};
use crate::progress::Progress;
use crate::request::{check, on_empty, request};
use crate::resources::{self, Workload};
use crate::save::{self, Step};
use crate::side_files;
use crate::start::ExitCode;
use crate::watch::Watch;
use cubin::target::Target;
use cuweld::diagnostics::{Diagnostic, Entry, Failure, Message, Report};
use cuweld::inputs::{OpenInputs, Unknown};
use cuweld::observer::{Observer, Outline, Phase};
use cuweld::options::OnEmpty;
use cuweld::trace::Trace;
use cuweld_device_link::{Bundle, Machine, Program, Visibility, link_each};
use cuweld_toolkit::{Compilation, Search};
use fatbin::write::{Embedded, Settings, SourceStyle, Wrapper};
use options::{DeviceLinkArguments, Emit, HELP, Targets};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the result goes if nothing is said: what nvcc does.
const DEFAULT_OUTPUT: &str = "a_dlink.o";

/// Links, prints what there is to say, and returns the status to end with.
pub fn run(words: Vec<OsString>, messages: &Messages) -> ExitCode {
    match device_link(words.into_iter(), messages) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Said(status)) => status,
        Err(Stop::Usage(text)) => {
            let hint = "cuweld dlink -arch=sm_80,sm_90 a.o b.o libx.a -lcudadevrt -o dlink.o";
            let diagnostic = Diagnostic::new(Message::Usage { text }).hint(format!("such as: {hint}"));
            messages.show(&messages.own_renderer(), &[Entry::Diagnostic(diagnostic)]);
            ExitCode::FAILURE
        }
    }
}

/// Why there is no result.
enum Stop {
    /// What was said already, and the status to end with.
    Said(ExitCode),
    /// What is wrong with the command line.
    Usage(String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Said(ExitCode::from(failure.exit_status()))
    }
}

fn device_link(words: impl Iterator<Item = OsString>, messages: &Messages) -> Result<(), Stop> {
    let files = OptionsFiles::default();
    let mut asked = DeviceLinkArguments::read(words, &|path| files.read(path)).map_err(Stop::Usage)?;
    if asked.help {
        return Err(Stop::Said(messages.print(HELP)));
    }
    if !asked.names_architectures {
        return Err(Stop::Usage("no architecture is named".into()));
    }
    let output = asked.output.clone().unwrap_or_else(|| DEFAULT_OUTPUT.into());
    let common = common_arguments(&mut asked, &output, messages)?;
    messages.choose_colors(common.messages.colors);
    let renderer = messages.renderer(&common);
    bytes::report_with(&renderer);
    let mut report = new_report(&common);
    let late = messages.show_found_while_reading(&renderer, &common.warnings);
    late.for_each(|warning| report.add(usage_diagnostic(warning)));
    refuse_what_is_of_one_link(&common)?;

    let mut trace = Trace::default();
    _ = trace.begin(Phase::Read);
    let files = read(&asked, &common);
    trace.end(Phase::Read);
    let result = (|| {
        say_how_reading_went(&files, &mut report)?;
        files.check_outputs(&common, &mut report)?;
        if let Some(folder) = &common.files.save_dir {
            save::save(folder, &Step::DeviceLink(&asked.repeated), &common, &files, &mut report)?;
        }
        report.checkpoint()
    })();
    messages.show_report(&renderer, &mut report);
    result?;

    let raw = files.raw_inputs(true);
    let unknown = if messages.as_reference(&common) { Unknown::ByName } else { Unknown::Refuse };
    let opened = match OpenInputs::open(&raw, unknown) {
        Ok(opened) => opened,
        Err(message) => {
            let mut report = new_report(&common);
            report.add(Diagnostic::new(*message));
            messages.show_report(&renderer, &mut report);
            return Err(Stop::Said(ExitCode::FAILURE));
        }
    };
    let targets = match &asked.targets {
        Targets::Named(targets) => targets.clone(),
        Targets::All => opened.common_targets(),
    };
    if matches!(asked.targets, Targets::All) && targets.is_empty() {
        return Err(Stop::Usage("there is no GPU that every input has code for".into()));
    }
    let each = arguments_of_each(&asked, &targets, &output, &files, messages)?;
    let linked = link(&opened, each, &targets, messages, &mut trace)?;
    let mut report = new_report(&common);
    let written =
        write(&linked, &asked, &common, &opened, &output, &trace, &mut report).and_then(|()| files.check_unchanged(&mut report));
    messages.show_report(&renderer, &mut report);
    Ok(written?)
}

/// Reads the inputs, and starts as many threads as the links for all targets are worth.
fn read<'arguments>(asked: &DeviceLinkArguments, common: &'arguments LinkArguments) -> Files<'arguments> {
    let count = match &asked.targets {
        Targets::Named(targets) => targets.len().max(1),
        Targets::All => 1,
    };
    // What is opened once is linked for each.
    let of_all = |one: Workload| Workload { bytes: one.bytes.saturating_mul(count), files: one.files.saturating_mul(count) };
    let (expected, seen) = inputs::expected(common);
    resources::take_while_reading(of_all(expected), common.execution.threads, |readers| {
        let files = inputs::read(common, &seen, readers);
        let workload = of_all(Workload { bytes: files.size().max(expected.bytes), ..expected });
        (files, workload)
    })
}

/// The command line that the links for all targets share.
fn common_arguments(asked: &mut DeviceLinkArguments, output: &Path, messages: &Messages) -> Result<LinkArguments, Stop> {
    // It is read for the first, or for any.
    let any = Target::all().first().map_or("", |target| target.name);
    let first = match &asked.targets {
        Targets::Named(targets) => targets.first().map_or(any, |target| target.name),
        Targets::All => any,
    };
    let common = arguments(asked, first, output, false, messages)?;
    // nvcc names it without being asked to.
    match runtime_library_not_named(&common) {
        Some(runtime) => {
            asked.link.push(runtime.into());
            arguments(asked, first, output, false, messages)
        }
        None => Ok(common),
    }
}

/// The command lines of the links for all targets. Of several, listings are named after their GPUs.
fn arguments_of_each(
    asked: &DeviceLinkArguments,
    targets: &[&'static Target],
    output: &Path,
    files: &Files<'_>,
    messages: &Messages,
) -> Result<Vec<LinkArguments>, Stop> {
    let several = targets.len() > 1;
    let mut each = Vec::new();
    for target in targets {
        let mut arguments = arguments(asked, target.name, output, several, messages)?;
        if several {
            let SideFiles { map, dot, report, .. } = &mut arguments.files;
            let listings = [map, dot, report].into_iter().flatten().filter(|path| **path != Path::new("-"));
            listings.for_each(|path| *path = named_after(path, target));
        }
        let mut report = new_report(&arguments);
        let checked = check(&arguments, &mut report).and_then(|()| files.check_outputs(&arguments, &mut report));
        messages.show_report(&messages.renderer(&arguments), &mut report);
        checked?;
        each.push(arguments);
    }
    Ok(each)
}

/// What came of all links.
#[derive(Default)]
struct Linked {
    programs: Vec<Program>,
    /// What is known of each program, and the command line that says who wants to know.
    outlines: Vec<(LinkArguments, Outline)>,
    compilations: Vec<Compilation>,
}

/// Links for every target. One that fails fails the whole, after all were tried.
fn link(
    inputs: &OpenInputs<'_>,
    each: Vec<LinkArguments>,
    targets: &[&'static Target],
    messages: &Messages,
    trace: &mut Trace,
) -> Result<Linked, Stop> {
    let Some(common) = each.first() else { return Ok(Linked::default()) };
    let mut report = new_report(common);
    let unified_index = side_files::read_unified_index(common.link.uidx_file.as_deref(), &mut report);
    let host_section = side_files::read_host_section(common.link.nv_host.as_deref(), &mut report);
    messages.show_report(&messages.renderer(common), &mut report);
    let (unified_index, host_section) = (unified_index?, host_section?);
    let ask = |(arguments, target): (&LinkArguments, &&'static Target)| {
        let mut request = request(arguments, messages, target, false);
        // Files of the host alone are linked in this way, too; but a GPU that was asked for in vain is a mistake.
        request.options.on_empty = match on_empty(arguments, messages) {
            OnEmpty::Refuse => OnEmpty::RefuseOtherTargets,
            other => other,
        };
        request.options.unified_index.clone_from(&unified_index);
        request.options.host_section.clone_from(&host_section);
        (request, new_report(arguments), Watch::default())
    };
    let requests = each.iter().zip(targets).map(ask).collect();
    let progress = Progress::start(common.compile.progress);
    let compilers = compilers(&common.compile, messages.is_nvlink(), progress.as_ref());
    let results = compilers.lend(|compilers| link_each(inputs, requests, compilers));
    drop(progress);
    let mut linked = Linked { compilations: compilers.done(), ..Linked::default() };
    trace_compilations(&linked.compilations, trace);
    let mut failed = None;
    for (((result, mut report, watch), arguments), target) in results.into_iter().zip(each).zip(targets) {
        messages.show_report(&messages.renderer(&arguments), &mut report);
        match result {
            Ok(program) => linked.programs.push(program),
            Err(error) => failed = Some(error.failure()),
        }
        trace.add_row(target.name.to_owned(), watch.trace);
        linked.outlines.push((arguments, watch.outline.unwrap_or_default()));
    }
    match failed {
        Some(failure) => Err(failure.into()),
        None => Ok(linked),
    }
}

/// The command line of the link for one target.
fn arguments(
    asked: &DeviceLinkArguments,
    target: &str,
    output: &Path,
    several: bool,
    messages: &Messages,
) -> Result<LinkArguments, Stop> {
    let mut words = asked.link.clone();
    words.push(format!("--arch={target}").into());
    words.push("-o".into());
    words.push(output.into());
    if several {
        words.push("-report-arch".into());
    }
    match crate::options::parse(words.into_iter(), messages.is_nvlink(), &mut |path| read_options_file(path)) {
        Ok(Invocation::Link(arguments)) if matches!(arguments.architecture, Architecture::Real(_)) => Ok(*arguments),
        Ok(_) => Err(Stop::Usage("dlink links: for anything else, call cuweld without this word".into())),
        Err(error) => Err(Stop::Said(messages.usage_error(&error))),
    }
}

/// The toolkit's device runtime library, if there is one and the command line leads to none.
fn runtime_library_not_named(arguments: &LinkArguments) -> Option<PathBuf> {
    let file_name = format!("{RUNTIME_LIBRARY}.a");
    let is_in_a_folder = || arguments.library_paths.iter().any(|folder| folder.join(&file_name).is_file());
    let is_named = |item: &InputItem| match &item.source {
        InputSource::File(path) => inputs::is_runtime(path),
        InputSource::Library(name) => RUNTIME_LIBRARY.strip_prefix("lib").is_some_and(|own| name == own) && is_in_a_folder(),
        InputSource::LibraryFile(name) => *name == *file_name && is_in_a_folder(),
    };
    if arguments.inputs.iter().any(is_named) {
        return None;
    }
    Search { folder: arguments.compile.toolkit.clone(), ..Search::default() }.library(&file_name)
}

/// Refuses what makes no sense for a program that is to be registered.
fn refuse_what_is_of_one_link(arguments: &LinkArguments) -> Result<(), Stop> {
    let asked = [
        (arguments.compile.emit_ptx, "-emit-ptx", "makes no machine code"),
        (arguments.link.relocatable, "-r", "makes code that can not be loaded yet"),
        (arguments.compile.finalizer.is_some(), "--finalizer", "hands the link for one GPU to another program"),
    ];
    match asked.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, name, why)) => Err(Stop::Usage(format!("{name} {why}: leave out the word dlink"))),
        None => Ok(()),
    }
}

/// Writes what was asked for.
fn write(
    linked: &Linked,
    asked: &DeviceLinkArguments,
    common: &LinkArguments,
    opened: &OpenInputs<'_>,
    output: &Path,
    trace: &Trace,
    report: &mut Report,
) -> Result<(), Failure> {
    let programs = &linked.programs;
    let mut outputs = Outputs::begin(common, report)?;
    let outcome = match asked.emit {
        Emit::Cubin => add_cubins(programs, output, &mut outputs, report),
        _ => add_bundle(programs, asked, common, opened, output, &mut outputs, report),
    };
    let outcome = outcome.and_then(|()| add_listings(linked, output, &mut outputs, report));
    let outcome = outcome.and_then(|()| match &common.files.time_trace {
        Some(path) => outputs.add(path, trace.to_json().as_bytes(), report),
        None => Ok(()),
    });
    outputs.commit(outcome, report)
}

/// Adds what tells of each program.
fn add_listings(linked: &Linked, output: &Path, outputs: &mut Outputs, report: &mut Report) -> Result<(), Failure> {
    let Linked { programs, outlines, compilations } = linked;
    for (program, (arguments, outline)) in programs.iter().zip(outlines) {
        add_side_files(outputs, None, program.map.as_deref(), outline.graphviz.as_ref(), arguments, report)?;
        if let Some(path) = &arguments.files.report {
            let text = crate::report::on_link(path, Some(output), &program.image, outline.account.as_ref());
            outputs.add(path, &text, report)?;
        }
        let is_for_it = |compilation: &&Compilation| compilation.architecture == program.target.name;
        let own: Vec<Compilation> = compilations.iter().filter(is_for_it).cloned().collect();
        outputs.add_times(&side_files::times(program.target, &own));
    }
    Ok(())
}

/// Adds the programs in one fatbin, and what is around that.
fn add_bundle(
    programs: &[Program],
    asked: &DeviceLinkArguments,
    common: &LinkArguments,
    opened: &OpenInputs<'_>,
    output: &Path,
    outputs: &mut Outputs,
    report: &mut Report,
) -> Result<(), Failure> {
    let (name, debug, compression) = (entry_name(asked, common), asked.debug, asked.compression);
    let settings = Settings { name, debug, compression, ..Settings::default() };
    let bundle = match Bundle::new(programs, settings.clone()) {
        // For virtual architectures nothing is linked, and everything is registered: the driver compiles what the units have.
        Ok(_) if programs.is_empty() => {
            Bundle::without_code(opened.module_ids().or_else(|message| report.fatal(*message))?, settings)
        }
        Ok(bundle) => bundle.with_entries(opened.host_entries()),
        Err(unfit) => return report.fatal(Message::Internal { text: unfit.to_string() }),
    };
    if let Some(path) = &common.files.register_link_binaries {
        outputs.add(path, registrations(bundle.modules()).as_bytes(), report)?;
    }
    let mut pending = Pending::begin(output).map_err(|error| not_written(output, &error, report))?;
    let out = &mut pending.contents;
    let written = match asked.emit {
        Emit::Fatbin => bundle.fatbin().write_to(out),
        Emit::EmbeddedC => {
            let fatbin = bundle.fatbin().to_vec();
            out.write_all(
                Embedded { fatbin: &fatbin, wrapper: Wrapper::Linked, style: SourceStyle::default() }.source().as_bytes(),
            )
        }
        Emit::Object | Emit::Cubin => {
            let machine = asked.machine.or_else(|| opened.host_machine().and_then(Machine::by_number));
            let machine = machine.or_else(|| Machine::by_number(Processor::named(common.cpu.as_deref()).machine()));
            // A library that contains a unit which another one contains, too, must not register through that one's functions.
            let usual = if asked.shared { Visibility::Hidden } else { Visibility::Default };
            bundle.write_object(machine.unwrap_or(Machine::X86_64), asked.visibility.unwrap_or(usual), out)
        }
    };
    written.map_err(|error| writing_failed(output, &error, report))?;
    outputs.add_result(output, pending);
    Ok(())
}

/// The name of the fatbin's entries, as nvcc gives it.
fn entry_name(asked: &DeviceLinkArguments, common: &LinkArguments) -> String {
    if asked.named_after_inputs {
        let names = common.inputs.iter().filter_map(|item| item.source.path()).filter(|path| !inputs::is_runtime(path));
        return names.map(|path| format!("{} ", path.to_string_lossy())).collect();
    }
    if common.compile.link_time_optimization { "lto".to_owned() } else { String::new() }
}

/// Adds a cubin for each GPU. Of several, each is named after its GPU.
fn add_cubins(programs: &[Program], output: &Path, outputs: &mut Outputs, report: &mut Report) -> Result<(), Failure> {
    for program in programs {
        let path = match (programs, output.extension()) {
            ([_], _) => output.to_path_buf(),
            (_, Some(_)) => named_after(output, program.target),
            (_, None) => named_after(&output.with_extension("cubin"), program.target),
        };
        outputs.add(&path, &program.image, report)?;
    }
    Ok(())
}

/// `a.cubin` for sm_90 is `a.sm_90.cubin`.
fn named_after(output: &Path, target: &Target) -> PathBuf {
    match output.extension() {
        Some(extension) => output.with_extension(format!("{}.{}", target.name, extension.to_string_lossy())),
        None => output.with_extension(target.name),
    }
}
