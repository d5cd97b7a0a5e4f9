//! What a link runs, and where: the toolkit that the user has named or installed, in a folder that nobody else can see.
#![cfg(unix)]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";

/// Makes a program that says where it runs and who may enter that folder, and fails.
fn make_assembler(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, "#!/bin/sh\necho \"ran in $PWD: $(stat -c %a .)\"\nexit 1\n")?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Links PTX in `folder` and returns what was said.
fn link(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> io::Result<String> {
    fs::write(folder.join("a.ptx"), PTX)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
    command.args(["-arch=sm_90", "a.ptx", "-o", "out.cubin"]).args(arguments).current_dir(folder);
    for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output()?;
    assert_eq!(output.status.code(), Some(1));
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_assembler_works_in_a_private_folder() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    make_assembler(&folder.path().join("toolkit/bin/ptxas"))?;
    let said = link(folder.path(), &["--toolkit=toolkit"], &[])?;
    let line = said.lines().find_map(|line| line.strip_prefix("ran in ")).unwrap_or_default();
    let (place, mode) = line.split_once(": ").unwrap_or_default();
    assert_eq!(mode, "700", "{said}");
    assert!(place.contains("cuweld-") && !Path::new(place).exists(), "{said}");
    Ok(())
}

#[test]
fn the_current_folder_is_no_toolkit() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    make_assembler(&folder.path().join("ptxas"))?;
    make_assembler(&folder.path().join("bin/ptxas"))?;
    // The usual place may have a real one, which says nothing of this kind.
    fs::write(folder.path().join("a.ptx"), PTX)?;
    for path in ["", ".", "bin", ":/nonexistent:", "./bin:/nonexistent"] {
        let run = Command::new(env!("CARGO_BIN_EXE_cuweld"))
            .args(["-arch=sm_90", "a.ptx", "-o", "out.cubin"])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", path)
            .output()?;
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!said.contains("ran in"), "PATH={path}: {said}");
    }
    // The same folder, named.
    let absolute = folder.path().join("bin").display().to_string();
    let said = link(folder.path(), &[], &[("PATH", &format!("{absolute}:/usr/bin:/bin"))])?;
    assert!(said.contains("ran in"), "{said}");
    Ok(())
}

#[test]
fn a_named_toolkit_is_the_only_one() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    make_assembler(&folder.path().join("toolkit/bin/ptxas"))?;
    let home = folder.path().join("toolkit").display().to_string();
    let said = link(folder.path(), &["--toolkit=/nonexistent"], &[("CUDA_HOME", &home)])?;
    assert!(!said.contains("ran in") && said.contains("/nonexistent"), "{said}");
    assert!(link(folder.path(), &[], &[("CUDA_HOME", &home)])?.contains("ran in"));
    Ok(())
}
