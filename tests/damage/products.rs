//! Programs in which many of one thing meet many of another: none takes the product of the two in time or memory.

use crate::bombs::{assert_refused, link_with};
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
use std::process::{Command, Output};

/// How many there are of each thing: few enough for a small file, too many for their product.
const MANY: u32 = 4000;

/// An object that is put together section by section.
struct Object {
    sections: Vec<(SectionHeader, Vec<u8>)>,
    names: Vec<u8>,
    symbols: Vec<u8>,
    edges: Vec<Edge>,
    /// How many registers each function uses.
    registers: BTreeMap<u32, u32>,
}

const NAMES: u32 = 1;
const SYMBOLS: u32 = 2;
const NOTE: u32 = 3;

impl Object {
    fn new() -> Self {
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

    fn name(&mut self, name: &str) -> u32 {
        let place = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        place
    }

    /// Adds a section, and says which one it is.
    fn section(&mut self, name: &str, header: SectionHeader, contents: &[u8]) -> u32 {
        let (name, size) = (self.name(name), header.size.max(contents.len() as u64));
        self.sections.push((SectionHeader { name, size, ..header }, contents.to_vec()));
        self.sections.len() as u32 - 1
    }

    /// Adds a symbol, and says which one it is.
    fn symbol(&mut self, name: &str, kind: SymbolKind, other: u8, section: u32, value: u64, size: u64) -> u32 {
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
    fn function(&mut self, name: &str, is_kernel: bool, attributes: &[u8]) -> (u32, u32) {
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

    fn call(&mut self, caller: u32, callee: u32) {
        self.edges.push(Edge::Call { caller, callee });
    }

    /// Functions, each of which calls the next.
    fn chain(&mut self, attributes: impl Fn(u32) -> Vec<u8>) -> Vec<(u32, u32)> {
        let functions: Vec<_> =
            (0..MANY).map(|number| self.function(&format!("f{number}"), false, &attributes(number))).collect();
        for pair in functions.windows(2) {
            self.call(pair[0].0, pair[1].0);
        }
        functions
    }

    /// Kernels, each of which calls a function.
    fn kernels(&mut self, callee: Option<u32>) -> Vec<u32> {
        let kernels: Vec<u32> = (0..MANY).map(|number| self.function(&format!("k{number}"), true, &[]).0).collect();
        for (&kernel, callee) in kernels.iter().zip(std::iter::repeat(callee)) {
            self.edges.extend(callee.map(|callee| Edge::Call { caller: kernel, callee }));
        }
        kernels
    }

    /// The file.
    fn build(mut self) -> io::Result<Vec<u8>> {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/call_across_units/inputs/sm_90/a.cubin");
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

fn record(attribute: Attribute, words: &[u32]) -> Vec<u8> {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bytes = Vec::new();
    Record::sized(attribute, &payload).iter().for_each(|record| record.encode(&mut bytes));
    bytes
}

/// Links an object, which has to end in time and without much memory.
fn link(object: Object, options: &[&str]) -> io::Result<Output> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("bomb.cubin"), object.build()?)?;
    link_with("-arch=sm_90", &folder, &[&["bomb.cubin"], options].concat())
}

fn assert_linked(output: &Output) {
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

#[test]
fn prototypes_may_not_all_be_the_same_bytes() -> io::Result<()> {
    let mut object = Object::new();
    let (kernel, _) = object.function("k", true, &[]);
    let start = object.name(&"p".repeat(1 << 20));
    object.edges.extend((0..60_000).map(|offset| Edge::IndirectCall { caller: kernel, prototype: start + offset }));
    assert_refused(&link(object, &[])?, "overlap too much");
    Ok(())
}

#[test]
fn functions_from_outside_and_functions_that_use_them() -> io::Result<()> {
    // Each function of a chain launches a kernel of its own; and the last one of another chain launches all of them.
    for launches in [
        |kernels: &[u32], number: u32| vec![kernels[number as usize]],
        |kernels: &[u32], number: u32| {
            if number + 1 == MANY { kernels.to_vec() } else { Vec::new() }
        },
    ] {
        let mut object = Object::new();
        let kernels = object.kernels(None);
        let functions = object.chain(|number| record(Attribute::EXTERNS, &launches(&kernels, number)));
        object.call(kernels[0], functions[0].0);
        assert_linked(&link(object, &[])?);
    }
    Ok(())
}

/// Every kernel launches all that are launched behind the place where it enters a chain: the product stands in the result, which is
/// too large. That is found out before it is made.
#[test]
fn lists_that_the_result_has_no_room_for() -> io::Result<()> {
    let mut object = Object::new();
    let kernels: Vec<u32> = (0..2 * MANY).map(|number| object.function(&format!("k{number}"), true, &[]).0).collect();
    let functions: Vec<u32> = (kernels.iter().zip(0..))
        .map(|(&kernel, number)| object.function(&format!("f{number}"), false, &record(Attribute::EXTERNS, &[kernel])).0)
        .collect();
    functions.windows(2).for_each(|pair| object.call(pair[0], pair[1]));
    kernels.iter().zip(&functions).for_each(|(&kernel, &function)| object.call(kernel, function));
    assert_refused(&link(object, &[])?, "The result would have");
    Ok(())
}

impl Object {
    /// Gives each function a shared variable.
    fn share(&mut self, functions: impl Iterator<Item = (u32, u32)>) {
        let flags = SHF_ALLOC | SHF_WRITE;
        let header =
            SectionHeader { kind: SectionType::SHARED.0, flags, size: 4 * u64::from(MANY), align: 4, ..SectionHeader::default() };
        let shared = self.section(".nv.shared", header, &[]);
        for (function, code) in functions {
            let variable = self.symbol(&format!("v{function}"), SymbolKind::OBJECT, 0x40, shared, 4, 4);
            let mut entry = vec![0; 24];
            // The low half of an address, in the first instruction.
            entry[8..12].copy_from_slice(&56_u32.to_le_bytes());
            entry[12..16].copy_from_slice(&variable.to_le_bytes());
            let header =
                SectionHeader { kind: SHT_RELA, link: SYMBOLS, info: code, entry_size: 24, align: 8, ..SectionHeader::default() };
            self.section(&format!(".rela.text.f{function}"), header, &entry);
        }
    }
}

#[test]
fn shared_variables_and_kernels_that_use_them() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(|_| Vec::new());
    object.kernels(Some(functions[0].0));
    object.share(functions.into_iter());
    assert_linked(&link(object, &[])?);
    Ok(())
}

/// Every kernel sees another part of a chain: as many sets as kernels, all of them parts of the first.
#[test]
fn kernels_that_enter_a_chain_of_shared_variables_anywhere() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(|_| Vec::new());
    let kernels = object.kernels(None);
    kernels.iter().zip(&functions).for_each(|(&kernel, &(function, _))| object.call(kernel, function));
    object.share(functions.into_iter());
    assert_linked(&link(object, &[])?);
    Ok(())
}

/// Every kernel has a function of its own in front of what all have.
#[test]
fn kernels_that_reach_the_same_by_different_ways() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(|_| Vec::new());
    let own: Vec<(u32, u32)> = (0..MANY).map(|number| object.function(&format!("g{number}"), false, &[])).collect();
    let kernels = object.kernels(None);
    for (&kernel, &(own, _)) in kernels.iter().zip(&own) {
        object.call(kernel, own);
        object.call(own, functions[0].0);
    }
    object.share(functions.into_iter().chain(own));
    assert_linked(&link(object, &[])?);
    Ok(())
}

/// As many callers through pointers as functions that they may reach.
fn indirect_calls() -> Object {
    let mut object = Object::new();
    let prototype = object.name("#p");
    let functions: Vec<(u32, u32)> = (0..MANY).map(|number| object.function(&format!("f{number}"), false, &[])).collect();
    let kernels = object.kernels(None);
    for (&caller, &(function, _)) in kernels.iter().zip(&functions) {
        object.edges.extend([Edge::IndirectCall { caller, prototype }, Edge::AddressTaken { function, prototype }]);
    }
    object
}

#[test]
fn listings_of_calls_through_pointers() -> io::Result<()> {
    // Under its own name the program lists them by prototype; as the reference linker does, every pair is a line.
    let output = link(indirect_calls(), &["-dump-callgraph", "-dot=/dev/null"])?;
    assert_linked(&output);
    assert!(output.stderr.len() < 1 << 20, "{} bytes", output.stderr.len());
    let output = link(indirect_calls(), &["-dump-callgraph", "--diagnostics=nvlink"])?;
    assert_linked(&output);
    assert!(output.stderr.len() > MANY as usize * MANY as usize * 4, "{} bytes", output.stderr.len());
    Ok(())
}

#[test]
fn names_that_clash() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    for file in ["one.cubin", "other.cubin"] {
        let mut object = Object::new();
        let kind = SectionType::GLOBAL.0;
        let header = SectionHeader { kind, flags: SHF_ALLOC | SHF_WRITE, size: 4, align: 4, ..SectionHeader::default() };
        let variables = object.section(".nv.global", header, &[]);
        for number in 0..10 * MANY {
            object.symbol(&format!("variable_{number}"), SymbolKind::OBJECT, 0, variables, 0, 4);
        }
        fs::write(folder.path().join(file), object.build()?)?;
    }
    let output = link_with("-arch=sm_90", &folder, &["one.cubin", "other.cubin", "--error-limit=0"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("is defined more than once").count(), 10 * MANY as usize, "{:?}", output.status);
    Ok(())
}

#[test]
fn kernels_and_patterns_for_their_names() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut object = Object::new();
    object.kernels(None);
    fs::write(folder.path().join("bomb.cubin"), object.build()?)?;
    let used: String = (0..2 * MANY).map(|number| format!("-kernels-used=k{number}x\n")).collect();
    fs::write(folder.path().join("used.txt"), used)?;
    assert_linked(&link_with("-arch=sm_90", &folder, &["bomb.cubin", "-optf=used.txt"])?);
    Ok(())
}

