//! What the reference linker does wrong, or in a way that this linker does not, release by release.
//!
//! Files are compared byte for byte with the reference's to find unintended differences, which intended ones would hide. So each
//! intended difference is a row here, with the releases that show it, and is imitated with `--compat=nvlink-VERSION`, and only
//! then. Phases ask for the row that they mean; docs/differences.md lists all rows.

use cubin::release::Build;
use cubin::target::Views;
use std::fmt;

/// One row: a way of the reference linker that is imitated on request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ImitationRow {
    /// What the reference does.
    pub what: &'static str,
    /// Why another way is right.
    pub why: &'static str,
    /// The first release or build that does it.
    pub first: &'static str,
    /// The last release or build that does it, if a later one does not.
    pub last: Option<&'static str>,
    /// The form of files in which it is seen, if not in both.
    pub views: Option<Views>,
    /// The test cases that show it: without the imitation their results differ from the reference's.
    pub cases: &'static [&'static str],
}

macro_rules! imitations {
    ($($name:ident $first:literal $(to $last:literal)? $(in $views:ident)?, [$($case:literal)*], $what:literal, $why:literal;)*) => {
        /// A way of the reference linker that is imitated on request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Imitation {
            $(#[doc = $what] $name,)*
        }

        impl Imitation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The one of that name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                [$((stringify!($name), Self::$name),)*].into_iter().find(|row| row.0 == name).map(|row| row.1)
            }

            /// What is known of it.
            #[must_use]
            pub fn row(self) -> ImitationRow {
                match self {
                    $(Self::$name => ImitationRow {
                        what: $what, why: $why, first: $first, last: [$($last,)?].first().copied(),
                        views: [$(Views::$views,)?].first().copied(), cases: &[$($case,)*],
                    },)*
                }
            }
        }
    };
}

