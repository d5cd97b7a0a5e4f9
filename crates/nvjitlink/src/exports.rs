//! The C interface: which functions there are, and under which names.
//!
//! Nothing that a program passes is believed further than it has to be. A pointer that is null and a handle that is none are told; no
//! panic gets out. What can not be told is left to the caller, as in every C interface: that a pointer which is not null points to as
//! much as it should. That is what the word "unsafe" stands for below.

#![allow(unsafe_code, reason = "this is a C interface")]

#[cfg(windows)]
mod windows;

#[cfg(unix)]
use crate::forks;
use crate::handles;
use crate::release;
use crate::result::Outcome;
use crate::session::{Asked, Session};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Once, PoisonError};

/// What programs hold of a link. See [`handles`].
type Handle = *mut c_void;

/// Makes functions known under all the names that programs look for: the plain one, and one per version of the interface, which the
/// inline functions of C headers call.
///
/// The names are labels in assembler, and not attributes of the functions, because the compiler would export the latter without the
/// version that `exports.map` gives them.
#[cfg(not(windows))]
macro_rules! export {
    ($( $name:literal => $function:path; )*) => { $(
        std::arch::global_asm!(
            ".text",
            concat!(".globl nvJitLink", $name),
            concat!(".type nvJitLink", $name, ",@function"),
            concat!("nvJitLink", $name, ":"),
            ".irp minor,0,1,2,3,4,5,6,7,8,9",
            concat!(".globl __nvJitLink", $name, major!(), "\\minor"),
            concat!(".type __nvJitLink", $name, major!(), "\\minor,@function"),
            concat!("__nvJitLink", $name, major!(), "\\minor:"),
            ".endr",
            // For the library itself, which by the other names might find another library.
            concat!(".globl cuweld_own_", $name),
            concat!(".hidden cuweld_own_", $name),
            concat!("cuweld_own_", $name, ":"),
            jump!(),
            function = sym $function
        );
    )* };
}

/// The major version that names end in.
#[cfg(not(any(windows, feature = "cuda12")))]
macro_rules! major {
    () => {
        "_13_"
    };
}

/// The major version that names end in.
#[cfg(all(not(windows), feature = "cuda12"))]
macro_rules! major {
    () => {
        "_12_"
    };
}

/// A jump to the function.
#[cfg(all(target_arch = "x86_64", not(windows)))]
macro_rules! jump {
    () => {
        "jmp {function}"
    };
}

/// A jump to the function.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {function}"
    };
}

#[cfg(not(windows))]
export! {
    "Create" => create;
    "Destroy" => destroy;
    "AddData" => add_data;
    "AddFile" => add_file;
    "Complete" => complete;
    "GetLinkedCubinSize" => linked_cubin_size;
    "GetLinkedCubin" => linked_cubin;
    "GetLinkedPtxSize" => linked_ptx_size;
    "GetLinkedPtx" => linked_ptx;
    "GetLinkedLTOIRSize" => linked_ltoir_size;
    "GetLinkedLTOIR" => linked_ltoir;
    "GetErrorLogSize" => error_log_size;
    "GetErrorLog" => error_log;
    "GetInfoLogSize" => info_log_size;
    "GetInfoLog" => info_log;
    "Version" => version;
}

// A name that libraries of the vendor's look for. What it is for is not documented; there, too, it gives nothing.
#[cfg(not(windows))]
std::arch::global_asm!(
    ".text",
    ".globl __nvJitLinkAPI",
    ".type __nvJitLinkAPI,@function",
    "__nvJitLinkAPI:",
    jump!(),
    function = sym undocumented
);

thread_local! {
    /// What the last panic of this thread said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from printing: this is somebody else's process. The library has a standard library of its own, so nobody else's panics
/// are meant.
fn keep_panics_quiet() {
    if cfg!(test) {
        return;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            // The text is gone if it is wanted while it is written.
            _ = PANIC.try_with(|text| text.try_borrow_mut().map(|mut text| *text = panic.to_string()));
        }));
    });
}

/// Ends a function that the program called: with a number, whatever happens.
fn boundary(function: impl FnOnce() -> Outcome) -> c_int {
    keep_panics_quiet();
    #[cfg(unix)]
    forks::expect();
    // What a function leaves behind when it panics is a link, which is given up in `with_session`.
    catch_unwind(AssertUnwindSafe(function)).unwrap_or(Outcome::Internal).number()
}

/// Runs a function on the link of a handle.
fn with_session(handle: Handle, function: impl FnOnce(&mut Session) -> Outcome) -> c_int {
    boundary(|| {
        let Some(session) = handles::find(handle.addr()) else { return Outcome::NullInput };
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        match catch_unwind(AssertUnwindSafe(|| function(&mut session))) {
            Ok(outcome) => outcome,
            Err(_) => {
                session.give_up(&PANIC.with(RefCell::take));
                Outcome::Internal
            }
        }
    })
}

/// A text that a program passes; none for null.
///
/// # Safety
/// A pointer that is not null is to a text that NUL ends, and that nobody changes meanwhile.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for it.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// # Safety
/// Pointers that are not null are to a handle that can be written, and to `count` texts.
unsafe extern "C" fn create(handle: *mut Handle, count: u32, options: *const *const c_char) -> c_int {
    boundary(|| {
        if handle.is_null() || options.is_null() {
            return Outcome::NullInput;
        }
        let read = |index: usize| {
            // SAFETY: there are `count` texts, and `index` is below that.
            unsafe { text(*options.add(index)) }
        };
        let Some(options) = (0..count as usize).map(read).collect::<Option<Vec<String>>>() else { return Outcome::NullInput };
        let (session, outcome) = Session::create(&options, own_create());
        // SAFETY: the pointer is not null, and the caller vouches that it is to a handle.
        unsafe { handle.write(std::ptr::without_provenance_mut(handles::insert(session))) };
        outcome
    })
}

