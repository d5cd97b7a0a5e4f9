//! Clashes: both definitions of a conflict.

use super::{bytes, prototype};
use crate::demangle::demangle;
use crate::diagnostics::Diagnostic;
use crate::id::FileId;
use crate::phases::load::{CallRecord, InputSymbol, Inputs, Place};
use cubin::symbol::{Binding, Space, SymbolKind, other};
use std::collections::HashMap;

/// Who mentions the names that clash. There may be as many of them as names, so all are looked for at once.
pub struct Mentions<'inputs, 'data> {
    inputs: &'inputs Inputs<'data>,
    /// The first mention of each object, in the order of objects.
    symbols: HashMap<&'data str, Vec<(FileId, &'inputs InputSymbol<'data>)>>,
    /// The first prototype that an object gives for a function.
    prototypes: HashMap<(FileId, &'data str), &'data str>,
}

impl<'inputs, 'data> Mentions<'inputs, 'data> {
    /// Looks for names in the objects up to one.
    pub fn find(inputs: &'inputs Inputs<'data>, names: impl Iterator<Item = &'data str>, last: FileId) -> Self {
        let mut symbols: HashMap<&str, Vec<(FileId, &InputSymbol<'data>)>> = names.map(|name| (name, Vec::new())).collect();
        let mut prototypes = HashMap::new();
        for file in inputs.files().ids().take_while(|&file| file <= last) {
            let object = &inputs.files()[file];
            for symbol in object.symbols.iter().map(|id| &inputs.symbols()[id]) {
                if symbol.binding != Binding::LOCAL
                    && let Some(known) = symbols.get_mut(symbol.name)
                    && known.last().is_none_or(|&(before, _)| before != file)
                {
                    known.push((file, symbol));
                }
            }
            for record in &object.calls {
                if let CallRecord::Prototype { function, prototype } | CallRecord::AddressTaken { function, prototype } = *record
                {
                    let name = inputs.symbols()[function].name;
                    if symbols.contains_key(name) {
                        prototypes.entry((file, name)).or_insert(prototype);
                    }
                }
            }
        }
        Mentions { inputs, symbols, prototypes }
    }

    fn of(&self, name: &str) -> impl DoubleEndedIterator<Item = Side<'_, 'data>> {
        let known = self.symbols.get(name).map(Vec::as_slice).unwrap_or_default();
        known.iter().map(|&(file, symbol)| Side { mentions: self, file, symbol })
    }

    /// What `file` has under `name`.
    fn side(&self, file: FileId, name: &str) -> Option<Side<'_, 'data>> {
        let known = self.symbols.get(name)?;
        let &(file, symbol) = known.get(known.binary_search_by_key(&file, |&(file, _)| file).ok()?)?;
        Some(Side { mentions: self, file, symbol })
    }

    /// What `first`, or the first object that mentions `name`, and `file` have under it.
    pub fn sides(&self, name: &str, first: Option<FileId>, file: FileId) -> [Option<Side<'_, 'data>>; 2] {
        let earlier = match first {
            Some(first) => self.side(first, name),
            None => self.before(file, name),
        };
        [earlier, self.side(file, name)]
    }

    /// The first object before `file` that mentions `name`.
    fn before(&self, file: FileId, name: &str) -> Option<Side<'_, 'data>> {
        self.of(name).next().filter(|side| side.file < file)
    }
}

/// What an object has under a name.
pub struct Side<'mentions, 'data> {
    mentions: &'mentions Mentions<'mentions, 'data>,
    file: FileId,
    symbol: &'mentions InputSymbol<'data>,
}

impl<'data> Side<'_, 'data> {
    fn file_name(&self) -> &'data str {
        self.mentions.inputs.files()[self.file].name
    }

    /// What it is, in words.
    fn words(&self) -> String {
        let symbol = self.symbol;
        let size = match symbol.size {
            0 => String::new(),
            size => format!(" of {}", bytes(size)),
        };
        let verb = if symbol.place() == Place::Undefined { "declares" } else { "defines" };
        let what = match (symbol.kind, Space::from_bits(symbol.other >> 5)) {
            (SymbolKind::FUNCTION, _) if symbol.other & other::ENTRY != 0 => "a kernel",
            (SymbolKind::FUNCTION, _) => "a device function",
            (SymbolKind::TEXTURE, _) => "a texture",
            (SymbolKind::SAMPLER, _) => "a sampler",
            (SymbolKind::SURFACE, _) => "a surface",
            (_, Space::Shared) => "a __shared__ variable",
            (_, Space::Constant) => "a __constant__ variable",
            _ if symbol.other & other::MANAGED != 0 => "a __managed__ variable",
            _ => "a __device__ variable",
        };
        format!("{} {verb} {what}{size}", self.file_name())
    }

    /// Whether both are the same kind of thing, so that it makes sense to compare what they hold.
    fn is_like(&self, other: &Self) -> bool {
        const KIND: u8 = other::SPACE | other::ENTRY;
        self.symbol.kind == other.symbol.kind && (self.symbol.other ^ other.symbol.other) & KIND == 0
    }

    /// The bytes it is defined by.
    fn contents(&self) -> Option<&'data [u8]> {
        let Place::Section(section) = self.symbol.place() else { return None };
        let data = self.mentions.inputs.sections()[section].data;
        let start = usize::try_from(self.symbol.value).ok()?;
        data.get(start..start.checked_add(usize::try_from(self.symbol.size).ok()?)?).filter(|contents| !contents.is_empty())
    }

    /// The prototype that the object gives for the function.
    fn prototype(&self) -> Option<&'data str> {
        self.mentions.prototypes.get(&(self.file, self.symbol.name)).copied()
    }
}

/// Adds what both sides have under a name.
pub fn add_sides(diagnostic: Diagnostic, sides: &[Option<Side<'_, '_>>]) -> Diagnostic {
    sides.iter().flatten().fold(diagnostic, |diagnostic, side| diagnostic.also(side.words()))
}

/// Adds both definitions of a name that is defined twice, and whether they are the same.
pub fn add_definitions(diagnostic: Diagnostic, sides: &[Option<Side<'_, '_>>; 2]) -> Diagnostic {
    let diagnostic = add_sides(diagnostic, sides);
    let same = match sides {
        [Some(first), Some(second)] if first.is_like(second) => {
            first.contents().zip(second.contents()).map(|(first, second)| first == second)
        }
        _ => None,
    };
    match same {
        Some(true) => diagnostic
            .also("both have the same contents")
            .hint("a definition in a header has to be inline or static; the same object may also be given twice"),
        Some(false) => diagnostic.also("their contents differ").hint("rename one of them, or make it static"),
        None => diagnostic.hint("rename one of them, make it static, or declare it extern in all objects but one"),
    }
}

/// Adds the prototypes of a function that does not have the same everywhere.
pub fn add_prototypes(diagnostic: Diagnostic, mentions: &Mentions<'_, '_>, name: &str) -> Diagnostic {
    let mut sides = mentions.of(name).filter_map(|side| side.prototype().map(|prototype| (side, prototype)));
    let first = sides.next();
    let different = first.as_ref().and_then(|(_, first)| sides.rev().find(|(_, prototype)| prototype != first));
    first.into_iter().chain(different).fold(diagnostic, |diagnostic, (side, prototype)| {
        diagnostic.also(format!("in {} it {}", side.file_name(), prototype::readable(prototype)))
    })
}

/// A name for people.
pub fn shown(name: &str) -> String {
    demangle(name).into_owned()
}
