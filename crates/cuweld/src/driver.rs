//! Functions that the driver defines when it loads a program. The reference linker has a fixed list of them.

/// Functions that the driver defines.
const DRIVER_FUNCTIONS: [&str; 32] = [
    "__assertfail",
    "__profile",
    "cnpCtxSynchronize",
    "cnpDeviceGetAttribute",
    "cnpEventCreate",
    "cnpEventDestroy",
    "cnpEventRecord",
    "cnpFuncGetAttribute",
    "cnpGetCacheConfig",
    "cnpGetDevice",
    "cnpGetDeviceCount",
    "cnpGetLastError",
    "cnpGetLimit",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpSetLastError",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cudaGraphKernelNodeSetEnabled",
    "cudaGraphKernelNodeSetGridDim",
    "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply",
    "cudaGraphLaunch",
    "cudaGraphSetConditional",
    "free",
    "malloc",
    "vfprintf",
    "vprintf",
];

/// Every function whose name starts like this is the driver's too.
const DRIVER_PREFIX: &str = "__cuda_syscall";

/// Whether the driver defines a function of this name.
pub fn is_driver_function(name: &str) -> bool {
    name.starts_with(DRIVER_PREFIX) || DRIVER_FUNCTIONS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(DRIVER_FUNCTIONS.is_sorted());
        assert!(is_driver_function("vprintf") && is_driver_function("__cuda_syscall_x") && !is_driver_function("printf"));
    }
}
