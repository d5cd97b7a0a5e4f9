//! Clashes: incompatible mentions of one name.
//!
//! The checks are independent, so one mention can clash in several ways, and each is reported: memory space, size, multiple definition.

use super::{Symbol, is_dynamic};
use crate::diagnostics::{Diagnostic, Message};
use crate::id::FileId;
use crate::phases::explain::clash::{self as explain, Mentions};
use crate::phases::load::{InputSymbol, Inputs, Place};
use cubin::symbol::{Binding, Space, SymbolKind, other};

/// Something that does not fit together.
#[derive(Debug)]
pub enum Clash<'data> {
    /// A kernel here, a device function there.
    Kernel { name: &'data str },
    /// Different memories, or a variable here and a function there.
    Space { name: &'data str, first: Owner, function_over_variable: bool },
    /// Managed here, and not there.
    Managed { name: &'data str, first: Owner },
    /// Different sizes.
    Size { name: &'data str, first: Owner },
    /// Two definitions, neither of which gives way.
    Definition { name: &'data str, first: Owner },
    /// A tentative definition that is larger than the real one.
    Common { name: &'data str, file: FileId },
    /// Different parameters or results.
    Prototype { name: &'data str, first: FileId },
    /// Weak definitions of a kernel with parameters of different sizes.
    Parameters { name: &'data str },
}

/// The object that a name was first seen in.
#[derive(Copy, Clone, Debug)]
pub enum Owner {
    /// This one.
    File(FileId),
    /// None: the reference linker remembers no object for textures.
    Nobody,
}

/// What a symbol is in.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Memory {
    Code,
    Texture(SymbolKind),
    Variable(Space),
}

fn memory(kind: SymbolKind, other: u8) -> Memory {
    match kind {
        SymbolKind::FUNCTION => Memory::Code,
        SymbolKind::TEXTURE | SymbolKind::SAMPLER | SymbolKind::SURFACE => Memory::Texture(kind),
        _ => Memory::Variable(Space::from_bits(other >> 5)),
    }
}

fn owner(symbol: &Symbol) -> Owner {
    match memory(symbol.kind, symbol.other) {
        Memory::Texture(_) => Owner::Nobody,
        _ => Owner::File(symbol.named_after),
    }
}

/// Checks a further mention of a name as a function.
pub fn function<'data>(known: &Symbol, row: &InputSymbol<'data>) -> Vec<Clash<'data>> {
    let (name, first) = (row.name, owner(known));
    let mut clashes = Vec::new();
    let is_variable = known.function.is_none();
    if (known.other ^ row.other) & other::ENTRY != 0 {
        clashes.push(Clash::Kernel { name });
    }
    if is_variable {
        let function_over_variable = row.other & other::ENTRY == 0;
        clashes.push(Clash::Space { name, first, function_over_variable });
    }
    if is_defined_twice(known, row) {
        clashes.push(Clash::Definition { name, first });
    }
    clashes
}

/// Checks a further mention of a name as something else than a function.
pub fn variable<'data>(
    known: &Symbol,
    known_initialised: bool,
    row: &InputSymbol<'data>,
    initialised: bool,
    file: FileId,
) -> Vec<Clash<'data>> {
    let (name, first) = (row.name, owner(known));
    let (old, new) = (memory(known.kind, known.other), memory(row.kind, row.other));
    if matches!(new, Memory::Texture(_)) {
        return if old == new { Vec::new() } else { vec![Clash::Definition { name, first }] };
    }
    let mut clashes = Vec::new();
    if old != new {
        clashes.push(Clash::Space { name, first, function_over_variable: false });
        if matches!(old, Memory::Texture(_)) {
            return clashes;
        }
    }
    if old == new && new == Memory::Variable(Space::Global) && (known.other ^ row.other) & other::MANAGED != 0 {
        clashes.push(Clash::Managed { name, first });
    }
    let sizes_differ = row.size != known.size;
    let known_common = known.common_align.is_some();
    match (known_common, row.place()) {
        (true, Place::Common) => {}
        (true, Place::Section(_)) if initialised => {
            if row.size < known.size {
                clashes.push(Clash::Common { name, file: known.named_after });
            }
        }
        (false, Place::Common) if known_initialised => {
            if row.size > known.size {
                clashes.push(Clash::Common { name, file });
            }
        }
        _ => {
            let any_size_now = row.place() == Place::Undefined && row.size == 0;
            let any_size_before = known.definition.is_none() && !known_common && (known.size == 0 || known.function.is_some());
            if sizes_differ && !any_size_now && !any_size_before {
                clashes.push(Clash::Size { name, first });
            }
        }
    }
    let tentative_over_zero = row.place() == Place::Common && known.definition.is_some() && !known_initialised;
    if is_defined_twice(known, row) && (row.place() != Place::Common || (tentative_over_zero && known.binding == Binding::GLOBAL))
    {
        clashes.push(Clash::Definition { name, first });
    }
    clashes
}

/// Checks dynamic shared memory that a relocatable output of the reference linker puts into a section, where an earlier object has it:
/// that linker takes every mention of it for a definition, and what is in a section for another.
pub fn settled_dynamic<'data>(known: &Symbol, row: &InputSymbol<'data>) -> Option<Clash<'data>> {
    let are_global = known.binding == Binding::GLOBAL && row.binding == Binding::GLOBAL;
    let is_second = row.is_settled_dynamic() && is_dynamic(known) && are_global;
    is_second.then(|| Clash::Definition { name: row.name, first: owner(known) })
}

