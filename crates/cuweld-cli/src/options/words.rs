//! How one text becomes several words: comma-separated lists, the reference's options files, `@` response files.
//!
//! The reference's two kinds of quoting are its own. In a list, `"` keeps commas together and vanishes, blanks around an
//! item vanish, empty items vanish, and a backslash means nothing, except that a quotation is not closed by `\"`. In an
//! options file a backslash takes away the meaning of the next character, and then vanishes; what vanishes after that
//! are blanks at the ends of a word, and every `"` that does not follow a backslash, whether or not it quoted anything.
//! Single quotes mean nothing in either. There are no comments.

/// A quotation that is never closed, or a backslash with nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// `"` without its partner.
    Quote,
    /// `\` as the last character.
    Backslash,
}

/// The items of a comma-separated list.
pub(super) fn list(text: &[u8]) -> Result<Vec<Vec<u8>>, Stray> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    let mut quoted = false;
    let mut previous = 0;
    for &byte in text {
        match byte {
            b'"' if !quoted => quoted = true,
            b'"' if previous != b'\\' => quoted = false,
            b',' if !quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(byte),
        }
        previous = byte;
    }
    if quoted {
        return Err(Stray::Quote);
    }
    items.push(item);
    Ok(items.iter().map(|item| trimmed(item)).filter(|item| !item.is_empty()).map(<[u8]>::to_vec).collect())
}

/// The words of an options file. What follows a NUL is not read.
pub(super) fn options_file(text: &[u8]) -> Result<Vec<Vec<u8>>, Stray> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quoted = false;
    let mut bytes = text.iter().copied().take_while(|&byte| byte != 0);
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let escaped = bytes.next().ok_or(Stray::Backslash)?;
                word.get_or_insert_default().push(escaped);
            }
            b' ' | b'\t' | b'\r' | b'\n' if !quoted => words.extend(word.take()),
            _ => {
                quoted ^= byte == b'"';
                word.get_or_insert_default().push(byte);
            }
        }
    }
    if quoted {
        return Err(Stray::Quote);
    }
    words.extend(word);
    // Blanks at the ends are taken away although they were escaped, unless they stand between quotes.
    let words = words.iter().map(|word| trimmed(word)).filter(|word| !word.is_empty());
    Ok(words.map(without_quotes).collect())
}

