//! What the program writes to when a name leads to something else than a file of its own.
#![cfg(unix)]

mod folder;
mod installed;

use folder::{Folder, refused};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const ELF: &[u8] = b"\x7fELF";

/// Links with standard output as it is given.
fn link_to(folder: &Folder, stdout: &File, arguments: &[&str]) -> io::Result<bool> {
    Ok(folder.linker().arg("a.cubin").args(arguments).stdout(stdout.try_clone()?).status()?.success())
}

fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn a_link_to_an_open_file_without_a_name_leads_to_that_file() -> io::Result<()> {
    let folder = Folder::new()?;
    symlink("/proc/self/fd/1", folder.path("stdout"))?;
    symlink("stdout", folder.path("link"))?;
    if !folder.path("stdout").exists() {
        installed::skip("there is no /proc");
        return Ok(());
    }
    for name in ["stdout", "link", "-"] {
        let nameless = tempfile::tempfile()?;
        assert!(link_to(&folder, &nameless, &["-o", name])?, "{name}");
        assert!(contents(&nameless)?.starts_with(ELF), "{name}");
    }
    assert_eq!(folder.names()?, ["a.cubin", "link", "stdout"]);
    assert!(fs::symlink_metadata(folder.path("stdout"))?.is_symlink());
    Ok(())
}

#[test]
fn standard_output_keeps_what_was_written_before() -> io::Result<()> {
    let folder = Folder::new()?;
    assert!(folder.link(&["a.cubin", "-o", "expected"])?.status.success());
    let image = fs::read(folder.path("expected"))?;
    for name in ["-", "/dev/stdout"] {
        let mut stdout = File::options().read(true).write(true).create(true).truncate(true).open(folder.path("all"))?;
        stdout.write_all(b"before")?;
        assert!(link_to(&folder, &stdout, &["-o", name])?);
        stdout.write_all(b"behind")?;
        assert!(contents(&stdout)? == [b"before", &*image, b"behind"].concat(), "{name}");
        // Everything that a link writes may go there.
        assert!(link_to(&folder, &stdout, &["-o", name, "--Map", name, "-time", name, "-dot", "/dev/null"])?);
        let text = String::from_utf8_lossy(&contents(&stdout)?).into_owned();
        assert!(text.contains("source file name") && text.contains(".text."), "{text}");
    }
    Ok(())
}

/// A program that begins with standard output closed has the null device there: what goes to it is lost.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_takes_nothing() -> io::Result<()> {
    let folder = Folder::new()?;
    let closed = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_cuweld")]).current_dir(&folder.0);
        command.args(arguments).output()
    };
    let link = ["-arch=sm_90", "a.cubin", "-o"];
    for arguments in [
        &[&link[..], &["-"]].concat()[..],
        &[&link[..], &["/dev/stdout"]].concat(),
        &[&link[..], &["out.cubin", "--Map=-"]].concat(),
        &["report", "a.cubin"],
        &["--version"],
    ] {
        let said = refused(&closed(arguments)?);
        assert!(said.contains("it is closed"), "{arguments:?}: {said}");
    }
    assert_eq!(folder.names()?, ["a.cubin"]);
    // Who writes elsewhere does not need it.
    assert!(closed(&[&link[..], &["out.cubin"]].concat())?.status.success());
    Ok(())
}

/// Standard output may be a file that has a name, and that may be an input or another output.
#[test]
fn standard_output_is_no_input_and_no_other_output() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::copy(folder.path("a.cubin"), folder.path("both"))?;
    let before = fs::read(folder.path("both"))?;
    let onto = |name: &str, arguments: &[&str]| {
        let stdout = File::options().write(true).create(true).truncate(false).open(folder.path(name))?;
        folder.linker().args(arguments).stdout(stdout).output()
    };
    for name in ["-", "/dev/stdout"] {
        let said = refused(&onto("both", &["both", "-o", name])?);
        assert!(said.contains("is the input file 'both'"), "{said}");
        let said = refused(&onto("new", &["a.cubin", "-o", "new", "--Map", name])?);
        assert!(said.contains("is the output file 'new'"), "{said}");
    }
    assert!(fs::read(folder.path("both"))? == before);
    Ok(())
}

