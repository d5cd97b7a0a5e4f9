//! The command line of a device link: that of a link, and what nvcc takes beside it.
//!
//! `nvcc -dlink` can be replaced by `cuweld dlink` in a rule as it stands: what nvcc tells the host's compiler and linker is read and left
//! out, what it would pass on to its own linker is passed on, and architectures may be spelled in all of its ways.

use crate::options::split_options_file;
use cubin::target::Target;
use cuweld_host_object::{Machine, Visibility};
use fatbin::write::{Compression, Mode};
use std::ffi::OsString;
use std::path::PathBuf;

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceLinkArguments {
    /// The GPUs to link for, in order.
    pub targets: Targets,
    /// Where the result goes.
    pub output: Option<PathBuf>,
    /// What the result is.
    pub emit: Emit,
    /// The host's processor; if nothing is said, the inputs'.
    pub machine: Option<Machine>,
    /// Who may call the object's functions; if nothing is said, that depends on what the object is for.
    pub visibility: Option<Visibility>,
    /// The object becomes a part of a shared library.
    pub shared: bool,
    /// How the code is packed.
    pub compression: Compression,
    /// Entries of the fatbin are named after the inputs (`-lineinfo`, `-G`).
    pub named_after_inputs: bool,
    /// The code was compiled for debugging (`-G`).
    pub debug: bool,
    /// Whether only help is asked for.
    pub help: bool,
    /// Whether any architecture was named, real or virtual.
    pub names_architectures: bool,
    /// What is left: the command line of a link for one GPU.
    pub link: Vec<OsString>,
    /// The arguments that are not in that, for the script that repeats the device link.
    pub repeated: Vec<OsString>,
}

/// The GPUs to link for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// These.
    Named(Vec<&'static Target>),
    /// All that every input has code for.
    All,
}

impl Default for Targets {
    fn default() -> Self {
        Targets::Named(Vec::new())
    }
}

/// What the result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// A host object.
    #[default]
    Object,
    /// A fatbin.
    Fatbin,
    /// C source with a fatbin in it.
    EmbeddedC,
    /// A cubin for each GPU.
    Cubin,
}

/// The text of `--help`.
pub const HELP: &str = "\
Usage: cuweld dlink [options] <objects>

Links the device code of host objects and archives for several GPUs, and writes the host object that registers it: what
nvcc -dlink does. Takes nvcc's options for that, those of a link (cuweld --help), and these:

-arch sm_80,sm_90          the GPUs to link for; also -gencode arch=A,code=C, and -code C
--architectures all        all GPUs that every input has code for
-o FILE                    the result (a_dlink.o)
--emit object|fatbin|embedded-c|cubin
                           what it is; of several cubins, each is named after its GPU
--host x86_64|aarch64      the host's processor; by default that of the inputs
-shared                    the object becomes a part of a shared library
--visibility default|hidden
                           who may call its functions; hidden by default with -shared
--compress none|zstd       whether the code is packed; also -Xfatbin -compress-all, --compress-mode M

Files on the links (-Map, -dot, --report) are named after the GPU, too, if there are several: a.map for sm_90 is a.sm_90.map.
";

/// What an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Architecture,
    Code,
    GenerateCode,
    Architectures,
    Output,
    Emit,
    Emits(Emit),
    Host,
    Visibility,
    Compress,
    CompressMode,
    CompressAll,
    ForFatbin,
    ForLinker,
    LineInfo,
    DeviceDebug,
    Help,
    Shared,
    LinkTimeOptimization,
    Threads,
    OptionsFile,
    /// Nothing: it is for the host's compiler or linker, or for steps before this one.
    Nothing,
}

impl Meaning {
    /// Whether it says what a device link makes, which a link does not know.
    fn is_of_device_links(self) -> bool {
        match self {
            Meaning::Architecture | Meaning::Code | Meaning::GenerateCode | Meaning::Architectures => true,
            Meaning::Emit | Meaning::Emits(_) | Meaning::Host | Meaning::Visibility | Meaning::Shared => true,
            Meaning::Compress | Meaning::CompressMode | Meaning::CompressAll | Meaning::LineInfo | Meaning::DeviceDebug => true,
            Meaning::Output | Meaning::ForFatbin | Meaning::ForLinker | Meaning::OptionsFile => false,
            Meaning::LinkTimeOptimization | Meaning::Threads | Meaning::Help | Meaning::Nothing => false,
        }
    }
}

/// One row: names, whether a value follows, and what it means.
type DeviceLinkOption = (&'static [&'static str], bool, Meaning);

