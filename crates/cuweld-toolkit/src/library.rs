//! `libnvJitLink`: compiles LTO-IR to PTX, and PTX to machine code where there is no `ptxas`.
//!
//! Only the public interface is used, and only the few functions that this takes. The library is loaded at run time, so that
//! nobody who compiles nothing needs it.

#![allow(unsafe_code, reason = "a C library is called")]

use crate::job;
use crate::worker::Worker;
use cuweld::inputs::lower::CompilerError;
use libloading::Library as Handles;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{io, ptr};

/// Whether this program can load no library, since it has the C library in itself.
pub(crate) const IS_STATIC: bool = cfg!(all(target_os = "linux", target_feature = "crt-static"));

/// The library.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    /// The library, once it is used in this process.
    loaded: OnceLock<Result<Loaded, CompilerError>>,
}

/// The library in this process.
#[derive(Debug)]
pub(crate) struct Loaded {
    functions: Functions,
    /// Holds the functions.
    _library: Handles,
}

/// What the library is to make, and of what.
pub(crate) struct Work<'data> {
    pub(crate) product: Product,
    /// The library's options.
    pub(crate) arguments: Vec<String>,
    pub(crate) modules: Vec<Module<'data>>,
}

/// What the library makes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) enum Product {
    /// A PTX text.
    Ptx,
    /// Machine code.
    Cubin,
}

/// An input of the library.
pub(crate) struct Module<'data> {
    pub(crate) kind: Kind,
    /// The name in messages.
    pub(crate) name: &'data str,
    pub(crate) data: &'data [u8],
}

/// The kinds of input, with the library's numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[repr(i32)]
pub(crate) enum Kind {
    Ptx = 2,
    /// Bare LTO-IR.
    Intermediate = 3,
    Fatbin = 4,
}

/// What the library made.
pub(crate) struct Made {
    /// The product.
    pub(crate) image: Vec<u8>,
    /// LTO-IR of the whole program, where the product is PTX and the library gives it.
    pub(crate) intermediate: Option<Vec<u8>>,
    /// What the library said.
    pub(crate) log: String,
}

/// What the library knows a session by.
type Handle = *mut c_void;

/// The result of every function; 0 is success.
type Status = c_int;

type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type GetText = unsafe extern "C" fn(Handle, *mut c_char) -> Status;

#[derive(Debug)]
struct Functions {
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Handle) -> Status,
    add_data: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> Status,
    complete: unsafe extern "C" fn(Handle) -> Status,
    ptx: (GetSize, GetText),
    cubin: (GetSize, GetText),
    /// Not in every version of the library.
    intermediate: Option<(GetSize, GetText)>,
    errors: (GetSize, GetText),
    infos: (GetSize, GetText),
}

