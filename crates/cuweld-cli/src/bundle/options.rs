//! The command line of `fatbinary`.

use crate::dlink::{MODES, one_of};
use crate::options::split_options_file;
use cubin::target::{Target, Variant};
use fatbin::entry::Architecture;
use fatbin::write::{Host, Mode, Settings, SourceStyle, Wrapper};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// What the command line asks for.
#[derive(Debug)]
pub enum Asked {
    /// The help.
    Help,
    /// The version.
    Version,
    /// A fatbin.
    Fatbin(FatbinArguments),
}

/// A fatbin to be made.
#[derive(Debug)]
pub struct FatbinArguments {
    /// Where it goes.
    pub create: Option<PathBuf>,
    /// Where it goes as C source.
    pub embedded: Option<PathBuf>,
    /// What holds for all entries.
    pub settings: Settings,
    /// What the wrapper in the C source is like.
    pub wrapper: Wrapper,
    /// How the code stands in the C source.
    pub style: SourceStyle,
    /// The entries.
    pub images: Vec<Image>,
}

/// An entry to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it is.
    pub kind: ImageKind,
    /// What it is for.
    pub architecture: Architecture,
    /// Where it is.
    pub file: PathBuf,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A cubin.
    Elf,
    /// PTX.
    Ptx,
    /// Something else, which can not be written here.
    Other,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    Address32,
    AsArray,
    CommandLine,
    Compress,
    CompressAll,
    CompressMode,
    Create,
    Debug,
    DeviceC,
    Embedded,
    Help,
    Ident,
    /// `kind=elf,sm=90,file=F`.
    Image,
    /// What only the toolkit's program can do.
    ImageOfAnyGpu,
    Link,
    Nothing,
    OptionsFile,
    Version,
}

/// Names without dashes, whether a value follows, and the meaning.
const ROWS: &[(&[&str], bool, Meaning)] = &[
    (&["32"], false, Meaning::Address32),
    (&["64"], false, Meaning::Nothing),
    // What intermediate code was compiled with, in no help text.
    (&["cicc-cmdline"], true, Meaning::Nothing),
    (&["cmdline"], true, Meaning::CommandLine),
    (&["compress"], true, Meaning::Compress),
    (&["compress-all"], false, Meaning::CompressAll),
    (&["compress-mode"], true, Meaning::CompressMode),
    (&["create"], true, Meaning::Create),
    (&["debug", "g"], false, Meaning::Debug),
    (&["device-c", "c"], false, Meaning::DeviceC),
    (&["embedded-fatbin", "fatbin"], true, Meaning::Embedded),
    (&["help", "h"], false, Meaning::Help),
    (&["ident"], true, Meaning::Ident),
    // Until CUDA 12.8; CMake, rules_cuda and clang still say so.
    (&["image", "im"], true, Meaning::Image),
    (&["image2"], true, Meaning::ImageOfAnyGpu),
    (&["image3"], true, Meaning::Image),
    (&["link"], false, Meaning::Link),
    (&["no-asm"], false, Meaning::AsArray),
    (&["options-file", "optf"], true, Meaning::OptionsFile),
    (&["version", "V"], false, Meaning::Version),
];

/// The text of `--help`.
pub const HELP: &str = "\
Usage: cuweld fatbin [options]

Bundles code for several GPUs, as the toolkit's fatbinary does.

--create FILE              the fatbin
--embedded-fatbin FILE     C source with the fatbin in it
--image3 kind=K,sm=N,file=F  code: K is elf or ptx, N a GPU such as 90a
--image profile=P,file=F   the same: P is a GPU such as sm_90a, or compute_90 for PTX (also -im)
--link                     the code is linked (-link)
--device-c                 the code is to be linked yet (-c)
--debug                    the code was compiled for debugging (-g)
--ident NAME               a name for the entries
--cmdline OPTIONS          what PTX is to be compiled with
--compress true|false      whether PTX, code for debugging and code to be linked is packed
--compress-all             linked code, too
--compress-mode MODE       default, balance, size, speed, none
--no-asm                   the code in the C source is an array, and not in assembly language
--options-file FILE        more options (-optf)
-64                        addresses have 64 bits, as they always have
";

/// How options files are read.
type ReadFile<'caller> = &'caller dyn Fn(&Path) -> io::Result<Vec<u8>>;