const ROWS: &[DeviceLinkOption] = &[
    (&["-arch", "--gpu-architecture"], true, Meaning::Architecture),
    (&["-code", "--gpu-code"], true, Meaning::Code),
    (&["-gencode", "--generate-code"], true, Meaning::GenerateCode),
    (&["--architectures"], true, Meaning::Architectures),
    (&["-o", "--output-file"], true, Meaning::Output),
    (&["--emit"], true, Meaning::Emit),
    (&["-fatbin", "--fatbin"], false, Meaning::Emits(Emit::Fatbin)),
    (&["-cubin", "--cubin"], false, Meaning::Emits(Emit::Cubin)),
    (&["--host"], true, Meaning::Host),
    (&["--visibility"], true, Meaning::Visibility),
    (&["--compress"], true, Meaning::Compress),
    (&["-compress-mode", "--compress-mode"], true, Meaning::CompressMode),
    (&["-compress-all", "--compress-all"], false, Meaning::CompressAll),
    (&["-Xfatbin", "--fatbin-options"], true, Meaning::ForFatbin),
    (&["-Xnvlink", "--nvlink-options"], true, Meaning::ForLinker),
    (&["-lineinfo", "--generate-line-info"], false, Meaning::LineInfo),
    (&["-G", "--device-debug"], false, Meaning::DeviceDebug),
    (&["-h", "--help"], false, Meaning::Help),
    (&["-shared", "--shared"], false, Meaning::Shared),
    (&["-dlto", "--dlink-time-opt"], false, Meaning::LinkTimeOptimization),
    (&["-t", "--threads"], true, Meaning::Threads),
    (&["-optf", "--options-file"], true, Meaning::OptionsFile),
    (
        &["-dlink", "--device-link", "-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler"],
        false,
        Meaning::Nothing,
    ),
    (
        &["-forward-unknown-to-host-linker", "--forward-unknown-to-host-linker", "-fPIC", "-fPIE", "-fpic", "-fpie"],
        false,
        Meaning::Nothing,
    ),
    (&["-pthread", "-static", "-pie", "-no-pie", "-rdynamic", "-fopenmp"], false, Meaning::Nothing),
    (
        &["-rdc", "--relocatable-device-code", "-ccbin", "--compiler-bindir", "-Xcompiler", "--compiler-options"],
        true,
        Meaning::Nothing,
    ),
    (&["-Xlinker", "--linker-options", "-cudart", "--cudart", "-std", "--std", "-isystem", "-x", "--x"], true, Meaning::Nothing),
    (&["-allow-unsupported-compiler", "--allow-unsupported-compiler", "-Wno-deprecated-gpu-targets"], false, Meaning::Nothing),
];

/// Beginnings of words that are for the host's compiler and linker.
const IGNORED: &[&str] = &["-O", "-D", "-I", "-Wl,", "-Wno-", "-Wall", "-Wextra", "-std=", "-fvisibility", "-march=", "-mtune="];

/// A word that is an option, what it means, and its value, if it has one in it.
fn find(word: &str) -> Option<(&'static DeviceLinkOption, Option<&str>)> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    ROWS.iter().find(|(names, takes_value, _)| names.contains(&name) && (*takes_value || value.is_none())).map(|row| (row, value))
}

impl DeviceLinkArguments {
    /// Reads a command line, without the program's name and the word `dlink`.
    pub fn read(words: impl Iterator<Item = OsString>, read_file: ReadFile<'_>) -> Result<Self, String> {
        let mut reader = Reader { found: Self::default(), code: Vec::new(), architecture: Vec::new(), read_file, depth: 0 };
        reader.read(words)?;
        let Reader { mut found, code, architecture, .. } = reader;
        // With -code, -arch says only what that was compiled from.
        let named = if code.is_empty() { architecture } else { code };
        if let Targets::Named(targets) = &mut found.targets {
            targets.extend(named);
            let mut known = Vec::new();
            targets.retain(|target| {
                let is_new = !known.contains(target);
                known.push(*target);
                is_new
            });
        }
        Ok(found)
    }
}

/// How options files are read.
pub type ReadFile<'caller> = &'caller dyn Fn(&std::path::Path) -> std::io::Result<Vec<u8>>;

/// How deep options files and options for other programs may be nested.
const MAX_DEPTH: u8 = 8;

struct Reader<'caller> {
    found: DeviceLinkArguments,
    code: Vec<&'static Target>,
    architecture: Vec<&'static Target>,
    read_file: ReadFile<'caller>,
    depth: u8,
}

