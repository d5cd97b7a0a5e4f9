//! The known releases of CUDA, and the differences between their linkers.
//!
//! A release is a row, as an architecture is in [`crate::target`], and has a row for each build of its tools: the first one and those
//! of updates. Who writes a file asks the release which rules it has, and never compares version numbers. Its rules are those of the newest
//! build; what an older one does differently is a row of the linker's table of imitations.

/// One release of the CUDA toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// Its number, as people write it: `13.4`.
    pub name: &'static str,
    /// Its number, as objects record it in `.note.nv.cuinfo`: 134.
    pub toolkit: u16,
    /// The newest version of Mercury code that its finalizer takes, major in the upper byte.
    pub newest_mercury: u16,
    /// The version of its finalizer, as files record it that have the record.
    pub finalizer: u16,
    /// The builds of `nvlink`, oldest first; none where only the library is known.
    pub nvlink: &'static [Build],
    /// The builds of libnvJitLink, oldest first.
    pub nvjitlink: &'static [Build],
}

/// The tools of a release that link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The program.
    Nvlink,
    /// The library.
    NvJitLink,
}

impl Tool {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Nvlink, Self::NvJitLink];

    /// Its name, as in `nvlink-13.4.92`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvlink => "nvlink",
            Self::NvJitLink => "nvjitlink",
        }
    }
}

/// One build of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Build {
    /// Its full number: `13.4.92`.
    pub version: &'static str,
    /// What its note says of the version.
    pub version_text: &'static str,
    /// What its note says of the build.
    pub build_text: &'static str,
}

impl Build {
    /// The numbers of a version, for comparisons: those of a release come before those of its builds.
    fn numbers(version: &str) -> impl Iterator<Item = u32> + '_ {
        version.split('.').map(|number| number.parse().unwrap_or(u32::MAX))
    }

    /// Whether it is one of those from `first` to `last`, both of which may name a release: all of its builds.
    #[must_use]
    pub fn is_between(&self, first: &str, last: Option<&str>) -> bool {
        let is_of = |release: &str| Self::numbers(self.version).zip(Self::numbers(release)).all(|(own, its)| own == its);
        let is_until = |last: &str| Self::numbers(self.version).le(Self::numbers(last)) || is_of(last);
        Self::numbers(self.version).ge(Self::numbers(first)) && last.is_none_or(is_until)
    }
}

/// A build of a tool, and the release that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBuild {
    /// The tool.
    pub tool: Tool,
    /// Its release.
    pub release: &'static Release,
    /// Its build.
    pub build: &'static Build,
}

impl ToolBuild {
    /// Every build of a tool of CUDA 13, oldest first.
    pub fn all(tool: Tool) -> impl Iterator<Item = Self> {
        RELEASES.iter().flat_map(move |release| release.builds(tool).iter().map(move |build| Self { tool, release, build }))
    }

    /// The build of that name: `nvlink-13.4.92`, or `nvlink-13.4` for the newest of a release.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let (tool, version) = name.split_once('-')?;
        let tool = Tool::ALL.iter().copied().find(|known| known.name() == tool)?;
        let build_of = |release: &'static Release| match release.name == version {
            true => release.newest_build(tool),
            false => release.builds(tool).iter().find(|build| build.version == version),
        };
        [&CUDA_12].into_iter().chain(RELEASES).find_map(|release| Some(Self { tool, release, build: build_of(release)? }))
    }

    /// The build of `nvlink` that printed this as its version.
    #[must_use]
    pub fn that_printed(text: &str) -> Option<Self> {
        Self::all(Tool::Nvlink).find(|known| text.lines().any(|line| line == known.build.version_text))
    }

    /// Its name: `nvlink-13.4.92`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}-{}", self.tool.name(), self.build.version)
    }
}

