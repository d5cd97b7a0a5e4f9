//! The reference toolkit: it builds sources and links them.

use crate::case::Case;
use crate::linker::{Files, Linker, run, write};
use cubin::release::ToolBuild;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the reference's programs are.
pub struct Toolkit {
    programs: PathBuf,
    /// Its linker.
    pub known: ToolBuild,
}

impl Toolkit {
    /// Finds the reference on `PATH` or in `CUDA_HOME`: one of the builds that are known.
    pub fn find() -> Option<Self> {
        let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
        let in_home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
        let reference = |programs: PathBuf| {
            let output = Command::new(programs.join("nvlink")).arg("--version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let known = ToolBuild::that_printed(&text).filter(|_| text.contains("NVIDIA"))?;
            Some(Toolkit { programs, known })
        };
        on_path.into_iter().flatten().chain(in_home).find_map(reference)
    }

    /// The reference linker.
    pub fn linker(&self) -> Linker {
        Linker::at(&self.programs.join("nvlink"))
    }

    /// Builds the sources of a case. Returns everything the link may read: sources and what was built.
    pub fn build(&self, case: &Case, arch: &str) -> Result<Files, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder to work in: {error}"))?;
        let sources = case.sources()?;
        write(folder.path(), &sources)?;
        write(folder.path(), &Case::shared_sources()?)?;
        let lines = match &case.recipe.build {
            Some(lines) => lines.clone(),
            None => sources.keys().filter_map(|name| default_build(name)).collect(),
        };
        for line in &lines {
            let words = Case::words(line, arch);
            let [program, arguments @ ..] = words.as_slice() else {
                return Err(format!("{}: an empty build line", case.name));
            };
            let in_toolkit = self.programs.join(program);
            let mut command = Command::new(if in_toolkit.exists() { &in_toolkit } else { Path::new(program) });
            let (status, messages) = run(command.args(arguments).current_dir(folder.path()))?;
            if status != 0 {
                return Err(format!("{line}: status {status}\n{messages}"));
            }
        }
        let mut all = Files::new();
        for entry in fs::read_dir(folder.path()).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            all.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes);
        }
        Ok(all)
    }
}

/// How a source is built unless the recipe says otherwise.
fn default_build(name: &str) -> Option<String> {
    if let Some(stem) = name.strip_suffix(".ptx") {
        return Some(format!("ptxas -c -arch={{arch}} {name} -o {stem}.cubin"));
    }
    let stem = name.strip_suffix(".cu")?;
    Some(format!("nvcc -rdc=true -cubin -arch={{arch}} {name} -o {stem}.cubin"))
}
