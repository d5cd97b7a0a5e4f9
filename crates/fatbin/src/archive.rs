//! `ar` archives: members one after another, each after a header of sixty characters.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 16 | name, in one of the forms below |
//! | 16 | 32 | time, owner, group, mode: not looked at |
//! | 48 | 10 | size in bytes, decimal |
//! | 58 | 2 | a backquote and a newline |
//!
//! Headers start at even offsets. The format was never written down, and every system has its own way with names:
//!
//! | name field | who | meaning |
//! |---|---|---|
//! | `a.o/` | GNU, Windows | the name `a.o` |
//! | `a.o` | BSD | the name `a.o` |
//! | `/12` | GNU, Windows | the name at offset 12 of the table of long names |
//! | `/12:340` | GNU, thin | in the archive whose path is at 12: the member whose header is at 340 |
//! | `#1/20` | BSD | the name is the first 20 bytes of the contents |
//! | `//` | GNU, Windows | the table of long names |
//! | `/`, `/SYM64/`, `__.SYMDEF`.. | all | an index of symbols; on Windows there are two |
//!
//! A *thin* archive holds no members, only their paths, relative to the folder of the archive.

use std::borrow::Cow;

use crate::error::{Container, Error, Item, Problem, Result};
use crate::identify::identify;
use crate::little_endian::{length, slice};

/// The first bytes of an archive.
pub const MAGIC: &[u8] = b"!<arch>\n";

/// The first bytes of a thin archive.
pub const THIN_MAGIC: &[u8] = b"!<thin>\n";

/// How many archives may be nested in one another. Archives in use nest two deep at most; endless nesting is an attack.
pub const MAX_DEPTH: u8 = 8;

const HEADER_SIZE: u64 = 60;

/// Members that serve the archive itself: indices of symbols, and what only Windows' own linker reads.
const SERVICE_MEMBERS: [&[u8]; 8] = [
    b"/",
    b"/SYM64/",
    b"__.SYMDEF",
    b"__.SYMDEF SORTED",
    b"__.SYMDEF_64",
    b"__.SYMDEF_64 SORTED",
    b"/<ECSYMBOLS>/",
    b"/<XFGHASHMAP>/",
];

/// The index of symbols of GNU archives, by the size of its numbers in bytes: how many there are, then a member's offset for each.
const INDICES: [(&[u8], usize); 2] = [(b"/", 4), (b"/SYM64/", 8)];

/// The longest name of a member, which may be a path. Members can share a long name, so it must not be too long.
const MAX_NAME: usize = 4096;

/// The name field of the table of long names.
const LONG_NAMES: &[u8] = b"//";

/// An archive.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'data> {
    bytes: &'data [u8],
    thin: bool,
    depth: u8,
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member<'data> {
    /// Its name; of a thin archive's member, its path.
    pub name: &'data [u8],
    /// Where its header is in the archive.
    pub offset: u64,
    /// Its contents, or where they are.
    pub contents: Contents<'data>,
}

/// The contents of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents<'data> {
    /// In the archive.
    Inside(&'data [u8]),
    /// In a file of their own, named by the member's path.
    File {
        /// The size that the file had when the archive was made.
        size: u64,
    },
    /// In the archive that the member's path names.
    NestedMember {
        /// Where the member's header is in that archive; see [`Archive::member_at`].
        offset: u64,
        /// The size that the member had when the archive was made.
        size: u64,
    },
}

impl Member<'_> {
    /// Its name as text, for messages.
    #[must_use]
    pub fn display_name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.name)
    }
}

