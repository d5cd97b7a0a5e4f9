//! Every message: there is a case in `tests/cases` that shows it, or an example here, or a reason why not.

#![cfg(unix)]

use cuweld::diagnostics::MessageCode;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// How a message comes about, and what it looks like.
struct Example {
    code: u16,
    /// The command line. `CASE:FILE` is an input of a case for sm_90, `CASE@ARCH:FILE` for another architecture, `sample:FILE` one of
    /// the fatbin crate's samples; other names are of files that [`prepare`] makes.
    words: &'static str,
    /// What is printed, among other things.
    shows: &'static str,
}

const fn example(code: u16, words: &'static str, shows: &'static str) -> Example {
    Example { code, words, shows }
}

/// Messages that no case shows, because a case has only outputs of compilers among its inputs, and shows remarks without their code.
#[rustfmt::skip] // a table reads better with a message to a line
const EXAMPLES: &[Example] = &[
    example(1003, "single_kernel:a.cubin -use-host-info -kernels-used=k -o out --diagnostics=json",
        r#"{"severity":"info","code":"CW1003","message":"ignore -use-host-info because -kernels-used or -variables-used is specified""#),
    example(2002, "single_kernel:a.cubin -o missing/out",
        "error[CW2002]: Could not open output file 'missing/out'\n  >>> No such file or directory (os error 2)\n"),
    example(2003, "unit.ptx -o out --toolkit=folder",
        "error[CW2003]: the CUDA toolkit's assembler, ptxas, is needed and was not found\n  >>> looked in folder (--toolkit)\n"),
    example(2004, "unit.ptx -o out --toolkit=unusable", "/unusable/bin/ptxas' could not be run: Permission denied"),
    example(2005, "single_kernel:a.cubin -nv-host=empty -o out", "error[CW2005]: Could not read file 'empty'\n"),
    example(2006, "single_kernel:a.cubin -o out -time=folder", "error[CW2006]: Cannot open file 'folder'\n  >>> Is a directory (os error 21)\n"),
    example(2007, "-ghls=lcs-abs -o out", "error[CW2007]: Host linker script creation failed.\n  >>> ld: No such file or directory (os error 2)\n"),
    example(2009, "-arch=sm_100 single_kernel@sm_100:a.cubin -o out --finalizer=missing",
        "error[CW2009]: Could not run 'missing'\n  >>> No such file or directory (os error 2)\n"),
    example(2011, "ready.cubin -o ready.cubin", "error[CW2011]: Output file 'ready.cubin' is the input file 'ready.cubin'\n"),
    example(2013, "single_kernel:a.cubin -o /dev/full", "error[CW2013]: could not write '/dev/full'\n"),
    example(2012, "single_kernel:a.cubin -o out --Map=./out", "error[CW2012]: Output file './out' is the output file 'out'\n"),
    example(3001, "cut.cubin -o out", "error[CW3001]: Input file 'cut.cubin' is damaged: the section header table ends at "),
    example(3003, "text.cubin -o out --diagnostics=nvlink", "nvlink fatal   : cubin not an elf?\n"),
    example(3006, "cut.a -o out", "error[CW3006]: Input file 'cut.a' can not be unpacked: archive at offset 0x8: a member's header needs 60 bytes, 3 are left\n"),
    example(3007, "text.cubin -o out", "error[CW3007]: Input file 'text.cubin' is a file of unknown format, which a device link does not take\n"),
    example(3008, "host.cubin -o out --diagnostics=nvlink", "nvlink fatal   : cubin not a device elf?\n"),
    example(3009, "text.fatbin -o out --diagnostics=nvlink", "nvlink fatal   : fatbin wrong format?\n"),
    example(3010, "text.ltoir -o out --diagnostics=nvlink", "nvlink fatal   : should only see nvvm files when -lto\n"),
    example(3011, "sample:lto.fatbin -o out", "/lto.fatbin' has only intermediate code for the target\n  hint: ask for link-time optimization (-dlto), or \
                                           compile it with -gencode arch=compute_90,code=sm_90, too\n"),
    example(3012, "-arch=sm_75 sample:host_x86_64.o -o out",
        "/host_x86_64.o'\n  hint: it has sm_90, compute_90; compile it with -gencode arch=compute_75,code=sm_75, too\n"),
    example(3013, "-arch=sm_75 sample:host_x86_64.o -o out -Werror", "error[CW3013]: an input can not be used, and warnings are errors (-Werror)\n"),
    example(3014, "unit.ptx -o out --toolkit=failing", "unit.ptx, line 1; error: no\ncuweld: error[CW3014]: the PTX of 'unit.ptx' could not be compiled\n"),
    example(3016, "sample:lto.fatbin single_kernel:a.cubin -dlto -nvvmpath=folder --toolkit=folder -o out --diagnostics=json",
        r#"a.cubin' not built for LTO so doing partial LTO""#),
    example(3017, "single_kernel:a.cubin -dlto -nvvmpath=folder -o out", "warning[CW3017]: Ignoring -dlto option because no LTO objects found\n"),
    example(3028, "-arch=sm_75 sample:host_x86_64.o -o out --diagnostics=nvlink", "No input has code or data for 'sm_75': the output is empty\n"),
    example(3040, "single_kernel:a.cubin --max-unpacked=1K -o out", "error[CW3040]: The result would have "),
    example(3043, "32_bits.cubin -o out", "error[CW3043]: Input file '32_bits.cubin' size does not match target '-m64'\n"),
    example(3044, "abi.cubin -o out", "error[CW3044]: Input file 'abi.cubin' abi does not match\n"),
    example(3212, "shared_dynamic_aligned:a.cubin shared_dynamic_aligned:b.cubin --extra-warnings -o out",
        "warning[CW3212]: Shared array 'dyn' is aligned to 128 bytes in '"),
    example(3401, "verbose:a.cubin verbose:b.cubin -v -o out --diagnostics=json", r#"{"severity":"info","code":"CW3401","message":""#),
    example(3402, "verbose:a.cubin verbose:b.cubin -v -o out --diagnostics=json",
        r#"{"severity":"info","code":"CW3402","message":"Function properties for '"#),
    example(3403, "verbose:a.cubin verbose:b.cubin -v -o out --diagnostics=json", r#"{"severity":"info","code":"CW3403","message":"used "#),
    example(3404, "single_kernel:a.cubin -v -L. -lmissing -o out --diagnostics=json",
        r#"{"severity":"info","code":"CW3404","message":"'-lmissing' was passed over: no folder of libraries (-L) has it""#),
    example(3405, "unit.ptx -v -o out --toolkit=copying --diagnostics=json", r#"{"severity":"info","code":"CW3405","message":"'unit.ptx' was compiled in "#),
    example(3406, "undefined_hints:a.cubin undefined_hints:b.cubin --error-limit=1 -o out --diagnostics=json",
        r#"{"severity":"info","code":"CW3406","message":"5 more errors are not shown""#),
    example(3409, "-arch=sm_100 single_kernel@sm_100:a.cubin -v -o out --diagnostics=json",
        r#"{"severity":"info","code":"CW3409","message":"kernels keep the machine code that the compiler made for them""#),
];

/// Messages that are shown nowhere, and why.
const REASONS: &[(u16, &str)] = &[
    (1004, "tests/report.rs holds reports to budgets"),
    (2010, "tests/files.rs changes an input while it is linked"),
    (3004, "tests/inputs.rs changes an object so that it looks newer"),
    (3005, "no toolkit that makes such objects can be installed beside a newer one"),
    (3015, "it takes the toolkit's own optimizer to fail"),
    (3018, "the optimizer's inputs hold library code; tests/inputs/links.txt compares it with the reference"),
    (3019, "the optimizer's inputs hold library code"),
    (3020, "the optimizer's inputs hold library code; tests/inputs/links.txt compares it with the reference"),
    (3021, "it passes on what the toolkit's optimizer says"),
    (3022, "tests/inputs.rs changes an object so that it looks newer"),
    (3031, "tests/dlink.rs makes an object such as clang makes"),
    (3041, "the compiler always makes both kinds of code"),
    (3042, "the compiler always makes both kinds of code"),
    (3045, "not provoked yet: it takes an object of CUDA 12, and no case has one"),
    (3058, "not provoked yet: it takes an index with one place for two names"),
    (3059, "not provoked yet: it takes copies of a variable of which only the losing one is unified"),
    (3060, "not provoked yet: the reference linker stops with it where a unified function was removed"),
    (3062, "what CUDA 13.0 says in the place of 3063"),
    (3063, "tests/cases/newer_mercury shows the reference's words: it is for links that follow a release"),
    (3064, "tests/cases/newer_mercury shows the reference's words: it is for links that follow a release"),
    (3205, "it takes 64 KiB of different constants, too much for a case"),
    (3207, "the compiler refuses kernels with so many parameters"),
    (3209, "only tensor memory has groups, which no case uses"),
    (3210, "tests/damage/whole.rs removes what the call graph says"),
    (3211, "tests/damage/whole.rs takes the code of functions away"),
    (3300, "no compiler that is known makes such objects"),
    (3407, "tests/compile/run links the same twice"),
    (9001, "were it known how, it would have been mended"),
];

#[test]
fn every_message_is_shown_or_there_is_a_reason_why_not() {
    let cases = shown_by_cases();
    for (code, _) in MessageCode::EXPLANATIONS {
        let is_shown = cases.contains(&format!("[{code}]")) || EXAMPLES.iter().any(|example| example.code == code.0);
        let reason = REASONS.iter().find(|(known, _)| *known == code.0);
        assert!(is_shown || reason.is_some(), "{code}: no case and no example shows it");
        assert!(!is_shown || reason.is_none(), "{code} is shown, in spite of: {reason:?}");
    }
    let is_known = |code: u16| MessageCode::EXPLANATIONS.iter().any(|(known, _)| known.0 == code);
    let unknown: Vec<u16> = EXAMPLES
        .iter()
        .map(|example| example.code)
        .chain(REASONS.iter().map(|row| row.0))
        .filter(|&code| !is_known(code))
        .collect();
    assert!(unknown.is_empty(), "there are no messages {unknown:?}");
}

/// The messages of all cases.
fn shown_by_cases() -> String {
    let mut text = String::new();
    for case in entries(&here("../../tests/cases")) {
        for arch in entries(&case.join("expected")) {
            text.push_str(&fs::read_to_string(arch.join("messages.rich")).unwrap_or_default());
        }
    }
    text
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn messages_look_as_they_should() {
    for example in EXAMPLES {
        let folder = TempDir::new().expect("a folder");
        prepare(folder.path());
        let (case_arch, words): (Option<&str>, Vec<String>) = (
            (!example.words.contains("-arch=") && !example.words.contains("-ghls")).then_some("-arch=sm_90"),
            example.words.split(' ').map(expanded).collect(),
        );
        let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
            .current_dir(folder.path())
            // So that no program of this machine takes part.
            .env("PATH", folder.path().join("folder"))
            .env("CUWELD_CACHE", "off")
            .args(case_arch)
            .args(words)
            .output()
            .expect("the program runs");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(printed.contains(example.shows), "CW{}: {:?} is not in\n{printed}", example.code, example.shows);
        let in_words = example.words.contains("--diagnostics=nvlink") || printed.contains(&format!("CW{}", example.code));
        assert!(in_words, "CW{} is not in\n{printed}", example.code);
    }
}

/// A word of an example, with the path of the input that it names.
fn expanded(word: &str) -> String {
    let Some((place, file)) = word.split_once(':') else { return word.to_owned() };
    let path = match place.split_once('@') {
        _ if place == "sample" => here("../fatbin/tests/data"),
        Some((case, arch)) => here("../../tests/cases").join(case).join("inputs").join(arch),
        None => here("../../tests/cases").join(place).join("inputs/sm_90"),
    };
    path.join(file).to_string_lossy().into_owned()
}

/// Makes the files that examples name.
fn prepare(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    };
    let cubin = fs::read(expanded("single_kernel:a.cubin")).expect("an input");
    fs::create_dir(folder.join("folder")).expect("a folder");
    write("empty", b"");
    write("unit.ptx", b".version 8.0\n.target sm_75\n.address_size 64\n");
    write("cut.cubin", cubin.get(..900).expect("enough of it"));
    for (name, place, value) in [("32_bits.cubin", 4, 1), ("abi.cubin", 8, 99)] {
        let mut changed = cubin.clone();
        changed[place] = value;
        write(name, &changed);
    }
    write("cut.a", b"!<arch>\nabc");
    write("host.cubin", &fs::read(expanded("sample:host_x86_64.o")).expect("a sample"));
    for name in ["text.cubin", "text.fatbin", "text.ltoir"] {
        write(name, &[b'x'; 90]);
    }
    write("ready.cubin", &cubin);
    write("unusable/bin/ptxas", b"no program");
    write("failing/bin/ptxas", b"#!/bin/sh\necho 'unit.ptx, line 1; error: no' >&2\nexit 1\n");
    // It leaves a ready object in place of the last word of its command line.
    let copying = format!("#!/bin/sh\nfor last; do :; done\n/bin/cp {}/ready.cubin \"$last\"\n", folder.display());
    write("copying/bin/ptxas", copying.as_bytes());
    for name in ["failing", "copying"] {
        let program = folder.join(name).join("bin/ptxas");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a program");
    }
}

#[test]
fn every_code_is_explained() {
    for (code, text) in MessageCode::EXPLANATIONS {
        for spelled in [code.to_string(), code.0.to_string()] {
            let output =
                Command::new(env!("CARGO_BIN_EXE_cuweld")).args(["--explain", &spelled]).output().expect("the program runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{code}: {text}\n"));
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld")).args(["--explain", "CW1"]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no message with code 'CW1'"));
}
