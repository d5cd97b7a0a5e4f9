//! What follows from code that one of two files has generated anew.
//!
//! For sm_100 and later a linker may keep the compiler's machine code or generate its own. Two links of the same program then
//! differ in the code of some functions, and in whatever holds an offset in that code or behind it. These differences are told
//! from all others by the table [`FOLLOWS`].

use crate::{Area, Change, Difference};

/// The differences of two files, sorted out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regenerated {
    /// The functions whose machine code differs, in file order.
    pub functions: Vec<String>,
    /// What does not follow from that.
    pub others: Vec<Difference>,
}

/// Which section a difference has to be in.
enum Of {
    /// One whose name starts like this, if there is any.
    Any(&'static str),
    /// One whose name is this and that of a function whose code differs.
    Function(&'static str),
    /// The one of this name.
    Section(&'static str),
}

/// Which property of it, by name.
enum Property {
    Any,
    Named(&'static str),
    /// A record that speaks of instructions.
    Record,
}

/// A difference that follows from other code.
struct Follows {
    area: Area,
    of: Of,
    property: Property,
}

const fn follows(area: Area, of: Of, property: Property) -> Follows {
    Follows { area, of, property }
}

/// The sections of debug information that hold offsets in machine code.
const FRAMES: &str = ".debug_frame";
const LINES: &str = ".debug_line";
const MACHINE_LINES: &str = ".nv_debug_line_sass";

/// Everything that follows from other code.
const FOLLOWS: [Follows; 24] = [
    follows(Area::Header, Of::Any(""), Property::Named("offset of section headers")),
    follows(Area::Header, Of::Any(""), Property::Named("offset of program headers")),
    follows(Area::SectionHeader, Of::Any(""), Property::Named("offset (the first that differs)")),
    follows(Area::SectionHeader, Of::Function(".text."), Property::Named("size")),
    follows(Area::SectionHeader, Of::Function(".nv.capmerc.text."), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(FRAMES), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(LINES), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(MACHINE_LINES), Property::Named("size")),
    follows(Area::Symbols, Of::Function(""), Property::Named("size")),
    follows(Area::Relocations, Of::Function(".rela.text."), Property::Any),
    follows(Area::Relocations, Of::Section(".rela.debug_info"), Property::Any),
    follows(Area::Relocations, Of::Section(".rela.debug_line"), Property::Any),
    follows(Area::Relocations, Of::Section(".rela.nv_debug_line_sass"), Property::Any),
    follows(Area::SectionHeader, Of::Any(".nv.info."), Property::Named("size")),
    follows(Area::Info, Of::Any(".nv.info."), Property::Record),
    follows(Area::Contents, Of::Function(".text."), Property::Any),
    follows(Area::Contents, Of::Function(".nv.capmerc.text."), Property::Any),
    follows(Area::Contents, Of::Any(".nv.constant2."), Property::Any),
    follows(Area::Contents, Of::Section(FRAMES), Property::Any),
    follows(Area::Contents, Of::Section(LINES), Property::Any),
    follows(Area::Contents, Of::Section(MACHINE_LINES), Property::Any),
    follows(Area::Contents, Of::Section(".nv_debug_info_reg_sass"), Property::Any),
    follows(Area::Segments, Of::Any(""), Property::Any),
    follows(Area::Bytes, Of::Any(""), Property::Any),
];

/// Parts of the names of attributes that list offsets in code, or say which workarounds it has.
const RECORDS: [&str; 4] = ["_OFFSETS", "INDIRECT_BRANCH_TARGETS", "ANNOTATIONS", "NVSAL_SW_WAR"];

/// Sorts out the differences of two files: which functions have other code, and what does not follow from that.
#[must_use]
pub fn regenerated(differences: Vec<Difference>) -> Regenerated {
    let code = differences.iter().filter(|difference| difference.area == Area::Contents);
    let functions: Vec<String> =
        code.filter_map(|difference| Some(last_name(&difference.place).strip_prefix(".text.")?.to_owned())).collect();
    let is_explained = |difference: &Difference| FOLLOWS.iter().any(|row| row.explains(difference, &functions));
    let others = differences.iter().filter(|difference| functions.is_empty() || !is_explained(difference)).cloned().collect();
    Regenerated { functions, others }
}

impl Follows {
    fn explains(&self, difference: &Difference, functions: &[String]) -> bool {
        let name = last_name(&difference.place);
        let is_there = match self.of {
            Of::Any(prefix) => name.starts_with(prefix),
            Of::Section(section) => name == section,
            Of::Function(prefix) => name.strip_prefix(prefix).is_some_and(|name| functions.iter().any(|known| known == name)),
        };
        let is_meant = match (&self.property, &difference.change) {
            (Property::Any, _) => true,
            (Property::Named(name), Change::Value { what, .. }) => what == name,
            (Property::Record, Change::OnlyLeft(text) | Change::OnlyRight(text)) => {
                RECORDS.iter().any(|part| text.contains(part))
            }
            _ => false,
        };
        self.area == difference.area && is_there && is_meant
    }
}

/// The last name of a place: that of a section, or of a symbol in a table. Of several with one name, the others have a number behind it.
fn last_name(place: &str) -> &str {
    let place = place.rsplit_once('\'').map_or(place, |(place, _)| place);
    place.rsplit_once('\'').map_or(place, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(area: Area, place: &str, what: &str) -> Difference {
        let change = Change::Value { what: what.into(), left: "1".into(), right: "2".into() };
        Difference { area, place: place.into(), change }
    }

    #[test]
    fn what_follows_from_other_code_is_left_out() {
        let record =
            |text: &str| Difference { area: Area::Info, place: "'.nv.info.k'".into(), change: Change::OnlyLeft(text.into()) };
        let follows = [
            value(Area::SectionHeader, "'.text.k'", "size"),
            value(Area::Symbols, "'.symtab' 'k'", "size"),
            record("SVAL EXIT_INSTR_OFFSETS 0x150"),
            value(Area::Contents, "'.text.k'", "7 bytes"),
            value(Area::Bytes, "", "file size"),
        ];
        let others = [
            value(Area::SectionHeader, "'.text.k'", "alignment"),
            value(Area::Symbols, "'.symtab' 'f'", "size"),
            value(Area::Symbols, "'.symtab' 'k'", "value"),
            record("BVAL NUM_BARRIERS 1"),
            value(Area::Contents, "'.nv.constant3'", "1 bytes"),
        ];
        let found = regenerated(follows.iter().chain(&others).cloned().collect());
        assert_eq!(found, Regenerated { functions: vec!["k".into()], others: others.to_vec() });
    }

    #[test]
    fn without_other_code_nothing_follows() {
        let differences = vec![value(Area::Header, "", "offset of section headers")];
        assert_eq!(regenerated(differences.clone()).others, differences);
    }
}
