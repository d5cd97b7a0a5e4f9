//! Sentences that several renderings share.

use super::number::{bytes, count};
use crate::blame::LONGEST;
use crate::compare::{Change, Quantity};
use crate::model::{Architecture, Function};
use cuweld::diagnostics::printable;

/// Who forces the numbers of a kernel, a sentence each.
pub(crate) fn reasons(architecture: &Architecture, kernel: &Function) -> Vec<String> {
    let mut reasons = Vec::new();
    if kernel.registers_path.len() > 1 {
        reasons.push(format!("{} registers: {}", kernel.registers, via(architecture, &kernel.registers_path)));
    }
    if let (Some(stack), true) = (kernel.stack, kernel.stack_path.len() > 1) {
        let frames = kernel.stack_path.iter().filter_map(|&index| architecture.function(index));
        let sum = cut(&kernel.stack_path, frames.map(|function| function.frame.to_string()).collect());
        reasons.push(format!("{stack} bytes of stack: {} = {}", via(architecture, &kernel.stack_path), sum.join(" + ")));
    }
    if !kernel.cycle.is_empty() {
        let names = cut(&kernel.cycle, kernel.cycle.iter().map(|&index| short(architecture, index)).collect());
        reasons.push(format!("stack unknown, recursion: {}", names.join(" -> ")));
    }
    reasons
}

/// What is said of the functions of a path, with a sign where some of them are not given.
fn cut(path: &[u32], mut said: Vec<String>) -> Vec<String> {
    if path.len() == LONGEST {
        said.insert(LONGEST - 1, "...".to_owned());
    }
    said
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

/// A function's name without its parameters.
pub(crate) fn short(architecture: &Architecture, index: u32) -> String {
    let Some(function) = architecture.function(index) else { return String::new() };
    let arguments = if function.arguments.is_empty() { String::new() } else { format!("<{}>", function.arguments) };
    one_line(&format!("{}{arguments}", function.template))
}

/// An untrusted name, escaped so that it stays on its line and has no effect on a terminal.
pub(crate) fn one_line(name: &str) -> String {
    printable(name).replace('\t', "\\t")
}

/// A change in numbers: `registers 24 -> 36`.
pub(crate) fn change(change: &Change) -> String {
    let number = |value: Option<u64>| match (value, change.what) {
        (None, _) => "unknown".to_owned(),
        (Some(value), Quantity::Code | Quantity::Shared) => bytes(value),
        (Some(value), _) => count(value),
    };
    format!("{} {} -> {}", change.what.name(), number(change.old), number(change.new))
}
