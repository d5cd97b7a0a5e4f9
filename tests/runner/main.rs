//! Runs `tests/cases`: every folder there is one link, with what it must come to beside it.
//!
//! Four stages, of which the first three are here:
//!
//! - *golden* links the stored inputs with cuweld, as the reference would and in the default mode, and compares with the stored results.
//!   Nothing but cargo is needed.
//! - *same* links them again and again, on other numbers of threads, from other folders, in other languages.
//! - *differential* builds the inputs from their sources, links them with the reference and with cuweld, and compares
//!   the two. It runs where the reference toolkit is installed (`eval "$(scripts/toolkit)"`), and says so where it is
//!   skipped; `REQUIRE_ALL=1` turns a skipped stage into a failure.
//! - *run* executes programs on a GPU: `tests/gpu/run`.
//!
//! `tests/ratchet.toml` records how far each case has come; it only rises. `cargo xtask bless` refreshes what is stored.

mod bless;
mod case;
mod compare;
mod linker;
mod ratchet;
mod same;
mod toolkit;

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use linker::{Linker, Mode};
use ratchet::{Level, Ratchet};
use std::process::ExitCode;
use std::sync::Arc;
use toolkit::Toolkit;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let prepared = case::all().and_then(|cases| Ok((cases, Ratchet::read()?)));
    let (cases, ratchet) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => return fail(&message),
    };
    let toolkit = Toolkit::find();
    if std::env::var_os("BLESS").is_some() {
        return match bless::bless(&cases, arguments.filter.as_deref(), toolkit.as_ref(), &ratchet) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => fail(&message),
        };
    }
    let trials = trials(&cases, &Arc::new(ratchet), toolkit);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// One test for each case, architecture and stage.
fn trials(cases: &[Arc<Case>], ratchet: &Arc<Ratchet>, toolkit: Option<Toolkit>) -> Vec<Trial> {
    let required = std::env::var_os("REQUIRE_ALL").is_some();
    if toolkit.is_none() && !required {
        say("the differential stage is skipped: no known build of the reference is on PATH or in CUDA_HOME");
    }
    let toolkit = Arc::new(toolkit);
    let mut trials = Vec::new();
    for case in cases {
        for arch in &case.recipe.archs {
            let (recorded, name) = (ratchet.level(&case.name, arch), format!("{}::{arch}", case.name));
            let again = stage(case, arch, same::check);
            trials.push(Trial::test(format!("golden::{name}"), stage(case, arch, golden)));
            trials.push(Trial::test(format!("same::{name}"), again));
            if case.recipe.deviates.is_none() {
                let toolkit = Arc::clone(&toolkit);
                // A build links what it was not the first to link, too.
                let is_skipped = toolkit.as_ref().as_ref().map_or(!required, |toolkit| !case.is_compared_with(toolkit.known));
                let (case, arch) = (Arc::clone(case), arch.clone());
                let compare = move || match toolkit.as_ref() {
                    Some(toolkit) => judge(recorded, case.reference() == Ok(toolkit.known), differential(&case, &arch, toolkit)),
                    None => Err("skipped, but REQUIRE_ALL is set: no reference toolkit".into()),
                };
                // So that a list of tests shows what does not pass yet.
                let kind = if recorded < Level::Identical { "known to fail" } else { "" };
                trials.push(Trial::test(format!("differential::{name}"), compare).with_kind(kind).with_ignored_flag(is_skipped));
            }
        }
        let reason = Arc::clone(case);
        trials.push(Trial::test(format!("reason::{}", case.name), move || reason.check_reason().map_err(Failed::from)));
    }
    trials
}

/// A test that needs nothing but the case.
fn stage(
    case: &Arc<Case>,
    arch: &str,
    check: fn(&Case, &str) -> Result<(), String>,
) -> impl FnOnce() -> Result<(), Failed> + Send + 'static {
    let (case, arch) = (Arc::clone(case), arch.to_owned());
    move || check(&case, &arch).map_err(Failed::from)
}

/// Holds a comparison with the reference against what the case had reached before.
fn judge(recorded: Level, is_own_build: bool, outcome: Result<(), String>) -> Result<(), Failed> {
    match outcome {
        Err(difference) if recorded >= Level::Identical => Err(difference.into()),
        Err(_) => Ok(()), // not reached yet, and no one said that it was
        Ok(()) if is_own_build && recorded < Level::Identical && std::env::var_os("REQUIRE_ALL").is_some() => {
            Err("passes, but tests/ratchet.toml does not say so yet: run `cargo xtask bless`".into())
        }
        Ok(()) => Ok(()),
    }
}

/// Links the stored inputs as the reference would and in the default mode, and compares with the stored results.
fn golden(case: &Case, arch: &str) -> Result<(), String> {
    let expected = case.expected(arch)?;
    let cuweld = Linker::cuweld();
    let outcome = cuweld.link(case, arch, &case.stored_inputs(arch)?, Mode::Reference)?;
    compare::outcomes("expected", &expected.outcome, "cuweld", &outcome)?;
    let own = cuweld.link(case, arch, &case.stored_inputs(arch)?, Mode::Default)?;
    compare::outcomes("expected by default", &expected.default, "cuweld", &own)
}

/// Links fresh inputs with the reference and with cuweld, and compares the two.
fn differential(case: &Case, arch: &str, toolkit: &Toolkit) -> Result<(), String> {
    let inputs = toolkit.build(case, arch)?;
    if toolkit.known == case.reference()? {
        compare::inputs(&case.stored_inputs(arch)?, &inputs)?;
    }
    let reference = toolkit.linker().link_as(toolkit.known, case, arch, &inputs, Mode::Reference)?;
    let cuweld = Linker::cuweld().link_as(toolkit.known, case, arch, &inputs, Mode::Reference)?;
    compare::outcomes("reference", &reference, "cuweld", &cuweld)
}

fn fail(message: &str) -> ExitCode {
    say(message);
    ExitCode::FAILURE
}

#[allow(clippy::print_stderr, reason = "this is a program that people watch")]
fn say(message: &str) {
    eprintln!("cases: {message}");
}
