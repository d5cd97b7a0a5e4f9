//! Programs in which many of one thing meet many of another: none takes the product of the two in time or memory.

use crate::bombs::{LIMITS, assert_refused, link_with};
use crate::object::{
    Object, addresses_of_nothing, indirect_calls, launches_on_a_chain, long_ways, record, shared_behind_own, shared_on_a_chain,
    variables,
};
use cubin::callgraph::Edge;
use cubin::elf::{SHF_ALLOC, SHF_WRITE, SectionHeader};
use cubin::info::Attribute;
use cubin::section::SectionType;
use cubin::symbol::SymbolKind;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many there are of each thing: few enough for a small file, too many for their product.
const MANY: u32 = 4000;

/// What the header of an object is like.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/call_across_units/inputs/sm_90/a.cubin")
}

/// Links an object, which has to end in time and without much memory.
fn link(object: Object, options: &[&str]) -> io::Result<Output> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("bomb.cubin"), object.build(&sample())?)?;
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
        let kernels = object.kernels(MANY, None);
        let functions = object.chain(MANY, |number| record(Attribute::EXTERNS, &launches(&kernels, number)));
        object.call(kernels[0], functions[0].0);
        assert_linked(&link(object, &[])?);
    }
    Ok(())
}

/// More functions than one record has room for.
#[test]
fn functions_from_outside_that_need_several_records() -> io::Result<()> {
    let mut object = Object::new();
    let externs = object.kernels(5 * MANY, None);
    let lists = externs.chunks(MANY as usize).zip(0..);
    let users: Vec<u32> =
        lists.map(|(list, number)| object.function(&format!("f{number}"), false, &record(Attribute::EXTERNS, list)).0).collect();
    let (kernel, _) = object.function("k", true, &[]);
    users.iter().for_each(|&user| object.call(kernel, user));
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("bomb.cubin"), object.build(&sample())?)?;
    assert_linked(&link_with("-arch=sm_90", &folder, &["bomb.cubin"])?);
    let linked = fs::read(folder.path().join("out.cubin"))?;
    let file = cubin::read::File::parse(&linked).map_err(io::Error::other)?;
    let info = file.sections().iter().find(|section| section.name == ".nv.info.k").ok_or(io::ErrorKind::NotFound)?;
    let records = cubin::info::records(info.data).collect::<cubin::Result<Vec<_>>>().map_err(io::Error::other)?;
    let listed = records.iter().filter(|record| record.attribute == Attribute::EXTERNS).flat_map(|record| record.symbols());
    assert_eq!(listed.collect::<std::collections::HashSet<_>>().len(), externs.len());
    Ok(())
}

/// The size of a stack that no GPU has is recorded as unknown.
#[test]
fn frames_that_are_larger_together_than_a_number() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(2, |_| Vec::new());
    let (kernel, _) = object.function("k", true, &[]);
    object.call(kernel, functions[0].0);
    let frames = functions.iter().flat_map(|&(function, _)| record(Attribute::FRAME_SIZE, &[function, 1 << 31]));
    let header = SectionHeader { kind: SectionType::INFO.0, link: 2, align: 4, ..SectionHeader::default() };
    object.section(".nv.info", header, &frames.collect::<Vec<_>>());
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("deep.cubin"), object.build(&sample())?)?;
    assert_linked(&link_with("-arch=sm_90", &folder, &["deep.cubin"])?);
    let kernels = cuweld::kernels::kernels(&fs::read(folder.path().join("out.cubin"))?).map_err(io::Error::other)?;
    assert_eq!(kernels.iter().map(|kernel| kernel.stack).collect::<Vec<_>>(), [None]);
    Ok(())
}

/// As many recursions as functions: a message shows the first few.
#[test]
fn functions_that_call_themselves() -> io::Result<()> {
    let mut object = Object::new();
    let functions: Vec<u32> = (0..5 * MANY).map(|number| object.function(&format!("f{number}"), false, &[]).0).collect();
    let (kernel, _) = object.function("k", true, &[]);
    for function in functions {
        object.call(kernel, function);
        object.call(function, function);
    }
    let output = link(object, &[])?;
    assert_linked(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("recursion: f") && said.contains("and 19997 more"), "{said}");
    Ok(())
}

/// Every kernel launches all that are launched after the place where it enters a chain: the product stands in the result, which is
/// too large. That is found out before it is made.
#[test]
fn lists_that_the_result_has_no_room_for() -> io::Result<()> {
    assert_refused(&link(launches_on_a_chain(2 * MANY), &[])?, "The result would have");
    Ok(())
}

#[test]
fn shared_variables_and_kernels_that_use_them() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(MANY, |_| Vec::new());
    object.kernels(MANY, Some(functions[0].0));
    object.share(&functions);
    assert_linked(&link(object, &[])?);
    Ok(())
}

/// Every kernel sees another part of a chain: as many sets as kernels, all of them parts of the first.
#[test]
fn kernels_that_enter_a_chain_of_shared_variables_anywhere() -> io::Result<()> {
    assert_linked(&link(shared_on_a_chain(MANY), &[])?);
    Ok(())
}

