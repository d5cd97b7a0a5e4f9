//! A million functions, each of which calls the next: nothing in the linker goes as deep as the program does.

use cubin::callgraph::{Edge, encode_edges};
use cubin::elf::{Header, SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB, SectionHeader, SymbolRecord};
use cubin::info::{Attribute, Record};
use cubin::note::CudaInfo;
use cubin::section::SectionType;
use cubin::symbol::{Binding, SymbolKind, info, other};
use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::Report;
use cuweld::options::Options;
use cuweld::trace::Trace;
use std::fs;
use std::path::Path;
use std::thread;

/// Objects, and functions in each: as many as there may be without extended numbers of sections.
const OBJECTS: usize = 20;
const FUNCTIONS: usize = 50_000;

/// Less than any system gives a thread, and too little to go a thousand calls deep.
const STACK: usize = 128 << 10;

/// The bytes of a function.
const CODE: usize = 16;

/// Sections before the code of the first function.
const BEFORE: usize = 7;

/// The section with the note of the toolkit.
const NOTE: usize = 5;

/// What an object of a chain is made of.
struct Object {
    names: Vec<u8>,
    symbols: Vec<u8>,
    sections: Vec<SectionHeader>,
    file: Vec<u8>,
}

impl Object {
    /// Names a function and its section, and adds its symbol; returns the section's name. The function's name is the end of it.
    fn name_function(&mut self, index: usize, number: usize) -> u32 {
        let name = self.names.len() as u32;
        let is_defined = index < FUNCTIONS;
        self.names.extend(format!(".text.f{number}\0").bytes());
        let record = SymbolRecord {
            name: name + ".text.".len() as u32,
            info: info(Binding::GLOBAL, SymbolKind::FUNCTION),
            other: if number == 0 { other::ENTRY } else { 0 },
            section: if is_defined { (BEFORE + index) as u16 } else { 0 },
            value: 0,
            size: if is_defined { CODE as u64 } else { 0 },
        };
        record.write(&mut self.symbols[SymbolRecord::SIZE * (index + 1)..][..SymbolRecord::SIZE]);
        name
    }

    /// Adds a section with its contents.
    fn add(&mut self, index: usize, name: &str, kind: u32, contents: &[u8], fields: SectionHeader) {
        self.file.resize(self.file.len().next_multiple_of(8), 0);
        let (offset, size) = (self.file.len() as u64, contents.len() as u64);
        self.file.extend_from_slice(contents);
        let place = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        self.sections[index] = SectionHeader { name: place, kind, offset, size, ..fields };
    }
}

/// An object of a chain: function `first + i` calls function `first + i + 1`, and the last one calls `next`.
fn object(header: &Header, first: usize, next: usize) -> Vec<u8> {
    let mut object = Object {
        names: b"\0".to_vec(),
        symbols: vec![0; SymbolRecord::SIZE * (FUNCTIONS + 2)],
        sections: vec![SectionHeader::default(); BEFORE + FUNCTIONS],
        file: vec![0; Header::SIZE + CODE * FUNCTIONS],
    };
    let mut edges = Vec::with_capacity(FUNCTIONS);
    let mut attributes = Vec::new();
    for index in 0..FUNCTIONS {
        let (name, symbol) = (object.name_function(index, first + index), index as u32 + 1);
        object.sections[BEFORE + index] = SectionHeader {
            name,
            kind: SHT_PROGBITS,
            flags: SHF_ALLOC | SHF_EXECINSTR,
            offset: (Header::SIZE + CODE * index) as u64,
            size: CODE as u64,
            align: 16,
            info: symbol,
            ..Default::default()
        };
        let registers = [symbol, 16].map(u32::to_le_bytes).concat();
        Record::sized(Attribute::REGCOUNT, &registers).iter().for_each(|record| record.encode(&mut attributes));
        edges.push(Edge::Call { caller: symbol, callee: symbol + 1 });
    }
    object.name_function(FUNCTIONS, next);
    let mut graph = Vec::new();
    encode_edges(&edges, &mut graph);
    let table = SectionHeader { link: 2, info: 1, entry_size: SymbolRecord::SIZE as u64, align: 8, ..Default::default() };
    let symbols = std::mem::take(&mut object.symbols);
    object.add(3, ".symtab", SHT_SYMTAB, &symbols, table);
    let calls = SectionHeader { link: 3, entry_size: 8, align: 4, ..Default::default() };
    object.add(4, ".nv.callgraph", SectionType::CALLGRAPH.0, &graph, calls);
    let note = CudaInfo { note_version: 2, virtual_sm: 75, toolkit: 130 }.encode();
    object.add(NOTE, ".note.nv.cuinfo", SectionType::NOTE.0, &note, SectionHeader { align: 4, ..Default::default() });
    let records = SectionHeader { link: 3, align: 4, ..Default::default() };
    object.add(6, ".nv.info", SectionType::INFO.0, &attributes, records);
    let Object { names, mut sections, mut file, .. } = object;
    let names_offset = file.len() as u64;
    file.extend_from_slice(&names);
    for index in [1, 2] {
        let (offset, size) = (names_offset, names.len() as u64);
        sections[index] = SectionHeader { kind: SHT_STRTAB, offset, size, align: 1, ..Default::default() };
    }
    with_headers(file, header, &sections)
}

