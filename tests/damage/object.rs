//! Objects that are built section by section, for programs that no compiler makes. Also the programs of `cargo xtask growth`.

use cubin::callgraph::{Edge, encode_edges};
use cubin::elf::{
    Header, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_PROGBITS, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, SectionHeader, SymbolRecord,
};
use cubin::info::{Attribute, Record};
use cubin::note::CudaInfo;
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind, info, other};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// An object that is built section by section.
pub struct Object {
    sections: Vec<(SectionHeader, Vec<u8>)>,
    names: Vec<u8>,
    symbols: Vec<u8>,
    pub edges: Vec<Edge>,
    /// How many registers each function uses.
    pub registers: BTreeMap<u32, u32>,
}

/// The sections that every object has.
const NAMES: u32 = 1;
const SYMBOLS: u32 = 2;
const NOTE: u32 = 3;

impl Object {
    /// An object with nothing but a note of the toolkit.
    pub fn new() -> Self {
        let mut object = Object {
            sections: Vec::new(),
            names: vec![0],
            symbols: vec![0; SymbolRecord::SIZE],
            edges: Vec::new(),
            registers: BTreeMap::new(),
        };
        object.section("", SectionHeader::default(), &[]);
        object.section(".strtab", SectionHeader { kind: SHT_STRTAB, ..SectionHeader::default() }, &[]);
        let entry_size = SymbolRecord::SIZE as u64;
        let table = SectionHeader { kind: SHT_SYMTAB, link: NAMES, info: 1, entry_size, align: 8, ..SectionHeader::default() };
        object.section(".symtab", table, &[]);
        let note = SectionHeader { kind: SectionType::NOTE.0, align: 4, ..SectionHeader::default() };
        object.section(".note.nv.cuinfo", note, &CudaInfo { note_version: 2, virtual_sm: 90, toolkit: 130 }.encode());
        object
    }

    /// Adds a name, and says where it is.
    pub fn name(&mut self, name: &str) -> u32 {
        let place = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        place
    }

    /// Adds a section, and says which one it is.
    pub fn section(&mut self, name: &str, header: SectionHeader, contents: &[u8]) -> u32 {
        let (name, size) = (self.name(name), header.size.max(contents.len() as u64));
        self.sections.push((SectionHeader { name, size, ..header }, contents.to_vec()));
        self.sections.len() as u32 - 1
    }

    /// The name of a section.
    fn section_name(&self, section: u32) -> String {
        let name = &self.names[self.sections[section as usize].0.name as usize..];
        String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
    }

    /// Adds a symbol, and says which one it is.
    pub fn symbol(&mut self, name: &str, kind: SymbolKind, other: u8, section: u32, value: u64, size: u64) -> u32 {
        let record = SymbolRecord {
            name: self.name(name),
            info: info(Binding::GLOBAL, kind),
            other,
            section: section as u16,
            value,
            size,
        };
        let start = self.symbols.len();
        self.symbols.resize(start + SymbolRecord::SIZE, 0);
        record.write(&mut self.symbols[start..]);
        (start / SymbolRecord::SIZE) as u32
    }

    /// Adds a function with these attributes: its symbol and its section.
    pub fn function(&mut self, name: &str, is_kernel: bool, attributes: &[u8]) -> (u32, u32) {
        let flags = SHF_ALLOC | SHF_EXECINSTR;
        let header = SectionHeader { kind: SHT_PROGBITS, flags, align: 16, ..SectionHeader::default() };
        let code = self.section(&format!(".text.{name}"), header, &[0; 16]);
        let symbol = self.symbol(name, SymbolKind::FUNCTION, if is_kernel { other::ENTRY } else { 0 }, code, 0, 16);
        self.sections[code as usize].0.info = symbol;
        self.registers.insert(symbol, 16);
        if !attributes.is_empty() {
            let header =
                SectionHeader { kind: SectionType::INFO.0, link: SYMBOLS, info: code, align: 4, ..SectionHeader::default() };
            self.section(&format!(".nv.info.{name}"), header, attributes);
        }
        (symbol, code)
    }

    /// Adds a call.
    pub fn call(&mut self, caller: u32, callee: u32) {
        self.edges.push(Edge::Call { caller, callee });
    }

