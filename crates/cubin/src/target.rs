//! The GPUs that CUDA 13 links for, and the differences between their files.

use crate::info::Attribute;
use crate::release::{Release, Rule};

/// What the letter after a target's number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// No letter.
    Plain,
    /// `a`: uses features of exactly this GPU.
    Accelerated,
    /// `f`: uses features of this GPU's family.
    Family,
}

/// How a target's files hold the addends of relocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addends {
    /// `.rel` sections for relocations whose addend is zero, `.rela` sections for the others.
    RelAndRela,
    /// `.rela` sections only.
    RelaOnly,
}

/// How many views of the program a target's files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Views {
    /// Machine code.
    One,
    /// Machine code, and the Mercury code that later GPUs of the family are finalized from.
    Two,
}

/// One target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// As it is written in options: `sm_90a`.
    pub name: &'static str,
    /// The number in its name.
    pub number: u32,
    /// The letter in its name.
    pub variant: Variant,
    /// Low byte of the header's flags.
    pub machine_flags: u8,
    /// Whether files have a `.nv.compat` section.
    pub has_compat: bool,
    /// How relocations hold addends.
    pub addends: Addends,
    /// Whether the high byte of a text section's `info` is the function's register count.
    pub registers_in_text_header: bool,
    /// Whether the list of applied relocations (`-preserve-relocs`) is incomplete in the reference linker's output.
    pub lists_relocations_incompletely: bool,
    /// Bytes at the start of shared memory that the system keeps for itself.
    pub reserved_shared: u64,
    /// How many views of the program files hold.
    pub views: Views,
    /// Bytes of shared memory that a block can have at most. See [`Target::static_shared_limit`].
    pub shared_memory: u64,
    /// Most bytes of a constant bank.
    pub constant_limit: u64,
    /// Whether code of other GPUs of the same generation runs here, and code for this one there.
    ///
    /// Not so for the GPUs of embedded systems, which share only the generation's number with the others, before
    /// [`Rule::EmbeddedSharesGeneration`].
    pub shares_generation: bool,
    /// The bit that stands for this GPU where an object says on which other GPUs its machine code runs as it is; 0 where no object
    /// says so.
    pub fast_path_bit: u64,
    /// An attribute that the linker gives every function of an executable after all others, with the value 0. What it means is not known.
    pub closing_attribute: Option<Attribute>,
    /// The first toolkit that links for it.
    pub first_toolkit: u16,
    /// The oldest toolkit whose objects can be linked, as they record it: 120 is CUDA 12.0.
    pub oldest_toolkit: u32,
    /// Where large parameters are laid out in another way than older toolkits knew.
    pub large_parameters: Option<LargeParameters>,
}

/// Parameters of kernels that not every toolkit can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeParameters {
    /// The most bytes of their bank that every toolkit knows.
    pub bank: u64,
    /// The oldest toolkit that knows more.
    pub toolkit: u32,
}

impl Target {
    /// The target of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The number that a GPU has today, of one that objects may know it by.
    #[must_use]
    pub fn current_number(number: u32) -> u32 {
        RENUMBERED.iter().find(|(old, _)| *old == number).map_or(number, |(_, new)| *new)
    }

    /// Whether earlier toolkits linked for the GPU `number`, and CUDA 13 does not.
    #[must_use]
    pub fn is_retired(number: u32) -> bool {
        RETIRED.contains(&number)
    }

    /// The last toolkit that linked for the GPU `number`, if CUDA 13 does not and CUDA 12 did.
    #[must_use]
    pub fn last_toolkit(number: u32) -> Option<&'static str> {
        (OLDEST_OF_CUDA_12..TARGETS[0].number).contains(&number).then_some(Release::cuda_12().name)
    }

    /// The GPUs on which machine code for `number` can run as it is, one bit each: itself among them, where there are others.
    #[must_use]
    pub fn fast_path_mask(number: u32) -> u64 {
        let bits = |is_meant: &dyn Fn(&Target) -> bool| {
            TARGETS.iter().filter(|target| is_meant(target)).fold(0, |mask, target| mask | target.fast_path_bit)
        };
        let (all, own) =
            (bits(&|target| target.accepts(number, false, Release::newest())), bits(&|target| target.number == number));
        if all == own { 0 } else { all }
    }

    /// All targets, in ascending order.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TARGETS
    }

    /// Most bytes of static shared memory of a kernel, without those reserved: 48 KiB wherever code has to run on other GPUs too, all
    /// that the GPU has where it need not, or where that is asked for.
    #[must_use]
    pub fn static_shared_limit(&self, extended: bool) -> u64 {
        if extended || self.variant == Variant::Accelerated { self.shared_memory } else { EVERYWHERE }
    }

    /// Whether a release makes files of CUDA 12 for this target: with that one's header, and without notes. From `sm_100` on, files
    /// have always had the header of CUDA 13.
    #[must_use]
    pub fn is_of_cuda_12(&self, release: &Release) -> bool {
        self.views == Views::One && !release.has(Rule::Cuda13Files)
    }

    /// Whether a release links an input file for the GPU `number` for this target. `accelerated` says that the input is
    /// code for a variant `a`.
    ///
    /// Code runs on its own GPU and on later ones of its generation; accelerated code is for targets `a` of its own GPU.
    #[must_use]
    pub fn accepts(&self, number: u32, accelerated: bool, release: &Release) -> bool {
        let shares_generation = |target: &Self| target.shares_generation || release.has(Rule::EmbeddedSharesGeneration);
        let shares = |number: u32| TARGETS.iter().any(|target| target.number == number && shares_generation(target));
        if accelerated {
            return number == self.number && self.variant == Variant::Accelerated;
        }
        number == self.number
            || (number < self.number && number / 10 == self.number / 10 && shares_generation(self) && shares(number))
    }
}

