//! Which inputs take part: some are linked only if they define an undefined symbol.

use super::{Input, InputSymbol, ObjectFile, Place};
use crate::driver::is_driver_function;
use crate::id::{IdVec, InputSymbolId};
use cubin::symbol::Binding;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// The inputs that are not needed, in ascending order; and whether a function is missing that only the device runtime library could have.
///
/// `others` says that there are inputs beside these that would be taken if it is.
pub(super) fn left_out<'data>(
    inputs: &[Input<'_>],
    others: bool,
    objects: &[Option<ObjectFile<'_>>],
    symbols: &IdVec<InputSymbolId, InputSymbol<'data>>,
    keep: &'data [String],
) -> (Vec<usize>, bool) {
    if !others && inputs.iter().all(|input| input.demand == Demand::Always) {
        return (Vec::new(), false);
    }
    let symbols_of = |index: usize| {
        let object: Option<&ObjectFile<'_>> = objects.get(index).and_then(Option::as_ref);
        object.into_iter().flat_map(|object| object.symbols.iter()).map(|id| &symbols[id])
    };
    let with = |demand: Demand| (0..inputs.len()).filter(move |&index| inputs[index].demand == demand);
    let mut search = Search::default();
    // Half of the names or fewer are those of definitions.
    search.defined.reserve(symbols.len() / 2);
    search.mentioned.reserve(symbols.len() / 2);
    for index in with(Demand::Definition) {
        for symbol in symbols_of(index).filter(|symbol| is_definition(symbol)) {
            search.definitions.entry(symbol.name).or_default().push(index);
        }
    }
    for name in keep {
        search.mention(name);
        // It may be a function of the device runtime library.
        search.functions.push(name);
    }
    with(Demand::Always).for_each(|index| search.add(symbols_of(index)));
    let mut taken = vec![false; inputs.len()];
    let mut take = |search: &mut Search<'data>, index: usize| {
        if !std::mem::replace(&mut taken[index], true) {
            search.add(symbols_of(index));
        }
    };
    let mut lacks_a_function = None;
    loop {
        while let Some(Reverse((round, index, name))) = search.candidates.pop() {
            search.round = round;
            search.place = Some(index);
            if !search.defined.contains(name) {
                take(&mut search, index);
            }
        }
        if !(lacks_a_function.is_none() && *lacks_a_function.insert(search.lacks_a_function())) {
            break;
        }
        // All others come before it, and again after it.
        search.place = Some(inputs.len());
        with(Demand::Runtime).for_each(|index| take(&mut search, index));
    }
    let left_out = (0..inputs.len()).filter(|&index| inputs[index].demand != Demand::Always && !taken[index]).collect();
    (left_out, lacks_a_function == Some(true))
}

fn is_definition(symbol: &InputSymbol<'_>) -> bool {
    symbol.binding != Binding::LOCAL && symbol.place() != Place::Undefined && !symbol.name.is_empty()
}

/// The search for objects that define what is missing.
///
/// It goes over the objects in rounds, each in link order: what one of them mentions is looked for in those after it first, and in
/// those before it in the next round. Only those that define a name which was mentioned are looked at.
#[derive(Default)]
struct Search<'data> {
    /// Which objects define a name.
    definitions: HashMap<&'data str, Vec<usize>, foldhash::fast::RandomState>,
    defined: HashSet<&'data str, foldhash::fast::RandomState>,
    /// Names that were mentioned without a definition. Some may be defined by now.
    mentioned: HashSet<&'data str, foldhash::fast::RandomState>,
    /// The functions among them, and what may be one.
    functions: Vec<&'data str>,
    /// What is to be looked at: in which round, which object, and the name that it defines.
    candidates: BinaryHeap<Reverse<(usize, usize, &'data str)>>,
    round: usize,
    /// The object that is being looked at.
    place: Option<usize>,
}

impl<'data> Search<'data> {
    /// Adds the names of an object that takes part.
    fn add<'table>(&mut self, symbols: impl Iterator<Item = &'table InputSymbol<'data>>)
    where
        'data: 'table,
    {
        for symbol in symbols {
            if is_definition(symbol) {
                self.defined.insert(symbol.name);
            } else if symbol.binding != Binding::LOCAL
                && !symbol.name.is_empty()
                && self.mention(symbol.name)
                && symbol.is_function()
            {
                self.functions.push(symbol.name);
            }
        }
    }

    /// Adds a name that something needs, and says whether it is new.
    fn mention(&mut self, name: &'data str) -> bool {
        let is_new = self.mentioned.insert(name);
        if is_new && !self.defined.contains(name) {
            for &index in self.definitions.get(name).into_iter().flatten() {
                let round = if self.place.is_none_or(|place| place < index) { self.round } else { self.round + 1 };
                self.candidates.push(Reverse((round, index, name)));
            }
        }
        is_new
    }

    /// Whether a function is missing that the driver will not provide.
    fn lacks_a_function(&self) -> bool {
        self.functions.iter().any(|name| !self.defined.contains(name) && !is_driver_function(name))
    }
}
