//! Archives: those that real tools made, and those of other systems, made here.

use fatbin::archive::{Archive, Contents, MAX_DEPTH, Member};
use fatbin::{Kind, identify};

const GNU: &[u8] = include_bytes!("data/gnu.a");
const THIN: &[u8] = include_bytes!("data/thin.a");
const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");
const LTO: &[u8] = include_bytes!("data/lto.fatbin");
const HOST: &[u8] = include_bytes!("data/host_x86_64.o");

const LONG_NAME: &[u8] = b"a_name_longer_than_the_field_has_room_for.fatbin";

/// An archive of members given by the name field and the contents.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        add(&mut bytes, name, contents.len(), contents);
    }
    bytes
}

fn add(bytes: &mut Vec<u8>, name: &str, size: usize, contents: &[u8]) {
    let header = format!("{name:16}{:12}{:6}{:6}{:8}{size:<10}`\n", 0, 0, 0, 644);
    assert_eq!(header.len(), 60);
    bytes.extend(header.bytes());
    bytes.extend(contents);
    if bytes.len() % 2 == 1 {
        bytes.push(b'\n');
    }
}

fn members(bytes: &[u8]) -> Vec<Member<'_>> {
    Archive::parse(bytes).expect("an archive").members().collect::<fatbin::Result<_>>().expect("good members")
}

fn names(bytes: &[u8]) -> Vec<String> {
    let members = members(bytes);
    members.iter().map(|member| member.display_name().into_owned()).collect()
}

fn inside<'data>(member: &Member<'data>) -> &'data [u8] {
    match member.contents {
        Contents::Inside(bytes) => bytes,
        _ => panic!("{} is not in the archive", member.display_name()),
    }
}

#[test]
fn gnu_archives_have_long_names() {
    let members = members(GNU);
    let [zstd, cubin, lto] = &members[..] else { panic!("three members") };
    assert_eq!(zstd.name, b"zstd.fatbin");
    assert_eq!(inside(zstd), ZSTD);
    assert_eq!(cubin.name, b"second.cubin");
    assert!(matches!(identify(inside(cubin)), Kind::Cubin(_)));
    assert_eq!(lto.name, LONG_NAME);
    assert_eq!(inside(lto), LTO);
}

#[test]
fn thin_archives_name_files_and_members_of_other_archives() {
    let archive = Archive::parse(THIN).expect("an archive");
    assert!(archive.is_thin());
    let members = members(THIN);
    assert_eq!(members.len(), 4);
    assert_eq!(members[0].name, b"host_x86_64.o");
    let size = u64::try_from(HOST.len()).expect("small");
    assert_eq!(members[0].contents, Contents::File { size });

    let nested = Archive::parse(GNU).expect("an archive");
    for (member, expected) in members[1..].iter().zip(nested.members()) {
        let expected = expected.expect("a member");
        assert_eq!(member.name, b"gnu.a");
        let Contents::NestedMember { offset, size } = member.contents else { panic!("a member of another archive") };
        let found = nested.member_at(offset).expect("a member");
        assert_eq!(found, expected);
        assert_eq!(u64::try_from(inside(&found).len()).expect("small"), size);
    }
    assert!(nested.member_at(9).is_err());
    assert!(nested.member_at(u64::MAX).is_err());
    assert_eq!(
        nested.member_at(8).expect_err("an error").to_string(),
        "archive at offset 0x8: another archive refers to a member here, and there is none"
    );
}

#[test]
fn bsd_archives_have_names_in_the_contents() {
    let long = b"a name that is long and has blanks\0\0CONTENTS";
    let bytes = archive(&[("#1/20", b"__.SYMDEF SORTED\0\0\0\0index"), ("short.o", b"odd"), ("#1/36", long), ("#1/4", b"none")]);
    let members = members(&bytes);
    assert_eq!(members[0].name, b"short.o");
    assert_eq!(inside(&members[0]), b"odd");
    assert_eq!(members[1].name, b"a name that is long and has blanks");
    assert_eq!(inside(&members[1]), b"CONTENTS");
    assert_eq!(members[2].name, b"none");
    assert_eq!(inside(&members[2]), b"");
    assert_eq!(members.len(), 3);
}