/// GPUs that had other numbers in earlier toolkits: CUDA 12 called `sm_110` `sm_101`.
const RENUMBERED: [(u32, u32); 1] = [(101, 110)];

/// GPUs that earlier toolkits linked for. PTX and LTO-IR that name them are still compiled.
const RETIRED: [u32; 17] = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70];

/// The oldest GPU that CUDA 12 linked for.
const OLDEST_OF_CUDA_12: u32 = 50;

/// Bytes of shared memory that a block can have on every GPU.
const EVERYWHERE: u64 = 0xc000;

/// What the targets of one generation of file formats have in common.
const TURING_TO_ADA: Target = Target {
    name: "",
    number: 0,
    variant: Variant::Plain,
    machine_flags: 4,
    has_compat: false,
    addends: Addends::RelAndRela,
    registers_in_text_header: true,
    lists_relocations_incompletely: false,
    reserved_shared: 0,
    views: Views::One,
    shared_memory: 0x1_8c00,
    constant_limit: 0x1_0000,
    shares_generation: true,
    fast_path_bit: 0,
    closing_attribute: None,
    first_toolkit: 130,
    oldest_toolkit: 0,
    large_parameters: Some(LargeParameters { bank: 0x1260, toolkit: 121 }),
};

const HOPPER: Target = Target {
    oldest_toolkit: 120,
    large_parameters: None,
    has_compat: true,
    addends: Addends::RelaOnly,
    registers_in_text_header: false,
    lists_relocations_incompletely: true,
    reserved_shared: 0x400,
    shared_memory: 0x3_8c00,
    ..TURING_TO_ADA
};

const BLACKWELL: Target = Target { oldest_toolkit: 0, machine_flags: 2, views: Views::Two, ..HOPPER };

const fn blackwell(number: u32) -> Target {
    let fast_path_bit = match number {
        100 => 0x01,
        103 => 0x08,
        110 => 0x02,
        120 => 0x10,
        121 => 0x40,
        _ => 0,
    };
    let shared_memory = if number < 120 { BLACKWELL.shared_memory } else { 0x1_8c00 };
    Target { fast_path_bit, shared_memory, ..BLACKWELL }
}

/// What the variants of `sm_107` have in common: a GPU of the generation of `sm_100`.
const SM_107: Target = Target { first_toolkit: 134, closing_attribute: Some(Attribute(0x67)), ..blackwell(107) };

const fn target(name: &'static str, number: u32, variant: Variant, common: Target) -> Target {
    Target { name, number, variant, ..common }
}

const fn with_shared(shared_memory: u64, target: Target) -> Target {
    Target { shared_memory, ..target }
}

const fn embedded(target: Target) -> Target {
    Target { shares_generation: false, ..target }
}

use Variant::{Accelerated, Family, Plain};

