//! Builds a program, links it with the reference and with the candidate, and compares.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cubin::release::{Release, ToolBuild};
use cubin_diff::signature::{self, CUWELD, signed_as};
use cuweld::imitations::Imitation;

use super::difference::{self, Difference};
use super::documented;
use super::emit;
use super::explained;
use super::leftovers;
use super::model::{Assembler, DebugInfo, Program, Unit, UnitKind};
use super::recoded::{Recoded, recoded};
use super::relink;
use super::unified;

/// A linker that runs longer than this is stopped. The reference needs exponential time for some call graphs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the reference says when it gives up.
const INTERNAL_ERROR: &str = "Internal error: ";

/// The programs that are used.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The assembler.
    pub ptxas: PathBuf,
    /// The assemblers of CUDA 12.9 and of an older release of CUDA 13, for units that are to have them.
    pub ptxas_12: PathBuf,
    pub ptxas_older: PathBuf,
    /// The reference linker.
    pub reference: PathBuf,
    /// The linker under test, by a link named `nvlink`, so that it speaks as the reference does.
    pub candidate: PathBuf,
    /// Words that every link gets.
    pub options: Vec<String>,
    /// The build of the reference.
    pub known: ToolBuild,
    /// How the linker under test works: as the reference does, or as it does for everyone.
    pub signature: Signature,
    /// Whether some units are joined by a relocatable link first, and the result is compared with a direct link.
    pub relinks: bool,
    /// Whether only the report of the linker under test is checked.
    pub reports: bool,
}

/// What a linker did.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Exit status; none when it was stopped or crashed.
    pub status: Option<i32>,
    /// What it wrote, if it did.
    pub output: Option<Vec<u8>>,
    /// What it said.
    pub messages: String,
}

/// The result of one comparison.
#[derive(Debug)]
pub enum Verdict {
    /// Both did the same; the exit status says what.
    Same(Option<i32>),
    /// Both did the same, but the reference generated some code anew.
    Recoded(Recoded),
    /// The reference gave up with an internal error of its own, of this kind, or crashed.
    ReferenceFailed(String),
    /// They differ as is documented, by these ways of the reference.
    Documented(Vec<Imitation>),
    /// They differ.
    Different(Difference),
    /// The assembler refused a unit: a defect of the generator.
    NotAssembled(String),
}

