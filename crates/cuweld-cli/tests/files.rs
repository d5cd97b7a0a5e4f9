//! What the program does to files, and what others do to its files meanwhile.
#![cfg(unix)]

mod folder;

use folder::{Folder, refused};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn a_file_is_never_linked_onto_itself() -> io::Result<()> {
    let folder = Folder::new()?;
    let before = fs::read(folder.path("a.cubin"))?;
    std::os::unix::fs::symlink("a.cubin", folder.path("symbolic.cubin"))?;
    fs::hard_link(folder.path("a.cubin"), folder.path("hard.cubin"))?;
    for output in ["a.cubin", "./a.cubin", "symbolic.cubin", "hard.cubin"] {
        for option in ["-o", "--Map", "--time-trace", "-time", "-dot", "--register-link-binaries"] {
            let option = format!("{option}={output}");
            let said = refused(&folder.link(&["a.cubin", "-o=other.cubin", &option])?);
            assert!(said.contains("is the input file 'a.cubin'"), "{option}: {said}");
            assert_eq!(fs::read(folder.path("a.cubin"))?, before, "{option}");
            assert!(!folder.path("other.cubin").exists(), "{option}");
        }
    }
    // Files that are read besides the inputs are no less in need of it.
    let said = refused(&folder.link(&["a.cubin", "-nv-host=hard.cubin", "-o=hard.cubin"])?);
    assert!(said.contains("is the input file"), "{said}");
    Ok(())
}

#[test]
fn permissions_are_kept() -> io::Result<()> {
    let folder = Folder::new()?;
    for mode in [0o600, 0o755, 0o640] {
        fs::write(folder.path("out.cubin"), "old")?;
        fs::set_permissions(folder.path("out.cubin"), fs::Permissions::from_mode(mode))?;
        assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
        assert_eq!(fs::metadata(folder.path("out.cubin"))?.permissions().mode() & 0o777, mode);
    }
    assert!(fs::read(folder.path("out.cubin"))?.starts_with(b"\x7fELF"));
    Ok(())
}

#[test]
fn links_to_the_output_are_followed() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("real.cubin"), "old")?;
    std::os::unix::fs::symlink("real.cubin", folder.path("out.cubin"))?;
    assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
    assert!(fs::symlink_metadata(folder.path("out.cubin"))?.is_symlink());
    assert!(fs::read(folder.path("real.cubin"))?.starts_with(b"\x7fELF"));
    Ok(())
}

#[test]
fn when_there_is_no_room_the_old_file_stays() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("out.cubin"), "old")?;
    // A limit for the size of files is what a full disk looks like to one program.
    let run = Command::new("sh")
        .args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cuweld")])
        .args(["-arch=sm_90", "a.cubin", "-o", "out.cubin"])
        .current_dir(&folder.0)
        .output()?;
    let said = refused(&run);
    assert!(said.contains("out.cubin") && said.contains("File too large"), "{said}");
    assert_eq!(fs::read(folder.path("out.cubin"))?, b"old");
    assert_eq!(folder.names()?, ["a.cubin", "out.cubin"]);
    if Path::new("/dev/full").exists() {
        let said = refused(&folder.link(&["a.cubin", "-o", "/dev/full"])?);
        assert!(said.contains("No space left"), "{said}");
    }
    Ok(())
}

