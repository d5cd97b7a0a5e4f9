//! Names of functions, variables and classes.

use super::substitution::Type;
use super::{Parser, operator};

/// A name, and what matters of it for what stands around it.
#[derive(Debug, Default)]
pub(super) struct Name {
    pub text: String,
    /// What a member function is qualified with: ` const` and the like.
    qualifiers: String,
    /// Which variant of a constructor or destructor it is.
    variant: &'static str,
    /// Whether it ends with template arguments.
    has_arguments: bool,
    /// Whether a function of this name has no return type: a constructor, destructor or conversion.
    has_no_result: bool,
}

impl Name {
    fn plain(text: impl Into<String>) -> Self {
        Name { text: text.into(), ..Name::default() }
    }

    /// This name as a member of `scope`.
    fn inside(mut self, scope: &str) -> Self {
        if !scope.is_empty() {
            self.text = if self.text.is_empty() { scope.to_owned() } else { format!("{scope}::{}", self.text) };
        }
        self
    }
}

/// Names that the compiler makes for other things than the program's, and how they are announced.
const SPECIAL: [(&str, &str); 5] = [
    ("TV", "Virtual function table for "),
    ("TT", "Virtual table table for "),
    ("TI", "Typeinfo for "),
    ("TS", "Typeinfo name for "),
    ("GV", "Initialization guard variable for "),
];

/// Variants of constructors and destructors.
const VARIANTS: [(&str, &str, &str); 6] = [
    ("C1", "", ""),
    ("C2", "", " [subobject]"),
    ("C3", "", " [allocating]"),
    ("D0", "~", " [deleting]"),
    ("D1", "~", ""),
    ("D2", "~", " [subobject]"),
];

