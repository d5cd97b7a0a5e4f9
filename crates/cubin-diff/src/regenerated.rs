//! Differences that follow from machine code that one of two files regenerated.
//!
//! For sm_100 and later a linker may keep the compiler's machine code or generate its own. Two links of the same program then
//! differ in the code of some functions, and in whatever holds an offset in that code or after it. These differences are told
//! from all others by the table [`FOLLOWS`].

use crate::debug::OVERWRITTEN;
use crate::{Area, Change, Difference};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The differences of two files, sorted out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regenerated {
    /// The functions whose machine code differs, or of which one file says more that only their generator knows, in file order.
    pub functions: Vec<String>,
    /// What does not follow from that.
    pub others: Vec<Difference>,
}

/// Where a difference has to be.
enum Of {
    /// Anywhere.
    Any,
    /// In the section of this name.
    Section(&'static str),
    /// In one whose name is this and that of a function whose code differs.
    Function(&'static str),
    /// In one whose name starts like this: it belongs to a kernel, and holds something of every function that the kernel reaches.
    Kernel(&'static str),
    /// In the part of the section or table of this name that is about such a function.
    FunctionIn(&'static str),
}

/// Which property of it has to differ.
enum Property {
    Any,
    /// The one of this name.
    Named(&'static str),
    /// The places of relocations, what those of a function's code add to its own address, and nothing else about them.
    Places,
    /// What relocations add to the address of a function whose code differs, and nothing else about them.
    Addends,
    /// The offsets in records that list some: both files have the same records.
    Offsets,
    /// Whether there is a record that says how the code was made.
    Origin,
    /// The GPUs that run the code as it is: fewer in the second file, which keeps the compiler's code.
    FewerGpus,
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
const LIVE_RANGES: &str = ".nv_debug_info_reg_sass";

/// Everything that follows from other code.
const FOLLOWS: [Follows; 31] = [
    follows(Area::Header, Of::Any, Property::Named("offset of section headers")),
    follows(Area::Header, Of::Any, Property::Named("offset of program headers")),
    follows(Area::SectionHeader, Of::Any, Property::Named("offset (the first that differs)")),
    follows(Area::SectionHeader, Of::Function(".text."), Property::Named("size")),
    follows(Area::SectionHeader, Of::Function(".nv.capmerc.text."), Property::Named("size")),
    follows(Area::SectionHeader, Of::Function(".nv.info."), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(FRAMES), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(LINES), Property::Named("size")),
    follows(Area::SectionHeader, Of::Section(MACHINE_LINES), Property::Named("size")),
    follows(Area::Symbols, Of::FunctionIn(".symtab"), Property::Named("size")),
    follows(Area::Relocations, Of::Function(".rela.text."), Property::Places),
    follows(Area::Relocations, Of::Section(".rela.debug_frame"), Property::Places),
    follows(Area::Relocations, Of::Section(".rela.debug_line"), Property::Places),
    follows(Area::Relocations, Of::Section(".rela.nv_debug_line_sass"), Property::Places),
    follows(Area::Relocations, Of::Section(".rela.debug_info"), Property::Addends),
    follows(Area::Info, Of::Function(".nv.info."), Property::Offsets),
    follows(Area::Info, Of::Function(".nv.info."), Property::Origin),
    follows(Area::Compat, Of::Section(".nv.compat"), Property::FewerGpus),
    follows(Area::Contents, Of::Function(".text."), Property::Any),
    follows(Area::Contents, Of::Function(".nv.capmerc.text."), Property::Any),
    follows(Area::Contents, Of::Kernel(".nv.constant2."), Property::Any),
    follows(Area::Contents, Of::FunctionIn(FRAMES), Property::Any),
    follows(Area::Contents, Of::FunctionIn(LINES), Property::Any),
    follows(Area::Contents, Of::FunctionIn(MACHINE_LINES), Property::Any),
    follows(Area::Contents, Of::FunctionIn(LIVE_RANGES), Property::Any),
    follows(Area::Segments, Of::Any, Property::Named("offset")),
    follows(Area::Segments, Of::Any, Property::Named("file size")),
    follows(Area::Segments, Of::Any, Property::Named("memory size")),
    follows(Area::Segments, Of::Any, Property::Named("virtual address")),
    follows(Area::Segments, Of::Any, Property::Named("physical address")),
    follows(Area::Bytes, Of::Any, Property::Any),
];

/// Parts of the names of attributes that list offsets in code.
const LISTS_OF_OFFSETS: [&str; 2] = ["_OFFSETS", "INDIRECT_BRANCH_TARGETS"];

/// The attribute that lists offsets of loads, each with a mask of the bytes that are not used.
const UNUSED_BYTES: &str = "UNUSED_LOAD_BYTE_OFFSET";

/// Parts of the names of attributes that say how code was made.
const ORIGINS: [&str; 2] = ["ANNOTATIONS", "NVSAL_SW_WAR"];

/// Sorts out the differences of two files: which functions have other code, and what does not follow from that.
#[must_use]
pub fn regenerated(differences: Vec<Difference>) -> Regenerated {
    let code = differences.iter().filter(|difference| difference.area == Area::Contents);
    let function_of = |difference: &Difference| {
        let name = last_name(&difference.place);
        if is_overwritten(difference) { Some(name.to_owned()) } else { name.strip_prefix(".text.").map(str::to_owned) }
    };
    let functions: Vec<String> = code.filter_map(function_of).collect();
    // Code that came out as it was before is without a record of how it was made, too.
    let origins = differences.iter().filter(|difference| difference.area == Area::Info && is_origin(difference));
    let same_code = origins.filter_map(|difference| Some(last_name(&difference.place).strip_prefix(".nv.info.")?.to_owned()));
    let concerned: HashSet<String> = functions.iter().cloned().chain(same_code).collect();
    let mut places: HashMap<(Area, &str), Vec<&Difference>> = HashMap::new();
    for difference in &differences {
        places.entry((difference.area, &difference.place)).or_default().push(difference);
    }
    // Of each place, the rows that fit everything that differs there.
    let fitting: HashMap<_, Vec<&Follows>> = (places.iter())
        .map(|(&place, there)| (place, FOLLOWS.iter().filter(|row| row.area == place.0 && row.property.fits(there)).collect()))
        .collect();
    let are_fewer_gpus = are_fewer_gpus(&differences);
    let is_explained = |difference: &Difference| {
        let rows = fitting.get(&(difference.area, difference.place.as_str())).into_iter().flatten();
        rows.into_iter().any(|row| row.explains(difference, &concerned, are_fewer_gpus))
    };
    let others = differences.iter().filter(|difference| functions.is_empty() || !is_explained(difference)).cloned().collect();
    Regenerated { functions, others }
}

impl Follows {
    /// Whether a difference in the row's area follows from other code of these functions.
    fn explains(&self, difference: &Difference, functions: &HashSet<String>, are_fewer_gpus: bool) -> bool {
        let name = last_name(&difference.place);
        let differs = |name: &str| functions.contains(name);
        let is_there = match self.of {
            Of::Any => true,
            Of::Section(section) => name == section,
            Of::Function(prefix) => name.strip_prefix(prefix).is_some_and(differs),
            Of::Kernel(prefix) => name.starts_with(prefix),
            Of::FunctionIn(section) => difference.place.starts_with(&format!("'{section}' ")) && differs(name),
        };
        is_there
            && match (&self.property, &difference.change) {
                (Property::Any, _) => true,
                (Property::Named(name), Change::Value { what, .. }) => what == name,
                (Property::Places | Property::Offsets, _) => self.property.may_differ(difference),
                (Property::Addends, Change::OnlyLeft(text) | Change::OnlyRight(text)) => {
                    differs(last_name(text)) && self.property.may_differ(difference)
                }
                (Property::Origin, _) => is_origin(difference),
                (Property::FewerGpus, _) => are_fewer_gpus,
                _ => false,
            }
    }
}

/// Whether a difference is about registers that a frame marks as overwritten, as generators of machine code do for older compilers.
fn is_overwritten(difference: &Difference) -> bool {
    matches!(&difference.change, Change::Value { what, .. } if what == OVERWRITTEN)
}

/// Whether a difference is about a record that says how code was made.
fn is_origin(difference: &Difference) -> bool {
    match &difference.change {
        Change::OnlyLeft(text) | Change::OnlyRight(text) => ORIGINS.iter().any(|part| text.contains(part)),
        Change::Value { .. } | Change::Order { .. } => false,
    }
}

/// Whether `.nv.compat` differs in the GPUs that run the code as it is alone, and the second file has fewer.
fn are_fewer_gpus(all: &[Difference]) -> bool {
    let mask = |text: &str| {
        let number = text.split_once("CAN_FASTPATH_FINALIZE ")?.1.split(' ').next()?;
        u64::from_str_radix(number.trim_start_matches("0x"), 16).ok()
    };
    let changes: Vec<&Change> = all.iter().filter(|one| one.area == Area::Compat).map(|one| &one.change).collect();
    match changes[..] {
        [Change::OnlyLeft(left), Change::OnlyRight(right)] => {
            mask(left).zip(mask(right)).is_some_and(|(left, right)| left & right == right)
        }
        _ => false,
    }
}

/// Takes out of a line about some place what may differ; nothing is left of a line that may not.
type Blank = for<'text> fn(&'text str, &str) -> Option<Cow<'text, str>>;

impl Property {
    /// How lines of a list look that may differ in this property alone.
    fn blank(&self) -> Option<Blank> {
        match self {
            Property::Places => Some(|text, place| {
                let behind_place = text.split_once(' ')?.1;
                let is_own = last_name(place).strip_prefix(".rela.text.") == Some(last_name(text));
                Some(if is_own { behind_place.rsplit_once(' ')?.0 } else { behind_place }.into())
            }),
            Property::Addends => Some(|text, _| Some(text.rsplit_once(' ')?.0.into())),
            Property::Offsets => Some(|text, _| {
                let mut words = text.split(' ').skip(1);
                let name = words.next()?;
                if name == UNUSED_BYTES {
                    let masks: Vec<&str> = words.skip(1).step_by(2).collect();
                    return Some(masks.join(" ").into());
                }
                LISTS_OF_OFFSETS.iter().any(|part| name.contains(part)).then_some(name.into())
            }),
            Property::Any | Property::Named(_) | Property::Origin | Property::FewerGpus => None,
        }
    }

    /// Whether the lines that differ in one place are the same in both files, but for this property.
    fn fits(&self, there: &[&Difference]) -> bool {
        let Some(blank) = self.blank() else { return true };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for Difference { place, change, .. } in there {
            match change {
                Change::OnlyLeft(text) => left.extend(blank(text, place)),
                Change::OnlyRight(text) => right.extend(blank(text, place)),
                Change::Value { .. } | Change::Order { .. } => return false,
            }
        }
        left == right
    }

    /// Whether a difference is a line that may differ in this property.
    fn may_differ(&self, Difference { place, change, .. }: &Difference) -> bool {
        match (self.blank(), change) {
            (Some(blank), Change::OnlyLeft(text) | Change::OnlyRight(text)) => blank(text, place).is_some(),
            _ => false,
        }
    }
}

/// The last name of a place: that of a section, or of a symbol in a table. Of several with one name, the others have a number after it.
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
        let only = |area, place: &str, change| Difference { area, place: place.into(), change };
        let left = |area, place, text: &str| only(area, place, Change::OnlyLeft(text.into()));
        let right = |area, place, text: &str| only(area, place, Change::OnlyRight(text.into()));
        let follows = [
            value(Area::SectionHeader, "'.text.k'", "size"),
            value(Area::Symbols, "'.symtab' 'k'", "size"),
            left(Area::Relocations, "'.rela.debug_info'", "0x20 R_CUDA_64 'k' +0x100"),
            right(Area::Relocations, "'.rela.debug_info'", "0x20 R_CUDA_64 'k' +0x180"),
            left(Area::Info, "'.nv.info.k'", "SVAL EXIT_INSTR_OFFSETS 0x150"),
            right(Area::Info, "'.nv.info.k'", "SVAL EXIT_INSTR_OFFSETS 0x170"),
            left(Area::Info, "'.nv.info.k'", "SVAL UNUSED_LOAD_BYTE_OFFSET 0x150 0xfff 0x190 0xf0f"),
            right(Area::Info, "'.nv.info.k'", "SVAL UNUSED_LOAD_BYTE_OFFSET 0x170 0xfff 0x1a0 0xf0f"),
            left(Area::Compat, "'.nv.compat'", "SVAL CAN_FASTPATH_FINALIZE 0x9 0x0"),
            right(Area::Compat, "'.nv.compat'", "SVAL CAN_FASTPATH_FINALIZE 0x1 0x0"),
            value(Area::Contents, "'.debug_frame' 'k'", "7 bytes"),
            value(Area::Contents, "'.debug_frame' 'g'", OVERWRITTEN),
            value(Area::Contents, "'.text.k'", "7 bytes"),
            value(Area::Bytes, "", "file size"),
        ];
        let others = [
            value(Area::SectionHeader, "'.text.k'", "alignment"),
            value(Area::Symbols, "'.symtab' 'f'", "size"),
            value(Area::Symbols, "'.symtab' 'k'", "value"),
            value(Area::Symbols, "'.nv.merc.symtab' 'k'", "size"),
            left(Area::Relocations, "'.rela.debug_line'", "0x20 R_CUDA_64 'k' +0x0"),
            right(Area::Relocations, "'.rela.debug_line'", "0x24 R_CUDA_64 'f' +0x0"),
            left(Area::Info, "'.nv.info.k'", "BVAL NUM_BARRIERS 1"),
            left(Area::Info, "'.nv.info.f'", "SVAL EXIT_INSTR_OFFSETS 0x150"),
            value(Area::Contents, "'.debug_frame' 'f'", "7 bytes"),
            value(Area::Contents, "'.nv.constant3'", "1 bytes"),
        ];
        let found = regenerated(follows.iter().chain(&others).cloned().collect());
        assert_eq!(found, Regenerated { functions: vec!["g".into(), "k".into()], others: others.to_vec() });
    }

    /// The time it takes does not grow with the square of what differs in one place.
    #[test]
    fn many_relocations_may_have_moved() {
        let place = || "'.rela.debug_line'".to_owned();
        let line = |number: u32, moved: u32| format!("{:#x} R_CUDA_64 'k' +0x0", 8 * number + moved);
        let of = |number| [Change::OnlyLeft(line(number, 0)), Change::OnlyRight(line(number, 4))];
        let moved = (0..100_000).flat_map(of).map(|change| Difference { area: Area::Relocations, place: place(), change });
        let found = regenerated(moved.chain([value(Area::Contents, "'.text.k'", "7 bytes")]).collect());
        assert_eq!(found, Regenerated { functions: vec!["k".into()], others: Vec::new() });
    }

    #[test]
    fn a_load_keeps_the_bytes_that_nobody_uses() {
        let record = |mask| format!("SVAL UNUSED_LOAD_BYTE_OFFSET 0x150 {mask} 0x190 0xf0f");
        let place = || "'.nv.info.k'".to_owned();
        let differences = [
            value(Area::Contents, "'.text.k'", "7 bytes"),
            Difference { area: Area::Info, place: place(), change: Change::OnlyLeft(record("0xfff")) },
            Difference { area: Area::Info, place: place(), change: Change::OnlyRight(record("0xf0f")) },
        ];
        assert_eq!(regenerated(differences.to_vec()).others, differences[1..]);
    }

    #[test]
    fn without_other_code_nothing_follows() {
        let differences = vec![value(Area::Header, "", "offset of section headers")];
        assert_eq!(regenerated(differences.clone()).others, differences);
    }
}
