//! `.nv.compat`: what the output needs of a GPU and of the finalizer, made of what the objects need.
//!
//! [`ROWS`] has one row per record: how the values of objects combine, and what an object counts as that lacks the record. Objects
//! without the section take no part. Records stand in the order of the first object that has them; those that only later objects
//! have, and those that the link adds, follow in the order of their tags, and what the finalizer adds comes last.

use crate::id::FileId;
use crate::imitations::Imitation;
use crate::phases::finalize::Output;
use crate::phases::load::{Place, Role};
use crate::phases::resolve::Fate;
use crate::views::View;
use cubin::compat::Tag;
use cubin::fast_path;
use cubin::info::{self, Attribute, Record, format};
use cubin::release::{Release, Rule};
use cubin::target::{Target, Variant, Views};

/// How the values of objects combine.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum TagCombination {
    /// Zero if any is, else the largest.
    LargestUnlessZero,
    /// The same in fields of two bits.
    LargestUnlessZeroByField,
    /// The largest.
    Largest,
    /// All their bits.
    Union,
    /// The one that all agree on, or this.
    Agreed(u16),
    /// The mask of GPUs that run all the code as it is.
    FastPath,
    /// The version of the finalizer: the linker's own where it generates code.
    Finalizer,
}

/// What an object counts as that has no such record.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Absent {
    /// This value.
    Counts(u16),
    /// Nothing.
    Ignored,
    /// A reason to have no such record in the output.
    Drops,
}

/// One record. A row may hold only since a rule came, or until then.
struct CombinedRecord {
    tag: Tag,
    format: u8,
    combine: TagCombination,
    absent: Absent,
    since: Option<Rule>,
    until: Option<Rule>,
}

const fn row(tag: Tag, format: u8, combine: TagCombination, absent: Absent) -> CombinedRecord {
    CombinedRecord { tag, format, combine, absent, since: None, until: None }
}

const fn since(rule: Rule, row: CombinedRecord) -> CombinedRecord {
    CombinedRecord { since: Some(rule), ..row }
}

const fn until(rule: Rule, row: CombinedRecord) -> CombinedRecord {
    CombinedRecord { until: Some(rule), ..row }
}

/// The records whose values combine, except that of the target itself, which comes first.
#[rustfmt::skip] // a table reads better with several columns on a line
static ROWS: [CombinedRecord; 11] = [
    row(Tag::ISA_CLASS, format::BYTE, TagCombination::LargestUnlessZero, Absent::Counts(0)),
    row(Tag::INST_TENSORMAP_V1, format::BYTE, TagCombination::Union, Absent::Counts(3)),
    until(Rule::TensorCoreGenerationByAll, row(Tag::INST_TCGEN05_MMA, format::BYTE, TagCombination::LargestUnlessZeroByField, Absent::Counts(0))),
    since(Rule::TensorCoreGenerationByAll, row(Tag::INST_TCGEN05_MMA, format::BYTE, TagCombination::LargestUnlessZeroByField, Absent::Drops)),
    row(Tag::ENABLE_OPPORTUNISTIC_FINALIZATION, format::BYTE, TagCombination::Agreed(1), Absent::Counts(1)),
    since(Rule::Cuda13Files, until(Rule::FinalizerIsaVersion, row(Tag::MERCURY_ISA_MAJOR_MINOR_VERSION, format::HALF, TagCombination::Largest, Absent::Counts(0x0100)))),
    since(Rule::FinalizerIsaVersion, row(Tag::MERCURY_ISA_MAJOR_MINOR_VERSION, format::HALF, TagCombination::Largest, Absent::Ignored)),
    since(Rule::Cuda13Files, row(Tag::CAN_FASTPATH_FINALIZE, format::SIZED, TagCombination::FastPath, Absent::Ignored)),
    since(Rule::FinalizerVersion, row(Tag::CUDA_INTERNAL_TARGET, format::BYTE, TagCombination::Largest, Absent::Counts(2))),
    since(Rule::FinalizerIsaVersion, row(Tag::FINALIZER_ISA_VERSION, format::HALF, TagCombination::Largest, Absent::Counts(0x0100))),
    since(Rule::FinalizerVersion, row(Tag::FINALIZER_VERSION, format::HALF, TagCombination::Finalizer, Absent::Drops)),
];