impl Asked {
    /// Reads a command line.
    pub fn read(words: impl Iterator<Item = OsString>, read_file: ReadFile<'_>) -> Result<Self, String> {
        let mut arguments = FatbinArguments {
            create: None,
            embedded: None,
            settings: Settings { host: Host::NATIVE, ..Settings::default() },
            wrapper: Wrapper::Program,
            style: if Host::NATIVE == Host::Windows { SourceStyle::Windows } else { SourceStyle::Assembly },
            images: Vec::new(),
        };
        let mut other = None;
        read_words(words, read_file, 0, &mut arguments, &mut other)?;
        Ok(other.unwrap_or(Asked::Fatbin(arguments)))
    }
}

/// How deep options files may be nested.
const MAX_DEPTH: u8 = 8;

fn read_words(
    mut words: impl Iterator<Item = OsString>,
    read_file: ReadFile<'_>,
    depth: u8,
    found: &mut FatbinArguments,
    other: &mut Option<Asked>,
) -> Result<(), String> {
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let bare = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
        let (name, value) = match bare.map(|bare| bare.split_once('=')) {
            Some(Some((name, value))) => (name, Some(value.to_owned())),
            Some(None) => (bare.unwrap_or_default(), None),
            None => return Err(format!("Unknown option '{text}'")),
        };
        let row = ROWS.iter().find(|(names, ..)| names.contains(&name));
        let &(_, takes_value, meaning) = row.ok_or_else(|| format!("Unknown option '{name}'"))?;
        let value = match (takes_value, value) {
            (true, None) => words
                .next()
                .map(|value| value.to_string_lossy().into_owned())
                .ok_or(format!("Argument expected after '{text}'"))?,
            (_, value) => value.unwrap_or_default(),
        };
        match meaning {
            Meaning::Address32 => return Err("there is no device code with 32-bit addresses any more (-32)".into()),
            Meaning::AsArray => found.style = SourceStyle::Array,
            Meaning::CommandLine => found.settings.options = value,
            Meaning::Compress if value == "false" => found.settings.compression.mode = Mode::None,
            Meaning::Compress | Meaning::Nothing => {}
            Meaning::CompressAll => found.settings.compression.all = true,
            Meaning::CompressMode => found.settings.compression.mode = one_of(&value, MODES, "--compress-mode")?,
            Meaning::Create => found.create = Some(value.into()),
            Meaning::Debug => found.settings.debug = true,
            Meaning::DeviceC => (found.settings.relocatable, found.wrapper) = (true, Wrapper::Unit),
            Meaning::Embedded => found.embedded = Some(value.into()),
            Meaning::Help => *other = Some(Asked::Help),
            Meaning::Ident => found.settings.name = value,
            Meaning::Image => found.images.push(image(&value)?),
            Meaning::ImageOfAnyGpu => found.images.push(Image { kind: ImageKind::Other, ..unknown_image() }),
            Meaning::Link => found.wrapper = Wrapper::Linked,
            Meaning::OptionsFile => {
                for file in value.split(',') {
                    if depth == MAX_DEPTH {
                        return Err(format!("options files are nested more than {MAX_DEPTH} deep: '{file}'"));
                    }
                    let text = read_file(Path::new(file)).map_err(|_| format!("Could not open input file '{file}'"))?;
                    let words = split_options_file(&text).ok_or_else(|| format!("{file}: a quotation mark is not closed"))?;
                    read_words(words.into_iter(), read_file, depth + 1, found, other)?;
                }
            }
            Meaning::Version => *other = Some(Asked::Version),
        }
    }
    Ok(())
}

fn unknown_image() -> Image {
    let architecture = Architecture { number: 0, variant: Variant::Plain };
    Image { kind: ImageKind::Other, architecture, file: PathBuf::new() }
}

