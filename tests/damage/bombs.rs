//! Small files that stand for large ones: none gets the memory or the time that it asks for.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// What a link of a bomb may use, as the shell's `ulimit` takes it: kilobytes and seconds.
pub const LIMITS: &str = "ulimit -c 0; ulimit -d 98304; ulimit -t 4; exec \"$0\" \"$@\"";

/// Links for sm_90, under limits.
fn link(folder: &TempDir, files: &[&str]) -> io::Result<Output> {
    link_with("-arch=sm_90", folder, files)
}

/// Links with a first option, under limits.
pub fn link_with(option: &str, folder: &TempDir, words: &[&str]) -> io::Result<Output> {
    Command::new("sh")
        .args(["-c", LIMITS, env!("CARGO_BIN_EXE_cuweld"), option, "--threads=2", "-o=out.cubin"])
        .args(words)
        .current_dir(folder)
        // To say where it happened takes more memory than there is, and then a program that panicked would wait for itself.
        .env("RUST_BACKTRACE", "0")
        .output()
}

/// Asserts that a link ended with an error about what is wrong.
pub fn assert_refused(output: &Output, about: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{:?}: {said}", output.status);
    assert!(said.contains(about), "{said}");
}

fn sample(path: &str) -> io::Result<Vec<u8>> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
}