impl Library {
    pub(crate) fn new(path: PathBuf) -> Self {
        Library { path, loaded: OnceLock::new() }
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

    /// Does the work: under the worker if there is one, else in this process.
    pub(crate) fn make(&self, work: &Work<'_>, worker: Option<&Worker>) -> Result<Made, CompilerError> {
        let Some(worker) = worker else { return self.loaded()?.make(work, |_| ()) };
        let unusable =
            |error: io::Error| CompilerError::Unusable(format!("'{}' could not be used: {error}", self.path.display()));
        job::run(&self.path, work, worker).map_err(unusable)?
    }
}

impl Loaded {
    /// Loads the library.
    pub(crate) fn load(path: &Path) -> Result<Self, CompilerError> {
        let unusable =
            |error: libloading::Error| CompilerError::Unusable(format!("'{}' could not be loaded: {error}", path.display()));
        if IS_STATIC {
            return Err(CompilerError::Unusable("a program that is linked statically can not load libnvJitLink".to_owned()));
        }
        // SAFETY: the file is the CUDA toolkit's library, which the user has installed and trusts as much as its programs. Loading
        // it runs its initializers, as starting a program that is linked with it would.
        let library = unsafe { open(path) }.map_err(unusable)?;
        // SAFETY: the types are those that the library's public header gives the functions of these names.
        let functions = unsafe {
            let getters = |size: &[u8], bytes: &[u8]| Ok((*library.get::<GetSize>(size)?, *library.get::<GetText>(bytes)?));
            Functions {
                create: *library.get(b"nvJitLinkCreate\0").map_err(unusable)?,
                destroy: *library.get(b"nvJitLinkDestroy\0").map_err(unusable)?,
                add_data: *library.get(b"nvJitLinkAddData\0").map_err(unusable)?,
                complete: *library.get(b"nvJitLinkComplete\0").map_err(unusable)?,
                ptx: getters(b"nvJitLinkGetLinkedPtxSize\0", b"nvJitLinkGetLinkedPtx\0").map_err(unusable)?,
                cubin: getters(b"nvJitLinkGetLinkedCubinSize\0", b"nvJitLinkGetLinkedCubin\0").map_err(unusable)?,
                intermediate: getters(b"nvJitLinkGetLinkedLTOIRSize\0", b"nvJitLinkGetLinkedLTOIR\0").ok(),
                errors: getters(b"nvJitLinkGetErrorLogSize\0", b"nvJitLinkGetErrorLog\0").map_err(unusable)?,
                infos: getters(b"nvJitLinkGetInfoLogSize\0", b"nvJitLinkGetInfoLog\0").map_err(unusable)?,
            }
        };
        Ok(Loaded { functions, _library: library })
    }

    /// Does the work. `at` is told which module is read next, and when all were.
    pub(crate) fn make(&self, work: &Work<'_>, at: impl Fn(Option<usize>)) -> Result<Made, CompilerError> {
        let text = |text: &str| CString::new(text).map_err(|_| CompilerError::Unusable(format!("'{text}' contains a NUL")));
        let arguments: Vec<CString> = work.arguments.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?;
        let session = Session::new(&self.functions, &arguments)?;
        for (index, module) in work.modules.iter().enumerate() {
            at(Some(index));
            session.add(module.kind, module.data, &text(module.name)?)?;
        }
        at(None);
        session.complete(work.product)
    }
}

/// Loads a library so that it uses its own functions, and not those of the same name that the process has already. It is never
/// unloaded: loading it again for every link would take longer than many links.
#[cfg(target_os = "linux")]
unsafe fn open(path: &Path) -> Result<Handles, libloading::Error> {
    use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};
    const RTLD_DEEPBIND: c_int = 0x8;
    const RTLD_NODELETE: c_int = 0x1000;
    // SAFETY: the caller vouches for the file.
    unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE) }.map(Handles::from)
}

/// Loads a library.
#[cfg(not(target_os = "linux"))]
unsafe fn open(path: &Path) -> Result<Handles, libloading::Error> {
    // SAFETY: the caller vouches for the file.
    unsafe { Handles::new(path) }
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

    fn add(&self, kind: Kind, data: &[u8], name: &CString) -> Result<(), CompilerError> {
        // SAFETY: the handle is a session that `create` made; the data and the name are read during the call only.
        let status =
            unsafe { (self.functions.add_data)(self.handle, kind as c_int, data.as_ptr().cast(), data.len(), name.as_ptr()) };
        self.check(status)
    }

    fn complete(&self, product: Product) -> Result<Made, CompilerError> {
        // SAFETY: the handle is a session that `create` made.
        let status = unsafe { (self.functions.complete)(self.handle) };
        self.check(status)?;
        let (image, intermediate) = match product {
            Product::Ptx => {
                (self.text(self.functions.ptx), self.functions.intermediate.and_then(|functions| self.bytes(functions)))
            }
            Product::Cubin => (self.bytes(self.functions.cubin), None),
        };
        let image = image.ok_or_else(|| CompilerError::Unusable("libnvJitLink gave no result".to_owned()))?;
        let log = self.text(self.functions.infos).unwrap_or_default();
        Ok(Made { image, intermediate, log: String::from_utf8_lossy(&log).into_owned() })
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
