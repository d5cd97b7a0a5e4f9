//! Lists of facts: what only one file has, and whether the rest is in the same order.

use std::collections::HashMap;

use crate::{Area, Change, Differences};

/// Compares two lists. Their order is compared only when they hold the same.
pub(crate) fn compare(area: Area, place: &str, left: &[String], right: &[String], out: &mut Differences) {
    if left == right {
        return;
    }
    let (only_left, only_right) = (surplus(left, right), surplus(right, left));
    if only_left.is_empty() && only_right.is_empty() {
        order(area, place, left, right, out);
    }
    only_left.into_iter().for_each(|what| out.add(area, place, Change::OnlyLeft(what.clone())));
    only_right.into_iter().for_each(|what| out.add(area, place, Change::OnlyRight(what.clone())));
}

/// Says where two lists of the same things differ in their order.
fn order(area: Area, place: &str, left: &[String], right: &[String], out: &mut Differences) {
    let mut pairs = left.iter().zip(right).enumerate();
    if let Some((index, (left, right))) = pairs.find(|(_, (left, right))| left != right) {
        out.add(area, place, Change::Order { index, left: left.clone(), right: right.clone() });
    }
}

/// What `list` has more often than `other`, in the order of `list`.
fn surplus<'text>(list: &'text [String], other: &[String]) -> Vec<&'text String> {
    let mut left_over: HashMap<&String, usize> = HashMap::new();
    for item in other {
        *left_over.entry(item).or_default() += 1;
    }
    let mut surplus = Vec::new();
    for item in list {
        match left_over.get_mut(item) {
            Some(count) if *count > 0 => *count -= 1,
            _ => surplus.push(item),
        }
    }
    surplus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(left: &[&str], right: &[&str]) -> Vec<String> {
        let owned = |list: &[&str]| list.iter().map(|&item| item.to_owned()).collect::<Vec<_>>();
        let mut out = Differences::default();
        compare(Area::Info, "x", &owned(left), &owned(right), &mut out);
        out.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sets_come_before_order() {
        assert!(differences(&["a", "b"], &["a", "b"]).is_empty());
        assert_eq!(differences(&["a", "b"], &["b", "a"]), ["info x: another order from 0 on: a | b"]);
        let all = ["info x: only left: a", "info x: only left: b", "info x: only right: c"];
        assert_eq!(differences(&["a", "b", "b"], &["c", "b"]), all);
    }
}