#[test]
fn a_closed_pipe_is_an_error_with_a_cause() -> io::Result<()> {
    let folder = Folder::new()?;
    // More than a pipe holds.
    fs::write(folder.path("host.bin"), vec![b'x'; 1 << 20])?;
    let mut child = folder
        .linker()
        .args(["a.cubin", "-nv-host=host.bin", "-o", "/dev/stdout"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()?;
    drop(child.stdout.take());
    let said = refused(&child.wait_with_output()?);
    assert!(said.contains("Broken pipe"), "{said}");
    Ok(())
}

#[test]
fn a_link_that_fails_leaves_the_old_file() -> io::Result<()> {
    let folder = Folder::new()?;
    fs::write(folder.path("out.cubin"), "old")?;
    fs::write(folder.path("damaged.cubin"), &fs::read(folder.path("a.cubin"))?[..100])?;
    refused(&folder.link(&["damaged.cubin", "-o", "out.cubin"])?);
    refused(&folder.link(&["a.cubin", "-o", "nowhere/out.cubin"])?);
    assert_eq!(fs::read(folder.path("out.cubin"))?, b"old");
    Ok(())
}

#[test]
fn outputs_need_not_be_files() -> io::Result<()> {
    let folder = Folder::new()?;
    assert!(folder.link(&["a.cubin", "-o", "out.cubin"])?.status.success());
    let expected = fs::read(folder.path("out.cubin"))?;
    fs::create_dir(folder.path("folder"))?;
    let said = refused(&folder.link(&["a.cubin", "-o", "folder"])?);
    assert!(said.contains("'folder'"), "{said}");
    assert!(folder.link(&["a.cubin", "-o", "/dev/null"])?.status.success());
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status()?.success());
    let mut child = folder.linker().args(["a.cubin", "-o", "pipe"]).spawn()?;
    assert!(fs::read(folder.path("pipe"))? == expected);
    assert!(child.wait()?.success());
    assert_eq!(folder.names()?, ["a.cubin", "folder", "out.cubin", "pipe"]);
    Ok(())
}

#[test]
fn of_two_links_onto_one_file_one_wins() -> io::Result<()> {
    let folder = Folder::new()?;
    let link = |host: &str| folder.linker().args(["a.cubin", &format!("-nv-host={host}"), "-o", "out.cubin"]).spawn();
    let mut results = Vec::new();
    for (host, byte) in [("x.bin", b'x'), ("y.bin", b'y')] {
        fs::write(folder.path(host), vec![byte; 1 << 20])?;
        assert!(link(host)?.wait()?.success());
        results.push(fs::read(folder.path("out.cubin"))?);
    }
    for turn in 0..20 {
        if turn % 2 == 0 {
            fs::remove_file(folder.path("out.cubin"))?;
        }
        let mut children = [link("x.bin")?, link("y.bin")?];
        for child in &mut children {
            assert!(child.wait()?.success(), "turn {turn}");
        }
        assert!(results.contains(&fs::read(folder.path("out.cubin"))?), "turn {turn}: a mixture");
        assert_eq!(folder.names()?, ["a.cubin", "out.cubin", "x.bin", "y.bin"]);
    }
    Ok(())
}

/// Kills a link after various times. The result is large, so that many of them are while it is written. It comes last: if it is new, so
/// is the map.
#[test]
fn a_link_that_is_killed_leaves_the_old_file_or_the_new_one() -> io::Result<()> {
    const LINKS: u64 = 60;
    let folder = Folder::new()?;
    fs::write(folder.path("host.bin"), vec![b'x'; 12 << 20])?;
    let arguments = ["a.cubin", "-nv-host=host.bin", "-o", "out.cubin", "--Map=map"];
    let start = std::time::Instant::now();
    assert!(folder.link(&arguments)?.status.success());
    let (duration, new) = (start.elapsed(), fs::read(folder.path("out.cubin"))?);
    let new_map = fs::read(folder.path("map"))?;
    let mut kept_old = 0;
    for turn in 0..LINKS {
        fs::write(folder.path("out.cubin"), "old")?;
        fs::write(folder.path("map"), "old")?;
        let mut child = folder.linker().args(arguments).stderr(Stdio::null()).spawn()?;
        thread::sleep(duration * turn as u32 / LINKS as u32);
        child.kill()?;
        child.wait()?;
        let found = fs::read(folder.path("out.cubin"))?;
        kept_old += u32::from(found == b"old");
        assert!(found == b"old" || found == new, "turn {turn}: {} bytes", found.len());
        let map = fs::read(folder.path("map"))?;
        assert!(map == new_map || (map == b"old" && found == b"old"), "turn {turn}: the map is {} bytes", map.len());
    }
    assert!(kept_old > 0, "no link was killed before its end");
    // Between giving the new file a name and giving it the right one are microseconds. A kill in them leaves it behind; the next link
    // removes it.
    assert!(folder.link(&arguments)?.status.success());
    assert_eq!(folder.names()?, ["a.cubin", "host.bin", "map", "out.cubin"]);
    Ok(())
}

/// Starts a link of a mapped file, and changes the file while the link waits for another input, which is a pipe.
fn link_while(folder: &Folder, change: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<Output> {
    // As many zeros after it as make the program map it.
    let mut large = fs::read(folder.path("a.cubin"))?;
    large.resize(1 << 20, 0);
    fs::write(folder.path("large.cubin"), large)?;
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status()?.success());
    let child =
        folder.linker().args(["large.cubin", "pipe", "-o", "out.cubin"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    // Opening succeeds once the linker has opened it, too: by then the file before it is mapped.
    let mut pipe = fs::File::options().write(true).open(folder.path("pipe"))?;
    thread::sleep(Duration::from_millis(50));
    change(&folder.path("large.cubin"))?;
    // The linker may have given up by now.
    _ = pipe.write_all(&fs::read(folder.path("a.cubin"))?);
    drop(pipe);
    child.wait_with_output()
}

#[test]
fn an_input_that_becomes_shorter_is_an_error() -> io::Result<()> {
    for size in [0, 100, 4096] {
        let folder = Folder::new()?;
        let output = link_while(&folder, |path| fs::File::options().write(true).open(path)?.set_len(size))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("'large.cubin' was changed while it was linked"), "{said}");
        assert!(matches!(output.status.code(), Some(1 | 255)), "{said}");
        assert!(!folder.path("out.cubin").exists());
    }
    Ok(())
}

#[test]
fn an_input_that_is_written_to_is_an_error() -> io::Result<()> {
    let folder = Folder::new()?;
    let output = link_while(&folder, |path| fs::File::options().append(true).open(path)?.write_all(b"more"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("'large.cubin' was changed while it was linked"), "{said}");
    assert!(!output.status.success() && !folder.path("out.cubin").exists(), "{said}");
    Ok(())
}

/// Programs that copy files put back the time at which they were written (`cp -p`, `rsync -t`).
#[test]
fn an_input_that_is_written_to_is_an_error_whatever_its_time_says() -> io::Result<()> {
    let folder = Folder::new()?;
    let output = link_while(&folder, |path| {
        let file = fs::File::options().write(true).open(path)?;
        let before = file.metadata()?.modified()?;
        std::os::unix::fs::FileExt::write_all_at(&file, b"other", 1 << 19)?;
        file.set_modified(before)
    })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("'large.cubin' was changed while it was linked"), "{said}");
    assert!(!output.status.success() && !folder.path("out.cubin").exists(), "{said}");
    // Another name for it changes nothing in it.
    let folder = Folder::new()?;
    let output = link_while(&folder, |path| fs::hard_link(path, path.with_extension("other")))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("was changed"), "{said}");
    Ok(())
}

/// Of many inputs that are wrong, the first is named, however many threads look at them.
#[test]
fn the_first_of_many_errors_is_told() -> io::Result<()> {
    let folder = Folder::new()?;
    let fatbin = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fatbin/tests/data/zstd.fatbin"))?;
    // Where the only entry says to how many bytes it unpacks.
    let mut packed = fatbin;
    packed[16 + 56] ^= 1;
    // Wrong in three ways: told by its contents, when it is unpacked, when it is read.
    for damaged in [b"nothing known".to_vec(), packed, fs::read(folder.path("a.cubin"))?[..200].to_vec()] {
        let names: Vec<String> = (0..64).map(|number| format!("{number}.o")).collect();
        for name in &names {
            fs::write(folder.path(name), &damaged)?;
        }
        let mut arguments: Vec<&str> = names.iter().map(String::as_str).collect();
        arguments.extend(["-o", "out.cubin", "--threads=4"]);
        let first = refused(&folder.link(&arguments)?);
        assert!(first.contains("'0.o'"), "{first}");
        for _ in 0..10 {
            assert_eq!(refused(&folder.link(&arguments)?), first);
        }
    }
    Ok(())
}