impl Reader<'_> {
    fn read(&mut self, mut words: impl Iterator<Item = OsString>) -> Result<(), String> {
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let Some(((names, takes_value, meaning), value)) = find(&text) else {
                if !IGNORED.iter().any(|beginning| text.starts_with(beginning)) {
                    self.found.link.push(word);
                }
                continue;
            };
            let value = match (takes_value, value) {
                (true, None) => words.next().ok_or_else(|| format!("'{text}' needs a value"))?.to_string_lossy().into_owned(),
                (_, value) => value.unwrap_or_default().to_owned(),
            };
            if meaning.is_of_device_links() {
                let word =
                    names.iter().take(1).map(|name| if *takes_value { format!("{name}={value}") } else { (*name).to_owned() });
                self.found.repeated.extend(word.map(OsString::from));
            }
            self.take(*meaning, &value)?;
        }
        Ok(())
    }

    fn take(&mut self, meaning: Meaning, value: &str) -> Result<(), String> {
        let found = &mut self.found;
        found.names_architectures |=
            matches!(meaning, Meaning::Architecture | Meaning::Code | Meaning::GenerateCode | Meaning::Architectures);
        match meaning {
            Meaning::Architecture => self.architecture.extend(targets(value)?),
            Meaning::Code => self.code.extend(targets(value)?),
            Meaning::GenerateCode => self.code.extend(targets(generated_code(value)?)?),
            Meaning::Architectures if value == "all" => found.targets = Targets::All,
            Meaning::Architectures => self.code.extend(targets(value)?),
            Meaning::Output => found.output = Some(value.into()),
            Meaning::Emit => found.emit = one_of(value, EMITTED, "--emit")?,
            Meaning::Emits(emit) => found.emit = emit,
            Meaning::Host => found.machine = Some(one_of(value, MACHINES, "--host")?),
            Meaning::Visibility => found.visibility = Some(one_of(value, VISIBILITIES, "--visibility")?),
            Meaning::Compress => found.compression = one_of(value, COMPRESSIONS, "--compress")?,
            Meaning::CompressMode => found.compression.mode = one_of(value, MODES, "--compress-mode")?,
            Meaning::CompressAll => found.compression.all = true,
            Meaning::ForFatbin => return self.read_nested("-Xfatbin", value.split(',').map(OsString::from)),
            Meaning::ForLinker => found.link.extend(value.split(',').map(OsString::from)),
            Meaning::LineInfo => found.named_after_inputs = true,
            Meaning::DeviceDebug => {
                found.named_after_inputs = true;
                found.debug = true;
                found.link.push("-g".into());
            }
            Meaning::Help => found.help = true,
            Meaning::Shared => {
                found.shared = true;
                found.link.push("--shared".into());
            }
            Meaning::LinkTimeOptimization => found.link.push("-dlto".into()),
            Meaning::Threads => found.link.push(format!("--threads={value}").into()),
            Meaning::OptionsFile => return value.split(',').try_for_each(|file| self.read_options_file(file)),
            Meaning::Nothing => {}
        }
        Ok(())
    }

    fn read_options_file(&mut self, file: &str) -> Result<(), String> {
        let text = (self.read_file)(file.as_ref()).map_err(|error| format!("{file}: {error}"))?;
        let words = split_options_file(&text).ok_or_else(|| format!("{file}: a quotation mark is not closed"))?;
        self.read_nested(file, words.into_iter())
    }

    fn read_nested(&mut self, source: &str, words: impl Iterator<Item = OsString>) -> Result<(), String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("'{source}' is nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = self.read(words);
        self.depth -= 1;
        result
    }
}

const EMITTED: &[(&str, Emit)] =
    &[("object", Emit::Object), ("fatbin", Emit::Fatbin), ("embedded-c", Emit::EmbeddedC), ("cubin", Emit::Cubin)];
const MACHINES: &[(&str, Machine)] = &[("x86_64", Machine::X86_64), ("aarch64", Machine::Aarch64)];
const VISIBILITIES: &[(&str, Visibility)] = &[("default", Visibility::Default), ("hidden", Visibility::Hidden)];
const COMPRESSIONS: &[(&str, Compression)] = &[
    ("none", Compression { mode: Mode::None, all: false }),
    ("zstd", Compression { mode: Mode::Balance, all: true }),
    ("true", Compression { mode: Mode::Balance, all: false }),
    ("false", Compression { mode: Mode::None, all: false }),
];
/// How entries of fatbins are packed, as `fatbinary` names it.
pub const MODES: &[(&str, Mode)] =
    &[("default", Mode::Balance), ("balance", Mode::Balance), ("size", Mode::Size), ("speed", Mode::Speed), ("none", Mode::None)];

