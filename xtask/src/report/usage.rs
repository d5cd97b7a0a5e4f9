//! What `cuobjdump -res-usage` says, held against a report.

use cuweld_report::Report;
use cuweld_report::model::{Function, Kind};
use std::collections::HashMap;
use std::fmt;

/// What a kernel needs: registers, stack (none: unknown), shared memory, constants by bank.
type Needs = (u32, Option<u64>, u64, Vec<(u8, u64)>);

/// The result of a comparison.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// How many kernels cuobjdump lists.
    kernels: usize,
    /// How many functions that are none.
    functions: usize,
    /// What the report lacks, or has otherwise.
    pub(super) differences: Vec<String>,
}

impl Compared {
    /// Whether nothing was there to compare.
    pub(super) fn is_empty(&self) -> bool {
        self.kernels + self.functions + self.differences.len() == 0
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compared { kernels, functions, differences } = self;
        write!(out, "{kernels} kernels and {functions} other functions of cuobjdump; {} differ", differences.len())?;
        differences.iter().take(10).try_for_each(|difference| write!(out, "\n  {difference}"))
    }
}

/// Looks for everything that cuobjdump lists. The report may have more: cuobjdump leaves out what else is there to be linked.
pub(super) fn compare(report: &Report, listing: &str) -> Compared {
    let mut known: HashMap<(&str, &str), Vec<&Function>> = HashMap::new();
    for architecture in &report.architectures {
        for function in architecture.functions.iter().filter(|function| function.kind != Kind::External) {
            known.entry((&architecture.name, &function.name)).or_default().push(function);
        }
    }
    let mut compared = Compared::default();
    let (mut architecture, mut name) = ("", "");
    for line in listing.lines().map(str::trim) {
        if let Some(given) = line.strip_prefix("arch = ") {
            architecture = given;
        } else if let Some(given) = line.strip_prefix("Function ") {
            name = given.trim_end_matches(':');
        } else if line.starts_with("REG:") {
            let candidates = known.entry((architecture, name)).or_default();
            let Some(listed) = read(line) else {
                compared.differences.push(format!("{architecture} {name}: not understood: {line}"));
                continue;
            };
            // Of functions that are no kernels, cuobjdump does not tell all.
            let agrees = |function: &Function| function.kind != Kind::Kernel || needs(function) == listed;
            match candidates.iter().position(|function| agrees(function)) {
                Some(place) if candidates.swap_remove(place).kind == Kind::Kernel => compared.kernels += 1,
                Some(_) => compared.functions += 1,
                None => {
                    let found: Vec<Needs> = candidates.iter().map(|function| needs(function)).collect();
                    compared.differences.push(format!("{architecture} {name}: {listed:?} in none of {found:?}"));
                }
            }
        }
    }
    compared
}

fn needs(function: &Function) -> Needs {
    let mut constants: Vec<(u8, u64)> = function.constants.iter().map(|part| (part.bank, part.bytes)).collect();
    constants.sort_unstable();
    (function.registers, function.stack, function.shared, constants)
}

/// Reads `REG:8 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:368 TEXTURE:0 SURFACE:0 SAMPLER:0`.
fn read(line: &str) -> Option<Needs> {
    let mut needs: Needs = (0, None, 0, Vec::new());
    for (what, value) in line.split_whitespace().map_while(|word| word.split_once(':')) {
        match what {
            "REG" => needs.0 = value.parse().ok()?,
            "STACK" if value == "UNKNOWN" => needs.1 = None,
            "STACK" => needs.1 = Some(value.parse().ok()?),
            "SHARED" => needs.2 = value.parse().ok()?,
            _ => {
                if let Some(bank) = what.strip_prefix("CONSTANT[").and_then(|rest| rest.strip_suffix(']')) {
                    needs.3.push((bank.parse().ok()?, value.parse().ok()?));
                }
            }
        }
    }
    needs.3.sort_unstable();
    Some(needs)
}

#[cfg(test)]
mod tests {
    use super::compare;
    use cuweld_report::model::{Architecture, Constants, Function, Kind, Report};

    const LISTING: &str = "
arch = sm_90
 Function k:
  REG:8 STACK:16 SHARED:0 LOCAL:0 CONSTANT[0]:368 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function f:
  REG:0 STACK:0 SHARED:0 LOCAL:0 TEXTURE:0 SURFACE:0 SAMPLER:0
";

    fn report(registers: u32, stack: Option<u64>) -> Report {
        let (mut kernel, mut function) = (Function::default(), Function::default());
        (kernel.name, kernel.kind, kernel.registers, kernel.stack) = ("k".into(), Kind::Kernel, registers, stack);
        kernel.constants = vec![Constants { bank: 0, bytes: 368 }];
        (function.name, function.registers) = ("f".into(), 24);
        let mut architecture = Architecture::default();
        (architecture.name, architecture.functions) = ("sm_90".into(), vec![kernel, function]);
        let mut report = cuweld_report::examine(&[], &|_, _| {});
        report.architectures = vec![architecture];
        report
    }

    #[test]
    fn what_differs_is_told() {
        let same = compare(&report(8, Some(16)), LISTING);
        assert_eq!((same.kernels, same.functions, same.differences.len()), (1, 1, 0));
        for other in [report(9, Some(16)), report(8, Some(0)), report(8, None)] {
            let compared = compare(&other, LISTING);
            assert_eq!((compared.kernels, compared.differences.len()), (0, 1), "{compared}");
        }
        assert_eq!(compare(&report(8, Some(16)), &LISTING.replace("368", "352")).differences.len(), 1);
        assert_eq!(compare(&report(8, Some(16)), &LISTING.replace("sm_90", "sm_80")).differences.len(), 2);
    }
}
