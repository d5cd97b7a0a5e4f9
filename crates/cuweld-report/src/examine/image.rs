//! One cubin: its functions and variables, and their attributes.

use super::parts;
use crate::blame::{Blame, CallGraph, Own, Stack};
use crate::fingerprint::Fingerprint;
use crate::model::{Constants, Function, Image, Kind, Memory, Variable};
use crate::names::Names;
use crate::occupancy::Needs;
use cubin::callgraph::{self, Edge};
use cubin::elf::{self, SHF_EXECINSTR};
use cubin::info::{self, Attribute, Record};
use cubin::read::{File, Section};
use cubin::relocation;
use cubin::section::{BARRIER_SHIFT, Contents, SectionType};
use cubin::symbol::{Space, Symbol, SymbolKind, SymbolSection, other};
use cubin::target::Target;
use hashbrown::HashMap;

type IndexMap = HashMap<u32, u32, foldhash::fast::FixedState>;

/// What a cubin says.
pub(super) struct ImageFacts {
    /// The GPU it is for, by number.
    pub(super) sm: u32,
    /// The GPU it is for, by name.
    pub(super) architecture: String,
    /// The cubin itself.
    pub(super) image: Image,
    /// Its functions, which name each other by their indices here.
    pub(super) functions: Vec<Function>,
    /// The functions that calls through each prototype may reach.
    pub(super) prototypes: Vec<Vec<u32>>,
    /// Its variables.
    pub(super) variables: Vec<Variable>,
}

/// How far up the number of registers is in what the header of code says, in files for GPUs before `sm_90`.
const REGISTERS_SHIFT: u32 = 24;
const BARRIERS_MASK: u64 = 0x7f;
/// The limit that stands for none.
const NO_REGISTER_LIMIT: u32 = 0xff;

/// What the system reserves, which the size of a kernel's shared memory counts, on a GPU of that number: as on the known one before it.
fn reserved_shared(sm: u32) -> u64 {
    Target::all().iter().rfind(|target| target.number <= sm).map_or(0, |target| target.reserved_shared)
}

impl Function {
    /// What a launch takes, as the limits of a multiprocessor count it.
    pub(super) fn needs(&self, sm: u32) -> Needs {
        let threads = |sizes: [u32; 3]| sizes.iter().fold(1u32, |product, &size| product.saturating_mul(size.max(1)));
        Needs {
            registers: self.registers,
            shared: self.shared.saturating_sub(reserved_shared(sm)),
            max_threads: self.required_threads.or(self.max_threads).map(threads),
        }
    }
}

/// Reads a cubin.
pub(super) fn examine(bytes: &[u8], names: &Names) -> cubin::Result<ImageFacts> {
    let file = File::parse(bytes)?;
    let symbols = file.symbols()?;
    let mut facts = Reading { file: &file, symbols: &symbols, names, found: Found::default() };
    facts.find_functions();
    facts.read_sections();
    facts.read_calls();
    let variables = facts.variables();
    let relocatable = file.header().kind == elf::ET_REL;
    let Found { mut functions, prototypes, .. } = facts.found;
    for function in &mut functions {
        // Of a linked kernel, that is what all it calls needs.
        let is_own = relocatable || function.kind == Kind::Function;
        function.own_registers = Some(function.registers).filter(|_| is_own && function.kind != Kind::External);
    }
    // What an object is going to call is known only once it is linked.
    if !relocatable {
        explain(&mut functions, &prototypes);
    }
    let letter = if file.is_accelerated() { "a" } else { "" };
    let toolkit = file.toolkit();
    let image = Image { relocatable, toolkit, bytes: bytes.len() as u64, parts: parts::of(&file), ..Image::default() };
    Ok(ImageFacts { sm: file.sm(), architecture: format!("sm_{}{letter}", file.sm()), image, functions, prototypes, variables })
}

/// Functions by different numbers of theirs.
#[derive(Default)]
struct Found {
    functions: Vec<Function>,
    /// By the section of their code.
    by_code: IndexMap,
    /// By their symbols.
    by_symbol: IndexMap,
    /// The functions whose address is taken under each prototype.
    prototypes: Vec<Vec<u32>>,
    /// Stack sizes in the records, with everything that is called; an unknown one is negative.
    least_stacks: IndexMap,
    /// Prototypes by their place in the string table.
    by_string: IndexMap,
}

struct Reading<'file, 'data> {
    file: &'file File<'data>,
    symbols: &'file [Symbol<'data>],
    names: &'file Names,
    found: Found,
}

