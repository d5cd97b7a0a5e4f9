//! What a case is: a folder with `case.toml`, sources, stored inputs and stored results.
//!
//! ```text
//! tests/cases/NAME/case.toml           what it is about, how to link it, what to expect
//!                  *.ptx, *.cu         sources, and other files that the link reads
//!                  inputs/ARCH/        what the sources were built into
//!                  expected/ARCH/      the outputs; messages.nvlink and messages.rich, unless there are none
//!                  default/ARCH/       the outputs that are others in the default mode, with the reference's note
//! ```

use crate::linker::{Files, Outcome};
use cubin::release::{Release, ToolBuild};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `case.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The rule that the case shows, in one or two sentences.
    #[allow(dead_code, reason = "for people; it is required, so that every case has it")]
    pub about: String,
    /// The architectures to link for.
    pub archs: Vec<String>,
    /// The release of CUDA whose results are stored, or the build of its linker if that is not the newest one.
    #[serde(default = "default_release")]
    pub release: String,
    /// The last release that the case is compared with: what a later one does differently here is not followed yet.
    pub compared_until: Option<String>,
    /// How the sources are built, when it is not `ptxas -c` for every `.ptx` and `nvcc -rdc=true -cubin` for every `.cu`.
    pub build: Option<Vec<String>>,
    /// The links, one after the other: each the words after the program's name.
    pub link: Vec<String>,
    /// The files that the links make.
    #[serde(default = "default_outputs")]
    pub outputs: Vec<String>,
    /// The exit status of the last link; one that fails ends the case.
    #[serde(default)]
    pub status: i32,
    /// Why cuweld differs from the reference here on purpose. The stored results are then cuweld's own.
    pub deviates: Option<String>,
    /// What is right in the results of the default mode, where they are not those that the reference's defects make.
    pub default: Option<String>,
    /// The exit status in the default mode, if it is another.
    pub default_status: Option<i32>,
}

fn default_release() -> String {
    Release::oldest().name.into()
}

fn default_outputs() -> Vec<String> {
    vec!["out.cubin".into()]
}

/// A case.
#[derive(Debug)]
pub struct Case {
    /// The folder's name.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// What `case.toml` says.
    pub recipe: Recipe,
}

/// What is stored of a result.
pub struct Expected {
    /// The result in all that the reference does.
    pub outcome: Outcome,
    /// The result in the default mode.
    pub default: Outcome,
}

/// The name of the file that holds the messages of the reference.
pub const NVLINK_MESSAGES: &str = "messages.nvlink";
/// The name of the file that holds cuweld's own messages.
pub const RICH_MESSAGES: &str = "messages.rich";

/// The folder `tests`.
pub fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// All cases, by name.
pub fn all() -> Result<Vec<Arc<Case>>, String> {
    let mut cases = Vec::new();
    for folder in entries(&tests_folder().join("cases"))?.into_iter().filter(|path| path.is_dir()) {
        let path = folder.join("case.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let recipe: Recipe = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cases.push(Arc::new(Case { name, folder, recipe }));
    }
    Ok(cases)
}

impl Case {
    /// What sources of several cases include.
    pub fn shared_sources() -> Result<Files, String> {
        files(&tests_folder().join("cases"))
    }

    /// The sources and other files at the top of the folder.
    pub fn sources(&self) -> Result<Files, String> {
        let mut files = files(&self.folder)?;
        files.remove("case.toml");
        Ok(files)
    }

    /// What the link needs, as it is stored.
    pub fn stored_inputs(&self, arch: &str) -> Result<Files, String> {
        let mut all = self.sources()?;
        all.extend(files(&self.inputs_folder(arch))?);
        Ok(all)
    }

    /// Where the inputs for an architecture are stored.
    pub fn inputs_folder(&self, arch: &str) -> PathBuf {
        self.folder.join("inputs").join(arch)
    }

    /// Where the results for an architecture are stored.
    pub fn expected_folder(&self, arch: &str) -> PathBuf {
        self.folder.join("expected").join(arch)
    }

    /// Where the results for an architecture are stored that are others in the default mode.
    pub fn default_folder(&self, arch: &str) -> PathBuf {
        self.folder.join("default").join(arch)
    }

    /// The stored results.
    pub fn expected(&self, arch: &str) -> Result<Expected, String> {
        let mut outputs = files(&self.expected_folder(arch))?;
        let mut text = |name: &str| {
            let bytes = outputs.remove(name).unwrap_or_default();
            String::from_utf8(bytes).map_err(|_| format!("{}/expected/{arch}/{name} is not text", self.name))
        };
        let (messages, rich) = (text(NVLINK_MESSAGES)?, text(RICH_MESSAGES)?);
        let status = self.recipe.default_status.unwrap_or(self.recipe.status);
        // A link that fails in this mode alone makes nothing but what is said.
        let mut own = if status == self.recipe.status { outputs.clone() } else { Files::new() };
        own.extend(files(&self.default_folder(arch))?);
        let default = Outcome { status, messages: rich, outputs: own };
        Ok(Expected { outcome: Outcome { status: self.recipe.status, messages, outputs }, default })
    }

    /// Fails unless the case says what is right in the default mode exactly where that differs.
    pub fn check_reason(&self) -> Result<(), String> {
        let mut differs = self.recipe.default_status.is_some();
        for arch in &self.recipe.archs {
            let (usual, own) = (files(&self.expected_folder(arch))?, files(&self.default_folder(arch))?);
            if let Some((name, _)) = own.iter().find(|(name, bytes)| usual.get(*name) == Some(bytes)) {
                return Err(format!("default/{arch}/{name} is what expected/{arch} has; run `cargo xtask bless {}`", self.name));
            }
            differs |= !own.is_empty();
        }
        match (&self.recipe.default, differs) {
            (None, true) => {
                Err("the default mode makes another result; case.toml must say what is right in it (default = ...)".into())
            }
            (Some(_), false) => Err("case.toml speaks of another result in the default mode, and there is none".into()),
            _ => Ok(()),
        }
    }

    /// The reference whose results are stored.
    pub fn reference(&self) -> Result<ToolBuild, String> {
        ToolBuild::by_name(&format!("nvlink-{}", self.recipe.release))
            .ok_or_else(|| format!("{}: there is no release {}", self.name, self.recipe.release))
    }

    /// Whether the case is compared with a build of the reference.
    pub fn is_compared_with(&self, reference: ToolBuild) -> bool {
        reference.build.is_between(&self.recipe.release, self.recipe.compared_until.as_deref())
    }

    /// Whether a link mentions a file; what only other build steps need is not stored.
    pub fn reads(&self, name: &str) -> bool {
        let library = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".a")).map(|name| format!("-l{name}"));
        self.recipe.link.iter().any(|line| line.contains(name) || library.as_ref().is_some_and(|library| line.contains(library)))
    }

    /// A line of the recipe for an architecture, as words.
    pub fn words(line: &str, arch: &str) -> Vec<String> {
        line.split_whitespace().map(|word| word.replace("{arch}", arch)).collect()
    }
}

/// The files of a folder with their contents; none when there is no such folder.
fn files(folder: &Path) -> Result<Files, String> {
    if !folder.exists() {
        return Ok(Files::new());
    }
    let mut files = Files::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_file()) {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        files.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes);
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