#[test]
fn a_link_to_nothing_is_followed_and_a_circle_is_not() -> io::Result<()> {
    let folder = Folder::new()?;
    symlink("fresh.cubin", folder.path("dangling"))?;
    assert!(folder.link(&["a.cubin", "-o", "dangling"])?.status.success());
    assert!(fs::symlink_metadata(folder.path("dangling"))?.is_symlink());
    assert!(fs::read(folder.path("fresh.cubin"))?.starts_with(ELF));
    symlink("circle", folder.path("circle"))?;
    let said = refused(&folder.link(&["a.cubin", "-o", "circle"])?);
    assert!(said.contains("'circle'"), "{said}");
    assert!(fs::symlink_metadata(folder.path("circle"))?.is_symlink());
    symlink("nowhere/out.cubin", folder.path("astray"))?;
    refused(&folder.link(&["a.cubin", "-o", "astray"])?);
    refused(&folder.link(&["a.cubin", "-o", "new/"])?);
    assert_eq!(folder.names()?, ["a.cubin", "astray", "circle", "dangling", "fresh.cubin"]);
    Ok(())
}

#[test]
fn a_file_of_two_names_keeps_both() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("one"), "old")?;
    fs::hard_link(folder.path("one"), folder.path("other"))?;
    assert!(folder.link(&["a.cubin", "-o", "one"])?.status.success());
    assert!(fs::read(folder.path("other"))?.starts_with(ELF));
    // What can only be written in place is lost when there is no room, and that is said.
    let said = refused(&limited(&folder, &["a.cubin", "-o", "one"])?);
    assert!(said.contains("File too large") && said.contains("its old contents are gone"), "{said}");
    Ok(())
}

/// Links where files can not get large.
fn limited(folder: &Folder, arguments: &[&str]) -> io::Result<Output> {
    Command::new("sh")
        .args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cuweld"), "-arch=sm_90"])
        .args(arguments)
        .current_dir(&folder.0)
        .output()
}

/// Runs a script that mounts something, or ends with 99, and then the program (`$0`). Says whether that can be done here.
fn with_mounts(folder: &Folder, script: &str) -> bool {
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_cuweld")])
        .current_dir(&folder.0)
        .output();
    match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(99) || said.contains("unshare"), "{said}");
            installed::skip(&format!("nothing can be mounted here: {said}"));
        }
        Err(error) => installed::skip(&format!("unshare: {error}")),
    }
    false
}

#[test]
fn a_mount_point_is_written_to() -> io::Result<()> {
    let folder = Folder::new()?;
    for name in ["behind", "out.cubin"] {
        fs::write(folder.path(name), "old")?;
    }
    let script = "mount --bind behind out.cubin || exit 99; exec \"$0\" -arch=sm_90 a.cubin -o out.cubin";
    assert!(!with_mounts(&folder, script) || fs::read(folder.path("behind"))?.starts_with(ELF));
    assert_eq!(fs::read(folder.path("out.cubin"))?, b"old");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_needs_no_link_and_is_no_file() -> io::Result<()> {
    for prepare in ["true", "ln -s /proc/self/fd/1 dev/stdout && mount -t tmpfs none /proc"] {
        let folder = Folder::new()?;
        fs::create_dir(folder.path("dev"))?;
        let mount = "touch dev/null && mount --bind /dev/null dev/null";
        let link = "exec \"$0\" -arch=sm_90 a.cubin -o /dev/stdout > out.cubin";
        let script = format!("{{ {mount} && {prepare} && mount --rbind dev /dev; }} || exit 99; {link}");
        assert!(!with_mounts(&folder, &script) || fs::read(folder.path("out.cubin"))?.starts_with(ELF), "{prepare}");
        let there = fs::symlink_metadata(folder.path("dev/stdout"));
        assert!(there.map_or(true, |found| found.is_symlink()), "{prepare}");
        assert!(fs::read_dir(folder.path("dev"))?.count() <= 2, "{prepare}");
    }
    Ok(())
}

#[test]
fn a_file_in_a_folder_that_is_read_only_is_written_to() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::create_dir(folder.path("fixed"))?;
    let out = folder.path("fixed/out.cubin");
    fs::write(&out, "old")?;
    fs::set_permissions(&out, fs::Permissions::from_mode(0o666))?;
    fs::set_permissions(folder.path("fixed"), fs::Permissions::from_mode(0o555))?;
    // Whoever may do everything becomes somebody else, who has to get there.
    let is_root = fs::metadata(folder.path("a.cubin"))?.uid() == 0;
    let program = folder.path("program");
    // Another program copies it: a file that this one has open for writing can not be run by what other tests start meanwhile.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_cuweld")).arg(&program).status()?.success());
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o755))?;
    let mut command = if is_root { Command::new("setpriv") } else { Command::new(&program) };
    if is_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    let output = command.current_dir(&folder.0).args(["-arch=sm_90", "a.cubin", "-o", "fixed/out.cubin"]).output();
    fs::set_permissions(folder.path("fixed"), fs::Permissions::from_mode(0o755))?;
    match output {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            installed::skip(&format!("setpriv: {error}"));
            return Ok(());
        }
    }
    assert!(fs::read(&out)?.starts_with(ELF));
    Ok(())
}

