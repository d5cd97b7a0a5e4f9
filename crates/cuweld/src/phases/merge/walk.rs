//! The walk over the inputs that creates the output's sections and symbols.

use super::constants;
use super::plan::{Fixed, FunctionSections, Local, Name, OutputSection, Piece, Pieces, Plan, RelocationSections};
use crate::diagnostics::{Failure, Report};
use crate::id::{FileId, FunctionId, Id, IdMap, IdRange, IdVec, InputSectionId, InputSymbolId, SectionId, SymbolId};
use crate::imitations::Imitation;
use crate::options::{KernelRoots, Options};
use crate::phases::image_size::Room;
use crate::phases::live::LiveSet;
use crate::phases::load::{Inputs, Place, Role, Stretch, Variables};
use crate::phases::propagate::KernelProperties;
use crate::phases::references::References;
use crate::phases::resolve::{Fate, Part, Resolution};
use crate::phases::unified::Unified;
use crate::phases::usage::Usage;
use crate::sections::{
    CallGraphRecords, CudaNote, Debug, FunctionCode, FunctionInfo, GlobalZero, Host, InitialisedData, KeptRelocations,
    KernelShared, ModuleInfo, ModuleShared, Prototypes, RelocationActions, ReservedShared, ResolvedRelocations, SectionKind,
    Shape, StringTable, SymbolSectionNumbers, SymbolTable, ToolNotes, UnifiedEntries, UnifiedIndexCopy,
};
use cubin::elf::{SHF_ALLOC, SHF_EXECINSTR};
use cubin::release::Rule;
use cubin::symbol::{Binding, SymbolKind, other};
use std::collections::HashMap;

/// The facts that the walk reads.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// Which entry functions reach what.
    pub usage: &'facts Usage<'facts, 'data>,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// What each kernel needs.
    pub properties: &'facts KernelProperties,
    /// Which shared variables and textures code refers to.
    pub references: &'facts References,
    /// The slots of unified functions and variables.
    pub unified: &'facts Unified,
    /// What was asked for.
    pub options: &'facts Options,
    /// How large the result may be.
    pub room: Room,
}

/// Why a section of variables or constants is merged.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Cause {
    /// A definition in it prevails, at least for now.
    Symbol,
    /// The object has it.
    Section,
}

/// Makes the plan of the output.
pub fn merge<'data>(facts: &Facts<'_, 'data>, report: &mut Report) -> Result<Plan<'data>, Failure> {
    let walk = || {
        let mut walk = Walk::new(facts);
        for file in facts.inputs.files().ids() {
            walk.functions(file);
            walk.other_symbols(file);
            walk.sections(file);
            if facts.inputs.files()[file].is_whole_program {
                walk.laid_out_shared(file);
            }
        }
        walk.finish(report)?;
        walk.plan.drop_discarded();
        Ok(walk.plan)
    };
    let (plan, globals) = rayon::join(walk, || facts.globals());
    Ok(Plan { globals, ..plan? })
}

/// How many sections functions have in all; nearly all sections of the output are made for one of these, or for two kinds of relocations
/// in one.
fn sections_of_functions(inputs: &Inputs<'_>) -> usize {
    let linked = inputs.files().iter().flat_map(|file| file.sections.iter()).map(|id| &inputs.sections()[id]);
    let of_functions = linked.filter(|section| section.target.is_some() || section.role == Role::Text);
    of_functions.map(|section| 1 + usize::from(section.later_entry_without_addend)).sum()
}

/// How many sections a program has besides those of its functions; a few more make no difference.
const OTHER_SECTIONS: usize = 256;

pub(super) struct Walk<'facts, 'data> {
    pub(super) facts: &'facts Facts<'facts, 'data>,
    pub(super) plan: Plan<'data>,
    /// Sections that inputs share by name.
    pub(super) by_name: HashMap<&'data str, SectionId, foldhash::fast::RandomState>,
    /// Shared variables of the system, where they are mentioned, and their section.
    pub(super) reserved: Vec<(SymbolId, InputSymbolId, SectionId)>,
    /// Which shared variables are dynamic shared memory.
    pub(super) dynamic: IdMap<SymbolId, usize>,
    pub(super) small_constants: constants::SmallConstants<'data>,
    /// Per function: its compiler-made constants while definitions are replaced.
    pub(super) constants: IdMap<FunctionId, constants::Slot>,
}

