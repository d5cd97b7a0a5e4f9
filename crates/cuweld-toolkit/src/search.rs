//! The search for a toolkit.
//!
//! A toolkit is a folder with `bin/ptxas`, and `libnvJitLink` in one of several folders beside it. There are many ways to install
//! one, so a list of places is tried in order; an error can name them all.

use crate::library::Library;
use crate::{Assembler, Optimizer};
use cuweld::inputs::lower::CompilerError;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is known about where the toolkit is.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The folder that the user names. If there is one, no other is tried.
    pub folder: Option<PathBuf>,
    /// The toolkit's folder of the NVVM library, which compilers name.
    pub nvvm_folder: Option<PathBuf>,
    /// The address of `nvJitLinkCreate` in a library that is not to be used: the one that is asking, where it has that name itself.
    pub not_this: Option<usize>,
}

/// A place that was tried.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// Why a toolkit may be there.
    pub why: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        write!(out, "{} ({})", folder.display(), self.why)
    }
}

/// Environment variables that name a toolkit.
const VARIABLES: [&str; 3] = ["CUWELD_TOOLKIT", "CUDA_HOME", "CUDA_PATH"];

/// Programs that stand in the folder `bin` of a toolkit.
const PROGRAMS: [&str; 2] = ["nvcc", "ptxas"];

/// Environment variables that name a Python environment, into which `pip` may have installed a toolkit.
const PYTHON_VARIABLES: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// Folders below a Python environment's packages that are laid out like a toolkit.
const PYTHON_PACKAGES: [&str; 3] = ["nvidia/cu13", "nvidia/cuda_nvcc", "nvidia/nvjitlink"];

/// Folders of a toolkit that hold libraries.
const LIBRARY_FOLDERS: [&str; 7] =
    ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin/x86_64", "bin/x64", "bin"];

/// Names of `libnvJitLink`, the newest first.
const NVJITLINK_NAMES: [&str; 4] = ["libnvJitLink.so.13", "libnvJitLink.so", "libnvJitLink.so.12", "nvJitLink_130_0.dll"];

impl Search {
    /// Finds the assembler: the program, or the library where there is none.
    ///
    /// # Errors
    /// When neither is anywhere.
    pub fn assembler(&self) -> Result<Assembler, CompilerError> {
        let name = format!("ptxas{}", env::consts::EXE_SUFFIX);
        let places = self.places();
        let program = places.iter().map(|place| place.folder.join("bin").join(&name)).find(|path| path.is_file());
        match program {
            Some(path) => Ok(Assembler::program(path)),
            None => match self.nvjitlink(&places)? {
                Some(library) => Ok(Assembler::library(library)),
                None => Err(missing("the CUDA toolkit's assembler, ptxas,", &places)),
            },
        }
    }

    /// Finds the optimizer.
    ///
    /// # Errors
    /// When it is nowhere, or can not be loaded to see whether it is the right one.
    pub fn optimizer(&self) -> Result<Optimizer, CompilerError> {
        let places = self.places();
        let library = self.nvjitlink(&places)?;
        let what = "the CUDA toolkit's library for link-time optimization, libnvJitLink,";
        library.map(Optimizer::new).ok_or_else(|| missing(what, &places))
    }

    /// The toolkit's `libnvJitLink`, which is not the library that is asking.
    fn nvjitlink(&self, places: &[Place]) -> Result<Option<Library>, CompilerError> {
        let folders = places.iter().flat_map(|place| LIBRARY_FOLDERS.map(|folder| place.folder.join(folder)));
        let paths = folders.flat_map(|folder| NVJITLINK_NAMES.map(|name| folder.join(name)));
        for library in paths.filter(|path| path.is_file()).map(Library::new) {
            if self.not_this.is_none() || Some(library.address()?) != self.not_this {
                return Ok(Some(library));
            }
        }
        Ok(None)
    }

    /// Finds a library by the name of its file.
    #[must_use]
    pub fn library(&self, file_name: &str) -> Option<PathBuf> {
        let places = self.places();
        let folders = places.iter().flat_map(|place| LIBRARY_FOLDERS.map(|folder| place.folder.join(folder)));
        folders.map(|folder| folder.join(file_name)).find(|path| path.is_file())
    }