/// An image: keywords and values.
fn image(text: &str) -> Result<Image, String> {
    let (mut kind, mut architecture, mut file) = (None, None, None);
    // A file's name may have commas in it: only what a keyword begins with starts another item.
    let mut rest = text;
    while !rest.is_empty() {
        let starts = ["kind=", "sm=", "file=", "profile="].iter().filter_map(|word| rest.find(&format!(",{word}")));
        let end = starts.min().unwrap_or(rest.len());
        let (item, behind) = rest.split_at(end);
        rest = behind.strip_prefix(',').unwrap_or(behind);
        let Some((keyword, value)) = item.split_once('=') else { return Err(format!("'{item}' is no keyword with a value")) };
        let is_new = match keyword {
            "kind" => kind.replace(kind_named(value)?).is_none(),
            "sm" => architecture.replace(architecture_named(value)?).is_none(),
            "file" => file.replace(PathBuf::from(value)).is_none(),
            "profile" => {
                let (found_kind, number) = profile(value)?;
                kind.replace(found_kind).is_none() & architecture.replace(architecture_named(number)?).is_none()
            }
            _ => return Err(format!("unknown keyword '{keyword}'")),
        };
        if !is_new {
            return Err(format!("redefinition of keyword '{keyword}'"));
        }
    }
    match (kind, architecture, file) {
        (Some(kind), Some(architecture), Some(file)) => Ok(Image { kind, architecture, file }),
        _ => Err(format!("an image needs a kind, a GPU and a file: '{text}'")),
    }
}

fn kind_named(name: &str) -> Result<ImageKind, String> {
    match name {
        "elf" | "cubin" => Ok(ImageKind::Elf),
        "ptx" => Ok(ImageKind::Ptx),
        "nvvm" | "lto" | "ltoir" | "mercury" | "object" | "library" | "host" => Ok(ImageKind::Other),
        _ => Err(format!("Missing or unknown kind in image: '{name}'")),
    }
}

/// What an old option calls a profile: a real or a virtual GPU.
fn profile(name: &str) -> Result<(ImageKind, &str), String> {
    let kinds = [("sm_", ImageKind::Elf), ("compute_", ImageKind::Ptx), ("lto_", ImageKind::Other)];
    let found = kinds.iter().find_map(|&(prefix, kind)| name.strip_prefix(prefix).map(|number| (kind, number)));
    found.ok_or_else(|| format!("unknown profile '{name}'"))
}

/// The GPU with this number and letter.
fn architecture_named(number: &str) -> Result<Architecture, String> {
    let number = number.trim_start_matches("sm_").trim_start_matches("compute_");
    if let Some(target) = Target::by_name(&format!("sm_{number}")) {
        return Ok(Architecture { number: target.number, variant: target.variant });
    }
    // Earlier GPUs can have PTX.
    let plain = number.parse().map(|number| Architecture { number, variant: Variant::Plain });
    plain.map_err(|_| format!("unknown GPU '{number}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<FatbinArguments, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match Asked::read(words.into_iter(), &|_| Ok(b"-g --ident=x".to_vec()))? {
            Asked::Fatbin(arguments) => Ok(arguments),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn images_in_old_and_new_spelling() {
        let image = |line: &str| read(line).map(|found| found.images);
        let expected = |kind, number, variant| {
            Ok(vec![Image { kind, architecture: Architecture { number, variant }, file: "a,b.cubin".into() }])
        };
        let elf = expected(ImageKind::Elf, 90, Variant::Accelerated);
        assert_eq!(image("--image3=kind=elf,sm=90a,file=a,b.cubin"), elf);
        assert_eq!(image("--image=profile=sm_90a,file=a,b.cubin"), elf);
        assert_eq!(image("-im profile=sm_90a,file=a,b.cubin"), elf);
        assert_eq!(image("-im=file=a,b.cubin,profile=compute_52"), expected(ImageKind::Ptx, 52, Variant::Plain));
        for line in [
            "--image3=kind=elf,sm=90,file=a,kind=elf",
            "--image3=kind=foo,sm=90,file=a",
            "--image3=kind=elf,file=a",
            "--image=profile=sm_x,file=a",
            "--image=profile=90,file=a",
            "a.cubin",
            "--unknown",
            "--create",
            "-32",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    /// What CMake says with clang, and rules_cuda.
    #[test]
    fn command_lines_of_build_systems() {
        let found = read("-64 -cmdline=--compile-only -compress-all -link --embedded-fatbin=f.h -im=profile=sm_80,file=a.cubin");
        let found = found.expect("it is read");
        assert_eq!((found.wrapper, found.settings.compression.all, found.images.len()), (Wrapper::Linked, true, 1));
        let found = read("-64 --cmdline=--compile-only --link --compress-all --create=f --embedded-fatbin=f.c -optf more");
        let found = found.expect("it is read");
        assert!(found.settings.debug && found.settings.name == "x" && found.create.is_some() && found.embedded.is_some());
    }
}
