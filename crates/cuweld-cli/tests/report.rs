//! `cuweld report` and `cuweld compare`: what they write, and the status they end with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(name).join("inputs/sm_90")
}

fn cuweld(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cuweld")).current_dir(folder).args(arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A folder with two programs: `old.cubin` has a kernel that `new.cubin` has with more registers.
fn programs() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, case) in [("old.cubin", self::case("recursion")), ("new.cubin", self::case("register_propagation"))] {
        let output = folder.path().join(name);
        let linked = cuweld(&case, &["-arch=sm_90", "a.cubin", "b.cubin", "c.cubin", "-o", output.to_str().expect("text")]);
        assert!(linked.status.success(), "{}", text(&linked.stderr));
    }
    folder
}

#[test]
fn a_report_is_written_as_its_name_says() {
    let folder = programs();
    for (name, start) in
        [("r.json", "{\"schema\":\"cuweld-report\""), ("r.html", "<!doctype html>"), ("r.md", "**"), ("r.txt", "new.cubin: ")]
    {
        let made = cuweld(folder.path(), &["report", "-o", name, "new.cubin"]);
        assert!(made.status.success() && made.stdout.is_empty() && made.stderr.is_empty(), "{}", text(&made.stderr));
        let written = fs::read_to_string(folder.path().join(name)).expect("written");
        assert!(written.starts_with(start), "{name}: {}", &written[..80]);
    }
    let shown = cuweld(folder.path(), &["report", "new.cubin"]);
    assert!(text(&shown.stdout).contains("132 registers: wide via f"));
    assert!(
        text(&cuweld(folder.path(), &["report", "--arch=sm_80", "--format=json", "new.cubin"]).stdout)
            .contains("\"architectures\":[]")
    );
}

#[test]
fn a_link_reports_what_it_took_and_left() {
    let folder = TempDir::new().expect("a folder");
    let (output, report) = (folder.path().join("out.cubin"), folder.path().join("out-%a.json"));
    let arguments =
        ["-arch=sm_90", "a.cubin", "b.cubin", "-o", output.to_str().expect("text"), "--report", report.to_str().expect("text")];
    let linked = cuweld(&case("dead_functions"), &arguments);
    assert!(linked.status.success(), "{}", text(&linked.stderr));
    let written = fs::read_to_string(folder.path().join("out-sm_90.json")).expect("written");
    for part in ["\"name\":\"unused\"", "no kernel reaches it", "\"reason\":\"is a kernel\"", "\"own_registers\""] {
        assert!(written.contains(part), "{part}: {written}");
    }
    let shown = cuweld(&case("dead_functions"), &[&arguments[..5], &["--report=-", "-Map=-"]].concat());
    assert!(text(&shown.stdout).contains("  removed unused_as_well, 256 B: no kernel reaches it\n"), "{}", text(&shown.stdout));
}

/// What was taken of the inputs is what is in the result, also where Mercury code stands for machine code.
#[test]
fn what_a_link_took_is_what_it_made() {
    for arch in ["sm_90", "sm_120"] {
        let folder = TempDir::new().expect("a folder");
        let output = folder.path().join("out.cubin");
        let inputs = case("dead_functions").with_file_name(arch);
        let target = format!("-arch={arch}");
        let json = folder.path().join("report.json");
        let (output, written) = (output.to_str().expect("text"), json.to_str().expect("text"));
        let linked = cuweld(&inputs, &[&target, "a.cubin", "b.cubin", "-o", output, "--report", written]);
        assert!(linked.status.success(), "{}", text(&linked.stderr));
        let report: serde_json::Value = serde_json::from_slice(&fs::read(json).expect("written")).expect("JSON");
        let architecture = &report["architectures"][0];
        let kept = architecture["link"]["inputs"].as_array().expect("inputs").iter().map(|input| input["kept"].as_u64());
        assert_eq!(kept.sum::<Option<u64>>(), architecture["images"][0]["parts"]["code"].as_u64(), "{arch}: {architecture}");
        assert_eq!(architecture["link"]["removed"][0]["bytes"], 512, "{arch}");
    }
}

