//! Links files to a file, for build scripts.

use crate::archive::archive;
use crate::{Bundle, Machine, Program, Visibility, link_each};
use cubin::target::Target;
use cuweld::diagnostics::{Diagnostic, Entry, Renderer, Report, Style};
use cuweld::inputs::lower::Compilers;
use cuweld::inputs::{OpenInputs, RawInput, Unknown};
use cuweld::options::OnEmpty;
use cuweld::{Demand, Request};
use fatbin::write::{Settings, Unfit};
use std::io;
use std::path::{Path, PathBuf};

/// A device link that is being prepared.
#[derive(Clone, Debug)]
pub struct DeviceLink {
    targets: Vec<String>,
    inputs: Vec<PathBuf>,
    runtime: Option<PathBuf>,
    machine: Option<Machine>,
    visibility: Visibility,
}

/// Why there is no device link.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such target.
    #[error("'{0}' is no GPU to link for, such as sm_90")]
    UnknownTarget(String),
    /// A file can not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The inputs make no program. What there is to say about it.
    #[error("{0}")]
    Link(String),
    /// A program can not be put into a fatbin.
    #[error("the linked code can not be bundled: {0}")]
    Bundle(#[from] Unfit),
    /// It is not a build script that asks for a library.
    #[error("OUT_DIR is not set: this is for build scripts")]
    NoBuildScript,
}

impl DeviceLink {
    /// A link for some GPUs: `sm_90`.
    pub fn new<Name: Into<String>>(targets: impl IntoIterator<Item = Name>) -> Self {
        DeviceLink {
            targets: targets.into_iter().map(Into::into).collect(),
            inputs: Vec::new(),
            runtime: None,
            machine: None,
            visibility: Visibility::Default,
        }
    }

    /// Adds an object, or an archive of objects.
    #[must_use]
    pub fn input(mut self, path: impl Into<PathBuf>) -> Self {
        self.inputs.push(path.into());
        self
    }

    /// Sets the toolkit's `libcudadevrt.a`. It takes part only if it is needed: by kernels that launch kernels, or wait for all blocks.
    #[must_use]
    pub fn runtime(mut self, path: impl Into<PathBuf>) -> Self {
        self.runtime = Some(path.into());
        self
    }

    /// Sets the host's processor; by default the inputs'.
    #[must_use]
    pub fn machine(mut self, machine: Machine) -> Self {
        self.machine = Some(machine);
        self
    }

    /// Sets whether units of other shared libraries may register through the object.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Links, and writes the host object.
    ///
    /// # Errors
    /// When a file can not be read or written, or the inputs make no program for one of the targets.
    pub fn to_object(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let (object, _) = self.link()?;
        write(path.as_ref(), &object)
    }

    /// Links, writes the host object into a library, and tells cargo to link it: for build scripts.
    ///
    /// # Errors
    /// As for [`to_object`](Self::to_object); and when the environment is not that of a build script.
    #[allow(clippy::print_stdout, reason = "that is how build scripts speak with cargo")]
    pub fn to_library(&self, name: &str) -> Result<(), Error> {
        let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(Error::NoBuildScript)?);
        let (object, definitions) = self.link()?;
        write(&folder.join(format!("lib{name}.a")), &archive("dlink.o", &object, &definitions))?;
        for input in self.inputs.iter().chain(&self.runtime) {
            println!("cargo::rerun-if-changed={}", input.display());
        }
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static={name}");
        Ok(())
    }

    /// The host object, and the functions that it defines.
    fn link(&self) -> Result<(Vec<u8>, Vec<String>), Error> {
        let find = |name: &String| Target::by_name(name).ok_or_else(|| Error::UnknownTarget(name.clone()));
        let targets: Vec<&'static Target> = self.targets.iter().map(find).collect::<Result<_, _>>()?;
        let read = |path: &PathBuf| std::fs::read(path).map_err(|error| Error::File { path: path.clone(), error });
        let paths: Vec<&PathBuf> = self.inputs.iter().chain(&self.runtime).collect();
        let files: Vec<Vec<u8>> = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        let raw: Vec<RawInput<'_>> = paths
            .iter()
            .zip(&files)
            .map(|(path, bytes)| RawInput {
                demand: if self.runtime.as_ref() == Some(*path) { Demand::Runtime } else { Demand::Always },
                ..RawInput::new(path.to_string_lossy(), bytes)
            })
            .collect();
        let renderer = Renderer { style: Style::Rich, tool: "cuweld".into(), target: None };
        let inputs = OpenInputs::open(&raw, Unknown::Refuse)
            .map_err(|message| Error::Link(renderer.render(&Entry::Diagnostic(Diagnostic::new(*message)))))?;
        let request = |target| {
            let mut request = Request::new(target);
            request.compile.explain_undefined = true;
            request.options.on_empty = OnEmpty::RefuseOtherTargets;
            (request, Report::default(), ())
        };
        let requests = targets.into_iter().map(request).collect();
        let mut programs: Vec<Program> = Vec::new();
        let mut said = String::new();
        let mut failed = false;
        for (result, report, ()) in link_each(&inputs, requests, &Compilers::NONE) {
            said.extend(report.entries().iter().map(|entry| renderer.render(entry)));
            match result {
                Ok(program) => programs.push(program),
                Err(_) => failed = true,
            }
        }
        if failed {
            return Err(Error::Link(said));
        }
        let bundle = Bundle::new(&programs, Settings::default())?.with_entries(inputs.host_entries());
        let machine = self.machine.or_else(|| inputs.host_machine().and_then(Machine::by_number)).unwrap_or(own_machine());
        let mut object = Vec::new();
        // Writing into memory does not fail.
        _ = bundle.write_object(machine, self.visibility, &mut object);
        let definitions = bundle.modules().iter().map(|id| format!("__cudaRegisterLinkedBinary{id}")).collect();
        Ok((object, definitions))
    }
}

/// The processor that this runs on, as far as it is known.
fn own_machine() -> Machine {
    if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|error| Error::File { path: path.to_owned(), error })
}