impl<'data> Archive<'data> {
    /// Reads an archive.
    ///
    /// # Errors
    /// When the bytes are no archive.
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        let thin = bytes.starts_with(THIN_MAGIC);
        if !thin && !bytes.starts_with(MAGIC) {
            let problem = Problem::WrongKind { expected: "an archive", found: identify(bytes) };
            return Err(Error::new(Container::Archive, None, 0, problem));
        }
        Ok(Self { bytes, thin, depth: 0 })
    }

    /// Reads the archive that a member of this one is. Of a member that is a file, `bytes` are the file's.
    ///
    /// # Errors
    /// When the member is no archive, or when archives are nested more than [`MAX_DEPTH`] deep.
    pub fn parse_nested<'inner>(&self, member: &Member<'_>, bytes: &'inner [u8]) -> Result<Archive<'inner>> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH {
            let item = Item::Member(member.display_name().into_owned());
            let problem = Problem::TooDeep(MAX_DEPTH);
            return Err(Error::new(Container::Archive, Some(item), member.offset, problem));
        }
        Ok(Archive { depth, ..Archive::parse(bytes)? })
    }

    /// Whether the archive only names its members.
    #[must_use]
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    /// Its members, without those that serve the archive itself. After an error there is no further one.
    #[must_use]
    pub fn members(&self) -> Members<'data> {
        Members { archive: *self, position: length(MAGIC), long_names: &[] }
    }

    /// The member whose header is at `offset`, for references from thin archives.
    ///
    /// # Errors
    /// When no member starts there, or the one that does is damaged.
    pub fn member_at(&self, offset: u64) -> Result<Member<'data>> {
        let mut members = self.members();
        // The table of long names stands before all members that need it: it is known once the first one is read.
        if let Some(first) = members.next() {
            first?;
        }
        members.position = offset;
        match members.next() {
            Some(Ok(member)) if member.offset == offset => Ok(member),
            Some(Err(error)) => Err(error),
            _ => Err(Error::new(Container::Archive, None, offset, Problem::NoMember)),
        }
    }
}

/// The members of an archive.
#[derive(Clone, Debug)]
pub struct Members<'data> {
    archive: Archive<'data>,
    position: u64,
    long_names: &'data [u8],
}

