//! Demangling of C++ names.
//!
//! The C++ names of device code are mangled as the Itanium C++ ABI says. Demangled, they are written here the way the reference
//! linker writes them in its listings, which differs from other tools: `const int *` and not `int const*`, template parameters
//! as `T1` and not as what they stand for, literals with their type (`A<(int)3>`), namespaces without a name as `<unnamed>`.
//!
//! A name is untrusted input. A name that is unknown, too deep or too long is shown mangled.

mod expression;
mod name;
mod operator;
mod substitution;
mod types;

use std::borrow::Cow;
use substitution::Type;

/// The source's name for a mangled one; the name itself if it is not mangled, or not in a way that is understood.
pub fn demangle(name: &str) -> Cow<'_, str> {
    let Some(encoding) = without_file(name).strip_prefix("_Z") else { return Cow::Borrowed(name) };
    let mut parser = Parser { rest: encoding, depth: 0, written: 0, substitutions: Vec::new(), in_conversion: false };
    match parser.encoding() {
        // What follows a dollar sign tells copies of a function apart.
        Some(text) if parser.rest.is_empty() || parser.rest.starts_with('$') => Cow::Owned(text),
        _ => Cow::Borrowed(name),
    }
}

/// What nvcc puts before the name of a kernel that is local to a file.
const STATIC_KERNEL: &str = "__nv_static_";

/// A name without what tells kernels of several files apart: `__nv_static_18__5af76efc_4_a_cu_t__Z1kv`, where 18 is how much of it names the file.
fn without_file(name: &str) -> &str {
    let behind_file = || {
        let rest = name.strip_prefix(STATIC_KERNEL)?;
        let (size, rest) = rest.split_once('_')?;
        rest.get(size.parse().ok()?..)?.strip_prefix('_')
    };
    behind_file().unwrap_or(name)
}

/// How deep the parts of a name may be nested.
const MAX_DEPTH: u32 = 192;
/// How much text may be made on the way, in bytes: a substitution can stand for a text that is longer than the whole name, and
/// hold others itself.
const MAX_WRITTEN: usize = 1 << 20;

/// A parser of mangled names, in the middle of one. Its methods are named after the productions of the ABI's grammar; `None`
/// means that the name is not understood.
struct Parser<'name> {
    rest: &'name str,
    depth: u32,
    written: usize,
    substitutions: Vec<Type>,
    /// Whether template arguments belong to the conversion operator at hand, and not to the type it converts to.
    in_conversion: bool,
}

impl<'name> Parser<'name> {
    /// The next byte; 0 at the end.
    fn peek(&self) -> u8 {
        self.rest.bytes().next().unwrap_or(0)
    }

    /// Takes `token` if it comes next.
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a token that has to come next.
    fn expect(&mut self, token: &str) -> Option<()> {
        self.eat(token).then_some(())
    }

    /// Takes a run of decimal digits.
    fn digits(&mut self) -> &'name str {
        let end = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    /// Takes `_`, `0_`, `1_`...: the first, the second, the third of its kind.
    fn ordinal(&mut self) -> Option<u32> {
        let digits = self.digits();
        self.expect("_")?;
        if digits.is_empty() { Some(1) } else { digits.parse::<u32>().ok()?.checked_add(2) }
    }

    /// Accounts for a text that was made.
    fn wrote(&mut self, text: String) -> Option<String> {
        self.written += text.len();
        (self.written <= MAX_WRITTEN).then_some(text)
    }

    /// Runs a production one level deeper.
    fn nested<T>(&mut self, production: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let result = if self.depth <= MAX_DEPTH { production(self) } else { None };
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    /// Mangled names, each with the reference linker's text for it.
    const NAMES: &str = include_str!("demangle/names.txt");

    #[test]
    fn names_are_written_as_the_reference_writes_them() {
        let mut problems = Vec::new();
        for (mangled, expected) in NAMES.lines().filter_map(|line| line.split_once('\t')) {
            let found = demangle(mangled);
            if found != expected {
                problems.push(format!("{mangled}\n    {found}\n    {expected}"));
            }
        }
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }

    #[test]
    fn damaged_names_are_shown_as_they_are() {
        for line in NAMES.lines() {
            let mangled = line.split('\t').next().unwrap_or_default();
            for end in 0..mangled.len() {
                _ = demangle(&mangled[..end]);
                _ = demangle(&format!("{}é{}", &mangled[..end], &mangled[end..]));
                _ = demangle(&format!("_Z{}", &mangled[end..]));
            }
        }
        for name in ["", "_Z", "_Z1", "_Z99f", "_Z99999999999999999999f", "_Z1fT99999999999_", "_Z1fS_", "_ZN", "_Z1fé"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn hostile_names_take_bounded_work() {
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert_eq!(demangle(&deep), deep);
        // Every type is twice as long as the one before.
        let mut doubling = String::from("_Z1f1AIiiE");
        for index in 0..30 {
            let digit = char::from_digit(index, 36).map_or('Z', |digit| digit.to_ascii_uppercase());
            doubling.push_str(&format!("S_IS{digit}_S{digit}_E"));
        }
        assert_eq!(demangle(&doubling), doubling);
    }
}