#[test]
fn owners_stay() -> io::Result<()> {
    let folder = Folder::new()?;
    let out = folder.path("out.cubin");
    fs::write(&out, "old")?;
    if std::os::unix::fs::chown(&out, Some(65534), Some(65534)).is_err() {
        installed::skip("this user can not give files away");
        return Ok(());
    }
    fs::set_permissions(&out, fs::Permissions::from_mode(0o750))?;
    assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
    let found = fs::metadata(&out)?;
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (65534, 65534, 0o750));
    assert!(fs::read(&out)?.starts_with(ELF));
    Ok(())
}

/// A list of who has access stays with a file, and a new file gets none of its folder's in the place of one that has none.
#[cfg(target_os = "linux")]
#[test]
fn lists_of_who_has_access_stay() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::create_dir(folder.path("given"))?;
    for name in ["listed", "given/plain"] {
        fs::write(folder.path(name), "old")?;
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o660))?;
    }
    let python = |script: &str| Command::new("python3").args(["-c", script]).current_dir(&folder.0).output();
    let set = "import os, struct
entries = [(1, 6, -1), (2, 6, 65534), (4, 0, -1), (16, 6, -1), (32, 0, -1)]
value = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *entry) for entry in entries)
os.setxattr('listed', 'system.posix_acl_access', value)
os.setxattr('listed', 'user.note', b'kept')
os.setxattr('given', 'system.posix_acl_default', value)";
    if !python(set).is_ok_and(|output| output.status.success()) {
        installed::skip("no lists of who has access can be set here");
        return Ok(());
    }
    let lists = || {
        let script = "import os
for name in 'listed', 'given/plain':
    print(name, oct(os.stat(name).st_mode), sorted((key, os.getxattr(name, key)) for key in os.listxattr(name)))";
        python(script).map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let before = lists()?;
    assert!(before.contains("posix_acl_access") && before.contains("kept"), "{before}");
    for name in ["listed", "given/plain"] {
        assert!(folder.link(&["a.cubin", "-o", name])?.status.success());
    }
    assert_eq!(lists()?, before);
    Ok(())
}

#[test]
fn no_two_outputs_are_one_file() -> io::Result<()> {
    let folder = Folder::new()?;
    symlink("out.cubin", folder.path("link"))?;
    for (one, other) in [
        ("-o=out.cubin", "--Map=./out.cubin"),
        ("-o=out.cubin", "--time-trace=out.cubin"),
        ("-o=out.cubin", "-time=link"),
        ("-o=link", "-dot=out.cubin"),
        ("-o=other", "--register-link-binaries=other"),
    ] {
        let said = refused(&folder.link(&["a.cubin", "-o=unused", one, other])?);
        assert!(said.contains("is the output file"), "{one} {other}: {said}");
        assert_eq!(folder.names()?, ["a.cubin", "link"], "{one} {other}");
    }
    // The same for a file that is there.
    fs::write(folder.path("out.cubin"), "old")?;
    fs::hard_link(folder.path("out.cubin"), folder.path("hard"))?;
    refused(&folder.link(&["a.cubin", "-o=out.cubin", "--Map=hard"])?);
    assert_eq!(fs::read(folder.path("out.cubin"))?, b"old");
    Ok(())
}

