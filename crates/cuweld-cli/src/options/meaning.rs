//! Converts checked options to arguments. It can not fail: everything was checked before.

use super::architecture::Architecture;
use super::arguments::*;
use super::check;
use super::note;
use super::problem::UsageProblem;
use super::repeat;
use super::table::Id;
use super::text::{bytes, from_bytes, shown};
use super::typed::{Item, Typed, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments of a link.
pub(super) fn link(typed: &Typed, arch: &str, architecture: Architecture, warnings: Vec<UsageProblem>) -> LinkArguments {
    LinkArguments {
        arch: arch.to_owned(),
        architecture,
        output: path(typed, Id::OutputFile),
        inputs: inputs(typed),
        library_paths: typed.list(Id::LibraryPath).into_iter().map(PathBuf::from).collect(),
        cpu: text(typed, Id::CpuArch),
        link: link_mode(typed),
        roots: roots(typed),
        compile: compile(typed),
        messages: messages(typed),
        files: side_files(typed),
        release: text(typed, Id::Release),
        compat: text(typed, Id::Compat).or_else(|| text(typed, Id::NoteAs)),
        note: NoteText {
            object: note::note_object(typed),
            options: note::note_options(typed),
            omit_options: typed.has(Id::NoCommandLineNote),
            other_options: text(typed, Id::NoteOptions),
        },
        execution: Execution { threads: unsigned(typed, Id::Threads), max_unpacked: typed.size(Id::MaxUnpacked) },
        warnings,
        newer: typed.newer().to_vec(),
        options_files: typed.options_files().to_vec(),
        repeated: repeat::repeated(typed),
    }
}

/// The arguments of `-ghls`, if it was given.
pub(super) fn host_linker_script(typed: &Typed, warnings: Vec<UsageProblem>) -> Option<HostLinkerScript> {
    let kind = typed.text(Id::GenHostLinkerScript)?;
    Some(HostLinkerScript {
        complete: kind == "lcs-abs",
        output: path(typed, Id::OutputFile),
        verbose: typed.has(Id::Verbose),
        relocatable: typed.has(Id::RelocatableLink),
        shared: typed.has(Id::Shared),
        host_compiler: typed.text(Id::HostCcbin).map(OsString::from),
        linker_options: owned(typed, Id::HostLinkerOptions),
        tool_name: text(typed, Id::ToolName),
        options_files: typed.options_files().to_vec(),
        warnings,
    })
}

/// What `--generate` asks for.
pub(super) fn generated(typed: &Typed) -> Option<Generated> {
    match typed.text(Id::Generate)?.to_str()? {
        "man" => Some(Generated::ManualPage),
        "complete-bash" => Some(Generated::Bash),
        "complete-zsh" => Some(Generated::Zsh),
        "complete-fish" => Some(Generated::Fish),
        _ => None,
    }
}

/// What `--diagnostics` asks for.
pub(super) fn diagnostics(typed: &Typed) -> Option<DiagnosticsStyle> {
    DiagnosticsStyle::by_name(typed.text(Id::Diagnostics)?.to_str()?)
}

/// What `--color` asks for.
fn colors(typed: &Typed) -> Option<Colors> {
    match typed.text(Id::Color)?.to_str()? {
        "always" => Some(Colors::Always),
        "never" => Some(Colors::Never),
        _ => None,
    }
}

fn inputs(typed: &Typed) -> Vec<InputItem> {
    let mut inputs = Vec::new();
    let mut members = Members::All;
    let mut group = None;
    let mut groups = 0;
    for item in typed.items() {
        match item {
            Item::Input(name) => {
                inputs.push(InputItem { source: InputSource::File(PathBuf::from(name)), members, group });
            }
            Item::Option { id: Id::Library, value: Value::List(names) } => {
                let source = |name: &OsString| match bytes(name).strip_prefix(b":") {
                    Some(file) => InputSource::LibraryFile(from_bytes(file)),
                    None => InputSource::Library(name.clone()),
                };
                inputs.extend(names.iter().map(|name| InputItem { source: source(name), members, group }));
            }
            Item::Implied { id: Id::Library, item, .. } => {
                inputs.push(InputItem { source: InputSource::Library(item.clone()), members, group });
            }
            Item::Implied { .. } => {}
            Item::Option { id: Id::WholeArchive, .. } => members = Members::All,
            Item::Option { id: Id::NoWholeArchive, .. } => members = Members::Needed,
            Item::Option { id: Id::StartLib, .. } => {
                group = Some(groups);
                groups += 1;
            }
            Item::Option { id: Id::EndLib, .. } => group = None,
            Item::Option { .. } => {}
        }
    }
    inputs
}

fn link_mode(typed: &Typed) -> LinkMode {
    LinkMode {
        relocatable: typed.has(Id::RelocatableLink),
        debug: typed.has(Id::Debug),
        suppress_debug_info: typed.has(Id::SuppressDebugInfo),
        preserve_relocs: typed.has(Id::PreserveRelocs),
        tools_patch: typed.has(Id::LinkAsToolsPatch),
        allow_undefined_globals: typed.has(Id::AllowUndefinedGlobals),
        allow_empty: typed.has(Id::AllowEmpty),
        disable_smem_reservation: typed.truth(Id::DisableSmemReservation).unwrap_or(false),
        enable_extended_smem: typed.truth(Id::EnableExtendedSmem).unwrap_or(false),
        force_rela: typed.has(Id::ForceRela),
        reserve_null_pointer: typed.has(Id::ReserveNullPointer),
        api_version: check::api_version(typed).unwrap_or_default(),
        uidx_file: path(typed, Id::UidxFile),
        nv_host: path(typed, Id::NvHost),
    }
}

fn roots(typed: &Typed) -> Roots {
    Roots {
        kernels_used: texts(typed, Id::KernelsUsed),
        variables_used: texts(typed, Id::VariablesUsed),
        host_info: if typed.has(Id::IgnoreHostInfo) {
            HostInfo::Ignore
        } else if typed.has(Id::UseHostInfo) {
            HostInfo::Use
        } else {
            HostInfo::Default
        },
        keep_system_libraries: typed.has(Id::KeepSystemLibraries),
        undefined: texts(typed, Id::Undefined),
    }
}

fn compile(typed: &Typed) -> Compile {
    Compile {
        link_time_optimization: check::optimizes(typed),
        scope: if typed.has(Id::ForcePartialLto) {
            OptimizationScope::Partial
        } else if typed.has(Id::ForceWholeLto) {
            OptimizationScope::Whole
        } else {
            OptimizationScope::Automatic
        },
        emit_ptx: typed.has(Id::EmitPtx),
        nvvm_path: path(typed, Id::NvvmPath),
        split_compile: typed.number(Id::SplitCompile),
        split_compile_extended: typed.number(Id::SplitCompileExtended),
        fast_compile: text(typed, Id::OfastCompile).and_then(|level| FastCompile::by_name(&level)),
        ptxas_options: owned(typed, Id::Xptxas),
        nvvm_options: owned(typed, Id::Xnvvm),
        nvvm_latest: typed.has(Id::NvvmLatest),
        max_registers: typed.number(Id::Maxrregcount),
        device_stack_protector: typed.truth(Id::DeviceStackProtector),
        toolkit: path(typed, Id::Toolkit),
        jobs: unsigned(typed, Id::Jobs),
        cache: typed.text(Id::Cache).map(OsString::from),
        launcher: path(typed, Id::CompilerLauncher),
        progress: typed.text(Id::Progress).and_then(std::ffi::OsStr::to_str).map(|when| match when {
            "never" => ProgressDisplay::Never,
            "always" => ProgressDisplay::Always,
            _ => ProgressDisplay::Auto,
        }),
        finalizer: path(typed, Id::Finalizer),
    }
}

fn messages(typed: &Typed) -> Messages {
    Messages {
        verbose: typed.has(Id::Verbose),
        disable_infos: typed.has(Id::DisableInfos),
        warnings_as_errors: typed.has(Id::WarningAsError),
        extra_warnings: typed.has(Id::ExtraWarnings),
        suppress_arch_warning: typed.has(Id::SuppressArchWarning),
        suppress_stack_size_warning: typed.has(Id::SuppressStackSizeWarning),
        report_arch: typed.has(Id::ReportArch),
        dump_callgraph: if typed.has(Id::DumpCallgraph) {
            Some(CallgraphNames::Demangled)
        } else {
            typed.has(Id::DumpCallgraphNoDemangle).then_some(CallgraphNames::Mangled)
        },
        tool_name: text(typed, Id::ToolName),
        diagnostics: diagnostics(typed),
        colors: colors(typed),
        error_limit: unsigned(typed, Id::ErrorLimit),
        print_gc_sections: typed.has(Id::PrintGcSections),
        why_live: texts(typed, Id::WhyLive),
        trace: typed.has(Id::Trace),
    }
}

fn side_files(typed: &Typed) -> SideFiles {
    SideFiles {
        register_link_binaries: path(typed, Id::RegisterLinkBinaries),
        time: path(typed, Id::Time),
        dot: path(typed, Id::DotFile),
        map: listing(typed, Id::Map),
        report: listing(typed, Id::Report),
        cref: typed.has(Id::Cref),
        time_trace: path(typed, Id::TimeTrace),
        save_dir: path(typed, Id::SaveDir),
    }
}

fn path(typed: &Typed, id: Id) -> Option<PathBuf> {
    typed.text(id).map(PathBuf::from)
}

/// The file of a listing. `%a` in its name is the architecture, so that several do not overwrite each other's.
fn listing(typed: &Typed, id: Id) -> Option<PathBuf> {
    let name = text(typed, id)?;
    match text(typed, Id::Arch).filter(|_| name.contains("%a")) {
        Some(architecture) => Some(name.replace("%a", &architecture).into()),
        None => path(typed, id),
    }
}

fn text(typed: &Typed, id: Id) -> Option<String> {
    typed.text(id).map(shown)
}

fn texts(typed: &Typed, id: Id) -> Vec<String> {
    typed.list(id).into_iter().map(shown).collect()
}

fn owned(typed: &Typed, id: Id) -> Vec<OsString> {
    typed.list(id).into_iter().map(OsString::from).collect()
}

fn unsigned(typed: &Typed, id: Id) -> Option<u32> {
    typed.number(id).and_then(|number| u32::try_from(number).ok())
}