/// Every kernel has a function of its own before what all have.
#[test]
fn kernels_that_reach_the_same_by_different_ways() -> io::Result<()> {
    assert_linked(&link(shared_behind_own(MANY), &[])?);
    Ok(())
}

#[test]
fn listings_of_calls_through_pointers() -> io::Result<()> {
    // Under its own name the program lists them by prototype; as the reference linker does, every pair is a line.
    let output = link(indirect_calls(MANY), &["-dump-callgraph", "-dot=/dev/null"])?;
    assert_linked(&output);
    assert!(output.stderr.len() < 1 << 20, "{} bytes", output.stderr.len());
    let output = link(indirect_calls(MANY), &["-dump-callgraph", "--diagnostics=nvlink"])?;
    assert_linked(&output);
    assert!(output.stderr.len() > MANY as usize * MANY as usize * 4, "{} bytes", output.stderr.len());
    Ok(())
}

#[test]
fn names_that_clash() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    for file in ["one.cubin", "other.cubin"] {
        fs::write(folder.path().join(file), variables(10 * MANY).build(&sample())?)?;
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
    object.kernels(MANY, None);
    fs::write(folder.path().join("bomb.cubin"), object.build(&sample())?)?;
    let used: String = (0..2 * MANY).map(|number| format!("-kernels-used=k{number}x\n")).collect();
    fs::write(folder.path().join("used.txt"), used)?;
    assert_linked(&link_with("-arch=sm_90", &folder, &["bomb.cubin", "-optf=used.txt"])?);
    Ok(())
}

#[test]
fn reasons_for_every_name() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("bomb.cubin"), shared_on_a_chain(MANY).build(&sample())?)?;
    let names: String =
        (0..MANY).map(|number| format!("--why-live=f{number} --why-live=k{number} --why-live=g{number}\n")).collect();
    fs::write(folder.path().join("names.txt"), names)?;
    let output = link_with("-arch=sm_90", &folder, &["bomb.cubin", "-optf=names.txt"])?;
    assert_linked(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().count(), 3 * MANY as usize);
    assert!(said.contains("\nf7: called as k7 -> f7\n") && said.contains("\nk7: is a kernel\n"), "{}", &said[..1000]);
    Ok(())
}

#[test]
fn names_that_must_be_there() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut object = Object::new();
    object.kernels(2 * MANY, None);
    fs::write(folder.path().join("bomb.cubin"), object.build(&sample())?)?;
    let names: String = (0..10 * MANY).map(|number| format!("-u=nothing{number} ")).collect();
    fs::write(folder.path().join("names.txt"), names)?;
    let output = link_with("-arch=sm_90", &folder, &["bomb.cubin", "-optf=names.txt", "--error-limit=0"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("ndefined reference to 'nothing").count(), 10 * MANY as usize, "{:?}", output.status);
    Ok(())
}

#[test]
fn variables_that_refer_to_nothing() -> io::Result<()> {
    let output = link(addresses_of_nothing(10 * MANY), &["--error-limit=0"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("undefined reference to").count(), 10 * MANY as usize, "{:?}", output.status);
    assert!(said.contains("'nothing_56'\n  >>> referenced by variable variable_56 in bomb.cubin\n"), "{}", &said[..1000]);
    Ok(())
}

#[test]
fn kernels_with_limits_and_long_ways_to_what_exceeds_them() -> io::Result<()> {
    let mut object = Object::new();
    let functions = object.chain(MANY, |_| Vec::new());
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

/// Every kernel has another way to what it needs most of, and the ways are long.
#[test]
fn reports_and_comparisons_of_long_ways() -> io::Result<()> {
    for is_recursion in [false, true] {
        let folder = tempfile::tempdir()?;
        for (name, registers) in [("old.cubin", 180), ("new.cubin", 200)] {
            fs::write(folder.path().join("bomb.cubin"), long_ways(MANY, is_recursion, registers).build(&sample())?)?;
            assert_linked(&link_with("-arch=sm_90", &folder, &["bomb.cubin", "--report=report.json"])?);
            fs::rename(folder.path().join("out.cubin"), folder.path().join(name))?;
        }
        let size = fs::metadata(folder.path().join("report.json"))?.len();
        assert!(size < 16 << 20, "{size} bytes");
        let words = ["-c", LIMITS, env!("CARGO_BIN_EXE_cuweld"), "compare", "old.cubin", "new.cubin"];
        let output = Command::new("sh").args(words).current_dir(&folder).output()?;
        assert_linked(&output);
        assert!(String::from_utf8_lossy(&output.stdout).contains("registers 180 -> 200"), "{output:?}");
    }
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
    fs::write(folder.path().join("large.cubin"), object.build(&sample())?)?;
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
    fs::write(folder.path().join("deep.cubin"), object.build(&sample())?)?;
    let script = "ulimit -s 128; exec \"$0\" -arch=sm_90 deep.cubin -o out.cubin";
    let output = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_cuweld")]).current_dir(&folder).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{:?}: {said}", output.status);
    assert_eq!(said.matches("undefined reference").count(), 10, "{said}");
    Ok(())
}