    /// Functions, each of which calls the next.
    pub fn chain(&mut self, count: u32, attributes: impl Fn(u32) -> Vec<u8>) -> Vec<(u32, u32)> {
        let functions: Vec<_> =
            (0..count).map(|number| self.function(&format!("f{number}"), false, &attributes(number))).collect();
        for pair in functions.windows(2) {
            self.call(pair[0].0, pair[1].0);
        }
        functions
    }

    /// Kernels, each of which calls a function.
    pub fn kernels(&mut self, count: u32, callee: Option<u32>) -> Vec<u32> {
        let kernels: Vec<u32> = (0..count).map(|number| self.function(&format!("k{number}"), true, &[]).0).collect();
        for (&kernel, callee) in kernels.iter().zip(std::iter::repeat(callee)) {
            self.edges.extend(callee.map(|callee| Edge::Call { caller: kernel, callee }));
        }
        kernels
    }

    /// The file, with a header like that of a sample.
    pub fn build(mut self, sample: &Path) -> io::Result<Vec<u8>> {
        let header = Header::parse(&fs::read(sample)?, 0).ok_or(io::ErrorKind::InvalidData)?;
        let info = SectionHeader { kind: SectionType::INFO.0, link: SYMBOLS, align: 4, ..SectionHeader::default() };
        let counts =
            self.registers.iter().flat_map(|(&symbol, &count)| record(Attribute::REGCOUNT, &[symbol, count])).collect::<Vec<_>>();
        self.section(".nv.info", info, &counts);
        let mut graph = Vec::new();
        encode_edges(&self.edges, &mut graph);
        let calls =
            SectionHeader { kind: SectionType::CALLGRAPH.0, link: SYMBOLS, entry_size: 8, align: 4, ..SectionHeader::default() };
        self.section(".nv.callgraph", calls, &graph);
        for (section, contents) in [(NAMES, self.names), (SYMBOLS, self.symbols)] {
            let (header, place) = &mut self.sections[section as usize];
            (header.size, *place) = (contents.len() as u64, contents);
        }
        let mut file = vec![0; Header::SIZE];
        for (header, contents) in &mut self.sections {
            file.resize(file.len().next_multiple_of(16), 0);
            header.offset = file.len() as u64;
            file.extend_from_slice(contents);
        }
        file.resize(file.len().next_multiple_of(8), 0);
        let header = Header {
            section_header_offset: file.len() as u64,
            section_header_count: self.sections.len() as u16,
            section_names: NAMES as u16,
            flags: header.flags & 0x00ff_ffff | NOTE << 24,
            ..header
        };
        header.write(&mut file[..Header::SIZE]);
        for (header, _) in &self.sections {
            let start = file.len();
            file.resize(start + SectionHeader::SIZE, 0);
            header.write(&mut file[start..]);
        }
        Ok(file)
    }
}

/// A record of an attribute.
pub fn record(attribute: Attribute, words: &[u32]) -> Vec<u8> {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bytes = Vec::new();
    Record::sized(attribute, &payload).iter().for_each(|record| record.encode(&mut bytes));
    bytes
}

impl Object {
    /// Gives each function a shared variable.
    pub fn share(&mut self, functions: &[(u32, u32)]) {
        let flags = SHF_ALLOC | SHF_WRITE;
        let header = SectionHeader {
            kind: SectionType::SHARED.0,
            flags,
            size: 4 * functions.len() as u64,
            align: 4,
            ..SectionHeader::default()
        };
        let shared = self.section(".nv.shared", header, &[]);
        for &(function, code) in functions {
            let variable = self.symbol(&format!("v{function}"), SymbolKind::OBJECT, 0x40, shared, 4, 4);
            let mut entry = vec![0; 24];
            // The low half of an address, in the first instruction.
            entry[8..12].copy_from_slice(&56_u32.to_le_bytes());
            entry[12..16].copy_from_slice(&variable.to_le_bytes());
            let header =
                SectionHeader { kind: SHT_RELA, link: SYMBOLS, info: code, entry_size: 24, align: 8, ..SectionHeader::default() };
            self.section(&format!(".rela{}", self.section_name(code)), header, &entry);
        }
    }
}

/// Kernels, each of which enters a chain of functions somewhere else; every function has a shared variable.
pub fn shared_on_a_chain(count: u32) -> Object {
    let mut object = Object::new();
    let functions = object.chain(count, |_| Vec::new());
    let kernels = object.kernels(count, None);
    kernels.iter().zip(&functions).for_each(|(&kernel, &(function, _))| object.call(kernel, function));
    object.share(&functions);
    object
}