impl Tool {
    /// The words that name its builds: each release, which stands for its newest build, and each build.
    #[must_use]
    pub fn build_names(self) -> Vec<String> {
        let releases = [&CUDA_12].into_iter().chain(RELEASES).filter(|release| !release.builds(self).is_empty());
        let versions = |release: &'static Release| release.builds(self).iter().map(|build| build.version);
        let words = releases.flat_map(|release| std::iter::once(release.name).chain(versions(release)));
        words.map(|version| format!("{}-{version}", self.name())).collect()
    }
}

/// What every release of the library says of its build.
const UNNAMED_BUILD: &str = "Build system must define TOOLS_VERSION_EXTENDED";

macro_rules! libraries {
    ($name:literal $($library:literal)*) => {
        &[$(Build {
            version: $library,
            version_text: concat!("Cuda compilation tools, release ", $name, ", V", $library),
            build_text: UNNAMED_BUILD,
        },)*]
    };
}

macro_rules! programs {
    ($name:literal $($nvlink:literal ($build:literal))*) => {
        &[$(Build {
            version: $nvlink,
            version_text: concat!("Cuda compilation tools, release ", $name, ", V", $nvlink),
            build_text: concat!("Build cuda_", $name, ".r", $name, "/compiler.", $build),
        },)*]
    };
}

macro_rules! releases {
    ($(
        $name:literal $toolkit:literal mercury $mercury:literal finalizer $finalizer:literal,
        nvlink [$($nvlink:tt)*], nvjitlink [$($library:literal)*];
    )*) => {
        &[$(Release {
            name: $name,
            toolkit: $toolkit,
            newest_mercury: $mercury,
            finalizer: $finalizer,
            nvlink: programs!($name $($nvlink)*),
            nvjitlink: libraries!($name $($library)*),
        },)*]
    };
}

static RELEASES: &[Release] = releases! {
    "13.0" 130 mercury 0x0101 finalizer 0x0400,
        nvlink ["13.0.48" ("36260728_0") "13.0.88" ("36424714_0")],
        nvjitlink ["13.0.39" "13.0.88"];
    "13.1" 131 mercury 0x0101 finalizer 0x0400,
        nvlink ["13.1.80" ("36836380_0") "13.1.115" ("37061995_0")],
        nvjitlink ["13.1.80" "13.1.115"];
    "13.2" 132 mercury 0x0102 finalizer 0x0400,
        nvlink ["13.2.51" ("37434383_0") "13.2.78" ("37668154_0") "13.2.86" ("37953736_0")],
        nvjitlink ["13.2.51" "13.2.78" "13.2.86"];
    "13.3" 133 mercury 0x0103 finalizer 0x0400,
        nvlink ["13.3.33" ("37862127_0") "13.3.73" ("38244171_0")],
        nvjitlink ["13.3.33"];
    "13.4" 134 mercury 0x0104 finalizer 0x0400,
        nvlink ["13.4.59" ("38657139_0") "13.4.92" ("38855100_0")],
        nvjitlink ["13.4.52" "13.4.92"];
    "13.5" 135 mercury 0x0105 finalizer 0x0440,
        nvlink ["13.5.37" ("39125733_0")],
        nvjitlink ["13.5.37"];
};

/// The last release of CUDA 12, of which only the library is known. Its files have another header than those of CUDA 13.
static CUDA_12: Release = Release {
    name: "12.9",
    toolkit: 129,
    newest_mercury: 0x0100,
    finalizer: 0x0400,
    nvlink: &[],
    nvjitlink: libraries!("12.9" "12.9.86"),
};

