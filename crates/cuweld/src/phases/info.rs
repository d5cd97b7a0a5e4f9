//! Info: the attribute records of the output.
//!
//! Records are kept by the reference linker in one list with the newest in front, so each section of the output holds its records
//! in the reverse of the order in which they were read. What the link adds stands behind them: for the module, the stack that each
//! kernel needs; for a kernel, what flows up to it from the functions it calls and it has no record of.

use super::attributes::{Attributes, Combine, FLOWING, FunctionAttributes, flowing_row};
use super::live::LiveSet;
use super::load::{InputSymbol, Inputs, Place, Role};
use super::merge::Plan;
use super::number::Numbering;
use super::propagate::{KernelProperties, Properties, UNKNOWN_SPARSITY};
use super::relocate::Referent;
use super::resolve::{Fate, Resolution};
use crate::id::{FileId, FunctionId, Id, IdVec, InputSymbolId};
use crate::options::Options;
use crate::views::View;
use cubin::info::{self, Attribute, Record, format};
use cubin::symbol::SymbolKind;
use cubin::target::Views;
use rayon::prelude::*;

/// The attributes of the output: not kept, but made from the facts whenever they are asked for.
#[derive(Copy, Clone)]
pub struct Info<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// What stays.
    pub live: &'facts LiveSet,
    /// What each function says of itself.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
    /// The sections.
    pub plan: &'facts Plan<'data>,
    /// What was asked for.
    pub options: &'facts Options,
}

/// How many bytes the attributes take, which is needed before they can be written.
#[derive(Debug)]
pub struct InfoSizes {
    module: u64,
    /// As they are linked.
    linked: IdVec<FunctionId, u32>,
    /// In the machine's view, where that is another.
    machine: Option<IdVec<FunctionId, u32>>,
}

impl InfoSizes {
    /// The size of the module's section.
    pub fn module(&self) -> u64 {
        self.module
    }

    /// The size of a function's section, as it is linked.
    pub fn linked(&self, function: FunctionId) -> u64 {
        self.linked[function].into()
    }

    /// The size of a function's section in a view.
    pub fn in_view(&self, function: FunctionId, view: View) -> u64 {
        match (view, &self.machine) {
            (View::Machine, Some(machine)) => machine[function].into(),
            _ => self.linked(function),
        }
    }
}

/// The value that says that a size is not known.
const UNKNOWN: u32 = u32::MAX;

/// Records that only the machine's view has, where there are two: where and how large the parameters are, and workarounds.
const MACHINE_RECORDS: [Attribute; 3] = [Attribute::CBANK_PARAM_SIZE, Attribute::PARAM_CBANK, Attribute::SW_WAR];

/// Records that say in which bank texture slots are: with the parameters. Only the machine's view knows banks, where there are two.
const TEXTURE_RECORDS: [Attribute; 2] = [Attribute::BINDLESS_TEXTURE_BANK, Attribute::BINDLESS_SURFACE_BANK];

