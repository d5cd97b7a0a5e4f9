//! Objects for another architecture: their target, and the targets that accept them.

use crate::diagnostics::{Diagnostic, Message};
use crate::options::Options;
use cubin::target::{Target, Variant};

/// Says why an object for the GPU `number` can not be linked for the target of the link.
pub fn describe(message: Message, file: &str, options: &Options, number: u32, accelerated: bool) -> Diagnostic {
    let (target, release) = (options.target, options.release.limit());
    let letter = if accelerated { "a" } else { "" };
    let takers: Vec<&str> = Target::all()
        .iter()
        .filter(|taker| taker.accepts(number, accelerated, release) && (accelerated || taker.variant == Variant::Plain))
        .map(|taker| taker.name)
        .collect();
    let diagnostic = Diagnostic::new(message)
        .headline(format!("'{file}' holds code for sm_{number}{letter}, which does not run on {}", target.name));
    let wanted = target.name;
    match takers.as_slice() {
        [] => diagnostic.hint(match Target::last_toolkit(number) {
            Some(last) => format!("CUDA {last} was the last toolkit for sm_{number}; compile it for the target: nvcc -arch={wanted}"),
            None => format!("compile it for the target: nvcc -arch={wanted}"),
        }),
        [first, ..] => diagnostic.also(format!("it can be linked for {}", takers.join(", "))).hint(format!(
            "compile it for the target (nvcc -arch={wanted}, or one more -gencode), or link for a GPU that takes it (-arch={first})"
        )),
    }
}
