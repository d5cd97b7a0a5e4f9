//! Whole files: read and written again, dumped, and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use cubin::elf::{SectionHeader, SymbolRecord};
use cubin::note::{CudaInfo, ToolNote};
use cubin::read::{Abi, File};
use cubin::section::{Contents, SectionType};
use cubin::symbol::SymbolSection;
use cubin::write::Image;
use cubin::{Problem, callgraph, info, note, relocation};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Every cubin of a folder: name and bytes.
fn cubins_in(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable").path());
    let mut all: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "cubin"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).expect("readable"))
        })
        .collect();
    all.sort();
    all
}

/// Every cubin of the test data.
fn cubins() -> Vec<(String, Vec<u8>)> {
    let all = cubins_in(&data());
    assert!(all.len() >= 7, "found {} cubins", all.len());
    all
}

/// Every cubin of the test data, and of the folder that the environment variable `CUBINS` names.
fn many_cubins() -> Vec<(String, Vec<u8>)> {
    let more = std::env::var_os("CUBINS").map(|folder| cubins_in(Path::new(&folder)));
    cubins().into_iter().chain(more.unwrap_or_default()).collect()
}

fn cubin(name: &str) -> Vec<u8> {
    fs::read(data().join(name).with_extension("cubin")).expect("the test data is there")
}

#[test]
fn a_file_that_is_read_can_be_written_again() {
    for (name, bytes) in many_cubins() {
        let file = File::parse(&bytes).expect(&name);
        let image = Image {
            header: *file.header(),
            sections: file.sections().iter().map(|section| section.header).collect(),
            segments: file.segments().to_vec(),
        };
        assert_eq!(image.size(), bytes.len() as u64, "{name}");
        // What stands between sections belongs to nobody, and is not always zero: compilers leave old bytes there.
        let mut out = bytes.clone();
        wipe(&image, &file, &mut out);
        for section in file.sections() {
            let contents = rewrite(&file, section.index);
            let start = section.header.offset as usize;
            out[start..start + contents.len()].copy_from_slice(&contents);
        }
        image.write_headers(&mut out).expect(&name);
        let first = out.iter().zip(&bytes).position(|(ours, theirs)| ours != theirs);
        assert_eq!(first, None, "{name} differs");
    }
}

/// Clears everything that headers and sections should bring back.
fn wipe(image: &Image, file: &File<'_>, out: &mut [u8]) {
    let header = file.header();
    let mut clear = |start: u64, size: usize| out[start as usize..][..size].fill(0);
    clear(0, 64);
    clear(header.section_header_offset, 64 * image.sections.len());
    clear(header.program_header_offset, 56 * image.segments.len());
    file.sections().iter().for_each(|section| clear(section.header.offset, section.data.len()));
}

/// The contents of a section, decoded and encoded again by whatever the crate knows about its type.
fn rewrite(file: &File<'_>, index: u32) -> Vec<u8> {
    let section = file.section(index).expect("there");
    let mut out = Vec::new();
    match (section.kind().contents(), section.kind()) {
        (Contents::Symbols, kind) => {
            let mercury = kind == SectionType::MERCURY_SYMTAB;
            let symbols = if mercury { file.mercury_symbols() } else { file.symbols() }.expect(section.name);
            for symbol in symbols {
                let mut record = [0; SymbolRecord::SIZE];
                symbol.record().0.write(&mut record);
                out.extend_from_slice(&record);
            }
        }
        (Contents::Rel, _) => {
            for entry in relocation::entries(section).expect(section.name) {
                let mut record = [0; 16];
                entry.rel().write(&mut record);
                out.extend_from_slice(&record);
            }
        }
        (Contents::Rela, _) => {
            for entry in relocation::entries(section).expect(section.name) {
                let mut record = [0; 24];
                entry.rela().write(&mut record);
                out.extend_from_slice(&record);
            }
        }
        (Contents::Info, _) => {
            info::records(section.data).for_each(|record| record.expect(section.name).encode(&mut out));
        }
        (_, SectionType::CALLGRAPH) => {
            let edges: Vec<_> = callgraph::edges(section.data).collect::<Result<_, _>>().expect(section.name);
            callgraph::encode_edges(&edges, &mut out);
        }
        (_, SectionType::PROTOTYPE) => {
            let all: Vec<_> = callgraph::prototypes(section.data).collect::<Result<_, _>>().expect(section.name);
            callgraph::encode_prototypes(&all, &mut out);
        }
        (_, SectionType::NOTE) => {
            for note in note::notes(section.data).map(|note| note.expect(section.name)) {
                out.extend(match note.kind {
                    note::TOOL => ToolNote::decode(note.description).expect(section.name).encode(),
                    _ => CudaInfo::decode(note.description).expect(section.name).encode(),
                });
            }
        }
        _ => out.extend_from_slice(section.data),
    }
    out
}

