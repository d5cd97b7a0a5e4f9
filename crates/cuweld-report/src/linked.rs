//! The report on a link: on its result, with facts that only the linker knows.

use crate::examine::{Examined, examine, explain};
use crate::model::{Input, Kind, Link, Removed, Report};
use cuweld::account::{Account, Accounted, Outcome};
use cuweld::demangle::demangle;
use std::collections::HashMap;

/// Why the code of a discarded definition is not in the result.
const DISCARDED: &str = "another definition prevails";
const UNREACHABLE: &str = "no kernel reaches it";

/// Makes a report on the result of a link. `name` is that of the result.
#[must_use]
pub fn of_link(name: &str, image: &[u8], account: Option<&Account>) -> Report {
    let mut report = examine(&[Examined { name, bytes: image }], &|_, _| {});
    let Some(account) = account else { return report };
    for architecture in &mut report.architectures {
        let mut kept: HashMap<&str, Vec<&Accounted>> = HashMap::new();
        for function in account.functions().iter().rev().filter(|function| matches!(function.outcome, Outcome::Kept { .. })) {
            kept.entry(&function.name).or_default().push(function);
        }
        for function in architecture.functions.iter_mut().filter(|function| function.kind != Kind::External) {
            // Of several local functions with one name, the first in the result is the first of the inputs.
            let Some(accounted) = kept.get_mut(&*function.name).and_then(Vec::pop) else { continue };
            let Outcome::Kept { reason, registers, frame } = &accounted.outcome else { continue };
            function.input = Some(accounted.input as u32);
            function.own_registers = Some(*registers);
            function.frame = *frame;
            function.reason = Some(reason.clone());
        }
        explain(&mut architecture.functions, &architecture.prototypes);
        architecture.link = Some(link(account));
    }
    report
}

fn link(account: &Account) -> Link {
    let mut inputs: Vec<Input> = account.inputs().iter().map(|name| Input { name: name.clone(), ..Input::default() }).collect();
    let mut removed = Vec::new();
    for function in account.functions() {
        let Some(input) = inputs.get_mut(function.input) else { continue };
        let reason = match function.outcome {
            Outcome::Kept { .. } => {
                input.kept += function.code;
                continue;
            }
            Outcome::Unreachable => UNREACHABLE,
            Outcome::Discarded => DISCARDED,
        };
        input.removed += function.code;
        removed.push(Removed {
            name: function.name.as_str().into(),
            demangled: demangle(&function.name).as_ref().into(),
            input: function.input as u32,
            bytes: function.code,
            reason: reason.to_owned(),
        });
    }
    Link { inputs, removed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::{Blame, Stack};
    use cuweld::diagnostics::Report as Log;
    use cuweld::observer::Outline;
    use cuweld::options::Options;
    use cuweld::target::Target;
    use cuweld::{Input as Object, link};
    use std::path::{Path, PathBuf};

    /// Links the cubins of a folder, if they make a program, and reports on that.
    fn report_on(folder: &Path, target: &str) -> Option<Report> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.retain(|path| path.extension().is_some_and(|end| end == "cubin"));
        let files: Vec<(String, Vec<u8>)> = paths
            .iter()
            .filter_map(|path| Some((path.file_name()?.to_string_lossy().into_owned(), std::fs::read(path).ok()?)))
            .collect();
        let objects: Vec<Object<'_>> = files.iter().map(|(name, bytes)| Object::new(name, bytes)).collect();
        let mut options = Options::new(Target::by_name(target)?);
        options.listings.account = true;
        let mut outline = Outline::default();
        let linked = link(&objects, &options, &mut Log::default(), &mut outline).ok()?;
        Some(of_link("program", &linked.image, Some(&outline.account?)))
    }

    /// Every number that the linker propagated is explained by a path of calls whose numbers add up to it.
    fn check(report: &Report, case: &str) -> usize {
        let mut explained = 0;
        for architecture in &report.architectures {
            let graph = crate::examine::call_graph(&architecture.functions, &architecture.prototypes);
            let blame = Blame::of(&graph);
            for (index, kernel) in architecture.kernels() {
                assert_eq!(blame.registers(index).0, kernel.registers, "{}", kernel.name);
                let last = kernel.registers_path.last().map_or(kernel, |&last| &architecture.functions[last as usize]);
                assert_eq!(last.own_registers, Some(kernel.registers), "{}", kernel.name);
                match blame.stack(index) {
                    Stack::Known { bytes, .. } => assert_eq!(kernel.stack, Some(bytes), "{case}: {}", kernel.name),
                    Stack::Unknown { .. } => assert!(kernel.stack.is_none() && !kernel.cycle.is_empty(), "{}", kernel.name),
                }
                if kernel.stack_path.len() > 1 {
                    let sum: u64 = kernel.stack_path.iter().map(|&at| u64::from(architecture.functions[at as usize].frame)).sum();
                    assert_eq!(Some(sum), kernel.stack, "{}", kernel.name);
                }
                assert!(kernel.reason.is_some() && kernel.input.is_some(), "{}", kernel.name);
                explained += 1;
            }
            let link = architecture.link.as_ref().expect("a link");
            let kept: u64 = link.inputs.iter().map(|input| input.kept).sum();
            let code: u64 =
                architecture.functions.iter().filter(|function| function.input.is_some()).map(|function| function.code).sum();
            assert_eq!(kept, code);
        }
        explained
    }

    #[test]
    fn every_number_of_every_case_is_explained() {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        let mut explained = 0;
        // The calls inside of a whole program's kernels are the compiler's: no record tells of them.
        let is_whole_program = |case: &std::fs::DirEntry| case.file_name().to_string_lossy().starts_with("whole_program");
        for case in std::fs::read_dir(cases).expect("cases").flatten().filter(|case| !is_whole_program(case)) {
            for target in ["sm_75", "sm_90"] {
                if let Some(report) = report_on(&case.path().join("inputs").join(target), target) {
                    explained += check(&report, &case.file_name().to_string_lossy());
                }
            }
        }
        assert!(explained > 100, "only {explained} kernels");
    }

    #[test]
    fn a_link_tells_what_it_removed_and_why_the_rest_stays() {
        let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        let report = report_on(&case.join("dead_functions/inputs/sm_90"), "sm_90").expect("a program");
        let link = report.architectures[0].link.as_ref().expect("a link");
        let removed: Vec<(&str, &str)> =
            link.removed.iter().map(|removed| (&*removed.demangled, removed.reason.as_str())).collect();
        assert_eq!(removed, [("unused", UNREACHABLE), ("unused_as_well", UNREACHABLE)]);
        let report = report_on(&case.join("register_propagation/inputs/sm_90"), "sm_90").expect("a program");
        let named =
            |name: &str| report.architectures[0].functions.iter().find(|function| &*function.name == name).expect("a function");
        assert_eq!((named("k1").own_registers, named("k1").registers), (Some(24), 132));
        assert_eq!(
            (named("k1").reason.as_deref(), named("_Z4widem").reason.as_deref()),
            (Some("is a kernel"), Some("called by k2"))
        );
    }
}