impl<'data> Iterator for Members<'data> {
    type Item = Result<Member<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.position < length(self.archive.bytes) {
            match self.step() {
                Ok(Some(member)) => return Some(Ok(member)),
                Ok(None) => {}
                Err(error) => {
                    self.position = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl<'data> Members<'data> {
    /// Reads the member at the position and moves past it; `None` when it serves the archive itself.
    fn step(&mut self) -> Result<Option<Member<'data>>> {
        let bytes = self.archive.bytes;
        let offset = self.position;
        let header = slice(bytes, offset, HEADER_SIZE).ok_or_else(|| {
            let needed = HEADER_SIZE;
            let available = length(bytes).saturating_sub(offset);
            self.failure(b"", offset, cut("a member's header", needed, available))
        })?;
        let (field, rest) = header.split_at(16);
        let (_, rest) = rest.split_at(32);
        let (size, end) = rest.split_at(10);
        let field = trim(field, b" ");
        if let &[first, second] = end
            && end != b"`\n"
        {
            return Err(self.failure(field, offset, Problem::MemberEnd([first, second])));
        }
        let size = decimal("size", trim(size, b" ")).map_err(|e| self.failure(field, offset, e))?;

        let serves = field == LONG_NAMES || SERVICE_MEMBERS.contains(&field);
        let start = offset + HEADER_SIZE;
        if self.archive.thin && !serves {
            self.position = start;
            return self.outside(field, offset, size).map(Some);
        }
        let data = slice(bytes, start, size).ok_or_else(|| {
            let available = length(bytes).saturating_sub(start);
            self.failure(field, offset, cut("the member", size, available))
        })?;
        // The last member may lack the byte that would make its size even.
        self.position = start + size + size % 2;
        if field == LONG_NAMES {
            self.long_names = data;
        }
        // The second index of a Windows archive is of another form.
        if offset == length(MAGIC)
            && let Some(member) = behind_the_end(field, data, length(bytes))
        {
            return Err(self.failure(b"", offset, Problem::MissingMember { member, size: length(bytes) }));
        }
        if serves {
            return Ok(None);
        }
        let (name, data) = self.inside_name(field, data).map_err(|problem| self.failure(field, offset, problem))?;
        if SERVICE_MEMBERS.contains(&name) {
            return Ok(None);
        }
        Ok(Some(Member { name, offset, contents: Contents::Inside(data) }))
    }

    /// Name and contents of a member whose contents are in the archive.
    fn inside_name(&self, field: &'data [u8], data: &'data [u8]) -> std::result::Result<(&'data [u8], &'data [u8]), Problem> {
        if let Some(digits) = field.strip_prefix(b"#1/") {
            let size = decimal("name size", digits)?;
            let (name, data) = usize::try_from(size)
                .ok()
                .and_then(|size| data.split_at_checked(size))
                .ok_or_else(|| cut("the member's name", size, length(data)))?;
            return Ok((trim(name, b"\0"), data));
        }
        let name = match field.strip_prefix(b"/") {
            Some(digits) => self.long_name(decimal("name offset", digits)?)?,
            None => field.strip_suffix(b"/").unwrap_or(field),
        };
        Ok((name, data))
    }

    /// A member of a thin archive.
    fn outside(&self, field: &'data [u8], offset: u64, size: u64) -> Result<Member<'data>> {
        let error = |problem| self.failure(field, offset, problem);
        let Some(digits) = field.strip_prefix(b"/") else {
            return Ok(Member { name: field.strip_suffix(b"/").unwrap_or(field), offset, contents: Contents::File { size } });
        };
        let mut parts = digits.splitn(2, |&byte| byte == b':');
        let name_offset = parts.next().unwrap_or_default();
        let name_offset = decimal("name offset", name_offset).map_err(error)?;
        let contents = match parts.next() {
            None => Contents::File { size },
            Some(digits) => Contents::NestedMember { offset: decimal("nested offset", digits).map_err(error)?, size },
        };
        Ok(Member { name: self.long_name(name_offset).map_err(error)?, offset, contents })
    }

    /// An error about the member with this name field. Where its name cannot be told, the field itself has to do.
    fn failure(&self, field: &[u8], offset: u64, problem: Problem) -> Error {
        let name = field
            .strip_prefix(b"/")
            .and_then(|digits| digits.split(|&byte| byte == b':').next())
            .and_then(|digits| decimal("name offset", digits).ok())
            .and_then(|name_offset| self.long_name(name_offset).ok())
            .unwrap_or(field.strip_suffix(b"/").unwrap_or(field));
        let item = (!name.is_empty()).then(|| Item::Member(String::from_utf8_lossy(name).into_owned()));
        Error::new(Container::Archive, item, offset, problem)
    }

    /// The name at an offset of the table of long names. GNU ends names with a slash and a newline, Windows with NUL.
    fn long_name(&self, offset: u64) -> std::result::Result<&'data [u8], Problem> {
        let name = usize::try_from(offset)
            .ok()
            .and_then(|start| self.long_names.get(start..))
            .and_then(|rest| rest.split(|&byte| byte == b'\n' || byte == 0).next())
            .filter(|name| !name.is_empty())
            .ok_or(Problem::LongName { offset, size: length(self.long_names) })?;
        if name.len() > MAX_NAME {
            return Err(Problem::NameSize(length(name)));
        }
        Ok(name.strip_suffix(b"/").unwrap_or(name))
    }
}

/// A member that an index of symbols knows, but that is not there. An archive that was cut off between two members looks complete
/// otherwise.
fn behind_the_end(field: &[u8], index: &[u8], end: u64) -> Option<u64> {
    let (_, size) = INDICES.iter().find(|(name, _)| *name == field)?;
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
    let mut numbers = index.chunks_exact(*size).map(number);
    let count = usize::try_from(numbers.next()?).ok().filter(|&count| count <= numbers.len())?;
    numbers.take(count).find(|member| member.saturating_add(HEADER_SIZE) > end)
}

/// Takes the bytes `filler` off the end.
fn trim<'data>(field: &'data [u8], filler: &[u8]) -> &'data [u8] {
    let end = field.iter().rposition(|byte| !filler.contains(byte)).map_or(0, |last| last + 1);
    field.split_at(end).0
}

fn decimal(field: &'static str, digits: &[u8]) -> std::result::Result<u64, Problem> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| is_number)
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Problem::MemberNumber { field, found: String::from_utf8_lossy(digits).into_owned() })
}

fn cut(what: &'static str, needed: u64, available: u64) -> Problem {
    Problem::Cut { what, needed, available }
}