#[test]
fn everything_in_the_files_has_a_name() {
    for (name, bytes) in many_cubins() {
        let file = File::parse(&bytes).expect(&name);
        for section in file.sections() {
            assert!(section.kind().name().is_some(), "{name}: {section:?}");
            match section.kind().contents() {
                Contents::Rel | Contents::Rela => {
                    for entry in relocation::entries(section).expect(section.name) {
                        assert!(entry.kind.name().is_some(), "{name}: {entry:?}");
                    }
                }
                Contents::Info if section.kind() != SectionType::COMPAT => {
                    for record in info::records(section.data) {
                        let record = record.expect(section.name);
                        assert!(record.attribute.name().is_some(), "{name}: {record:?}");
                    }
                }
                _ => {}
            }
        }
        for symbol in file.symbols().expect(&name) {
            assert!(symbol.kind.name().is_some() && symbol.binding.name().is_some(), "{name}: {symbol:?}");
        }
    }
}

#[test]
fn files_say_what_they_are_for() {
    for (name, bytes) in cubins() {
        let file = File::parse(&bytes).expect(&name);
        let number = name.rsplit('_').next().and_then(|number| number.parse().ok()).expect("a number in its name");
        assert_eq!(file.abi(), Abi::Cuda13);
        assert_eq!((file.sm(), file.virtual_sm(), file.toolkit()), (number, Some(number), Some(130)), "{name}");
        assert!(!file.is_accelerated());
        let kernels = file.symbols().expect(&name).iter().filter(|symbol| symbol.is_entry()).count();
        assert_eq!(kernels, usize::from(!name.starts_with("lineinfo")), "{name}");
        assert_eq!(file.mercury_symbol_table().is_some(), number >= 100, "{name}");
    }
}

#[test]
fn files_of_cuda_12_say_so_elsewhere() {
    let mut bytes = cubin("kernel_75");
    bytes[7..9].copy_from_slice(&[0x33, 7]);
    bytes[20..24].copy_from_slice(&129_u32.to_le_bytes());
    bytes[48..52].copy_from_slice(&0x004b_0d5a_u32.to_le_bytes());
    let file = File::parse(&bytes).expect("good");
    assert_eq!(file.abi(), Abi::Cuda12);
    assert_eq!((file.sm(), file.virtual_sm(), file.toolkit()), (90, Some(75), Some(129)));
    assert!(file.is_accelerated());
}

/// A file of so many sections that their number and the sections of symbols do not fit into 16 bits.
fn file_of_many_sections(count: u32, sections: &[u16], extended: &[u32]) -> Vec<u8> {
    let records = sections.iter().flat_map(|&section| {
        let mut record = [0; SymbolRecord::SIZE];
        SymbolRecord { section, ..SymbolRecord::default() }.write(&mut record);
        record
    });
    let parts: [(u32, u32, Vec<u8>); 3] =
        [(3, 0, vec![0]), (2, 24, records.collect()), (18, 4, extended.iter().flat_map(|index| index.to_le_bytes()).collect())];
    let mut bytes = vec![0; 64];
    let mut headers = vec![SectionHeader::default(); count as usize];
    for (index, (kind, entry_size, contents)) in parts.into_iter().enumerate() {
        headers[index + 1] = SectionHeader {
            kind,
            offset: bytes.len() as u64,
            size: contents.len() as u64,
            // The symbols' strings are in section 1, the symbols of the long indices in section 2.
            link: index as u32,
            entry_size: entry_size.into(),
            ..SectionHeader::default()
        };
        bytes.extend(contents);
    }
    let mut header = *File::parse(&cubin("kernel_90")).expect("good").header();
    header.section_header_offset = bytes.len() as u64;
    let image = Image { header, sections: headers, segments: Vec::new() };
    bytes.resize(image.size() as usize, 0);
    image.write_headers(&mut bytes).expect("there is room");
    bytes
}

