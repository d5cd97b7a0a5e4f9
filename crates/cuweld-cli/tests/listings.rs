//! What is listed on request: why names stay, what was removed, which inputs were read, and the map.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The inputs of a case.
fn inputs(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(case).join("inputs/sm_90")
}

/// Links two objects of a case. What was printed, and the map.
fn link(case: &str, arguments: &[&str]) -> (String, String) {
    let folder = TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(inputs(case))
        .args(["-arch=sm_90", "a.cubin", "b.cubin", "-o"])
        .arg(folder.path().join("out.cubin"))
        .arg("-Map")
        .arg(folder.path().join("map"))
        .args(arguments)
        .output()
        .expect("the program runs");
    let map = fs::read_to_string(folder.path().join("map")).unwrap_or_default();
    (String::from_utf8(output.stderr).expect("text"), map)
}

#[test]
fn listings_on_request() {
    const HINTS: &str = "undefined_hints";
    const DEAD: &str = "dead_functions";
    let expected: &[(&str, &[&str], &[&str])] = &[
        (DEAD, &[], &[]),
        (DEAD, &["--trace"], &["a.cubin", "b.cubin"]),
        (
            DEAD,
            &["--print-gc-sections"],
            &["removed function unused of a.cubin, 512 bytes", "removed function unused_as_well of b.cubin, 256 bytes"],
        ),
        (DEAD, &["--why-live=unused"], &["unused: was removed: no kernel reaches it"]),
        (DEAD, &["--why-live=nobody"], &["nobody: no input has a function or variable of this name"]),
        (
            HINTS,
            &["--why-live=kernel", "--error-limit=1"],
            &["kernel(int *): is a kernel", "cuweld: 5 more errors are not shown"],
        ),
        (
            HINTS,
            &["--why-live=_Z12compute_summPi"],
            &["compute_summ(int *): called as kernel(int *) -> one -> compute_summ(int *)"],
        ),
        (
            HINTS,
            &["--why-live=limits", "--why-live=limit"],
            &[
                "limits: stays because variables are not removed; nothing that stays refers to it",
                "limit: referenced by kernel kernel(int *) in a.cubin",
            ],
        ),
        (HINTS, &["--why-live=one", "-g"], &["one: stays because nothing is removed from such a link"]),
    ];
    for (case, arguments, lines) in expected {
        let (printed, _) = link(case, arguments);
        for line in *lines {
            assert!(printed.lines().any(|found| found == *line), "{arguments:?}: '{line}' is not in\n{printed}");
        }
        assert!(*case == HINTS || printed.lines().count() == lines.len(), "{arguments:?}:\n{printed}");
    }
}

#[test]
fn a_limit_on_errors_hides_the_others() {
    let (printed, _) = link("undefined_hints", &["--error-limit=2"]);
    assert_eq!(printed.matches("error[CW3108]").count(), 2, "{printed}");
    let (printed, _) = link("undefined_hints", &["--error-limit=0"]);
    assert_eq!(printed.matches("error[CW3108]").count(), 6, "{printed}");
}

#[test]
fn what_is_missing_may_be_in_an_input_that_was_passed_over() {
    let folder = TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(inputs("archives"))
        .args(["-arch=sm_75", "../../../recursion/inputs/sm_75/a.cubin", "libfirst.a", "-o"])
        .arg(folder.path().join("out.cubin"))
        .output()
        .expect("the program runs");
    let printed = String::from_utf8(output.stderr).expect("text");
    let line = "cuweld: 'libfirst.a:b.o' was passed over: it has no code for the target, only sm_90";
    assert!(printed.lines().any(|found| found == line), "{printed}");
}

#[test]
fn the_map_tells_what_went_where() {
    let (printed, map) = link("shared_by_several", &["--cref"]);
    assert_eq!(printed, "");
    assert!(map.starts_with("Map for sm_90\n"), "{map}");
    let (sections, references) = map.split_once("\nCross references").expect("both parts");
    // Columns are numbers, sections stand at the margin after them, pieces and symbols further in.
    let names = |depth: usize| {
        let indented = move |line: &&str| line.get(29..).is_some_and(|rest| rest.len() - rest.trim_start().len() == depth);
        sections.lines().skip(2).filter(indented).map(|line| line.get(29..).unwrap_or_default().trim()).collect::<Vec<_>>()
    };
    let image = inputs("shared_by_several").join("a.cubin");
    let bytes = fs::read(image).expect("an input");
    let file = cubin::read::File::parse(&bytes).expect("a cubin");
    let code: Vec<&str> = file.sections().iter().map(|section| section.name).filter(|name| name.starts_with(".text.")).collect();
    assert!(!code.is_empty());
    for name in code {
        assert!(names(0).contains(&name), "{name} is not among the sections of\n{map}");
        assert!(names(2).contains(&format!("a.cubin:({name})").as_str()), "{name} has no piece in\n{map}");
    }
    assert!(!names(4).is_empty(), "no symbols in\n{map}");
    assert!(references.contains("    defined in a.cubin") && references.contains("    mentioned in "), "{references}");
}