impl<'facts, 'data> Walk<'facts, 'data> {
    fn new(facts: &'facts Facts<'facts, 'data>) -> Self {
        // Until they are made, which is at once.
        let none = SectionId::from_index(0);
        let mut walk = Walk {
            facts,
            plan: Plan {
                sections: IdVec::with_capacity(sections_of_functions(facts.inputs) + OTHER_SECTIONS),
                locals: Vec::new(),
                globals: Vec::new(),
                placement: IdVec::filled(None, facts.inputs.sections().len()),
                functions: IdVec::filled(FunctionSections::default(), facts.resolution.functions().len()),
                module_shared: None,
                global_zero: None,
                unified_stubs: None,
                reserved: IdMap::default(),
                null_symbol_value: 0,
                first_of_inputs: none,
                taken: IdMap::default(),
                skips_creation_number: facts.options.is_for_driver(),
                twice_numbered: Vec::new(),
                fixed: Fixed { section_numbers: none, tool_notes: None, cuda_note: None, compatibility: None },
                shared_variables: Vec::new(),
            },
            by_name: HashMap::default(),
            reserved: Vec::new(),
            dynamic: IdMap::default(),
            small_constants: constants::SmallConstants::default(),
            constants: IdMap::default(),
        };
        walk.create_fixed();
        walk
    }

    /// Creates the sections that every file starts with.
    fn create_fixed(&mut self) {
        let Facts { options, unified, .. } = *self.facts;
        let release = self.facts.inputs.release();
        let has_notes = !options.target.is_of_cuda_12(release);
        let has_compat = options.target.has_compat && has_notes;
        self.create(Name::plain(".shstrtab"), &StringTable, StringTable::SHAPE);
        self.create(Name::plain(".strtab"), &StringTable, StringTable::SHAPE);
        self.create(Name::plain(".symtab"), &SymbolTable, SymbolTable::SHAPE);
        self.plan.fixed.section_numbers =
            self.create(Name::plain(".symtab_shndx"), &SymbolSectionNumbers, SymbolSectionNumbers::SHAPE);
        if has_notes {
            self.plan.fixed.tool_notes = Some(self.create(Name::plain(".note.nv.tkinfo"), &ToolNotes, ToolNotes::SHAPE));
            self.plan.fixed.cuda_note =
                Some(self.create(Name::plain(CudaNote::name(release)), &CudaNote, CudaNote::shape(has_compat)));
        }
        if unified.has_functions() && options.places_unified() {
            let name = UnifiedEntries::OF_FUNCTIONS;
            let id = self.create(Name::plain(name), &UnifiedEntries::IN_FRONT, UnifiedEntries::SHAPE_IN_FRONT);
            self.by_name.insert(name, id);
        }
        self.create(Name::plain(".nv.info"), &ModuleInfo, ModuleInfo::SHAPE);
        if has_compat && release.has(Rule::Cuda13Files) {
            self.create_compatibility();
        }
        if options.unified_index.is_some() {
            let id = self.create(Name::plain(UnifiedIndexCopy::NAME), &UnifiedIndexCopy, UnifiedIndexCopy::SHAPE);
            self.by_name.insert(UnifiedIndexCopy::NAME, id);
        }
        if options.host_section.is_some() {
            self.create(Name::plain(".nv.host"), &Host, Host::SHAPE);
        }
        self.plan.first_of_inputs = self.plan.sections.next_id();
    }

    /// Creates a section and its symbol.
    pub(super) fn create(&mut self, name: Name<'data>, kind: &'static dyn SectionKind, shape: Shape) -> SectionId {
        let id = self.create_without_symbol(name, kind, shape);
        self.plan.locals.push(Local::Section(id));
        id
    }

    pub(super) fn create_without_symbol(&mut self, name: Name<'data>, kind: &'static dyn SectionKind, shape: Shape) -> SectionId {
        let Shape { section_type, flags, align } = shape;
        self.plan.sections.push(OutputSection {
            name,
            kind,
            function: None,
            is_discarded: false,
            section_type,
            flags,
            align,
            entry_size: kind.entry_size(section_type),
            size: 0,
            target: None,
            relocations: RelocationSections::default(),
            pieces: Pieces::default(),
        })
    }

