//! Damaged inputs: whatever the bytes, the linker ends with a message or with a result, never by a panic.
//!
//! Inputs of some of the cases are cut off at every length and changed at every place. Nobody checks what a changed file
//! links to; what counts is that the linker survives it, and that it names the file when it gives up on reading it.

#[cfg(unix)]
mod bombs;
mod chain;
mod containers;
#[cfg(unix)]
mod contradictions;
#[cfg(unix)]
mod object;
#[cfg(unix)]
mod products;
mod whole;

use cubin::target::Target;
use cuweld::Input;
use cuweld::diagnostics::{Diagnostic, Report};
use cuweld::options::{Options, OutputKind};
use cuweld::trace::Trace;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// The inputs that are damaged: between them they have every kind of section and most kinds of record.
const SAMPLES: &[(&str, &str, &str)] = &[
    ("constants", "sm_75", "a"),
    ("literals", "sm_75", "b"),
    ("shared_dynamic", "sm_90", "a"),
    ("textures", "sm_90", "b"),
    ("lineinfo", "sm_80", "b"),
    ("pointer_tables", "sm_90", "a"),
    ("barriers_and_externs", "sm_90", "b"),
    ("common_variables", "sm_75", "a"),
    ("weak_then_strong", "sm_75", "b"),
    ("indirect_calls", "sm_80", "a"),
    ("kept_kernels", "sm_90", "a"),
    ("whole_program", "sm_90", "a"),
];

/// The name that the damaged file goes by.
const NAME: &str = "damaged.cubin";

/// A file to damage, and those it is linked with.
struct Sample {
    case: &'static str,
    arch: &'static str,
    bytes: Vec<u8>,
    others: Vec<Vec<u8>>,
}

fn samples() -> impl Iterator<Item = Sample> {
    samples_of(SAMPLES)
}

/// The inputs of some cases: the case, the target, and the one of its units that is damaged.
fn samples_of(samples: &'static [(&'static str, &'static str, &'static str)]) -> impl Iterator<Item = Sample> {
    samples.iter().map(|&(case, arch, unit)| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/cases/{case}/inputs/{arch}"));
        let read = |unit: &str| fs::read(folder.join(format!("{unit}.cubin")));
        let bytes = read(unit).unwrap_or_else(|error| panic!("{case} {arch} {unit}: {error}"));
        let others = ["a", "b", "c"].into_iter().filter(|other| *other != unit).filter_map(|other| read(other).ok()).collect();
        Sample { case, arch, bytes, others }
    })
}

impl Sample {
    /// Links the file with these bytes, together with the others. Returns the messages if that failed; panics, with the
    /// damage in the text, if the linker did. `turn` chooses among the kinds of link.
    fn link(&self, bytes: &[u8], turn: usize, damage: &dyn Fn() -> String) -> Result<(), Vec<Diagnostic>> {
        let target = Target::by_name(self.arch).unwrap_or_else(|| panic!("{} is not known", self.arch));
        let mut options = Options::new(target);
        match turn % 8 {
            5 => options.preserve_relocations = true,
            6 => options.debug = true,
            7 => options.output = OutputKind::Relocatable,
            _ => options.verbose = true,
        }
        let mut inputs = vec![Input::new(NAME, bytes)];
        inputs.extend(self.others.iter().map(|bytes| Input::new("whole.cubin", bytes)));
        let mut report = Report::default();
        let attempt =
            catch_unwind(AssertUnwindSafe(|| cuweld::link(&inputs, &options, &mut report, &mut Trace::default()).is_ok()));
        match attempt {
            Ok(true) => Ok(()),
            Ok(false) => Err(report.diagnostics().cloned().collect()),
            Err(_) => panic!("{} {}: the linker panicked: {}", self.case, self.arch, damage()),
        }
    }

    /// Links with changed bytes; if that fails, there must be a message.
    fn link_changed(&self, bytes: &[u8], turn: usize, damage: &dyn Fn() -> String) {
        let outcome = self.link(bytes, turn, damage);
        let explained = outcome.is_ok() || outcome.is_err_and(|messages| !messages.is_empty());
        assert!(explained, "{} {}: no message: {}", self.case, self.arch, damage());
    }
}

#[test]
fn a_file_that_was_cut_off_is_named() {
    for sample in samples() {
        for length in 0..sample.bytes.len() {
            let damage = || format!("cut off at {length} of {}", sample.bytes.len());
            // What is cut off may be padding.
            let Err(messages) = sample.link(&sample.bytes[..length], 0, &damage) else { continue };
            let named = messages.iter().any(|diagnostic| diagnostic.message.to_string().contains(NAME));
            assert!(named, "{} {}, {}: the file is not named in {messages:?}", sample.case, sample.arch, damage());
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    for sample in samples() {
        let mut changed = sample.bytes.clone();
        for (at, &byte) in sample.bytes.iter().enumerate() {
            for (turn, value) in [byte ^ 0xff, byte.wrapping_add(1), byte ^ 0x80].into_iter().enumerate() {
                changed[at] = value;
                sample.link_changed(&changed, at + turn, &|| format!("{value:#x} at {at:#x}"));
            }
            changed[at] = byte;
        }
    }
}

#[test]
fn any_word_may_be_extreme() {
    for sample in samples() {
        let bytes = &sample.bytes;
        let mut changed = bytes.clone();
        for at in (0..bytes.len().saturating_sub(4)).step_by(4) {
            for (turn, value) in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, bytes.len() as u32].into_iter().enumerate() {
                changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
                sample.link_changed(&changed, at / 4 + turn, &|| format!("the word {value:#x} at {at:#x}"));
            }
            changed[at..at + 4].copy_from_slice(&bytes[at..at + 4]);
        }
    }
}

#[test]
fn the_program_leaves_no_output_behind() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join(NAME), folder.path().join("out.cubin"));
    for Sample { arch, bytes, .. } in samples() {
        for length in [1, 17, 64, bytes.len() / 2, bytes.len() - 100] {
            fs::write(&input, &bytes[..length])?;
            let run = Command::new(env!("CARGO_BIN_EXE_cuweld"))
                .args([&format!("-arch={arch}"), NAME, "-o", "out.cubin"])
                .current_dir(folder.path())
                .output()?;
            let text = String::from_utf8_lossy(&run.stderr).into_owned();
            assert_eq!(run.status.code(), Some(1), "{length} bytes: {text}");
            assert!(text.contains(NAME), "{length} bytes: {text}");
            assert!(!output.exists(), "{length} bytes: there is an output");
            assert_eq!(fs::read_dir(folder.path())?.count(), 1, "{length} bytes: something else was left behind");
        }
    }
    Ok(())
}

/// What fuzzing found. The name of each file starts with the target that found it; see `fuzz/src/lib.rs` for how pairs are packed.
#[test]
fn what_was_found_before_is_not_found_again() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/damage/found"))? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        let (head, files) = bytes.split_at(6);
        let size = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let (first, second) = files.split_at(size.min(files.len()));
        fs::write(folder.path().join("a"), first)?;
        fs::write(folder.path().join("b"), second)?;
        for options in [&[][..], &["-g"], &["-r"], &["-preserve-relocs"], &["-v"]] {
            let run = bombs::link_with(&format!("-arch=sm_{}", head[0]), &folder, &[&["a", "b"], options].concat())?;
            let text = String::from_utf8_lossy(&run.stderr);
            assert!(matches!(run.status.code(), Some(0 | 1 | 255)), "{} {options:?}: {text}", path.display());
        }
    }
    Ok(())
}
