//! Attributes: what the info records of each function say about the things that flow through the call graph.
//!
//! [`FLOWING`] lists the attributes that a kernel takes over from the functions it calls, and how.

use super::live::LiveSet;
use super::load::{Inputs, Role};
use super::resolve::Resolution;
use crate::id::{FileId, FunctionId, Id, IdVec, InputSectionId};
use cubin::info::{self, Attribute, Record, format};
use rayon::prelude::*;
use std::ops::Range;

/// How the values of a kernel and of the functions it reaches make one.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Combine {
    /// There is no value: one record says it for all.
    Presence,
    /// The largest.
    Largest,
    /// The sum, each function counted once. The largest number means that it is unknown, and so is the sum then.
    Sum,
    /// The one that was read last.
    Last,
    /// A list of functions from outside of the link: every one once.
    Functions,
    /// A list of words: every one once. Only kernels keep it.
    Words,
}

/// An attribute that is propagated from functions to the entry functions that reach them.
#[derive(Debug)]
pub struct FlowingAttribute {
    /// Which.
    pub attribute: Attribute,
    /// How values combine.
    pub combine: Combine,
    /// The format of a record that is made for a kernel that has none.
    pub format: u8,
}

const fn flowing(attribute: Attribute, combine: Combine, format: u8) -> FlowingAttribute {
    FlowingAttribute { attribute, combine, format }
}

/// The propagated attributes, in the order in which records of them are made for a program's only kernel.
pub const FLOWING: [FlowingAttribute; 10] = [
    flowing(Attribute::CTAIDZ_USED, Combine::Presence, format::NO_VALUE),
    flowing(Attribute::RESERVED_SMEM_USED, Combine::Presence, format::NO_VALUE),
    flowing(Attribute::VRC_CTA_INIT_COUNT, Combine::Largest, format::BYTE),
    flowing(Attribute::TCGEN05_1CTA_USED, Combine::Presence, format::NO_VALUE),
    flowing(Attribute::TCGEN05_2CTA_USED, Combine::Presence, format::NO_VALUE),
    flowing(Attribute::NUM_BARRIERS, Combine::Largest, format::BYTE),
    flowing(Attribute::REG_RECONFIG, Combine::Last, format::NO_VALUE),
    flowing(Attribute::NUM_MBARRIERS, Combine::Sum, format::HALF),
    flowing(Attribute::EXTERNS, Combine::Functions, format::SIZED),
    flowing(Attribute::AT_ENTRY_FRAGMENTS, Combine::Words, format::SIZED),
];

/// The row of an attribute in [`FLOWING`].
pub fn flowing_row(attribute: Attribute) -> Option<usize> {
    FLOWING.iter().position(|row| row.attribute == attribute)
}

/// Whether a record has a payload where others of its attribute have none, or the other way round. That matters where the link
/// changes the value; all others stay as they are.
pub fn is_of_wrong_form(record: &Record<'_>) -> bool {
    HAS_PAYLOAD[usize::from(record.attribute.0)].is_some_and(|payload| payload != (record.format == format::SIZED))
}

/// For attributes whose value the link changes: whether their records have a payload.
static HAS_PAYLOAD: [Option<bool>; 256] = {
    let mut table = [None; 256];
    table[Attribute::SYNC_STACK.0 as usize] = Some(false);
    table[Attribute::SPARSE_MMA_MASK.0 as usize] = Some(false);
    let mut row = 0;
    while row < FLOWING.len() {
        table[FLOWING[row].attribute.0 as usize] = Some(FLOWING[row].format == format::SIZED);
        row += 1;
    }
    table
};

/// Where the flags of a code section hold the number of named barriers: objects of CUDA 12 and before have no record of it.
pub const BARRIERS_SHIFT: u32 = 20;

/// When a record was read: objects in order, sections in order, records in order.
pub type Moment = (InputSectionId, u32);

