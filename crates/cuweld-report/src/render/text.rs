//! A report as text, for a terminal.

use super::number::{bytes, count, percent, plural};
use super::sentences::{one_line, reasons};
use crate::model::{Architecture, Function, Removed, Report};
use std::fmt::Write;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// The most kernels of an architecture; all, if none is given.
    pub most: Option<usize>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { most: Some(30) }
    }
}

/// Block size whose occupancy is shown in tables.
const SHOWN_BLOCK: u32 = 256;

/// Writes a report as text.
#[must_use]
pub fn text(report: &Report, options: &TextOptions) -> String {
    let mut out = String::new();
    for file in &report.files {
        _ = writeln!(
            out,
            "{}: {}, {}, of which device code {}",
            one_line(&file.name),
            file.kind,
            bytes(file.bytes),
            bytes(file.device)
        );
        for other in &file.others {
            let entries = plural(other.count as usize, "entry", "entries");
            _ = writeln!(out, "  {} {}: {entries}, {}", other.kind, other.architecture, bytes(other.stored));
        }
        for problem in &file.problems {
            _ = writeln!(out, "  not read: {}", one_line(problem));
        }
    }
    for architecture in &report.architectures {
        list(&mut out, architecture, options);
    }
    out
}

fn list(out: &mut String, architecture: &Architecture, options: &TextOptions) {
    let parts = architecture.parts();
    let kernels = architecture.kernels().count();
    _ = writeln!(
        out,
        "\n{}: {}, {} in {}; {} unpacked, {} in the file",
        architecture.name,
        plural(kernels, "kernel", "kernels"),
        plural(architecture.functions.len() - kernels, "other function", "other functions"),
        plural(architecture.images.len(), "cubin", "cubins"),
        bytes(parts.total()),
        bytes(architecture.stored()),
    );
    let shares = parts.named().into_iter().filter(|(_, size)| *size > 0);
    let shares: Vec<String> = shares.map(|(name, size)| format!("{name} {}", percent(size, parts.total()))).collect();
    _ = writeln!(out, "  {}", shares.join(", "));
    if !architecture.duplicates.is_empty() {
        let groups = plural(architecture.duplicates.len(), "group", "groups");
        _ = writeln!(out, "  same code more than once: {groups}, {} could be saved", bytes(architecture.waste()));
    }
    if let Some(link) = &architecture.link {
        for input in link.inputs.iter().filter(|input| input.kept + input.removed > 0) {
            let (kept, removed) = (bytes(input.kept), bytes(input.removed));
            _ = writeln!(out, "  {}: {kept} of code kept, {removed} removed", one_line(&input.name));
        }
        for removed in &link.removed {
            let Removed { demangled, bytes: size, reason, .. } = removed;
            _ = writeln!(out, "  removed {}, {}: {}", one_line(demangled), bytes(*size), one_line(reason));
        }
    }
    let mut sorted: Vec<(u32, &Function)> = architecture.kernels().collect();
    sorted.sort_by_key(|(index, kernel)| (std::cmp::Reverse(kernel.code), *index));
    if !sorted.is_empty() {
        _ = writeln!(out, "\n  {:>10} {:>4} {:>7} {:>8} {:>5}  kernel", "code", "regs", "stack", "shared", "warps");
    }
    let most = options.most.unwrap_or(usize::MAX);
    for (_, kernel) in sorted.iter().take(most) {
        line(out, architecture, kernel);
    }
    if let Some(more) = sorted.len().checked_sub(most).filter(|more| *more > 0) {
        _ = writeln!(out, "  ... {} more (--all shows them)", count(more as u64));
    }
}

fn line(out: &mut String, architecture: &Architecture, kernel: &Function) {
    let stack = kernel.stack.map_or("unknown".to_owned(), |stack| stack.to_string());
    let shown = architecture.block_sizes.iter().position(|&size| size == SHOWN_BLOCK);
    let warps = shown.and_then(|shown| kernel.warps.get(shown)).map_or("-".to_owned(), u32::to_string);
    _ = writeln!(
        out,
        "  {:>10} {:>4} {:>7} {:>8} {:>5}  {}",
        count(kernel.code),
        kernel.registers,
        stack,
        count(kernel.shared),
        warps,
        one_line(&kernel.demangled)
    );
    for why in reasons(architecture, kernel) {
        _ = writeln!(out, "  {:>39}  {why}", "");
    }
}
