//! Limits that hold and limits that do not.

use super::*;
use crate::model::{Image, Kind, Parts, SCHEMA, VERSION};

fn report(registers: u32, stack: Option<u64>, copies: u32) -> Report {
    let kernel = |index: u32| Function {
        name: format!("_Z4gemm{index}").into(),
        demangled: format!("void gemm<{index}>(float *)").into(),
        template: "gemm".into(),
        kind: Kind::Kernel,
        registers,
        stack,
        shared: 1024,
        code: 512,
        fingerprint: 7,
        warps: vec![64],
        ..Function::default()
    };
    let parts = Parts { code: 512 * u64::from(copies), ..Parts::default() };
    let mut architecture = Architecture {
        name: "sm_90".into(),
        block_sizes: vec![256],
        images: vec![Image { stored: 1000, bytes: parts.total(), parts, ..Image::default() }],
        functions: (0..copies).map(kernel).collect(),
        ..Architecture::default()
    };
    architecture.duplicates = crate::examine::duplicates(&architecture);
    Report { schema: SCHEMA.into(), version: VERSION, tool: String::new(), files: Vec::new(), architectures: vec![architecture] }
}

fn breaches(text: &str, report: &Report, baseline: Option<&Report>) -> Vec<String> {
    Budget::parse(text)
        .and_then(|budget| budget.breaches(report, baseline))
        .unwrap_or_else(|error| vec![format!("error: {error}")])
}

#[test]
fn limits_of_kernels() {
    let found = report(40, Some(8), 1);
    let place = "sm_90: void gemm<0>(float *)";
    for (text, expected) in [
        ("[[kernels]]\nregisters = 40\nstack = 8\nshared = '1 KiB'\ncode = 512\nwarps = 64", vec![]),
        ("[[kernels]]\nregisters = 39", vec![format!("{place}: registers 40, more than 39")]),
        ("[[kernels]]\npattern = '*gemm<0>*'\nshared = '1 kB'", vec![format!("{place}: shared 1024, more than 1000")]),
        ("[[kernels]]\npattern = 'gemm'\nstack = 0", vec![format!("{place}: stack 8, more than 0")]),
        ("[[kernels]]\npattern = 'conv*'\nregisters = 1", vec![]),
        ("[[kernels]]\narch = 'sm_80'\nregisters = 1", vec![]),
        ("[[kernels]]\nwarps = 65", vec![format!("{place}: warps 64, fewer than 65")]),
        ("[total]\ncode = 511\nkernels = 1", vec!["sm_90: total code is 512, more than 511".to_owned()]),
    ] {
        assert_eq!(breaches(text, &found, None), expected, "{text}");
    }
    let unknown = breaches("[[kernels]]\nstack = '1 GiB'", &report(40, None, 1), None);
    assert_eq!(unknown, [format!("{place}: stack unknown, more than 1073741824")]);
}

#[test]
fn growth_against_a_baseline() {
    let (old, new) = (report(40, Some(8), 1), report(42, Some(8), 2));
    let kernels = "[[kernels]]\ngrowth = { registers = 4, stack = 0 }";
    assert_eq!(
        breaches(kernels, &new, Some(&old)),
        ["sm_90: void gemm<0>(float *): registers grew from 40 to 42, by more than 4 %"]
    );
    assert!(breaches(kernels, &old, Some(&old)).is_empty());
    assert!(breaches("[[kernels]]\ngrowth = { registers = 5 }", &new, Some(&old)).is_empty());
    assert_eq!(
        breaches("[total]\ngrowth = { code = 99 }", &new, Some(&old)),
        ["sm_90: total code grew from 512 to 1024, by more than 99 %"]
    );
    let duplicates = "[total]\nno_new_duplicates = true";
    assert_eq!(breaches(duplicates, &new, Some(&old)), ["sm_90: the code of void gemm<0>(float *) is there 2 times, was 1"]);
    assert!(breaches(duplicates, &new, Some(&new)).is_empty());
    assert_eq!(breaches(duplicates, &new, None), ["error: it limits growth, and there is no baseline"]);
}

#[test]
fn budgets_with_mistakes_are_refused() {
    for text in ["registers = 3", "[[kernels]]\nregister = 3", "[total]\ngrowth = { what = 1 }", "[total]\nstored = 'much'", "["]
    {
        let found = breaches(text, &report(1, None, 1), None);
        assert!(found.len() == 1 && found[0].starts_with("error: "), "{text}: {found:?}");
    }
}
