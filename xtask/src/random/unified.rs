//! Unified functions and variables, and the index that gives them their places.
//!
//! Where the reference linker leaves bytes undefined, there is nothing to compare: the index lists every unified name, variables
//! have no gaps between them, and of the copies of a weak function only the first is unified.

use std::collections::BTreeSet;

use super::model::{Index, IndexMistake, Initial, Linkage, Program, Role, Space, Unit};
use super::rng::Rng;

/// The name of the index in the folder of a link.
pub const FILE: &str = "index.uidx";

/// Bytes of a stub in the table of functions.
const STUB_SIZE: u64 = 128;
/// What an index starts with.
const MAGIC: u64 = 0x5844_4e49_5446_557f;

/// Makes some functions and variables unified.
pub fn choose(rng: &mut Rng, program: &mut Program) {
    let share = *rng.pick(&[0, 20, 40, 80]);
    for name in functions(program) {
        let copies = copies(program, |unit| {
            let found = unit.functions.iter().find(|function| function.name == name);
            found.filter(|function| matches!(function.role, Role::Device(_))).map(|function| function.linkage)
        });
        // The reference linker takes the stub of one namesake for another's, and that of a later copy for the first one's.
        let Some(&(first, _)) = copies.first() else { continue };
        let has_namesakes = copies.len() > 1 && copies.iter().any(|(_, linkage)| *linkage == Linkage::Local);
        if !has_namesakes {
            mark(rng, share, program, first, &name);
        }
        // Several copies in the table are refused.
        if let (Some(&(last, _)), true) = (copies.last(), rng.chance(2)) {
            mark(rng, share, program, last, &name);
        }
    }
    for name in variables(program) {
        let copies = copies(program, |unit| {
            let found = unit.variables.iter().find(|variable| variable.name == name);
            found.filter(|found| found.shape.space == Space::Global && !found.shape.managed).map(|found| found.linkage)
        });
        let has_pointers = program
            .units
            .iter()
            .flat_map(|unit| &unit.variables)
            .any(|variable| variable.name == name && matches!(variable.initial, Initial::Pointers(_)));
        // The reference linker leaves relocations behind when it moves a variable, and refuses a third copy.
        if has_pointers || copies.len() > 2 || copies.iter().any(|(_, linkage)| *linkage == Linkage::Common) {
            continue;
        }
        for &(unit, _) in copies.iter().filter(|(_, linkage)| *linkage == Linkage::Local) {
            mark(rng, share, program, unit, &name);
        }
        let shared = || copies.iter().filter(|(_, linkage)| *linkage != Linkage::Local).map(|&(unit, _)| unit);
        if shared().all(|unit| is_able(&program.units[unit])) && rng.chance(share) {
            for unit in shared() {
                program.units[unit].unified.insert(name.clone());
            }
        }
    }
    let mistakes = [IndexMistake::Window, IndexMistake::Unknown, IndexMistake::Twice, IndexMistake::Cut, IndexMistake::Missing];
    let mistake = rng.chance(8).then(|| *rng.pick(&mistakes));
    program.index = Some(Index { seed: rng.next(), mistake });
}

fn mark(rng: &mut Rng, share: usize, program: &mut Program, unit: usize, name: &str) {
    if is_able(&program.units[unit]) && rng.chance(share) {
        program.units[unit].unified.insert(name.to_owned());
    }
}

/// The units that define a name, and how.
fn copies(program: &Program, linkage: impl Fn(&Unit) -> Option<Linkage>) -> Vec<(usize, Linkage)> {
    program.units.iter().enumerate().filter_map(|(index, unit)| Some((index, linkage(unit)?))).collect()
}

fn functions(program: &Program) -> BTreeSet<String> {
    program.units.iter().flat_map(|unit| &unit.functions).map(|function| function.name.clone()).collect()
}

fn variables(program: &Program) -> BTreeSet<String> {
    program.units.iter().flat_map(|unit| &unit.variables).map(|variable| variable.name.clone()).collect()
}

