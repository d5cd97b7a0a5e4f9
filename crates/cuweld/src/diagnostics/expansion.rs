//! A text that repeats the same lists many times, and stores each once.
//!
//! An indirect call may reach every function of its prototype. The reference linker lists all pairs of caller and callee, so the text has
//! the size of their product; its representation in memory does not.

use std::fmt;

/// A text, to be written out.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Expansion {
    lists: Vec<Vec<String>>,
    pieces: Vec<TextPiece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum TextPiece {
    /// Itself.
    Text(String),
    /// Every item of a list, with something before and after it.
    Each { before: String, list: usize, behind: &'static str },
}

impl Expansion {
    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(TextPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(TextPiece::Text(text.to_owned())),
        }
    }

    /// Keeps a list, and says which one it is.
    pub(crate) fn list(&mut self, items: Vec<String>) -> usize {
        self.lists.push(items);
        self.lists.len() - 1
    }

    /// Adds every item of a list.
    pub(crate) fn each(&mut self, before: &str, list: usize, behind: &'static str) {
        self.pieces.push(TextPiece::Each { before: before.to_owned(), list, behind });
    }
}

impl fmt::Display for Expansion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                TextPiece::Text(text) => out.write_str(text)?,
                TextPiece::Each { before, list, behind } => {
                    for item in self.lists.get(*list).into_iter().flatten() {
                        out.write_str(before)?;
                        out.write_str(item)?;
                        out.write_str(behind)?;
                    }
                }
            }
        }
        Ok(())
    }
}
