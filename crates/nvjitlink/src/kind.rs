//! The kinds of input that a program says it adds.

use fatbin::{Kind, identify};
use std::ffi::c_int;

/// A kind of input.
#[derive(Clone, Copy, Debug)]
pub struct InputKind {
    /// The number that programs use.
    number: c_int,
    /// What logs call it.
    pub name: &'static str,
    /// Whether contents are of this kind.
    fits: fn(&Kind) -> bool,
}

/// All kinds.
const KINDS: [InputKind; 8] = [
    InputKind { number: 1, name: "NVJITLINK_INPUT_CUBIN", fits: |kind| matches!(kind, Kind::Cubin(_)) },
    InputKind { number: 2, name: "NVJITLINK_INPUT_PTX", fits: |kind| matches!(kind, Kind::Ptx) },
    InputKind { number: 3, name: "NVJITLINK_INPUT_LTOIR", fits: |kind| matches!(kind, Kind::LtoIr) },
    InputKind { number: 4, name: "NVJITLINK_INPUT_FATBIN", fits: |kind| matches!(kind, Kind::Fatbin) },
    // Any ELF file is taken for a host's object. A cubin is one, but has no code for a host's program to register.
    InputKind {
        number: 5,
        name: "NVJITLINK_INPUT_OBJECT",
        fits: |kind| matches!(kind, Kind::HostElf(_) | Kind::Coff(_) | Kind::Cubin(_)),
    },
    InputKind { number: 6, name: "NVJITLINK_INPUT_LIBRARY", fits: |kind| matches!(kind, Kind::Archive | Kind::ThinArchive) },
    InputKind { number: 7, name: "NVJITLINK_INPUT_INDEX", fits: |_| false },
    InputKind {
        number: 10,
        name: "NVJITLINK_INPUT_ANY",
        fits: |kind| !matches!(kind, Kind::Unknown | Kind::Bitcode | Kind::MicrosoftIr),
    },
];

impl InputKind {
    /// The kind that a number means.
    pub fn from_number(number: c_int) -> Option<&'static InputKind> {
        KINDS.iter().find(|kind| kind.number == number)
    }

    /// Whether this stands for every kind.
    pub fn is_any(&self) -> bool {
        self.number == 10
    }

    /// Whether bytes are of this kind.
    pub fn fits_bytes(&self, bytes: &[u8]) -> bool {
        (self.fits)(&identify(bytes))
    }

    /// Whether bytes are of this kind and yet add nothing: device code that was said to be a host's object.
    pub fn passes_over(&self, bytes: &[u8]) -> bool {
        self.number == 5 && matches!(identify(bytes), Kind::Cubin(_))
    }
}

/// Whether bytes are the code of one unit, and no container.
pub fn is_single_unit(bytes: &[u8]) -> bool {
    matches!(identify(bytes), Kind::Cubin(_) | Kind::Ptx | Kind::LtoIr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_every_kind() {
        let header = include_str!("../include/nvJitLink.h");
        for kind in KINDS {
            assert!(header.contains(&format!("{} = {}", kind.name, kind.number)), "{}", kind.name);
        }
    }
}