/// A record of the output, before symbols have numbers.
enum OutputRecord<'record> {
    /// As it was read.
    Copied(Record<'record>),
    /// A value in the header.
    Value { format: u8, attribute: Attribute, value: u16 },
    /// A symbol, and the rest as it was read.
    OfSymbol { attribute: Attribute, referent: Referent, rest: &'record [u8] },
    /// A symbol and a number.
    Number { attribute: Attribute, function: FunctionId, number: u32 },
    /// A number.
    Plain { attribute: Attribute, number: u32 },
    /// Numbers.
    Words { attribute: Attribute, words: &'record [u32] },
    /// Symbols only.
    Functions { attribute: Attribute, functions: &'record [FunctionId] },
}

impl OutputRecord<'_> {
    fn len(&self) -> usize {
        info::HEADER_SIZE
            + match self {
                OutputRecord::Copied(record) => record.payload.len(),
                OutputRecord::Value { .. } => 0,
                OutputRecord::OfSymbol { rest, .. } => 4 + rest.len(),
                OutputRecord::Number { .. } => 8,
                OutputRecord::Plain { .. } => 4,
                OutputRecord::Words { words, .. } => 4 * words.len(),
                OutputRecord::Functions { functions, .. } => 4 * functions.len(),
            }
    }
}

/// Writes records one after the other.
struct Writer<'out, 'facts> {
    out: &'out mut [u8],
    at: usize,
    numbering: &'facts Numbering,
    resolution: &'facts Resolution<'facts>,
}

impl Writer<'_, '_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn word(&mut self, word: u32) {
        self.bytes(&word.to_le_bytes());
    }

    fn header(&mut self, format: u8, attribute: Attribute, value: u16) {
        self.bytes(&[format, attribute.0]);
        self.bytes(&value.to_le_bytes());
    }

    fn function(&mut self, function: FunctionId) {
        self.word(self.numbering.symbol(self.resolution.functions()[function].symbol));
    }

    fn write(&mut self, record: &OutputRecord<'_>) {
        let payload = (record.len() - info::HEADER_SIZE) as u16;
        match *record {
            OutputRecord::Copied(record) => {
                self.header(record.format, record.attribute, record.value);
                self.bytes(record.payload);
            }
            OutputRecord::Value { format, attribute, value } => self.header(format, attribute, value),
            OutputRecord::OfSymbol { attribute, referent, rest } => {
                self.header(format::SIZED, attribute, payload);
                self.word(self.numbering.referent(referent));
                self.bytes(rest);
            }
            OutputRecord::Number { attribute, function, number } => {
                self.header(format::SIZED, attribute, payload);
                self.function(function);
                self.word(number);
            }
            OutputRecord::Plain { attribute, number } => {
                self.header(format::SIZED, attribute, payload);
                self.word(number);
            }
            OutputRecord::Words { attribute, words } => {
                self.header(format::SIZED, attribute, payload);
                words.iter().for_each(|&word| self.word(word));
            }
            OutputRecord::Functions { attribute, functions } => {
                self.header(format::SIZED, attribute, payload);
                functions.iter().for_each(|&function| self.function(function));
            }
        }
    }
}

impl<'facts, 'data> Info<'facts, 'data> {
    /// Measures everything once.
    pub fn measure(&self) -> InfoSizes {
        let mut module = 0;
        let functions = |view| {
            let rows = (0..self.resolution.functions().len()).into_par_iter().with_min_len(256);
            let sizes: Vec<u32> = rows.map(|row| self.function_size(FunctionId::from_index(row), view)).collect();
            IdVec::from(sizes)
        };
        let views = self.options.target.views;
        let (_, linked) = rayon::join(
            || self.module_records(&self.stacks(), &mut |record| module += record.len() as u64),
            || functions(View::linked(views)),
        );
        InfoSizes { module, linked, machine: (views == Views::Two).then(|| functions(View::Machine)) }
    }

    fn function_size(&self, function: FunctionId, view: View) -> u32 {
        let mut size = 0;
        if self.plan.function(function).info.is_some() {
            self.function_records(function, view, &mut |record| size += record.len() as u32);
        }
        size
    }

    /// The size of the section that stubs of unified functions share.
    pub fn stubs_size(&self, view: View) -> usize {
        let mut size = 0;
        self.stub_records(view, &mut |record| size += record.len());
        size
    }

    /// Writes the section that stubs of unified functions share.
    pub fn write_stubs(&self, view: View, numbering: &Numbering, out: &mut [u8]) {
        let mut writer = Writer { out, at: 0, numbering, resolution: self.resolution };
        self.stub_records(view, &mut |record| writer.write(&record));
    }

    /// Writes the module's section.
    pub fn write_module(&self, view: View, numbering: &Numbering, out: &mut [u8]) {
        let mut stacks = self.stacks();
        stacks.sort_by_key(|&(function, _)| numbering.symbol(self.resolution.functions()[function].symbol));
        // To the code generator, all stubs are one function: the last one counts.
        let is_stub = |(function, _): &(FunctionId, Option<u64>)| self.live.is_stub(*function);
        if let (true, Some(last)) = (self.is_machine_side(view), stacks.iter().copied().rfind(is_stub)) {
            stacks.iter_mut().filter(|row| is_stub(row)).for_each(|row| row.1 = last.1);
        }
        let mut writer = Writer { out, at: 0, numbering, resolution: self.resolution };
        self.module_records(&stacks, &mut |record| writer.write(&record));
    }

    /// Writes a function's section.
    pub fn write_function(&self, function: FunctionId, view: View, numbering: &Numbering, out: &mut [u8]) {
        let mut writer = Writer { out, at: 0, numbering, resolution: self.resolution };
        self.function_records(function, view, &mut |record| writer.write(&record));
    }

    /// What enters the program from outside, and the stack that it needs.
    fn stacks(&self) -> Vec<(FunctionId, Option<u64>)> {
        let of_kernel = |&kernel: &FunctionId| (kernel, self.properties.of(kernel).and_then(|properties| properties.stack));
        self.live.kernels().iter().map(of_kernel).chain(self.properties.stubs().stacks.iter().copied()).collect()
    }

    /// The records of the module; `stacks` in the order in which they are listed.
    fn module_records(&self, stacks: &[(FunctionId, Option<u64>)], take: &mut impl FnMut(OutputRecord<'_>)) {
        for (file, object) in self.inputs.files().enumerate().rev() {
            let sections = object.sections.iter().rev();
            for section in sections.filter(|&id| self.inputs.sections()[id].role == Role::ModuleInfo) {
                self.reversed(self.inputs.sections()[section].data, |record| self.module_record(file, record, take));
            }
        }
        if self.options.executable() {
            for &(function, stack) in stacks {
                let number = stack.map_or(UNKNOWN, |stack| stack as u32);
                take(OutputRecord::Number { attribute: Attribute::MIN_STACK_SIZE, function, number });
            }
        }
    }

    fn reversed<'record>(&self, data: &'record [u8], mut take: impl FnMut(Record<'record>)) {
        // A function has a dozen records, so their places hardly ever need room on the heap.
        let mut few = [0u32; 24];
        let mut many = Vec::new();
        let mut records = info::records(data);
        let mut count = 0;
        loop {
            let place = records.position() as u32;
            if records.next().is_none_or(|record| record.is_err()) {
                break;
            }
            match few.get_mut(count) {
                Some(free) => *free = place,
                None => many.push(place),
            }
            count += 1;
        }
        let places = many.iter().rev().chain(few[..count.min(few.len())].iter().rev());
        for record in places.filter_map(|&place| info::records(data.get(place as usize..)?).next()?.ok()) {
            take(record);
        }
    }

    fn module_record(&self, file: FileId, record: Record<'_>, take: &mut impl FnMut(OutputRecord<'_>)) {
        if record.attribute == Attribute::MAX_STACK_SIZE && self.options.executable() {
            return;
        }
        let Some(raw) = record.symbols().next() else { return take(OutputRecord::Copied(record)) };
        let Some(symbol) = self.inputs.symbol_of(file, raw) else { return };
        // Of several copies of a function, the records of the one that counts are taken.
        if matches!(self.resolution.fate(symbol), Fate::Lost | Fate::Replaced) {
            return;
        }
        // What stubs of unified functions need is said once for all of them.
        if self.options.executable() && self.is_stub(symbol) {
            return;
        }
        let Some(referent) = self.referent(symbol) else { return };
        let kernel = self.resolution.function(symbol).filter(|_| record.attribute == Attribute::REGCOUNT);
        match kernel.and_then(|kernel| Some((kernel, self.properties.of(kernel)?))) {
            Some((function, properties)) => {
                take(OutputRecord::Number { attribute: record.attribute, function, number: properties.registers });
            }
            None => take(OutputRecord::OfSymbol { attribute: record.attribute, referent, rest: rest(&record) }),
        }
    }

    fn is_stub(&self, symbol: InputSymbolId) -> bool {
        match self.inputs.symbols()[symbol].place {
            Place::Section(section) => self.inputs.sections()[section].is_stub(),
            _ => false,
        }
    }

    /// What a symbol of an input is in the output, if it is there.
    fn referent(&self, symbol: InputSymbolId) -> Option<Referent> {
        let row: &InputSymbol<'_> = &self.inputs.symbols()[symbol];
        if row.kind == SymbolKind::SECTION {
            let Place::Section(section) = row.place else { return None };
            return Some(Referent::Section(self.plan.placement(section)?.section));
        }
        let id = self.resolution.meaning(symbol)?;
        let function = self.resolution.symbols()[id].function;
        function.is_none_or(|function| self.live.contains(function)).then_some(Referent::Symbol(id))
    }

    /// The records of a function.
    ///
    /// Where there are two views, the machine's has the same records with its own offsets, but for those that concern one
    /// of the views alone; and what the compiler added for the machine when all others were done stays behind them.
    fn function_records(&self, function: FunctionId, view: View, take: &mut impl FnMut(OutputRecord<'_>)) {
        let attributes = self.attributes.of(function);
        let properties = self.properties.of(function);
        let of_view = |(file, section)| Some((file, self.inputs.in_view(section, view)?));
        let section = attributes.info.and_then(of_view);
        let is_machine_side = self.is_machine_side(view);
        let is_tail = |record: &Record<'_>| is_machine_side && MACHINE_RECORDS.contains(&record.attribute);
        if let Some((file, section)) = section {
            self.reversed(self.inputs.sections()[section].data, |record| {
                if !is_tail(&record) {
                    self.function_record(file, record, properties, take);
                }
            });
        }
        if self.options.executable() {
            self.added_records(function, attributes, properties, take);
        }
        let data = section.map(|(_, section)| self.inputs.sections()[section].data).unwrap_or_default();
        for record in info::records(data).flatten().filter(is_tail) {
            match (record.attribute, self.plan.function(function).parameters) {
                (attribute @ Attribute::PARAM_CBANK, Some(parameters)) => {
                    take(OutputRecord::OfSymbol { attribute, referent: Referent::Section(parameters), rest: rest(&record) });
                }
                _ => take(OutputRecord::Copied(record)),
            }
        }
        let has_slots = self.plan.function(function).texture_relocations.is_some();
        for attribute in TEXTURE_RECORDS.into_iter().filter(|_| is_machine_side && has_slots) {
            take(OutputRecord::Value { format: format::BYTE, attribute, value: 0 });
        }
    }

    /// The records of all stubs of unified functions, and what they need for what they lead to.
    fn stub_records(&self, view: View, take: &mut impl FnMut(OutputRecord<'_>)) {
        let is_tail = |record: &Record<'_>| self.is_machine_side(view) && MACHINE_RECORDS.contains(&record.attribute);
        let mut tail = Vec::new();
        for &stub in self.live.stubs().iter().rev() {
            let info = self.attributes.of(stub).info;
            let Some((file, section)) = info.and_then(|(file, id)| Some((file, self.inputs.in_view(id, view)?))) else {
                continue;
            };
            let data = self.inputs.sections()[section].data;
            self.reversed(data, |record| {
                if !is_tail(&record) {
                    self.function_record(file, record, None, take);
                }
            });
            tail = info::records(data).flatten().filter(is_tail).collect();
        }
        for &(row, value) in &self.properties.stubs().values {
            take(OutputRecord::Value { format: FLOWING[row].format, attribute: FLOWING[row].attribute, value });
        }
        if self.attributes.any_sparsity() {
            take(OutputRecord::Value { format: format::HALF, attribute: Attribute::SPARSE_MMA_MASK, value: 0 });
        }
        for record in tail {
            take(OutputRecord::Copied(record));
        }
    }

    /// Whether a view is the machine's side of another.
    fn is_machine_side(&self, view: View) -> bool {
        view == View::Machine && self.options.target.views == Views::Two
    }

    fn function_record(
        &self,
        file: FileId,
        record: Record<'_>,
        properties: Option<&Properties>,
        take: &mut impl FnMut(OutputRecord<'_>),
    ) {
        let attribute = record.attribute;
        let value = |value: u16| OutputRecord::Value { format: record.format, attribute, value };
        match (attribute, properties) {
            (Attribute::ERROR, _) => {}
            (Attribute::CRS_STACK_SIZE, Some(properties)) => {
                let number = properties.return_stack.map_or(UNKNOWN, |size| size as u32);
                take(OutputRecord::Plain { attribute, number });
            }
            (Attribute::SYNC_STACK, Some(properties)) => {
                take(value(properties.return_stack.map_or(u16::MAX, |size| size as u16)))
            }
            (Attribute::SPARSE_MMA_MASK, Some(properties)) => take(value(properties.sparsity)),
            (Attribute::EXTERNS, None) => {
                let symbols = record.words().filter_map(|raw| self.inputs.symbol_of(file, raw));
                let functions: Vec<FunctionId> = symbols
                    .filter_map(|symbol| self.resolution.function(symbol))
                    .filter(|&id| self.live.is_extern(self.inputs, self.resolution, id))
                    .collect();
                if !functions.is_empty() {
                    take(OutputRecord::Functions { attribute, functions: &functions });
                }
            }
            // Only kernels keep it.
            (Attribute::AT_ENTRY_FRAGMENTS, None) if self.options.executable() => {}
            (_, Some(properties)) if flowing_row(attribute).is_some() => {
                let moves = (properties.externs_move && attribute == Attribute::EXTERNS)
                    || (properties.fragments_move && attribute == Attribute::AT_ENTRY_FRAGMENTS);
                if !moves {
                    self.flowing_record(attribute, record.format, properties, take);
                }
            }
            _ => match record.symbols().next() {
                None => take(OutputRecord::Copied(record)),
                Some(raw) => {
                    if let Some(referent) = self.inputs.symbol_of(file, raw).and_then(|symbol| self.referent(symbol)) {
                        take(OutputRecord::OfSymbol { attribute, referent, rest: rest(&record) });
                    }
                }
            },
        }
    }

    /// The record of an attribute that flowed to a kernel.
    fn flowing_record(&self, attribute: Attribute, format: u8, properties: &Properties, take: &mut impl FnMut(OutputRecord<'_>)) {
        let Some(row) = flowing_row(attribute) else { return };
        match FLOWING[row].combine {
            Combine::Functions if properties.externs.is_empty() => {}
            Combine::Functions => take(OutputRecord::Functions { attribute, functions: &properties.externs }),
            Combine::Words => take(OutputRecord::Words { attribute, words: &properties.fragments }),
            _ => take(OutputRecord::Value { format, attribute, value: properties.values[row].unwrap_or(0) }),
        }
    }

    /// What the objects have no record of.
    fn added_records(
        &self,
        function: FunctionId,
        attributes: &FunctionAttributes,
        properties: Option<&Properties>,
        take: &mut impl FnMut(OutputRecord<'_>),
    ) {
        let return_stack = properties.map_or(Some(0), |properties| properties.return_stack);
        if return_stack != Some(0) && attributes.return_stack.is_none() {
            let number = return_stack.map_or(UNKNOWN, |size| size as u32);
            take(OutputRecord::Plain { attribute: Attribute::CRS_STACK_SIZE, number });
        }
        if self.attributes.any_sparsity() {
            let aliases = self.live.aliases_of(function);
            let missing = usize::from(attributes.sparsity.is_none());
            for _ in 0..aliases + missing {
                let value = properties.map_or(UNKNOWN_SPARSITY, |properties| UNKNOWN_SPARSITY | properties.sparsity);
                take(OutputRecord::Value { format: format::HALF, attribute: Attribute::SPARSE_MMA_MASK, value });
            }
        }
        for &row in properties.iter().flat_map(|properties| &properties.new_records) {
            if let Some(properties) = properties {
                self.flowing_record(FLOWING[row].attribute, FLOWING[row].format, properties, take);
            }
        }
        if let (Some(value), None) = (attributes.barriers_of_section, properties) {
            take(OutputRecord::Value { format: format::BYTE, attribute: Attribute::NUM_BARRIERS, value });
        }
    }
}

/// The payload behind the symbol.
fn rest<'data>(record: &Record<'data>) -> &'data [u8] {
    record.payload.get(4..).unwrap_or_default()
}
