//! Checks the combination of options.

use super::architecture::Architecture;
use super::problem::{Found, Problem, Severity, UsageProblem};
use super::table::{self, Id};
use super::text::{bytes, shown};
use super::typed::{Item, Typed};

/// The version of the toolkit that the reference belongs to.
const TOOLKIT_MAJOR: i32 = 13;

/// One thing that can be wrong.
type Check = fn(&Typed) -> Option<Problem>;

/// What must hold for a link, in the order in which the reference looks, which decides what it complains about first.
const LINK: &[Check] = &[
    no_architecture,
    no_output,
    no_inputs,
    |typed| (typed.has(Id::SuppressDebugInfo) && !typed.has(Id::Debug)).then(|| needs(Id::SuppressDebugInfo, "no -g")),
    |typed| both(typed, Id::DumpCallgraph, Id::DumpCallgraphNoDemangle),
    |typed| both(typed, Id::UseHostInfo, Id::IgnoreHostInfo),
    host_info_unused,
    intermediate_target,
    |typed| (optimizes(typed) && !typed.has(Id::NvvmPath)).then_some(Problem::NoNvvmPath {}),
    |typed| optimizing_only(typed, Id::ForcePartialLto),
    |typed| optimizing_only(typed, Id::ForceWholeLto),
    partial_and_whole,
    |typed| optimizing_only(typed, Id::NvvmLatest),
    |typed| optimizing_only(typed, Id::EmitPtx),
    split_compile_instead,
    |typed| (typed.has(Id::OfastCompile) && !optimizes(typed)).then(|| conflict("--Ofast-compile", "no -dlto")),
    fast_compile_level,
    preserve_relocs,
    locked_option,
    |typed| api_version(typed).err(),
    |typed| negative(typed, Id::Threads),
    |typed| negative(typed, Id::ErrorLimit),
    |typed| negative(typed, Id::Jobs),
    brackets,
];

/// What must hold to write a script for the host's linker.
const HOST_LINKER_SCRIPT: &[Check] = &[|typed| typed.inputs().next().map(|_| Problem::InputsWithHostLinkerScript {})];

/// Looks whether a link can be made of what was typed. Gives what there is to say, in order; the last one may be fatal.
///
/// The reference has to be told where the toolkit is; `as_reference` says that this is required here, too.
pub(super) fn link(typed: &Typed, as_reference: bool) -> Vec<UsageProblem> {
    run(LINK, typed, |problem| as_reference || !matches!(problem, Problem::NoNvvmPath {}))
}

/// The same for a script for the host's linker.
pub(super) fn host_linker_script(typed: &Typed) -> Vec<UsageProblem> {
    run(HOST_LINKER_SCRIPT, typed, |_| true)
}

fn run(checks: &[Check], typed: &Typed, counts: impl Fn(&Problem) -> bool) -> Vec<UsageProblem> {
    let mut found = Vec::new();
    for problem in checks.iter().filter_map(|check| check(typed)).filter(counts) {
        let ends_here = problem.severity() == Severity::Fatal;
        found.push(UsageProblem { problem, found: Found::Afterwards });
        if ends_here {
            break;
        }
    }
    found
}

/// Whether the program is to be optimized at link time.
pub(super) fn optimizes(typed: &Typed) -> bool {
    typed.has(Id::LinkTimeOpt) || typed.has(Id::Dlto)
}

/// The architecture that was typed; the scanner let only known ones pass.
pub(super) fn architecture(typed: &Typed) -> Option<(&str, Architecture)> {
    let name = typed.text(Id::Arch)?.to_str()?;
    Some((name, Architecture::by_name(name)?))
}

/// `-cuda-api-version` as one number, 130 for 13.0.
pub(super) fn api_version(typed: &Typed) -> Result<Option<i32>, Problem> {
    let Some(text) = typed.text(Id::CudaApiVersion) else {
        return Ok(None);
    };
    let numbers = leading_number(bytes(text)).and_then(|(major, rest)| {
        let (minor, rest) = leading_number(rest.strip_prefix(b".")?)?;
        rest.is_empty().then_some((major, minor))
    });
    match numbers {
        None => Err(Problem::UnreadableApiVersion {}),
        Some((major, _)) if major != TOOLKIT_MAJOR => Err(Problem::OtherApiVersion {}),
        Some((major, minor)) => Ok(Some(major.saturating_mul(10).saturating_add(minor))),
    }
}

/// A decimal number as C's `scanf` takes it, and what follows it. What does not fit is taken for the largest.
fn leading_number(text: &[u8]) -> Option<(i32, &[u8])> {
    let (negative, digits) = match text.trim_ascii_start() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = digits.split_at_checked(length).filter(|(number, _)| !number.is_empty())?;
    let value = std::str::from_utf8(number).ok()?.parse().unwrap_or(i32::MAX);
    Some((if negative { -value } else { value }, rest))
}

