//! Info: the attribute records of the output.
//!
//! Records are kept by the reference linker in one list with the newest in front, so each section of the output holds its records
//! in the reverse of the order in which they were read. What the link adds follows them: for the module, the stack that each
//! kernel needs; for an entry function, the attributes of its callees that it has no record of.

mod encoded;

use super::attributes::{Attributes, FunctionAttributes};
use super::live;
use super::load::{InputSymbol, Place, Role};
use super::number::Numbering;
use super::propagate::{KernelProperties, Properties, UNKNOWN_SPARSITY};
use super::relocate::Referent;
use super::resolve::Fate;
use super::stages::Planned;
use crate::id::{FileId, FunctionId, IdMap, IdSet, InputSectionId, InputSymbolId, SymbolId};
use crate::imitations::Imitation;
use crate::propagated::{Combine, PROPAGATED, PropagatedAttribute, propagated_row};
use crate::views::{self, PerView, View};
use cubin::info::{self, Attribute, Record, format};
use cubin::release::Rule;
use cubin::symbol::SymbolKind;
pub use encoded::Section;
use encoded::{Encoded, FunctionRecords};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Deref;

/// The facts that records are made from.
pub struct Facts<'facts, 'data> {
    /// What was planned.
    pub planned: &'facts Planned<'facts, 'data>,
    /// The attributes of each function.
    pub attributes: &'facts Attributes,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
    /// Which functions let dependent grids launch before they end.
    pub early_exits: &'facts IdSet<FunctionId>,
}

impl<'facts, 'data> Deref for Facts<'facts, 'data> {
    type Target = Planned<'facts, 'data>;

    fn deref(&self) -> &Self::Target {
        self.planned
    }
}

/// The attributes of the output. Symbols have no numbers yet, so that what depends on those is left open.
#[derive(Debug)]
pub struct Info {
    /// Those of the module that come from inputs: the last object's first.
    module: Vec<Encoded>,
    /// What the machine's view has in place of these, if that is something else.
    machine_module: Option<Vec<Encoded>>,
    /// Entry points of the program and their stack sizes, which the module's section lists in the order of symbols.
    stacks: Vec<Stack>,
    /// What the reference linker writes after the last of these.
    behind_stacks: Vec<u8>,
    functions: FunctionRecords,
    /// Those of all stubs of unified functions together.
    stubs: PerView<Encoded>,
    linked: View,
}

/// What enters the program from outside.
#[derive(Copy, Clone, Debug)]
struct Stack {
    symbol: SymbolId,
    is_stub: bool,
    size: u32,
}

/// Makes all records.
pub fn make(facts: &Facts<'_, '_>) -> Info {
    let views = facts.options.target.views;
    let files: Vec<FileId> = facts.inputs.files().ids().rev().collect();
    let module_of = |frames| files.par_iter().map(|&file| facts.module_records(file, frames)).collect();
    let blurs = facts.inputs.has_whole_programs() && facts.options.imitates(Imitation::FramesOfInnerFunctions);
    let machine_module = blurs.then(|| module_of(Frames::OfLastInner));
    let module = module_of(Frames::Own);
    let functions = FunctionRecords::of(facts.resolution.functions().len(), views, |function, view, records, out| {
        if facts.plan.function(function).info.is_some() {
            facts.function_records(function, view, records, out);
        }
    });
    Info {
        module,
        machine_module,
        stacks: facts.stacks(),
        behind_stacks: facts.languages_behind_stubs(),
        functions,
        stubs: PerView::new(views, |view| facts.stub_records(view)),
        linked: views::linked(views).view,
    }
}

impl Info {
    /// The size of the module's section.
    pub fn module_size(&self) -> u64 {
        let stacks = self.stacks.len() * (info::HEADER_SIZE + 8) + self.behind_stacks.len();
        (self.module.iter().map(|part| part.all().len()).sum::<usize>() + stacks) as u64
    }