imitations! {
    NullPointersInConstants "13.0", ["constant_of_discarded"],
        "Drops relocations in `__constant__` data that name a weak function or variable whose definition in the same object was discarded.",
        "The pointers stay null.";
    ForgottenPointersInConstants "13.0", ["constant_of_replaced"],
        "Drops relocations in `__constant__` data that name a variable which a later object's definition replaced.",
        "The pointers stay null.";
    OverlappingConstants "13.0" to "13.4", ["host_constants" "kernels_used_constants"],
        "When host code tells which kernels are used, leaves out small constants that equal earlier ones, but places those behind them, and relocations, as if they were there.",
        "Constants overlap, and code reads some from the wrong offset.";
    ConstantsOfThirdDefinitions "13.0" in One, ["weak_kernel_constants"],
        "Where a kernel's first definition has no compiler-made constants, a later one that is discarded has some, and another with some takes the first one's place, gathers those of the functions that it calls in a section of their own. `-v` does not list the kernel's.",
        "Both sections start where the bank does, and code reads the wrong ones.";
    JumpTablesOfThirdDefinitions "13.5" in Two, ["weak_kernel_jump_tables"],
        "From `sm_100` on, gathers jump tables in a section of their own where ConstantsOfThirdDefinitions does so before.",
        "Both sections start where the bank does, and branches go astray.";
    NullSymbolValue "13.0", ["debug_label_null_symbol"],
        "Leaves the offset of a constant in the null symbol, that of a discarded definition, or of some constant when host code tells which kernels are used, and takes labels of removed code for that symbol.",
        "The null symbol has no address, and neither has code that is gone.";
    LoneKernelKeepsItsOwn "13.0", ["sparsity_one_kernel"],
        "Does not raise a program's only entry function to what the functions need that it calls.",
        "The driver prepares too little.";
    LoneKernelIsEverything "13.0", ["kept_kernels"],
        "With one entry function that may be launched, removes functions that only unified functions call, and does not count entry functions that stay because their address is taken: they get no stack size, and what only they call is removed.",
        "Unified functions are entered from other programs, and device code can launch what it has the address of. A result in which such an entry function calls what was removed is refused.";
    CallsOfAddressTaken "13.0", ["address_taken_lone"],
        "Removes what only functions call that stay because their address is taken, and functions whose address is taken by way of a definition that was discarded.",
        "Their calls lead nowhere, and other modules can be given their address. A result in which code or data refers to what was removed is refused.";
    FramesOfInnerFunctions "13.0" in Two, ["whole_program_recursion"],
        "From `sm_100` on, says in the machine's view of all functions of a whole program's kernel (`-ewp`) that their frame is that of the last.",
        "Each has a frame of its own.";
    NullSymbolInShared "13.0" in One, ["whole_program"],
        "On `sm_90`, gives the null symbol the start of the shared memory of whole programs (`-ewp`).",
        "The null symbol has no address.";
    FirstStubDecidesPool "13.0", ["unified_pool" "unified_shared"],
        "Gives stubs of unified functions no part of the shared-memory pool unless the first has one.",
        "Shared variables of the others overlap.";
    UnifiedEntriesLinkedByOldNumber "13.5" in Two, ["unified_tables_by_slot"],
        "From `sm_100` on, links the entries of unified variables, or of functions with `-r`, to the section with the number of an object's symbol table.",
        "They name symbols of the symbol table.";
    ConstantsOfStubsMisnamed "13.5" in Two, ["unified_stub_constants"],
        "From `sm_100` on, calls the constants that a stub of a unified function leads to `.nv.constant2.t`, whatever its name.",
        "Sections of several stubs have one name.";
    LanguagesBehindStacks "13.2", ["unified_entries" "unified_dead_code" "unified_calls_unified"],
        "Writes the languages of what unified functions call behind the last record of `.nv.info`, as a part of it.",
        "A reader takes them for something else.";
    ReservedSectionNumbers "13.0", [],
        "Writes section numbers 0xff00 and 0xfff2 into symbols as they are.",
        "They mean something else to a reader.";
    FirstDynamicAlignment "13.0", ["shared_dynamic_aligned" "shared_dynamic_two_arrays" "shared_dynamic_agreed"],
        "Aligns dynamic shared memory as its first declaration says, whatever others say, and where code knows it by several names, as the last of them says in the first function that a kernel reaches. Where kernels agree on a start, only that of the one whose memory ends last is aligned as it needs.",
        "Code that declares more may fault.";
    UncountedReservedShared "13.0" in One, ["reserved_shared_uncounted"],
        "With `-disable-smem-reservation`, allows as much shared memory as if what is reserved did not count.",
        "The GPU does not have it.";
    RelocatableSettles "13.0", ["relocatable"],
        "In a relocatable output (`-r`), applies relocations of constants and textures and places tentative definitions.",
        "Only the final link knows the values.";
    RelocatableSettlesShared "13.0" to "13.1", ["relocatable_shared"],
        "In a relocatable output, applies relocations of shared variables.",
        "Only the final link knows the values.";
    RelocatableSettlesDynamicShared "13.0", ["relocatable_shared"],
        "In a relocatable output, defines dynamic shared memory.",
        "Only the final link knows where it starts.";
    DynamicSharedTwice "13.0", ["relocatable_dynamic_shared_again"],
        "Refuses a relocatable output of its own behind an input that mentions the same dynamic shared memory.",
        "Neither defines it, and the other order is linked.";
    RelocatableMissingVariables "13.0", ["relocatable_missing"],
        "In a relocatable output, gives undefined variables the address -1 and undefined constants a bank that does not exist.",
        "What is undefined has no address yet.";
    RelocatableConstantsSize "13.0", ["constants_size_relocatable"],
        "In a relocatable output, answers code that asks for the size of all constants.",
        "Only the final link knows it: code that tells pointers to constants from others would take later ones for others.";
    WholeProgramsOfOneRelease "13.1", ["whole_program_older"],
        "Refuses whole programs (`-ewp`) of older toolkits of CUDA 13.",
        "What compilers leave to the linker is the same in all of them, and the library links them.";
    CompiledTextureSlotsTwice "13.5" in Two, ["whole_program_textures_twice"],
        "From `sm_100` on, appends the parameters of whole programs (`-ewp`) with texture slots once more to themselves.",
        "Nothing reads them there, and large ones may not fit twice.";
    AcceleratedForPlain "13.0" to "13.0", ["accelerated_elsewhere"],
        "Links code for an `a` target for one without the letter.",
        "It runs on one GPU alone, and the output claims to run on others.";
    VirtualTargetOfTwoViews "13.0" to "13.0", ["virtual_target_two_views"],
        "Where the target is virtual (`compute_100`), refuses all objects from `sm_100` on.",
        "One for that GPU or an older one is as good there as before `sm_100`.";
    WithoutWorkaroundRecords "13.2" to "13.2.78" in Two, ["workaround_records"],
        "From `sm_100` on, leaves out the records of a workaround, also where compilers wrote them.",
        "Every later build writes them.";
    FramesOfReplacedDefinitions "13.0" in Two, ["weak_frames"],
        "From `sm_100` on, leaves an empty second frame of a weak function that was replaced.",
        "Debuggers have no use for it.";
    LinesOfReplacedDefinitions "13.0" in Two, ["weak_lines"],
        "From `sm_100` on, writes the lines of a weak function that was replaced for the code of the new one.",
        "They are wrong.";
    LinesOfStubs "13.0" in Two, ["unified_debug"],
        "From `sm_100` on, says in line tables that the first stub of a unified function has the code of all, and the others none.",
        "Each has code of its own.";
    RangesOfReplacedDefinitions "13.0" in Two, ["weak_debug" "same_static_function_debug" "debug_ranges_by_name" "same_static_function_undescribed"],
        "From `sm_100` on, places ranges of a weak function that was replaced in the code of the new one, and has live ranges of registers for one function of a name, in the code of the first one.",
        "They are wrong.";
    JumpTablesOfReplacedDefinitions "13.0" to "13.4" in Two, ["weak_jump_tables" "weak_jump_tables_shorter"],
        "From `sm_100` on, keeps the relocations of jump tables of a weak function that was replaced.",
        "They end the link with an error where the new table is a kernel's and smaller, and send branches astray otherwise.";
    BarriersOfOldKernels "13.0", ["old_barriers"],
        "Says of a kernel of CUDA 12 how many barriers the functions use that it calls, where any has a record of it, and leaves the kernel's own number in its section's flags. Of such functions that a program's only kernel does not reach, it counts none.",
        "The largest number is right, wherever it was said.";
    BarriersOfKernelBefore "13.1", ["verbose" "verbose_order"],
        "With `-v`, says of a kernel without barriers that it uses as many as the kernel listed before it.",
        "It uses none.";
    FastPathFromInstructions "13.0", ["fast_path"],
        "Finds out from the instructions that stay on which other GPUs of the family the code runs as it is.",
        "What the compilers say of their objects always holds.";
}

