//! Makes the inputs of a link: assembles each unit once, and copies it under other names.
//!
//! Assembling a hundred thousand units would take an hour. In an object file names stand in string tables and everything else refers to
//! them by number, so that a unit with other names of the same length is the same file with other characters in it.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::axes::{Axis, Copies, Given};
use super::host;
use super::ptx::{NEXT, OWN};
use cubin::elf::{Header, SectionHeader};
use cubin::section::SectionType;

/// The inputs of one link.
pub struct Inputs {
    /// Where they are, and where the linkers run.
    pub folder: PathBuf,
    /// How many files there are.
    pub files: usize,
    /// How many bytes are in them.
    pub bytes: u64,
}

/// The file with the names of all inputs: there are more than a command line can hold.
pub const LIST: &str = "inputs.txt";

impl Inputs {
    /// The paths of the inputs, one after the other: all of them would take memory that counts (see [`measure`](mod@super::measure)).
    pub fn paths(&self) -> Result<impl Iterator<Item = Result<PathBuf, String>> + use<>, String> {
        let (list, folder) = (self.folder.join(LIST), self.folder.clone());
        let names = BufReader::new(File::open(&list).map_err(failed(&list))?).lines();
        // Options are there, too.
        let is_file = |name: &io::Result<String>| !name.as_ref().is_ok_and(|name| name.starts_with('-'));
        Ok(names.filter(is_file).map(move |name| Ok(folder.join(name.map_err(failed(&list))?))))
    }
}

/// Makes the inputs of an axis's program of some size in `work`, unless they are there already.
pub fn make(axis: &Axis, size: usize, work: &Path) -> Result<Inputs, String> {
    let folder = work.join(axis.name).join(size.to_string());
    let units = (axis.units)(size);
    // Written last, so that it is there only if everything else is; and other programs have another one.
    let seal = folder.join(format!("complete-{:016x}", fingerprint(&units, axis)));
    if !seal.exists() {
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let names = match axis.given {
            Given::Cubins => write_cubins(&units, axis.architecture, &folder, work)?,
            Given::HostObjects(architectures) => host::write_objects(&units, architectures, &folder, work)?,
            Given::Archive(architectures) => host::write_archive(&units, architectures, &folder, work)?,
        };
        let list = folder.join(LIST);
        fs::write(&list, names).map_err(failed(&list))?;
        fs::write(&seal, "").map_err(failed(&seal))?;
    }
    let mut inputs = Inputs { folder, files: 0, bytes: 0 };
    for path in inputs.paths()? {
        let path = path?;
        inputs.files += 1;
        inputs.bytes += fs::metadata(&path).map_err(failed(&path))?.len();
    }
    Ok(inputs)
}

/// Writes every copy of every unit, and gives the list of their names.
fn write_cubins(units: &[Copies], architecture: &str, folder: &Path, work: &Path) -> Result<String, String> {
    let mut names = String::new();
    for (kind, unit) in units.iter().enumerate() {
        let template = with_table(assemble(&unit.ptx, architecture, work)?, unit.table);
        for number in 0..unit.count {
            let name = format!("unit_{kind}_{number:05}.cubin");
            let path = folder.join(&name);
            fs::write(&path, copy(&template, number, unit.count)).map_err(failed(&path))?;
            names += &name;
            names.push('\n');
        }
    }
    Ok(names)
}

/// Assembles a unit, unless that was done before.
pub(super) fn assemble(ptx: &str, architecture: &str, work: &Path) -> Result<Vec<u8>, String> {
    let folder = work.join("templates");
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let stem = folder.join(format!("{:016x}", fingerprint_of(&(ptx, architecture))));
    let (source, object) = (stem.with_extension("ptx"), stem.with_extension("cubin"));
    if !object.exists() {
        let unfinished = stem.with_extension("unfinished");
        fs::write(&source, ptx).map_err(failed(&source))?;
        let output = Command::new("ptxas")
            .args(["-c", "-arch", architecture])
            .arg(&source)
            .arg("-o")
            .arg(&unfinished)
            .output()
            .map_err(|error| format!("ptxas, which makes the inputs: {error}; first: eval \"$(scripts/toolkit)\""))?;
        if !output.status.success() {
            return Err(format!("ptxas: {}: {}", source.display(), String::from_utf8_lossy(&output.stderr)));
        }
        fs::rename(&unfinished, &object).map_err(failed(&object))?;
    }
    fs::read(&object).map_err(failed(&object))
}

/// The unit with its table of initialised variables enlarged, which moves after everything else. To assemble so much would take hours.
fn with_table(mut unit: Vec<u8>, size: usize) -> Vec<u8> {
    let Some(mut header) = Header::parse(&unit, 0).filter(|_| size > 0) else { return unit };
    let headers = unit.get(header.section_header_offset as usize..).unwrap_or_default();
    let headers = headers.as_chunks().0.iter().take(header.section_header_count.into()).map(SectionHeader::read);
    let mut headers: Vec<SectionHeader> = headers.collect();
    for section in headers.iter_mut().filter(|section| section.kind == SectionType::GLOBAL_INIT.0) {
        unit.resize(unit.len().next_multiple_of(16), 0);
        (section.offset, section.size) = (unit.len() as u64, size as u64);
        unit.extend((0..size).map(|place| (place * 31) as u8));
    }
    header.section_header_offset = unit.len() as u64;
    header.write(&mut unit[..Header::SIZE]);
    for header in headers {
        let start = unit.len();
        unit.resize(start + SectionHeader::SIZE, 0);
        header.write(&mut unit[start..]);
    }
    unit
}

/// The unit with the names of copy `number`.
pub(super) fn copy(template: &[u8], number: usize, count: usize) -> Vec<u8> {
    let own = format!("unit_{number:05}");
    let next = format!("unit_{:05}", (number + 1) % count);
    let mut bytes = template.to_vec();
    let mut place = 0;
    while let Some(rest) = bytes.get_mut(place..).filter(|rest| rest.len() >= OWN.len()) {
        let (name, _) = rest.split_at_mut(OWN.len());
        if name == OWN.as_bytes() {
            name.copy_from_slice(own.as_bytes());
        } else if name == NEXT.as_bytes() {
            name.copy_from_slice(next.as_bytes());
        }
        place += 1;
    }
    bytes
}

fn fingerprint(units: &[Copies], axis: &Axis) -> u64 {
    let parts: Vec<_> = units.iter().map(|unit| (unit.ptx.as_str(), unit.count, unit.table)).collect();
    match axis.given {
        Given::Cubins => fingerprint_of(&(parts, axis.architecture)),
        given => fingerprint_of(&(parts, axis.architecture, given)),
    }
}

fn fingerprint_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Says which file an error is about.
pub fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.to_owned();
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_differ_in_their_names() {
        let template = b"\0unit_00000_a\0next_00000_b\0unit_0000\0";
        assert_eq!(copy(template, 41, 43), b"\0unit_00041_a\0unit_00042_b\0unit_0000\0");
        assert_eq!(copy(template, 42, 43), b"\0unit_00042_a\0unit_00000_b\0unit_0000\0");
    }
}