/// Whether the assembler accepts unified names in a unit: from sm_90 on.
fn is_able(unit: &Unit) -> bool {
    const SM_90: u32 = 90;
    let digits = unit.virtual_arch.trim_start_matches("sm_").trim_end_matches(|letter: char| !letter.is_ascii_digit());
    digits.parse().is_ok_and(|number: u32| number >= SM_90)
}

/// The attribute of a function or variable, with the space after it; nothing, if it is not unified.
pub fn attribute(unit: &Unit, name: &str) -> String {
    if !unit.unified.contains(name) || !is_able(unit) {
        return String::new();
    }
    let (first, second) = identifier(unit, name);
    format!(".attribute(.unified({first:#x}, {second:#x})) ")
}

/// The identifier of a name: the same in all units, unless each has its own of the name.
fn identifier(unit: &Unit, name: &str) -> (u64, u64) {
    let functions = unit.functions.iter().map(|function| (&function.name, function.linkage));
    let mut all = functions.chain(unit.variables.iter().map(|variable| (&variable.name, variable.linkage)));
    let is_local = all.any(|(known, linkage)| known == name && linkage == Linkage::Local);
    let text = if is_local { format!("{}:{name}", unit.name) } else { name.to_owned() };
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash, hash.rotate_left(23) ^ text.len() as u64)
}

/// The bytes of the index, if the linker gets one.
pub fn index(program: &Program) -> Option<Vec<u8>> {
    let shape = program.index?;
    let is_relocatable = program.options.iter().any(|option| option == "-r");
    if shape.mistake == Some(IndexMistake::Missing) || (is_relocatable && shape.seed.is_multiple_of(2)) {
        return None;
    }
    let mut stubs: Vec<(u64, u64)> = Vec::new();
    let mut data: Vec<((u64, u64), u64)> = Vec::new();
    for unit in program.units.iter().filter(|unit| is_able(unit)) {
        let is_unified = |name: &str| unit.unified.contains(name);
        for function in unit.functions.iter().filter(|function| is_unified(&function.name)) {
            let identifier = identifier(unit, &function.name);
            if !stubs.contains(&identifier) {
                stubs.push(identifier);
            }
        }
        for variable in unit.variables.iter().filter(|variable| is_unified(&variable.name)) {
            let identifier = identifier(unit, &variable.name);
            if data.iter().all(|(known, _)| *known != identifier) {
                data.push((identifier, variable.shape.size as u64));
            }
        }
    }
    let mut rng = Rng::new(shape.seed);
    rng.shuffle(&mut stubs);
    rng.shuffle(&mut data);
    let mut functions: Vec<[u64; 3]> =
        stubs.iter().zip(0..).map(|(&(first, second), slot)| [first, second, slot * STUB_SIZE]).collect();
    let mut end = 0;
    let mut variables: Vec<[u64; 3]> = Vec::new();
    for ((first, second), size) in data {
        variables.push([first, second, end]);
        end += size;
    }
    rng.shuffle(&mut functions);
    rng.shuffle(&mut variables);
    let mut window = functions.len() as u64 * STUB_SIZE;
    match shape.mistake {
        Some(IndexMistake::Window) => window += STUB_SIZE,
        Some(IndexMistake::Unknown) => functions.push([rng.next(), rng.next(), 0]),
        Some(IndexMistake::Twice) => functions.extend(functions.first().copied()),
        _ => {}
    }
    let version = 1;
    let header = [MAGIC, version, window, functions.len() as u64, end, variables.len() as u64];
    let words = header.into_iter().chain(functions.into_iter().chain(variables).flatten());
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    if shape.mistake == Some(IndexMistake::Cut) {
        bytes.pop();
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::classes::Classes;
    use crate::random::generate;

    #[test]
    fn the_index_lists_every_name_once() {
        let mut classes = Classes::default();
        classes.switch("unified", true).expect("known");
        for seed in 1..60 {
            let program = generate::program(seed, &["sm_90"], &classes);
            let unified: usize = program.units.iter().map(|unit| unit.unified.len()).sum();
            let Some(index) = index(&program) else { continue };
            assert!(index.len() >= 47 && index.len() <= 48 + 24 * (unified + 1), "{seed}");
        }
    }
}
