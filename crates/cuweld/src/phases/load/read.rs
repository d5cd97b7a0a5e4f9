//! Reading one object.

mod check;
mod sections;
mod symbols;

use super::arrange::{Arrangement, is_code};
use super::variables::Symbols;
use super::{
    CallRecord, Demand, Input, InputSection, InputSymbol, MachineSymbol, ObjectFile, Role, Rows, UnifiedEntry, UnifiedTable,
};
use crate::diagnostics::{Diagnostic, Message};
use crate::id::{Id, IdRange, InputSectionId, InputSymbolId};
use crate::imitations::Imitation;
use crate::options::{Options, ReleaseChoice};
use crate::phases::explain;
use crate::propagated;
use crate::stubs;
use cubin::Problem;
use cubin::callgraph::{self, Edge};
use cubin::compat::Tag;
use cubin::elf::SymbolRecord;
use cubin::info::{self, Attribute, Record};
use cubin::read::{File, Section};
use cubin::section::SectionType;
use cubin::symbol::{self, SymbolKind};
use cubin::target::{Target, Variant, Views};
use cubin::unified::{self, STUB_SIZE};

/// What is wrong with an object, and where.
struct Damage(String);

impl From<cubin::Error> for Damage {
    fn from(error: cubin::Error) -> Self {
        Damage(error.to_string())
    }
}

impl Damage {
    /// Something is wrong with a section, `offset` bytes from its start.
    fn at(section: &Section<'_>, offset: u64, text: String) -> Self {
        let position = section.header.offset.saturating_add(offset);
        Damage(format!("section '{}' ({}) at offset {position:#x}: {text}", section.name, section.index))
    }

    /// Something is wrong with a section.
    fn of(section: &Section<'_>, text: String) -> Self {
        Self::at(section, 0, text)
    }
}

/// An object has other sections or symbols than it had when they were counted.
fn changed() -> Damage {
    Damage("it was changed while it was read".into())
}

/// Something is wrong with an object.
fn damaged(input: &Input<'_>, Damage(problem): Damage) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Message::BadObject { file: input.name.into(), problem }))
}

/// An object can not be read: it is of another kind, or damaged.
fn unreadable(input: &Input<'_>, error: cubin::Error) -> Box<Diagnostic> {
    let (file, problem) = (input.name.into(), error.to_string());
    match error.problem() {
        Problem::Elf32 => Box::new(Diagnostic::new(Message::AddressSize { file }).also(problem)),
        Problem::UnknownAbi { .. } => Box::new(Diagnostic::new(Message::UnknownAbi { file }).also(problem)),
        _ => damaged(input, error.into()),
    }
}

/// Opens an object that may take part in the link. `None`: it is linked already and has nothing to add.
pub(super) fn open<'data>(input: &Input<'data>, options: &Options) -> Result<Option<File<'data>>, Box<Diagnostic>> {
    let file = File::parse(input.bytes()).map_err(|error| unreadable(input, error))?;
    if file.header().kind == cubin::elf::ET_EXEC {
        return Ok(None);
    }
    check_fitness(&file, input.name, options)?;
    Ok(Some(file))
}

/// Reads an object, and writes its rows. `None`: it is linked already and has nothing to add.
pub(super) fn read<'data>(
    input: &Input<'data>,
    rows: Rows<'_, 'data>,
    options: &Options,
) -> Result<Option<ObjectFile<'data>>, Box<Diagnostic>> {
    let damaged = |damage: Damage| damaged(input, damage);
    let Some(file) = open(input, options)? else { return Ok(None) };
    let arrangement = Arrangement::of(file.sections(), options.target.views).map_err(|index| match file.section(index) {
        Some(section) if is_code(section) => {
            let message = Message::NoMachineCode { file: input.name.into(), target: options.target.name.into() };
            Box::new(Diagnostic::new(message).hint(COMPILE_OR_HAND_OVER))
        }
        Some(section) => damaged(Damage::of(section, "its other side is missing: the Mercury view's, or the machine's".into())),
        None => damaged(Damage("the machine's side of the program is missing".into())),
    })?;
    let reader = Reader { file: &file, arrangement, views: options.target.views };
    reader.read(input, rows).map(Some).map_err(damaged)
}

/// What helps where code would have to be generated.
const COMPILE_OR_HAND_OVER: &str = "compile it for the target, or name the toolkit's linker with --finalizer";

