//! An archive with one member, and an index of what it defines: linkers find the member by it.

/// The archive. Names and contents are the member's and what it defines.
pub(crate) fn archive(member: &str, contents: &[u8], definitions: &[String]) -> Vec<u8> {
    let mut index = (definitions.len() as u32).to_be_bytes().to_vec();
    let names: usize = definitions.iter().map(|name| name.len() + 1).sum();
    let index_size = (4 + 4 * definitions.len() + names).next_multiple_of(2);
    let member_offset = MAGIC.len() + HEADER + index_size;
    for _ in definitions {
        index.extend((member_offset as u32).to_be_bytes());
    }
    for name in definitions {
        index.extend(name.as_bytes());
        index.push(0);
    }
    index.resize(index_size, 0);
    let mut archive = MAGIC.to_vec();
    add(&mut archive, "/", &index);
    add(&mut archive, &format!("{member}/"), contents);
    archive
}

const MAGIC: &[u8] = fatbin::archive::MAGIC;
/// The size of a member's header.
const HEADER: usize = 60;

fn add(archive: &mut Vec<u8>, name: &str, contents: &[u8]) {
    // Time, owner and group are 0, so that the same inputs give the same archive.
    archive.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, contents.len()).into_bytes());
    archive.extend(contents);
    if contents.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin::archive::Contents;

    #[test]
    fn the_member_can_be_read() {
        for contents in [&b"abc"[..], b"abcd"] {
            let bytes = archive("dlink.o", contents, &["f".to_owned(), "gg".to_owned()]);
            let archive = fatbin::Archive::parse(&bytes).expect("an archive");
            let members: Vec<_> = archive.members().collect::<Result<_, _>>().expect("members");
            assert_eq!(members.len(), 1);
            assert_eq!((members[0].name, &members[0].contents), (&b"dlink.o"[..], &Contents::Inside(contents)));
            assert_eq!(bytes[members[0].offset as usize..][..8], *b"dlink.o/");
        }
    }
}