/// The file with its header and those of its sections.
fn with_headers(mut file: Vec<u8>, header: &Header, sections: &[SectionHeader]) -> Vec<u8> {
    file.resize(file.len().next_multiple_of(8), 0);
    let header = Header {
        section_header_offset: file.len() as u64,
        section_header_count: sections.len() as u16,
        section_names: 1,
        flags: header.flags & 0x00ff_ffff | (NOTE as u32) << 24,
        ..*header
    };
    header.write(&mut file[..Header::SIZE]);
    for section in sections {
        let start = file.len();
        file.resize(start + SectionHeader::SIZE, 0);
        section.write(&mut file[start..]);
    }
    file
}

/// Links a chain whose last function calls the function `end`.
fn link_chain(end: usize) -> Result<usize, String> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/call_across_units/inputs/sm_75/a.cubin");
    let sample = fs::read(sample).map_err(|error| error.to_string())?;
    let header = Header::parse(&sample, 0).ok_or("no header")?;
    let next = |object: usize| if object + 1 < OBJECTS { (object + 1) * FUNCTIONS } else { end };
    let objects: Vec<Vec<u8>> = (0..OBJECTS).map(|index| object(&header, index * FUNCTIONS, next(index))).collect();
    let names: Vec<String> = (0..OBJECTS).map(|index| format!("{index}.cubin")).collect();
    let inputs: Vec<Input<'_>> = names.iter().zip(&objects).map(|(name, bytes)| Input::new(name, bytes)).collect();
    let target = Target::by_name("sm_75").ok_or("no target")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).stack_size(STACK).build().map_err(|error| error.to_string())?;
    let mut report = Report::default();
    let linked = pool.install(|| cuweld::link(&inputs, &Options::new(target), &mut report, &mut Trace::default()));
    match linked {
        Ok(linked) => Ok(linked.image.len()),
        Err(_) => {
            Err(report.diagnostics().take(3).map(|diagnostic| diagnostic.message.to_string()).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Does so on a thread with a small stack.
fn link_chain_on_a_small_stack(end: usize) -> Result<usize, String> {
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || link_chain(end)).map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the linker panicked".to_owned())?
}

#[test]
fn a_chain_of_a_million_calls() {
    // The function that the last one would call is not there, and then it is one that was there before: a recursion.
    let outcome = link_chain_on_a_small_stack(OBJECTS * FUNCTIONS);
    assert!(outcome.as_ref().is_err_and(|text| text.contains("Undefined reference to 'f1000000'")), "{outcome:?}");
    let outcome = link_chain_on_a_small_stack(1);
    assert!(outcome.as_ref().is_ok_and(|&size| size > OBJECTS * FUNCTIONS * CODE), "{outcome:?}");
}
