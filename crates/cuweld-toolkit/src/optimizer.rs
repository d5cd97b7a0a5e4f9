//! `libnvJitLink`: compiles LTO-IR to PTX.
//!
//! Only the public interface is used, and only the few functions that this takes. The library is loaded at run time, so that
//! nobody who does not optimize at link time needs it.

#![allow(unsafe_code, reason = "a C library is called")]

use crate::private_folder;
use crate::worker::{Failure, Worker};
use cuweld::inputs::lower::{CompilerError, IntermediateModule, Optimization, Optimized};
use libloading::Library;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io, ptr};

/// The optimizer.
#[derive(Debug)]
pub struct Optimizer {
    path: PathBuf,
    /// The library, once it is used in this process.
    loaded: OnceLock<Result<Loaded, CompilerError>>,
}

/// The library in this process.
#[derive(Debug)]
struct Loaded {
    functions: Functions,
    /// Holds the functions.
    _library: Library,
}

/// What the library knows a session by.
type Handle = *mut c_void;

/// The result of every function; 0 is success.
type Status = c_int;

type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type GetText = unsafe extern "C" fn(Handle, *mut c_char) -> Status;

/// The library's numbers of the kinds of input.
const KIND_LTOIR: c_int = 3;
const KIND_FATBIN: c_int = 4;

#[derive(Debug)]
struct Functions {
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Handle) -> Status,
    add_data: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> Status,
    complete: unsafe extern "C" fn(Handle) -> Status,
    ptx: (GetSize, GetText),
    /// Not in every version of the library.
    linked: Option<(GetSize, GetText)>,
    errors: (GetSize, GetText),
}