#[test]
fn windows_archives_have_two_indices_and_nul_ended_names() {
    let bytes = archive(&[
        ("/", b"first index"),
        ("/", b"second index"),
        ("//", b"folder\\long_name.obj\0another_long_name.obj\0"),
        ("/<ECSYMBOLS>/", b"more"),
        ("/21", b"another"),
        ("/0", b"first"),
        ("short.obj/", b"short"),
    ]);
    assert_eq!(names(&bytes), ["another_long_name.obj", "folder\\long_name.obj", "short.obj"]);
}

#[test]
fn odd_cases_are_read() {
    assert_eq!(members(b"!<arch>\n").len(), 0);
    assert_eq!(members(b"!<thin>\n").len(), 0);
    let bytes = archive(&[("/SYM64/", b"12345678"), ("empty.o/", b""), ("with blank.o/", b"x"), ("last.o/", b"odd")]);
    assert_eq!(names(&bytes), ["empty.o", "with blank.o", "last.o"]);
    // Some writers leave out the byte that makes the last size even.
    let shorter = &bytes[..bytes.len() - 1];
    assert_eq!(inside(&members(shorter)[2]), b"odd");
}

#[test]
fn damage_is_told_with_the_member_and_the_offset() {
    let good = archive(&[("a.o/", b"1234"), ("b.o/", b"5678")]);
    let long = archive(&[("//", b"a_long_name.o/\n"), ("/0", b"1234")]);
    let patch = |bytes: &[u8], offset: usize, new: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[offset..offset + new.len()].copy_from_slice(new);
        bytes
    };
    for (bytes, message) in [
        (patch(&good, 72 + 48, b"5"), "archive member 'b.o' at offset 0x48: the member needs 5 bytes, 4 are left"),
        (patch(&good, 72 + 48, b"x"), "archive member 'b.o' at offset 0x48: the member's size is 'x', no decimal number"),
        (patch(&good, 72 + 48, b"-1"), "archive member 'b.o' at offset 0x48: the member's size is '-1', no decimal number"),
        (
            patch(&good, 72 + 58, b"xx"),
            "archive member 'b.o' at offset 0x48: a member's header ends with a backquote and a \
             newline, here are [78, 78]",
        ),
        (good[..100].to_vec(), "archive at offset 0x48: a member's header needs 60 bytes, 28 are left"),
        (patch(&long, 84 + 48, b"44"), "archive member 'a_long_name.o' at offset 0x54: the member needs 44 bytes, 4 are left"),
        (patch(&long, 84, b"/99"), "archive member '/99' at offset 0x54: the member's name is at 99 of a table of 15 bytes"),
        (patch(&long, 84, b"/x"), "archive member '/x' at offset 0x54: the member's name offset is 'x', no decimal number"),
        (archive(&[("#1/9", b"1234")]), "archive member '#1/9' at offset 0x8: the member's name needs 9 bytes, 4 are left"),
        (ZSTD.to_vec(), "archive at offset 0x0: this is a fatbin, not an archive"),
    ] {
        let error = Archive::parse(&bytes)
            .and_then(|archive| archive.members().collect::<fatbin::Result<Vec<_>>>())
            .expect_err("an error");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn archives_nest_only_so_deep() {
    let mut bytes = archive(&[("innermost.o/", b"")]);
    for _ in 0..=MAX_DEPTH {
        bytes = archive(&[("inner.a/", &bytes)]);
    }
    let mut archive = Archive::parse(&bytes).expect("an archive");
    let mut depth = 0;
    let error = loop {
        let member = archive.members().next().expect("a member").expect("a good member");
        match archive.parse_nested(&member, inside(&member)) {
            Ok(inner) => archive = inner,
            Err(error) => break error,
        }
        depth += 1;
    };
    assert_eq!(depth, MAX_DEPTH);
    assert_eq!(error.to_string(), "archive member 'inner.a' at offset 0x8: archives are nested more than 8 deep");
}
