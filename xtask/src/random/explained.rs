//! Reports on random links: every number of a kernel is explained by a path of calls that is there, and all sizes add up.

use std::fs;
use std::path::Path;

use cuweld_report::Report;
use cuweld_report::model::{Architecture, File, Function};

use super::difference::Difference;
use super::run::{Signature, Tools, Verdict, link_as};

/// The name of the file that the report is written to.
const REPORT: &str = "report.json";

/// Links with the linker under test, and checks the report on that.
pub fn check(arguments: &[String], folder: &Path, tools: &Tools) -> Result<Verdict, String> {
    let mut words = arguments.to_vec();
    words.push(format!("--report={REPORT}"));
    let linked = link_as(&tools.candidate, &Signature::Own, &words, folder, "candidate")?;
    if linked.status != Some(0) {
        return Ok(Verdict::Same(linked.status));
    }
    let text = fs::read(folder.join(REPORT)).map_err(|error| format!("{REPORT}: {error}"))?;
    let report = Report::from_json(&text).map_err(|error| format!("{REPORT}: {error}"))?;
    let problem = report.files.iter().find_map(|file| file_problem(&report, file));
    let problem = problem.or_else(|| report.architectures.iter().find_map(problem_of));
    Ok(problem.map_or(Verdict::Same(Some(0)), |problem| Verdict::Different(Difference::of_kind(format!("report: {problem}")))))
}

/// What does not add up to the size of the file.
fn file_problem(report: &Report, file: &File) -> Option<String> {
    let images = report.architectures.iter().flat_map(|architecture| &architecture.images);
    let stored: u64 = images.map(|image| image.stored).sum();
    (file.bytes != file.device || file.device != stored + file.container).then(|| "bytes of the file".to_owned())
}

fn problem_of(architecture: &Architecture) -> Option<String> {
    let functions = &architecture.functions;
    let code: u64 = functions.iter().map(|function| function.code).sum();
    let in_images: u64 = architecture.images.iter().map(|image| image.parts.code).sum();
    let kept: u64 = architecture.link.iter().flat_map(|link| &link.inputs).map(|input| input.kept).sum();
    if architecture.images.iter().any(|image| image.parts.total() != image.bytes) {
        return Some("parts of the file".to_owned());
    }
    if code != in_images || code != kept {
        return Some("bytes of code".to_owned());
    }
    architecture.kernels().find_map(|(index, kernel)| kernel_problem(architecture, index, kernel).map(str::to_owned))
}

/// What does not explain the numbers of a kernel.
fn kernel_problem(architecture: &Architecture, index: u32, kernel: &Function) -> Option<&'static str> {
    let function = |index: u32| architecture.functions.get(index as usize);
    let calls = |from: u32, to: u32| {
        let through =
            |&prototype: &u32| architecture.prototypes.get(prototype as usize).is_some_and(|reached| reached.contains(&to));
        function(from).is_some_and(|caller| caller.calls.contains(&to) || caller.indirect_calls.iter().any(through))
    };
    let is_path =
        |path: &[u32]| path.first() == Some(&index) && path.iter().zip(path.iter().skip(1)).all(|(&from, &to)| calls(from, to));
    let alone = vec![index];
    let or_alone = |path: &Vec<u32>| if path.is_empty() { alone.clone() } else { path.clone() };
    let (registers, stack, cycle) = (or_alone(&kernel.registers_path), or_alone(&kernel.stack_path), &kernel.cycle);
    let forced = registers.last().and_then(|&last| function(last)?.own_registers);
    let frames: u64 = stack.iter().filter_map(|&index| function(index)).map(|function| u64::from(function.frame)).sum();
    let goes_round = cycle.last().is_some_and(|&last| cycle.iter().any(|&back| calls(last, back)));
    match kernel.stack {
        _ if !is_path(&registers) || forced != Some(kernel.registers) => Some("registers of a kernel"),
        Some(bytes) if !is_path(&stack) || frames != bytes => Some("stack of a kernel"),
        None if !is_path(cycle) || !goes_round => Some("recursion of a kernel"),
        _ if kernel.reason.is_none() || kernel.input.is_none() => Some("reason of a kernel"),
        _ => None,
    }
}
