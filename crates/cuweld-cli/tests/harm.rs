//! Names and files that are made to do harm: to a terminal, to what reads a file later, to whom a file is sent.
#![cfg(unix)]

mod folder;

use folder::{Folder, refused};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Replaces a text in a file by another of the same length, wherever it stands.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut result = bytes.to_vec();
    let places: Vec<usize> = bytes.windows(from.len()).enumerate().filter(|(_, at)| *at == from).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "it is not there");
    places.into_iter().for_each(|at| result[at..at + to.len()].copy_from_slice(to));
    result
}

/// A name that sets a terminal's title, begins a line that looks like a message, and ends what a graph's text has begun.
const NAME: &[u8] = b"_Z11compute_sumPi";
const EVIL: &[u8] = b"\x1b]0;t\x07\ncuweld:\"};";

#[test]
fn names_do_nothing_when_they_are_shown() -> io::Result<()> {
    let folder = Folder::new()?;
    for file in ["a.cubin", "b.cubin"] {
        let bytes = fs::read(repository("tests/cases/undefined_hints/inputs/sm_90").join(file))?;
        let bytes = if bytes.windows(NAME.len()).any(|at| at == NAME) { replaced(&bytes, NAME, EVIL) } else { bytes };
        fs::write(folder.path(file), bytes)?;
    }
    let arguments =
        ["a.cubin", "b.cubin", "-o", "out.cubin", "-dot=graph", "--Map=map", "--cref", "--print-gc-sections", "-dump-callgraph"];
    for style in ["rich", "nvlink"] {
        let output = folder.link(&[&arguments[..], &[&format!("--diagnostics={style}")]].concat())?;
        let mut written = output.stderr.clone();
        for file in ["graph", "map"] {
            written.extend(fs::read(folder.path(file)).unwrap_or_default());
        }
        let text = String::from_utf8_lossy(&written);
        assert!(text.contains("\\x1b]0;t\\x07\\ncuweld:"), "{style}: {text}");
        assert!(!text.contains(['\x1b', '\x07']), "{style}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("cuweld:\"")), "{style}: {text}");
        assert!(!text.contains("-> \\x1b"), "{style}: a name that ends the graph is not quoted: {text}");
    }
    Ok(())
}

/// A way through the call graph is one line, whatever the names on it are.
#[test]
fn names_on_a_way_make_no_lines() -> io::Result<()> {
    let folder = Folder::new()?;
    for file in ["a.cubin", "b.cubin", "c.cubin"] {
        let bytes = fs::read(repository("tests/cases/recursion/inputs/sm_90").join(file))?;
        fs::write(folder.path(file), replaced(&bytes, b"even\0", b"a\ncw\0"))?;
    }
    let said = folder.link(&["a.cubin", "b.cubin", "c.cubin", "-o", "out.cubin"])?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("a\\ncw -> odd -> a\\ncw") || said.contains("odd -> a\\ncw -> odd"), "{said}");
    Ok(())
}

/// The names of modules become a part of a C program.
#[test]
fn modules_have_identifiers_for_names() -> io::Result<()> {
    let folder = Folder::new()?;
    let object = fs::read(repository("crates/fatbin/tests/data/host_x86_64.o"))?;
    fs::write(folder.path("good.o"), &object)?;
    fs::write(folder.path("evil.o"), replaced(&object, b"_0123abcd_8_first_cu_first", b"x)\n#include \"/etc/hosts\"\n/"))?;
    let ways: [&[&str]; 3] = [
        &["-arch=sm_90"],
        // Where nothing is linked, all modules are registered.
        &["-arch=compute_90", "--diagnostics=nvlink"],
        &["dlink", "-arch=compute_90"],
    ];
    for way in ways {
        let link = |object: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_cuweld"));
            program.current_dir(&folder.0).args(way).args([object, "-o", "out", "--register-link-binaries=register.h"]).output()
        };
        let output = link("good.o")?;
        assert!(output.status.success(), "{way:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read_to_string(folder.path("register.h"))?.contains("DEFINE_REGISTER_FUNC(_0123abcd_8_first_cu_first)"));
        fs::remove_file(folder.path("register.h"))?;
        let output = link("evil.o")?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!output.status.success() && !folder.path("register.h").exists(), "{way:?}: {said}");
        assert!(said.contains("is no identifier") || way.contains(&"--diagnostics=nvlink"), "{way:?}: {said}");
    }
    Ok(())
}