impl Optimizer {
    pub(crate) fn new(path: PathBuf) -> Self {
        Optimizer { path, loaded: OnceLock::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the library's function `nvJitLinkCreate` is, by which it can be told from others of the same name.
    pub(crate) fn address(&self) -> Result<usize, CompilerError> {
        self.loaded().map(|loaded| loaded.functions.create as usize)
    }

    fn loaded(&self) -> Result<&Loaded, CompilerError> {
        self.loaded.get_or_init(|| Loaded::load(&self.path)).as_ref().map_err(Clone::clone)
    }

    /// Makes one PTX text of all modules: under the worker if there is one, else in this process.
    pub(crate) fn optimize(&self, optimization: &Optimization<'_>, worker: Option<&Worker>) -> Result<Optimized, CompilerError> {
        match worker {
            None => self.loaded()?.optimize(optimization, |_| ()),
            Some(worker) => {
                let unusable =
                    |error: io::Error| CompilerError::Unusable(format!("'{}' could not be used: {error}", self.path.display()));
                Job::run(&self.path, optimization, worker).map_err(unusable)?
            }
        }
    }
}

/// What a worker is to do, as it stands in the folder of the job beside the modules.
#[derive(Serialize, Deserialize)]
struct Job {
    arguments: Vec<String>,
    modules: Vec<Module>,
}

#[derive(Serialize, Deserialize)]
struct Module {
    name: String,
    bare: bool,
}

/// The files of a job, but for its modules.
const JOB: &str = "job.json";
const OPTIMIZED: &str = "optimized";
const LINKED: &str = "linked";
const LOG: &str = "log";
const AT: &str = "at";

/// How a job ends that came to nothing: the code was refused, or the library could not be used.
const REFUSED: i32 = 1;
const UNUSABLE: i32 = 2;

impl Job {
    /// The file of a module.
    fn module(folder: &Path, index: usize) -> PathBuf {
        folder.join(format!("module-{index}"))
    }

    /// Has a worker do it.
    fn run(library: &Path, optimization: &Optimization<'_>, worker: &Worker) -> io::Result<Result<Optimized, CompilerError>> {
        let folder = private_folder()?;
        let modules = optimization.modules.iter().map(|module| Module { name: module.name.to_owned(), bare: module.bare });
        let job = Job { arguments: optimization.arguments.clone(), modules: modules.collect() };
        fs::write(folder.path().join(JOB), serde_json::to_vec(&job)?)?;
        for (index, module) in optimization.modules.iter().enumerate() {
            fs::write(Job::module(folder.path(), index), module.data)?;
        }
        let done = worker.optimize(folder.path(), &std::path::absolute(library)?)?;
        let read = |name: &str| fs::read(folder.path().join(name));
        let log = || read(LOG).map(|log| String::from_utf8_lossy(&log).into_owned());
        Ok(match done.failure {
            None => Ok(Optimized { text: read(OPTIMIZED)?, linked: read(LINKED).ok() }),
            Some(Failure::Status(REFUSED)) => Err(CompilerError::Refused(log()?)),
            Some(Failure::Status(_)) => Err(CompilerError::Unusable(log()?)),
            Some(Failure::Unstarted(why)) => Err(CompilerError::Unusable(why)),
            Some(Failure::Crash(how)) => {
                let module = fs::read_to_string(folder.path().join(AT)).ok().and_then(|at| at.parse().ok());
                Err(CompilerError::Crashed { how: format!("'{}' crashed ({how})", library.display()), module })
            }
        })
    }
}

/// What a worker does: the job in `folder`. Gives the status to end with.
pub(crate) fn serve(folder: &Path, library: &Path) -> io::Result<i32> {
    let job: Job = serde_json::from_slice(&fs::read(folder.join(JOB))?)?;
    let data: Vec<Vec<u8>> =
        (0..job.modules.len()).map(|index| fs::read(Job::module(folder, index))).collect::<io::Result<_>>()?;
    let modules =
        job.modules.iter().zip(&data).map(|(module, data)| IntermediateModule { name: &module.name, data, bare: module.bare });
    let optimization = Optimization { name: "", modules: modules.collect(), arguments: job.arguments };
    // So that the parent of a worker that died knows where it was.
    let at = |index: Option<usize>| _ = fs::write(folder.join(AT), index.map_or_else(String::new, |index| index.to_string()));
    match Loaded::load(library).and_then(|loaded| loaded.optimize(&optimization, at)) {
        Ok(Optimized { text, linked }) => {
            fs::write(folder.join(OPTIMIZED), text)?;
            linked.map_or(Ok(()), |linked| fs::write(folder.join(LINKED), linked))?;
            Ok(0)
        }
        Err(CompilerError::Refused(log)) => fs::write(folder.join(LOG), log).map(|()| REFUSED),
        Err(error) => fs::write(folder.join(LOG), error.to_string()).map(|()| UNUSABLE),
    }
}

impl Loaded {
    /// Loads the library.
    fn load(path: &Path) -> Result<Self, CompilerError> {
        let unusable =
            |error: libloading::Error| CompilerError::Unusable(format!("'{}' could not be loaded: {error}", path.display()));
        if cfg!(all(target_os = "linux", target_feature = "crt-static")) {
            let text = "this is the static build of cuweld, which can not load libnvJitLink and so compiles no intermediate code: \
                        use the build for the system's C library";
            return Err(CompilerError::Unusable(text.to_owned()));
        }
        // SAFETY: the file is the CUDA toolkit's library, which the user has installed and trusts as much as its programs. Loading
        // it runs its initializers, as starting a program that is linked with it would.
        let library = unsafe { open(path) }.map_err(unusable)?;
        // SAFETY: the types are those that the library's public header gives the functions of these names.
        let functions = unsafe {
            Functions {
                create: *library.get(b"nvJitLinkCreate\0").map_err(unusable)?,
                destroy: *library.get(b"nvJitLinkDestroy\0").map_err(unusable)?,
                add_data: *library.get(b"nvJitLinkAddData\0").map_err(unusable)?,
                complete: *library.get(b"nvJitLinkComplete\0").map_err(unusable)?,
                ptx: (
                    *library.get(b"nvJitLinkGetLinkedPtxSize\0").map_err(unusable)?,
                    *library.get(b"nvJitLinkGetLinkedPtx\0").map_err(unusable)?,
                ),
                linked: match (library.get(b"nvJitLinkGetLinkedLTOIRSize\0"), library.get(b"nvJitLinkGetLinkedLTOIR\0")) {
                    (Ok(size), Ok(text)) => Some((*size, *text)),
                    _ => None,
                },
                errors: (
                    *library.get(b"nvJitLinkGetErrorLogSize\0").map_err(unusable)?,
                    *library.get(b"nvJitLinkGetErrorLog\0").map_err(unusable)?,
                ),
            }
        };
        Ok(Loaded { functions, _library: library })
    }

    /// Makes one PTX text of all modules. `at` is told which module is read next, and when all were.
    fn optimize(&self, optimization: &Optimization<'_>, at: impl Fn(Option<usize>)) -> Result<Optimized, CompilerError> {
        let text = |text: &str| CString::new(text).map_err(|_| CompilerError::Unusable(format!("'{text}' contains a NUL")));
        let arguments: Vec<CString> = optimization.arguments.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?;
        let session = Session::new(&self.functions, &arguments)?;
        for (index, module) in optimization.modules.iter().enumerate() {
            at(Some(index));
            let kind = if module.bare { KIND_LTOIR } else { KIND_FATBIN };
            session.add(kind, module.data, &text(module.name)?)?;
        }
        at(None);
        session.complete()
    }
}

/// Loads a library so that it uses its own functions, and not those of the same name that the process has already. It is never
/// unloaded: loading it again for every link would take longer than many links.
#[cfg(target_os = "linux")]
unsafe fn open(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};
    const RTLD_DEEPBIND: c_int = 0x8;
    const RTLD_NODELETE: c_int = 0x1000;
    // SAFETY: the caller vouches for the file.
    unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE) }.map(Library::from)
}

