//! The edit distance of two names.

/// How many letters must be changed, added or removed to make one text of the other.
pub fn edit_distance<Letter: PartialEq>(one: &[Letter], other: &[Letter]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        for (cell, counterpart) in row.iter_mut().skip(1).zip(other) {
            let changed = diagonal + usize::from(letter != counterpart);
            diagonal = *cell;
            left = changed.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        row[0] = index + 1;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn distances() {
        for (one, other, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("verbos", "verbose", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(edit_distance(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
    }
}
