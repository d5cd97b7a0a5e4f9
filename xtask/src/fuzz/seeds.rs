//! What a fuzzer starts from: the inputs and results of the cases.

use std::fs;
use std::path::{Path, PathBuf};

/// How seeds of a target are made of the cases' files.
enum Seeds {
    /// Each file that ends in one of these.
    Files(&'static [&'static str]),
    /// The contents of the sections that hold records.
    Sections,
    /// Files of a case that belong together, two by two, in the form of `fuzz/src/lib.rs`.
    Pairs(&'static [&'static str]),
}

/// The seeds of each target.
const SEEDS: &[(&str, Seeds)] = &[
    ("read_cubin", Seeds::Files(&["cubin"])),
    ("records", Seeds::Sections),
    ("fatbins", Seeds::Files(&["fatbin"])),
    ("archives", Seeds::Files(&["a"])),
    ("host_objects", Seeds::Files(&["o"])),
    ("link", Seeds::Pairs(&["cubin", "fatbin", "o", "a"])),
    ("differences", Seeds::Pairs(&["cubin"])),
];

/// Larger files make a fuzzer slow.
const MOST: usize = 32 << 10;

/// Writes the seeds of a target into a folder, unless there is something already: then an earlier run's findings are better.
pub fn plant(root: &Path, target: &str, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Ok(());
    }
    let Some((_, seeds)) = SEEDS.iter().find(|(name, _)| *name == target) else {
        return Err(format!("there are no seeds for '{target}'"));
    };
    let mut groups = Vec::new();
    gather(&root.join("tests/cases"), &mut groups);
    gather(&root.join("crates/fatbin/tests/data"), &mut groups);
    let mut made: Vec<Vec<u8>> = match seeds {
        Seeds::Files(kinds) => groups.iter().flat_map(|group| group.of_kinds(kinds)).collect(),
        Seeds::Sections => groups.iter().flat_map(|group| group.of_kinds(&["cubin"])).flat_map(|file| sections(&file)).collect(),
        Seeds::Pairs(kinds) => groups.iter().flat_map(|group| pairs(group, &group.of_kinds(kinds))).collect(),
    };
    made.retain(|bytes| bytes.len() <= MOST);
    made.sort();
    made.dedup();
    for (index, bytes) in made.iter().enumerate() {
        fs::write(folder.join(format!("seed-{index}")), bytes).map_err(failed)?;
    }
    Ok(())
}

/// The files of one folder.
struct Group {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Group {
    fn of_kinds(&self, kinds: &[&str]) -> Vec<Vec<u8>> {
        let is_wanted = |path: &&PathBuf| kinds.iter().any(|kind| path.extension().is_some_and(|found| found == *kind));
        self.files.iter().filter(is_wanted).filter_map(|path| fs::read(path).ok()).collect()
    }
}

fn gather(folder: &Path, groups: &mut Vec<Group>) {
    let mut files = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { gather(&path, groups) } else { files.push(path) }
    }
    groups.push(Group { folder: folder.to_owned(), files });
}

/// The contents of an ELF file's sections that the linker reads as records: all special ones, and notes.
fn sections(file: &[u8]) -> Vec<Vec<u8>> {
    const NOTE: u64 = 7;
    const FIRST_SPECIAL: u64 = 0x7000_0000;
    let number = |at: usize, size: usize| {
        let bytes = file.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let (Some(table), Some(count)) = (number(40, 8), number(60, 2)) else { return Vec::new() };
    let section = |index: u64| {
        let header = usize::try_from(table + index * 64).ok()?;
        let kind = number(header + 4, 4).filter(|&kind| kind == NOTE || kind >= FIRST_SPECIAL);
        let (start, size) = (number(header + 24, 8)? as usize, number(header + 32, 8)? as usize);
        kind.and_then(|_| file.get(start..start.checked_add(size)?)).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec)
    };
    (0..count).filter_map(section).collect()
}

/// Each file with the next one of its folder. The folder's name says the architecture.
fn pairs(group: &Group, files: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let name = group.folder.file_name().unwrap_or_default().to_string_lossy();
    let Some(number) = name.strip_prefix("sm_").and_then(|number| number.parse::<u8>().ok()) else { return Vec::new() };
    let pair = |(index, first): (usize, &Vec<u8>)| {
        let second = &files[(index + 1) % files.len()];
        let mut seed = vec![number, (index % 4) as u8 * 4];
        seed.extend((first.len() as u32).to_le_bytes());
        seed.extend_from_slice(first);
        seed.extend_from_slice(second);
        seed
    };
    files.iter().enumerate().map(pair).collect()
}