    /// Writes the module's section.
    pub fn write_module(&self, view: View, numbering: &Numbering, out: &mut [u8]) {
        let mut stacks = self.stacks.clone();
        stacks.sort_by_key(|stack| numbering.symbol(stack.symbol));
        // To the code generator, all stubs are one function: it takes the last one.
        let last_stub = stacks.iter().copied().rfind(|stack| stack.is_stub && view == View::Machine);
        let mut tail = Encoded::default();
        let count = stacks.len();
        for (index, stack) in stacks.into_iter().enumerate() {
            let size = last_stub.filter(|_| stack.is_stub).unwrap_or(stack).size;
            let behind: &[u8] = if index + 1 == count { &self.behind_stacks } else { &[] };
            let rest = [&size.to_le_bytes(), behind].concat();
            tail.of_symbol(Attribute::MIN_STACK_SIZE, Referent::Symbol(stack.symbol), &rest);
        }
        let mut rest = out;
        let module = self.machine_module.as_ref().filter(|_| view == View::Machine).unwrap_or(&self.module);
        for part in module.iter().chain([&tail]).map(Encoded::all) {
            let (here, behind) = rest.split_at_mut(part.len());
            part.write(numbering, here);
            rest = behind;
        }
    }

    /// A function's section, as it is linked.
    pub fn linked(&self, function: FunctionId) -> Section<'_> {
        self.of(function, self.linked)
    }

    /// A function's section in a view.
    pub fn of(&self, function: FunctionId, view: View) -> Section<'_> {
        self.functions.section(function, view)
    }

    /// The section that stubs of unified functions share.
    pub fn stubs(&self, view: View) -> Section<'_> {
        self.stubs.of(view).all()
    }
}

/// The functions that records of frame sizes are about.
#[derive(Copy, Clone)]
enum Frames {
    /// Each function's own.
    Own,
    /// Of functions in the same code, all of the last one.
    OfLastInner,
}

/// A stack size as records have it: all ones if it is not known, or more than any GPU has.
fn stack_size(size: Option<u64>) -> u32 {
    size.and_then(|size| u32::try_from(size).ok()).unwrap_or(u32::MAX)
}

/// The version of Mercury code whose compilers wrote no version.
const OLDEST_MERCURY: u16 = 0x0100;

/// Records that only the machine view has, where there are two: where and how large the parameters are, workarounds, and texture slots that the
/// compiler made.
const MACHINE_RECORDS: [Attribute; 7] = [
    Attribute::CBANK_PARAM_SIZE,
    Attribute::PARAM_CBANK,
    Attribute::SW_WAR,
    Attribute::NVSAL_SW_WAR,
    Attribute::PREEXIT_USED,
    Attribute::BINDLESS_TEXTURE_BANK,
    Attribute::BINDLESS_SURFACE_BANK,
];

/// Those of them that the linker writes for every function, at the end.
const LINKER_RECORDS: [Attribute; 2] = [Attribute::NVSAL_SW_WAR, Attribute::PREEXIT_USED];

/// Records that say in which bank texture slots are: with the parameters. Only the machine view knows banks, where there are two.
const TEXTURE_RECORDS: [Attribute; 2] = [Attribute::BINDLESS_TEXTURE_BANK, Attribute::BINDLESS_SURFACE_BANK];

