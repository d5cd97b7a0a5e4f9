//! Small command lines that ask for much.
#![cfg(unix)]

mod folder;

use folder::{Folder, refused};
use std::fs;
use std::io;
use std::process::Command;

/// A few kilobytes of options files can name each other more often than anything can read.
#[test]
fn options_files_that_name_each_other_come_to_an_end() -> io::Result<()> {
    let folder = Folder::new()?;
    for depth in 0..14 {
        fs::write(folder.path(&format!("{depth}.txt")), format!("-optf {}.txt\n", depth + 1).repeat(40))?;
    }
    fs::write(folder.path("14.txt"), "-v")?;
    let said = refused(&folder.link(&["-optf=0.txt", "a.cubin", "-o", "out.cubin"])?);
    assert!(said.contains("Too many options file"), "{said}");
    for word in ["dlink", "fatbin"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        let said = refused(&command.current_dir(&folder.0).args([word, "-optf=0.txt", "-o", "out.cubin"]).output()?);
        assert!(said.contains(".txt"), "{word}: {said}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
        let said = refused(&command.current_dir(&folder.0).args([word, "-optf=/dev/zero", "-o", "out.cubin"]).output()?);
        assert!(said.contains("/dev/zero"), "{word}: {said}");
    }
    assert!(!folder.names()?.contains(&"out.cubin".to_owned()));
    fs::write(folder.path("nested.txt"), "-Xfatbin=".repeat(1 << 20))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuweld"));
    let said = refused(&command.current_dir(&folder.0).args(["dlink", "-optf=nested.txt"]).output()?);
    assert!(said.contains("nested more than 8 deep"), "{said}");
    Ok(())
}

/// A device has no end.
#[cfg(unix)]
#[test]
fn an_options_file_comes_to_an_end() -> io::Result<()> {
    let folder = Folder::new()?;
    let said = refused(&folder.link(&["-optf=/dev/zero", "a.cubin", "-o", "out.cubin"])?);
    assert!(said.contains("Could not open options file '/dev/zero'"), "{said}");
    Ok(())
}

/// As many threads as are asked for would do nothing but begin.
#[test]
fn threads_have_a_limit() -> io::Result<()> {
    let folder = Folder::new()?;
    for count in ["1000000", "2147483647"] {
        let output = folder.link(&["a.cubin", "-o", "out.cubin", &format!("--threads={count}")])?;
        assert!(output.status.success(), "{count}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Libraries by the thousand are looked for in folders by the thousand, and found where they are.
#[test]
fn many_libraries_in_many_folders() -> io::Result<()> {
    const COUNT: usize = 20_000;
    let folder = Folder::new()?;
    fs::create_dir(folder.path("there"))?;
    fs::copy(folder.path("a.cubin"), folder.path("there/libLast.a"))?;
    fs::create_dir(folder.path("there/more"))?;
    fs::copy(folder.path("a.cubin"), folder.path("there/more/plain"))?;
    let mut words: String = (0..COUNT).map(|number| format!("-Lno{number} -lno{number}\n")).collect();
    words.push_str("-Lthere -lLast");
    let begun = std::time::Instant::now();
    for (last, found) in [(" -lLast", "there/libLast.a"), (" -l:more/plain", "there/more/plain")] {
        fs::write(folder.path("words"), words.replace(" -lLast", last))?;
        // Both have the same kernel, so a library that was found is an error.
        let said = refused(&folder.link(&["-optf=words", "a.cubin", "-o", "out.cubin"])?);
        assert!(said.contains(found), "{said}");
    }
    // One by one it takes many minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    Ok(())
}

/// A system may let a program have few files open. Objects are read one after the other then.
#[test]
fn few_files_may_be_open_at_once() -> io::Result<()> {
    let folder = Folder::new()?;
    let mut words = vec!["-arch=sm_90".to_owned(), "-o".into(), "out.cubin".into(), "a.cubin".into(), "--start-lib".into()];
    for number in 0..50 {
        let name = format!("{number}.cubin");
        fs::copy(folder.path("a.cubin"), folder.path(&name))?;
        words.push(name);
    }
    words.push("--end-lib".into());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 20; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_cuweld")]).args(words);
    let output = command.current_dir(&folder.0).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// What has no size is read until it ends, but not for ever. A stranger's thin archive can not make a link wait for it.
#[cfg(target_os = "linux")]
#[test]
fn inputs_come_to_an_end() -> io::Result<()> {
    let folder = Folder::new()?;
    for words in [&["/dev/zero"][..], &["a.cubin", "-uidx=/dev/zero"], &["a.cubin", "-nv-host=/dev/zero"]] {
        let said = refused(&folder.link(&[words, &["-o", "out.cubin"]].concat())?);
        assert!(said.contains("does not end"), "{said}");
    }
    // It has contents, though no size.
    let said = refused(&folder.link(&["/proc/cpuinfo", "-o", "out.cubin"])?);
    assert!(said.contains("unknown format"), "{said}");
    // Reading it waits for the kernel's next message.
    let member = b"/proc/kmsg/\n";
    let mut archive = b"!<thin>\n".to_vec();
    archive.extend(format!("{:<48}{:<10}`\n", "//", member.len()).bytes());
    archive.extend(member);
    archive.extend(format!("{:<48}{:<10}`\n", "/0", 8).bytes());
    fs::write(folder.path("thin.a"), archive)?;
    let output = folder.link(&["a.cubin", "thin.a", "-o", "out.cubin"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
