//! The records of `.nv.compat`: what a file needs of a GPU and of the finalizer. They have the format of
//! [`crate::info`].

use std::fmt;

/// The tag of a compatibility record. Any value is possible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u8);

macro_rules! tags {
    ($($value:literal $name:ident;)*) => {
        impl Tag {
            $(#[doc = concat!("`EICOMPAT_ATTR_", stringify!($name), "`")] pub const $name: Self = Self($value);)*
        }
        /// All known tags and their names, lowest first.
        pub static TAGS: &[(Tag, &str)] = &[$((Tag($value), stringify!($name)),)*];
    };
}

tags! {
    0x00 ERROR;
    0x01 PAD;
    0x02 ISA_CLASS;
    0x03 INST_TENSORMAP_V1;
    0x04 INST_TCGEN05_MMA_DEPRECATED;
    0x05 INST_TCGEN05_MMA;
    0x06 ENABLE_OPPORTUNISTIC_FINALIZATION;
    0x07 MERCURY_ISA_MAJOR_MINOR_VERSION;
    0x08 MERCURY_ISA_PATCH_VERSION;
    0x09 CUDA_ACCELERATOR_TARGET;
    0x0a CUDA_DRIVER_VERSION;
    0x0b CAN_FASTPATH_FINALIZE;
    0x0c CUDA_INTERNAL_TARGET;
    0x0d FINALIZER_ISA_VERSION;
    0x0e FINALIZER_VERSION;
    0x0f MIN_FINALIZER_VERSION_FOR_MVC;
}

impl Tag {
    /// The name of a known tag.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        TAGS.binary_search_by_key(&self, |row| row.0).ok().map(|index| TAGS[index].1)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.pad(name),
            None => out.pad(&format!("{:#04x}", self.0)),
        }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tags_ascend_and_names_are_unique() {
        assert!(TAGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(TAGS.iter().map(|row| row.1).collect::<HashSet<_>>().len(), TAGS.len());
        assert_eq!(Tag::CUDA_ACCELERATOR_TARGET.to_string(), "CUDA_ACCELERATOR_TARGET");
        assert_eq!(Tag(0x77).to_string(), "0x77");
    }
}
