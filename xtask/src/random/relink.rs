//! Links in two steps: some units by a relocatable link, then the result with the others.
//!
//! The result must mean the same as a link of all units at once, whichever linker makes the final link.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::difference::{self, Difference};
use super::meaning;
use super::model::{Action, Initial, Linkage, Pointer, Program, Space, Unit, Variable};
use super::rng::Rng;
use super::run::{Outcome, Signature, Tools, Verdict, link_as};

/// The name of the file that the relocatable link makes.
const JOINED: &str = "joined.cubin";

/// Joins some of the program's units, links the result with the others, and compares it with a direct link.
///
/// The units are assembled already, in `folder`. Those that are joined follow each other, so that the order of all stays.
pub fn compare(program: &Program, folder: &Path, tools: &Tools) -> Result<Verdict, String> {
    let all: Vec<String> = program.units.iter().map(|unit| format!("{}.cubin", unit.name)).collect();
    // A program has the same joined units whenever it is looked at, also in the minimiser's hands.
    let mut rng = Rng::new(all.len() as u64 + program.units.iter().map(|unit| unit.functions.len() as u64).sum::<u64>());
    let (first, end) = joined(program, rng.below(all.len()), &mut rng);
    let mut partly = all.clone();
    partly.splice(first..end, [JOINED.to_owned()]);

    let words = |options: &[String], inputs: &[String]| -> Vec<String> {
        let (arch, output) = (["-arch".to_owned(), program.target.to_owned()], ["-o".to_owned(), "out.cubin".to_owned()]);
        [&arch, tools.options.as_slice(), options, inputs, &output].concat()
    };
    let steps = [words(&["-r".into()], &all[first..end]), words(&program.options, &partly), words(&program.options, &all)];
    let names = [JOINED, "final.cubin", "direct.cubin"];
    let command = |(step, name): (&Vec<String>, &str)| format!("\"${{1:-nvlink}}\" {} && mv out.cubin {name}", step.join(" "));
    let script: Vec<String> = steps.iter().zip(names).map(command).collect();
    let write = |name: &str, text: String| fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"));
    write("replay.sh", format!("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit\n{}\n", script.join("\n")))?;

    let (ours, theirs) = (&tools.candidate, &tools.reference);
    let direct = link_as(ours, &Signature::Own, &steps[2], folder, "direct")?;
    if direct.status != Some(0) {
        return Ok(Verdict::Same(direct.status));
    }
    let joined = link_as(ours, &Signature::Own, &steps[0], folder, "joined")?;
    if joined.status != Some(0) {
        return Ok(different(folder, "relocatable link", &joined.messages));
    }
    let found = link_as(ours, &Signature::Own, &steps[1], folder, "final")?;
    let imitated = link_as(ours, &Signature::Reference(tools.known), &steps[1], folder, "candidate")?;
    let expected = link_as(theirs, &Signature::Reference(tools.known), &steps[1], folder, "reference")?;
    let reference_direct = link_as(theirs, &Signature::Reference(tools.known), &steps[2], folder, "reference-direct")?;
    // There are programs that the reference fails to link.
    let is_judge = reference_direct.status == Some(0);
    if let Some(difference) = difference::between(&expected, &imitated).filter(|_| is_judge) {
        return Ok(Verdict::Different(Difference::of_kind(format!("final link: {difference}"))));
    }
    let units: Vec<Vec<u8>> = all.iter().filter_map(|name| fs::read(folder.join(name)).ok()).collect();
    let facts = |outcome: &Outcome| meaning::facts(outcome.output.as_deref().unwrap_or_default(), &units);
    for (whose, direct, relinked) in [("", &direct, &found), ("reference: ", &reference_direct, &expected)] {
        if direct.status != Some(0) {
            continue;
        }
        if relinked.status != Some(0) {
            return Ok(different(folder, &format!("{whose}final link fails"), &relinked.messages));
        }
        let (direct, relinked) = (facts(direct)?, facts(relinked)?);
        let missing = surplus(&direct, &relinked).map(|fact| format!("- {fact}"));
        let new = surplus(&relinked, &direct).map(|fact| format!("+ {fact}"));
        let lines: Vec<String> = missing.chain(new).filter(|line| !is_accepted(line, program, whose)).collect();
        if !lines.is_empty() {
            let kinds: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
            let kinds: Vec<&str> = kinds.into_iter().collect();
            return Ok(different(folder, &format!("{whose}{}", kinds.join(" ")), &lines.join("\n")));
        }
    }
    Ok(Verdict::Same(Some(0)))
}