/// Whether an object may take part in a link for the target at all.
fn check_fitness(file: &File<'_>, name: &str, options: &Options) -> Result<(), Box<Diagnostic>> {
    let target = options.target;
    let (number, accelerated) = (Target::current_number(file.sm()), file.is_accelerated());
    let is_let_through = options.imitates(Imitation::AcceleratedForPlain) && accelerated && number == target.number;
    if !target.accepts(number, accelerated, options.release.limit()) && !is_let_through {
        let mixes_variants = accelerated && target.variant != Variant::Accelerated;
        let message = match mixes_variants && !options.imitates(Imitation::AcceleratedForPlain) {
            true => Message::AcceleratedForPlain {},
            false => Message::WrongArchitecture { file: name.into(), target: target.name.into() },
        };
        return Err(Box::new(explain::architecture::describe(message, name, options, file.sm(), accelerated)));
    }
    if target.views == Views::Two && number != target.number && !runs_as_it_is(file, target) {
        let compiled_for = format!("sm_{}", file.sm());
        let message = Message::NotForTheTarget { file: name.into(), target: target.name.into(), compiled_for };
        return Err(Box::new(Diagnostic::new(message).hint(COMPILE_OR_HAND_OVER)));
    }
    if target.views == Views::Two && file.mercury_symbol_table().is_none() {
        let message = Message::NoMercuryCode { file: name.into(), target: target.name.into() };
        return Err(Box::new(Diagnostic::new(message)));
    }
    check::kind_of_file(file, name, target)?;
    let toolkit = file.toolkit();
    if toolkit.is_none() {
        let headline =
            format!("Input file '{name}' is damaged: its header and its notes disagree about which section tells of its toolkit");
        return Err(Box::new(Diagnostic::new(Message::OlderThanSupported { file: name.into() }).headline(headline)));
    }
    let known = u32::from(options.release.limit().toolkit);
    if let (ReleaseChoice::Exactly(_), Some(found)) = (options.release, toolkit.filter(|&found| found > known)) {
        let message = Message::NewerThanToolkit { file: name.into(), found, known };
        return Err(Box::new(message.into()));
    }
    if toolkit.is_some_and(|found| found < target.oldest_toolkit) {
        return Err(Box::new(Message::OlderThanSupported { file: name.into() }.into()));
    }
    Ok(())
}

/// Whether machine code for another GPU of the family runs on the target: the object states it, or has no code.
fn runs_as_it_is(file: &File<'_>, target: &Target) -> bool {
    let has_code = file.sections().iter().any(|section| section.kind() == SectionType::CAPSULE);
    let records = file.sections().iter().filter(|section| section.kind() == SectionType::COMPAT);
    let mut masks = records
        .flat_map(|section| info::records(section.data).flatten())
        .filter(|record| record.attribute.0 == Tag::CAN_FASTPATH_FINALIZE.0)
        .filter_map(|record| record.payload.first_chunk().map(|&bytes| u64::from_le_bytes(bytes)));
    !has_code || masks.any(|mask| mask & target.fast_path_bit != 0)
}

/// Whether an object for another architecture has one view of the program where the target has two.
pub(super) fn lacks_a_view(input: &Input<'_>, target: &Target) -> bool {
    let file = File::parse(input.bytes()).ok();
    let views = file.and_then(|file| Target::all().iter().find(|target| target.number == file.sm())).map(|target| target.views);
    target.views == Views::Two && views == Some(Views::One)
}

/// Reads the parts of one object.
struct Reader<'file, 'data> {
    file: &'file File<'data>,
    arrangement: Arrangement,
    views: Views,
}

