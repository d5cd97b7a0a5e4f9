//! Links of compiled programs against the reference itself, if it is installed: for sm_100 and later those that use NVIDIA's libraries,
//! which can not be stored here, and every pair of architectures. The results are the same to the byte, but for what follows from
//! machine code that the reference generates anew.

#![cfg(unix)]

mod installed;

use cubin::release::Release;
use cubin::target::{Target, Views};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The reference, and a folder to work in.
struct Bench {
    toolkit: PathBuf,
    folder: TempDir,
}

/// What a link left behind.
struct Outcome {
    status: Option<i32>,
    messages: String,
    image: Option<Vec<u8>>,
}

/// What the compiler asks of tensor memory: a folder's worth of architectures.
const WITH_TENSOR_MEMORY: [&str; 3] = ["sm_100a", "sm_103a", "sm_110a"];

#[test]
fn the_device_runtime_library_is_linked_like_the_reference_links_it() {
    let Some(bench) = Bench::new() else { return };
    for target in targets() {
        bench.compile("launches.cu", target.name, &[]);
        bench.compare(target.name, "launches.o -lcudadevrt");
    }
}

#[test]
fn the_library_of_shared_memory_is_linked_like_the_reference_links_it() {
    let Some(bench) = Bench::new() else { return };
    let Some(home) = std::env::var_os("NVSHMEM_HOME") else {
        return installed::skip_unless_required("NVSHMEM_HOME names no folder of NVSHMEM 3 for CUDA 13");
    };
    let home = PathBuf::from(home);
    for target in ["sm_100", "sm_120"] {
        bench.compile("shmem.cu", target, &[&format!("-I{}", home.join("include").display())]);
        bench.compare(target, &format!("shmem.o {} -lcudadevrt", home.join("lib/libnvshmem_device.a").display()));
    }
}

#[test]
fn variables_of_the_system_are_placed_like_the_reference_places_them() {
    let Some(bench) = Bench::new() else { return };
    for target in WITH_TENSOR_MEMORY {
        bench.assemble("tensor_memory", target);
        bench.assemble("tensor_memory_function", target);
        for options in ["", "-r ", "-preserve-relocs "] {
            bench.compare(target, &format!("{options}tensor_memory.cubin tensor_memory_function.cubin"));
        }
    }
}

#[test]
fn objects_for_a_debugger_are_linked_like_the_reference_links_them() {
    let Some(bench) = Bench::new() else { return };
    for target in ["sm_100", "sm_120"] {
        bench.compile("debugged.cu", target, &["-G", "-cubin"]);
        bench.compile("called.cu", target, &["-G", "-cubin"]);
        for options in ["-g", "", "-g -suppress-debug-info", "-r"] {
            bench.compare(target, &format!("{options} debugged.cubin called.cubin"));
        }
    }
}

/// Each unit is compiled in another way. Of functions that both have, the reference makes debug information for two views from memory
/// that it has not written, so there it is made for one unit at most.
#[test]
fn units_that_share_code_are_linked_like_the_reference_links_them() {
    let Some(bench) = Bench::new() else { return };
    for (target, ways) in [
        ("sm_75", &[("-G", "-G"), ("-lineinfo", "-G")][..]),
        ("sm_90", &[("-G", "-G"), ("-G", "-lineinfo"), ("-O1", "-O3")]),
        ("sm_100", &[("-lineinfo", "-O3")]),
        ("sm_120", &[("-O3", "-lineinfo")]),
    ] {
        for (first, second) in ways {
            bench.compile("shapes_first.cu", target, &[first]);
            bench.compile("shapes_second.cu", target, &[second]);
            for options in ["", "-g"] {
                bench.compare(target, &format!("{options} shapes_first.o shapes_second.o"));
            }
        }
    }
}

#[test]
fn code_is_linked_for_the_targets_it_runs_on() {
    let Some(bench) = Bench::new() else { return };
    for name in ["integers", "exponential"] {
        for source in targets() {
            bench.assemble(name, source.name);
            for target in targets() {
                bench.compare_pair(name, source, target);
            }
        }
    }
}

/// The architectures whose files hold the program twice.
fn targets() -> impl Iterator<Item = &'static Target> {
    // Some came with later releases than the one that these tests compare with.
    Target::all().iter().filter(|target| target.views == Views::Two && target.first_toolkit <= Release::oldest().toolkit)
}