/// Whether a fact may be new or missing.
///
/// A weak shared variable that a strong one replaces takes room twice in a direct link. And the reference drops relocations of
/// constants that name weak names, if objects lose them; a relocatable link has settled that before.
fn is_accepted(line: &str, program: &Program, whose: &str) -> bool {
    let mut variables = program.units.iter().flat_map(|unit| &unit.variables);
    let is_weak_shared = |variable: &Variable| variable.linkage == Linkage::Weak && variable.shape.space == Space::Shared;
    let depends_on_shared = ["shared .nv.shared.", "bytes .debug_info"].iter().any(|start| line[2..].starts_with(start))
        || line.contains(": behind shared ");
    (depends_on_shared && variables.any(is_weak_shared)) || (!whose.is_empty() && line.starts_with("+ relocation .nv.constant3"))
}

/// Which units are joined: some that follow each other, from `first` on.
///
/// A copy of a weak function that would lose in a direct link may count for a while in the relocatable one, and leaves its calls
/// there; and what objects say of a function whose copy they lose does not count, so that it matters which units are one object.
/// Where that is so, the units before or after are joined as well.
fn joined(program: &Program, first: usize, rng: &mut Rng) -> (usize, usize) {
    let (mut first, mut end) = (first, rng.between(first + 1, program.units.len()));
    let defines = |unit: &Unit, name: &str| unit.functions.iter().any(|function| function.name == name);
    let mentions = |unit: &Unit, name: &str| {
        let actions = unit.functions.iter().flat_map(|function| &function.body).flat_map(Action::names);
        let pointers = unit.variables.iter().flat_map(|variable| match &variable.initial {
            Initial::Pointers(pointers) => pointers.as_slice(),
            Initial::None | Initial::Bytes(_) => &[],
        });
        defines(unit, name) || actions.chain(pointers.filter_map(Pointer::name)).any(|mentioned| mentioned == name)
    };
    let is_ambiguous = |others: &[Unit], among: &[Unit]| {
        let mut names = others.iter().flat_map(|unit| &unit.functions).map(|function| function.name.as_str());
        names.any(|name| {
            among.iter().any(|unit| defines(unit, name)) && among.iter().filter(|unit| mentions(unit, name)).count() > 1
        })
    };
    let units = &program.units;
    if is_ambiguous(&units[end..], &units[first..end]) {
        end = units.len();
    }
    if is_ambiguous(&units[..first], &units[first..end]) {
        first = 0;
    }
    if is_ambiguous(&units[end..], &units[first..end]) {
        end = units.len();
    }
    (first, end)
}

/// A difference, with what explains it in a file.
fn different(folder: &Path, kind: &str, explanation: &str) -> Verdict {
    // What is missing then is only the explanation.
    let _ = fs::write(folder.join("difference.txt"), format!("{kind}\n{explanation}\n"));
    Verdict::Different(Difference::of_kind(kind.to_owned()))
}

/// What one sorted list has more often than the other.
fn surplus<'list>(list: &'list [String], other: &'list [String]) -> impl Iterator<Item = &'list String> {
    let count = |list: &[String], fact: &String| list.iter().filter(|&other| other == fact).count();
    let mut last = None;
    list.iter().filter(move |&fact| last.replace(fact) != Some(fact) && count(list, fact) > count(other, fact))
}