#[test]
fn a_comparison_says_because_of_what() {
    let folder = programs();
    let shown = cuweld(folder.path(), &["compare", "old.cubin", "new.cubin"]);
    assert!(shown.status.success());
    assert!(text(&shown.stdout).contains("    registers 24 -> 132: wide is called now\n"), "{}", text(&shown.stdout));
    // Reports stand for the files that they are on.
    let kept = cuweld(folder.path(), &["report", "-o", "text", "--write-baseline=old.json", "old.cubin"]);
    assert!(kept.status.success());
    let from_json = cuweld(folder.path(), &["compare", "old.json", "new.cubin"]);
    assert_eq!(text(&from_json.stdout), text(&shown.stdout));
    assert_eq!(text(&cuweld(folder.path(), &["compare", "old.json", "old.cubin"]).stdout), "No function changed.\n");
}

#[test]
fn a_budget_that_is_broken_is_status_1() {
    let folder = programs();
    fs::write(folder.path().join("budget.toml"), "[[kernels]]\npattern = 'k1'\ngrowth = { registers = 5 }\n").expect("written");
    let broken = cuweld(folder.path(), &["compare", "--budget=budget.toml", "old.cubin", "new.cubin"]);
    assert_eq!(broken.status.code(), Some(1));
    let line = "cuweld: error[CW1004]: over budget: sm_90: k1: registers grew from 24 to 132, by more than 5 %\n";
    assert_eq!(text(&broken.stderr), line);
    assert!(cuweld(folder.path(), &["compare", "--budget=budget.toml", "new.cubin", "new.cubin"]).status.success());
    let without = cuweld(folder.path(), &["report", "--budget=budget.toml", "new.cubin"]);
    assert!(!without.status.success() && text(&without.stderr).contains("there is no baseline"));
}

#[test]
fn cubins_are_shown_and_compared_in_the_terms_of_a_linker() {
    let folder = programs();
    let shown = cuweld(folder.path(), &["report", "--sections", "new.cubin"]);
    assert!(shown.status.success() && shown.stdout.starts_with(b"header\n"), "{}", text(&shown.stderr));
    let same = cuweld(folder.path(), &["compare", "--sections", "new.cubin", "new.cubin"]);
    assert!(same.status.success() && same.stdout.is_empty() && same.stderr.is_empty());
    let differing = cuweld(folder.path(), &["compare", "--sections", "--most=1", "old.cubin", "new.cubin"]);
    assert_eq!(differing.status.code(), Some(1));
    assert!(text(&differing.stdout).contains("\nsymbols: ") && differing.stderr.is_empty(), "{}", text(&differing.stdout));
    let all = cuweld(folder.path(), &["compare", "--sections", "--most=0", "--regenerated", "old.cubin", "new.cubin"]);
    assert!(text(&all.stdout).starts_with("other code: '") && !text(&all.stdout).contains(" more\n"));
}

#[test]
fn mistakes_are_errors() {
    let folder = programs();
    for arguments in [
        &["report"][..],
        &["report", "nowhere"],
        &["report", "--what", "new.cubin"],
        &["report", "--format=pdf", "new.cubin"],
        &["report", "-o", "nowhere/r.txt", "new.cubin"],
        &["compare", "new.cubin"],
        &["report", "--sections", "new.cubin", "old.cubin"],
        &["compare", "--sections", "--most=few", "new.cubin", "new.cubin"],
    ] {
        let failed = cuweld(folder.path(), arguments);
        assert!(
            !failed.status.success() && text(&failed.stderr).starts_with("cuweld: error"),
            "{arguments:?} {}",
            text(&failed.stderr)
        );
    }
    assert!(text(&cuweld(folder.path(), &["compare", "--help"]).stdout).starts_with("usage: cuweld compare"));
}
