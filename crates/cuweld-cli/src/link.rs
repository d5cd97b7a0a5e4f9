//! A link from the command line: files in, a file out.

use crate::messages::{Messages, usage_diagnostic};
use crate::options::{CallgraphNames, InputSource, LinkArguments};
use crate::output;
use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::{Failure, Message, Report, WarningPolicy};
use cuweld::options::{KernelRoots, NameStyle, Options, OutputKind, ToolNoteText};
use cuweld::trace::Trace;
use memmap2::Mmap;
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
    let result = link(arguments, &mut report, &mut trace);
    messages.show(&messages.renderer(arguments), report.entries());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_status()),
    }
}

fn link(arguments: &LinkArguments, report: &mut Report, trace: &mut Trace) -> Result<(), Failure> {
    let Some(options) = options(arguments) else {
        return report.fatal(Message::Usage { text: format!("Unknown arch name '{}'", arguments.arch) });
    };
    let mut files = Vec::new();
    for item in arguments.inputs_in_link_order() {
        if let InputSource::File(path) = &item.source {
            match map(path) {
                Ok(bytes) => files.push((path.to_string_lossy().into_owned(), bytes)),
                Err(error) => {
                    let file = path.to_string_lossy().into_owned();
                    return report.fatal(Message::CannotOpenInput { file, cause: error.to_string() });
                }
            }
        }
    }
    let inputs: Vec<Input<'_>> = files.iter().map(|(name, bytes)| Input::new(name, bytes.as_ref())).collect();
    let image = cuweld::link(&inputs, &options, report, trace)?.image;
    if let Some(path) = &arguments.output
        && let Err(error) = trace.phase("save", || output::write(path, &image))
    {
        let file = path.to_string_lossy().into_owned();
        return report.fatal(Message::CannotWriteOutput { file, cause: error.to_string() });
    }
    if let Some(path) = &arguments.files.time_trace
        && let Err(error) = output::write(path, trace.to_json().as_bytes())
    {
        let file = path.to_string_lossy().into_owned();
        return report.fatal(Message::CannotWriteOutput { file, cause: error.to_string() });
    }
    Ok(())
}

/// The bytes of an input.
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

/// Below this, reading is faster than mapping.
const WORTH_MAPPING: u64 = 64 << 10;

#[allow(unsafe_code, reason = "the one memory map of the program")]
fn map(path: &Path) -> std::io::Result<Bytes> {
    let file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() < WORTH_MAPPING {
        return std::fs::read(path).map(Bytes::Read);
    }
    // SAFETY: the map is read-only. A file that someone else changes meanwhile can change the result or end the
    // program, as with every linker that maps its inputs; it can not make safe code misbehave otherwise, because no
    // invariant is kept about these bytes beyond a check.
    unsafe { Mmap::map(&file) }.map(Bytes::Mapped)
}

/// What the library is asked for.
fn options(arguments: &LinkArguments) -> Option<Options> {
    let target = Target::by_name(&arguments.arch)?;
    let (mode, roots) = (&arguments.link, &arguments.roots);
    let note_as = arguments.note.note_as.clone().or_else(|| std::env::var("CUWELD_NOTE_AS").ok());
    let note_options = if arguments.note.omit_options { "" } else { &arguments.note.options };
    let mut note = match note_as.as_deref() {
        Some("nvlink-13.0.88") => ToolNoteText::nvlink_13_0_88(note_options),
        _ => ToolNoteText::cuweld(note_options),
    };
    note.object = arguments.note.object.clone();
    let used = &roots.kernels_used;
    let kernels = match used.is_empty() && roots.variables_used.is_empty() {
        true => KernelRoots::All,
        false => KernelRoots::Matching(used.iter().map(|name| format!("*{name}*")).collect()),
    };
    Some(Options {
        output: if mode.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: mode.debug,
        suppress_debug_info: mode.suppress_debug_info,
        preserve_relocations: mode.preserve_relocs,
        kernels,
        omit_reserved_shared: mode.disable_smem_reservation,
        allow_undefined_globals: mode.allow_undefined_globals,
        force_explicit_addends: mode.force_rela,
        suppress_stack_size_warning: arguments.messages.suppress_stack_size_warning,
        verbose: arguments.messages.verbose,
        dump_call_graph: arguments.messages.dump_callgraph.map(|names| match names {
            CallgraphNames::Demangled => NameStyle::Demangled,
            CallgraphNames::Mangled => NameStyle::Mangled,
        }),
        note,
        ..Options::new(target)
    })
}
