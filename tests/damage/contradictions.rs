//! Objects whose parts can all be read, but contradict each other: each is refused, and the message says what is wrong.

use crate::bombs::{assert_refused, link_with};
use cubin::elf::{Header, SHF_CUDA_MERCURY, SHF_EXECINSTR, SectionHeader, SymbolRecord};
use cubin::info::Attribute;
use cubin::read::File;
use cubin::symbol::{Binding, SymbolKind, info, other};
use std::fs;
use std::io;
use std::path::Path;

/// An object that is damaged in one place.
struct Damaged(Vec<u8>);

impl Damaged {
    fn header(&mut self, change: impl FnOnce(&mut Header)) {
        let mut header = Header::parse(&self.0, 0).expect("a header");
        change(&mut header);
        header.write(&mut self.0[..Header::SIZE]);
    }

    /// A section's number and header.
    fn header_of(&self, name: &str) -> (u32, SectionHeader) {
        let file = File::parse(&self.0).expect("a file");
        let section = file.sections().iter().find(|section| section.name == name).expect("a section");
        (section.index, section.header)
    }

    /// Changes the header of a section.
    fn section(&mut self, name: &str, change: impl FnOnce(&mut SectionHeader)) {
        let table = Header::parse(&self.0, 0).expect("a header").section_header_offset;
        let index = self.header_of(name).0;
        let start = table as usize + index as usize * SectionHeader::SIZE;
        let mut header = SectionHeader::parse(&self.0, start as u64).expect("a section header");
        change(&mut header);
        header.write(&mut self.0[start..][..SectionHeader::SIZE]);
    }

    /// Where a section's contents start.
    fn start(&self, name: &str) -> usize {
        self.header_of(name).1.offset as usize
    }

    /// Changes a symbol.
    fn symbol(&mut self, name: &str, change: impl FnOnce(&mut SymbolRecord)) {
        let file = File::parse(&self.0).expect("a file");
        let index = file.symbols().expect("symbols").iter().position(|symbol| symbol.name == name).expect("a symbol");
        let start = self.start(".symtab") + index * SymbolRecord::SIZE;
        let mut record = SymbolRecord::parse(&self.0, start as u64).expect("a symbol");
        change(&mut record);
        record.write(&mut self.0[start..][..SymbolRecord::SIZE]);
    }
}

/// What is damaged in which object, and what the message has to say of it.
type Case = (&'static str, fn(&mut Damaged), &'static str);

const UNKNOWN_TYPE: u32 = 0x6000_0000;