impl<'data> Reading<'_, 'data> {
    fn new_function(&mut self, symbol: &Symbol<'_>, kind: Kind) -> u32 {
        let name = self.names.get(symbol.name);
        let index = self.found.functions.len() as u32;
        self.found.functions.push(Function {
            name: name.mangled,
            demangled: name.demangled,
            template: name.template,
            arguments: name.arguments,
            kind,
            ..Function::default()
        });
        index
    }

    /// One function for each section of code: other symbols in it are parts of it, or other names.
    fn find_functions(&mut self) {
        let symbols = self.symbols;
        let is_function = |symbol: &Symbol<'_>| symbol.kind == SymbolKind::FUNCTION;
        let code_of = |symbol: &Symbol<'_>| match symbol.section {
            SymbolSection::Index(index) if is_function(symbol) => {
                self.file.section(index).filter(|section| section.header.flags & SHF_EXECINSTR != 0)
            }
            _ => None,
        };
        let owns = |symbol: &Symbol<'_>, code: &Section<'_>| code.name.strip_prefix(".text.") == Some(symbol.name);
        // Those that the section is named after come first, so that they are what it is called.
        let mut candidates: Vec<(bool, u32, u32)> = (0..)
            .zip(symbols)
            .filter_map(|(index, symbol)| {
                code_of(symbol).map(|code| (!(owns(symbol, code) || symbol.is_entry()), index, code.index))
            })
            .collect();
        candidates.sort_by_key(|&(is_part, ..)| is_part);
        for (_, symbol, code) in candidates {
            let known = self.found.by_code.get(&code).copied();
            let index = match (known, symbols.get(symbol as usize)) {
                (Some(index), _) => index,
                (None, Some(named)) => {
                    let kind = if named.is_entry() { Kind::Kernel } else { Kind::Function };
                    self.new_function(named, kind)
                }
                (None, None) => continue,
            };
            self.found.by_code.insert(code, index);
            self.found.by_symbol.insert(symbol, index);
        }
    }

    fn read_sections(&mut self) {
        self.compare_code();
        for section in self.file.sections() {
            if let Some(&index) = self.found.by_code.get(&section.index) {
                self.read_code(section, index);
            } else if section.kind() == SectionType::INFO {
                self.read_records(section);
            } else {
                self.read_memory(section);
            }
        }
        // A file whose functions call nothing has no records of that, and says only what each needs itself.
        for (index, function) in (0..).zip(&mut self.found.functions) {
            let least = self.found.least_stacks.get(&index).copied().unwrap_or(function.frame);
            function.stack = Some(u64::from(least)).filter(|_| least.cast_signed() >= 0);
        }
        // With all code read: what it refers to tells apart what has the same bytes.
        for section in self.file.sections() {
            let is_list = matches!(section.kind(), SectionType::REL | SectionType::RELA);
            if is_list && let Some(&index) = self.found.by_code.get(&section.header.info) {
                self.add_references(section, index);
            }
        }
    }

    fn function(&mut self, index: u32) -> Option<&mut Function> {
        self.found.functions.get_mut(index as usize)
    }

    /// Fingerprints of all code.
    fn compare_code(&mut self) {
        let code = |section: &Section<'data>| Some((*self.found.by_code.get(&section.index)?, section.data));
        let (functions, code): (Vec<u32>, Vec<&[u8]>) = self.file.sections().iter().filter_map(code).unzip();
        for (index, fingerprint) in functions.into_iter().zip(Fingerprint::of_each(&code)) {
            if let Some(function) = self.function(index) {
                function.fingerprint = fingerprint.finish();
            }
        }
    }

    fn read_code(&mut self, section: &Section<'_>, index: u32) {
        if let Some(function) = self.function(index) {
            function.code = section.data.len() as u64;
            function.registers = function.registers.max(section.header.info >> REGISTERS_SHIFT);
            function.barriers = function.barriers.max((section.header.flags >> BARRIER_SHIFT & BARRIERS_MASK) as u32);
        }
    }

    fn add_references(&mut self, section: &Section<'_>, index: u32) {
        let symbols = self.symbols;
        let Some(function) = self.function(index) else { return };
        let mut fingerprint = Fingerprint::of(&function.fingerprint.to_le_bytes());
        for entry in relocation::entries(section).into_iter().flatten() {
            fingerprint.add(entry.offset);
            fingerprint.add(u64::from(entry.kind.0));
            fingerprint.add(entry.addend.cast_unsigned());
            if let Some(symbol) = symbols.get(entry.symbol as usize) {
                fingerprint.add_bytes(symbol.name.as_bytes());
            }
        }
        function.fingerprint = fingerprint.finish();
    }

    fn read_memory(&mut self, section: &Section<'_>) {
        let bank = section.kind().constant_bank().or_else(|| bank_by_name(section.name));
        let is_shared = section.name.starts_with(".nv.shared.") && section.kind().contents() == Contents::NoBits;
        if (bank.is_none() && !is_shared) || section.header.info == 0 {
            return;
        }
        let Some(&index) = self.found.by_code.get(&section.header.info) else { return };
        let Some(function) = self.function(index) else { return };
        match bank {
            Some(bank) => function.constants.push(Constants { bank, bytes: section.header.size }),
            None => function.shared = section.header.size,
        }
    }

    fn read_records(&mut self, section: &Section<'_>) {
        let owner = self.found.by_code.get(&section.header.info).copied().filter(|_| section.header.info != 0);
        for record in info::records(section.data).map_while(Result::ok) {
            match record.attribute {
                Attribute::REGCOUNT | Attribute::FRAME_SIZE | Attribute::MIN_STACK_SIZE => self.read_number(&record),
                _ => {
                    if let Some(function) = owner.and_then(|owner| self.function(owner)) {
                        read_own(function, &record);
                    }
                }
            }
        }
    }

    /// A number about a function in the file's common section.
    fn read_number(&mut self, record: &Record<'_>) {
        let (Some(symbol), Some(number)) = (record.word(0), record.word(1)) else { return };
        let Some(&index) = self.found.by_symbol.get(&symbol) else { return };
        let Some(function) = self.function(index) else { return };
        match record.attribute {
            Attribute::REGCOUNT => function.registers = number,
            Attribute::FRAME_SIZE => function.frame = number,
            _ => _ = self.found.least_stacks.insert(index, number),
        }
    }

    fn read_calls(&mut self) {
        let file = self.file;
        for section in file.sections().iter().filter(|section| section.kind() == SectionType::CALLGRAPH) {
            for edge in callgraph::edges(section.data).map_while(Result::ok) {
                self.read_call(edge);
            }
        }
        for Function { calls, indirect_calls, .. } in &mut self.found.functions {
            for list in [calls, indirect_calls] {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    fn read_call(&mut self, edge: Edge) -> Option<()> {
        match edge {
            Edge::Call { caller: calling, callee: called } => {
                let caller = *self.found.by_symbol.get(&calling)?;
                let callee = self.callee(called)?;
                // An alias "calls" the function whose code it names; that is no recursion.
                if caller != callee || calling == called {
                    self.function(caller)?.calls.push(callee);
                }
            }
            Edge::AddressTaken { function, prototype } => {
                let function = self.callee(function)?;
                let prototype = self.prototype(prototype);
                self.found.prototypes.get_mut(prototype as usize)?.push(function);
            }
            Edge::IndirectCall { caller, prototype } => {
                let caller = *self.found.by_symbol.get(&caller)?;
                let prototype = self.prototype(prototype);
                self.function(caller)?.indirect_calls.push(prototype);
            }
            Edge::References { .. } => {}
        }
        Some(())
    }

    /// The function of a symbol that is called; one from outside becomes known by that.
    fn callee(&mut self, symbol: u32) -> Option<u32> {
        if let Some(&index) = self.found.by_symbol.get(&symbol) {
            return Some(index);
        }
        let named = *self.symbols.get(symbol as usize).filter(|symbol| !symbol.name.is_empty())?;
        let index = self.new_function(&named, Kind::External);
        self.found.by_symbol.insert(symbol, index);
        Some(index)
    }

    fn prototype(&mut self, string: u32) -> u32 {
        let next = self.found.prototypes.len() as u32;
        *self.found.by_string.entry(string).or_insert_with(|| {
            self.found.prototypes.push(Vec::new());
            next
        })
    }

    fn variables(&self) -> Vec<Variable> {
        let variable = |symbol: &Symbol<'data>| {
            let section = match symbol.section {
                SymbolSection::Index(index) => self.file.section(index),
                _ => None,
            };
            let memory = memory_of(symbol, section)?;
            let name = self.names.get(symbol.name);
            let owner = section
                .filter(|section| section.header.info != 0)
                .and_then(|section| self.found.by_code.get(&section.header.info).copied());
            Some(Variable { name: name.mangled, demangled: name.demangled, memory, bytes: symbol.size, image: 0, owner })
        };
        self.symbols.iter().filter_map(variable).collect()
    }
}

/// The constant bank of a section of a linked file, which has a name and no type of its own: `.nv.constant0.kernel`.
fn bank_by_name(name: &str) -> Option<u8> {
    name.strip_prefix(".nv.constant")?.split('.').next()?.parse().ok()
}

/// What a record of a function's own section says.
fn read_own(function: &mut Function, record: &Record<'_>) {
    let triple = || Some([record.word(0)?, record.word(1)?, record.word(2)?]);
    match record.attribute {
        Attribute::NUM_BARRIERS => function.barriers = u32::from(record.value),
        Attribute::MAX_THREADS => function.max_threads = triple(),
        Attribute::REQNTID => function.required_threads = triple(),
        Attribute::CTA_PER_CLUSTER => function.cluster = triple(),
        Attribute::CBANK_PARAM_SIZE => function.parameters = u32::from(record.value),
        Attribute::MAXREG_COUNT => {
            function.max_registers = Some(u32::from(record.value)).filter(|&most| most != NO_REGISTER_LIMIT);
        }
        Attribute::IMAGE_SLOT => function.textures += 1,
        _ => {}
    }
}

/// The memory that a symbol is a variable in.
fn memory_of(symbol: &Symbol<'_>, section: Option<&Section<'_>>) -> Option<Memory> {
    let is_variable = matches!(symbol.kind, SymbolKind::OBJECT | SymbolKind::CUDA_OBJECT | SymbolKind::COMMON);
    if !is_variable || symbol.name.is_empty() || !symbol.is_defined() {
        return None;
    }
    let global = || if symbol.other & other::MANAGED != 0 { Memory::Managed } else { Memory::Global };
    let by_name = |name: &str| {
        const STARTS: [(&str, Memory); 4] = [
            (".nv.global", Memory::Global),
            (".nv.constant", Memory::Constant),
            (".nv.shared", Memory::Shared),
            (".nv.local", Memory::Local),
        ];
        STARTS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, memory)| *memory)
    };
    match (symbol.space(), section.and_then(|section| by_name(section.name))) {
        (_, Some(Memory::Global)) | (Space::Global, None) => Some(global()),
        (_, Some(memory)) => Some(memory),
        (Space::Shared, None) => Some(Memory::Shared),
        (Space::Constant, None) => Some(Memory::Constant),
        _ => None,
    }
}

