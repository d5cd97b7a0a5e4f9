//! Call graph: direct and indirect calls, address-taken functions, prototypes.
//!
//! # What the objects say
//!
//! Each object lists its direct calls, the functions whose address is taken (with a prototype string for each), and the calls
//! through pointers (with the prototype of the pointer). A call through a pointer may reach every function of the program
//! whose address is taken and whose prototype is the same string; nothing more precise is known.
//!
//! # How it is kept
//!
//! The indirect calls would be (callers x targets) edges if they were written out. Instead, every prototype is a node of
//! its own: callers point to the prototype, the prototype points to the targets. The graph stays as large as its input.
//!
//! Cycles are found once (Tarjan's algorithm, with a stack of its own so that a chain of a million calls is no deeper than
//! one). Their components come out callees first, which is the order in which [`propagate`](super::propagate) needs them:
//! one sweep, each edge looked at once, however many paths lead through it.
//!
//! # Order
//!
//! The reference linker keeps these lists newest first, and writes them out that way; so do the lists here.

use super::load::{CallRecord, Inputs};
use super::resolve::{Fate, Resolution};
use crate::id::{FunctionId, Id, IdMap, IdVec, InputSymbolId, Lists, PrototypeId};
use crate::imitations::Imitation;
use crate::options::Options;
use std::collections::{HashMap, HashSet};

/// The call graph of the program.
#[derive(Debug)]
pub struct CallGraph<'data> {
    prototypes: IdVec<PrototypeId, &'data str>,
    calls: Lists<FunctionId, FunctionId>,
    indirect: Lists<FunctionId, PrototypeId>,
    references: Lists<FunctionId, FunctionId>,
    taken: IdVec<FunctionId, Option<PrototypeId>>,
    prototype: IdVec<FunctionId, Option<PrototypeId>>,
    targets: Lists<PrototypeId, FunctionId>,
    nameless: Option<PrototypeId>,
}

impl<'data> CallGraph<'data> {
    /// The prototype strings, in order of first use.
    pub fn prototypes(&self) -> &IdVec<PrototypeId, &'data str> {
        &self.prototypes
    }

    /// The prototype that has no name of its own in the string table.
    pub fn nameless(&self) -> Option<PrototypeId> {
        self.nameless
    }

    /// The functions that a function calls directly, the newest record first.
    pub fn calls(&self, function: FunctionId) -> &[FunctionId] {
        &self.calls[function]
    }

    /// The prototypes through which a function calls, the newest record first.
    pub fn indirect(&self, function: FunctionId) -> &[PrototypeId] {
        &self.indirect[function]
    }

    /// The functions whose address the code of a function refers to, the newest record first.
    pub fn references(&self, function: FunctionId) -> &[FunctionId] {
        &self.references[function]
    }

    /// The prototype under which a function's address is taken.
    pub fn taken(&self, function: FunctionId) -> Option<PrototypeId> {
        self.taken[function]
    }

    /// The prototype that an object gave for a function.
    pub fn prototype(&self, function: FunctionId) -> Option<PrototypeId> {
        self.prototype[function]
    }

    /// The functions that a call through a pointer of a prototype may reach.
    pub fn targets(&self, prototype: PrototypeId) -> &[FunctionId] {
        &self.targets[prototype]
    }

    /// Everything a function may call, once per record: calls through pointers first, in the order of their records, then
    /// direct calls, newest first.
    pub fn callees(&self, function: FunctionId) -> impl Iterator<Item = FunctionId> + '_ {
        let through_pointers = self.indirect[function].iter().rev().flat_map(|&prototype| &self.targets[prototype]);
        through_pointers.chain(&self.calls[function]).copied()
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// The graph with prototypes as nodes: functions come first, then prototypes.
    pub fn nodes(&self) -> usize {
        self.taken.len() + self.prototypes.len()
    }

    /// The node of a function.
    pub fn node(&self, function: FunctionId) -> u32 {
        function.index() as u32
    }

    /// The nodes that a node points to.
    pub fn successors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let functions = self.taken.len();
        let (direct, through, targets): (&[FunctionId], &[PrototypeId], &[FunctionId]) = if (node as usize) < functions {
            let function = FunctionId::from_index(node as usize);
            (&self.calls[function], &self.indirect[function], &[])
        } else {
            (&[], &[], &self.targets[PrototypeId::from_index(node as usize - functions)])
        };
        direct
            .iter()
            .chain(targets)
            .map(|function| function.index() as u32)
            .chain(through.iter().map(move |prototype| (functions + prototype.index()) as u32))
    }
}