impl<'data> Facts<'_, 'data> {
    /// The languages of what unified functions call, where the program is entered at their stubs, too.
    fn languages_behind_stubs(&self) -> Vec<u8> {
        let is_entered = self.live.entries().iter().any(|&entry| self.live.is_stub(entry));
        // After a record of the return stack that is rebuilt, the reference linker writes them instead, which is not imitated.
        let has_return_stack = |&kernel: &FunctionId| self.properties.of(kernel).is_some_and(|it| it.return_stack != Some(0));
        let is_other = self.live.kernels().iter().any(has_return_stack);
        if !self.options.imitates(Imitation::LanguagesBehindStacks) || !is_entered || is_other {
            return Vec::new();
        }
        let unified: IdSet<FunctionId> = self.live.stubs().iter().flat_map(|&stub| self.graph.calls(stub)).copied().collect();
        let others_called =
            |&function: &FunctionId| self.graph.calls(function).iter().copied().filter(move |&called| called != function);
        let others = live::reachable(self.graph, unified.iter().flat_map(others_called));
        let languages: BTreeSet<u32> = others.flat_map(|function| self.attributes.languages(function)).map(u32::from).collect();
        languages.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// The entry functions and the stack that each needs: a record of executables only.
    fn stacks(&self) -> Vec<Stack> {
        let of_kernel = |&kernel: &FunctionId| Some((kernel, self.properties.of(kernel)?.stack));
        let stacks = self.live.kernels().iter().filter_map(of_kernel).chain(self.properties.stubs().stacks.iter().copied());
        let stack = |(function, size): (FunctionId, Option<u64>)| Stack {
            symbol: self.resolution.functions()[function].symbol,
            is_stub: self.live.is_stub(function),
            size: stack_size(size),
        };
        stacks.map(stack).collect()
    }

    /// The records that an object has of the module.
    fn module_records(&self, file: FileId, frames: Frames) -> Encoded {
        let mut out = Encoded::default();
        let last_frames = match frames {
            Frames::Own => IdMap::default(),
            Frames::OfLastInner => self.last_inner_frames(file),
        };
        for section in self.inputs.files()[file].sections.iter().rev().map(|id| &self.inputs.sections()[id]) {
            if section.role == Role::ModuleInfo {
                let records: Vec<Record<'_>> = info::records(section.data).map_while(Result::ok).collect();
                out.reserve(section.data.len(), records.len());
                records.into_iter().rev().for_each(|record| self.module_record(file, &record, &last_frames, &mut out));
            }
        }
        out
    }

    fn module_record(&self, file: FileId, record: &Record<'_>, last_frames: &IdMap<InputSectionId, u32>, out: &mut Encoded) {
        let named = record.symbols().next();
        let symbol = named.and_then(|raw| self.inputs.symbol_of(file, raw));
        // What a program needs is known now, and said of its kernels alone; and what stubs of unified functions need, once for all of them.
        let is_said_anew = || matches!(record.attribute, Attribute::MAX_STACK_SIZE | Attribute::MIN_STACK_SIZE);
        let is_of_stub = || symbol.is_some_and(|symbol| self.is_stub(symbol));
        if self.options.knows_all_callees() && (is_said_anew() || is_of_stub()) {
            return;
        }
        if named.is_none() {
            return out.copy(record);
        }
        let Some(symbol) = symbol else { return };
        // Of several definitions of a function, the records of the prevailing one are taken.
        if matches!(self.resolution.fate(symbol), Fate::Discarded | Fate::Replaced) {
            return;
        }
        let Some(referent) = self.referent(symbol) else { return };
        let kernel = self.resolution.function(symbol).filter(|_| record.attribute == Attribute::REGCOUNT);
        if let (Attribute::FRAME_SIZE, Place::Section(code)) = (record.attribute, self.inputs.symbols()[symbol].place())
            && let Some(frame) = last_frames.get(&code)
        {
            return out.of_symbol(record.attribute, referent, &frame.to_le_bytes());
        }
        match kernel.and_then(|kernel| self.properties.of(kernel)) {
            Some(properties) => out.of_symbol(record.attribute, referent, &properties.registers.to_le_bytes()),
            None => out.of_symbol(record.attribute, referent, rest(record)),
        }
    }

    /// For each section of code that has functions inside of it: the frame that is recorded last for one of them. The object's first record becomes
    /// the last.
    fn last_inner_frames(&self, file: FileId) -> IdMap<InputSectionId, u32> {
        let mut last: IdMap<InputSectionId, u32> = IdMap::default();
        let sections = self.inputs.files()[file].sections.iter().map(|id| &self.inputs.sections()[id]);
        let info = sections.filter(|section| section.role == Role::ModuleInfo);
        let records = info.flat_map(|section| info::records(section.data).map_while(Result::ok));
        for record in records.filter(|record| record.attribute == Attribute::FRAME_SIZE) {
            let named = record.symbols().next().and_then(|raw| self.inputs.symbol_of(file, raw));
            let Some(function) = named.map(|symbol| &self.inputs.symbols()[symbol]) else { continue };
            if let (true, Place::Section(code)) = (function.is_inner_function(), function.place()) {
                last.entry(code).or_insert(function.frame);
            }
        }
        last
    }

    fn is_stub(&self, symbol: InputSymbolId) -> bool {
        match self.inputs.symbols()[symbol].place() {
            Place::Section(section) => self.inputs.sections()[section].is_stub(),
            _ => false,
        }
    }

    /// What a symbol of an input is in the output, if it is there.
    fn referent(&self, symbol: InputSymbolId) -> Option<Referent> {
        let row: &InputSymbol<'_> = &self.inputs.symbols()[symbol];
        if row.kind == SymbolKind::SECTION {
            let Place::Section(section) = row.place() else { return None };
            return Some(Referent::Section(self.plan.at(section)?.section));
        }
        let id = self.resolution.meaning(symbol)?;
        let function = self.resolution.symbols()[id].function;
        function.is_none_or(|function| self.live.contains(function)).then_some(Referent::Symbol(id))
    }

    /// What a function is in the output.
    fn function_referent(&self, function: FunctionId) -> Referent {
        Referent::Symbol(self.resolution.functions()[function].symbol)
    }

    /// The records of a function. `records` is overwritten.
    ///
    /// Where there are two views, the machine's has the same records with its own offsets, but for those that concern one
    /// of the views alone; and what the compiler added for the machine when all others were done stays after them.
    fn function_records(&self, function: FunctionId, view: View, records: &mut Vec<Record<'data>>, out: &mut Encoded) {
        let attributes = self.attributes.of(function);
        let properties = self.properties.of(function);
        let is_machine_side = view == View::Machine;
        let is_tail = |record: &&Record<'_>| is_machine_side && MACHINE_RECORDS.contains(&record.attribute);
        // Whole programs have it already.
        let closing = self.options.target.closing_attribute.filter(|_| is_machine_side && self.options.is_for_driver());
        records.clear();
        if let Some(file) = self.read(function, view, records) {
            let has_version = || records.iter().any(|record| record.attribute == Attribute::MERCURY_ISA_VERSION);
            if view != View::Only && self.inputs.release().has(Rule::Cuda13Files) && !has_version() {
                out.value(format::HALF, Attribute::MERCURY_ISA_VERSION, OLDEST_MERCURY);
            }
            for record in records.iter().rev().filter(|record| !is_tail(record) && closing != Some(record.attribute)) {
                self.function_record(file, record, properties, out);
            }
        }
        if self.options.knows_all_callees() {
            self.added_records(function, attributes, properties, out);
        }
        let is_texture = |record: &&Record<'_>| TEXTURE_RECORDS.contains(&record.attribute);
        let is_made = |record: &&Record<'_>| LINKER_RECORDS.contains(&record.attribute);
        for record in records.iter().filter(is_tail).filter(|record| !is_made(record) && !is_texture(record)) {
            match (record.attribute, self.plan.function(function).parameters) {
                (attribute @ Attribute::PARAM_CBANK, Some(parameters)) => {
                    out.of_symbol(attribute, Referent::Section(parameters), rest(record));
                }
                _ => out.copy(record),
            }
        }
        if is_machine_side {
            self.linker_records(function, records, out);
        }
        records.iter().filter(is_tail).filter(is_texture).for_each(|record| out.copy(record));
        let has_slots = self.plan.function(function).texture_relocations.is_some();
        for attribute in TEXTURE_RECORDS.into_iter().filter(|_| is_machine_side && has_slots) {
            out.value(format::BYTE, attribute, 0);
        }
    }

    /// What the linker says of the machine code of every function, also where an older compiler did not.
    fn linker_records(&self, function: FunctionId, records: &[Record<'data>], out: &mut Encoded) {
        let value = |attribute: Attribute| records.iter().find(|record| record.attribute == attribute).map(|record| record.value);
        if self.inputs.release().has(Rule::WorkaroundRecords) && !self.options.imitates(Imitation::WithoutWorkaroundRecords) {
            out.value(format::HALF, Attribute::NVSAL_SW_WAR, value(Attribute::NVSAL_SW_WAR).unwrap_or(1));
        }
        if self.inputs.release().has(Rule::PreexitRecords) {
            out.value(format::BYTE, Attribute::PREEXIT_USED, self.early_exits.contains(&function).into());
        }
        if let (Some(attribute), true) = (self.options.target.closing_attribute, self.options.is_for_driver()) {
            out.value(format::BYTE, attribute, 0);
        }
    }

    /// Reads the records that a view has of a function, if it has any, and returns the object that they are in.
    fn read(&self, function: FunctionId, view: View, records: &mut Vec<Record<'data>>) -> Option<FileId> {
        let (file, section) = self.attributes.of(function).info?;
        let section = self.inputs.in_view(section, view)?;
        records.clear();
        records.extend(info::records(self.inputs.sections()[section].data).map_while(Result::ok));
        Some(file)
    }

    /// The records of all stubs of unified functions, and what they need for what they lead to.
    fn stub_records(&self, view: View) -> Encoded {
        let mut out = Encoded::default();
        let is_machine_side = view == View::Machine;
        let is_tail = |record: &&Record<'_>| is_machine_side && MACHINE_RECORDS.contains(&record.attribute);
        let mut records = Vec::new();
        for &stub in self.live.stubs().iter().rev() {
            if let Some(file) = self.read(stub, view, &mut records) {
                for record in records.iter().rev().filter(|record| !is_tail(record)) {
                    self.function_record(file, record, None, &mut out);
                }
            }
        }
        for &(row, value) in &self.properties.stubs().values {
            out.value(PROPAGATED[row].format, PROPAGATED[row].attribute, value);
        }
        if self.attributes.any_sparsity() {
            out.value(format::HALF, Attribute::SPARSE_MMA_MASK, 0);
        }
        // The records that the first of them has after its others are written once.
        records.iter().filter(is_tail).for_each(|record| out.copy(record));
        out
    }

    fn function_record(&self, file: FileId, record: &Record<'_>, properties: Option<&Properties>, out: &mut Encoded) {
        let attribute = record.attribute;
        match (attribute, properties) {
            (Attribute::ERROR, _) => {}
            (Attribute::CRS_STACK_SIZE, Some(properties)) => {
                out.words(attribute, &[stack_size(properties.return_stack)]);
            }
            (Attribute::SYNC_STACK, Some(properties)) => {
                let size = properties.return_stack.and_then(|size| u16::try_from(size).ok());
                out.value(record.format, attribute, size.unwrap_or(u16::MAX));
            }
            (Attribute::SPARSE_MMA_MASK, Some(properties)) => out.value(record.format, attribute, properties.sparsity),
            (Attribute::EXTERNS, None) => {
                let symbols = record.words().filter_map(|raw| self.inputs.symbol_of(file, raw));
                let functions = symbols.filter_map(|symbol| self.resolution.function(symbol));
                let externs = functions.filter(|&id| self.live.is_extern(self.inputs, self.resolution, id));
                out.symbols(attribute, externs.map(|id| self.function_referent(id)));
            }
            // Only kernels keep it.
            (Attribute::AT_ENTRY_FRAGMENTS, None) if self.options.knows_all_callees() => {}
            (Attribute::LANGUAGE, Some(properties)) if properties.languages.is_empty() => out.copy(record),
            (_, Some(properties)) if propagated_row(attribute).is_some() => {
                if !propagated_row(attribute).is_some_and(|row| properties.moved[row]) {
                    self.propagated_record(attribute, record.format, properties, out);
                }
            }
            _ => match record.symbols().next() {
                None => out.copy(record),
                Some(raw) => {
                    if let Some(referent) = self.inputs.symbol_of(file, raw).and_then(|symbol| self.referent(symbol)) {
                        out.of_symbol(attribute, referent, rest(record));
                    }
                }
            },
        }
    }

    /// The record of an attribute that was propagated to an entry function.
    fn propagated_record(&self, attribute: Attribute, format: u8, properties: &Properties, out: &mut Encoded) {
        let Some(row) = propagated_row(attribute) else { return };
        match PROPAGATED[row].combine {
            Combine::Functions => out.symbols(attribute, properties.externs.iter().map(|&id| self.function_referent(id))),
            Combine::Words => out.words(attribute, &properties.fragments),
            Combine::Numbers => out.words(attribute, &properties.languages),
            _ => out.value(format, attribute, properties.values[row].unwrap_or(0)),
        }
    }

    /// What the objects have no record of.
    fn added_records(
        &self,
        function: FunctionId,
        attributes: &FunctionAttributes,
        properties: Option<&Properties>,
        out: &mut Encoded,
    ) {
        let has_records_of_barriers = !self.options.target.is_of_cuda_12(self.inputs.release());
        let return_stack = properties.map_or(Some(0), |properties| properties.return_stack);
        if return_stack != Some(0) && attributes.return_stack.is_none() {
            out.words(Attribute::CRS_STACK_SIZE, &[stack_size(return_stack)]);
        }
        if self.attributes.any_sparsity() {
            let aliases = self.live.aliases_of(function);
            let missing = usize::from(attributes.sparsity.is_none());
            for _ in 0..aliases + missing {
                let value = properties.map_or(UNKNOWN_SPARSITY, |properties| UNKNOWN_SPARSITY | properties.sparsity);
                out.value(format::HALF, Attribute::SPARSE_MMA_MASK, value);
            }
        }
        if let Some(properties) = properties {
            let is_in_flags = |row: &&PropagatedAttribute| row.attribute == Attribute::NUM_BARRIERS && !has_records_of_barriers;
            for row in properties.new_records.iter().map(|&row| &PROPAGATED[row]).filter(|row| !is_in_flags(row)) {
                self.propagated_record(row.attribute, row.format, properties, out);
            }
        }
        if let (Some(value), None, true) = (attributes.barriers_of_section, properties, has_records_of_barriers) {
            out.value(format::BYTE, Attribute::NUM_BARRIERS, value);
        }
    }
}

/// The payload after the symbol.
fn rest<'data>(record: &Record<'data>) -> &'data [u8] {
    record.payload.get(4..).unwrap_or_default()
}