/// Finds the call paths that force registers and stack, given the own resources of each function as far as they are known.
pub(crate) fn explain(functions: &mut [Function], prototypes: &[Vec<u32>]) {
    let graph = call_graph(functions, prototypes);
    let blame = Blame::of(&graph);
    let count = functions.len();
    let shown = |path: Vec<u32>| path.into_iter().filter(|&index| (index as usize) < count).collect::<Vec<u32>>();
    for (index, kernel) in (0..).zip(functions.iter_mut()).filter(|(_, function)| function.kind == Kind::Kernel) {
        kernel.registers_path.clear();
        match blame.registers(index) {
            (needed, path) if needed == kernel.registers && path.len() > 1 => kernel.registers_path = shown(path),
            // Nothing that it calls needs as many: they are its own.
            _ => kernel.own_registers = Some(kernel.registers),
        }
        match blame.stack(index) {
            Stack::Known { bytes, path } if path.len() > 1 && kernel.stack == Some(bytes) => kernel.stack_path = shown(path),
            Stack::Unknown { path } if kernel.stack.is_none() => kernel.cycle = shown(path),
            _ => {}
        }
    }
}

/// The call graph, with prototypes after the functions. What a kernel needs itself counts as nothing where that is not known.
pub(crate) fn call_graph(functions: &[Function], prototypes: &[Vec<u32>]) -> CallGraph {
    let count = functions.len() as u32;
    let mut graph = CallGraph::default();
    for function in functions {
        graph.own.push(Own { registers: function.own_registers.unwrap_or(0), frame: function.frame.into() });
        let through_pointers = function.indirect_calls.iter().map(|&prototype| count + prototype);
        graph.calls.push(function.calls.iter().copied().chain(through_pointers).collect());
    }
    for targets in prototypes {
        graph.own.push(Own::default());
        graph.calls.push(targets.clone());
    }
    graph
}