    /// Creates the section that another one has of this kind, and its symbol.
    pub(super) fn create_for(
        &mut self,
        target: SectionId,
        name: Name<'data>,
        kind: &'static dyn SectionKind,
        shape: Shape,
    ) -> SectionId {
        let id = self.create(name, kind, shape);
        self.plan.sections[id].target = Some(target);
        self.plan.sections[id].function = self.plan.sections[target].code_of();
        id
    }

    /// Creates the shared memory of a kernel, for its code or for want of it.
    pub(super) fn create_shared(&mut self, kernel: FunctionId, code: Option<SectionId>) -> SectionId {
        let name = Name::of_function(KernelShared::PREFIX, self.facts.resolution.name(kernel));
        let id = self.create(name, &KernelShared, KernelShared::SHAPE);
        let section = &mut self.plan.sections[id];
        (section.target, section.function) = (code, Some(kernel));
        id
    }

    /// First pass: functions.
    fn functions(&mut self, file: FileId) {
        let (inputs, resolution) = (self.facts.inputs, self.facts.resolution);
        for symbol in inputs.in_order_of_reading(file, inputs.files()[file].functions.iter().copied()) {
            let row = &inputs.symbols()[symbol];
            let Some(function) = resolution.function(symbol) else { continue };
            if row.is_inner_function() {
                self.inner_function(function, symbol);
                continue;
            }
            if !self.facts.live.contains(function) {
                self.leave_name(function, symbol);
                continue;
            }
            self.list_local(resolution.functions()[function].symbol, symbol);
            if let (Place::Section(code), Fate::Taken | Fate::Replaced) = (row.place(), resolution.fate(symbol)) {
                self.code(function, code);
            }
        }
    }

    /// A function inside the code of another.
    fn inner_function(&mut self, function: FunctionId, symbol: InputSymbolId) {
        let Facts { inputs, resolution, live, .. } = *self.facts;
        let is_there = |section: InputSectionId| resolution.code(inputs, function) == Some(section) && live.contains(function);
        match (inputs.symbols()[symbol].place(), resolution.meaning(symbol)) {
            (Place::Section(section), Some(id)) if is_there(section) => self.list_local(id, symbol),
            _ => {}
        }
    }

    /// Adds a symbol to the local part of the symbol table when it belongs there and this is its first mention.
    fn list_local(&mut self, id: SymbolId, mention: InputSymbolId) {
        let symbol = &self.facts.resolution.symbols()[id];
        if symbol.part == Part::Local && symbol.first == mention && self.facts.is_listed(symbol) {
            self.plan.locals.push(Local::Symbol(id));
        }
    }

    /// A kernel that is removed because host code does not launch it leaves the name of one of its sections behind.
    fn leave_name(&mut self, function: FunctionId, symbol: InputSymbolId) {
        let resolution = self.facts.resolution;
        let is_kernel = resolution.functions()[function].kernel && resolution.fate(symbol) == Fate::Taken;
        if is_kernel && matches!(self.facts.options.kernels, KernelRoots::LaunchedByHost(_)) {
            self.create_shared(function, None);
        }
    }

    /// A definition of a function that prevails at least for now: its sections are made for the first one, its code is the last one's.
    fn code(&mut self, function: FunctionId, code: InputSectionId) {
        let section = &self.facts.inputs.sections()[code];
        let functions = self.facts.resolution.functions();
        if let Some(original) = functions[function].alias_of {
            self.plan.functions[function].text = self.plan.functions[original].text;
            return;
        }
        if section.is_stub() && self.facts.options.places_unified() {
            return self.stub(function, code);
        }
        let name = self.facts.resolution.name(function);
        let text = match self.plan.functions[function].text {
            Some(text) => text,
            None => {
                let kept = self.facts.barriers_in_flags(function, section.flags);
                let shape = Shape { flags: SHF_ALLOC | SHF_EXECINSTR | kept, ..Shape::of(section) };
                let section_name = if section.is_stub() { Name::plain(section.name) } else { Name::of_function(".text.", name) };
                let text = self.create(section_name, &FunctionCode, shape);
                self.plan.sections[text].function = Some(function);
                self.plan.functions[function].text = Some(text);
                if functions[function].kernel && !self.is_made_when_needed(function) {
                    self.info_section(function, text);
                    self.plan.functions[function].shared = Some(self.create_shared(function, Some(text)));
                }
                text
            }
        };
        constants::code_arrived(self, function);
        let output = &mut self.plan.sections[text];
        output.pieces = Pieces::one(code);
        output.size = section.size;
        self.plan.place(code, text, 0);
    }