#[test]
fn there_may_be_more_sections_than_the_header_can_count() {
    let bytes = file_of_many_sections(0x1_0005, &[0, 0xffff, 0xffff, 7], &[0, 0xfff2, 0x1_0004, 99]);
    let file = File::parse(&bytes).expect("good");
    assert_eq!((file.header().section_header_count, file.sections().len()), (0, 0x1_0005));
    let sections: Vec<_> = file.symbols().expect("good").iter().map(|symbol| symbol.section).collect();
    // Of a symbol whose section fits into its record, the long index does not count.
    let index = SymbolSection::Index;
    assert_eq!(sections, [SymbolSection::Undefined, index(0xfff2), index(0x1_0004), index(7)]);

    let problem = |sections: &[u16], extended: &[u32]| {
        let bytes = file_of_many_sections(0x1_0005, sections, extended);
        let error = File::parse(&bytes).expect("headers are good").symbols().expect_err("bad symbol");
        error.problem().clone()
    };
    assert_eq!(problem(&[0, 0xffff], &[0]), Problem::NoExtendedIndex(1));
    let beyond = Problem::SymbolSection { symbol: 1, index: 0x1_0005, count: 0x1_0005 };
    assert_eq!(problem(&[0, 0xffff], &[0, 0x1_0005]), beyond);
}

/// Takes a file apart in every way there is. It may be refused, it must not panic.
fn exercise(bytes: &[u8]) {
    let Ok(file) = File::parse(bytes) else { return };
    let _ = cubin::dump::dump(&file);
    for section in file.sections() {
        if let Ok(entries) = relocation::entries(section) {
            let mut code = vec![0; 64];
            for entry in entries {
                if let Some(row) = entry.kind.row() {
                    let mode = relocation::Mode::Add;
                    let _ = relocation::apply(row.field, &mut code, entry.offset, u64::MAX, 0xff, mode);
                }
            }
        }
    }
}

#[test]
fn a_file_may_end_anywhere() {
    for name in ["kernel_75", "linked_90", "linked_120"] {
        let bytes = cubin(name);
        for length in 0..bytes.len() {
            exercise(&bytes[..length]);
            // The section headers are near the end, so that every shorter file lacks something.
            assert!(File::parse(&bytes[..length]).is_err(), "{name} cut to {length}");
        }
    }
}

#[test]
fn any_header_byte_may_be_wrong() {
    for name in ["kernel_80", "linked_90"] {
        let bytes = cubin(name);
        let file = File::parse(&bytes).expect(name);
        let table = file.header().section_header_offset as usize;
        let mut damaged = bytes.clone();
        for place in (0..64).chain(table..bytes.len()) {
            for change in [0xff, 0x01, 0x80] {
                damaged[place] ^= change;
                exercise(&damaged);
                damaged[place] ^= change;
            }
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    for name in ["kernel_75", "kernel_120"] {
        let bytes = cubin(name);
        let mut damaged = bytes.clone();
        for place in 0..bytes.len() {
            damaged[place] ^= 0xff;
            exercise(&damaged);
            damaged[place] ^= 0xff;
        }
    }
}

#[test]
fn errors_name_the_section_and_the_place() {
    let bytes = cubin("kernel_90");
    let file = File::parse(&bytes).expect("good");
    let symbols = file.sections().iter().find(|section| section.name == ".symtab").expect("there").header;
    let at = symbols.offset as usize + 24 * 2 + 6;
    let count = file.sections().len();
    let mut damaged = bytes.clone();
    damaged[at..at + 2].copy_from_slice(&[0xfe, 0xfe]);
    let error = File::parse(&damaged).expect("headers are good").symbols().expect_err("bad symbol");
    assert_eq!(
        error.to_string(),
        format!("section '.symtab' (3) at offset {:#x}: symbol 2 names section 65278 of {count}", at - 6)
    );
    assert_eq!(error.section(), Some((3, ".symtab")));

    let text = |bytes: &[u8]| File::parse(bytes).expect_err("damaged").to_string();
    assert_eq!(text(b"\x7fEL"), "not an ELF file");
    assert_eq!(text(&bytes[..40]), "the file header ends at 0x40, past the end of the file at 0x28");
    let with = |place: usize, byte: u8| {
        let mut damaged = bytes.clone();
        damaged[place] = byte;
        text(&damaged)
    };
    assert_eq!(with(4, 1), "at offset 0x4: a 32-bit ELF file, only 64-bit cubins are supported");
    assert_eq!(with(5, 2), "at offset 0x5: ELF data encoding 2, cubins are little endian (1)");
    assert_eq!(with(7, 0x33), "at offset 0x7: unknown ABI 0x33 version 8");
    assert_eq!(with(18, 62), "at offset 0x12: ELF machine 62, a cubin has machine 190");
}

#[test]
fn dumps_stay_as_they_are() {
    // Set BLESS=1 to accept a change of the dump's form.
    for name in ["kernel_75", "linked_90", "linked_120"] {
        let bytes = cubin(name);
        let text = cubin::dump::dump(&File::parse(&bytes).expect(name));
        let path = data().join(name).with_extension("dump");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).expect("writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == expected, "the dump of {name} has changed");
    }
}
