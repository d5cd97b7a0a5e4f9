//! The table of operators.

/// An operator.
pub(super) struct Operator {
    /// Its code in a mangled name.
    pub code: &'static str,
    /// How it is written, with a blank after it where the reference linker leaves one.
    pub text: &'static str,
    /// How many operands it has in an expression; 0 for those that do not stand in expressions this way.
    pub operands: u8,
}

const fn row(code: &'static str, text: &'static str, operands: u8) -> Operator {
    Operator { code, text, operands }
}

/// The operator with a code.
pub(super) fn starting(text: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|row| text.starts_with(row.code))
}

#[rustfmt::skip] // a table reads better with several columns on a line
const OPERATORS: &[Operator] = &[
    row("nw", "new ", 0), row("na", "new[] ", 0), row("dl", "delete ", 0), row("da", "delete[] ", 0), row("aw", "co_await", 0),
    row("ps", "+", 1), row("ng", "-", 1), row("ad", "&", 1), row("de", "*", 1), row("co", "~", 1), row("nt", "!", 1),
    row("pl", "+", 2), row("mi", "-", 2), row("ml", "*", 2), row("dv", "/", 2), row("rm", "%", 2),
    row("an", "&", 2), row("or", "|", 2), row("eo", "^", 2), row("ls", "<<", 2), row("rs", ">>", 2),
    row("aS", "=", 2), row("pL", "+=", 2), row("mI", "-=", 2), row("mL", "*=", 2), row("dV", "/=", 2), row("rM", "%=", 2),
    row("aN", "&=", 2), row("oR", "|=", 2), row("eO", "^=", 2), row("lS", "<<=", 2), row("rS", ">>=", 2),
    row("eq", "==", 2), row("ne", "!=", 2), row("lt", "<", 2), row("gt", ">", 2), row("le", "<=", 2), row("ge", ">=", 2),
    row("ss", "<=>", 2), row("aa", "&&", 2), row("oo", "||", 2), row("cm", ",", 2), row("pm", "->*", 2),
    row("pp", "++", 0), row("mm", "--", 0), row("pt", "->", 0), row("cl", "()", 0), row("ix", "[]", 0), row("qu", "?", 0),
];

#[cfg(test)]
mod tests {
    use super::OPERATORS;

    #[test]
    fn codes_are_unique() {
        for (index, row) in OPERATORS.iter().enumerate() {
            assert!(row.code.len() == 2 && OPERATORS[..index].iter().all(|other| other.code != row.code), "{}", row.code);
        }
    }
}