    /// Where a toolkit may be, in the order in which it is looked for.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let mut places = Places::default();
        if let Some(folder) = &self.folder {
            places.add(folder.clone(), "--toolkit");
            return places.0;
        }
        if let Some(parent) = self.nvvm_folder.as_deref().and_then(Path::parent) {
            places.add(parent.to_path_buf(), "beside -nvvmpath");
        }
        for variable in VARIABLES {
            // A relative one would name something else in every folder, such as one that somebody else has filled.
            if let Some(folder) = env::var_os(variable).filter(|folder| Path::new(folder).is_absolute()) {
                places.add(PathBuf::from(folder), variable);
            }
        }
        for program in PROGRAMS {
            if let Some(path) = on_path(program) {
                // The program may be a link into the toolkit, or stand in a folder that is laid out like one.
                for path in [std::fs::canonicalize(&path).ok(), Some(path)].into_iter().flatten() {
                    if let Some(folder) = path.parent().and_then(Path::parent) {
                        places.add(folder.to_path_buf(), "of a program on PATH");
                    }
                }
            }
        }
        for variable in PYTHON_VARIABLES {
            if let Some(folder) = env::var_os(variable).filter(|folder| Path::new(folder).is_absolute()) {
                places.add_packages(Path::new(&folder), variable);
            }
        }
        for packages in loaded_packages() {
            for package in PYTHON_PACKAGES {
                places.add(packages.join(package), "beside Python packages that are loaded");
            }
        }
        places.add(PathBuf::from("/usr/local/cuda"), "the usual place");
        places.0
    }
}

fn missing(what: &str, places: &[Place]) -> CompilerError {
    CompilerError::Missing { what: what.to_owned(), places: places.iter().map(ToString::to_string).collect() }
}

/// Places, each once.
#[derive(Default)]
struct Places(Vec<Place>);

impl Places {
    fn add(&mut self, folder: PathBuf, why: &'static str) {
        if !self.0.iter().any(|place| place.folder == folder) {
            self.0.push(Place { folder, why });
        }
    }

    /// The packages of a Python environment that are laid out like a toolkit.
    fn add_packages(&mut self, environment: &Path, why: &'static str) {
        let libraries = environment.join("lib");
        let mut versions: Vec<PathBuf> = (std::fs::read_dir(&libraries).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")))
            .collect();
        versions.sort();
        for version in versions {
            for package in PYTHON_PACKAGES {
                self.add(version.join("site-packages").join(package), why);
            }
        }
    }
}

/// The folders of Python packages that this process has libraries from, where the system says it: a library in a Python program has
/// no other way to know.
fn loaded_packages() -> Vec<PathBuf> {
    const FOLDER: &str = "/site-packages/";
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut found = Vec::new();
    // Only what is code: a file that was mapped to be read may be anybody's.
    let is_code = |line: &&str| line.split(' ').nth(1).is_some_and(|permissions| permissions.contains('x'));
    for line in maps.lines().filter(is_code) {
        let Some(path) = line.find('/').and_then(|start| line.get(start..)) else { continue };
        let Some(packages) = path.find(FOLDER).and_then(|end| path.get(..end + FOLDER.len() - 1)) else { continue };
        let packages = PathBuf::from(packages);
        if !found.contains(&packages) {
            found.push(packages);
        }
    }
    found
}

/// The program of this name that a shell would run, but never one that stands in the folder that happens to be the current one.
fn on_path(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_is_the_only_place() {
        let search = Search { folder: Some("/nowhere".into()), nvvm_folder: Some("/elsewhere/nvvm".into()), not_this: None };
        assert_eq!(search.places(), [Place { folder: "/nowhere".into(), why: "--toolkit" }]);
        let error = search.assembler().expect_err("nothing is there");
        assert!(matches!(error, CompilerError::Missing { places, .. } if places.len() == 1));
    }

    #[test]
    fn the_folder_beside_the_nvvm_library_comes_first() {
        let search = Search { folder: None, nvvm_folder: Some("/elsewhere/nvvm".into()), not_this: None };
        assert_eq!(search.places()[0].folder, Path::new("/elsewhere"));
    }
}
