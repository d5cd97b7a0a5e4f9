//! What was typed: the options and inputs in their order, each option with its value, and no meaning yet.

use super::arguments::NewerWord;
use super::table::Id;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One thing that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The name of an input.
    Input(OsString),
    /// An option.
    Option {
        /// Which one.
        id: Id,
        /// Its value.
        value: Value,
    },
    /// A word that looks like an input and means what an option means.
    Implied {
        /// The word.
        word: OsString,
        /// The option, which takes a list.
        id: Id,
        /// An item of the list.
        item: OsString,
    },
}

/// An option's value, of the kind that its row asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The option has no value; it was given.
    Given,
    /// A text, or a word out of a few.
    Text(OsString),
    /// A number.
    Number(i32),
    /// A number of bytes.
    Size(u64),
    /// `true` or `false`.
    Truth(bool),
    /// Items.
    List(Vec<OsString>),
}

/// A command line as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    items: Vec<Item>,
    /// Which of them are options: a few among many inputs, and each is asked for by itself.
    options: Vec<usize>,
    options_files: Vec<PathBuf>,
    newer: Vec<NewerWord>,
}

impl Typed {
    pub(super) fn push(&mut self, item: Item) {
        if matches!(item, Item::Option { .. }) {
            self.options.push(self.items.len());
        }
        self.items.push(item);
    }

    /// Remembers a file that some of it was read from, once.
    pub(super) fn was_read_from(&mut self, file: &Path) {
        if self.options_files.last().is_none_or(|last| last != file) {
            self.options_files.push(file.to_path_buf());
        }
    }

    /// Remembers a word that not every release knows.
    pub(super) fn is_newer(&mut self, word: NewerWord) {
        self.newer.push(word);
    }

    /// The words that not every release knows, in order.
    pub(super) fn newer(&self) -> &[NewerWord] {
        &self.newer
    }

    /// The files that some of it was read from.
    pub(super) fn options_files(&self) -> &[PathBuf] {
        &self.options_files
    }

    /// Lets words that look like inputs mean options.
    pub(super) fn reinterpret(&mut self, meaning: impl Fn(&OsStr) -> Option<(Id, OsString)>) {
        for item in &mut self.items {
            if let Item::Input(word) = item
                && let Some((id, item_of_list)) = meaning(word)
            {
                *item = Item::Implied { word: std::mem::take(word), id, item: item_of_list };
            }
        }
    }

    /// Everything in order.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// The inputs in order.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &OsStr> {
        self.items.iter().filter_map(|item| match item {
            Item::Input(word) | Item::Implied { word, .. } => Some(word.as_os_str()),
            Item::Option { .. } => None,
        })
    }

    /// An option's values in order.
    pub(super) fn values(&self, wanted: Id) -> impl DoubleEndedIterator<Item = &Value> {
        self.options.iter().filter_map(move |&index| match self.items.get(index)? {
            Item::Option { id, value } if *id == wanted => Some(value),
            _ => None,
        })
    }

    /// The value that counts: the last one.
    pub(super) fn last(&self, id: Id) -> Option<&Value> {
        self.values(id).next_back()
    }

    /// Whether the option was given.
    pub(super) fn has(&self, id: Id) -> bool {
        self.last(id).is_some()
    }

    /// The text that an option was given.
    pub(super) fn text(&self, id: Id) -> Option<&OsStr> {
        match self.last(id)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number that an option was given.
    pub(super) fn number(&self, id: Id) -> Option<i32> {
        match self.last(id)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The size that an option was given.
    pub(super) fn size(&self, id: Id) -> Option<u64> {
        match self.last(id)? {
            Value::Size(size) => Some(*size),
            _ => None,
        }
    }

    /// The truth that an option was given.
    pub(super) fn truth(&self, id: Id) -> Option<bool> {
        match self.last(id)? {
            Value::Truth(truth) => Some(*truth),
            _ => None,
        }
    }

    /// All items that an option was given, and after them those that were implied.
    pub(super) fn list(&self, id: Id) -> Vec<&OsStr> {
        let implied = self.items.iter().filter_map(|item| match item {
            Item::Implied { id: implied, item, .. } if *implied == id => Some(item.as_os_str()),
            _ => None,
        });
        let lists = self.values(id).filter_map(|value| match value {
            Value::List(items) => Some(items),
            _ => None,
        });
        lists.flatten().map(OsString::as_os_str).chain(implied).collect()
    }
}