/// Builds the call graph from the records of every definition that prevailed at some time. A relocatable output says nothing twice.
pub fn build<'data>(inputs: &Inputs<'data>, resolution: &Resolution<'data>, options: &Options) -> CallGraph<'data> {
    let functions = resolution.functions().len();
    let mut builder = Builder {
        interned: HashMap::default(),
        prototypes: IdVec::new(),
        calls: Vec::new(),
        indirect: Vec::new(),
        references: Vec::new(),
        taken: IdVec::filled(None, functions),
        prototype: IdVec::filled(None, functions),
        nameless: None,
        drops_discarded_addresses: options.imitates(Imitation::CallsOfAddressTaken),
    };
    for object in inputs.files().iter() {
        let mut taken_here: IdMap<InputSymbolId, &'data str> = IdMap::default();
        for &record in &object.calls {
            if let CallRecord::AddressTaken { function, prototype } = record {
                taken_here.insert(function, prototype);
            }
            let is_within = |caller: InputSymbolId, callee: InputSymbolId| {
                let is_inner = |symbol: InputSymbolId| inputs.symbols()[symbol].is_inner_function();
                (is_inner(caller) || is_inner(callee)) && resolution.function(caller) == resolution.function(callee)
            };
            // What inner functions do is done by the function whose code they are part of.
            match record {
                CallRecord::Call { caller, callee } if is_within(caller, callee) => {}
                CallRecord::Reference { caller, function } if is_within(caller, function) => {}
                _ => builder.record(record, resolution, &taken_here),
            }
        }
    }
    let mut targets: Vec<(PrototypeId, FunctionId)> =
        builder.taken.enumerate().filter_map(|(function, taken)| taken.map(|prototype| (prototype, function))).collect();
    for pairs in [&mut builder.calls, &mut builder.references] {
        if !options.knows_all_callees() {
            let mut seen = HashSet::new();
            pairs.retain(|&pair| seen.insert(pair));
        }
        pairs.reverse();
    }
    builder.indirect.reverse();
    targets.reverse();
    CallGraph {
        calls: Lists::gather(functions, &builder.calls),
        indirect: Lists::gather(functions, &builder.indirect),
        references: Lists::gather(functions, &builder.references),
        targets: Lists::gather(builder.prototypes.len(), &targets),
        prototypes: builder.prototypes,
        taken: builder.taken,
        prototype: builder.prototype,
        nameless: builder.nameless,
    }
}

struct Builder<'data> {
    interned: HashMap<&'data str, PrototypeId, foldhash::fast::RandomState>,
    prototypes: IdVec<PrototypeId, &'data str>,
    calls: Vec<(FunctionId, FunctionId)>,
    indirect: Vec<(FunctionId, PrototypeId)>,
    references: Vec<(FunctionId, FunctionId)>,
    taken: IdVec<FunctionId, Option<PrototypeId>>,
    prototype: IdVec<FunctionId, Option<PrototypeId>>,
    nameless: Option<PrototypeId>,
    /// Whether an address that is taken of a definition which was discarded does not count as one of the prevailing definition.
    drops_discarded_addresses: bool,
}

impl<'data> Builder<'data> {
    fn intern(&mut self, prototype: &'data str) -> PrototypeId {
        *self.interned.entry(prototype).or_insert_with(|| self.prototypes.push(prototype))
    }

    /// The empty prototype without a name of its own in the string table: that of a kernel whose address is taken by way of a discarded definition.
    fn nameless(&mut self) -> PrototypeId {
        match self.nameless {
            Some(id) => id,
            None => *self.nameless.insert(self.prototypes.push("")),
        }
    }

    /// Takes up a record. Those of a discarded definition do not count, except that they still give its prototype, and that the address
    /// which an object takes of its own definition is that of the prevailing one.
    fn record(
        &mut self,
        record: CallRecord<'data>,
        resolution: &Resolution<'data>,
        taken_here: &IdMap<InputSymbolId, &'data str>,
    ) {
        let discarded = |symbol: InputSymbolId| resolution.fate(symbol) == Fate::Discarded;
        let function = |symbol: InputSymbolId| resolution.function(symbol);
        match record {
            CallRecord::Call { caller, .. } | CallRecord::Reference { caller, .. } | CallRecord::IndirectCall { caller, .. }
                if discarded(caller) => {}
            CallRecord::AddressTaken { function, .. } if self.drops_discarded_addresses && discarded(function) => {}
            CallRecord::Call { caller, callee } => {
                if let (Some(caller), Some(callee)) = (function(caller), function(callee)) {
                    self.calls.push((caller, callee));
                }
            }
            CallRecord::AddressTaken { function: symbol, prototype } => {
                if let Some(taken) = function(symbol)
                    && (self.taken[taken].is_none() || !discarded(symbol))
                {
                    self.taken[taken] = Some(self.intern(prototype));
                }
            }
            CallRecord::IndirectCall { caller, prototype } => {
                if let Some(caller) = function(caller) {
                    let prototype = self.intern(prototype);
                    self.indirect.push((caller, prototype));
                }
            }
            CallRecord::Reference { caller, function: symbol } => {
                if let (Some(caller), Some(referenced)) = (function(caller), function(symbol)) {
                    self.references.push((caller, referenced));
                    // The address is taken even if the record of it belongs to a discarded definition.
                    if self.taken[referenced].is_none()
                        && let Some(&prototype) = taken_here.get(&symbol)
                    {
                        let id = if prototype.is_empty() { self.nameless() } else { self.intern(prototype) };
                        self.taken[referenced] = Some(id);
                    }
                }
            }
            CallRecord::Prototype { function: symbol, prototype } => {
                let prototype = self.intern(prototype);
                if let Some(function) = function(symbol) {
                    self.prototype[function] = Some(prototype);
                }
            }
        }
    }
}