fn is_defined_twice(known: &Symbol, row: &InputSymbol<'_>) -> bool {
    known.definition.is_some()
        && row.place() != Place::Undefined
        && known.binding == Binding::GLOBAL
        && row.binding == Binding::GLOBAL
}

impl<'data> Clash<'data> {
    /// Whether the reference linker loses its way in the call graph over this.
    pub fn confuses_call_graph(&self) -> bool {
        matches!(self, Clash::Space { function_over_variable: true, .. })
    }

    /// The name that it is about.
    fn name(&self) -> &'data str {
        match *self {
            Clash::Kernel { name }
            | Clash::Space { name, .. }
            | Clash::Size { name, .. }
            | Clash::Definition { name, .. }
            | Clash::Common { name, .. }
            | Clash::Managed { name, .. }
            | Clash::Prototype { name, .. }
            | Clash::Parameters { name } => name,
        }
    }

    /// The messages for clashes; `file` is the object at hand.
    pub fn describe_all(clashes: &[Self], inputs: &Inputs<'data>, file: FileId) -> impl Iterator<Item = Diagnostic> {
        let mentions = Mentions::find(inputs, clashes.iter().map(Self::name), file);
        clashes.iter().map(move |clash| clash.describe(&mentions, inputs, file))
    }

    fn describe(&self, mentions: &Mentions<'_, 'data>, inputs: &Inputs<'data>, file: FileId) -> Diagnostic {
        let file_name = |file: FileId| inputs.files()[file].name.to_owned();
        let owner_name = |owner: Owner| match owner {
            Owner::File(file) => file_name(file),
            Owner::Nobody => "<input>".to_owned(),
        };
        let here = file_name(file);
        let sides = |name: &str, first: Owner| match first {
            Owner::File(first) => mentions.sides(name, Some(first), file),
            Owner::Nobody => mentions.sides(name, None, file),
        };
        let say = |message: Message, name: &str, headline: &str| {
            Diagnostic::new(message).headline(format!("'{}' {headline}", explain::shown(name)))
        };
        match *self {
            Clash::Kernel { name } => {
                let message = Message::NotAKernelEverywhere { name: name.into() };
                let diagnostic = say(message, name, "is a kernel in one object and none in another");
                explain::add_sides(diagnostic, &sides(name, Owner::Nobody)).hint("declare it __global__ everywhere, or nowhere")
            }
            Clash::Space { name, first, .. } => {
                let message = Message::SpaceMismatch { name: name.into(), file: here, first: owner_name(first) };
                explain::add_sides(say(message, name, "is different things in different objects"), &sides(name, first))
                    .hint("declare it the same way everywhere")
            }
            Clash::Managed { name, first } => {
                let message = Message::ManagedMismatch { name: name.into(), file: here, first: owner_name(first) };
                explain::add_sides(say(message, name, "is managed in one object and not in another"), &sides(name, first))
                    .hint("declare it __managed__ everywhere, or nowhere")
            }
            Clash::Size { name, first } => {
                let message = Message::SizeMismatch { name: name.into(), file: here, first: owner_name(first) };
                explain::add_sides(say(message, name, "has different sizes in different objects"), &sides(name, first))
                    .hint("compile both with the same declaration")
            }
            Clash::Definition { name, first } => {
                let message = Message::MultipleDefinition { name: name.into(), file: here, first: owner_name(first) };
                explain::add_definitions(say(message, name, "is defined more than once"), &sides(name, first))
            }
            Clash::Common { name, file: larger } => {
                let message = Message::CommonLargerThanDefinition { name: name.into(), file: file_name(larger) };
                let diagnostic = say(message, name, "is defined larger without a value than with one");
                explain::add_sides(diagnostic, &sides(name, Owner::Nobody)).hint("declare it extern where it has no value")
            }
            Clash::Prototype { name, first } => {
                let message = Message::PrototypeMismatch { name: name.into(), file: here, first: file_name(first) };
                let diagnostic = say(message, name, "is called in another way than it is defined");
                explain::add_prototypes(diagnostic, mentions, name).hint("compile all objects with the same declaration")
            }
            Clash::Parameters { name } => {
                let message = Message::ParameterSizeMismatch { name: name.into() };
                say(message, name, "has parameters of different sizes in different objects")
                    .hint("compile all objects with the same definition of the kernel")
            }
        }
    }
}