/// Where this library's own `nvJitLinkCreate` is.
fn own_create() -> usize {
    unsafe extern "C" {
        safe static cuweld_own_Create: u8;
    }
    (&raw const cuweld_own_Create).addr()
}

/// # Safety
/// A pointer that is not null is to a handle that can be read and written.
unsafe extern "C" fn destroy(handle: *mut Handle) -> c_int {
    boundary(|| {
        if handle.is_null() {
            return Outcome::NullInput;
        }
        // SAFETY: the pointer is not null, and the caller vouches that it is to a handle.
        let number = unsafe { handle.read() }.addr();
        if !handles::remove(number) {
            return Outcome::NullInput;
        }
        // SAFETY: the same.
        unsafe { handle.write(std::ptr::null_mut()) };
        Outcome::Success
    })
}

/// # Safety
/// Pointers that are not null are to `size` bytes, and to a text.
unsafe extern "C" fn add_data(handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char) -> c_int {
    with_session(handle, |session| {
        if size == 0 {
            return Outcome::InvalidInput;
        }
        if data.is_null() || isize::try_from(size).is_err() {
            return Outcome::NullInput;
        }
        // SAFETY: the pointer is not null, the size is one that memory can have, and the caller vouches for the rest.
        let (bytes, name) = unsafe { (std::slice::from_raw_parts(data.cast::<u8>(), size), text(name)) };
        session.add(kind, bytes, name.as_deref())
    })
}

/// # Safety
/// A pointer that is not null is to a text.
unsafe extern "C" fn add_file(handle: Handle, kind: c_int, name: *const c_char) -> c_int {
    // SAFETY: the caller vouches for it.
    let name = unsafe { text(name) };
    with_session(handle, |session| match &name {
        Some(name) => session.add_file(kind, name),
        None => Outcome::NullInput,
    })
}

extern "C" fn complete(handle: Handle) -> c_int {
    with_session(handle, Session::complete)
}

/// Writes the size of something that is asked for.
///
/// # Safety
/// A pointer that is not null is to a size that can be written.
unsafe fn size_of(handle: Handle, asked: Asked, size: *mut usize) -> c_int {
    with_session(handle, |session| {
        if size.is_null() {
            return Outcome::NullInput;
        }
        match session.get(asked) {
            Ok(bytes) => {
                // SAFETY: the pointer is not null, and the caller vouches for the rest.
                unsafe { size.write(asked.counted(bytes.len())) };
                Outcome::Success
            }
            Err(outcome) => outcome,
        }
    })
}

/// Copies something that is asked for.
///
/// # Safety
/// A pointer that is not null is to as many bytes as the size that the library gives.
unsafe fn copy_of(handle: Handle, asked: Asked, buffer: *mut u8) -> c_int {
    with_session(handle, |session| {
        if buffer.is_null() {
            return Outcome::NullInput;
        }
        match session.get(asked) {
            Ok(bytes) => {
                let size = asked.counted(bytes.len());
                // SAFETY: the pointer is not null, and the caller vouches that there is room for as much as was counted; what is there
                // is not ours.
                unsafe { buffer.copy_from_nonoverlapping(bytes.as_ptr(), size) };
                Outcome::Success
            }
            Err(outcome) => outcome,
        }
    })
}

/// The pairs of functions that get something: its size, and itself.
macro_rules! getters {
    ($( $size:ident $copy:ident $asked:ident; )*) => { $(
        /// # Safety
        /// As for [`size_of`].
        unsafe extern "C" fn $size(handle: Handle, size: *mut usize) -> c_int {
            // SAFETY: the caller vouches for it.
            unsafe { size_of(handle, Asked::$asked, size) }
        }

        /// # Safety
        /// As for [`copy_of`].
        unsafe extern "C" fn $copy(handle: Handle, buffer: *mut u8) -> c_int {
            // SAFETY: the caller vouches for it.
            unsafe { copy_of(handle, Asked::$asked, buffer) }
        }
    )* };
}

getters! {
    linked_cubin_size linked_cubin Cubin;
    linked_ptx_size linked_ptx Ptx;
    linked_ltoir_size linked_ltoir LtoIr;
    error_log_size error_log ErrorLog;
    info_log_size info_log InfoLog;
}

/// # Safety
/// Pointers that are not null are to numbers that can be written.
unsafe extern "C" fn version(major: *mut c_uint, minor: *mut c_uint) -> c_int {
    if major.is_null() || minor.is_null() {
        return Outcome::NullInput.number();
    }
    let toolkit = c_uint::from(release::spoken().toolkit);
    // SAFETY: the pointers are not null, and the caller vouches for the rest.
    unsafe {
        major.write(toolkit / 10);
        minor.write(toolkit % 10);
    }
    Outcome::Success.number()
}

extern "C" fn undocumented() -> *mut c_void {
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_result() {
        assert_eq!(boundary(|| panic!("on purpose")), Outcome::Internal.number());
        let number = handles::insert(Session::create(&["-arch=sm_90".to_owned()], 0).0);
        let handle = std::ptr::without_provenance_mut(number);
        assert_eq!(with_session(handle, |_| panic!("on purpose")), Outcome::Internal.number());
        // The link is over, and its log says so.
        assert_eq!(complete(handle), Outcome::Internal.number());
        let mut size = 0;
        // SAFETY: the size can be written.
        assert_eq!(unsafe { error_log_size(handle, &raw mut size) }, Outcome::Success.number());
        assert!(size > 1);
        assert!(handles::remove(number));
    }
}
