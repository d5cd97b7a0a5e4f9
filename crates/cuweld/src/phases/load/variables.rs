//! Plain variables, in ranges: hot, so later phases handle a whole range at a time.

use super::{InputSymbol, Inputs, ObjectFile, Role};
use crate::id::{FileId, IdRange, IdSet, InputSectionId, InputSymbolId};
use cubin::release::Rule;
use cubin::symbol::{Binding, SymbolKind, other};

/// Global symbols one after the other which are variables in one section of the whole module. There is nothing about them that depends
/// on functions, and are hot: one per variable of every input.
#[derive(Copy, Clone, Debug)]
pub struct Variables {
    /// Where they are.
    pub section: InputSectionId,
    /// The symbols.
    pub symbols: IdRange<InputSymbolId>,
}

/// A part of an object's symbols.
pub enum Stretch {
    /// Plain variables.
    Variables(Variables),
    /// Symbols of any other kind.
    Others(IdRange<InputSymbolId>),
}

impl ObjectFile<'_> {
    /// All symbols, in order.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let starts = std::iter::once(self.symbols.first()).chain(self.variables.iter().map(|variables| variables.symbols.end()));
        let ends = self.variables.iter().map(|variables| variables.symbols.first()).chain([self.symbols.end()]);
        let others = starts.zip(ends).map(|(start, end)| Stretch::Others(IdRange::new(start, end)));
        let variables = self.variables.iter().copied().map(Stretch::Variables).map(Some).chain([None]);
        others.zip(variables).flat_map(|(others, variables)| [Some(others), variables]).flatten()
    }
}

impl Inputs<'_> {
    /// Symbols of an object in the order in which they are resolved and get their sections. Objects of older releases have weak symbols among
    /// the local ones.
    pub fn in_order_of_reading(
        &self,
        file: FileId,
        symbols: impl Iterator<Item = InputSymbolId> + Clone,
    ) -> impl Iterator<Item = InputSymbolId> {
        // The functions of whole programs have another order already.
        let are_locals_first = self.two_views && self.release.has(Rule::LocalsReadFirst) && !self.files[file].is_whole_program;
        let is_local = move |symbol: InputSymbolId| self.symbols[symbol].binding == Binding::LOCAL;
        let others = are_locals_first.then(|| symbols.clone().filter(move |&symbol| !is_local(symbol)));
        symbols.filter(move |&symbol| !are_locals_first || is_local(symbol)).chain(others.into_iter().flatten())
    }
}

impl InputSymbol<'_> {
    /// Whether it is a plain variable, if it is in a section for this: see [`Variables`].
    #[inline(always)]
    fn is_plain_variable(&self, role: Role) -> bool {
        matches!(role, Role::GlobalData | Role::GlobalZero | Role::ModuleConstants(_))
            && matches!(self.kind, SymbolKind::OBJECT | SymbolKind::CUDA_OBJECT)
            && self.binding == Binding::GLOBAL
            && !other::is_shared(self.other)
            && !self.name.is_empty()
    }
}

/// What the symbols of an object are.
#[derive(Default)]
pub(super) struct Symbols {
    /// Those that are functions.
    pub(super) functions: Vec<InputSymbolId>,
    /// Those that are plain variables.
    pub(super) variables: Vec<Variables>,
    /// How many define something, sections aside.
    pub(super) definitions: usize,
    /// Whether any function is inside the code of another.
    has_inner_functions: bool,
}

impl Symbols {
    /// Adds the next one, which is in this section for that.
    #[inline(always)] // Hot: one per symbol.
    pub(super) fn add(&mut self, id: InputSymbolId, row: &InputSymbol<'_>, home: Option<(InputSectionId, Role)>) {
        self.definitions += usize::from(row.is_definition());
        if row.kind == SymbolKind::FUNCTION {
            self.has_inner_functions |= row.is_inner_function();
            return self.functions.push(id);
        }
        let Some((section, _)) = home.filter(|&(_, role)| row.is_plain_variable(role)) else { return };
        let last = self.variables.last_mut().filter(|last| last.section == section);
        if !last.is_some_and(|last| last.symbols.takes(id)) {
            self.variables.push(Variables { section, symbols: IdRange::of(id) });
        }
    }

    /// Moves inner functions after the function whose code they are part of, which in turn comes before the first of them. `Err`: one
    /// that is part of no other.
    pub(super) fn place_inner_functions(
        &mut self,
        owner: impl Fn(InputSymbolId) -> Option<InputSymbolId>,
    ) -> Result<(), InputSymbolId> {
        if !self.has_inner_functions {
            return Ok(());
        }
        let mut placed = IdSet::default();
        for function in std::mem::take(&mut self.functions) {
            for next in [owner(function).ok_or(function)?, function] {
                self.functions.extend(placed.insert(next).then_some(next));
            }
        }
        Ok(())
    }
}