const CASES: &[Case] = &[
    ("a.cubin", |object| object.header(|header| header.machine = 62), "ELF machine 62"),
    ("a.cubin", |object| object.header(|header| header.flags ^= 1 << 24), "which section tells of its toolkit"),
    ("a.cubin", |object| object.section(".note.nv.cuinfo", |note| note.kind = 1), "which section tells of its toolkit"),
    ("a.cubin", |object| object.header(|header| header.flags |= 2), "Mercury code"),
    ("a.cubin", |object| object.header(|header| header.program_header_offset = 1 << 40), "the program header table ends"),
    ("a.cubin", |object| object.section("", |null| null.offset = 1 << 40), "a section ends"),
    ("a.cubin", |object| object.section("", |null| null.size = 1 << 20), "size of the first section"),
    ("a.cubin", |object| object.section("", |null| null.kind = 1), "type of the first section"),
    ("a.cubin", |object| object.section(".shstrtab", |names| names.kind = UNKNOWN_TYPE), "the table of section names"),
    ("b.cubin", |object| object.section(".nv.info.f", |info| info.kind = UNKNOWN_TYPE), "not what its name says"),
    ("b.cubin", |object| object.section(".nv.info", |info| info.kind = UNKNOWN_TYPE), "not what its name says"),
    ("b.cubin", |object| object.section(".nv.info.f", |info| info.info = 0), "belongs to section ''"),
    (
        "a.cubin",
        |object| {
            let name = object.start(".shstrtab") + object.header_of(".text.k").1.name as usize + ".text.".len();
            object.0[name] = b'j';
        },
        "belongs to section '.text.j'",
    ),
    ("b.cubin", |object| object.section(".nv.info", |info| info.info = 1), "belongs to section 1 of"),
    ("b.cubin", |object| object.section(".nv.info", |info| info.info = 0x800), "belongs to section 2048 of"),
    ("b.cubin", |object| object.section(".debug_frame", |frame| frame.info = 0x800), "belongs to section 2048 of"),
    ("b.cubin", |object| object.section(".text.f", |code| code.info -= 1), "as its function"),
    (
        "b.cubin",
        |object| {
            let notes = object.header_of(".note.nv.tkinfo").0;
            object.section(".rela.debug_frame", |relocations| relocations.info = notes);
        },
        "belongs to section '.note.nv.tkinfo'",
    ),
    ("b.cubin", |object| object.section(".debug_frame", |frame| frame.kind = UNKNOWN_TYPE), "belongs to section '.debug_frame'"),
    ("b.cubin", |object| object.section(".debug_frame", |frame| frame.flags = SHF_EXECINSTR), "the code of no function"),
    ("a.cubin", |object| no_registers(object), "how many registers function 'k' uses"),
    ("b.cubin", |object| no_registers(object), "how many registers function 'f' uses"),
    ("a.cubin", |object| object.symbol("f", |symbol| symbol.other = other::INTERNAL), "function 'f' was deleted"),
    ("a.cubin", |object| object.symbol("k", |symbol| symbol.other = 0), "the parameters of a kernel, which 'k' is not"),
    (
        "a.cubin",
        |object| object.symbol(".debug_frame", |symbol| symbol.info = info(Binding::LOCAL, SymbolKind::SURFACE)),
        "which no section holds",
    ),
    (
        "a.cubin",
        |object| object.symbol("__UDT", |symbol| symbol.info = info(Binding::LOCAL, SymbolKind::OBJECT)),
        "is local, and not defined",
    ),
    ("a.cubin", |object| first_record(object, 0, 5), "attribute REGCOUNT is of a wrong form"),
    ("a.cubin", |object| first_record(object, 2, 0), "attribute REGCOUNT is of a wrong form"),
    ("a.cubin", |object| name_no_symbol(object), "relocation R_CUDA_ABS55_16_34 in '.text.k' names no symbol"),
    ("a.cubin", |object| set_relocation_type(object, 0xff02), "of an unknown type"),
    ("a.cubin", |object| set_relocation_type(object, 0x1_0002), "belongs to the other view"),
    // What the table ends with, and what older GPUs had.
    ("a.cubin", |object| set_relocation_type(object, 116), "of an unknown type"),
    ("a.cubin", |object| set_relocation_type(object, 41), "of an unknown type"),
    ("a.cubin", |object| set_call(object, "k", 6), "which is no texture, sampler or surface"),
    ("a.cubin", |object| set_call(object, "k", 74), "which is no variable"),
    ("a.cubin", |object| object.header(|header| header.kind = 5), "a file of type 0x5, which is no object"),
    ("a.cubin", |object| object.section(".symtab", |table| table.kind = 3), "not what its name says"),
    ("a.cubin", |object| object.section(".symtab", |table| (table.kind, table.name) = (3, 0)), "it has no symbol table"),
    ("b.cubin", |object| object.section(".text.f", |code| code.kind = UNKNOWN_TYPE), "not what its name says"),
    ("b.cubin", |object| object.section(".text.f", |code| code.flags |= SHF_CUDA_MERCURY), "not what its name says"),
    ("b.cubin", |object| object.section(".nv.callgraph", |graph| graph.kind = UNKNOWN_TYPE), "not what its name says"),
    ("a.cubin", |object| object.section(".rela.text.k", |entries| entries.entry_size = 8), "entries have 0x8 bytes"),
    (
        "a.cubin",
        |object| {
            let code = object.header_of(".text.k").0;
            object.section(".rela.debug_frame", |relocations| relocations.info = code);
        },
        "belongs to section '.text.k'",
    ),
];

/// Makes the first record of the module, which says how many registers its function uses, another one.
fn no_registers(object: &mut Damaged) {
    first_record(object, 1, Attribute::FRAME_SIZE.0);
}

/// Changes a byte of that record.
fn first_record(object: &mut Damaged, at: usize, value: u8) {
    let start = object.start(".nv.info");
    assert_eq!(object.0[start + 1], Attribute::REGCOUNT.0);
    object.0[start + at] = value;
}

/// Makes the first relocation of a kernel's code, which is that of a call, one of nothing.
fn name_no_symbol(object: &mut Damaged) {
    let start = object.start(".rela.text.k");
    object.0[start + 12..][..4].fill(0);
}

/// Gives the last relocation of the frames a type.
fn set_relocation_type(object: &mut Damaged, kind: u32) {
    let start = object.start(".rela.debug_frame");
    object.0[start + 2 * 24 + 8..][..4].copy_from_slice(&kind.to_le_bytes());
}

/// Gives the first relocation of a kernel's code, which is that of a call, another type.
fn set_call(object: &mut Damaged, kernel: &str, kind: u32) {
    let start = object.start(&format!(".rela.text.{kernel}"));
    object.0[start + 8..][..4].copy_from_slice(&kind.to_le_bytes());
}