static TARGETS: [Target; 26] = [
    with_shared(0x1_0000, target("sm_75", 75, Plain, TURING_TO_ADA)),
    with_shared(0x2_8c00, target("sm_80", 80, Plain, TURING_TO_ADA)),
    target("sm_86", 86, Plain, TURING_TO_ADA),
    with_shared(0x2_8c00, embedded(target("sm_87", 87, Plain, TURING_TO_ADA))),
    embedded(target("sm_88", 88, Plain, TURING_TO_ADA)),
    target("sm_89", 89, Plain, TURING_TO_ADA),
    target("sm_90", 90, Plain, HOPPER),
    target("sm_90a", 90, Accelerated, HOPPER),
    target("sm_100", 100, Plain, blackwell(100)),
    target("sm_100a", 100, Accelerated, blackwell(100)),
    target("sm_100f", 100, Family, blackwell(100)),
    target("sm_103", 103, Plain, blackwell(103)),
    target("sm_103a", 103, Accelerated, blackwell(103)),
    target("sm_103f", 103, Family, blackwell(103)),
    target("sm_107", 107, Plain, SM_107),
    target("sm_107a", 107, Accelerated, SM_107),
    target("sm_107f", 107, Family, SM_107),
    target("sm_110", 110, Plain, blackwell(110)),
    target("sm_110a", 110, Accelerated, blackwell(110)),
    target("sm_110f", 110, Family, blackwell(110)),
    target("sm_120", 120, Plain, blackwell(120)),
    target("sm_120a", 120, Accelerated, blackwell(120)),
    target("sm_120f", 120, Family, blackwell(120)),
    target("sm_121", 121, Plain, blackwell(121)),
    target("sm_121a", 121, Accelerated, blackwell(121)),
    target("sm_121f", 121, Family, blackwell(121)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_say_number_and_variant() {
        for target in Target::all() {
            let letter = match target.variant {
                Plain => "",
                Accelerated => "a",
                Family => "f",
            };
            assert_eq!(target.name, format!("sm_{}{letter}", target.number));
            assert_eq!(Target::by_name(target.name), Some(target));
        }
        assert_eq!(Target::all().iter().map(|target| target.name).collect::<HashSet<_>>().len(), 26);
        assert_eq!(Target::by_name("sm_70"), None);
        assert!(Target::all().is_sorted_by_key(|target| (target.number, target.name)));
    }

    #[test]
    fn code_runs_on_its_own_and_on_later_gpus_of_its_generation() {
        let release = Release::oldest();
        let accepts = |target: &str, number, accelerated| {
            Target::by_name(target).is_some_and(|target| target.accepts(number, accelerated, release))
        };
        for (target, number) in [
            ("sm_80", 80),
            ("sm_86", 80),
            ("sm_89", 80),
            ("sm_89", 86),
            ("sm_90", 90),
            ("sm_90a", 90),
            ("sm_100", 100),
            ("sm_100f", 100),
            ("sm_103", 100),
            ("sm_121", 120),
            ("sm_87", 87),
            ("sm_88", 88),
        ] {
            assert!(accepts(target, number, false), "{number} -> {target}");
        }
        for (target, number) in [
            ("sm_80", 75),
            ("sm_87", 80),
            ("sm_88", 80),
            ("sm_80", 86),
            ("sm_87", 86),
            ("sm_88", 87),
            ("sm_89", 87),
            ("sm_89", 88),
            ("sm_86", 89),
            ("sm_90", 89),
            ("sm_110", 100),
            ("sm_100f", 103),
            ("sm_110", 103),
            ("sm_120f", 121),
            ("sm_120", 110),
            ("sm_120", 100),
        ] {
            assert!(!accepts(target, number, false), "{number} -> {target}");
        }
        let release = Release::all().iter().find(|release| release.has(Rule::EmbeddedSharesGeneration));
        let later = |target: &str, number| Target::by_name(target)?.accepts(number, false, release?).then_some(());
        for (target, number) in [("sm_87", 80), ("sm_87", 86), ("sm_88", 86), ("sm_88", 87), ("sm_89", 87), ("sm_89", 88)] {
            assert!(later(target, number).is_some(), "{number} -> {target}");
        }
        assert!(
            [("sm_80", 75), ("sm_86", 87), ("sm_87", 88), ("sm_90", 88)]
                .iter()
                .all(|&(target, number)| later(target, number).is_none())
        );
        assert_eq!([101, 100, 110].map(Target::current_number), [110, 100, 110]);
        assert!(accepts("sm_90a", 90, true) && accepts("sm_100a", 100, true) && accepts("sm_100a", 100, false));
        assert!(!accepts("sm_90", 90, true) && !accepts("sm_100f", 100, true));
        assert!(!accepts("sm_103", 100, true) && !accepts("sm_103a", 100, true) && !accepts("sm_121", 120, true));
    }

    #[test]
    fn retired_targets_are_known() {
        assert!(RETIRED.iter().all(|&number| Target::is_retired(number) && number < TARGETS[0].number));
        assert_eq!([37, 52, 72, 75].map(Target::last_toolkit), [None, Some("12.9"), Some("12.9"), None]);
    }

    #[test]
    fn code_runs_as_it_is_where_the_mask_says() {
        let masks = [90, 100, 103, 107, 110, 120, 121].map(Target::fast_path_mask);
        assert_eq!(masks, [0, 0x09, 0, 0, 0, 0x50, 0]);
    }

    #[test]
    fn accelerated_targets_have_more_shared_memory() {
        for target in Target::all() {
            assert_eq!(target.static_shared_limit(false) > EVERYWHERE, target.variant == Accelerated, "{}", target.name);
            assert!(target.static_shared_limit(true) > EVERYWHERE, "{}", target.name);
        }
        let memory = |name| Target::by_name(name).map(|target| target.shared_memory);
        assert_eq!([memory("sm_90a"), memory("sm_110a"), memory("sm_121a")], [Some(0x3_8c00), Some(0x3_8c00), Some(0x1_8c00)]);
        assert_eq!([memory("sm_75"), memory("sm_87"), memory("sm_89")], [Some(0x1_0000), Some(0x2_8c00), Some(0x1_8c00)]);
    }
}