/// A build may work in a folder that is deeper than any name the system takes.
#[test]
fn a_file_in_a_very_deep_folder_is_written() -> io::Result<()> {
    let folder = Folder::new()?;
    let name = "x".repeat(200);
    let script = format!(
        "for i in $(seq 30); do mkdir {name} && cd -P {name} || exit 9; done; cat > a.cubin; \
         for i in 1 2; do \"$0\" -arch=sm_90 a.cubin -o out.cubin --Map=map || exit; done; test -s out.cubin && test -s map"
    );
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_cuweld")])
        .current_dir(&folder.0)
        .stdin(File::open(folder.path("a.cubin"))?)
        .output()?;
    // Shells need not be able to go there.
    if output.status.code() != Some(9) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// What is bundled, reported on or compared is not replaced by what comes of it.
#[test]
fn no_other_command_replaces_its_inputs() -> io::Result<()> {
    let folder = Folder::new()?;
    let before = fs::read(folder.path("a.cubin"))?;
    fs::hard_link(folder.path("a.cubin"), folder.path("b.cubin"))?;
    symlink("a.cubin", folder.path("c.cubin"))?;
    fs::write(folder.path("budget.toml"), "")?;
    let image = "--image3=kind=elf,sm=90,file=a.cubin";
    for (words, about) in [
        (&["fatbin", "--create=./a.cubin", image][..], "input file 'a.cubin'"),
        (&["fatbin", "--create=new", "--embedded-fatbin=./new", image], "output file 'new'"),
        (&["report", "-o", "b.cubin", "a.cubin"], "input file 'a.cubin'"),
        (&["report", "--write-baseline=c.cubin", "a.cubin"], "input file 'a.cubin'"),
        (&["report", "--budget=budget.toml", "-o", "budget.toml", "a.cubin"], "input file 'budget.toml'"),
        (&["report", "--write-baseline=new", "-o", "new", "a.cubin"], "output file 'new'"),
        (&["compare", "-o", "c.cubin", "a.cubin", "a.cubin"], "input file 'a.cubin'"),
        (&["compare", "--sections", "-o", "a.cubin", "a.cubin", "a.cubin"], "input file 'a.cubin'"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_cuweld")).current_dir(&folder.0).args(words).output()?;
        assert!(refused(&output).contains(about), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(folder.path("a.cubin"))?, before, "{words:?}");
        assert!(!folder.names()?.contains(&"new".to_owned()), "{words:?}");
    }
    Ok(())
}

#[test]
fn an_options_file_is_no_output() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("inner.txt"), "--disable-infos")?;
    fs::write(folder.path("outer.txt"), "-optf inner.txt")?;
    for (option, output) in [("-optf=inner.txt", "inner.txt"), ("-optf=outer.txt", "./inner.txt"), ("@outer.txt", "outer.txt")] {
        for wanted in [["-o", output], ["-o=other", &format!("--Map={output}")]] {
            let said = refused(&folder.link(&[&["a.cubin", option], &wanted[..]].concat())?);
            assert!(said.contains("is the input file"), "{option} {wanted:?}: {said}");
        }
    }
    refused(&folder.link(&["-ghls=lcs-aug", "@outer.txt", "-o=outer.txt"])?);
    assert_eq!(fs::read(folder.path("inner.txt"))?, b"--disable-infos");
    assert_eq!(fs::read(folder.path("outer.txt"))?, b"-optf inner.txt");
    Ok(())
}

#[test]
fn if_one_file_can_not_be_written_none_is() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("out.cubin"), "old")?;
    for option in ["-dot", "--time-trace", "--Map", "-time", "--register-link-binaries"] {
        for file in ["no/such", "/dev/full"] {
            if !Path::new("/dev/full").exists() {
                continue;
            }
            refused(&folder.link(&["a.cubin", "-o=out.cubin", &format!("{option}={file}")])?);
            assert_eq!(fs::read(folder.path("out.cubin"))?, b"old", "{option}={file}");
        }
    }
    assert_eq!(folder.names()?, ["a.cubin", "out.cubin"]);
    Ok(())
}

#[test]
fn what_killed_links_left_is_removed() -> io::Result<()> {
    let folder = Folder::new()?;
    let left = |number: u32| folder.path(&format!(".cuweld-{number}.tmp"));
    for number in [0, 1, 3] {
        fs::write(left(number), "a part")?;
    }
    symlink("a.cubin", left(2))?;
    // This one is in use.
    let mut command = Command::new("flock");
    let mut used =
        command.arg(left(1)).args(["sh", "-c", "echo locked; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut locked = [0; 7];
    used.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?.read_exact(&mut locked)?;
    // Into an empty place, and onto a file.
    for _ in 0..2 {
        assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
        assert_eq!(folder.names()?, [".cuweld-1.tmp", ".cuweld-2.tmp", "a.cubin", "out.cubin"]);
    }
    drop(used.stdin.take());
    used.wait()?;
    assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
    assert_eq!(folder.names()?, [".cuweld-2.tmp", "a.cubin", "out.cubin"]);
    Ok(())
}
