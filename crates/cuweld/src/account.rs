//! Account: what a link kept and removed of each object, and why.
//!
//! Reports and the listing of removed functions (`--print-gc-sections`) share it.

/// The fate of every function of every object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Account {
    pub(crate) inputs: Vec<String>,
    pub(crate) functions: Vec<Accounted>,
}

/// The fate of a function's code.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Accounted {
    /// Its name in the symbol table.
    pub name: String,
    /// The object that it is in, by its number among those linked.
    pub input: usize,
    /// Bytes of its code.
    pub code: u64,
    /// Its fate.
    pub outcome: Outcome,
}

/// The fate of a function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is in the result.
    Kept {
        /// Why.
        reason: String,
        /// Registers that its own code needs.
        registers: u32,
        /// Bytes of stack that its own code needs.
        frame: u32,
    },
    /// No kernel reaches it.
    Unreachable,
    /// A weak definition that was discarded: another one prevails.
    Discarded,
}

impl Account {
    /// The objects that were linked, in their order.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The functions, object by object.
    #[must_use]
    pub fn functions(&self) -> &[Accounted] {
        &self.functions
    }
}