impl Bench {
    /// None if the reference is not installed.
    fn new() -> Option<Self> {
        let toolkit = installed::toolkit()?;
        let folder = TempDir::new().expect("a folder");
        // Called by this name, the program behaves as the reference.
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cuweld"), folder.path().join("nvlink")).expect("a link");
        Some(Bench { toolkit, folder })
    }

    fn source(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mercury").join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let path = format!("{}:{}", self.toolkit.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let output: Output = Command::new(self.toolkit.join("bin").join(program))
            .args(arguments)
            .env("PATH", path)
            .current_dir(self.folder.path())
            .output()
            .expect("the compiler runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a host object of a program, or a cubin.
    fn compile(&self, name: &str, target: &str, options: &[&str]) {
        let source = Self::source(name).to_string_lossy().into_owned();
        let (kind, ending) = if options.contains(&"-cubin") { ("-cubin", ".cubin") } else { ("-c", ".o") };
        let (object, architecture) = (name.replace(".cu", ending), format!("-arch={target}"));
        self.run("nvcc", &[options, &[&architecture, "-rdc=true", kind, &source, "-o", &object]].concat());
    }

    /// Makes an object of PTX for an architecture.
    fn assemble(&self, name: &str, target: &str) {
        let text = fs::read_to_string(Self::source(&format!("{name}.ptx"))).expect("the source");
        let [source, object] = ["ptx", "cubin"].map(|ending| format!("{name}.{ending}"));
        fs::write(self.folder.path().join(&source), text.replace("TARGET", target)).expect("a file");
        self.run("ptxas", &["-c", &format!("-arch={target}"), &source, "-o", &object]);
    }

    fn link(&self, linker: &Path, target: &str, arguments: &str) -> Outcome {
        let image = self.folder.path().join("out.cubin");
        // It is not there the first time.
        _ = fs::remove_file(&image);
        let output = Command::new(linker)
            .current_dir(self.folder.path())
            .env("CUWELD_NOTE_AS", "nvlink-13.0.88")
            .args([format!("-arch={target}"), format!("-L{}", self.toolkit.join("lib").display())])
            .args(arguments.split_whitespace())
            .args(["-o", "out.cubin"])
            .output()
            .expect("the linker runs");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        Outcome { status: output.status.code(), messages, image: fs::read(image).ok() }
    }

    fn both(&self, target: &str, arguments: &str) -> [Outcome; 2] {
        let linkers = [self.toolkit.join("bin/nvlink"), self.folder.path().join("nvlink")];
        linkers.map(|linker| self.link(&linker, target, arguments))
    }

    fn compare(&self, target: &str, arguments: &str) {
        let [reference, found] = self.both(target, arguments);
        assert_eq!((found.status, &found.messages), (reference.status, &reference.messages), "{target} {arguments}");
        assert_same_but_for_code(&reference, &found, &format!("{target} {arguments}"));
        let has_one_view = Target::all().iter().any(|known| known.name == target && known.views == Views::One);
        assert!(!has_one_view || found.image == reference.image, "{target} {arguments}: other code");
    }

    /// Either linker may refuse, the reference for the target, this one for the code.
    fn compare_pair(&self, name: &str, source: &Target, target: &Target) {
        let [reference, found] = self.both(target.name, &format!("{name}.cubin"));
        let pair = format!("{name} for {} into {}", source.name, target.name);
        let has_other_instructions = name == "exponential" && (source.number, target.number) == (100, 103);
        match (reference.status, found.status) {
            (Some(0), Some(0)) => assert_same_but_for_code(&reference, &found, &pair),
            (Some(0), Some(1)) if has_other_instructions => {
                assert!(found.messages.contains("does not run on"), "{pair}: {}", found.messages);
            }
            _ => assert_eq!((found.status, &found.messages), (reference.status, &reference.messages), "{pair}"),
        }
    }
}

/// Whether nothing differs but what follows from machine code that was generated anew.
fn assert_same_but_for_code(reference: &Outcome, found: &Outcome, what: &str) {
    let (Some(reference), Some(found)) = (&reference.image, &found.image) else {
        return assert_eq!(found.image.is_some(), reference.image.is_some(), "{what}");
    };
    let differences = cubin_diff::compare(reference, found).expect("both are cubins");
    let others = cubin_diff::regenerated(differences).others;
    let lines: Vec<String> = others.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{what}:\n{}", lines.join("\n"));
}