/// The words of an options file on Windows, where a backslash separates folders: it is a character like others, except that it keeps a
/// quotation mark after it from ending what is quoted. Both stay.
pub(super) fn windows_options_file(text: &[u8]) -> Result<Vec<Vec<u8>>, Stray> {
    let mut words = Vec::new();
    let mut word = Vec::new();
    let mut quoted = false;
    let mut previous = 0;
    for byte in text.iter().copied().take_while(|&byte| byte != 0).chain([b' ']) {
        match byte {
            b'"' if !(quoted && previous == b'\\') => quoted = !quoted,
            b' ' | b'\t' | b'\r' | b'\n' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
        previous = byte;
    }
    if quoted {
        return Err(Stray::Quote);
    }
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// A text without the blanks at its ends.
fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

fn without_quotes(word: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(word.len());
    let mut previous = 0;
    for &byte in word {
        if byte != b'"' || previous == b'\\' {
            kept.push(byte);
        }
        previous = byte;
    }
    kept
}

/// The words of a response file, quoted as in a shell: blanks separate, single and double quotes keep together, a
/// backslash takes the next character as it is, but not between single quotes. What is left open is closed by the end
/// of the file.
pub(super) fn response_file(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => word.get_or_insert_default().extend(bytes.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == byte => quote = None,
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: Vec<Vec<u8>>) -> String {
        let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        words.join("|")
    }

    #[test]
    #[rustfmt::skip] // rows of a table
    fn lists() {
        for (text, expected) in [
            ("x,y", "x|y"), ("x,,y", "x|y"), (",x,", "x"), ("", ""), (",", ""), (" x , y ", "x|y"), ("x  y", "x  y"),
            (r#""x,y""#, "x,y"), (r#"x"y,z"w,v"#, "xy,zw|v"), (r#""""#, ""), (r#"x,"","y""z""#, "x|yz"),
            (r#"" x ",y"#, "x|y"), (r#"x " y" z"#, "x  y z"), (r"x\,y", r"x\|y"), ("'x,y'", "'x|y'"),
            ("\tx\t,\n", "x|\n"), (r#""x\"y",z"#, r#"x\"y|z"#), (r#""\"""#, r#"\""#), (r#"x\\"y,z""#, r"x\\y,z"), ("f<a, b>", "f<a|b>"),
        ] {
            assert_eq!(list(text.as_bytes()).map(shown), Ok(expected.to_owned()), "{text}");
        }
        for text in [r#"""#, r#""x,y"#, r#"x\"y,z"#, r#"\"x,y\""#, r#""x\\",y"#] {
            assert_eq!(list(text.as_bytes()), Err(Stray::Quote), "{text}");
        }
    }

    #[test]
    #[rustfmt::skip] // rows of a table
    fn options_files() {
        for (text, expected) in [
            ("a b\r\n\tc\n\n", "a|b|c"), ("", ""), (r#""x y""#, "x y"), (r#"x"y z"w"#, "xy zw"), (r#"a "" b"#, "a||b"),
            (r#""x\"y""#, "xy"), (r#"x\"y z\"w"#, "xy|zw"), (r"x\ y", "x y"), (r"x\\y", r"x\y"), (r"x\y", "xy"),
            ("x\\\ny", "x\ny"), ("'x y'", "'x|y'"), (r#""a\\" b"#, r#"a\"|b"#), (r#""a\\\"b""#, r#"a\"b"#),
            (r#"\\"a b""#, r#"\"a b"#), ("# a", "#|a"), ("a\u{b}b", "a\u{b}b"), ("a\0b c", "a"), (r#""x\" y""#, "x y"),
            (r#"\ x y\ "#, "x|y"), (r#"" x " \ "#, " x "), ("\\\nx", "\nx"),
        ] {
            assert_eq!(options_file(text.as_bytes()).map(shown), Ok(expected.to_owned()), "{text}");
        }
        for text in [r#""x"#, r#"x""#, r#""\\x y\\"z""#] {
            assert_eq!(options_file(text.as_bytes()), Err(Stray::Quote), "{text}");
        }
        assert_eq!(options_file(br"x\"), Err(Stray::Backslash));
    }

    #[test]
    #[rustfmt::skip] // rows of a table
    fn options_files_on_windows() {
        for (text, expected) in [
            ("a b\r\n\tc\n\n", "a|b|c"), ("", ""), (r#""x y""#, "x y"), (r#"x"y z"w"#, "xy zw"), (r#"a "" b"#, "a|b"),
            (r#"/LIBPATH:"bar baz" foo.lib"#, "/LIBPATH:bar baz|foo.lib"), (r"C:\d\x.obj", r"C:\d\x.obj"), (r"x\", r"x\"),
            (r#""x\"y""#, r#"x\"y"#), (r#"x\"y z""#, r"x\y z"), ("'x y'", "'x|y'"), ("# %X%", "#|%X%"), (r#"\"" b"#, r"\|b"),
        ] {
            assert_eq!(windows_options_file(text.as_bytes()).map(shown), Ok(expected.to_owned()), "{text}");
        }
        for text in [r#""dir\""#, r#""dir\\""#, r#"""#] {
            assert_eq!(windows_options_file(text.as_bytes()), Err(Stray::Quote), "{text}");
        }
    }

    #[test]
    #[rustfmt::skip] // rows of a table
    fn response_files() {
        for (text, expected) in [
            ("a b\n c", "a|b|c"), ("'x y' \"z w\"", "x y|z w"), (r#"'a"b' "c'd""#, r#"a"b|c'd"#), (r"x\ y \\", r"x y|\"), (r"'x\y'", r"x\y"),
            ("''", ""), ("a '' b", "a||b"), ("'open", "open"), (r"x\", "x"),
        ] {
            assert_eq!(shown(response_file(text.as_bytes())), expected, "{text}");
        }
    }
}
