//! Similar names.

use crate::diagnostics::edit_distance;

/// A function's name without return type, parameters and template arguments, and without namespaces that have no name.
pub fn base(name: &str) -> String {
    let mut depth = 0usize;
    let (mut start, mut end) = (0, name.len());
    for (index, byte) in name.bytes().enumerate() {
        match byte {
            b'(' if depth == 0 && index > 0 && !name[..index].ends_with("operator ") => {
                end = index;
                break;
            }
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && !name[..index].ends_with("operator") => start = index + 1,
            _ => {}
        }
    }
    let base = name.get(start..end).unwrap_or(name).replace("<unnamed>::", "");
    match base.find('<') {
        Some(arguments) if arguments > 0 && base.ends_with('>') => base[..arguments].to_owned(),
        _ => base,
    }
}

/// How many letters have to be changed, added or removed to make one name of the other, if that is few for names this long.
pub fn distance(one: &str, other: &str) -> Option<usize> {
    /// Longer names are not compared: the work grows with the product of the lengths.
    const LONGEST: usize = 200;
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let most = one.len().max(other.len()) / 4;
    if one.len().abs_diff(other.len()) > most || one.len().max(other.len()) > LONGEST {
        return None;
    }
    Some(edit_distance(one, other)).filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::{base, distance};

    #[test]
    fn bases() {
        for (name, expected) in [
            ("f(int)", "f"),
            ("f", "f"),
            ("void ns::f<int>(T1)", "ns::f"),
            ("<unnamed>::f(int *)", "f"),
            ("A<int>::f(int)", "A<int>::f"),
            ("A::operator ()(int)", "A::operator ()"),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }

    #[test]
    fn distances() {
        for (one, other, expected) in [
            ("helper", "helper", Some(0)),
            ("helper", "heper", Some(1)),
            ("compute_sum", "compute_sun", Some(1)),
            ("compute_sum", "compute_sums", Some(1)),
            ("compute_sum", "comptue_sum", Some(2)),
            ("f", "g", None),
            ("", "", Some(0)),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