/// Loads a library.
#[cfg(not(target_os = "linux"))]
unsafe fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the caller vouches for the file.
    unsafe { Library::new(path) }
}

/// One use of the library.
struct Session<'library> {
    functions: &'library Functions,
    handle: Handle,
}

impl<'library> Session<'library> {
    fn new(functions: &'library Functions, arguments: &[CString]) -> Result<Self, CompilerError> {
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = u32::try_from(pointers.len()).map_err(|_| CompilerError::Unusable("too many arguments".to_owned()))?;
        let mut session = Session { functions, handle: ptr::null_mut() };
        // SAFETY: the handle and `count` pointers to texts that end with NUL outlive the call, which keeps none of them.
        let status = unsafe { (functions.create)(&raw mut session.handle, count, pointers.as_ptr()) };
        session.check(status)?;
        Ok(session)
    }

    fn add(&self, kind: c_int, data: &[u8], name: &CString) -> Result<(), CompilerError> {
        // SAFETY: the handle is a session that `create` made; the data and the name are read during the call only.
        let status = unsafe { (self.functions.add_data)(self.handle, kind, data.as_ptr().cast(), data.len(), name.as_ptr()) };
        self.check(status)
    }

    fn complete(&self) -> Result<Optimized, CompilerError> {
        // SAFETY: the handle is a session that `create` made.
        let status = unsafe { (self.functions.complete)(self.handle) };
        self.check(status)?;
        let linked = self.functions.linked.and_then(|functions| self.bytes(functions));
        match self.text(self.functions.ptx) {
            Some(text) => Ok(Optimized { text, linked }),
            None => Err(CompilerError::Unusable("libnvJitLink gave no PTX".to_owned())),
        }
    }

    /// A text that the library has, up to the NUL that ends it.
    fn text(&self, functions: (GetSize, GetText)) -> Option<Vec<u8>> {
        let mut text = self.bytes(functions)?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        text.truncate(end);
        Some(text)
    }

    /// Something that the library has.
    fn bytes(&self, (get_size, get_text): (GetSize, GetText)) -> Option<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the handle is a session that `create` made, and the size outlives the call.
        if unsafe { get_size(self.handle, &raw mut size) } != 0 {
            return None;
        }
        let mut text = vec![0_u8; size];
        // SAFETY: the same, and the buffer has the size that the library has just asked for.
        if size > 0 && unsafe { get_text(self.handle, text.as_mut_ptr().cast()) } != 0 {
            return None;
        }
        Some(text)
    }

    fn check(&self, status: Status) -> Result<(), CompilerError> {
        if status == 0 {
            return Ok(());
        }
        let log = match self.handle.is_null() {
            true => None,
            false => self.text(self.functions.errors),
        };
        match log.filter(|log| !log.is_empty()) {
            Some(log) => Err(CompilerError::Refused(String::from_utf8_lossy(&log).into_owned())),
            None => Err(CompilerError::Unusable(format!("libnvJitLink failed with status {status}"))),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is a session that `create` made, and nobody uses it after this.
            unsafe { (self.functions.destroy)(&raw mut self.handle) };
        }
    }
}