/// Writes, assembles and links a program in `folder`, which is recreated.
pub fn compare(program: &Program, folder: &Path, tools: &Tools) -> Result<Verdict, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for unit in &program.units {
        let path = folder.join(format!("{}.ptx", unit.name));
        fs::write(&path, emit::unit(unit)).map_err(|error| format!("{}: {error}", path.display()))?;
        if let Err(message) = assemble(unit, folder, tools)? {
            return Ok(Verdict::NotAssembled(format!("{}: {message}", unit.name)));
        }
    }
    if tools.relinks {
        return relink::compare(program, folder, tools);
    }
    if let Some(index) = unified::index(program) {
        fs::write(folder.join(unified::FILE), index).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let arguments = arguments(program, tools);
    if tools.reports {
        return explained::check(&arguments, folder, tools);
    }
    fs::write(folder.join("replay.sh"), replay_script(program, &tools.signature, &arguments))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let expected = link_as(&tools.reference, &Signature::Reference(tools.known), &arguments, folder, "reference")?;
    let mut found = link_as(&tools.candidate, &tools.signature, &arguments, folder, "candidate")?;
    if let (Signature::Own, Some(output)) = (&tools.signature, &mut found.output) {
        // Whoever signed it, the rest must be the same.
        *output = signed_as(output, CUWELD, signature::Signature::nvlink(tools.known.build))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let inputs: Vec<Vec<u8>> =
        program.units.iter().filter_map(|unit| fs::read(folder.join(format!("{}.cubin", unit.name))).ok()).collect();
    match judge(expected.clone(), &found, &inputs, tools.known.release) {
        Verdict::Different(difference) => {
            let outcomes = documented::Outcomes { expected: &expected, found: &found, inputs: &inputs };
            let documented = match tools.signature {
                Signature::Own => documented::find(&outcomes, &arguments, folder, tools)?,
                _ => documented::find_refusal(&outcomes, &arguments, folder, tools)?,
            };
            Ok(documented.map_or(Verdict::Different(difference), Verdict::Documented))
        }
        verdict => Ok(verdict),
    }
}

/// Compares what both linkers did.
pub fn judge(mut expected: Outcome, found: &Outcome, inputs: &[Vec<u8>], release: &Release) -> Verdict {
    leftovers::clear(&mut expected, found, inputs);
    if release != Release::oldest() {
        leftovers::clear_barriers(&mut expected, found);
    }
    let other_code = recoded(&expected, found, inputs);
    if let Some(Ok(_)) = other_code {
        expected.output.clone_from(&found.output);
    }
    if expected.status.is_none() && found.status == Some(0) {
        return Verdict::ReferenceFailed("it crashed, or took too long".to_owned());
    }
    if let Some((before, error)) = expected.messages.split_once(INTERNAL_ERROR) {
        // The linker under test goes on, or says what is wrong with the program: what the reference said of that, and more.
        let said = before.rsplit_once('\n').map_or("", |lines| lines.0);
        let says = |line: &str| found.messages.lines().any(|other| other == line);
        let explains = !found.messages.contains(INTERNAL_ERROR) && said.lines().all(says);
        if found.status == Some(0) || (found.status.is_some() && explains) {
            return Verdict::ReferenceFailed(error.lines().next().unwrap_or_default().to_owned());
        }
    }
    match (difference::between(&expected, found), other_code) {
        (None, Some(Ok(recoded))) => Verdict::Recoded(recoded),
        (None, _) => Verdict::Same(expected.status),
        (Some(_), Some(Err(difference))) if expected.status == found.status => Verdict::Different(difference),
        (Some(difference), _) => Verdict::Different(difference),
    }
}

/// The words that the assembler gets for a unit.
fn assembler_arguments(unit: &Unit) -> Vec<String> {
    let kind: &[&str] = match unit.kind {
        UnitKind::Relocatable => &["-c"],
        UnitKind::PositionIndependent => &["-c", "-pic", "true"],
        UnitKind::WholeProgram => &["-ewp"],
    };
    let mut words: Vec<String> = kind.iter().map(|word| (*word).to_owned()).collect();
    words.push(format!("-arch={}", unit.real_arch));
    match unit.debug {
        DebugInfo::None => {}
        DebugInfo::Lines => words.push("-lineinfo".into()),
        DebugInfo::Full => words.push("-g".into()),
    }
    words.extend([format!("{}.ptx", unit.name), "-o".into(), format!("{}.cubin", unit.name)]);
    words
}

/// Assembles a unit; the inner error is what the assembler said.
fn assemble(unit: &Unit, folder: &Path, tools: &Tools) -> Result<Result<(), String>, String> {
    let ptxas = match unit.assembler {
        Assembler::Own => &tools.ptxas,
        Assembler::Cuda12 => &tools.ptxas_12,
        Assembler::OlderRelease => &tools.ptxas_older,
    };
    let output = Command::new(ptxas)
        .args(assembler_arguments(unit))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", ptxas.display()))?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The words that both linkers get.
fn arguments(program: &Program, tools: &Tools) -> Vec<String> {
    let mut words = vec!["-arch".to_owned(), program.target.to_owned()];
    words.extend(tools.options.iter().cloned());
    words.extend(program.options.iter().cloned());
    if unified::index(program).is_some() {
        words.extend(["-uidx".into(), unified::FILE.into()]);
    }
    words.extend(program.units.iter().map(|unit| format!("{}.cubin", unit.name)));
    words.extend(["-o".into(), "out.cubin".into()]);
    words
}

/// A script that does the same by hand.
fn replay_script(program: &Program, signature: &Signature, arguments: &[String]) -> String {
    let mut script = String::from(
        "#!/bin/sh\n# Links this folder again: replay.sh [LINKER]. Without a linker, with the reference.\n\
         cd \"$(dirname \"$0\")\" || exit\n",
    );
    for unit in &program.units {
        let ptxas = match unit.assembler {
            Assembler::Own => "ptxas",
            Assembler::Cuda12 => "\"${PTXAS_12:?}\"",
            Assembler::OlderRelease => "\"${PTXAS_OLDER:?}\"",
        };
        script += &format!("{ptxas} {}\n", assembler_arguments(unit).join(" "));
    }
    let note = match signature {
        Signature::Reference(known) | Signature::Without(known, _) => format!("CUWELD_COMPAT={} ", known.name()),
        Signature::Own => String::new(),
    };
    script += &format!("{note}\"${{1:-nvlink}}\" {}\n", arguments.join(" "));
    script
}

/// Whose name the linker under test signs with.
#[derive(Clone, Debug, PartialEq)]
pub enum Signature {
    /// That of a build of the reference, to compare files: with its mistakes.
    Reference(ToolBuild),
    /// The same, but for some of the mistakes.
    Without(ToolBuild, Vec<Imitation>),
    /// Its own.
    Own,
}

/// Runs a linker and collects what it did. The output is kept as `NAME.cubin`, the messages as `NAME.txt`.
pub fn link_as(linker: &Path, signature: &Signature, arguments: &[String], folder: &Path, name: &str) -> Result<Outcome, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", linker.display());
    let out = folder.join("out.cubin");
    let _ = fs::remove_file(&out);
    let text = folder.join(format!("{name}.txt"));
    // Both streams go to one file: a pipe could fill up while we wait.
    let file = File::create(&text).map_err(failed)?;
    let mut command = Command::new(linker);
    if let Signature::Reference(known) | Signature::Without(known, _) = signature {
        command.env("CUWELD_COMPAT", known.name());
    }
    if let Signature::Without(_, mistakes) = signature {
        let names: Vec<String> = mistakes.iter().map(|mistake| format!("{mistake:?}")).collect();
        command.env("CUWELD_COMPAT_WITHOUT", names.join(","));
    }
    let mut child = command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .spawn()
        .map_err(failed)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            break None;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let output = fs::read(&out).ok();
    let _ = fs::rename(&out, folder.join(format!("{name}.cubin")));
    let messages = fs::read(&text).map_err(failed)?;
    Ok(Outcome { status, output, messages: String::from_utf8_lossy(&messages).into_owned() })
}
