//! Attributes: what the info records of each function say about the things that flow through the call graph.

use super::live::LiveSet;
use super::load::{Inputs, Role};
use super::resolve::Resolution;
use crate::id::{FileId, FunctionId, IdVec, InputSectionId};
use cubin::info::{self, Attribute};
use rayon::prelude::*;

/// What is known of each live function.
#[derive(Debug)]
pub struct Attributes {
    of: IdVec<FunctionId, FunctionAttributes>,
}

/// What is known of one function from the copy that counts.
#[derive(Clone, Debug, Default)]
pub struct FunctionAttributes {
    /// The object and the section with the function's info records.
    pub info: Option<(FileId, InputSectionId)>,
    /// How many registers its code uses.
    pub registers: u32,
    /// How many bytes of stack its code uses.
    pub frame: u32,
    /// The most registers that it may use, with everything it calls.
    pub register_limit: Option<u32>,
    /// How many named barriers it uses, if it says so.
    pub barriers: Option<u8>,
    /// Functions it uses that something outside of the link provides, or kernels it launches; as listed, before the link.
    pub externs: Option<Vec<FunctionId>>,
}

impl Attributes {
    /// What is known of a function. Nothing, for functions that do not stay or are not defined.
    pub fn of(&self, function: FunctionId) -> &FunctionAttributes {
        &self.of[function]
    }
}

/// Reads the records of every live function.
pub fn read(inputs: &Inputs<'_>, resolution: &Resolution<'_>, live: &LiveSet) -> Attributes {
    let functions: Vec<FunctionId> = resolution.functions().ids().collect();
    let of = functions
        .par_iter()
        .with_min_len(256)
        .map(|&function| match resolution.code(inputs, function) {
            Some((file, code)) if live.contains(function) && resolution.functions()[function].alias_of.is_none() => {
                read_one(inputs, resolution, function, file, code)
            }
            _ => FunctionAttributes::default(),
        })
        .collect::<Vec<_>>();
    Attributes { of: IdVec::from(of) }
}

fn read_one(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    function: FunctionId,
    file: FileId,
    code: InputSectionId,
) -> FunctionAttributes {
    let mut result = FunctionAttributes::default();
    if let Some(definition) = resolution.symbols()[resolution.functions()[function].symbol].definition {
        let symbol = &inputs.symbols()[definition.symbol];
        result.registers = symbol.registers;
        result.frame = symbol.frame;
    }
    let info = inputs.attached(code).find(|&section| inputs.sections()[section].role == Role::FunctionInfo);
    let Some(info) = info else { return result };
    result.info = Some((file, info));
    for record in info::records(inputs.sections()[info].data).flatten() {
        match record.attribute {
            Attribute::MAXREG_COUNT => result.register_limit = Some(record.value.into()),
            Attribute::NUM_BARRIERS => result.barriers = Some(record.value as u8),
            Attribute::EXTERNS => {
                let symbols = record.words().map(|raw| inputs.symbol_of(file, raw));
                let functions = symbols.filter_map(|symbol| resolution.function(symbol));
                result.externs.get_or_insert_default().extend(functions);
            }
            _ => {}
        }
    }
    result
}
