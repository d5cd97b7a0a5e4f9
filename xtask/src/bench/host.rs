//! Inputs as compilers make them: host objects with packed code, alone or in an archive, and the device runtime library.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::axes::Copies;
use super::inputs::{assemble, copy, failed};
use cubin::target::Target;
use cuweld_host_object::Machine;
use cuweld_host_object::elf::{Object, Section};
use fatbin::entry::Architecture;
use fatbin::write::{Builder, Settings};

/// Type and flag of sections that are a part of the program.
const PROGBITS: u32 = cubin::elf::SHT_PROGBITS;
const ALLOC: u64 = cubin::elf::SHF_ALLOC;

/// Writes host objects, and gives the list of their names, and of the options that compilers add.
pub fn write_objects(units: &[Copies], architectures: &[&str], folder: &Path, work: &Path) -> Result<String, String> {
    let mut names = String::new();
    for (name, object) in objects(units, architectures, work)? {
        let path = folder.join(&name);
        fs::write(&path, object).map_err(failed(&path))?;
        names += &name;
        names.push('\n');
    }
    Ok(names + &runtime_library()?)
}

/// Writes an archive of host objects, and gives the same.
pub fn write_archive(units: &[Copies], architectures: &[&str], folder: &Path, work: &Path) -> Result<String, String> {
    let mut archive = fatbin::archive::MAGIC.to_vec();
    for (name, object) in objects(units, architectures, work)? {
        let name = format!("{name}/");
        archive.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, object.len()).into_bytes());
        archive.extend(&object);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    let path = folder.join("libunits.a");
    fs::write(&path, archive).map_err(failed(&path))?;
    Ok("libunits.a\n".to_owned() + &runtime_library()?)
}

/// Names and contents of host objects.
fn objects(units: &[Copies], architectures: &[&str], work: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut objects = Vec::new();
    for unit in units {
        let targets: Vec<&Target> = architectures.iter().filter_map(|name| Target::by_name(name)).collect();
        let templates: Vec<Vec<u8>> =
            targets.iter().map(|target| assemble(&unit.ptx, target.name, work)).collect::<Result<_, _>>()?;
        for number in 0..unit.count {
            let cubins: Vec<Vec<u8>> = templates.iter().map(|template| copy(template, number, unit.count)).collect();
            let mut fatbin = Builder::new(Settings { relocatable: true, ..Settings::default() });
            for (target, cubin) in targets.iter().zip(&cubins) {
                let architecture = Architecture { number: target.number, variant: target.variant };
                fatbin.cubin(architecture, cubin).map_err(|error| error.to_string())?;
            }
            objects.push((format!("u{number:05}.o"), object(&format!("_unit_{number:05}"), &fatbin.to_vec())));
        }
    }
    Ok(objects)
}

/// A host object around a fatbin.
fn object(id: &str, fatbin: &[u8]) -> Vec<u8> {
    let mut object = Object::new(Machine::X86_64.number());
    for (name, contents) in
        [("__nv_relfatbin", fatbin), (".nvFatBinSegment", &[0; 24]), ("__nv_module_id", format!("{id}\0").as_bytes())]
    {
        object.section(Section { flags: ALLOC, align: 8, ..Section::new(name, PROGBITS, contents) });
    }
    object.to_vec()
}

/// The options that name the toolkit's device runtime library. It is where the assembler is.
fn runtime_library() -> Result<String, String> {
    let on_path = || env::split_paths(&env::var_os("PATH")?).find(|folder| folder.join("ptxas").is_file());
    let toolkit = env::var_os("CUDA_HOME").map(PathBuf::from).or_else(|| Some(on_path()?.parent()?.to_path_buf()));
    let folders = toolkit.iter().flat_map(|toolkit| ["lib64", "lib"].map(|folder| toolkit.join(folder)));
    let folder = folders.into_iter().find(|folder| folder.join("libcudadevrt.a").is_file());
    let folder = folder.ok_or("libcudadevrt.a is not beside ptxas; CUDA_HOME names the toolkit")?;
    Ok(format!("-L{}\n-lcudadevrt\n", folder.display()))
}
