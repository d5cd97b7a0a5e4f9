//! The names that the library exports on Windows: those of nvJitLink_130_0.dll, which has no versions of names.
//!
//! Nothing but labels in assembler, as on other systems, and words for the linker that say which of them to export.

#![allow(unsafe_code, reason = "names for a C interface are made in assembler")]

/// Exports a function under these names.
macro_rules! export {
    ($( $function:ident: $($name:literal),+; )*) => { $(
        std::arch::global_asm!(
            ".text",
            $( concat!(".globl ", $name), concat!($name, ":"), )+
            "jmp {function}",
            ".section .drectve,\"yn\"",
            $( concat!(".ascii \" -export:", $name, "\""), )+
            ".text",
            function = sym super::$function
        );
    )* };
}

// For the library itself, which by the other names might find another library.
std::arch::global_asm!(".text", ".globl cuweld_own_Create", "cuweld_own_Create:", "jmp {function}", function = sym super::create);

export! {
    create: "nvJitLinkCreate", "__nvJitLinkCreate_13_0";
    destroy: "nvJitLinkDestroy", "__nvJitLinkDestroy_13_0";
    add_data: "nvJitLinkAddData", "__nvJitLinkAddData_13_0";
    add_file: "nvJitLinkAddFile", "__nvJitLinkAddFile_13_0";
    complete: "nvJitLinkComplete", "__nvJitLinkComplete_13_0";
    linked_cubin_size: "nvJitLinkGetLinkedCubinSize", "__nvJitLinkGetLinkedCubinSize_13_0";
    linked_cubin: "nvJitLinkGetLinkedCubin", "__nvJitLinkGetLinkedCubin_13_0";
    linked_ptx_size: "nvJitLinkGetLinkedPtxSize", "__nvJitLinkGetLinkedPtxSize_13_0";
    linked_ptx: "nvJitLinkGetLinkedPtx", "__nvJitLinkGetLinkedPtx_13_0";
    error_log_size: "nvJitLinkGetErrorLogSize", "__nvJitLinkGetErrorLogSize_13_0";
    error_log: "nvJitLinkGetErrorLog", "__nvJitLinkGetErrorLog_13_0";
    info_log_size: "nvJitLinkGetInfoLogSize", "__nvJitLinkGetInfoLogSize_13_0";
    info_log: "nvJitLinkGetInfoLog", "__nvJitLinkGetInfoLog_13_0";
    version: "nvJitLinkVersion";
    undocumented: "__nvJitLinkAPI";
}
