//! An executable is whole: its kernels have code, and what its code calls is there. Objects that contradict themselves, and links that
//! leave out kernels, must not lead to one that is not.

use super::{Sample, samples_of};
use cubin::elf::SHF_EXECINSTR;
use cubin::read::{File, Section};
use cubin::release::{Release, Tool};
use cubin::relocation::Expression;
use cubin::section::Contents;
use cubin::symbol::{Symbol, SymbolKind, SymbolSection};
use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::Report;
use cuweld::imitations::Imitations;
use cuweld::options::{KernelRoots, Options};
use cuweld::trace::Trace;
use std::collections::BTreeSet;

/// More samples of functions that are live because their address is taken, and of files with two views.
const SAMPLES: &[(&str, &str, &str)] = &[
    ("address_taken_lone", "sm_75", "b"),
    ("call_across_units", "sm_120", "a"),
    ("indirect_calls", "sm_100", "a"),
    ("kept_kernels", "sm_120", "a"),
    ("pointer_tables", "sm_120", "a"),
];

fn samples() -> impl Iterator<Item = Sample> {
    super::samples().chain(samples_of(SAMPLES))
}

/// Where a section refers to functions.
fn references(file: &File<'_>, symbols: &[Symbol<'_>], target: &Section<'_>) -> BTreeSet<u64> {
    let is_list = |section: &&Section<'_>| {
        section.header.info == target.index && matches!(section.kind().contents(), Contents::Rel | Contents::Rela)
    };
    let lists = file.sections().iter().filter(is_list).flat_map(|list| cubin::relocation::entries(list).into_iter().flatten());
    let is_code = |symbol: &Symbol<'_>| match (symbol.kind, symbol.section) {
        (SymbolKind::SECTION, SymbolSection::Index(index)) => {
            file.section(index).is_some_and(|section| section.header.flags & SHF_EXECINSTR != 0)
        }
        (kind, _) => kind == SymbolKind::FUNCTION,
    };
    let lists = lists.filter(|entry| {
        !matches!(entry.kind.expression(), Expression::Hint | Expression::ClearUnused | Expression::UnifiedOffset)
    });
    lists.filter(|entry| symbols.get(entry.symbol as usize).is_some_and(is_code)).map(|entry| entry.offset).collect()
}

/// How many pointers to functions the data has that programs declare.
fn pointers(bytes: &[u8]) -> usize {
    let Ok(file) = File::parse(bytes) else { return 0 };
    let Ok(symbols) = file.symbols() else { return 0 };
    let data = file.sections().iter().filter(|section| matches!(section.name, ".nv.global.init" | ".nv.constant3"));
    data.map(|data| references(&file, &symbols, data).len()).sum()
}

/// What is missing in an executable that was made of these objects.
fn missing(image: &[u8], objects: &[&[u8]]) -> Option<String> {
    let file = File::parse(image).expect("a linked file can be read");
    let symbols = file.symbols().expect("a linked file has symbols");
    for kernel in symbols.iter().filter(|symbol| symbol.is_entry()) {
        let code = match kernel.section {
            SymbolSection::Index(index) => file.section(index),
            _ => None,
        };
        if code.is_none_or(|code| code.data.is_empty()) {
            return Some(format!("kernel '{}' has no code", kernel.name));
        }
    }
    for text in file.sections().iter().filter(|section| section.name.starts_with(".text.")) {
        let found = references(&file, &symbols, text);
        // Of several definitions, any may be the one that prevails.
        let mut needed = objects.iter().filter_map(|object| {
            let object = File::parse(object).ok()?;
            let text = object.sections().iter().find(|section| section.name == text.name)?;
            Some(references(&object, &object.symbols().ok()?, text))
        });
        if !needed.any(|needed| needed.is_subset(&found)) {
            return Some(format!("'{}' calls what is not there", text.name));
        }
    }
    let (found, needed) = (pointers(image), objects.iter().map(|object| pointers(object)).sum::<usize>());
    (found < needed).then(|| format!("{found} of {needed} pointers to functions are there"))
}