    /// What the names of sections with constants of a function start with.
    pub(super) fn function_constants(&self) -> &'static str {
        self.facts.options.linked().function_constants
    }

    fn info_section(&mut self, function: FunctionId, text: SectionId) {
        let name = Name::of_function(".nv.info.", self.facts.resolution.name(function));
        let id = self.create_for(text, name, &FunctionInfo, FunctionInfo::SHAPE);
        self.plan.sections[id].function = Some(function);
        self.plan.functions[function].info = Some(id);
    }

    /// Second pass: variables and whatever else has a name.
    fn other_symbols(&mut self, file: FileId) {
        for stretch in self.facts.inputs.files()[file].stretches() {
            match stretch {
                Stretch::Variables(variables) => self.plain_variables(variables),
                Stretch::Others(symbols) => self.others(file, symbols),
            }
        }
    }

    /// Plain variables are merged with their section.
    fn plain_variables(&mut self, Variables { section, symbols }: Variables) {
        let mut fates = symbols.iter().map(|symbol| self.facts.resolution.fate(symbol));
        if self.plan.placement[section].is_none() && fates.any(|fate| fate != Fate::Discarded) {
            self.place(section, Cause::Symbol);
        }
    }

    fn others(&mut self, file: FileId, symbols: IdRange<InputSymbolId>) {
        let (inputs, resolution) = (self.facts.inputs, self.facts.resolution);
        for symbol in inputs.in_order_of_reading(file, symbols.iter()) {
            let row = &inputs.symbols()[symbol];
            let meaning = resolution.meaning(symbol).filter(|_| row.kind != SymbolKind::FUNCTION);
            let Some(id) = meaning else { continue };
            let fate = resolution.fate(symbol);
            match row.place() {
                Place::Section(section) if fate != Fate::Discarded => {
                    if self.plan.placement[section].is_none() {
                        self.place(section, Cause::Symbol);
                    }
                    match inputs.sections()[section].role {
                        _ if other::is_shared(row.other) => self.shared_variable(id, symbol, section),
                        Role::ReservedShared => self.reserved_variable(id, symbol, section),
                        Role::FunctionConstants(1..) => constants::cover(self, section, row.value.saturating_add(row.size)),
                        _ => {}
                    }
                }
                Place::Undefined if other::is_shared(row.other) && row.size == 0 => self.dynamic_shared(id, symbol),
                _ => {}
            }
            self.list_local(id, symbol);
        }
    }

    /// The function that a section of code belongs to, whatever the fate of this definition.
    pub(super) fn function_of(&self, code: InputSectionId) -> Option<FunctionId> {
        self.facts.resolution.function(self.facts.inputs.sections()[code].owner?)
    }

    /// Merges a section that holds variables, constants or debug information.
    fn place(&mut self, id: InputSectionId, cause: Cause) {
        let section = &self.facts.inputs.sections()[id];
        match section.role {
            Role::ModuleConstants(_) => {
                let size_before = self.by_name.get(section.name).map_or(0, |&output| self.plan.sections[output].size);
                self.append_by_name(id, &InitialisedData);
                if self.facts.options.knows_used_kernels() {
                    constants::after_module_constants(self, id, size_before);
                }
            }
            Role::GlobalData => self.append_by_name(id, &InitialisedData),
            Role::UnifiedData => self.place_unified_data(id),
            Role::UnifiedIndex => self.append_by_name(id, &UnifiedIndexCopy),
            Role::UnifiedEntries(table) => self.place_unified_entries(id, table),
            Role::GlobalZero => {
                self.append_by_name(id, &GlobalZero);
                self.plan.global_zero = self.plan.at(id).map(|at| at.section);
            }
            Role::Debug => self.append_by_name(id, &Debug),
            Role::ModuleShared => {
                if let (Some(shared), None) = (self.plan.module_shared, self.by_name.get(section.name)) {
                    self.by_name.insert(section.name, shared);
                }
                self.append_by_name(id, &ModuleShared);
                self.plan.module_shared = self.plan.at(id).map(|at| at.section);
            }
            Role::ReservedShared => {
                let known = self.by_name.get(section.name).copied();
                let output = known.unwrap_or_else(|| self.create(Name::plain(section.name), &ReservedShared, Shape::of(section)));
                self.by_name.insert(section.name, output);
                let row = &mut self.plan.sections[output];
                row.align = row.align.max(section.align());
                self.plan.place(id, output, 0);
            }
            Role::KernelShared => {
                let kernel = section.target.and_then(|code| self.function_of(code));
                if let Some(kernel) = kernel.filter(|&kernel| self.is_made_when_needed(kernel)) {
                    self.shared_of_entry(kernel);
                }
                let Some(shared) = kernel.and_then(|kernel| self.plan.functions[kernel].shared) else { return };
                match self.facts.options.lays_out_kernels() {
                    true => self.plan.place(id, shared, 0),
                    false => self.append(shared, id),
                }
            }
            Role::FunctionConstants(0) => self.parameters(id),
            Role::FunctionConstants(_) => constants::place(self, id, cause),
            _ => {}
        }
    }

    /// Appends a section to the output section of the same name.
    pub(super) fn append_by_name(&mut self, id: InputSectionId, kind: &'static dyn SectionKind) {
        let section = &self.facts.inputs.sections()[id];
        let known = self.by_name.get(section.name).copied();
        let output = known.unwrap_or_else(|| {
            let output = self.create(Name::plain(section.name), kind, Shape::of(section));
            self.by_name.insert(section.name, output);
            output
        });
        self.append(output, id);
    }

    pub(super) fn append(&mut self, output: SectionId, id: InputSectionId) {
        self.append_start(output, id, self.facts.inputs.sections()[id].size);
    }

    /// Appends the first `size` bytes of a section.
    pub(super) fn append_start(&mut self, output: SectionId, id: InputSectionId, size: u64) {
        let section = &self.facts.inputs.sections()[id];
        let row = &mut self.plan.sections[output];
        row.align = row.align.max(section.align());
        let offset = row.size.next_multiple_of(section.align());
        row.size = offset + size;
        row.pieces.push(Piece::new(id, offset));
        self.plan.place(id, output, offset);
    }

    /// Whether a function had a strong definition when the object that holds `section` had been read.
    pub(super) fn is_strong_by(&self, function: FunctionId, section: InputSectionId) -> bool {
        let resolution = self.facts.resolution;
        let symbol = &resolution.symbols()[resolution.functions()[function].symbol];
        symbol.binding != Binding::WEAK
            && symbol.definition.is_some_and(|definition| {
                definition < self.facts.inputs.files()[self.facts.inputs.file_of_section(section)].symbols.end()
            })
    }

    /// Third pass: sections.
    fn sections(&mut self, file: FileId) {
        let inputs = self.facts.inputs;
        let sections = || inputs.files()[file].sections.iter();
        let is_whole_program = inputs.files()[file].is_whole_program;
        for id in sections() {
            let role = inputs.sections()[id].role;
            let merges = matches!(
                role,
                Role::Debug
                    | Role::GlobalData
                    | Role::UnifiedData
                    | Role::UnifiedEntries(_)
                    | Role::UnifiedIndex
                    | Role::ModuleConstants(_)
                    | Role::FunctionConstants(_)
            );
            if merges && self.plan.placement[id].is_none() {
                self.place(id, Cause::Section);
            }
        }
        for id in sections() {
            let section = &inputs.sections()[id];
            let (Role::FunctionInfo, Some(code)) = (section.role, section.target) else { continue };
            self.meet_compatibility(file, section.machine);
            let (Some(place), Some(function)) = (self.plan.at(code), self.function_of(code)) else { continue };
            if self.plan.unified_stubs == Some(place.section) {
                continue;
            }
            if self.plan.functions[function].info.is_none() {
                self.info_section(function, place.section);
            }
        }
        self.meet_compatibility(file, None);
        for id in sections() {
            let section = &inputs.sections()[id];
            let (Role::Relocations { explicit_addends }, Some(target)) = (section.role, section.target) else { continue };
            let (Some(place), true) = (self.plan.at(target), section.size > 0) else { continue };
            let [any, later_without_addend] = self.entries_taken(file, id, target);
            if any {
                self.relocation_section(place.section, explicit_addends);
            }
            // Asked for explicit addends, the reference linker makes both sections, and leaves this one empty.
            if any && self.facts.options.force_explicit_addends {
                self.relocation_section(place.section, true);
            }
            if later_without_addend && explicit_addends && !self.facts.inputs.release().has(Rule::NoListsInVain) {
                self.relocation_section(place.section, false);
            }
            if !explicit_addends && self.facts.options.keeps_relocations() && self.gains_addends(file, id) {
                self.relocation_section(place.section, true);
            }
        }
        // The shared memory of a whole program has no variables that would tell of it.
        let is_laid_out = |id: &InputSectionId| is_whole_program && inputs.sections()[*id].role == Role::ModuleShared;
        for id in sections().filter(is_laid_out) {
            if self.plan.placement[id].is_none() {
                self.place(id, Cause::Section);
            }
        }
    }

    /// Whether an entry refers to a section that is no longer at the start of its own, so that it needs room for an addend.
    fn gains_addends(&self, file: FileId, relocations: InputSectionId) -> bool {
        let symbols = self.facts.inputs.symbols();
        self.facts.inputs.relocations(file, relocations).any(|entry| {
            let symbol = entry.symbol.map(|symbol| &symbols[symbol]).filter(|symbol| symbol.kind == SymbolKind::SECTION);
            match symbol.map(|symbol| symbol.place()) {
                Some(Place::Section(section)) => self.plan.at(section).is_some_and(|at| at.offset > 0),
                _ => false,
            }
        })
    }

    /// Whether any entry gets into the link; and whether one without an addend does, other than as the first. (The reference
    /// linker makes a section for the latter, although it then puts them with the others.)
    fn entries_taken(&self, file: FileId, relocations: InputSectionId, target: InputSectionId) -> [bool; 2] {
        let (inputs, resolution) = (self.facts.inputs, self.facts.resolution);
        if !resolution.has_discarded_definitions() {
            return [true, inputs.sections()[relocations].later_entry_without_addend];
        }
        let entries = inputs.relocations(file, relocations);
        let mut taken =
            entries.filter(|entry| entry.symbol.is_none_or(|symbol| !resolution.ignores(inputs, target, entry.offset, symbol)));
        [taken.next().is_some(), taken.any(|entry| entry.addend == 0)]
    }

    /// Makes the section with the relocations of a section, if it is not there.
    pub(super) fn relocation_section(&mut self, target: SectionId, explicit_addends: bool) {
        let (kind, prefix, shape) = KeptRelocations::of(explicit_addends);
        let name = self.plan.sections[target].name;
        let known = self.plan.sections[target].relocations;
        if (if explicit_addends { known.explicit } else { known.implicit }).is_none() {
            let id = self.create_for(target, name.relocation(prefix), kind, shape);
            if !explicit_addends && self.facts.options.linked().has_addends {
                self.plan.twice_numbered.push(id);
            }
            let known = &mut self.plan.sections[target].relocations;
            *(if explicit_addends { &mut known.explicit } else { &mut known.implicit }) = Some(id);
        }
        if self.facts.options.preserve_relocations && known.resolved.is_none() {
            let name = name.relocation(".nv.resolvedrela");
            let id = self.create_for(target, name, &ResolvedRelocations, ResolvedRelocations::SHAPE);
            self.plan.sections[target].relocations.resolved = Some(id);
        }
    }

    /// What is made when all inputs are read.
    fn finish(&mut self, report: &mut Report) -> Result<(), Failure> {
        let Facts { options, resolution, .. } = *self.facts;
        if self.plan.global_zero.is_none() && !options.keeps_relocations() && resolution.commons().next().is_some() {
            self.plan.global_zero = Some(self.create(Name::plain(".nv.global"), &GlobalZero, GlobalZero::SHAPE));
        }
        self.create(Name::plain(".nv.callgraph"), &CallGraphRecords, CallGraphRecords::SHAPE);
        self.create(Name::plain(".nv.prototype"), &Prototypes, Prototypes::SHAPE);
        if options.settles_early(Imitation::RelocatableSettlesDynamicShared) {
            self.list_shared_instances();
        }
        self.place_reserved();
        let has_parameters = options.linked().has_parameters;
        if options.lays_out_kernels() {
            self.note_laid_out_shared();
            self.shared_where_needed();
            if !has_parameters {
                self.texture_slots();
            }
            constants::gather(self, report)?;
        }
        if !has_parameters {
            self.machine_parameters();
        } else if options.is_for_driver() {
            self.create(Name::plain(".nv.rel.action"), &RelocationActions, RelocationActions::SHAPE);
        }
        Ok(())
    }
}