/// A thin archive can name any file of the machine.
#[test]
fn what_is_saved_to_be_sent_has_nothing_but_device_code() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("secret"), "the secret")?;
    let name = "../secret/\n";
    let archive = format!("!<thin>\n{:<16}{:<32}{:<10}`\n{name}{:<16}{:<32}{:<10}`\n", "//", "", name.len() + 1, "/0", "", 10);
    fs::create_dir(folder.path("sub"))?;
    fs::write(folder.path("sub/thin.a"), archive.replace(name, &format!("{name}\n")))?;
    folder.link(&["a.cubin", "sub/thin.a", "-o=out.cubin", "--save-dir=saved"])?;
    let mut open = vec![folder.path("saved")];
    let mut files = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path)?.flatten().map(|entry| entry.path()));
        } else {
            files += 1;
            let found = String::from_utf8_lossy(&fs::read(&path)?).contains("the secret");
            assert!(!found, "{}", path.display());
        }
    }
    assert!(files > 3);
    Ok(())
}

/// Where there is not enough memory, that is what is said.
#[test]
fn little_memory_is_an_error() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("host.bin"), vec![b'x'; 64 << 20])?;
    let run = Command::new("sh")
        .args(["-c", "ulimit -v 60000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cuweld")])
        .args(["-arch=sm_90", "a.cubin", "-nv-host=host.bin", "-o", "out.cubin"])
        .current_dir(&folder.0)
        .output()?;
    let said = refused(&run);
    assert!(said.contains("memory") && folder.names()? == ["a.cubin", "host.bin"], "{said}");
    Ok(())
}

/// nvcc reads the folder's name out of a file in which `$(` begins something.
#[test]
fn a_shim_has_a_plain_name() -> io::Result<()> {
    let folder = Folder::new()?;
    for file in ["toolkit/bin/nvcc", "toolkit/bin/nvcc.profile"] {
        fs::create_dir_all(folder.path("toolkit/bin"))?;
        fs::write(folder.path(file), "TOP = $(_HERE_)/..\n")?;
    }
    let shim = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        command.current_dir(&folder.0).args(["shim", name, "--toolkit=toolkit"]).output()
    };
    assert!(shim("plain")?.status.success());
    let said = refused(&shim("$(HOME)")?);
    assert!(said.contains("something else than a folder"), "{said}");
    Ok(())
}

/// What a relative folder names is another thing in every folder.
#[test]
fn relative_folders_name_no_toolkit() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("a.ptx"), ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n")?;
    fs::create_dir_all(folder.path("cuda/bin"))?;
    fs::write(folder.path("cuda/bin/ptxas"), "#!/bin/sh\necho it ran\nexit 1\n")?;
    symlink("cuda/bin/ptxas", folder.path("ld"))?;
    fs::set_permissions(folder.path("cuda/bin/ptxas"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for variable in ["CUDA_HOME", "CUDA_PATH", "CUWELD_TOOLKIT", "VIRTUAL_ENV"] {
        let output =
            folder.linker().args(["a.ptx", "-o", "out.cubin"]).env_clear().env(variable, "cuda").env("PATH", ".").output()?;
        assert!(!String::from_utf8_lossy(&output.stderr).contains("it ran"), "{variable}");
    }
    let output = folder.linker().args(["-ghls=lcs-abs", "-o=script"]).env("PATH", ".:cuda/bin").output()?;
    assert!(!String::from_utf8_lossy(&output.stderr).contains("it ran"), "ld of the current folder ran");
    Ok(())
}

/// Reports and comparisons show names of strangers, too.
#[test]
fn names_do_nothing_in_reports() -> io::Result<()> {
    let folder = Folder::new()?;
    let bytes = fs::read(folder.path("a.cubin"))?;
    let object = fs::read(repository("tests/cases/undefined_hints/inputs/sm_90/b.cubin"))?;
    fs::write(folder.path("evil.cubin"), replaced(&object, NAME, EVIL))?;
    fs::write(folder.path("plain.cubin"), bytes)?;
    for arguments in [
        &["report", "evil.cubin"][..],
        &["report", "--format=md", "evil.cubin"],
        &["report", "--sections", "evil.cubin"],
        &["compare", "plain.cubin", "evil.cubin"],
        &["compare", "--format=md", "plain.cubin", "evil.cubin"],
        &["compare", "--sections", "plain.cubin", "evil.cubin"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_cuweld")).current_dir(&folder.0).args(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        // A report without kernels names none.
        let has_name = text.contains("\\x1b]0;t") || text.contains("&#92;x1b&#93;0;t");
        assert!(
            has_name || matches!(arguments, ["report", .., "evil.cubin"]) && !arguments.contains(&"--sections"),
            "{arguments:?}: {text}"
        );
        assert!(!text.contains(['\x1b', '\x07']), "{arguments:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("cuweld:\"")), "{arguments:?}: {text}");
    }
    Ok(())
}
