//! Which kernels may be launched, by names or patterns, of which there may be as many as kernels.

use crate::options::KernelRoots;
use crate::pattern;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Which kernels may be launched.
pub enum Launched<'options> {
    /// Every one.
    All,
    /// Those that a pattern matches. There may be thousands, so that only those are tried that start as the name does.
    Matching {
        /// Patterns that are names.
        names: HashSet<&'options str>,
        /// The others: what is before their first `*`, in ascending order, and the patterns that start so.
        starts: Vec<Start<'options>>,
        /// Patterns that start with `*`.
        anywhere: Anywhere<'options>,
    },
}

/// Patterns that start alike.
pub struct Start<'options> {
    text: &'options str,
    patterns: Vec<&'options str>,
    /// The longest other start that this one begins with.
    shorter: Option<usize>,
}

impl<'options> Launched<'options> {
    /// Those that match the patterns.
    pub fn of(roots: &'options KernelRoots) -> Self {
        let (KernelRoots::Matching(patterns) | KernelRoots::LaunchedByHost(patterns)) = roots else { return Launched::All };
        let mut names = HashSet::new();
        let mut by_start: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut anywhere = Vec::new();
        for pattern in patterns {
            match pattern.split_once('*') {
                None => _ = names.insert(pattern.as_str()),
                Some(("", _)) => anywhere.push(pattern.as_str()),
                Some((start, _)) => by_start.entry(start).or_default().push(pattern),
            }
        }
        let mut starts: Vec<Start<'_>> = Vec::with_capacity(by_start.len());
        for (text, mut patterns) in by_start {
            patterns.sort_unstable();
            patterns.dedup();
            let shorter = longest_beginning(&starts, starts.len().checked_sub(1), text);
            starts.push(Start { text, patterns, shorter });
        }
        Launched::Matching { names, starts, anywhere: Anywhere::of(anywhere) }
    }

    /// Whether a kernel of this name is one.
    pub fn may_be(&self, name: &str) -> bool {
        let (names, starts, anywhere) = match self {
            Launched::All => return true,
            Launched::Matching { names, starts, anywhere } => (names, starts, anywhere),
        };
        // What a name begins with comes before it in any order of texts.
        let before = starts.partition_point(|start| start.text <= name).checked_sub(1);
        let fitting = std::iter::successors(longest_beginning(starts, before, name), |&at| starts[at].shorter);
        names.contains(name)
            || fitting.into_iter().any(|at| starts[at].patterns.iter().any(|pattern| pattern::matches(pattern, name)))
            || anywhere.has_match(name)
    }
}

/// The longest start that a text begins with, among one and those that it begins with itself.
fn longest_beginning(starts: &[Start<'_>], from: Option<usize>, text: &str) -> Option<usize> {
    std::iter::successors(from, |&at| starts[at].shorter).find(|&at| text.starts_with(starts[at].text))
}

/// Patterns that may begin anywhere in a name, found by their longest parts without `*` (the algorithm of Aho and Corasick): a name is
/// looked through once, however many patterns there are.
#[derive(Default)]
pub struct Anywhere<'options> {
    /// Where a byte leads to from a state. A state is a beginning of some of the parts.
    next: HashMap<(u32, u8), u32>,
    states: Vec<State<'options>>,
}

#[derive(Default)]
struct State<'options> {
    /// The state of the longest beginning that this one ends with.
    shorter: u32,
    /// The next on that way with patterns of its own.
    shorter_with_patterns: Option<u32>,
    /// Patterns whose longest part this is.
    patterns: Vec<&'options str>,
}

impl<'options> Anywhere<'options> {
    fn of(mut patterns: Vec<&'options str>) -> Self {
        patterns.sort_unstable();
        patterns.dedup();
        let mut result = Anywhere { next: HashMap::new(), states: vec![State::default()] };
        // The states in the order of their lengths.
        let mut levels: Vec<Vec<(u32, u8, u32)>> = Vec::new();
        for pattern in patterns {
            let part = pattern.split('*').max_by_key(|part| part.len()).unwrap_or_default();
            let mut state = 0;
            for (depth, byte) in part.bytes().enumerate() {
                let from = state;
                state = *result.next.entry((from, byte)).or_insert_with(|| {
                    let new = result.states.len() as u32;
                    result.states.push(State::default());
                    levels.resize_with(levels.len().max(depth + 1), Vec::new);
                    levels[depth].push((from, byte, new));
                    new
                });
            }
            result.states[state as usize].patterns.push(pattern);
        }
        for (from, byte, state) in levels.into_iter().flatten() {
            let shorter = if from == 0 { 0 } else { result.step(result.states[from as usize].shorter, byte) };
            let known = &result.states[shorter as usize];
            let with_patterns = if known.patterns.is_empty() { known.shorter_with_patterns } else { Some(shorter) };
            result.states[state as usize].shorter = shorter;
            result.states[state as usize].shorter_with_patterns = with_patterns;
        }
        result
    }

    /// Where a byte leads to, from a state or the longest one that it ends with.
    fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            match self.next.get(&(state, byte)) {
                Some(&next) => return next,
                None if state == 0 => return 0,
                None => state = self.states[state as usize].shorter,
            }
        }
    }

    fn has_match(&self, name: &str) -> bool {
        let fits = |state: u32| self.states[state as usize].patterns.iter().any(|pattern| pattern::matches(pattern, name));
        let mut state = 0;
        fits(0)
            || name.bytes().any(|byte| {
                state = self.step(state, byte);
                std::iter::successors(Some(state), |&at| self.states[at as usize].shorter_with_patterns).any(fits)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::Launched;
    use crate::options::KernelRoots;
    use crate::pattern;

    #[test]
    fn of_many_patterns_those_that_fit_are_found() {
        let patterns = ["exact", "a*z", "ab*", "abc*f", "abd*", "b*", "*end", "abc*f", "*bcx*", "*cx*y*", "*q", "*bcxcxz*"];
        let roots = KernelRoots::Matching(patterns.map(str::to_owned).to_vec());
        let launched = Launched::of(&roots);
        for name in [
            "exact", "exactly", "az", "abz", "abcdf", "abcdg", "acf", "abd", "abe", "b", "c", "the end", "", "abc", "cbcxa",
            "bcxcxy", "cxy", "xcy", "bcxcxz", "q", "qr",
        ] {
            let expected = patterns.iter().any(|pattern| pattern::matches(pattern, name));
            assert_eq!(launched.may_be(name), expected, "{name}");
        }
        assert!(Launched::of(&KernelRoots::All).may_be("anything"));
    }
}