impl Release {
    /// The last release of CUDA 12: older than all that [`Release::all`] lists, and none that is chosen unless it is named.
    #[must_use]
    pub fn cuda_12() -> &'static Self {
        &CUDA_12
    }

    /// All releases, oldest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        RELEASES
    }

    /// The oldest release.
    #[must_use]
    pub fn oldest() -> &'static Self {
        &RELEASES[0]
    }

    /// The newest release.
    #[must_use]
    pub fn newest() -> &'static Self {
        &RELEASES[RELEASES.len() - 1]
    }

    /// The release of that name: `13.4`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        RELEASES.iter().find(|release| release.name == name)
    }

    /// The known builds of one of its tools, oldest first.
    #[must_use]
    pub fn builds(&self, tool: Tool) -> &'static [Build] {
        match tool {
            Tool::Nvlink => self.nvlink,
            Tool::NvJitLink => self.nvjitlink,
        }
    }

    /// The newest build of one of its tools, if one is known.
    #[must_use]
    pub fn newest_build(&self, tool: Tool) -> Option<&'static Build> {
        self.builds(tool).last()
    }

    /// The oldest release that takes the objects of a toolkit, as they record it; the newest if none does.
    #[must_use]
    pub fn for_toolkit(toolkit: u32) -> &'static Self {
        RELEASES.iter().find(|release| u32::from(release.toolkit) >= toolkit).unwrap_or(Self::newest())
    }

    /// Whether the linker of this release has a rule.
    #[must_use]
    pub fn has(&self, rule: Rule) -> bool {
        self.toolkit >= rule.since()
    }
}

macro_rules! rules {
    ($($rule:ident $since:literal $what:literal;)*) => {
        /// What linkers do since some release.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $what] $rule,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// The first toolkit that has it.
            const fn since(self) -> u16 {
                match self { $(Self::$rule => $since,)* }
            }
        }
    };
}

