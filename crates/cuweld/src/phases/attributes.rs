//! Attributes: the attribute records of each live function.

use super::live::LiveSet;
use super::load::{Inputs, Role};
use super::resolve::Resolution;
use crate::id::{FileId, FunctionId, Id, IdVec, InputSectionId};
use crate::propagated::{Combine, PROPAGATED, propagated_row};
use cubin::info::{self, Attribute, Record};
use cubin::section::BARRIER_SHIFT;
use rayon::prelude::*;
use std::ops::Range;

/// When a record was read: objects in order, sections in order, records in order.
pub type Moment = (InputSectionId, u32);

/// When the flags of code sections are read: after all records.
pub fn moment_of_flags() -> Moment {
    (InputSectionId::from_index(u32::MAX as usize - 1), u32::MAX)
}

/// What is known of each live function.
#[derive(Debug)]
pub struct Attributes {
    of: IdVec<FunctionId, FunctionAttributes>,
    /// For every [`BLOCK`] functions, the propagated attributes of each of them.
    propagated: Vec<Vec<PropagatedValue>>,
    any_sparsity: bool,
    /// Whether all functions are of one language.
    languages_agree: bool,
}

/// What is known of one function from the prevailing definition.
#[derive(Clone, Debug, Default)]
pub struct FunctionAttributes {
    /// The object and the section with the function's info records.
    pub info: Option<(FileId, InputSectionId)>,
    /// How many registers its code uses.
    pub registers: u32,
    /// How many bytes of stack its code uses.
    pub frame: u32,
    /// Whether its object marks the stack that it needs with its callees as unknown.
    pub unknown_stack: bool,
    /// The most registers that it may use, with everything it calls.
    pub register_limit: Option<u32>,
    /// How many bytes of the stack for returns and reconvergence its code uses, if it says so.
    pub return_stack: Option<u32>,
    /// Which sparse matrix instructions it uses, if it says so.
    pub sparsity: Option<u16>,
    /// Which of the propagated attributes of its block of functions are its own, each once.
    propagated: Range<usize>,
    /// How many named barriers it uses, where its code section says so and no record: objects of CUDA 12 and before.
    pub barriers_of_section: Option<u16>,
    /// Functions it uses that something outside of the link provides, or kernels it launches; as listed, before the link.
    pub externs: Option<Vec<FunctionId>>,
    /// The words of its entry fragments.
    pub fragments: Vec<u32>,
}

/// The values of a propagated attribute in the records of a function.
#[derive(Copy, Clone, Debug)]
pub struct PropagatedValue {
    /// The row in [`PROPAGATED`].
    pub row: usize,
    /// The largest value.
    pub largest: u16,
    /// The value that was read last.
    pub last: u16,
    /// When the first record was read.
    pub first: Moment,
}

/// How many functions share a list of propagated attributes: a list for each would take an allocation for each.
const BLOCK: usize = 256;

impl Attributes {
    /// What is known of a function. Nothing, for functions that are dead or undefined.
    pub fn of(&self, function: FunctionId) -> &FunctionAttributes {
        &self.of[function]
    }

    /// The propagated attributes of a function, each once.
    pub fn propagated(&self, function: FunctionId) -> &[PropagatedValue] {
        &self.propagated[function.index() / BLOCK][self.of[function].propagated.clone()]
    }

    /// A function's value of a propagated attribute.
    pub fn value(&self, function: FunctionId, row: usize) -> Option<u16> {
        self.propagated(function).iter().find(|known| known.row == row).map(|known| known.last)
    }

    /// Whether a function has a record of a propagated attribute.
    pub fn has_record(&self, function: FunctionId, row: usize) -> bool {
        let is_barriers = PROPAGATED[row].attribute == Attribute::NUM_BARRIERS;
        self.value(function, row).is_some() && !(is_barriers && self.of[function].barriers_of_section.is_some())
    }

    /// Whether all functions say that they are of one language: then no kernel is of a language that it does not say itself.
    pub fn languages_agree(&self) -> bool {
        self.languages_agree
    }

    /// The languages of a function.
    pub fn languages(&self, function: FunctionId) -> impl Iterator<Item = u16> {
        self.propagated(function).iter().filter(|known| is_language(known)).map(|known| known.last)
    }

    /// Whether any function says which sparse matrix instructions it uses. Then those that do not say may use any.
    pub fn any_sparsity(&self) -> bool {
        self.any_sparsity
    }
}