/// A member of an archive: its header, for contents of some size, and them.
fn member(name: &str, size: usize, contents: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{name:<16}{:<32}{size:<10}`\n", "").into_bytes();
    bytes.extend_from_slice(contents);
    bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    bytes
}

fn archive(magic: &str, members: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    members.into_iter().fold(magic.as_bytes().to_vec(), |mut bytes, member| {
        bytes.extend(member);
        bytes
    })
}

const ARCHIVE: &str = "!<arch>\n";
const THIN: &str = "!<thin>\n";

#[test]
fn archives_in_archives_end_somewhere() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut bytes = sample("tests/cases/single_kernel/inputs/sm_90/a.cubin")?;
    for _ in 0..1000 {
        bytes = archive(ARCHIVE, [member("inner.a/", bytes.len(), &bytes)]);
    }
    fs::write(folder.path().join("deep.a"), bytes)?;
    assert_refused(&link(&folder, &["deep.a"])?, "nested more than");
    Ok(())
}

#[test]
fn thin_archives_may_name_each_other() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.cubin"), sample("tests/cases/single_kernel/inputs/sm_90/a.cubin")?)?;
    // Each names the next one, itself and the first one a hundred times, which makes more than can be counted.
    for number in 0..8 {
        let names = [format!("{}.a/", number + 1), format!("{number}.a/"), "0.a/".to_owned()];
        let mut members: Vec<Vec<u8>> = (0..300).map(|index| member(&names[index % 3], 0, &[])).collect();
        members.push(member("a.cubin/", 0, &[]));
        fs::write(folder.path().join(format!("{number}.a")), archive(THIN, members))?;
    }
    fs::write(folder.path().join("8.a"), archive(THIN, []))?;
    let output = link(&folder, &["0.a"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn thin_archives_name_files_only() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("endless.a"), archive(THIN, [member("/0", 4096, &[])]))?;
    let names = member("//", 10, b"/dev/zero\n");
    fs::write(folder.path().join("endless.a"), archive(THIN, [names, member("/0", 4096, &[])]))?;
    assert_refused(&link(&folder, &["endless.a"])?, "not a file");
    Ok(())
}

#[test]
fn members_may_share_a_name_but_not_any_name() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let name = [vec![b'x'; 1 << 20], b"/\n".to_vec()].concat();
    let members = (0..10_000).map(|_| member("/0", 0, &[]));
    let bytes = archive(ARCHIVE, [member("//", name.len(), &name)].into_iter().chain(members));
    fs::write(folder.path().join("names.a"), bytes)?;
    assert_refused(&link(&folder, &["names.a"])?, "the member's name has 1048577 bytes");
    let name = [vec![b'x'; 4000], b"/\n".to_vec()].concat();
    let members = (0..20_000).map(|_| member("/0", 0, &[]));
    let bytes = archive(ARCHIVE, [member("//", name.len(), &name)].into_iter().chain(members));
    fs::write(folder.path().join("names.a"), bytes)?;
    assert_refused(&link(&folder, &["names.a"])?, "the names of its members are too long");
    Ok(())
}

#[test]
fn an_archive_that_was_cut_off_between_members_is_refused() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let cubin = sample("tests/cases/single_kernel/inputs/sm_90/a.cubin")?;
    // An index of two symbols in one member, which the archive has, and one of which it does not have the member.
    let start = ARCHIVE.len() + member("/", 12, &[0; 12]).len();
    for (second, is_there) in [(start, true), (start + member("a.cubin/", cubin.len(), &cubin).len(), false)] {
        let index: Vec<u8> = [2, start as u32, second as u32].into_iter().flat_map(u32::to_be_bytes).collect();
        let bytes = archive(ARCHIVE, [member("/", 12, &index), member("a.cubin/", cubin.len(), &cubin)]);
        fs::write(folder.path().join("cut.a"), bytes)?;
        let output = link(&folder, &["cut.a"])?;
        match is_there {
            true => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            false => assert_refused(&output, "index names a member"),
        }
    }
    Ok(())
}

#[test]
fn an_empty_file_is_refused() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("empty.o"), "")?;
    assert_refused(&link(&folder, &["empty.o"])?, "'empty.o' is an empty file");
    Ok(())
}

/// A field of an ELF file.
fn set(bytes: &mut [u8], at: usize, value: u64, size: usize) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

fn get(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Puts a section header table of the cubin's own headers and copies of one of them after everything else.
fn with_more_sections(mut cubin: Vec<u8>, extra: &[u8], copies: usize, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let (table, count) = (get(&cubin, 40, 8) as usize, get(&cubin, 60, 2) as usize);
    let mut headers = cubin[table..table + 64 * count].to_vec();
    let mut copy = headers[64..128].to_vec();
    set(&mut copy, 24, cubin.len() as u64, 8);
    set(&mut copy, 32, extra.len() as u64, 8);
    change(&mut copy);
    headers.extend(copy.repeat(copies));
    cubin.extend_from_slice(extra);
    let start = cubin.len().next_multiple_of(8);
    cubin.resize(start, 0);
    set(&mut cubin, 40, start as u64, 8);
    set(&mut cubin, 60, (count + copies) as u64, 2);
    cubin.extend(headers);
    cubin
}

#[test]
fn sections_may_not_all_be_the_same_bytes() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let cubin = sample("tests/cases/single_kernel/inputs/sm_90/a.cubin")?;
    // Ten thousand sections with the same megabyte.
    let bomb = with_more_sections(cubin, &vec![0; 1 << 20], 10_000, |header| set(header, 4, 1, 4));
    fs::write(folder.path().join("bomb.cubin"), bomb)?;
    assert_refused(&link(&folder, &["bomb.cubin"])?, "overlap too much");
    Ok(())
}

#[test]
fn names_may_not_all_be_the_same_bytes() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let cubin = sample("tests/cases/single_kernel/inputs/sm_90/a.cubin")?;
    let names = [vec![0], vec![b'x'; 1 << 20], vec![0]].concat();
    let count = get(&cubin, 60, 2);
    // The copies of a header name section one, which is the first copy: a table with one long name.
    let mut bomb = with_more_sections(cubin, &names, 10_000, |header| {
        set(header, 0, 1, 4);
        set(header, 4, 3, 4);
    });
    set(&mut bomb, 62, count, 2);
    fs::write(folder.path().join("bomb.cubin"), bomb)?;
    assert_refused(&link(&folder, &["bomb.cubin"])?, "overlap too much");
    Ok(())
}

#[test]
fn sizes_are_not_believed() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    // Where the size of the unpacked payload of the only entry is.
    const UNPACKED: usize = 16 + 56;
    for (case, size) in [("lz4", 1_u64 << 20), ("zstd", 1 << 20), ("lz4", 1 << 40), ("zstd", 1 << 40), ("zstd", 100 << 20)] {
        let mut bytes = sample(&format!("crates/fatbin/tests/data/{case}.fatbin"))?;
        set(&mut bytes, UNPACKED, size, 8);
        fs::write(folder.path().join("bomb.fatbin"), bytes)?;
        assert_refused(&link(&folder, &["bomb.fatbin"])?, "can not be unpacked");
    }
    Ok(())
}

/// A fatbin with a cubin in it that unpacks to many times its size: zeros.
fn bomb() -> Vec<u8> {
    const PACKED: usize = 64 << 10;
    // One byte as it is, then the same byte again and again: each 0xff stands for 255 of them.
    let mut payload = vec![0x1f, 0, 1, 0];
    payload.resize(PACKED, 0xff);
    payload.resize(PACKED + 8, 0);
    let mut entry = vec![0; 64];
    let fields: [(usize, u64, usize); 9] = [
        (0, 2, 2),
        (2, 0x0101, 2),
        (4, 64, 4),
        (8, payload.len() as u64, 8),
        (16, payload.len() as u64, 4),
        (26, 1, 2),
        (28, 90, 4),
        (40, 0x2011, 8),
        (56, 255 * PACKED as u64, 8),
    ];
    fields.iter().for_each(|&(at, value, size)| set(&mut entry, at, value, size));
    let mut fatbin = 0xba55_ed50_u32.to_le_bytes().to_vec();
    fatbin.extend([1, 0, 16, 0]);
    fatbin.extend(((entry.len() + payload.len()) as u64).to_le_bytes());
    [fatbin, entry, payload].concat()
}

/// A report says what it has not unpacked: all of these would take a hundred times as long.
#[test]
fn reports_have_a_limit() -> io::Result<()> {
    const MANY: usize = 40;
    let folder = tempfile::tempdir()?;
    let (name, bomb) = ("bomb.o/", bomb());
    fs::write(folder.path().join("bomb.a"), archive(ARCHIVE, (0..MANY).map(|_| member(name, bomb.len(), &bomb))))?;
    for words in ["report bomb.a", "compare bomb.a bomb.a"] {
        let output = Command::new("sh")
            .args(["-c", LIMITS, env!("CARGO_BIN_EXE_cuweld")])
            .args(words.split(' '))
            .current_dir(&folder)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{:?}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
        let refused = text.matches("are allowed for all").count();
        assert!(words.starts_with("compare") || (MANY / 2..MANY).contains(&refused), "{refused} of {MANY}: {text}");
    }
    Ok(())
}
