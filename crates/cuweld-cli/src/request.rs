//! The request to the library that the command line makes.

use crate::compilers::{self, compile_options};
use crate::messages::Messages;
use crate::options::{CallgraphNames, HostInfo, LinkArguments, NewerWord, offer};
use cubin::release::{Release, Tool, ToolBuild};
use cubin::target::Target;
use cuweld::Request;
use cuweld::diagnostics::{Diagnostic, Failure, Message, Report};
use cuweld::imitations::{Imitation, Imitations};
use cuweld::inputs::{Unknown, UnpackOptions};
use cuweld::options::{KernelRoots, Listings, MapContents, NameStyle, OnEmpty, Options, OutputKind, ReleaseChoice, ToolNoteText};

/// A link for a target. `explains` says that more is told than the reference linker tells.
pub fn request(arguments: &LinkArguments, messages: &Messages, target: &'static Target, explains: bool) -> Request {
    Request {
        unpack: unpack_options(arguments, messages),
        compile: compile_options(arguments, target, explains, !messages.as_reference(arguments)),
        options: link_options(arguments, messages, target),
    }
}

/// How inputs are opened.
fn unpack_options(arguments: &LinkArguments, messages: &Messages) -> UnpackOptions {
    UnpackOptions {
        limit: arguments.execution.max_unpacked,
        unknown: if messages.takes_as_reference(arguments) { Unknown::ByName } else { Unknown::Refuse },
        warn_of_missing_code: !arguments.messages.suppress_arch_warning,
        leave_out_linked_modules: arguments.files.register_link_binaries.is_some(),
        name_by_source: !messages.as_reference(arguments),
    }
}

/// The variables that do what `--compat` does.
pub const COMPATIBILITY_VARIABLES: [&str; 2] = ["CUWELD_COMPAT", "CUWELD_NOTE_AS"];

/// The variable that says of which release the toolkit is that the program stands in, for links that do not name a release. `cuweld shim`
/// sets it.
pub const RELEASE_VARIABLE: &str = "CUWELD_RELEASE";

