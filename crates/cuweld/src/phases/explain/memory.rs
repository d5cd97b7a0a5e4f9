//! Exceeded memories: their largest users.

use super::{bytes, first_few};
use crate::demangle::demangle;
use crate::diagnostics::Diagnostic;
use crate::id::SymbolId;
use crate::phases::load::Inputs;
use crate::phases::resolve::Resolution;

/// The source's name of a variable in shared memory. The assembler calls those of one function `$__NAME__NUMBER`.
fn in_source(name: &str) -> &str {
    let without_number = |name| {
        let (name, number) = str::rsplit_once(name, "__")?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
    };
    name.strip_prefix("$__").and_then(without_number).unwrap_or(name)
}

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
    let line = |(symbol, size): (SymbolId, u64)| {
        let name = resolution.symbols()[symbol].name(inputs);
        format!("{} has {}", demangle(in_source(name)), bytes(size))
    };
    let mut diagnostic = diagnostic;
    diagnostic.also.extend(first_few(variables, 5, line));
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_source() {
        for (name, expected) in [
            ("$___ZZ4bigkPfE1s__29", "bigk(float *)::s"),
            ("$__s__8", "s"),
            ("$__a__b__12", "a__b"),
            ("s__8", "s__8"),
            ("$__s", "$__s"),
        ] {
            assert_eq!(demangle(in_source(name)), expected);
        }
    }
}