/// Reads the records of every live function.
pub fn read(inputs: &Inputs<'_>, resolution: &Resolution<'_>, live: &LiveSet) -> Attributes {
    let mut of = vec![FunctionAttributes::default(); resolution.functions().len()];
    let blocks = of.par_chunks_mut(BLOCK).enumerate().map(|(block, of)| {
        let mut propagated = Vec::with_capacity(of.len());
        for (index, attributes) in of.iter_mut().enumerate() {
            let function = FunctionId::from_index(block * BLOCK + index);
            let is_alias = resolution.functions()[function].alias_of.is_some();
            if let (Some(code), true, false) = (resolution.code(inputs, function), live.contains(function), is_alias) {
                *attributes = read_one(inputs, resolution, function, code, &mut propagated);
            }
        }
        propagated
    });
    let propagated = blocks.collect();
    let any_sparsity = of.iter().any(|attributes| attributes.sparsity.is_some());
    let mut attributes = Attributes { of: IdVec::from(of), propagated, any_sparsity, languages_agree: true };
    let mut languages = attributes.of.ids().filter(|&id| attributes.of[id].info.is_some()).map(|id| {
        let mut languages = attributes.languages(id);
        (languages.next(), languages.next())
    });
    let first = languages.next();
    attributes.languages_agree = languages.all(|of_one| Some(of_one) == first && of_one.1.is_none());
    attributes
}

/// Reads the records of a function, and adds its propagated attributes to a list.
fn read_one(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    function: FunctionId,
    code: InputSectionId,
    propagated: &mut Vec<PropagatedValue>,
) -> FunctionAttributes {
    let start = propagated.len();
    let file = inputs.file_of_section(code);
    let mut result = FunctionAttributes::default();
    if let Some(definition) = resolution.symbols()[resolution.functions()[function].symbol].definition {
        let symbol = &inputs.symbols()[definition];
        result.registers = symbol.registers;
        result.frame = symbol.frame;
        result.unknown_stack = inputs.files()[file].unknown_stacks.binary_search(&definition).is_ok();
    }
    let info = inputs.attached(code).find(|&section| inputs.sections()[section].role == Role::FunctionInfo);
    let Some(info) = info else { return result };
    result.info = Some((file, info));
    let barriers = (inputs.sections()[code].flags >> BARRIER_SHIFT) as u8;
    if let (1.., Some(row)) = (barriers, propagated_row(Attribute::NUM_BARRIERS)) {
        result.barriers_of_section = Some(barriers.into());
        note(propagated, start, row, barriers.into(), moment_of_flags());
    }
    for (position, record) in info::records(inputs.sections()[info].data).map_while(Result::ok).enumerate() {
        if let Some(row) = propagated_row(record.attribute).filter(|&row| PROPAGATED[row].combine != Combine::Numbers) {
            note(propagated, start, row, record.value, (info, position as u32));
        }
        match record.attribute {
            Attribute::MAXREG_COUNT => result.register_limit = Some(record.value.into()),
            Attribute::SPARSE_MMA_MASK => *result.sparsity.get_or_insert_default() |= record.value,
            Attribute::CRS_STACK_SIZE => result.return_stack = record.word(0),
            Attribute::SYNC_STACK => result.return_stack = Some(record.value.into()),
            Attribute::EXTERNS => {
                let symbols = record.words().filter_map(|raw| inputs.symbol_of(file, raw));
                let functions = symbols.filter_map(|symbol| resolution.function(symbol));
                result.externs.get_or_insert_default().extend(functions);
            }
            Attribute::AT_ENTRY_FRAGMENTS => result.fragments.extend(record.words()),
            Attribute::LANGUAGE => note_languages(&record, propagated, start, (info, position as u32)),
            _ => {}
        }
    }
    result.propagated = start..propagated.len();
    result
}

/// The languages are numbered from 0. Larger numbers are no languages, and stay where they are.
const MOST_LANGUAGES: u32 = 64;

/// Takes up the languages of a function, each once, in a list whose last part is the function's.
fn note_languages(record: &Record<'_>, propagated: &mut Vec<PropagatedValue>, start: usize, moment: Moment) {
    let Some(row) = propagated_row(Attribute::LANGUAGE) else { return };
    for language in record.words().filter(|&word| word < MOST_LANGUAGES).map(|word| word as u16) {
        if !propagated[start..].iter().any(|known| is_language(known) && known.last == language) {
            propagated.push(PropagatedValue { row, largest: language, last: language, first: moment });
        }
    }
}

fn is_language(known: &PropagatedValue) -> bool {
    PROPAGATED[known.row].combine == Combine::Numbers
}

/// Takes up a record of a propagated attribute, in a list whose last part is the function's.
fn note(propagated: &mut Vec<PropagatedValue>, start: usize, row: usize, value: u16, moment: Moment) {
    match propagated[start..].iter_mut().find(|known| known.row == row) {
        Some(known) => {
            known.largest = known.largest.max(value);
            known.last = value;
            known.first = known.first.min(moment);
        }
        None => propagated.push(PropagatedValue { row, largest: value, last: value, first: moment }),
    }
}
