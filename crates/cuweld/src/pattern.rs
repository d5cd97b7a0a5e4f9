//! Patterns of names.

/// Whether a name matches a pattern in which `*` stands for any run of characters.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // Taking the first match of every middle part leaves the most room for the ones after it.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (name, pattern, expected) in [
            ("kernel", "kernel", true),
            ("kernel", "kern", false),
            ("kernel", "*ern*", true),
            ("kernel", "k*l", true),
            ("kernel", "k*e*e*l", true),
            ("kernel", "*", true),
            ("aba", "ab*ba", false),
            ("_Z5kmainPi", "_Z5kmain*", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{name} {pattern}");
        }
    }
}