fn conflict(first: &str, second: &str) -> Problem {
    Problem::Conflict { first: first.to_owned(), second: second.to_owned() }
}

/// An option's short name, as messages have it.
fn name(id: Id) -> String {
    table::rows().find(|row| row.id == id).map(table::OptionRow::shortest).unwrap_or_default()
}

fn needs(id: Id, missing: &str) -> Problem {
    conflict(&name(id), missing)
}

fn both(typed: &Typed, first: Id, second: Id) -> Option<Problem> {
    (typed.has(first) && typed.has(second)).then(|| conflict(&name(first), &name(second)))
}

fn optimizing_only(typed: &Typed, id: Id) -> Option<Problem> {
    (typed.has(id) && !optimizes(typed)).then(|| needs(id, "no -dlto"))
}

fn no_architecture(typed: &Typed) -> Option<Problem> {
    architecture(typed).is_none().then_some(Problem::NoArchitecture {})
}

fn no_output(typed: &Typed) -> Option<Problem> {
    let (_, architecture) = architecture(typed)?;
    let owed = matches!(architecture, Architecture::Real(_)) && !typed.has(Id::OutputFile);
    owed.then_some(Problem::NoOutputFile {})
}

fn no_inputs(typed: &Typed) -> Option<Problem> {
    // Libraries do not count.
    typed.inputs().next().is_none().then_some(Problem::NoInputFiles {})
}

fn host_info_unused(typed: &Typed) -> Option<Problem> {
    let named = [Id::KernelsUsed, Id::VariablesUsed].into_iter().any(|id| !typed.list(id).is_empty());
    (typed.has(Id::UseHostInfo) && named).then_some(Problem::HostInfoUnused {})
}

fn intermediate_target(typed: &Typed) -> Option<Problem> {
    let (name, architecture) = architecture(typed)?;
    matches!(architecture, Architecture::Intermediate(_)).then(|| Problem::VirtualTarget { target: name.to_owned() })
}

fn partial_and_whole(typed: &Typed) -> Option<Problem> {
    let partial = typed.has(Id::ForcePartialLto) || typed.has(Id::RelocatableLink);
    (partial && typed.has(Id::ForceWholeLto)).then(|| conflict("-force-partial-lto", "-force-whole-lto"))
}

fn split_compile_instead(typed: &Typed) -> Option<Problem> {
    let split = typed.number(Id::SplitCompileExtended).is_some_and(|threads| threads != 1);
    (split && typed.has(Id::EmitPtx)).then_some(Problem::SplitCompileInstead {})
}

fn fast_compile_level(typed: &Typed) -> Option<Problem> {
    let level = typed.text(Id::OfastCompile)?;
    let known = super::arguments::FastCompile::by_name(&shown(level)).is_some();
    (!known).then(|| Problem::InvalidArgument { option: "Ofast-compile".to_owned() })
}

fn preserve_relocs(typed: &Typed) -> Option<Problem> {
    let (name, architecture) = architecture(typed)?;
    let incomplete = typed.has(Id::PreserveRelocs) && architecture.records_relocations_incompletely();
    incomplete.then(|| Problem::PreserveRelocsIncomplete { target: name.to_owned() })
}

/// The reference takes `-fdcmpt` only from those who know `-uumn`, and denies its existence to others.
fn locked_option(typed: &Typed) -> Option<Problem> {
    let locked = typed.has(Id::Fdcmpt) && !typed.has(Id::Uumn);
    locked.then(|| Problem::UnknownOption { name: "-fdcmpt".to_owned() })
}

fn negative(typed: &Typed, id: Id) -> Option<Problem> {
    let option = || table::rows().find(|row| row.id == id).map(|row| row.long.to_owned()).unwrap_or_default();
    (typed.number(id)? < 0).then(|| Problem::InvalidArgument { option: option() })
}

fn brackets(typed: &Typed) -> Option<Problem> {
    let mut inside = false;
    for item in typed.items() {
        match item {
            Item::Option { id: Id::StartLib, .. } if inside => return Some(Problem::NestedStartLib {}),
            Item::Option { id: Id::StartLib, .. } => inside = true,
            Item::Option { id: Id::EndLib, .. } if !inside => {
                return Some(Problem::EndLibWithoutStart {});
            }
            Item::Option { id: Id::EndLib, .. } => inside = false,
            _ => {}
        }
    }
    inside.then_some(Problem::StartLibWithoutEnd {})
}
