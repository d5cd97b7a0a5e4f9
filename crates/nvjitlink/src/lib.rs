//! A library with the name and interface of NVIDIA's libnvJitLink that links with cuweld.
//!
//! Programs that link GPU code while they run load `libnvJitLink.so.13`. This is such a library, over [`cuweld::Linker`]: what is here
//! is a C interface, and what only that needs. `session` says what each function does, `exports` is the interface itself; it,
//! `forks` and `memory` are the only places with code that the compiler can not vouch for.
//!
//! PTX and intermediate code are compiled by an installed CUDA toolkit: PTX by its `ptxas`, intermediate code by its own libnvJitLink.
//!
//! Global state: the table of handles that are in use, the threads that links share, and a reserve of memory (`handles`, `threads`,
//! `memory`). A fork leaves all usable (`forks`).

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
mod memory;
mod options;
mod release;
mod result;
mod session;
mod threads;
