//! The results of the library's functions.

use std::ffi::c_int;

macro_rules! results {
    ($( $value:literal $variant:ident $name:literal $about:literal; )*) => {
        /// What a function returns.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[allow(dead_code, reason = "some results have no cause here; programs may know them all the same")]
        pub enum Outcome {
            $( #[doc = $about] $variant = $value, )*
        }

        /// Every result: its number, the name C programs know it by, and what it means.
        #[cfg(test)]
        pub const RESULTS: &[(c_int, &str, &str)] = &[$( ($value, $name, $about), )*];
    };
}

results! {
    0 Success "NVJITLINK_SUCCESS" "All went well.";
    1 UnrecognizedOption "NVJITLINK_ERROR_UNRECOGNIZED_OPTION" "An option is not known, or has a value that is not.";
    2 MissingArchitecture "NVJITLINK_ERROR_MISSING_ARCH" "No `-arch=` was given.";
    3 InvalidInput "NVJITLINK_ERROR_INVALID_INPUT" "An input can not be used, or what was asked for is not there.";
    4 PtxCompile "NVJITLINK_ERROR_PTX_COMPILE" "PTX could not be compiled.";
    5 NvvmCompile "NVJITLINK_ERROR_NVVM_COMPILE" "Intermediate code could not be compiled.";
    6 Internal "NVJITLINK_ERROR_INTERNAL" "The link failed, or its result is not there.";
    7 ThreadPool "NVJITLINK_ERROR_THREADPOOL" "Threads could not be started.";
    8 UnrecognizedInput "NVJITLINK_ERROR_UNRECOGNIZED_INPUT" "An input of any kind was expected, and it is of none.";
    9 Finalize "NVJITLINK_ERROR_FINALIZE" "Machine code could not be generated.";
    10 NullInput "NVJITLINK_ERROR_NULL_INPUT" "A pointer is null, or a handle is none.";
    11 IncompatibleOptions "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS" "Options exclude each other.";
    12 IncorrectInputType "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE" "An input is not of the kind that was said.";
    13 ArchitectureMismatch "NVJITLINK_ERROR_ARCH_MISMATCH" "An input is for another GPU.";
    14 OutdatedLibrary "NVJITLINK_ERROR_OUTDATED_LIBRARY" "An input is newer than the library.";
    15 MissingFatbin "NVJITLINK_ERROR_MISSING_FATBIN" "An input holds no device code.";
    16 UnrecognizedArchitecture "NVJITLINK_ERROR_UNRECOGNIZED_ARCH" "There is no such GPU.";
    17 UnsupportedArchitecture "NVJITLINK_ERROR_UNSUPPORTED_ARCH" "There is no linking for this GPU.";
    18 OptimizationNotEnabled "NVJITLINK_ERROR_LTO_NOT_ENABLED" "Intermediate code needs `-lto`.";
}

impl Outcome {
    /// Its number.
    pub fn number(self) -> c_int {
        self as c_int
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header is written by hand, for people.
    #[test]
    fn the_header_has_every_result() {
        let header = include_str!("../include/nvJitLink.h");
        for (number, name, _) in RESULTS {
            assert!(header.contains(&format!("{name} = {number}")), "{name}");
        }
    }
}
