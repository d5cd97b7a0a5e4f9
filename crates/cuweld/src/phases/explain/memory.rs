//! Memories that are too small: what fills them.

use super::{bytes, first_few};
use crate::demangle::demangle;
use crate::diagnostics::Diagnostic;
use crate::id::SymbolId;
use crate::phases::load::Inputs;
use crate::phases::resolve::Resolution;

/// Adds the largest variables to a message about a memory.
pub fn add_largest(
    diagnostic: Diagnostic,
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    variables: impl IntoIterator<Item = (SymbolId, u64)>,
) -> Diagnostic {
    let mut variables: Vec<(SymbolId, u64)> = variables.into_iter().filter(|&(_, size)| size > 0).collect();
    variables.sort_by_key(|&(symbol, size)| (std::cmp::Reverse(size), symbol));
    variables.dedup();
    let lines = variables.into_iter().map(|(symbol, size)| {
        let name = resolution.symbols()[symbol].name(inputs);
        format!("{} has {}", demangle(name), bytes(size))
    });
    let mut diagnostic = diagnostic;
    diagnostic.also.extend(first_few(lines, 5));
    diagnostic
}
