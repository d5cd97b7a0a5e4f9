//! The release of the library that programs get: its version, its words, and the files that it makes.
//!
//! Without a word it is the newest of CUDA 13, or of CUDA 12 where this library takes that one's place (the feature `cuda12`). A
//! variable asks for another, and for its own bytes.

use cuweld::release::{Release, Tool, ToolBuild};

/// The variables that name the tool whose images to make, as in `nvjitlink-13.4.92`, so that they can be compared with that tool's.
const COMPATIBILITY_VARIABLES: [&str; 2] = ["CUWELD_COMPAT", "CUWELD_NOTE_AS"];

/// What the variables name, and which.
fn named() -> Option<(&'static str, String)> {
    let value = |name: &&'static str| Some((*name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
    COMPATIBILITY_VARIABLES.iter().find_map(value)
}

/// What is wrong with them: a tool that nobody knows.
pub fn unknown_tool() -> Option<String> {
    let (variable, name) = named().filter(|(_, name)| ToolBuild::by_name(name).is_none())?;
    let known = Tool::NvJitLink.build_names().join(", ");
    Some(format!("'{name}' is no value of the environment variable {variable}; possible values are {known}"))
}

/// The build of libnvJitLink whose images are to come out.
pub fn imitated() -> Option<ToolBuild> {
    let (_, named) = named()?;
    ToolBuild::by_name(&named).filter(|known| known.tool == Tool::NvJitLink)
}

/// The release whose version and words programs get.
pub fn spoken() -> &'static Release {
    let usual = if cfg!(feature = "cuda12") { Release::cuda_12() } else { Release::newest() };
    imitated().map_or(usual, |known| known.release)
}

/// The oldest release that images are made like: they follow the newest that an input names.
pub fn first() -> &'static Release {
    if cfg!(feature = "cuda12") { Release::cuda_12() } else { Release::oldest() }
}

/// Words that changed from release to release.
pub struct Words {
    /// The first toolkit that says so.
    since: u16,
    /// An object without Mercury code for a target that needs it; `{name}` is the input.
    pub no_mercury: &'static str,
    /// The last word of a link that failed.
    pub finish: &'static str,
    /// Link-time optimization without anything to optimize.
    pub no_module: &'static str,
}

/// The words of all releases, the oldest first.
static WORDS: [Words; 3] = [
    Words {
        since: 0,
        no_mercury: "Mercury or Capmerc target was requested, but SASS input {name} was found.",
        finish: "finish",
        no_module: "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM",
    },
    Words {
        since: 131,
        no_mercury: "Target binary format and input ({name}) binary format mismatch",
        finish: "complete",
        no_module: "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram: no input files compiled with LTO support (-dlto or \
                    -lto) found, cannot proceed with -lto option",
    },
    Words {
        since: 134,
        no_mercury: "Target binary format and input ({name}) binary format mismatch",
        finish: "complete",
        no_module: "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram callback",
    },
];

/// The words of a release.
pub fn words(release: &Release) -> &'static Words {
    let said = WORDS.iter().rev().find(|words| words.since <= release.toolkit);
    said.unwrap_or(&WORDS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_release() {
        for (name, finish, starts) in
            [("13.0", "finish", "ERROR in"), ("13.3", "complete", "ERROR NVVM"), ("13.4", "complete", "ERROR NVVM")]
        {
            let release = Release::by_name(name).expect("a known release");
            assert_eq!(words(release).finish, finish, "{name}");
            assert!(words(release).no_module.starts_with(starts), "{name}");
        }
        assert!(WORDS.windows(2).all(|pair| pair[0].since < pair[1].since));
    }
}
