//! Budgets: limits of a report, for kernels whose names match a pattern and for all code.
//!
//! ```toml
//! baseline = "baseline.json"      # a report, to measure growth against; beside this file
//!
//! [total]                         # of each architecture
//! stored = "12 MiB"               # bytes in the files
//! growth = { stored = 2 }         # percent
//! no_new_duplicates = true
//!
//! [[kernels]]
//! pattern = "*gemm*"              # of names in the source or in the symbol table
//! registers = 128
//! shared = "48 KiB"
//! growth = { registers = 0 }
//! ```

use crate::compare::because;
use crate::model::{Architecture, Function, Report};
use cuweld::pattern::matches;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Limits, as a file has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Budget {
    /// The report to measure growth against, by its path from the budget's file.
    pub baseline: Option<String>,
    /// Limits of everything for an architecture.
    #[serde(default)]
    total: Total,
    /// Limits of kernels.
    #[serde(default)]
    kernels: Vec<Kernels>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Total {
    stored: Option<Size>,
    unpacked: Option<Size>,
    code: Option<Size>,
    duplicates: Option<Size>,
    kernels: Option<u64>,
    #[serde(default)]
    growth: BTreeMap<String, f64>,
    #[serde(default)]
    no_new_duplicates: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernels {
    #[serde(default = "everything")]
    pattern: String,
    arch: Option<String>,
    registers: Option<u64>,
    stack: Option<Size>,
    shared: Option<Size>,
    code: Option<Size>,
    /// At least so many warps.
    warps: Option<u64>,
    #[serde(default)]
    growth: BTreeMap<String, f64>,
}

fn everything() -> String {
    "*".to_owned()
}

/// A number of bytes: `49152` or `"48 KiB"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Size {
    Number(u64),
    Text(String),
}

impl Size {
    fn bytes(&self) -> Result<u64, String> {
        let text = match self {
            Size::Number(bytes) => return Ok(*bytes),
            Size::Text(text) => text.trim(),
        };
        const UNITS: [(&str, f64); 8] = [
            ("KiB", 1024.0),
            ("MiB", 1048576.0),
            ("GiB", 1073741824.0),
            ("kB", 1e3),
            ("KB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("B", 1.0),
        ];
        let (number, factor) = (UNITS.iter())
            .find_map(|(unit, factor)| text.strip_suffix(unit).map(|number| (number, *factor)))
            .unwrap_or((text, 1.0));
        let number: f64 = number.trim().parse().map_err(|_| format!("'{text}' is no size"))?;
        if number >= 0.0 { Ok((number * factor) as u64) } else { Err(format!("'{text}' is no size")) }
    }
}

/// A number of a kernel that can be limited.
type KernelColumn = (&'static str, fn(&Architecture, &Function) -> Option<u64>);

const KERNEL: [KernelColumn; 4] = [
    ("registers", |_, kernel| Some(kernel.registers.into())),
    ("stack", |_, kernel| kernel.stack),
    ("shared", |_, kernel| Some(kernel.shared)),
    ("code", |_, kernel| Some(kernel.code)),
];

/// A number of an architecture that can be limited.
type TotalColumn = (&'static str, fn(&Architecture) -> u64);

const TOTAL: [TotalColumn; 5] = [
    ("stored", Architecture::stored),
    ("unpacked", |architecture| architecture.parts().total()),
    ("code", |architecture| architecture.parts().code),
    ("duplicates", Architecture::waste),
    ("kernels", |architecture| architecture.kernels().count() as u64),
];

impl Budget {
    /// Reads a budget.
    ///
    /// # Errors
    /// When the text is no budget; the error says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let budget: Budget = toml::from_str(text).map_err(|error| error.to_string())?;
        let known = |names: &[&str], growth: &BTreeMap<String, f64>| {
            growth
                .keys()
                .find(|name| !names.contains(&name.as_str()))
                .map_or(Ok(()), |name| Err(format!("growth of '{name}' can not be limited")))
        };
        known(&TOTAL.map(|(name, _)| name), &budget.total.growth)?;
        budget.kernels.iter().try_for_each(|kernels| known(&KERNEL.map(|(name, _)| name), &kernels.growth))?;
        Ok(budget)
    }

    /// What a report breaks, one line for each.
    ///
    /// # Errors
    /// When a limit is no number, or growth is limited and there is no baseline.
    pub fn breaches(&self, report: &Report, baseline: Option<&Report>) -> Result<Vec<String>, String> {
        let needs_baseline = !self.total.growth.is_empty()
            || self.total.no_new_duplicates
            || self.kernels.iter().any(|kernels| !kernels.growth.is_empty());
        if needs_baseline && baseline.is_none() {
            return Err("it limits growth, and there is no baseline".to_owned());
        }
        let mut breaches = Vec::new();
        for architecture in &report.architectures {
            let before = baseline.and_then(|baseline| baseline.architecture(&architecture.name));
            self.total.check(architecture, before, &mut breaches)?;
            for kernels in &self.kernels {
                kernels.check(architecture, before, &mut breaches)?;
            }
        }
        Ok(breaches)
    }
}

impl Total {
    fn check(
        &self,
        architecture: &Architecture,
        before: Option<&Architecture>,
        breaches: &mut Vec<String>,
    ) -> Result<(), String> {
        let kernels = self.kernels.map(Size::Number);
        let limits = [&self.stored, &self.unpacked, &self.code, &self.duplicates, &kernels];
        for ((name, value), limit) in TOTAL.iter().zip(limits) {
            let found = value(architecture);
            if let Some(limit) = limit {
                let most = limit.bytes()?;
                if found > most {
                    breaches.push(format!("{}: total {name} is {found}, more than {most}", architecture.name));
                }
            }
            if let (Some(growth), Some(before)) = (self.growth.get(*name), before) {
                let message = grown(value(before), found, *growth);
                breaches.extend(message.map(|message| format!("{}: total {name} {message}", architecture.name)));
            }
        }
        if let (true, Some(before)) = (self.no_new_duplicates, before) {
            new_duplicates(architecture, before, breaches);
        }
        Ok(())
    }
}

/// What is there more than once and was not.
fn new_duplicates(architecture: &Architecture, before: &Architecture, breaches: &mut Vec<String>) {
    let copies = |architecture: &Architecture| -> HashMap<u64, usize> {
        let duplicates = architecture.duplicates.iter();
        duplicates
            .filter_map(|duplicate| {
                Some((architecture.function(*duplicate.functions.first()?)?.fingerprint, duplicate.functions.len()))
            })
            .collect()
    };
    let known = copies(before);
    for duplicate in &architecture.duplicates {
        let Some(first) = duplicate.functions.first().and_then(|&index| architecture.function(index)) else { continue };
        let old = known.get(&first.fingerprint).copied().unwrap_or(1);
        if duplicate.functions.len() > old {
            breaches.push(format!(
                "{}: the code of {} is there {} times, was {old}",
                architecture.name,
                first.demangled.escape_debug(),
                duplicate.functions.len()
            ));
        }
    }
}

impl Kernels {
    fn check(
        &self,
        architecture: &Architecture,
        before: Option<&Architecture>,
        breaches: &mut Vec<String>,
    ) -> Result<(), String> {
        if self.arch.as_ref().is_some_and(|name| *name != architecture.name) {
            return Ok(());
        }
        let registers = self.registers.map(Size::Number);
        let limits = [&registers, &self.stack, &self.shared, &self.code].map(|limit| limit.as_ref().map(Size::bytes).transpose());
        let limits = limits.into_iter().collect::<Result<Vec<_>, _>>()?;
        let old: HashMap<&str, &Function> = match before.filter(|_| !self.growth.is_empty()) {
            Some(before) => before.kernels().map(|(_, kernel)| (&*kernel.name, kernel)).collect(),
            None => HashMap::new(),
        };
        let is_meant = |kernel: &Function| {
            matches(&self.pattern, &kernel.demangled)
                || matches(&self.pattern, &kernel.name)
                || matches(&self.pattern, &kernel.template)
        };
        for (_, kernel) in architecture.kernels().filter(|(_, kernel)| is_meant(kernel)) {
            let place = format!("{}: {}", architecture.name, kernel.demangled.escape_debug());
            for ((name, value), most) in KERNEL.iter().zip(&limits) {
                let found = value(architecture, kernel);
                if let Some(most) = most
                    && found.is_none_or(|found| found > *most)
                {
                    let found = found.map_or("unknown".to_owned(), |found| found.to_string());
                    breaches.push(format!("{place}: {name} {found}, more than {most}"));
                }
                let before = before.and_then(|before| old.get(&*kernel.name).and_then(|kernel| value(before, kernel)));
                if let (Some(growth), Some(before), Some(found)) = (self.growth.get(*name), before, found) {
                    breaches.extend(grown(before, found, *growth).map(|message| format!("{place}: {name} {message}")));
                }
            }
            let warps = because::warps(architecture, kernel);
            if let (Some(least), Some(warps)) = (self.warps, warps)
                && warps < least
            {
                breaches.push(format!("{place}: warps {warps}, fewer than {least}"));
            }
        }
        Ok(())
    }
}

/// Says that a number grew by more than it may.
fn grown(before: u64, now: u64, percent: f64) -> Option<String> {
    let most = before as f64 * (1.0 + percent / 100.0);
    (now > before && now as f64 > most).then(|| format!("grew from {before} to {now}, by more than {percent} %"))
}

#[cfg(test)]
mod tests;