/// The meaning of a value.
pub fn one_of<T: Copy>(value: &str, values: &[(&str, T)], option: &str) -> Result<T, String> {
    values.iter().find(|(name, _)| *name == value).map(|&(_, meaning)| meaning).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|&(name, _)| name).collect();
        format!("'{value}' is no value of {option}, which takes one of: {}", names.join(", "))
    })
}

/// What `-gencode` says is to be made: `arch=compute_90,code=[sm_90,compute_90]`.
fn generated_code(value: &str) -> Result<&str, String> {
    let (_, code) = value.split_once("code=").ok_or_else(|| format!("'{value}' has no code="))?;
    // arch= may come after it.
    Ok(match code.split_once(",arch=") {
        Some((code, _)) => code,
        None => code,
    })
}

/// The GPUs of a list. Virtual architectures add nothing: their code stays in the units.
fn targets(list: &str) -> Result<Vec<&'static Target>, String> {
    let mut found = Vec::new();
    for name in list.split(',').map(|name| name.trim_matches(['[', ']', '"', '\'', '\\', ' '])).filter(|name| !name.is_empty()) {
        let number = ["sm_", "lto_", "compute_"].iter().find_map(|prefix| name.strip_prefix(prefix));
        let target = number.and_then(|number| Target::by_name(&format!("sm_{number}")));
        let target = target.ok_or_else(|| format!("'{name}' is no architecture, such as sm_90"))?;
        if !name.starts_with("compute_") {
            found.push(target);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<DeviceLinkArguments, String> {
        let read_file = |_: &std::path::Path| Ok(b"b.o -arch=sm_75 \"c d.o\"".to_vec());
        DeviceLinkArguments::read(line.split_whitespace().map(OsString::from), &read_file)
    }

    fn names(line: &str) -> Vec<&'static str> {
        match read(line).map(|found| found.targets) {
            Ok(Targets::Named(targets)) => targets.iter().map(|target| target.name).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn architectures_in_all_spellings() {
        for (line, expected) in [
            ("-arch=sm_80,sm_90,sm_120", &["sm_80", "sm_90", "sm_120"][..]),
            ("-arch sm_90 --gpu-architecture=sm_80", &["sm_90", "sm_80"]),
            ("-gencode arch=compute_90,code=[sm_90,compute_90] -gencode=arch=compute_80,code=sm_80", &["sm_90", "sm_80"]),
            ("-arch=compute_80 -code=sm_80,sm_86,compute_80", &["sm_80", "sm_86"]),
            ("-gencode arch=compute_90a,code=sm_90a -gencode code=sm_90a,arch=compute_90a", &["sm_90a"]),
            ("-gencode=arch=compute_80,code=\"sm_80,compute_80\"", &["sm_80"]),
            ("-gencode arch=compute_80,code=lto_80 -dlto", &["sm_80"]),
            ("-arch=compute_90", &[]),
        ] {
            assert_eq!(names(line), expected, "{line}");
        }
        for line in ["-arch=sm_1", "-arch=90", "-gencode arch=compute_90", "-arch"] {
            assert!(read(line).is_err(), "{line}");
        }
        assert_eq!(read("--architectures=all").map(|found| found.targets), Ok(Targets::All));
    }

    /// What CMake tells nvcc.
    #[test]
    fn options_of_nvcc() {
        let line = "-forward-unknown-to-host-compiler -O3 -DNDEBUG --generate-code=arch=compute_90,code=[sm_90] -Xcompiler=-fPIC \
                    -Wno-deprecated-gpu-targets -shared -dlink a.o -o d.o -L/lib -lcudadevrt -ccbin g++ -rdc=true -Xnvlink -v,-w";
        let found = read(line).expect("it is read");
        let link: Vec<_> = found.link.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(link, ["--shared", "a.o", "-L/lib", "-lcudadevrt", "-v", "-w"]);
        assert_eq!(found.repeated, ["-gencode=arch=compute_90,code=[sm_90]", "-shared"]);
        assert!(found.shared && found.output == Some("d.o".into()));
        let found = read("-G a.o -Xfatbin -compress-all --compress-mode=size -cubin").expect("it is read");
        assert!(found.debug && found.named_after_inputs && found.emit == Emit::Cubin);
        assert_eq!(found.compression, Compression { mode: Mode::Size, all: true });
        assert_eq!(found.repeated, ["-G", "-compress-all", "-compress-mode=size", "-cubin"]);
        for line in ["--emit=nothing", "--host=vax", "--visibility", "--compress=lzw"] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn options_files_hold_any_options() {
        let found = read("a.o --options-file list.rsp").expect("it is read");
        assert_eq!(found.link, ["a.o", "b.o", "c d.o"]);
        assert_eq!(names("a.o --options-file list.rsp"), ["sm_75"]);
    }
}
