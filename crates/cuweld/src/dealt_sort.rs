//! The order in which the reference linker leaves elements that compare equal.
//!
//! It sorts singly linked lists by merging: a list is dealt out into two, each new element before the ones before it, and the
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
    let mut lists = Lists { items: list, next: (1..list.len()).chain([list.len()]).collect(), tie, precedes };
    let mut rest = lists.sort(0);
    let mut sorted = Vec::with_capacity(list.len());
    while let Some(item) = list.get(rest) {
        sorted.push(*item);
        rest = lists.next[rest];
    }
    sorted
}

/// Linked lists of items: a list is the number of its first item, and the number after the last item is the empty list.
struct Lists<'items, T, Precedes> {
    items: &'items [T],
    /// The item after each.
    next: Vec<usize>,
    tie: Tie,
    precedes: &'items Precedes,
}

impl<T, Precedes: Fn(&T, &T) -> bool> Lists<'_, T, Precedes> {
    const fn end(&self) -> usize {
        self.items.len()
    }

    /// Sorts a list. Each step halves it, so this is never deep.
    fn sort(&mut self, list: usize) -> usize {
        if list == self.end() || self.next[list] == self.end() {
            return list;
        }
        let (mut halves, mut rest, mut is_second) = ([self.end(); 2], list, false);
        while rest != self.end() {
            let half = &mut halves[usize::from(is_second)];
            (rest, *half) = (std::mem::replace(&mut self.next[rest], *half), rest);
            is_second = !is_second;
        }
        let (first, second) = (self.sort(halves[0]), self.sort(halves[1]));
        self.merge(first, second)
    }

    fn merge(&mut self, mut first: usize, mut second: usize) -> usize {
        let (mut merged, mut last) = (self.end(), None);
        loop {
            let takes_first = match (self.items.get(first), self.items.get(second)) {
                (Some(a), Some(b)) if self.tie == Tie::First => !(self.precedes)(b, a),
                (Some(a), Some(b)) => (self.precedes)(a, b),
                (a, _) => a.is_some(),
            };
            let from = if takes_first { &mut first } else { &mut second };
            let item = *from;
            *last.map_or(&mut merged, |last: usize| &mut self.next[last]) = item;
            if item == self.items.len() {
                return merged;
            }
            *from = self.next[item];
            last = Some(item);
        }
    }
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
