//! Files in the layout of CUDA 13.5, which has the most differences from the first release.
//!
//! What is stored was made by libnvJitLink 13.5.37 of the inputs of cases; those with debug information have inputs of their own.

use cuweld::imitations::Imitations;
use cuweld::options::{KernelRoots, Options, OutputKind, ReleaseChoice, ToolNoteText};
use cuweld::release::ToolBuild;
use cuweld::target::Target;
use cuweld::{Added, Linker};
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A folder with inputs, the target, and what is not as usual.
type Link = (&'static str, &'static str, fn(&mut Options));

const LINKS: [Link; 9] = [
    ("cases/weak_among_globals/inputs", "sm_80", |_| {}),
    ("cases/weak_among_globals/inputs", "sm_90", |_| {}),
    ("cases/weak_among_globals/inputs", "sm_120", |_| {}),
    ("cases/jump_tables/inputs", "sm_100", |_| {}),
    ("cases/textures/inputs", "sm_100", |_| {}),
    ("cases/reserved_shared/inputs", "sm_110", |_| {}),
    ("cases/kernels_used/inputs", "sm_120", |options| {
        options.kernels = KernelRoots::Matching(vec!["*second*".into(), "*third*".into()])
    }),
    ("cases/relocatable/inputs", "sm_120", |options| options.output = OutputKind::Relocatable),
    ("nvjitlink/release-13.5/debug", "sm_107", |options| options.debug = true),
];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

#[test]
fn files_of_13_5_are_those_of_its_library() -> Result<()> {
    let ToolBuild { release, build, .. } = ToolBuild::by_name("nvjitlink-13.5").ok_or("no release")?;
    for (folder, arch, change) in LINKS {
        let mut options = Options {
            kernels: KernelRoots::All,
            release: ReleaseChoice::Exactly(release),
            imitations: Imitations::of(build),
            note: ToolNoteText::nvjitlink(build),
            ..Options::new(Target::by_name(arch).ok_or("no target")?)
        };
        change(&mut options);
        let mut inputs: Vec<PathBuf> =
            fs::read_dir(tests().join(folder).join(arch))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        inputs.sort();
        let contents = inputs.iter().map(fs::read).collect::<std::io::Result<Vec<_>>>()?;
        let mut linker = Linker::new(options);
        for (path, bytes) in inputs.iter().zip(&contents) {
            let Added { units, .. } = linker.add(&path.to_string_lossy(), bytes)?;
            assert_eq!(units, 1, "{}", path.display());
        }
        let linked = linker.link()?;
        let name = folder.split('/').find(|part| !["cases", "nvjitlink", "release-13.5"].contains(part)).unwrap_or_default();
        let stored = tests().join(format!("nvjitlink/release-13.5/{name}.{arch}.cubin"));
        let expected = fs::read(&stored)?;
        assert!(linked.image == expected, "{} differs", stored.display());
    }
    Ok(())
}
