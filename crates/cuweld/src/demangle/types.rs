//! Types.

use super::Parser;
use super::substitution::{Shape, Type};

#[rustfmt::skip] // a table reads better with several columns on a line
const BUILTIN: &[(&str, &str)] = &[
    ("v", "void"), ("b", "bool"), ("c", "char"), ("a", "signed char"), ("h", "unsigned char"), ("s", "short"), ("t", "unsigned short"),
    ("i", "int"), ("j", "unsigned int"), ("l", "long"), ("m", "unsigned long"), ("x", "long long"), ("y", "unsigned long long"),
    ("n", "__int128"), ("o", "unsigned __int128"), ("f", "float"), ("d", "double"), ("e", "long double"), ("g", "__float128"),
    ("w", "wchar_t"), ("z", "..."), ("Dn", "std::nullptr_t"), ("Dh", "__fp16"), ("Du", "char8_t"), ("Ds", "char16_t"), ("Di", "char32_t"),
    ("Da", "auto"), ("Dc", "decltype(auto)"), ("DF16_", "_Float16"), ("DF16b", "std::bfloat16_t"),
];

impl Parser<'_> {
    /// A type.
    pub(super) fn parse_type(&mut self) -> Option<Type> {
        self.nested(Self::type_at_depth)
    }

    fn type_at_depth(&mut self) -> Option<Type> {
        if let Some((code, text)) = BUILTIN.iter().find(|(code, _)| self.rest.starts_with(code)) {
            self.expect(code)?;
            return Some(Type::plain(*text));
        }
        let unqualified = self.rest.trim_start_matches(['r', 'V', 'K']);
        let kind = match self.peek() {
            // Later parts refer back to the type of a function without its qualifiers.
            b'r' | b'V' | b'K' if unqualified.starts_with('F') || unqualified.starts_with("Do") => return self.qualified_type(),
            b'r' | b'V' | b'K' => self.qualified_type()?,
            b'P' => self.pointer("P", "*")?,
            b'R' => self.pointer("R", "&")?,
            b'O' => self.pointer("O", "&&")?,
            b'M' => self.member_pointer()?,
            b'A' => self.array()?,
            b'F' => self.function_type("")?,
            b'D' => self.type_with_d()?,
            b'T' => return self.template_template_parameter(),
            b'S' if !self.rest.starts_with("St") => return self.substituted_type(),
            b'U' => self.vendor_qualified()?,
            b'u' => {
                self.expect("u")?;
                Type::plain(self.source_name()?)
            }
            b'C' => {
                self.expect("C")?;
                let inner = self.parse_type()?;
                Type::plain(format!("_Complex {} ", inner.text()))
            }
            _ => Type::plain(self.name()?.text),
        };
        self.remember(&kind)?;
        Some(kind)
    }

    fn qualified_type(&mut self) -> Option<Type> {
        let (restrict, volatile, constant) = (self.eat("r"), self.eat("V"), self.eat("K"));
        let words = [(constant, "const"), (volatile, "volatile"), (restrict, "restrict")];
        let words: Vec<&str> = words.iter().filter(|(given, _)| *given).map(|&(_, word)| word).collect();
        Some(self.parse_type()?.qualified(&words.join(" ")))
    }

    fn pointer(&mut self, code: &str, token: &str) -> Option<Type> {
        self.expect(code)?;
        Some(self.parse_type()?.pointed_to_by(token))
    }

    fn member_pointer(&mut self) -> Option<Type> {
        self.expect("M")?;
        let class = self.parse_type()?.text();
        let member = self.parse_type()?;
        Some(member.pointed_to_by(&format!(" :: {class}::*")))
    }

    fn array(&mut self) -> Option<Type> {
        self.expect("A")?;
        let digits = self.digits();
        let count = if digits.is_empty() && self.peek() != b'_' { self.expression()? } else { digits.to_owned() };
        self.expect("_")?;
        let element = self.parse_type()?;
        Some(Type { right: format!("[{count}]{}", element.right), shape: Shape::Array, ..element })
    }

    fn function_type(&mut self, exception: &str) -> Option<Type> {
        self.expect("F")?;
        self.eat("Y");
        let result = self.parse_type()?;
        let parameters = self.parameters(|parser| ["E", "RE", "OE"].iter().any(|end| parser.rest.starts_with(end)))?;
        let reference = if self.eat("R") {
            " &"
        } else if self.eat("O") {
            " &&"
        } else {
            ""
        };
        self.expect("E")?;
        let shape = Shape::Function { qualifiers_at: parameters.len() };
        Some(Type { right: format!("{parameters}{reference}{}{exception}", result.right), shape, ..result })
    }

    /// Types whose code begins with `D`.
    fn type_with_d(&mut self) -> Option<Type> {
        if self.eat("Do") {
            return self.function_type(" noexcept");
        }
        if self.eat("Dp") {
            let mut pattern = self.parse_type()?;
            // What was a pointer is a list now, to which nothing can be added.
            pattern.right.push_str("...");
            return Some(pattern);
        }
        if self.eat("Dv") {
            let count = self.digits();
            self.expect("_")?;
            let element = self.parse_type()?.text();
            return Some(Type::plain(format!("{element} __attribute((vector_size({count}*sizeof({element})))) ")));
        }
        let (before, behind) = if self.eat("DT") { ("decltype((", "))") } else { ("decltype(", ")") };
        if before == "decltype(" {
            self.expect("Dt")?;
        }
        let expression = self.expression()?;
        self.expect("E")?;
        Some(Type::plain(format!("{before}{expression}{behind}")))
    }

    fn template_template_parameter(&mut self) -> Option<Type> {
        let mut kind = Type::plain(self.template_parameter()?);
        self.remember(&kind)?;
        if self.peek() == b'I' && !self.in_conversion {
            kind = Type::plain(format!("{}{}", kind.left, self.template_arguments()?));
            self.remember(&kind)?;
        }
        Some(kind)
    }

    /// `T_`, `T0_`...: the first template parameter, the second...
    pub(super) fn template_parameter(&mut self) -> Option<String> {
        self.expect("T")?;
        Some(format!("T{}", self.ordinal()?))
    }

    fn substituted_type(&mut self) -> Option<Type> {
        let mut kind = self.substitution()?;
        if self.peek() == b'I' && !self.in_conversion {
            kind = Type::scope(format!("{}{}", kind.text(), self.template_arguments()?));
            self.remember(&kind)?;
        }
        Some(kind)
    }

    fn vendor_qualified(&mut self) -> Option<Type> {
        self.expect("U")?;
        let word = self.source_name()?;
        let inner = self.parse_type()?;
        Some(Type { tight: true, left: format!("{} {word}", inner.left), ..inner })
    }

    /// Parameters up to where `ends` says, in parentheses: `v`, or at least one.
    pub(super) fn parameters(&mut self, ends: impl Fn(&Self) -> bool) -> Option<String> {
        let mut parameters = vec![self.parse_type()?.text()];
        while !ends(self) {
            parameters.push(self.parse_type()?.text());
        }
        let nothing = matches!(parameters.as_slice(), [only] if only == "void");
        self.wrote(if nothing { "()".to_owned() } else { format!("({})", parameters.join(", ")) })
    }
}
