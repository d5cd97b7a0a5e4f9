//! Comparisons of reports made by hand.

use super::*;
use crate::model::{self, Image};
use crate::occupancy::{BLOCK_SIZES, Limits};

/// A function: name, kind, registers, frame, whom it calls.
type FunctionRow<'row> = (&'row str, Kind, u32, u32, &'row [u32]);

/// A report as a linked program gives it.
fn report(rows: &[FunctionRow<'_>]) -> Report {
    let mut functions: Vec<Function> = rows
        .iter()
        .map(|&(name, kind, registers, frame, calls)| Function {
            name: name.into(),
            demangled: name.into(),
            template: name.split('<').next().unwrap_or(name).into(),
            kind,
            registers,
            own_registers: Some(registers),
            frame,
            code: 256,
            calls: calls.to_vec(),
            fingerprint: u64::from(registers) << 8 | u64::from(frame) | 1 << 40,
            ..Function::default()
        })
        .collect();
    let graph = crate::examine::call_graph(&functions, &[]);
    let blame = crate::blame::Blame::of(&graph);
    let limits = Limits::of(90).expect("known");
    for (index, function) in (0..).zip(&mut functions).filter(|(_, function)| function.kind == Kind::Kernel) {
        let (registers, path) = blame.registers(index);
        function.registers = registers;
        if path.len() > 1 {
            function.registers_path = path;
        }
        match blame.stack(index) {
            crate::blame::Stack::Known { bytes, path } => (function.stack, function.stack_path) = (Some(bytes), path),
            crate::blame::Stack::Unknown { path } => (function.stack, function.cycle) = (None, path),
        }
        let needs = crate::occupancy::Needs { registers, shared: 0, max_threads: None };
        function.warps = BLOCK_SIZES.iter().map(|&size| limits.warps_of(size, &needs)).collect();
    }
    let architecture = Architecture {
        name: "sm_90".into(),
        limits: Some(limits),
        block_sizes: BLOCK_SIZES.to_vec(),
        images: vec![Image { bytes: 1000, stored: 1000, ..Image::default() }],
        functions,
        ..Architecture::default()
    };
    Report { schema: model::SCHEMA.into(), version: 1, tool: String::new(), files: Vec::new(), architectures: vec![architecture] }
}

fn because(old: &[FunctionRow<'_>], new: &[FunctionRow<'_>]) -> Vec<String> {
    let comparison = compare(&report(old), &report(new));
    let kernels = comparison.architectures[0].changed.iter().filter(|changed| changed.kind == Kind::Kernel);
    let text = |number: Option<u64>| number.map_or("unknown".into(), |number| number.to_string());
    let changes = kernels.flat_map(|changed| &changed.changes);
    changes
        .map(|change| {
            let because = change.because.as_deref().unwrap_or("-");
            format!("{} {} -> {}: {because}", change.what.name(), text(change.old), text(change.new))
        })
        .collect()
}

use Kind::{Function as F, Kernel as K};

#[test]
fn a_function_that_is_called_now_is_to_blame() {
    let old = [("k", K, 24, 0, &[1][..]), ("area", F, 16, 0, &[]), ("ext1", F, 36, 0, &[])];
    let new = [("k", K, 24, 0, &[1][..]), ("area", F, 16, 0, &[2]), ("ext1", F, 36, 0, &[])];
    assert_eq!(because(&old, &new), ["registers 24 -> 36: ext1 is called now", "warps 64 -> 48: registers"]);
    assert_eq!(because(&new, &old), ["registers 36 -> 24: ext1 is not called any more", "warps 48 -> 64: registers"]);
}

#[test]
fn a_function_that_needs_more_is_to_blame() {
    let old = [("k", K, 24, 8, &[1][..]), ("f", F, 30, 16, &[])];
    let new = [("k", K, 24, 8, &[1][..]), ("f", F, 32, 64, &[])];
    assert_eq!(
        because(&old, &new),
        ["registers 30 -> 32: f needs 32 registers, and needed 30", "stack 24 -> 72: f needs 64 bytes of stack, and needed 16"]
    );
    let own = [("k", K, 40, 8, &[1][..]), ("f", F, 30, 16, &[])];
    assert_eq!(because(&old, &own)[0], "registers 30 -> 40: its own code");
}

#[test]
fn a_recursion_makes_a_stack_unknown() {
    let old = [("k", K, 24, 8, &[1][..]), ("f", F, 8, 16, &[])];
    let new = [("k", K, 24, 8, &[1][..]), ("f", F, 8, 16, &[1])];
    assert_eq!(because(&old, &new), ["stack 24 -> unknown: recursion: k -> f"]);
    assert_eq!(because(&new, &old), ["stack unknown -> 24: there is no recursion any more"]);
}

#[test]
fn kernels_come_go_and_are_renamed() {
    let old = [("k<int>", K, 24, 0, &[][..]), ("gone", K, 8, 0, &[]), ("same", K, 9, 0, &[])];
    let new = [("k<float>", K, 26, 0, &[][..]), ("come", K, 10, 0, &[]), ("same", K, 9, 0, &[])];
    let comparison = compare(&report(&old), &report(&new));
    let changes = &comparison.architectures[0];
    let names = |entries: &[Entry]| entries.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!((names(&changes.added), names(&changes.removed)), (vec!["come".to_owned()], vec!["gone".to_owned()]));
    assert_eq!((changes.unchanged, changes.changed.len()), (1, 1));
    assert_eq!((&*changes.changed[0].name, changes.changed[0].renamed_from.as_deref()), ("k<float>", Some("k<int>")));
    assert!(compare(&report(&old), &report(&old)).is_empty());
}

#[test]
fn an_architecture_may_come_or_go() {
    let old = report(&[("k", K, 24, 0, &[][..])]);
    let mut new = old.clone();
    new.architectures[0].name = "sm_100".into();
    let names: Vec<String> = compare(&old, &new).architectures.into_iter().map(|changes| changes.name).collect();
    assert_eq!(names, ["sm_90", "sm_100"]);
}
