//! Demangled names, split into template and arguments, each stored once.

use cuweld::demangle::demangle;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A name and its parts. Thousands of cubins have the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) mangled: Arc<str>,
    pub(crate) demangled: Arc<str>,
    pub(crate) template: Arc<str>,
    pub(crate) arguments: Arc<str>,
}

type Known = HashMap<Arc<str>, Name, foldhash::fast::FixedState>;

/// All names so far, shared by threads.
#[derive(Default)]
pub(crate) struct Names {
    names: Mutex<Known>,
    templates: Mutex<HashMap<Arc<str>, (), foldhash::fast::FixedState>>,
}

impl Names {
    /// A name of a symbol table.
    pub(crate) fn get(&self, mangled: &str) -> Name {
        if let Some(name) = self.names.lock().unwrap_or_else(PoisonError::into_inner).get(mangled) {
            return name.clone();
        }
        let demangled = demangle(mangled);
        let parts = take_apart(&demangled);
        let own: Arc<str> = mangled.into();
        let demangled = if demangled == mangled { own.clone() } else { demangled.as_ref().into() };
        let name = Name {
            template: self.once(&parts.template),
            arguments: parts.arguments.as_str().into(),
            mangled: own.clone(),
            demangled,
        };
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(own, name.clone());
        name
    }

    fn once(&self, text: &str) -> Arc<str> {
        let mut templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, ())) = templates.get_key_value(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        templates.insert(text.clone(), ());
        text
    }
}

/// The parts of a function's name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Without return type, parameters and template arguments.
    pub(crate) template: String,
    /// The template arguments; several lists with semicolons between.
    pub(crate) arguments: String,
}

/// What stands for a namespace without a name; no template arguments.
const UNNAMED: &str = "<unnamed>";

/// Takes a demangled name apart.
pub(crate) fn take_apart(demangled: &str) -> Parts {
    let (start, end) = without_types(demangled);
    let name = demangled.get(start..end).unwrap_or(demangled);
    let (mut template, mut lists) = (String::new(), Vec::new());
    let mut depth = 0usize;
    let mut list_start = 0;
    // Where the template ends if spaces do not count.
    let mut word_end = 0;
    let mut position = 0;
    while let Some(rest) = name.get(position..).filter(|rest| !rest.is_empty()) {
        let length = rest.chars().next().map_or(1, char::len_utf8);
        if depth == 0 && rest.starts_with(UNNAMED) {
            template.push_str(UNNAMED);
            word_end = template.len();
            position += UNNAMED.len();
            continue;
        }
        match rest.as_bytes().first() {
            // Operators that are made of these letters end their name with it.
            Some(b'<' | b'>') if depth == 0 && is_operator(&template, word_end) => {
                template.push_str(rest);
                break;
            }
            Some(b'<') => {
                if depth == 0 {
                    list_start = position + 1;
                }
                depth += 1;
            }
            Some(b'>') if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    lists.push(name.get(list_start..position).unwrap_or_default().trim());
                }
            }
            _ if depth == 0 => {
                let letter = rest.get(..length).unwrap_or_default();
                template.push_str(letter);
                word_end = if letter.trim().is_empty() { word_end } else { template.len() };
            }
            _ => {}
        }
        position += length;
    }
    if depth != 0 || template.is_empty() {
        return Parts { template: demangled.to_owned(), arguments: String::new() };
    }
    Parts { template, arguments: lists.join("; ") }
}

/// Whether the word that ends there is the one before an operator.
fn is_operator(text: &str, word_end: usize) -> bool {
    text.get(..word_end).is_some_and(|text| text.ends_with("operator"))
}

/// Where the name is between return type and parameters.
fn without_types(text: &str) -> (usize, usize) {
    let mut depth = 0usize;
    let mut start = 0;
    // Where what comes before spaces and angles ends.
    let mut word_end = 0;
    for (index, byte) in text.bytes().enumerate() {
        let before = text.get(..index).unwrap_or_default();
        if !matches!(byte, b'<' | b'>' | b' ') {
            word_end = index + 1;
        }
        match byte {
            b'(' if depth == 0 && index > start && !before.trim_end().ends_with("operator") => return (start, index),
            b'<' | b'>' if is_operator(text, word_end) => {}
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && !before.ends_with("operator") => start = index + 1,
            _ => {}
        }
    }
    (start.min(text.len()), text.len())
}

#[cfg(test)]
mod tests {
    use super::take_apart;

    #[test]
    fn names_are_taken_apart() {
        for (name, template, arguments) in [
            ("f(int)", "f", ""),
            ("kernel", "kernel", ""),
            ("void ns::f<int, (bool)1>(T1 *)", "ns::f", "int, (bool)1"),
            ("<unnamed>::f(int *)", "<unnamed>::f", ""),
            ("A<int>::f(int)", "A::f", "int"),
            ("void A<B<int>, 3>::g<float>(T1)", "A::g", "B<int>, 3; float"),
            ("A::operator ()(int)", "A::operator ()", ""),
            ("bool operator <(A, A)", "operator <", ""),
            ("odd < name", "odd < name", ""),
            ("", "", ""),
        ] {
            let parts = take_apart(name);
            assert_eq!((parts.template.as_str(), parts.arguments.as_str()), (template, arguments), "{name}");
        }
    }

    #[test]
    fn long_names_of_a_few_letters_take_little_time() {
        for letters in ["<", ">", "<> ", "< ", "( ", "(", " ", "operator <"] {
            take_apart(&letters.repeat(1 << 20));
        }
    }
}