fn variable(name: &str) -> Option<String> {
    compilers::variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// The build that is to be imitated.
fn imitated(arguments: &LinkArguments) -> Option<ToolBuild> {
    let named = arguments.compat.clone().or_else(|| COMPATIBILITY_VARIABLES.iter().find_map(|name| variable(name)))?;
    ToolBuild::by_name(&named).filter(|known| known.tool == Tool::Nvlink)
}

/// The release to follow: one that is asked for and no other; or else that of the toolkit that the program stands in, and the newest that an
/// input names.
fn release(arguments: &LinkArguments) -> ReleaseChoice {
    let imitated = imitated(arguments).map(|known| known.release);
    let asked_for = imitated.or_else(|| Release::by_name(arguments.release.as_deref()?));
    let of_toolkit = || variable(RELEASE_VARIABLE).and_then(|name| Release::by_name(&name));
    match asked_for {
        Some(release) => ReleaseChoice::Exactly(release),
        None => ReleaseChoice::AtLeast(of_toolkit().unwrap_or(Release::oldest())),
    }
}

/// Refuses what the environment names and nobody knows, and options and targets that the release to follow does not know.
pub fn check(arguments: &LinkArguments, report: &mut Report) -> Result<(), Failure> {
    let tool_names = || Tool::ALL.iter().flat_map(|tool| tool.build_names()).collect::<Vec<_>>();
    let release_names = || Release::all().iter().map(|release| release.name.to_owned()).collect::<Vec<_>>();
    let refuse = |name: &str, value: &str, known: Vec<String>| {
        let text = format!("Value '{value}' is not defined for variable '{name}'");
        let headline = format!("'{value}' is no value of the environment variable {name}");
        Diagnostic::new(Message::Usage { text }).headline(headline).hint(offer(value, &known))
    };
    let tool = |name: &&'static str| Some((*name, variable(name).filter(|value| ToolBuild::by_name(value).is_none())?));
    let toolkit = variable(RELEASE_VARIABLE).filter(|value| Release::by_name(value).is_none());
    let wrong = COMPATIBILITY_VARIABLES.iter().find_map(tool).map(|(name, value)| refuse(name, &value, tool_names()));
    let wrong = wrong.or_else(|| toolkit.map(|value| refuse(RELEASE_VARIABLE, &value, release_names())));
    let wrong = wrong.or_else(|| match release(arguments) {
        ReleaseChoice::Exactly(release) => {
            arguments.newer.iter().find(|word| word.toolkit > release.toolkit).map(|word| unknown(word, release))
        }
        _ => None,
    });
    match wrong {
        Some(diagnostic) => {
            report.add(diagnostic);
            Err(Failure::Fatal)
        }
        None => Ok(()),
    }
}

/// What a release does not know, in its words.
fn unknown(word: &NewerWord, release: &Release) -> Diagnostic {
    let first = Release::for_toolkit(word.toolkit.into());
    Diagnostic::new(Message::Usage { text: word.problem.to_string() })
        .headline(format!("CUDA {} does not know {}", release.name, word.word))
        .hint(format!("CUDA {} is the first that does: --release={0}", first.name))
}

/// The variable that names ways of the reference, separated by commas, that `--compat` is not to imitate: tests find out by it which of them
/// makes a difference.
const NOT_IMITATED_VARIABLE: &str = "CUWELD_COMPAT_WITHOUT";

/// What is imitated of it.
pub fn imitations(arguments: &LinkArguments) -> Imitations {
    let not_imitated = std::env::var(NOT_IMITATED_VARIABLE).unwrap_or_default();
    let all = imitated(arguments).map_or(Imitations::NONE, |known| Imitations::of(known.build));
    not_imitated.split(',').filter_map(Imitation::by_name).fold(all, Imitations::without)
}

/// What to do if there is nothing to link. Under the reference's name that is no error: compiler drivers link files of the host alone, too.
/// That there was device code, but for other GPUs, is worth a warning there. Where modules are to be registered, some may be linked elsewhere.
pub fn on_empty(arguments: &LinkArguments, messages: &Messages) -> OnEmpty {
    let is_meant = arguments.link.allow_empty || arguments.files.register_link_binaries.is_some();
    match messages.takes_as_reference(arguments) {
        _ if is_meant || imitated(arguments).is_some() => OnEmpty::Accept,
        true => OnEmpty::WarnOfOtherTargets,
        false => OnEmpty::Refuse,
    }
}

/// The kernels to keep.
fn kernel_roots(arguments: &LinkArguments) -> KernelRoots {
    let roots = &arguments.roots;
    if !roots.kernels_used.is_empty() || !roots.variables_used.is_empty() {
        return KernelRoots::Matching(roots.kernels_used.iter().map(|name| format!("*{name}*")).collect());
    }
    match roots.host_info {
        HostInfo::Ignore => KernelRoots::All,
        _ => KernelRoots::ByHostCode,
    }
}

/// How it is linked.
fn link_options(arguments: &LinkArguments, messages: &Messages, target: &'static Target) -> Options {
    let mode = &arguments.link;
    let note_options = match &arguments.note.other_options {
        _ if arguments.note.omit_options => "",
        Some(other) => other,
        None => &arguments.note.options,
    };
    let mut note = match imitated(arguments) {
        Some(known) => ToolNoteText::nvlink(known.build, note_options),
        None => ToolNoteText::cuweld(note_options),
    };
    note.object = arguments.note.object.clone();
    if let Some(name) = &arguments.messages.tool_name {
        note.tool.clone_from(name);
    }
    Options {
        release: release(arguments),
        imitations: imitations(arguments),
        output: if mode.relocatable { OutputKind::Relocatable } else { OutputKind::Executable },
        debug: mode.debug,
        suppress_debug_info: mode.suppress_debug_info,
        preserve_relocations: mode.preserve_relocs,
        tools_patch: mode.tools_patch,
        keep: arguments.roots.undefined.clone(),
        kernels: kernel_roots(arguments),
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
