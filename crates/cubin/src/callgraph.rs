//! `.nv.callgraph` and `.nv.prototype`: the calls that the compiler recorded.
//!
//! Both are arrays of pairs of 32-bit words. The call graph has four groups, each opened by a pair of 0 and the group's
//! negative number; inside a group the first word is a symbol. Every group's mark is there, even when the group is
//! empty (files of CUDA 11 lack the last group). A prototype is a string in the string table, such as `#ili`.

use crate::error::{Error, Problem, Result};

/// Size of an entry of either section.
pub const ENTRY_SIZE: usize = 8;

/// One fact of a call graph. Numbers are symbol indices and, for prototypes, offsets in the string table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// A function calls another by name.
    Call {
        /// Who calls.
        caller: u32,
        /// Who is called.
        callee: u32,
    },
    /// The address of a function is taken somewhere, so that indirect calls may reach it.
    AddressTaken {
        /// The function.
        function: u32,
        /// Its prototype.
        prototype: u32,
    },
    /// A function makes an indirect call.
    IndirectCall {
        /// Who calls.
        caller: u32,
        /// The prototype of whatever is called.
        prototype: u32,
    },
    /// A function refers to the address of another, directly or through a variable.
    References {
        /// Who refers.
        caller: u32,
        /// Whose address it is.
        function: u32,
    },
}

/// The groups of a call graph, in the order in which a file has them.
pub const GROUPS: [i32; 4] = [-1, -2, -3, -4];

impl Edge {
    /// The group that the edge belongs to: -1 to -4.
    #[must_use]
    pub fn group(&self) -> i32 {
        match self {
            Self::Call { .. } => -1,
            Self::AddressTaken { .. } => -2,
            Self::IndirectCall { .. } => -3,
            Self::References { .. } => -4,
        }
    }

    /// The two words of the entry.
    #[must_use]
    pub fn words(&self) -> (u32, u32) {
        match *self {
            Self::Call { caller, callee } => (caller, callee),
            Self::AddressTaken { function, prototype } => (function, prototype),
            Self::IndirectCall { caller, prototype } => (caller, prototype),
            Self::References { caller, function } => (caller, function),
        }
    }

    /// The edge of a group that has these words.
    #[must_use]
    pub fn in_group(group: i32, first: u32, second: u32) -> Option<Self> {
        Some(match group {
            -1 => Self::Call { caller: first, callee: second },
            -2 => Self::AddressTaken { function: first, prototype: second },
            -3 => Self::IndirectCall { caller: first, prototype: second },
            -4 => Self::References { caller: first, function: second },
            _ => return None,
        })
    }
}

/// The edges of a call graph, in order. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Edges<'data> {
    data: &'data [u8],
    position: usize,
    group: i32,
}

/// Reads the contents of `.nv.callgraph`. Errors count offsets from the start of `data`.
#[must_use]
pub fn edges(data: &[u8]) -> Edges<'_> {
    Edges { data, position: 0, group: 0 }
}

impl Iterator for Edges<'_> {
    type Item = Result<Edge>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.position;
            let rest = self.data.get(at..).filter(|rest| !rest.is_empty())?;
            let Some((first, second)) = pair(rest) else {
                self.position = self.data.len();
                return Some(Err(cut(at, rest)));
            };
            self.position += ENTRY_SIZE;
            let group = second.cast_signed();
            // The null symbol makes no calls: this is a mark. One of a group that is not known fails below.
            if first == 0 && group < 0 {
                self.group = group;
                if GROUPS.contains(&group) {
                    continue;
                }
            }
            return Some(Edge::in_group(self.group, first, second).ok_or_else(|| {
                self.position = self.data.len();
                Error::at(at as u64, Problem::CallGraphGroup(first, group))
            }));
        }
    }
}

impl std::iter::FusedIterator for Edges<'_> {}

/// Appends a call graph: every group's mark, and the edges of that group in the order given.
pub fn encode_edges(edges: &[Edge], out: &mut Vec<u8>) {
    out.reserve((edges.len() + GROUPS.len()) * ENTRY_SIZE);
    for group in GROUPS {
        encode_pair(0, group.cast_unsigned(), out);
        for edge in edges.iter().filter(|edge| edge.group() == group) {
            let (first, second) = edge.words();
            encode_pair(first, second, out);
        }
    }
}

/// The prototypes of functions: pairs of a symbol index and a string table offset.
#[derive(Clone, Debug)]
pub struct Prototypes<'data> {
    data: &'data [u8],
    position: usize,
}

/// Reads the contents of `.nv.prototype`. Errors count offsets from the start of `data`.
#[must_use]
pub fn prototypes(data: &[u8]) -> Prototypes<'_> {
    Prototypes { data, position: 0 }
}

impl Iterator for Prototypes<'_> {
    type Item = Result<(u32, u32)>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.position;
        let rest = self.data.get(at..).filter(|rest| !rest.is_empty())?;
        let entry = pair(rest);
        self.position = if entry.is_some() { at + ENTRY_SIZE } else { self.data.len() };
        Some(entry.ok_or_else(|| cut(at, rest)))
    }
}

impl std::iter::FusedIterator for Prototypes<'_> {}

/// Appends the contents of `.nv.prototype`.
pub fn encode_prototypes(prototypes: &[(u32, u32)], out: &mut Vec<u8>) {
    out.reserve(prototypes.len() * ENTRY_SIZE);
    for &(symbol, prototype) in prototypes {
        encode_pair(symbol, prototype, out);
    }
}

fn pair(bytes: &[u8]) -> Option<(u32, u32)> {
    let &[a, b, c, d, e, f, g, h] = bytes.first_chunk()?;
    Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
}

fn encode_pair(first: u32, second: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&second.to_le_bytes());
}

fn cut(at: usize, rest: &[u8]) -> Error {
    let problem = Problem::CutRecord { what: "entry", needed: ENTRY_SIZE as u64, available: rest.len() as u64 };
    Error::at(at as u64, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_round_trip_through_all_groups() {
        let all = [
            Edge::Call { caller: 7, callee: 8 },
            Edge::AddressTaken { function: 8, prototype: 1 },
            Edge::IndirectCall { caller: 7, prototype: 1 },
            Edge::References { caller: 7, function: 8 },
        ];
        let mut data = Vec::new();
        encode_edges(&all, &mut data);
        assert_eq!(data.len(), 64);
        assert_eq!(edges(&data).collect::<Result<Vec<_>>>(), Ok(all.to_vec()));
        for edge in all {
            let (first, second) = edge.words();
            assert_eq!(Edge::in_group(edge.group(), first, second), Some(edge));
        }
    }

    #[test]
    fn an_entry_needs_a_group_and_all_its_bytes() {
        let mut data = Vec::new();
        encode_pair(3, 4, &mut data);
        assert!(edges(&data).next().is_some_and(|edge| edge.is_err()));
        encode_edges(&[], &mut data);
        data.push(0);
        assert!(edges(&data[8..]).next().is_some_and(|edge| edge.is_err()));
        assert!(prototypes(&data[..9]).last().is_some_and(|entry| entry.is_err()));
    }

    #[test]
    fn prototypes_round_trip() {
        let mut data = Vec::new();
        encode_prototypes(&[(1, 2), (3, 4)], &mut data);
        assert_eq!(prototypes(&data).collect::<Result<Vec<_>>>(), Ok(vec![(1, 2), (3, 4)]));
    }
}