impl CombinedRecord {
    fn of(tag: Tag, release: &Release) -> Option<&'static CombinedRecord> {
        ROWS.iter().find(|row| row.tag == tag && row.holds(release))
    }

    fn holds(&self, release: &Release) -> bool {
        self.since.is_none_or(|rule| release.has(rule)) && self.until.is_none_or(|rule| !release.has(rule))
    }

    /// The value of the output, if it has the record.
    fn combine(&self, values: &[Option<u16>], views: Views, release: &Release) -> Option<u16> {
        if self.combine == TagCombination::Finalizer && views == Views::Two {
            return Some(release.finalizer);
        }
        if self.absent == Absent::Drops && values.contains(&None) {
            return None;
        }
        let counted = values.iter().filter_map(|value| match self.absent {
            Absent::Counts(absent) => Some(value.unwrap_or(absent)),
            Absent::Ignored | Absent::Drops => *value,
        });
        counted.reduce(|all, value| match self.combine {
            TagCombination::FastPath => all,
            TagCombination::LargestUnlessZero if all == 0 || value == 0 => 0,
            TagCombination::LargestUnlessZero | TagCombination::Largest | TagCombination::Finalizer => all.max(value),
            TagCombination::Union => all | value,
            TagCombination::LargestUnlessZeroByField => by_fields(all, value),
            TagCombination::Agreed(otherwise) => {
                if all == value {
                    all
                } else {
                    otherwise
                }
            }
        })
    }
}

/// Two values of fields of two bits each: of every field, zero if either is, else the larger.
fn by_fields(one: u16, other: u16) -> u16 {
    if one == other {
        return one;
    }
    (0..u16::BITS).step_by(2).fold(0, |fields, shift| {
        let (one, other) = (one >> shift & 3, other >> shift & 3);
        fields | if one == 0 || other == 0 { 0 } else { one.max(other) } << shift
    })
}

/// What an object says.
struct Said<'data> {
    file: FileId,
    records: Vec<Record<'data>>,
}

impl Said<'_> {
    fn tags(&self) -> impl Iterator<Item = Tag> {
        self.records.iter().map(|record| Tag(record.attribute.0))
    }

    fn value(&self, tag: Tag) -> Option<u16> {
        self.records.iter().find(|record| record.attribute.0 == tag.0).map(|record| record.value)
    }
}

/// The records of the output.
pub(super) fn make(facts: &Output<'_, '_>) -> Vec<u8> {
    let (target, release) = (facts.options.target, facts.inputs.release());
    let said: Vec<Said<'_>> = facts.inputs.files().ids().filter_map(|file| facts.said(file)).collect();
    let order = order(&said, release, target.views);
    let mut bytes = Vec::new();
    let accelerated = u16::from(target.variant == Variant::Accelerated);
    if release.has(Rule::Cuda13Files) {
        value(Tag::CUDA_ACCELERATOR_TARGET, format::BYTE, accelerated).encode(&mut bytes);
    }
    for tag in order {
        let first = || said.iter().flat_map(|said| &said.records).find(|record| record.attribute.0 == tag.0);
        match CombinedRecord::of(tag, release) {
            None => first().into_iter().for_each(|record| record.encode(&mut bytes)),
            Some(CombinedRecord { combine: TagCombination::FastPath, .. }) => {
                let mask = facts.fast_path(&said).to_le_bytes();
                Record::sized(Attribute(tag.0), &mask).into_iter().for_each(|record| record.encode(&mut bytes));
            }
            Some(row) => {
                let values: Vec<Option<u16>> = said.iter().map(|said| said.value(tag)).collect();
                let combined = row.combine(&values, target.views, release).filter(|&value| !is_implied(tag, value, release));
                combined.into_iter().for_each(|combined| value(tag, row.format, combined).encode(&mut bytes));
            }
        }
    }
    bytes
}

