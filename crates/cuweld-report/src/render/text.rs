//! A report as text, for a terminal.

use super::number::{bytes, count, percent, plural};
use crate::model::{Architecture, Function, Report};
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
        _ = writeln!(out, "{}: {}, {}, of which device code {}", file.name, file.kind, bytes(file.bytes), bytes(file.device));
        for other in &file.others {
            let entries = plural(other.count as usize, "entry", "entries");
            _ = writeln!(out, "  {} {}: {entries}, {}", other.kind, other.architecture, bytes(other.stored));
        }
        for problem in &file.problems {
            _ = writeln!(out, "  not read: {problem}");
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

/// Who forces the numbers of a kernel, a sentence each.
pub(crate) fn reasons(architecture: &Architecture, kernel: &Function) -> Vec<String> {
    let mut reasons = Vec::new();
    if kernel.registers_path.len() > 1 {
        reasons.push(format!("{} registers: {}", kernel.registers, via(architecture, &kernel.registers_path)));
    }
    if let (Some(stack), true) = (kernel.stack, kernel.stack_path.len() > 1) {
        let frames = kernel.stack_path.iter().filter_map(|&index| architecture.function(index));
        let sum: Vec<String> = frames.map(|function| function.frame.to_string()).collect();
        reasons.push(format!("{stack} bytes of stack: {} = {}", via(architecture, &kernel.stack_path), sum.join(" + ")));
    }
    if !kernel.cycle.is_empty() {
        reasons.push(format!("stack unknown, recursion: {}", chain(architecture, &kernel.cycle)));
    }
    reasons
}

/// `ext1 via area`: the last of a path, and the ones on the way.
fn via(architecture: &Architecture, path: &[u32]) -> String {
    let name = |index: &u32| short(architecture, *index);
    match path.split_last() {
        Some((last, [_, between @ ..])) if !between.is_empty() => {
            let between: Vec<String> = between.iter().map(name).collect();
            format!("{} via {}", name(last), between.join(", "))
        }
        Some((last, _)) => name(last),
        None => String::new(),
    }
}

fn chain(architecture: &Architecture, path: &[u32]) -> String {
    let names: Vec<String> = path.iter().map(|&index| short(architecture, index)).collect();
    names.join(" -> ")
}

/// A function's name without its parameters.
pub(crate) fn short(architecture: &Architecture, index: u32) -> String {
    let Some(function) = architecture.function(index) else { return String::new() };
    let arguments = if function.arguments.is_empty() { String::new() } else { format!("<{}>", function.arguments) };
    one_line(&format!("{}{arguments}", function.template))
}

/// A name that came from a stranger, so that it stays on its line and does nothing to a terminal.
pub(crate) fn one_line(name: &str) -> String {
    if name.chars().any(char::is_control) {
        name.chars()
            .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
            .collect()
    } else {
        name.to_owned()
    }
}
