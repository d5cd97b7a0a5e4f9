//! The compilers of an installed CUDA toolkit, for links that need them.
//!
//! PTX and intermediate code can be turned into machine code only by NVIDIA's own tools. This crate finds them where they are
//! installed ([`Search`]) and uses what is public of them: the program `ptxas` and the library `libnvJitLink` ([`Assembler`],
//! [`Optimizer`]). Nothing is looked for until it is needed. [`ToolkitCompilers`] is what the linker takes; [`Setup`] says how they
//! are run: in a process that can crash without harm ([`Worker`]), so many at a time ([`Jobs`]), and only if the result is not there
//! already ([`Cache`]).

mod assembler;
mod cache;
mod compilers;
mod job;
mod jobs;
mod library;
mod optimizer;
mod search;
mod worker;

pub use assembler::Assembler;
pub use cache::Cache;
pub use compilers::{Compilation, Event, Observer, Setup, Stage, ToolkitCompilers};
pub use jobs::Jobs;
pub use jobserver;
pub use optimizer::Optimizer;
pub use search::{Place, Search};
pub use worker::{WORD as WORKER_WORD, Worker, serve};

/// The lines of a text.
fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// Makes a folder under a name that nobody can foresee, which only the user can enter.
fn private_folder() -> std::io::Result<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.prefix("cuweld-").tempdir()
}