impl Parser<'_> {
    /// A whole symbol: a function with its parameters, or something else with a name.
    pub(super) fn encoding(&mut self) -> Option<String> {
        self.nested(|parser| match parser.peek() {
            b'T' | b'G' => parser.special(),
            _ => Some(parser.function_or_variable()?.1),
        })
    }

    fn special(&mut self) -> Option<String> {
        if let Some((code, text)) = SPECIAL.iter().find(|(code, _)| self.rest.starts_with(code)) {
            self.expect(code)?;
            let what = if *code == "GV" { self.name()?.text } else { self.parse_type()?.text() };
            return Some(format!("{text}{what}"));
        }
        self.expect("T")?;
        let offsets = if self.eat("h") {
            format!("offset {}", self.offset()?)
        } else {
            self.expect("v")?;
            format!("offset {}, virtual offset {}", self.offset()?, self.offset()?)
        };
        Some(format!("Thunk for ({offsets}) {}", self.encoding()?))
    }

    fn offset(&mut self) -> Option<String> {
        let sign = if self.eat("n") { "-" } else { "" };
        let digits = self.digits();
        self.expect("_")?;
        Some(format!("{sign}{digits}"))
    }

    /// The name alone, and the whole text.
    pub(super) fn function_or_variable(&mut self) -> Option<(String, String)> {
        let name = self.name()?;
        let ends = |parser: &Self| matches!(parser.peek(), 0 | b'E' | b'$');
        if ends(self) {
            return Some((name.text.clone(), name.text));
        }
        let mut text = String::new();
        if name.has_arguments && !name.has_no_result {
            text = format!("{} ", self.parse_type()?.text());
        }
        let parameters = self.parameters(ends)?;
        text = format!("{text}{}{parameters}{}{}", name.text, name.qualifiers, name.variant);
        Some((name.text, self.wrote(text)?))
    }

    /// A name that may be inside something.
    pub(super) fn name(&mut self) -> Option<Name> {
        self.nested(|parser| match parser.peek() {
            b'N' => parser.nested_name(),
            b'Z' => parser.local_name(),
            b'S' if !parser.rest.starts_with("St") => {
                let template = parser.substitution()?.text();
                parser.with_arguments(Name::plain(template))
            }
            _ => {
                let scope = if parser.eat("St") { "std" } else { "" };
                let name = parser.unqualified_name("")?.inside(scope);
                if parser.peek() == b'I' {
                    parser.remember(&Type::scope(&*name.text))?;
                    return parser.with_arguments(name);
                }
                Some(name)
            }
        })
    }

    fn with_arguments(&mut self, name: Name) -> Option<Name> {
        let text = format!("{}{}", name.text, self.template_arguments()?);
        Some(Name { text: self.wrote(text)?, has_arguments: true, ..name })
    }

    fn nested_name(&mut self) -> Option<Name> {
        self.expect("N")?;
        let (_, volatile, constant) = (self.eat("r"), self.eat("V"), self.eat("K"));
        let mut qualifiers = String::new();
        if constant {
            qualifiers.push_str(" const");
        }
        if volatile {
            qualifiers.push_str(" volatile");
        }
        if self.eat("R") {
            qualifiers.push_str(" &");
        } else if self.eat("O") {
            qualifiers.push_str(" &&");
        }
        let mut name = Name::default();
        let mut is_first = true;
        while !self.eat("E") {
            let was_known = self.peek() == b'S';
            name = match self.peek() {
                b'S' if is_first && self.eat("St") => {
                    is_first = false;
                    name = Name::plain("std");
                    continue;
                }
                b'S' if is_first => Name::plain(self.substitution()?.text()),
                b'T' if is_first => Name::plain(self.template_parameter()?),
                b'D' if is_first && matches!(self.rest.as_bytes(), [_, b't' | b'T', ..]) => {
                    Name::plain(self.parse_type()?.text())
                }
                b'I' if !is_first && !name.has_arguments => self.with_arguments(name)?,
                b'M' if !is_first => {
                    // The lambda that follows initialises this member.
                    self.expect("M")?;
                    continue;
                }
                _ => {
                    let next = self.unqualified_name(&name.text)?.inside(&name.text);
                    Name { text: self.wrote(next.text)?, ..next }
                }
            };
            is_first = false;
            if self.peek() != b'E' && !was_known {
                self.remember(&Type::scope(&*name.text))?;
            }
        }
        (!is_first).then_some(Name { qualifiers, ..name })
    }

    /// Something inside a function.
    fn local_name(&mut self) -> Option<Name> {
        self.expect("Z")?;
        let function = self.encoding()?;
        self.expect("E")?;
        if self.eat("s") {
            self.discriminator()?;
            return Some(Name::plain("string").inside(&function));
        }
        let mut scope = function;
        if self.eat("d") {
            scope = format!("{scope}::[default argument {} (from end)]", self.ordinal()?);
        }
        let mut name = self.name()?.inside(&scope);
        if let Some(instance) = self.discriminator()? {
            name.text.push_str(&format!(" (instance {instance})"));
        }
        Some(Name { text: self.wrote(name.text)?, ..name })
    }

    /// `_0` or `__10_`: which of several local things of one name. Nothing for the first.
    fn discriminator(&mut self) -> Option<Option<u32>> {
        if self.eat("__") {
            let number: u32 = self.digits().parse().ok()?;
            self.expect("_")?;
            return Some(number.checked_add(2));
        }
        if !self.eat("_") {
            return Some(None);
        }
        let digit = self.rest.chars().next()?.to_digit(10)?;
        self.rest = self.rest.get(1..)?;
        Some(Some(digit + 2))
    }

    /// A name by itself. `scope` is what it is a member of, after which constructors are named.
    fn unqualified_name(&mut self, scope: &str) -> Option<Name> {
        let mut name = match self.peek() {
            b'0'..=b'9' => Name::plain(self.source_name()?),
            b'U' => Name::plain(self.unnamed()?),
            b'C' | b'D' => {
                let (code, sign, variant) = VARIANTS.iter().find(|(code, ..)| self.rest.starts_with(code))?;
                self.expect(code)?;
                let text = format!("{sign}{}", last_part(scope));
                Name { variant, has_no_result: true, ..Name::plain(text) }
            }
            _ => self.operator_name()?,
        };
        while self.eat("B") {
            let tag = self.source_name()?;
            name.text.push_str(&format!("[abi:{tag}]"));
        }
        Some(name)
    }

    fn operator_name(&mut self) -> Option<Name> {
        if self.eat("li") {
            return Some(Name::plain(format!("operator \"\"{}", self.source_name()?)));
        }
        if self.eat("cv") {
            let before = std::mem::replace(&mut self.in_conversion, true);
            let kind = self.parse_type();
            self.in_conversion = before;
            return Some(Name { has_no_result: true, ..Name::plain(format!("operator {}", kind?.text())) });
        }
        let row = operator::starting(self.rest)?;
        self.expect(row.code)?;
        Some(Name::plain(format!("operator {}", row.text)))
    }

    /// Closures and types without a name.
    fn unnamed(&mut self) -> Option<String> {
        if self.eat("Ul") {
            let parameters = self.parameters(|parser| matches!(parser.peek(), b'E' | 0))?;
            self.expect("E")?;
            return Some(format!("[lambda{parameters} (instance {})]", self.ordinal()?));
        }
        self.expect("Ut")?;
        Some(format!("[unnamed type (instance {})]", self.ordinal()?))
    }

    /// A length and that many bytes. The namespaces that compilers make for a file have no name, or do not show at all.
    pub(super) fn source_name(&mut self) -> Option<String> {
        let length: usize = self.digits().parse().ok()?;
        let (name, rest) = (self.rest.get(..length)?, self.rest.get(length..)?);
        self.rest = rest;
        let is_identifier = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii();
        if length == 0 || !name.bytes().all(is_identifier) {
            return None;
        }
        let shown = if name.starts_with("_GLOBAL__N_") {
            "<unnamed>"
        } else if name.starts_with("_INTERNAL_") {
            ""
        } else {
            name
        };
        self.wrote(shown.to_owned())
    }

    /// Template arguments in their brackets.
    pub(super) fn template_arguments(&mut self) -> Option<String> {
        self.expect("I")?;
        // Inside the brackets, arguments belong to types again.
        let before = std::mem::replace(&mut self.in_conversion, false);
        let arguments = self.nested(Self::arguments_to_end);
        self.in_conversion = before;
        self.wrote(format!("<{}>", arguments?))
    }

    fn arguments_to_end(&mut self) -> Option<String> {
        let mut arguments = Vec::new();
        while !self.eat("E") {
            arguments.push(match self.peek() {
                b'J' => {
                    self.expect("J")?;
                    self.nested(Self::arguments_to_end)?
                }
                b'X' => {
                    self.expect("X")?;
                    let expression = self.expression()?;
                    self.expect("E")?;
                    expression
                }
                b'L' => self.literal()?,
                _ => self.parse_type()?.text(),
            });
        }
        self.wrote(arguments.join(", "))
    }
}

/// The last part of a scope, without its template arguments: what its constructors are called.
fn last_part(scope: &str) -> &str {
    let mut depth = 0usize;
    let (mut start, mut end) = (0, scope.len());
    for (index, byte) in scope.bytes().enumerate().rev() {
        match byte {
            b'>' | b')' | b']' => depth += 1,
            b'<' | b'(' | b'[' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'<' && end == scope.len() {
                    end = index;
                }
            }
            b':' if depth == 0 => {
                start = index + 1;
                break;
            }
            _ => {}
        }
    }
    scope.get(start..end).unwrap_or(scope)
}
