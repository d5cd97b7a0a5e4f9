//! A library with the name and interface of NVIDIA's libnvJitLink that links with cuweld.
//!
//! Programs that link GPU code while they run load `libnvJitLink.so.13`. This is such a library, over [`cuweld::Linker`]: what is here
//! is a C interface, and what only that needs. `session` says what each function does, `exports` is the interface itself; it and
//! `forks` are the only places with code that the compiler can not vouch for.
//!
//! PTX and intermediate code are compiled by an installed CUDA toolkit: PTX by its `ptxas`, intermediate code by its own libnvJitLink.
//!
//! Global state: the table of handles that are in use, and the threads that links share (`handles`, `threads`). A fork
//! leaves both usable (`forks`).

#![cfg(any(target_os = "linux", windows))]
#![allow(non_snake_case, reason = "the file is to be called libnvJitLink.so")]
#![cfg_attr(windows, allow(dead_code, reason = "there, processes are not forked, and the library has fewer functions"))]

mod architecture;
mod exports;
#[cfg(unix)]
mod forks;
mod handles;
mod kind;
mod logs;
mod options;
mod release;
mod result;
mod session;
mod threads;
