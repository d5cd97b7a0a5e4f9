//! The order in which the reference linker places things that compare equal.
//!
//! It sorts singly linked lists by merging: a list is dealt out into two, each new element in front of the ones before it, and the
//! sorted halves are merged. That is no stable sort, and addresses depend on it, so it is done the same way here.

/// Which half gives first when both heads compare equal.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Tie {
    /// The half with the first, third, ... element.
    First,
    /// The half with the second, fourth, ... element.
    Second,
}

/// Sorts by `precedes`, a strict order.
pub fn dealt_merge_sort<T: Copy>(list: &[T], tie: Tie, precedes: &impl Fn(&T, &T) -> bool) -> Vec<T> {
    if list.len() < 2 {
        return list.to_vec();
    }
    let deal = |from: usize| {
        let mut half: Vec<T> = list.iter().skip(from).step_by(2).copied().collect();
        half.reverse();
        dealt_merge_sort(&half, tie, precedes)
    };
    let (first, second) = (deal(0), deal(1));
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    let mut merged = Vec::with_capacity(list.len());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let take_first = match tie {
            Tie::First => !precedes(b, a),
            Tie::Second => precedes(a, b),
        };
        merged.extend(if take_first { first.next() } else { second.next() });
    }
    merged.extend(first);
    merged.extend(second);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orders of equal elements that the reference linker was seen to produce.
    #[test]
    fn equal_elements() {
        let never = |_: &u32, _: &u32| false;
        assert_eq!(dealt_merge_sort(&[1, 2, 3, 4, 5], Tie::First, &never), [1, 5, 3, 4, 2]);
        assert_eq!(dealt_merge_sort(&[1, 2, 3, 4, 5], Tie::Second, &never), [2, 4, 3, 5, 1]);
        assert_eq!(dealt_merge_sort(&[1, 2, 3], Tie::First, &never), [3, 1, 2]);
        assert_eq!(dealt_merge_sort(&[1, 2, 3, 4], Tie::First, &never), [3, 1, 4, 2]);
        assert_eq!(dealt_merge_sort(&[1, 2, 3, 4, 5, 6, 7, 8, 9], Tie::First, &never), [9, 1, 5, 3, 7, 4, 8, 2, 6]);
    }

    #[test]
    fn order_comes_first() {
        let less = |a: &u32, b: &u32| a < b;
        assert_eq!(dealt_merge_sort(&[5, 3, 9, 1, 7], Tie::First, &less), [1, 3, 5, 7, 9]);
        assert_eq!(dealt_merge_sort(&[5, 3, 9, 1, 7], Tie::Second, &less), [1, 3, 5, 7, 9]);
    }
}