rules! {
    Cuda13Files 130
        "Files have the header of CUDA 13, and notes.";
    StubsStandAlone 131
        "In a table of unified functions, every stub is filled up by itself, and nothing stands behind the last.";
    FinalizerRefuses 131
        "The finalizer refuses what it can not finalize with an error, and code without a version as well.";
    ToolsPatchByShortName 134
        "What `-astoolspatch` needs is said to be needed by that name, and not by one with two dashes.";
    DynamicSharedAligned 131
        "Dynamic shared memory starts at a multiple of its section's alignment, not of 16.";
    OpportunisticFinalizationImplied 131
        "`.nv.compat` does not say that opportunistic finalization is enabled.";
    LiveRangesStartInTime 131
        "A live range starts with the last machine instruction of its Mercury instruction, not with what fills up behind it or in the next one.";
    TensorCoreGenerationByAll 131
        "`.nv.compat` says which tensor core instructions are used only if every object does.";
    EmbeddedSharesGeneration 132
        "GPUs of embedded systems take code for earlier GPUs of their generation, and later ones take theirs.";
    FastPathInOneView 132
        "`.nv.compat` says which GPUs run the machine code as it is for targets without Mercury code, too.";
    ExternsAscend 132
        "The external functions of a program's only entry function are listed in ascending order.";
    WorkaroundRecords 132
        "Functions with Mercury code have a record of a workaround.";
    FinalizerIsaVersion 133
        "`.nv.compat` has the version of the instruction set that the finalizer checks.";
    FastPathWithoutCode 133
        "A file without functions runs as it is on all GPUs of its family.";
    WeakAmongGlobals 134
        "Weak symbols stand among the global symbols.";
    SharedOfOneKernelLocal 134
        "A shared variable in the memory of one kernel has a symbol of local binding.";
    CallGraphInBothViews 134
        "The Mercury view has its own call graph and prototypes.";
    PreexitRecords 134
        "Functions with Mercury code have a record that says whether they let dependent grids launch early.";
    FinalizerVersion 134
        "`.nv.compat` has the internal target and the version of the finalizer.";
    NoListsInVain 135
        "Where every relocation has its addend in the list, no other list is made, which would stay empty.";
    CompactFiles 135
        "Files with two views have names of what they have and of nothing else, and no room for what has no bytes.";
    DebugInfoOfMachine 135
        "The Mercury view has the `.debug_info` of the machine view.";
    LiveRangesOfDebuggedCode 135
        "Live ranges are looked up in the code of objects with debug information alone.";
    LineTablesEnd 135
        "A table of lines without lines has the end of a sequence, in the machine view of files with two.";
    ConstantsKeepNames 135
        "Constants that compilers made for functions keep their names in files that are not executed.";
    LocalsReadFirst 135
        "The local symbols of an object with two views are read before its weak ones.";
    LocalsTogether 135
        "Shared variables that get a symbol of local binding stand among the local symbols of files with two views.";
    MercuryStubsBySlot 135
        "The Mercury code of a table of unified functions is said to be that of the stub in the first slot, and to have no entries.";
    ViewsInOneOrder 135
        "The sections of the Mercury view stand in the order of those of the machine view.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_ascend_and_are_found_by_name() {
        assert!(RELEASES.windows(2).all(|pair| pair[0].toolkit < pair[1].toolkit));
        for release in RELEASES {
            assert_eq!(Release::by_name(release.name), Some(release));
            assert_eq!(release.name.replace('.', ""), release.toolkit.to_string());
            for build in Tool::ALL.iter().flat_map(|&tool| release.builds(tool)) {
                assert!(build.version.starts_with(release.name), "{build:?}");
            }
            for builds in Tool::ALL.map(|tool| release.builds(tool)) {
                assert!(builds.windows(2).all(|pair| pair[1].is_between(pair[0].version, None)), "{builds:?}");
            }
        }
        assert_eq!(Release::by_name("12.9"), None);
    }

    #[test]
    fn builds_are_found_by_name() {
        let found = |name: &str| ToolBuild::by_name(name).map(|found| (found.tool, found.release.name, found.build.version));
        assert_eq!(found("nvlink-13.3.73"), Some((Tool::Nvlink, "13.3", "13.3.73")));
        assert_eq!(found("nvlink-13.3.33"), Some((Tool::Nvlink, "13.3", "13.3.33")));
        assert_eq!(found("nvjitlink-13.4.52"), Some((Tool::NvJitLink, "13.4", "13.4.52")));
        assert_eq!(found("nvlink-13.4"), Some((Tool::Nvlink, "13.4", "13.4.92")));
        assert_eq!(found("nvjitlink-12.9.86"), Some((Tool::NvJitLink, "12.9", "12.9.86")));
        for unknown in ["nvjitlink-13.3.73", "nvlink-12.9.86", "nvlink-13.99", "nvlink", "ld-13.4", "nvlink-", "13.4"] {
            assert_eq!(found(unknown), None, "{unknown}");
        }
        for tool in Tool::ALL {
            assert!(tool.build_names().iter().all(|name| found(name).is_some()));
            assert!(ToolBuild::all(tool).all(|known| ToolBuild::by_name(&known.name()) == Some(known)));
        }
    }

    #[test]
    fn builds_are_found_by_what_they_print() {
        let found = |version: &str| {
            let text = format!("nvlink: NVIDIA (R)\nCuda compilation tools, release 13.1, {version}\nBuild x\n");
            ToolBuild::that_printed(&text).map(|found| found.build.version)
        };
        assert_eq!((found("V13.1.80"), found("V13.1.115"), found("V13.1.11")), (Some("13.1.80"), Some("13.1.115"), None));
    }

    #[test]
    fn builds_are_compared_by_their_numbers() {
        let [first, last] = RELEASES[1].nvlink else { panic!("two builds are known") };
        assert!(first.is_between("13.1", None) && last.is_between("13.0", Some("13.1")));
        assert!(first.is_between("13.1.80", Some("13.1.80")) && !last.is_between("13.1", Some("13.1.80")));
        assert!(!first.is_between("13.1.115", None) && !first.is_between("13.0", Some("13.0")));
    }

    #[test]
    fn objects_are_for_the_oldest_release_that_takes_them() {
        for (toolkit, name) in [(0, "13.0"), (129, "13.0"), (130, "13.0"), (132, "13.2"), (134, "13.4"), (199, "13.5")] {
            assert_eq!(Release::for_toolkit(toolkit).name, name, "{toolkit}");
        }
    }

    #[test]
    fn every_rule_came_with_a_known_release() {
        for rule in Rule::ALL {
            assert!(RELEASES.iter().any(|release| release.toolkit == rule.since()), "{rule:?}");
            assert!(!CUDA_12.has(*rule) && Release::newest().has(*rule), "{rule:?}");
        }
    }
}