/// A record without a payload.
fn value(tag: Tag, format: u8, value: u16) -> Record<'static> {
    Record { format, attribute: Attribute(tag.0), value, payload: &[] }
}

/// Whether a value need not be said.
fn is_implied(tag: Tag, value: u16, release: &Release) -> bool {
    tag == Tag::ENABLE_OPPORTUNISTIC_FINALIZATION && value == 1 && release.has(Rule::OpportunisticFinalizationImplied)
}

/// The tags that the output may have, in order.
fn order(said: &[Said<'_>], release: &Release, views: Views) -> Vec<Tag> {
    let mut order: Vec<Tag> = said.iter().take(1).flat_map(Said::tags).collect();
    // Those that only later objects have, and those that count where they are absent, come in ascending order.
    let mut is_later = [false; 256];
    let counts = |row: &&CombinedRecord| !said.is_empty() && row.holds(release) && matches!(row.absent, Absent::Counts(_));
    let counted = ROWS.iter().filter(counts).map(|row| row.tag);
    said.iter().skip(1).flat_map(Said::tags).chain(counted).for_each(|tag| is_later[usize::from(tag.0)] = true);
    let later = (0..=u8::MAX).map(Tag).filter(|tag| is_later[usize::from(tag.0)]);
    // The finalizer's record about its own work comes last.
    let finalizers =
        [Tag::CAN_FASTPATH_FINALIZE, Tag::FINALIZER_VERSION].map(|tag| CombinedRecord::of(tag, release).map(|row| row.tag));
    let is_last = |tag: &Tag| views == Views::Two && finalizers.contains(&Some(*tag));
    order.extend(later.filter(|tag| !is_last(tag)));
    if views == Views::Two {
        order.extend(finalizers.into_iter().flatten());
    }
    let mut met = [false; 256];
    let drops_fast_path = views == Views::One && !release.has(Rule::FastPathInOneView);
    order.retain(|&tag| {
        let is_for_nobody = tag == Tag::CAN_FASTPATH_FINALIZE && drops_fast_path;
        tag != Tag::CUDA_ACCELERATOR_TARGET && !is_for_nobody && !std::mem::replace(&mut met[usize::from(tag.0)], true)
    });
    order
}

impl<'data> Output<'_, 'data> {
    /// What an object says, if it says anything.
    fn said(&self, file: FileId) -> Option<Said<'data>> {
        let sections = self.inputs.files()[file].sections.iter().map(|id| &self.inputs.sections()[id]);
        let mut said: Option<Said<'_>> = None;
        for section in sections.filter(|section| section.role == Role::Compatibility) {
            // Hardly any record has more than a header.
            let most = section.data.len() / info::HEADER_SIZE;
            let said = said.get_or_insert_with(|| Said { file, records: Vec::with_capacity(most) });
            said.records.extend(info::records(section.data).map_while(Result::ok));
        }
        said
    }

    /// The GPUs that run all the code of the output as it is.
    fn fast_path(&self, said: &[Said<'data>]) -> u64 {
        let target = self.options.target;
        let here = |said: &Said<'data>| {
            let object = &self.inputs.files()[said.file];
            let mask = said.records.iter().find(|record| record.attribute.0 == Tag::CAN_FASTPATH_FINALIZE.0);
            let mask = mask.and_then(|record| record.payload.first_chunk()).map(|&bytes| u64::from_le_bytes(bytes));
            if target.views == Views::One {
                return mask;
            }
            let (kept, left_out) = self.code_of(said.file);
            let imitates = self.options.imitates(Imitation::FastPathFromInstructions);
            match mask {
                _ if kept.is_empty() => None,
                // The records of code that was compiled for another GPU do not hold for code for the target.
                _ if object.sm != target.number => Some(0),
                // The reference linker gives a bit back when the code that cleared it is left out. It goes by the instructions, which
                // this linker does not judge: what the compiler says of the whole object always holds.
                Some(mask) if imitates => Some(fast_path::mask_of_kept(object.sm, mask, &kept, &left_out)),
                None if imitates => Some(fast_path::mask_of_code(object.sm, &kept)),
                mask => Some(mask.unwrap_or(0)),
            }
        };
        let all = said.iter().filter_map(here).reduce(|all, mask| all & mask);
        all.unwrap_or_else(|| match self.inputs.release().has(Rule::FastPathWithoutCode) {
            true => Target::fast_path_mask(target.number),
            false => 0,
        })
    }

    /// The machine code of the functions of an input: that of those that are in the output, and that of the others.
    fn code_of(&self, file: FileId) -> (Vec<&'data [u8]>, Vec<&'data [u8]>) {
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for &symbol in &self.inputs.files()[file].functions {
            let Place::Section(code) = self.inputs.symbols()[symbol].place() else { continue };
            let Some(machine) = self.inputs.in_view(code, View::Machine) else { continue };
            let is_live = self.resolution.function(symbol).is_some_and(|function| self.live.contains(function));
            let is_kept = is_live && self.resolution.fate(symbol) == Fate::Taken;
            if is_kept { &mut kept } else { &mut left_out }.push(self.inputs.sections()[machine].data);
        }
        (kept, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(tag: Tag, release: &str, values: &[Option<u16>]) -> Option<u16> {
        let release = Release::by_name(release)?;
        CombinedRecord::of(tag, release)?.combine(values, Views::One, release)
    }

    #[test]
    fn every_tag_has_one_row_per_release() {
        for release in Release::all() {
            for row in &ROWS {
                let rows = ROWS.iter().filter(|other| other.tag == row.tag && other.holds(release)).count();
                assert!(rows <= 1, "{} in {}", row.tag, release.name);
            }
        }
    }

    #[test]
    fn values_combine_as_their_rows_say() {
        for (tag, release, values, expected) in [
            (Tag::ISA_CLASS, "13.0", &[Some(1), Some(2)][..], Some(2)),
            (Tag::ISA_CLASS, "13.0", &[Some(1), Some(0), Some(2)], Some(0)),
            (Tag::INST_TENSORMAP_V1, "13.4", &[Some(1), Some(2)], Some(3)),
            (Tag::INST_TCGEN05_MMA, "13.1", &[Some(5), None], None),
            (Tag::INST_TCGEN05_MMA, "13.0", &[Some(5), None], Some(0)),
            (Tag::INST_TCGEN05_MMA, "13.0", &[Some(1), Some(6)], Some(2)),
            (Tag::INST_TCGEN05_MMA, "13.0", &[Some(6), Some(4), Some(5)], Some(4)),
            (Tag::INST_TCGEN05_MMA, "13.1", &[Some(3), Some(4)], Some(0)),
            (Tag::INST_TCGEN05_MMA, "13.0", &[Some(7), Some(8)], Some(8)),
            (Tag::ENABLE_OPPORTUNISTIC_FINALIZATION, "13.0", &[Some(2), Some(2)], Some(2)),
            (Tag::ENABLE_OPPORTUNISTIC_FINALIZATION, "13.0", &[Some(2), None], Some(1)),
            (Tag::MERCURY_ISA_MAJOR_MINOR_VERSION, "13.2", &[None], Some(0x0100)),
            (Tag::MERCURY_ISA_MAJOR_MINOR_VERSION, "13.3", &[None], None),
            (Tag::FINALIZER_ISA_VERSION, "13.3", &[None, Some(0x0101)], Some(0x0101)),
            (Tag::CUDA_INTERNAL_TARGET, "13.4", &[Some(0), None], Some(2)),
            (Tag::FINALIZER_VERSION, "13.4", &[Some(0x0400), None], None),
        ] {
            assert_eq!(combined(tag, release, values), expected, "{tag} in {release} of {values:?}");
        }
        assert_eq!(combined(Tag::FINALIZER_VERSION, "13.3", &[Some(0x0400)]), None);
    }
}
