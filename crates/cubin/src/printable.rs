//! Printable forms of names.
//!
//! Names come from inputs, and may be any text: with characters that move a terminal's cursor or change its title, that begin a line
//! which looks like another message, or that turn the order of letters around.

use std::borrow::Cow;
use std::fmt::Write;

/// A text in one line that shows what it holds and does nothing else.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Names of the usual kind need no second look.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) || !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            _ if !acts(character) => shown.push(character),
            _ if character < '\u{80}' => _ = write!(shown, "\\x{:02x}", character as u32),
            _ => _ = write!(shown, "\\u{{{:x}}}", character as u32),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something instead of being shown: control characters, line separators, and those that change direction.
fn acts(character: char) -> bool {
    let changes_direction =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (character.is_control() && character != '\t') || changes_direction || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_instead() {
        for (text, expected) in [
            ("_Z1fv", "_Z1fv"),
            ("f(int *)\tgrün", "f(int *)\tgrün"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("a\ncuweld: error: no", "a\\ncuweld: error: no"),
            ("a\rb\x7f", "a\\x0db\\x7f"),
            ("\u{9b}2J\u{202e}evil\u{2028}", "\\u{9b}2J\\u{202e}evil\\u{2028}"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }
}