/// Links a sample with changed bytes in every mode, and says what is missing in the results.
fn link_and_check(sample: &Sample, bytes: &[u8], damage: &str) -> usize {
    let target = Target::by_name(sample.arch).expect("a sample is for a known target");
    let mut objects = vec![bytes];
    objects.extend(sample.others.iter().map(Vec::as_slice));
    let names = objects.iter().filter_map(|object| File::parse(object).ok()?.symbols().ok());
    let kernels: BTreeSet<&str> = names.flatten().filter(Symbol::is_entry).map(|symbol| symbol.name).collect();
    let mut roots = vec![KernelRoots::All, KernelRoots::Matching(Vec::new())];
    roots.extend(kernels.into_iter().map(|kernel| KernelRoots::Matching(vec![kernel.to_owned()])));
    let mut refused = 0;
    for (kernels, imitated) in roots.into_iter().flat_map(|roots| [(roots.clone(), false), (roots, true)]) {
        let newest = Release::newest().newest_build(Tool::Nvlink).filter(|_| imitated);
        let imitations = newest.map_or(Imitations::NONE, Imitations::of);
        let options = Options { kernels, imitations, ..Options::new(target) };
        let inputs: Vec<Input<'_>> = objects.iter().map(|bytes| Input::new("object.cubin", bytes)).collect();
        let mut report = Report::default();
        match cuweld::link(&inputs, &options, &mut report, &mut Trace::default()) {
            Ok(linked) => {
                let missing = missing(&linked.image, &objects);
                assert!(missing.is_none(), "{} {}, {damage}, imitated {imitated}: {missing:?}", sample.case, sample.arch);
            }
            Err(_) => refused += 1,
        }
    }
    refused
}

#[test]
fn what_cases_link_to_is_whole() {
    for sample in samples() {
        link_and_check(&sample, &sample.bytes, "as it is");
    }
}

#[test]
fn a_call_that_no_record_tells_of_is_no_call_of_nothing() {
    let mut refused = 0;
    for sample in samples() {
        let file = File::parse(&sample.bytes).expect("a sample can be read");
        let Some(graph) = file.sections().iter().find(|section| section.name == ".nv.callgraph") else { continue };
        let start = graph.header.offset as usize;
        // The first record says nothing, so it can take the place of any other.
        for record in (start..start + graph.data.len()).step_by(8).skip(1) {
            let mut bytes = sample.bytes.clone();
            bytes.copy_within(start..start + 8, record);
            refused += link_and_check(&sample, &bytes, &format!("without the record at {record:#x}"));
        }
    }
    assert!(refused > 0, "some record matters");
}

#[test]
fn a_function_that_is_said_to_be_elsewhere_is_not_forgotten() {
    for sample in samples() {
        let file = File::parse(&sample.bytes).expect("a sample can be read");
        let table = file.symbol_table().and_then(|index| file.section(index)).expect("a sample has symbols");
        let start = table.header.offset as usize;
        for (index, symbol) in file.symbols().expect("a sample has symbols").iter().enumerate() {
            if symbol.kind != SymbolKind::FUNCTION {
                continue;
            }
            // Another binding, the kernel's bit, no section, another place in it.
            let section = sample.bytes[start + index * 24 + 6];
            for (byte, change) in [(4, 0x10), (5, 0x10), (6, section), (8, 0x40), (8, 0xff)] {
                let mut bytes = sample.bytes.clone();
                bytes[start + index * 24 + byte] ^= change;
                link_and_check(&sample, &bytes, &format!("symbol {index}, byte {byte} ^ {change:#x}"));
            }
        }
    }
}

#[test]
fn a_relocation_that_names_another_symbol_is_not_forgotten() {
    let mut refused = 0;
    for sample in samples() {
        let file = File::parse(&sample.bytes).expect("a sample can be read");
        let symbols = file.symbols().expect("a sample has symbols");
        let is_list = |section: &&Section<'_>| matches!(section.kind().contents(), Contents::Rel | Contents::Rela);
        let is_text = |list: &&Section<'_>| list.name.contains(".text.");
        for list in file.sections().iter().filter(is_list).filter(is_text) {
            let (start, size) = (list.header.offset as usize, list.header.entry_size as usize);
            for entry in (start..start + list.data.len()).step_by(size) {
                for symbol in 0..symbols.len() as u32 {
                    let mut bytes = sample.bytes.clone();
                    bytes[entry + 12..entry + 16].copy_from_slice(&symbol.to_le_bytes());
                    refused += link_and_check(&sample, &bytes, &format!("'{}' at {entry:#x} names symbol {symbol}", list.name));
                }
            }
        }
    }
    assert!(refused > 0, "some relocation matters");
}
