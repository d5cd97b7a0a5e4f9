//! Clashes: both sides of what does not fit together.

use super::{bytes, prototype};
use crate::demangle::demangle;
use crate::diagnostics::Diagnostic;
use crate::id::FileId;
use crate::phases::load::{CallRecord, InputSymbol, Inputs, OTHER_KERNEL, Place};
use cubin::symbol::{Binding, Space, SymbolKind, other};

/// What an object has under a name.
pub struct Side<'inputs, 'data> {
    inputs: &'inputs Inputs<'data>,
    file: FileId,
    symbol: &'inputs InputSymbol<'data>,
}

impl<'inputs, 'data> Side<'inputs, 'data> {
    /// What `file` has under `name`.
    pub fn find(inputs: &'inputs Inputs<'data>, file: FileId, name: &str) -> Option<Self> {
        let symbols = inputs.files()[file].symbols.iter().map(|id| &inputs.symbols()[id]);
        let mut named = symbols.filter(|symbol| symbol.name == name && symbol.binding != Binding::LOCAL);
        named.next().map(|symbol| Side { inputs, file, symbol })
    }

    /// The first object before `file` that mentions `name`.
    pub fn before(inputs: &'inputs Inputs<'data>, file: FileId, name: &str) -> Option<Self> {
        inputs.files().ids().take_while(|&earlier| earlier < file).find_map(|earlier| Self::find(inputs, earlier, name))
    }

    fn file_name(&self) -> &'data str {
        self.inputs.files()[self.file].name
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
            (SymbolKind::FUNCTION, _) if symbol.other & OTHER_KERNEL != 0 => "a kernel",
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
        const KIND: u8 = 0xe0 | OTHER_KERNEL;
        self.symbol.kind == other.symbol.kind && (self.symbol.other ^ other.symbol.other) & KIND == 0
    }

    /// The bytes it is defined by.
    fn contents(&self) -> Option<&'data [u8]> {
        let Place::Section(section) = self.symbol.place() else { return None };
        let data = self.inputs.sections()[section].data;
        let start = usize::try_from(self.symbol.value).ok()?;
        data.get(start..start.checked_add(usize::try_from(self.symbol.size).ok()?)?).filter(|contents| !contents.is_empty())
    }

    /// The prototype that the object gives for the function.
    fn prototype(&self) -> Option<&'data str> {
        self.inputs.files()[self.file].calls.iter().find_map(|record| match *record {
            CallRecord::Prototype { function, prototype } | CallRecord::AddressTaken { function, prototype } => {
                (self.inputs.symbols()[function].name == self.symbol.name).then_some(prototype)
            }
            _ => None,
        })
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
pub fn add_prototypes(diagnostic: Diagnostic, inputs: &Inputs<'_>, file: FileId, name: &str) -> Diagnostic {
    let files = inputs.files().ids().take_while(|&earlier| earlier <= file);
    let sides: Vec<_> = files
        .filter_map(|file| {
            let side = Side::find(inputs, file, name)?;
            let prototype = side.prototype()?;
            Some((side, prototype))
        })
        .collect();
    let first = sides.first().map(|(_, prototype)| *prototype);
    let different = sides.iter().rev().find(|(_, prototype)| Some(*prototype) != first);
    sides.first().into_iter().chain(different).fold(diagnostic, |diagnostic, (side, prototype)| {
        diagnostic.also(format!("in {} it {}", side.file_name(), prototype::readable(prototype)))
    })
}

/// A name for people.
pub fn shown(name: &str) -> String {
    demangle(name).into_owned()
}