/// What is known of each live function.
#[derive(Debug)]
pub struct Attributes {
    of: IdVec<FunctionId, FunctionAttributes>,
    /// For every so many functions, what flows from each of them.
    flowing: Vec<Vec<Flowing>>,
    any_sparsity: bool,
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
    /// Whether its object says that nobody knows how much stack it needs with the functions inside of it.
    pub unknown_stack: bool,
    /// The most registers that it may use, with everything it calls.
    pub register_limit: Option<u32>,
    /// How many bytes of the stack for returns and reconvergence its code uses, if it says so.
    pub return_stack: Option<u32>,
    /// Which sparse matrix instructions it uses, if it says so.
    pub sparsity: Option<u16>,
    /// Which of those attributes of its block of functions that flow are its own, each once.
    flowing: Range<usize>,
    /// How many named barriers it uses, where its code section says so and no record: objects of CUDA 12 and before.
    pub barriers_of_section: Option<u16>,
    /// Functions it uses that something outside of the link provides, or kernels it launches; as listed, before the link.
    pub externs: Option<Vec<FunctionId>>,
    /// The words of its entry fragments.
    pub fragments: Vec<u32>,
}

/// What the records of a function say of a propagated attribute.
#[derive(Copy, Clone, Debug)]
pub struct Flowing {
    /// The row in [`FLOWING`].
    pub row: usize,
    /// The largest value.
    pub largest: u16,
    /// The value that was read last.
    pub last: u16,
    /// When the first record was read.
    pub first: Moment,
}

/// How many functions are read in one go. What flows from each of them would be a small list; one long list for all takes less time.
const BLOCK: usize = 256;

impl Attributes {
    /// What is known of a function. Nothing, for functions that do not stay or are not defined.
    pub fn of(&self, function: FunctionId) -> &FunctionAttributes {
        &self.of[function]
    }

    /// What flows from a function, each attribute once.
    pub fn flowing(&self, function: FunctionId) -> &[Flowing] {
        &self.flowing[function.index() / BLOCK][self.of[function].flowing.clone()]
    }

    /// A function's value of a propagated attribute.
    pub fn value(&self, function: FunctionId, row: usize) -> Option<u16> {
        self.flowing(function).iter().find(|known| known.row == row).map(|known| known.last)
    }

    /// Whether a function has a record of a propagated attribute.
    pub fn has_record(&self, function: FunctionId, row: usize) -> bool {
        let is_barriers = FLOWING[row].attribute == Attribute::NUM_BARRIERS;
        self.value(function, row).is_some() && !(is_barriers && self.of[function].barriers_of_section.is_some())
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
        let mut flowing = Vec::with_capacity(of.len());
        for (index, attributes) in of.iter_mut().enumerate() {
            let function = FunctionId::from_index(block * BLOCK + index);
            let is_alias = resolution.functions()[function].alias_of.is_some();
            if let (Some(code), true, false) = (resolution.code(inputs, function), live.contains(function), is_alias) {
                *attributes = read_one(inputs, resolution, function, code, &mut flowing);
            }
        }
        flowing
    });
    let flowing = blocks.collect();
    let any_sparsity = of.iter().any(|attributes| attributes.sparsity.is_some());
    Attributes { of: IdVec::from(of), flowing, any_sparsity }
}

/// Reads the records of a function, and adds what flows from it to a list.
fn read_one(
    inputs: &Inputs<'_>,
    resolution: &Resolution<'_>,
    function: FunctionId,
    code: InputSectionId,
    flowing: &mut Vec<Flowing>,
) -> FunctionAttributes {
    let start = flowing.len();
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
    let barriers = (inputs.sections()[code].flags >> BARRIERS_SHIFT) as u8;
    if let (1.., Some(row)) = (barriers, flowing_row(Attribute::NUM_BARRIERS)) {
        result.barriers_of_section = Some(barriers.into());
        note(flowing, start, row, barriers.into(), (info, u32::MAX));
    }
    for (position, record) in info::records(inputs.sections()[info].data).map_while(Result::ok).enumerate() {
        if let Some(row) = flowing_row(record.attribute) {
            note(flowing, start, row, record.value, (info, position as u32));
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
            _ => {}
        }
    }
    result.flowing = start..flowing.len();
    result
}

/// Takes up a record of a propagated attribute, in a list whose last part is the function's.
fn note(flowing: &mut Vec<Flowing>, start: usize, row: usize, value: u16, moment: Moment) {
    match flowing[start..].iter_mut().find(|known| known.row == row) {
        Some(known) => {
            known.largest = known.largest.max(value);
            known.last = value;
            known.first = known.first.min(moment);
        }
        None => flowing.push(Flowing { row, largest: value, last: value, first: moment }),
    }
}
