//! PTX as it is put into fatbins: without comments and superfluous blanks.

/// The version of the language that a text says it is written in: major and minor.
pub(super) fn version(text: &[u8]) -> Option<(u16, u16)> {
    let text = String::from_utf8_lossy(&without_comments(text)).into_owned();
    let number = text.trim_start().strip_prefix(".version")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The text without comments, with the first of several blanks, none at the start of a line, and a NUL at the end.
pub(super) fn shortened(text: &[u8]) -> Vec<u8> {
    let text = without_comments(text.split(|&byte| byte == 0).next().unwrap_or_default());
    let mut short = Vec::with_capacity(text.len() + 1);
    let mut in_string = false;
    for byte in text {
        let is_blank = matches!(byte, b' ' | b'\t') && !in_string;
        in_string ^= byte == b'"';
        if !(is_blank && matches!(short.last(), None | Some(b'\n' | b' ' | b'\t'))) {
            short.push(byte);
        }
    }
    short.push(0);
    short
}

fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut left = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some((&byte, behind)) = rest.split_first() {
        let find = |end: &[u8]| rest.windows(end.len()).skip(2).position(|window| window == end).map(|place| place + 2);
        if !in_string && rest.starts_with(b"//") {
            rest = rest.split_at(find(b"\n").unwrap_or(rest.len())).1;
        } else if !in_string && rest.starts_with(b"/*") {
            rest = rest.split_at(find(b"*/").map_or(rest.len(), |end| end + 2)).1;
        } else {
            in_string ^= byte == b'"';
            left.push(byte);
            rest = behind;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_get_shorter() {
        for (long, short) in [
            (".version 9.0\n", ".version 9.0\n\0"),
            ("//\n// a\n\n.version  9.0 // b\n", "\n\n\n.version 9.0 \n\0"),
            ("\t mov \t x; /* a\n b */ y\n", "mov x; y\n\0"),
            ("\t.loc\t1 2\t 0\n", ".loc\t1 2\t0\n\0"),
            (".file 1 \"a  b//c\"\n", ".file 1 \"a  b//c\"\n\0"),
        ] {
            assert_eq!(String::from_utf8_lossy(&shortened(long.as_bytes())), short, "{long:?}");
        }
    }

    #[test]
    fn the_version_is_behind_comments() {
        assert_eq!(version(b"// c\n.version 9.1\n.target sm_90"), Some((9, 1)));
        assert_eq!(version(b".target sm_90"), None);
    }
}
