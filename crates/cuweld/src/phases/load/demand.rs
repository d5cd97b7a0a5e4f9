//! Which inputs take part: some are only there in case they are needed.

use super::{Input, InputSymbol, ObjectFile, Place};
use crate::id::{IdVec, InputSymbolId};
use crate::phases::undefined::is_driver_function;
use cubin::symbol::Binding;
use hashbrown::HashSet;

/// When an input takes part in a link.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Demand {
    /// In any case.
    #[default]
    Always,
    /// If it defines a name that something else which takes part needs: the way other linkers take members of archives.
    Definition,
    /// If any function is still missing when everything else is there: the way the device runtime library is taken.
    Runtime,
}

/// The inputs that are not needed, in ascending order.
pub(super) fn left_out(
    inputs: &[Input<'_>],
    objects: &[Option<ObjectFile<'_>>],
    symbols: &IdVec<InputSymbolId, InputSymbol<'_>>,
    keep: &[String],
) -> Vec<usize> {
    let mut open: Vec<usize> = (0..inputs.len()).filter(|&index| inputs[index].demand != Demand::Always).collect();
    if open.is_empty() {
        return open;
    }
    let symbols_of = |index: usize| {
        let object: Option<&ObjectFile<'_>> = objects.get(index).and_then(Option::as_ref);
        object.into_iter().flat_map(|object| object.symbols.iter()).map(|id| &symbols[id])
    };
    let mut names = Names::default();
    names.mentioned.extend(keep.iter().map(String::as_str));
    for (index, _) in inputs.iter().enumerate().filter(|(_, input)| input.demand == Demand::Always) {
        names.add(symbols_of(index));
    }
    loop {
        let before = open.len();
        open.retain(|&index| {
            let taken = inputs[index].demand == Demand::Definition && names.are_defined_by(symbols_of(index));
            if taken {
                names.add(symbols_of(index));
            }
            !taken
        });
        if open.len() == before && names.lack_a_function() {
            open.retain(|&index| {
                let taken = inputs[index].demand == Demand::Runtime;
                if taken {
                    names.add(symbols_of(index));
                }
                !taken
            });
        }
        if open.len() == before {
            return open;
        }
    }
}

/// The names of what takes part so far.
#[derive(Default)]
struct Names<'data> {
    defined: HashSet<&'data str, foldhash::fast::FixedState>,
    /// Names that were mentioned without a definition. Some may be defined by now.
    mentioned: HashSet<&'data str, foldhash::fast::FixedState>,
    /// The functions among them.
    functions: Vec<&'data str>,
}

impl<'data> Names<'data> {
    fn add<'table>(&mut self, symbols: impl Iterator<Item = &'table InputSymbol<'data>>)
    where
        'data: 'table,
    {
        for symbol in symbols {
            if symbol.binding == Binding::LOCAL || symbol.name.is_empty() {
                continue;
            }
            if symbol.place() != Place::Undefined {
                self.defined.insert(symbol.name);
            } else if self.mentioned.insert(symbol.name) && symbol.is_function() {
                self.functions.push(symbol.name);
            }
        }
    }

    /// Whether an object defines a name that is missing.
    fn are_defined_by<'table>(&self, mut symbols: impl Iterator<Item = &'table InputSymbol<'data>>) -> bool
    where
        'data: 'table,
    {
        symbols.any(|symbol| {
            symbol.binding != Binding::LOCAL
                && symbol.place() != Place::Undefined
                && self.mentioned.contains(symbol.name)
                && !self.defined.contains(symbol.name)
        })
    }

    /// Whether a function is missing that the driver will not provide.
    fn lack_a_function(&self) -> bool {
        self.functions.iter().any(|name| !self.defined.contains(name) && !is_driver_function(name))
    }
}