/// The same of objects with variables.
const VARIABLES: &[Case] = &[
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.other |= other::INTERNAL), "names 'here', which was deleted"),
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.other = 0xa0), "'here' is in a section of another memory"),
    ("a.cubin", |object| object.section(".nv.global.init", |data| data.info = 1), "belongs to section 1 of"),
    ("a.cubin", |object| object.section(".nv.global.init", |data| data.kind = 7), "not what its name says"),
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.other = 0), "'here' is in a section of another memory"),
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.section = 3), "'here' is in a section of another memory"),
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.value = 0x1000), "reaches past the end of its section"),
    ("a.cubin", |object| object.symbol("here", |symbol| symbol.size = 0x1000), "reaches past the end of its section"),
];

/// The same of objects with weak functions: one of them is defined twice.
const WEAK: &[Case] = &[(
    "b.cubin",
    |object| {
        let mut function = None;
        object.symbol("w", |symbol| function = Some(*symbol));
        object.symbol("__UFT_END", |symbol| *symbol = function.expect("a function"));
    },
    "'w' is defined more than once",
)];

/// The same of objects with two views of a program.
const VIEWS: &[Case] = &[
    ("a.cubin", |object| object.header(|header| header.flags |= 4), "that it holds Mercury code, and that it does not"),
    (
        "a.cubin",
        |object| {
            let mercury = object.header_of(".nv.capmerc.text.k").0;
            object.section(".rela.text.k", |relocations| relocations.info = mercury);
        },
        "belongs to section '.text.k'",
    ),
    ("a.cubin", |object| object.section(".text.k", |code| code.info -= 1), "as its function"),
    ("a.cubin", |object| object.section(".nv.merc.nv.info", |info| info.flags = 0), "not what its name says"),
    (
        "a.cubin",
        |object| object.symbol("k", |symbol| symbol.info = info(Binding::WEAK, SymbolKind::FUNCTION)),
        "symbol 'k' is another in the machine's symbol table",
    ),
    (
        "a.cubin",
        |object| {
            let entries = object.start(".nv.merc.rela.debug_frame");
            object.0[entries + 8..][..4].copy_from_slice(&2_u32.to_le_bytes());
        },
        "belongs to the other view",
    ),
    (
        "a.cubin",
        |object| {
            let frames = object.start(".nv.merc.debug_frame");
            object.0[frames + 20] = 2;
        },
        "frames of version 2",
    ),
    (
        "a.cubin",
        |object| {
            let frames = object.start(".nv.merc.debug_frame");
            object.0[frames + 5] += 1;
        },
        "which are not there",
    ),
];

/// The same of position-independent objects: code that is called says that it loads the address of other code, which nobody calls.
const ADDRESSES: &[Case] =
    &[("a.cubin", |object| object.symbol("$ADDRESS$live", |symbol| symbol.value = 0x10), "'dead' was removed, but '.text.k'")];

#[test]
fn objects_that_contradict_themselves() -> io::Result<()> {
    let programs = [
        ("call_across_units/inputs/sm_90", CASES),
        ("pointer_tables/inputs/sm_90", VARIABLES),
        ("position_independent_dead/inputs/sm_90", ADDRESSES),
        ("weak_fewer_registers/inputs/sm_90", WEAK),
        ("call_across_units/inputs/sm_120", VIEWS),
    ];
    for (program, cases) in programs {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(program);
        let target = format!("-arch={}", program.rsplit('/').next().unwrap_or_default());
        for (file, damage, expected) in cases {
            let folder = tempfile::tempdir()?;
            for name in ["a.cubin", "b.cubin"] {
                let mut object = Damaged(fs::read(inputs.join(name))?);
                if name == *file {
                    damage(&mut object);
                }
                fs::write(folder.path().join(name), object.0)?;
            }
            assert_refused(&link_with(&target, &folder, &["a.cubin", "b.cubin"])?, expected);
        }
    }
    Ok(())
}

/// A kernel that is declared is launched from somewhere.
#[test]
fn a_kernel_that_nobody_defines() -> io::Result<()> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/call_across_units/inputs/sm_90");
    let folder = tempfile::tempdir()?;
    let mut object = Damaged(fs::read(inputs.join("a.cubin"))?);
    object.symbol("k", |symbol| symbol.section = 0);
    for section in [".text.k", ".rela.text.k", ".nv.info.k", ".nv.constant0.k"] {
        object.section(section, |section| (section.kind, section.flags, section.name) = (0, 0, 0));
    }
    fs::write(folder.path().join("a.cubin"), object.0)?;
    fs::copy(inputs.join("b.cubin"), folder.path().join("b.cubin"))?;
    let output = link_with("-arch=sm_90", &folder, &["a.cubin", "b.cubin"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(255) && said.contains("undefined reference to 'k'"), "{:?}: {said}", output.status);
    Ok(())
}