impl<'data> Reader<'_, 'data> {
    fn read(&self, input: &Input<'data>, mut rows: Rows<'_, 'data>) -> Result<ObjectFile<'data>, Damage> {
        self.read_sections(rows.sections)?;
        if self.file.symbol_table().is_none() {
            return Err(Damage("it has no symbol table".into()));
        }
        let Symbols { functions, variables, definitions, .. } = self.read_symbols(&mut rows)?;
        let unknown_stacks = self.read_attributes(rows.sections, rows.symbols)?;
        self.read_machine_symbols(rows.symbols, rows.machine_symbols)?;
        self.check_relocations(rows.sections, rows.symbols)?;
        let section = InputSectionId::from_index;
        let linked = self.arrangement.linked();
        let mut file = ObjectFile {
            name: input.name,
            sections: IdRange::new(section(0), section(linked)),
            machine_sections: IdRange::new(section(linked), section(rows.sections.len())),
            in_front_of_compatibility: self.in_front_of_compatibility(rows.sections),
            symbols: IdRange::new(InputSymbolId::from_index(0), InputSymbolId::from_index(rows.symbols.len())),
            functions,
            variables,
            definitions,
            sm: Target::current_number(self.file.sm()),
            virtual_sm: self.file.virtual_sm(),
            calls: self.calls(rows.symbols)?,
            unified: self.unified(rows.sections, rows.symbols)?,
            is_whole_program: self.file.header().kind == cubin::elf::ET_WHOLE_PROGRAM,
            unknown_stacks,
            is_runtime: input.demand == Demand::Runtime,
            toolkit: self.file.toolkit(),
            lacks_address_size: self.file.lacks_address_size(),
        };
        rows.rebase(&mut file);
        Ok(file)
    }

    /// How many sections of the machine's side stand before `.nv.compat`.
    fn in_front_of_compatibility(&self, sections: &[InputSection<'data>]) -> Option<usize> {
        let (linked, machine) = self.arrangement.order().split_at_checked(self.arrangement.linked())?;
        let mut numbered = linked.iter().zip(sections).filter(|_| self.views == Views::Two);
        let (compatibility, _) = numbered.find(|(_, section)| section.role == Role::Compatibility)?;
        Some(machine.partition_point(|number| number < compatibility))
    }

    /// The sections of the file, in the order of their ids.
    fn arranged(&self) -> impl Iterator<Item = &Section<'data>> {
        self.arrangement.order().iter().filter_map(|&index| self.file.section(index))
    }

    /// The linked ones among some sections in that order that are of interest, each as it is in the file, too.
    fn linked<'all>(
        &'all self,
        sections: &'all [InputSection<'data>],
        is_meant: impl Fn(&InputSection<'data>) -> bool + 'all,
    ) -> impl Iterator<Item = (&'all Section<'data>, &'all InputSection<'data>)> {
        let numbered = self.arrangement.order().iter().zip(sections).take(self.arrangement.linked());
        let meant = numbered.filter(move |(_, section)| is_meant(section));
        meant.filter_map(|(&index, section)| Some((self.file.section(index)?, section)))
    }

    /// The symbols in the machine view, where there are two views.
    fn read_machine_symbols(&self, symbols: &[InputSymbol<'data>], rows: &mut [MachineSymbol]) -> Result<(), Damage> {
        let table = self.file.symbol_table().and_then(|index| self.file.section(index));
        let records = table.map(|section| section.data.as_chunks::<{ SymbolRecord::SIZE }>().0).unwrap_or_default();
        if let Some(missing) = symbols.get(records.len()).filter(|_| self.views == Views::Two) {
            return Err(Damage(format!("symbol '{}' is not in the machine's symbol table", missing.name)));
        }
        for ((record, row), symbol) in records.iter().zip(rows).zip(symbols) {
            let SymbolRecord { value, size, info, other, .. } = SymbolRecord::read(record);
            if (info, other) != (symbol::info(symbol.binding, symbol.kind), symbol.other) {
                return Err(Damage(format!("symbol '{}' is another in the machine's symbol table", symbol.name)));
            }
            *row = MachineSymbol { value, size };
        }
        Ok(())
    }

    /// Checks every attribute record, and notes the two that concern all functions with their symbols. Gives the functions that are
    /// recorded as having an unknown stack size.
    fn read_attributes(
        &self,
        sections: &[InputSection<'data>],
        symbols: &mut [InputSymbol<'data>],
    ) -> Result<Vec<InputSymbolId>, Damage> {
        let mut unknown_stacks = Vec::new();
        let has_records =
            |section: &InputSection<'_>| matches!(section.role, Role::ModuleInfo | Role::FunctionInfo | Role::Compatibility);
        for (raw, section) in self.linked(sections, has_records) {
            if section.role == Role::Compatibility {
                check::compatibility(raw)?;
                continue;
            }
            let wrong_form = |record: &Record<'_>| Damage::of(raw, format!("attribute {} is of a wrong form", record.attribute));
            for record in section.machine.map(|id| info::records(sections[id.index()].data)).into_iter().flatten() {
                let record = record.map_err(|error| error.in_section(raw))?;
                if propagated::is_of_wrong_form(&record) {
                    return Err(wrong_form(&record));
                }
            }
            for record in info::records(section.data) {
                let record = record.map_err(|error| error.in_section(raw))?;
                if propagated::is_of_wrong_form(&record) {
                    return Err(wrong_form(&record));
                }
                for symbol in record.symbols() {
                    if symbol as usize >= symbols.len() {
                        return Err(Damage::of(
                            raw,
                            format!("attribute {} names symbol {symbol} of {}", record.attribute, symbols.len()),
                        ));
                    }
                }
                // Hot: most records are of other attributes.
                if !matches!(record.attribute, Attribute::REGCOUNT | Attribute::FRAME_SIZE | Attribute::MIN_STACK_SIZE) {
                    continue;
                }
                let (Some(symbol), Some(value)) = (record.word(0), record.word(1)) else { continue };
                match record.attribute {
                    Attribute::REGCOUNT => symbols[symbol as usize].registers = value,
                    Attribute::FRAME_SIZE => symbols[symbol as usize].frame = value,
                    _ if value == u32::MAX => unknown_stacks.push(InputSymbolId::from_index(symbol as usize)),
                    _ => {}
                }
            }
        }
        unknown_stacks.sort_unstable();
        Ok(unknown_stacks)
    }

    /// The unified functions and variables. Stubs are of one size, by which the linker counts slots.
    fn unified(&self, sections: &[InputSection<'data>], symbols: &[InputSymbol<'data>]) -> Result<Vec<UnifiedEntry>, Damage> {
        let mut entries = Vec::new();
        let is_unified = |section: &InputSection<'_>| section.is_stub() || matches!(section.role, Role::UnifiedEntries(_));
        for (raw, section) in self.linked(sections, is_unified) {
            let size = section.machine.map_or(section.size, |machine| sections[machine.index()].size);
            if section.is_stub() && (size != STUB_SIZE || section.owner.is_none()) {
                return Err(Damage::of(raw, format!("a stub of a unified function has {STUB_SIZE:#x} bytes, not {size:#x}")));
            }
            if section.is_stub() && section.machine.is_some() && stubs::TableForm::default().capsule(&[section.data]).is_none() {
                return Err(Damage::of(raw, "this is not how stubs of unified functions are coded".into()));
            }
            let Role::UnifiedEntries(table) = section.role else { continue };
            if !section.data.len().is_multiple_of(unified::Entry::SIZE) {
                return Err(Damage::of(raw, format!("size {:#x} is no multiple of {}", section.size, unified::Entry::SIZE)));
            }
            let link = self.number_without_machine(raw.header.link);
            for unified::Entry { symbol, offset, first, second, .. } in unified::entries(section.data) {
                let fits = |row: &InputSymbol<'_>| row.is_function() == (table == UnifiedTable::Functions);
                if !symbols.get(symbol as usize).is_some_and(fits) || offset > MAX_SIZE {
                    return Err(Damage::of(
                        raw,
                        format!("an entry names symbol {symbol} of {} at offset {offset:#x}", symbols.len()),
                    ));
                }
                let symbol = InputSymbolId::from_index(symbol as usize);
                entries.push(UnifiedEntry { table, symbol, offset, first, second, link });
            }
        }
        Ok(entries)
    }

    fn calls(&self, symbols: &[InputSymbol<'data>]) -> Result<Vec<CallRecord<'data>>, Damage> {
        let mut records = Vec::new();
        let is_graph = |section: &&Section<'_>| matches!(section.kind(), SectionType::CALLGRAPH | SectionType::PROTOTYPE);
        for section in self.file.sections().iter().filter(is_graph) {
            let mut strings = self.file.strings_for(section.data.len() / callgraph::ENTRY_SIZE);
            let function = |index: u32| match symbols.get(index as usize) {
                Some(symbol) if symbol.kind == SymbolKind::FUNCTION => Ok(InputSymbolId::from_index(index as usize)),
                Some(symbol) => Err(Damage::of(section, format!("call graph names '{}', which is no function", symbol.name))),
                None => Err(Damage::of(section, format!("call graph names symbol {index} of {}", symbols.len()))),
            };
            let mut prototype = |offset: u32| {
                let found = strings
                    .as_mut()
                    .map_or(Ok(None), |strings| strings.get(offset))
                    .map_err(|error| error.in_section(section))?;
                found.ok_or_else(|| Damage::of(section, format!("prototype at offset {offset:#x} lies outside the string table")))
            };
            match section.kind() {
                SectionType::CALLGRAPH => {
                    records.reserve_exact(section.data.len() / callgraph::ENTRY_SIZE);
                    for edge in callgraph::edges(section.data) {
                        records.push(match edge.map_err(|error| error.in_section(section))? {
                            Edge::Call { caller, callee } => {
                                CallRecord::Call { caller: function(caller)?, callee: function(callee)? }
                            }
                            Edge::AddressTaken { function: symbol, prototype: offset } => {
                                CallRecord::AddressTaken { function: function(symbol)?, prototype: prototype(offset)? }
                            }
                            Edge::IndirectCall { caller, prototype: offset } => {
                                CallRecord::IndirectCall { caller: function(caller)?, prototype: prototype(offset)? }
                            }
                            Edge::References { caller, function: symbol } => {
                                CallRecord::Reference { caller: function(caller)?, function: function(symbol)? }
                            }
                        });
                    }
                }
                SectionType::PROTOTYPE => {
                    records.reserve_exact(section.data.len() / callgraph::ENTRY_SIZE);
                    for record in callgraph::prototypes(section.data) {
                        let (symbol, offset) = record.map_err(|error| error.in_section(section))?;
                        records.push(CallRecord::Prototype { function: function(symbol)?, prototype: prototype(offset)? });
                    }
                }
                _ => {}
            }
        }
        Ok(records)
    }
}

/// More than most sections are aligned to, and so little that padding takes hardly any memory.
const MAX_ALIGN: u64 = 1 << 20;
/// Far above the memory of any GPU; sums of as many sizes as there are sections stay below 64 bits.
const MAX_SIZE: u64 = 1 << 40;