/// The row as a sentence, as the design lists it.
impl fmt::Display for Imitation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImitationRow { what, why, first, last, cases, .. } = self.row();
        write!(out, "**{self:?}** ({first}")?;
        match last {
            Some(last) if last == first => write!(out, " only")?,
            Some(last) => write!(out, " to {last}")?,
            None => write!(out, " on")?,
        }
        for (index, case) in cases.iter().enumerate() {
            write!(out, "{} `tests/cases/{case}`", if index == 0 { ";" } else { "," })?;
        }
        write!(out, "). {what} {why}")
    }
}

/// The imitations that a link is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imitations(u64);

impl Imitations {
    /// None, as is the default.
    pub const NONE: Self = Self(0);

    /// All that a build shows.
    #[must_use]
    pub fn of(build: &Build) -> Self {
        let shows = |row: ImitationRow| build.is_between(row.first, row.last);
        Imitation::ALL.iter().filter(|imitation| shows(imitation.row())).copied().fold(Self::NONE, Self::with)
    }

    /// These and another one.
    #[must_use]
    pub fn with(self, imitation: Imitation) -> Self {
        Self(self.0 | 1 << imitation as u32)
    }

    /// These without one.
    #[must_use]
    pub fn without(self, imitation: Imitation) -> Self {
        Self(self.0 & !(1 << imitation as u32))
    }

    /// Whether one is among them.
    #[must_use]
    pub fn contains(self, imitation: Imitation) -> bool {
        self.0 & 1 << imitation as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::release::{Release, Tool, ToolBuild};

    #[test]
    fn rows_are_about_known_releases() {
        for imitation in Imitation::ALL {
            let row = imitation.row();
            let is_known = |name: &str| {
                Release::by_name(name).is_some() || ToolBuild::all(Tool::Nvlink).any(|known| known.build.version == name)
            };
            assert!(is_known(row.first) && row.last.is_none_or(is_known), "{imitation:?}");
        }
        assert!(Imitation::ALL.len() <= u64::BITS as usize);
    }

    #[test]
    fn a_build_shows_what_began_by_then_and_did_not_end() {
        let shown = |version: &str| {
            let known = ToolBuild::all(Tool::Nvlink).find(|known| known.build.version == version);
            Imitations::of(known.expect("a known build").build)
        };
        for known in ToolBuild::all(Tool::Nvlink) {
            assert!(Imitations::of(known.build).contains(Imitation::FastPathFromInstructions), "{}", known.name());
        }
        for (version, without) in
            [("13.1.115", false), ("13.2.51", true), ("13.2.78", true), ("13.2.86", false), ("13.3.33", false)]
        {
            assert_eq!(shown(version).contains(Imitation::WithoutWorkaroundRecords), without, "{version}");
        }
        for &imitation in Imitation::ALL {
            assert_eq!(Imitation::by_name(&format!("{imitation:?}")), Some(imitation));
            assert_eq!(Imitations::NONE.with(imitation).without(imitation), Imitations::NONE);
        }
        let one = Imitations::NONE.with(Imitation::FramesOfReplacedDefinitions);
        assert!(one.contains(Imitation::FramesOfReplacedDefinitions) && !one.contains(Imitation::NullSymbolValue));
    }
}
