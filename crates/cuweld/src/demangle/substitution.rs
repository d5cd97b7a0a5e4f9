//! Types in the making, and the list of those that later parts of a name refer back to.

use super::Parser;

/// A type as text in two parts: a declared name would stand between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    pub left: String,
    pub right: String,
    pub shape: Shape,
    /// Whether `*` and `&` follow without a blank. The reference linker writes classes this way that it knows only as the scope
    /// of something else, and abbreviations of the standard library.
    pub tight: bool,
}

/// The outermost constructor of a type, which determines how a declarator is written around it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Shape {
    #[default]
    Plain,
    /// A pointer or reference, whose qualifiers follow it.
    Pointer,
    /// A pointer to it needs parentheses. Its qualifiers follow the parameters, at this offset of the right part.
    Function { qualifiers_at: usize },
    /// Likewise.
    Array,
}

impl Type {
    /// A type that is a single name.
    pub fn plain(text: impl Into<String>) -> Self {
        Type { left: text.into(), ..Type::default() }
    }

    /// The scope of something, or the name of a template.
    pub fn scope(text: impl Into<String>) -> Self {
        Type { tight: true, ..Type::plain(text) }
    }

    /// What stands between the left part and what follows it.
    pub fn gap(&self) -> &'static str {
        if self.tight || self.left.ends_with(['*', '&', '(', ' ']) { "" } else { " " }
    }

    /// The whole type.
    pub fn text(&self) -> String {
        let gap = if matches!(self.shape, Shape::Function { .. } | Shape::Array) { self.gap() } else { "" };
        format!("{}{gap}{}", self.left, self.right)
    }

    /// A pointer to this type, or a reference; `token` says which.
    pub fn pointed_to_by(self, token: &str) -> Self {
        let gap = self.gap();
        let (left, right) = match self.shape {
            Shape::Function { .. } | Shape::Array => (format!("{}{gap}({token}", self.left), format!("){}", self.right)),
            Shape::Plain | Shape::Pointer => (format!("{}{gap}{token}", self.left), self.right),
        };
        Type { left, right, shape: Shape::Pointer, tight: false }
    }

    /// This type with `const` and the like.
    pub fn qualified(mut self, qualifiers: &str) -> Self {
        match self.shape {
            Shape::Pointer => {
                self.left.push_str(qualifiers);
                self.left.push(' ');
            }
            Shape::Function { qualifiers_at } => self.right.insert_str(qualifiers_at, &format!(" {qualifiers}")),
            Shape::Plain | Shape::Array => self.left = format!("{qualifiers} {}", self.left),
        }
        self
    }
}

/// Abbreviations for parts of the standard library.
const STANDARD: [(&str, &str); 6] = [
    ("Sa", "std::allocator"),
    ("Sb", "std::basic_string"),
    ("Ss", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>"),
    ("Si", "std::basic_istream<char, std::char_traits<char>>"),
    ("So", "std::basic_ostream<char, std::char_traits<char>>"),
    ("Sd", "std::basic_iostream<char, std::char_traits<char>>"),
];

impl Parser<'_> {
    /// Remembers a type that later parts of the name may refer to.
    pub(super) fn remember(&mut self, kind: &Type) -> Option<()> {
        self.written += kind.left.len() + kind.right.len();
        self.substitutions.push(kind.clone());
        (self.written <= super::MAX_WRITTEN).then_some(())
    }

    /// `S_`, `S0_`, `SZ_`..., `Sa` and the like; not `St`.
    pub(super) fn substitution(&mut self) -> Option<Type> {
        if let Some((code, text)) = STANDARD.iter().find(|(code, _)| self.rest.starts_with(code)) {
            self.expect(code)?;
            return Some(Type::scope(*text));
        }
        self.expect("S")?;
        let end = self.rest.find('_')?;
        let (digits, rest) = self.rest.split_at(end);
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let index = match digits {
            "" => 0,
            digits if digits.bytes().all(is_digit) => usize::from_str_radix(digits, 36).ok()?.checked_add(1)?,
            _ => return None,
        };
        self.rest = rest.strip_prefix('_')?;
        let found = self.substitutions.get(index)?.clone();
        self.written += found.left.len() + found.right.len();
        Some(found)
    }
}