/// Kernels that have a function of their own before a chain that all have; every function has a shared variable.
pub fn shared_behind_own(count: u32) -> Object {
    let mut object = Object::new();
    let mut functions = object.chain(count, |_| Vec::new());
    let own: Vec<(u32, u32)> = (0..count).map(|number| object.function(&format!("g{number}"), false, &[])).collect();
    let kernels = object.kernels(count, None);
    for (&kernel, &(own, _)) in kernels.iter().zip(&own) {
        object.call(kernel, own);
        object.call(own, functions[0].0);
    }
    functions.extend(own);
    object.share(&functions);
    object
}

/// Functions of a chain that launch a kernel each, and kernels that enter it anywhere: lists of what each launches.
pub fn launches_on_a_chain(count: u32) -> Object {
    let mut object = Object::new();
    let kernels: Vec<u32> = (0..count).map(|number| object.function(&format!("k{number}"), true, &[]).0).collect();
    let functions: Vec<u32> = (kernels.iter().zip(0..))
        .map(|(&kernel, number)| object.function(&format!("f{number}"), false, &record(Attribute::EXTERNS, &[kernel])).0)
        .collect();
    functions.windows(2).for_each(|pair| object.call(pair[0], pair[1]));
    kernels.iter().zip(&functions).for_each(|(&kernel, &function)| object.call(kernel, function));
    object
}

/// Kernels, each of which enters a chain, or a recursion, somewhere else; its last function needs the most registers and stack.
pub fn long_ways(count: u32, is_recursion: bool, registers: u32) -> Object {
    let mut object = Object::new();
    let functions = object.chain(count, |_| Vec::new());
    let kernels = object.kernels(count, None);
    kernels.iter().zip(&functions).for_each(|(&kernel, &(function, _))| object.call(kernel, function));
    if let (true, [(first, _), .., (last, _)]) = (is_recursion, functions.as_slice()) {
        object.call(*last, *first);
    }
    object.registers.extend(functions.last().map(|&(last, _)| (last, registers)));
    object
}

/// Variables with names of which another object has the same.
pub fn variables(count: u32) -> Object {
    let mut object = Object::new();
    let kind = SectionType::GLOBAL.0;
    let header = SectionHeader { kind, flags: SHF_ALLOC | SHF_WRITE, size: 4, align: 4, ..SectionHeader::default() };
    let variables = object.section(".nv.global", header, &[]);
    for number in 0..count {
        object.symbol(&format!("variable_{number}"), SymbolKind::OBJECT, 0, variables, 0, 4);
    }
    object
}

/// Variables, each of which has the address of something that is defined nowhere.
pub fn addresses_of_nothing(count: u32) -> Object {
    let mut object = Object::new();
    let (kind, flags) = (SectionType::GLOBAL_INIT.0, SHF_ALLOC | SHF_WRITE);
    let header = SectionHeader { kind, flags, align: 8, ..SectionHeader::default() };
    let variables = object.section(".nv.global.init", header, &vec![0; 8 * count as usize]);
    let mut entries = Vec::new();
    for place in (0..u64::from(count)).map(|number| 8 * number) {
        object.symbol(&format!("variable_{place}"), SymbolKind::OBJECT, 0, variables, place, 8);
        let nothing = object.symbol(&format!("nothing_{place}"), SymbolKind::OBJECT, 0, 0, 0, 0);
        // An address of 64 bits.
        entries.extend([place, u64::from(nothing) << 32 | 2, 0].iter().flat_map(|word| word.to_le_bytes()));
    }
    let link = SYMBOLS;
    let header = SectionHeader { kind: SHT_RELA, link, info: variables, entry_size: 24, align: 8, ..SectionHeader::default() };
    object.section(".rela.nv.global.init", header, &entries);
    object
}

/// As many callers through pointers as functions that they may reach.
pub fn indirect_calls(count: u32) -> Object {
    let mut object = Object::new();
    let prototype = object.name("#p");
    let functions: Vec<(u32, u32)> = (0..count).map(|number| object.function(&format!("f{number}"), false, &[])).collect();
    let kernels = object.kernels(count, None);
    for (&caller, &(function, _)) in kernels.iter().zip(&functions) {
        object.edges.extend([Edge::IndirectCall { caller, prototype }, Edge::AddressTaken { function, prototype }]);
    }
    object
}
