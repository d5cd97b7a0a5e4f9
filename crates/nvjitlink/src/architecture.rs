//! The architectures that `-arch=` names.

use crate::release;
use crate::result::Outcome;
use cuweld::target::Target;

/// What a link is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Architecture {
    /// The GPU; for a virtual architecture, the first that has it.
    pub target: &'static Target,
    /// Whether only PTX can be made for it.
    pub is_virtual: bool,
    /// Its name, as it was given.
    pub name: String,
}

/// The name of an architecture, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Name<'text> {
    text: &'text str,
    is_virtual: bool,
    number: i64,
    /// What is after `sm_`.
    pub rest: &'text str,
}

/// How names start, and whether such an architecture is virtual.
const STARTS: [(&str, bool); 3] = [("sm_", false), ("compute_", true), ("lto_", true)];

/// Numbers from here on are none of a GPU.
const NO_GPU: i64 = 1000;

impl Architecture {
    /// Takes a name apart; none, if it does not name any architecture.
    pub fn name(text: &str) -> Option<Name<'_>> {
        let (rest, is_virtual) = STARTS.iter().find_map(|&(start, is_virtual)| Some((text.strip_prefix(start)?, is_virtual)))?;
        // As C reads numbers: up to what is no digit.
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let length = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        let number: i64 = if length > 0 { digits[..length].parse().unwrap_or(i64::MAX) } else { 0 };
        let number = if rest.starts_with('-') { -number } else { number };
        (number != 0).then_some(Name { text, is_virtual, number, rest })
    }
}

impl Name<'_> {
    /// Whether a GPU could have this number.
    pub fn is_possible(&self) -> bool {
        (1..NO_GPU).contains(&self.number)
    }

    /// The architecture.
    pub fn find(&self) -> Result<Architecture, Outcome> {
        if !self.is_possible() || u32::try_from(self.number).is_ok_and(Target::is_retired) {
            return Err(Outcome::UnsupportedArchitecture);
        }
        let number = self.number;
        let digits = number.to_string();
        let behind = self.rest.trim_start_matches('0').strip_prefix(digits.as_str()).unwrap_or_default();
        // Letters that no variant has are passed over.
        let variant = behind.get(..1).filter(|letter| ["a", "f"].contains(letter)).unwrap_or_default();
        let target = [variant, ""].iter().find_map(|variant| Target::by_name(&format!("sm_{number}{variant}")));
        let is_known = |target: &&Target| target.first_toolkit <= release::spoken().toolkit || cfg!(feature = "cuda12");
        let target = target.filter(is_known).ok_or(Outcome::UnrecognizedArchitecture)?;
        Ok(Architecture { target, is_virtual: self.is_virtual, name: self.text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_architectures() {
        for (text, expected) in [
            ("sm_90", "sm_90"),
            ("sm_90a", "sm_90a"),
            ("sm_75a", "sm_75"),
            ("sm_090", "sm_90"),
            ("sm_100f", "sm_100f"),
            ("sm_100x", "sm_100"),
            ("sm_90,sm_80", "sm_90"),
            ("compute_120", "sm_120"),
        ] {
            let found = Architecture::name(text).map(|name| name.find().map(|architecture| architecture.target.name));
            assert_eq!(found, Some(Ok(expected)), "{text}");
        }
        for text in ["foo", "", "90", "sm_", "sm_0", "sm_a", "SM_90", "native"] {
            assert!(Architecture::name(text).is_none(), "{text}");
        }
        for (text, expected) in [
            ("sm_9", Outcome::UnrecognizedArchitecture),
            ("sm_72", Outcome::UnrecognizedArchitecture),
            ("sm_70", Outcome::UnsupportedArchitecture),
            ("sm_-90", Outcome::UnsupportedArchitecture),
            ("sm_99999999999999999999", Outcome::UnsupportedArchitecture),
        ] {
            let found = Architecture::name(text).map(|name| name.find().map(drop));
            assert_eq!(found, Some(Err(expected)), "{text}");
        }
    }
}
