//! Whole files: read and written again, dumped, and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use cubin::elf::SymbolRecord;
use cubin::note::{CudaInfo, ToolNote};
use cubin::read::{Abi, File};
use cubin::section::{Contents, SectionType};
use cubin::write::Image;
use cubin::{callgraph, info, note, relocation};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Every cubin of the test data: name and bytes.
fn cubins() -> Vec<(String, Vec<u8>)> {
    let paths = fs::read_dir(data())
        .expect("the test data is there")
        .map(|entry| entry.expect("readable").path());
    let mut all: Vec<_> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "cubin")
        })
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (name, fs::read(&path).expect("readable"))
        })
        .collect();
    all.sort();
    assert!(all.len() >= 7, "found {} cubins", all.len());
    all
}

fn cubin(name: &str) -> Vec<u8> {
    fs::read(data().join(name).with_extension("cubin")).expect("the test data is there")
}

#[test]
fn a_file_that_is_read_can_be_written_again() {
    for (name, bytes) in cubins() {
        let file = File::parse(&bytes).expect(&name);
        let image = Image {
            header: *file.header(),
            sections: file
                .sections()
                .iter()
                .map(|section| section.header)
                .collect(),
            segments: file.segments().to_vec(),
        };
        assert_eq!(image.size(), bytes.len() as u64, "{name}");
        let mut out = vec![0; bytes.len()];
        for section in file.sections() {
            let contents = rewrite(&file, section.index);
            let start = section.header.offset as usize;
            out[start..start + contents.len()].copy_from_slice(&contents);
        }
        image.write_headers(&mut out).expect(&name);
        // Between sections there is nothing but zeros.
        assert!(out == bytes, "{name} differs");
    }
}

/// The contents of a section, decoded and encoded again by whatever the crate knows about its type.
fn rewrite(file: &File<'_>, index: u32) -> Vec<u8> {
    let section = file.section(index).expect("there");
    let mut out = Vec::new();
    match (section.kind().contents(), section.kind()) {
        (Contents::Symbols, kind) => {
            let mercury = kind == SectionType::MERCURY_SYMTAB;
            let symbols = if mercury {
                file.mercury_symbols()
            } else {
                file.symbols()
            }
            .expect(section.name);
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
            info::records(section.data)
                .for_each(|record| record.expect(section.name).encode(&mut out));
        }
        (_, SectionType::CALLGRAPH) => {
            let edges: Vec<_> = callgraph::edges(section.data)
                .collect::<Result<_, _>>()
                .expect(section.name);
            callgraph::encode_edges(&edges, &mut out);
        }
        (_, SectionType::PROTOTYPE) => {
            let all: Vec<_> = callgraph::prototypes(section.data)
                .collect::<Result<_, _>>()
                .expect(section.name);
            callgraph::encode_prototypes(&all, &mut out);
        }
        (_, SectionType::NOTE) => {
            for note in note::notes(section.data).map(|note| note.expect(section.name)) {
                out.extend(match note.kind {
                    note::TOOL => ToolNote::decode(note.description)
                        .expect(section.name)
                        .encode(),
                    _ => CudaInfo::decode(note.description)
                        .expect(section.name)
                        .encode(),
                });
            }
        }
        _ => out.extend_from_slice(section.data),
    }
    out
}

#[test]
fn everything_in_the_files_has_a_name() {
    for (name, bytes) in cubins() {
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
            assert!(
                symbol.kind.name().is_some() && symbol.binding.name().is_some(),
                "{name}: {symbol:?}"
            );
        }
    }
}

#[test]
fn files_say_what_they_are_for() {
    for (name, bytes) in cubins() {
        let file = File::parse(&bytes).expect(&name);
        let number = name
            .rsplit('_')
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number in its name");
        assert_eq!(file.abi(), Abi::Cuda13);
        assert_eq!(
            (file.sm(), file.virtual_sm(), file.toolkit()),
            (number, Some(number), Some(130)),
            "{name}"
        );
        assert!(!file.is_accelerated());
        let kernels = file
            .symbols()
            .expect(&name)
            .iter()
            .filter(|symbol| symbol.is_entry())
            .count();
        assert_eq!(
            kernels,
            usize::from(!name.starts_with("lineinfo")),
            "{name}"
        );
        assert_eq!(
            file.mercury_symbol_table().is_some(),
            number >= 100,
            "{name}"
        );
    }
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
                    let _ =
                        relocation::apply(row.field, &mut code, entry.offset, u64::MAX, 0xff, mode);
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
            assert!(
                File::parse(&bytes[..length]).is_err(),
                "{name} cut to {length}"
            );
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
    let symbols = file
        .sections()
        .iter()
        .find(|section| section.name == ".symtab")
        .expect("there")
        .header;
    let at = symbols.offset as usize + 24 * 2 + 6;
    let count = file.sections().len();
    let mut damaged = bytes.clone();
    damaged[at..at + 2].copy_from_slice(&[0xfe, 0xfe]);
    let error = File::parse(&damaged)
        .expect("headers are good")
        .symbols()
        .expect_err("bad symbol");
    assert_eq!(
        error.to_string(),
        format!(
            "section '.symtab' (3) at offset {:#x}: symbol 2 names section 65278 of {count}",
            at - 6
        )
    );
    assert_eq!(error.section(), Some((3, ".symtab")));

    let text = |bytes: &[u8]| File::parse(bytes).expect_err("damaged").to_string();
    assert_eq!(text(b"\x7fEL"), "not an ELF file");
    assert_eq!(
        text(&bytes[..40]),
        "the file header ends at 0x40, past the end of the file at 0x28"
    );
    let with = |place: usize, byte: u8| {
        let mut damaged = bytes.clone();
        damaged[place] = byte;
        text(&damaged)
    };
    assert_eq!(
        with(4, 1),
        "at offset 0x4: a 32-bit ELF file, only 64-bit cubins are supported"
    );
    assert_eq!(
        with(5, 2),
        "at offset 0x5: ELF data encoding 2, cubins are little endian (1)"
    );
    assert_eq!(with(7, 0x33), "at offset 0x7: unknown ABI 0x33 version 8");
    assert_eq!(
        with(18, 62),
        "at offset 0x12: ELF machine 62, a cubin has machine 190"
    );
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