#[test]
fn kernels_with_limits_and_long_ways_to_what_exceeds_them() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(|_| Vec::new());
    object.registers.extend(functions.last().map(|&(last, _)| (last, 200)));
    for number in 0..MANY / 4 {
        let (kernel, _) = object.function(&format!("k{number}"), true, &[3, Attribute::MAXREG_COUNT.0, 8, 0]);
        object.call(kernel, functions[0].0);
    }
    let output = link(object, &[])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{said}");
    assert!(said.contains("-> ... (") && said.len() < 1 << 20, "{} bytes", said.len());
    Ok(())
}

#[test]
fn alignments_do_not_make_a_large_file() -> io::Result<()> {
    let mut object = Object::new();
    object.function("k", true, &[]);
    let kind = SectionType::GLOBAL_INIT.0;
    for _ in 0..200 {
        let header = SectionHeader { kind, flags: SHF_ALLOC | SHF_WRITE, align: 1 << 20, ..SectionHeader::default() };
        object.section(".nv.global.init", header, &[1]);
    }
    assert_refused(&link(object, &[])?, "The result would have");
    Ok(())
}

/// Not a bomb, but a table that goes from file to file without being looked at; from a pipe it can not.
#[test]
fn large_tables_arrive_as_they_are() -> io::Result<()> {
    let mut object = Object::new();
    object.function("k", true, &[]);
    let contents: Vec<u8> = (0..3_u32 << 18).flat_map(|number| number.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    let kind = SectionType::GLOBAL_INIT.0;
    let header = SectionHeader { kind, flags: SHF_ALLOC | SHF_WRITE, align: 16, ..SectionHeader::default() };
    object.section(".nv.global.init", header, &contents);
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("large.cubin"), object.build()?)?;
    assert_linked(&link_with("-arch=sm_90", &folder, &["large.cubin"])?);
    let script = "cat large.cubin | \"$0\" -arch=sm_90 /dev/stdin -o piped.cubin";
    let piped = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_cuweld")]).current_dir(&folder).output()?;
    assert_linked(&piped);
    let linked = fs::read(folder.path().join("out.cubin"))?;
    assert!(linked.windows(contents.len()).any(|bytes| bytes == contents), "the table is not in the result");
    assert!(linked == fs::read(folder.path().join("piped.cubin"))?, "a pipe gives another result");
    Ok(())
}

/// Names that nest as deeply as they are read, on a small stack.
#[test]
fn names_that_nest() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut object = Object::new();
    let (kernel, _) = object.function("k", true, &[]);
    for depth in [50, 100, 180, 250, 4000] {
        let name = format!("_Z1f{}1c{}", "1aI".repeat(depth), "E".repeat(depth));
        let pointers = format!("_Z1f{}i", "P".repeat(depth));
        for name in [name, pointers] {
            let missing = object.symbol(&name, SymbolKind::FUNCTION, 0, 0, 0, 0);
            object.call(kernel, missing);
        }
    }
    fs::write(folder.path().join("deep.cubin"), object.build()?)?;
    let script = "ulimit -s 128; exec \"$0\" -arch=sm_90 deep.cubin -o out.cubin";
    let output = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_cuweld")]).current_dir(&folder).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{:?}: {said}", output.status);
    assert_eq!(said.matches("undefined reference").count(), 10, "{said}");
    Ok(())
}
