//! Call graphs made by hand, and random ones.

use super::*;

/// A graph of functions with their registers and frames, and who calls whom.
fn graph(own: &[(u32, u64)], calls: &[(u32, u32)]) -> CallGraph {
    let mut graph = CallGraph {
        own: own.iter().map(|&(registers, frame)| Own { registers, frame }).collect(),
        calls: vec![Vec::new(); own.len()],
    };
    calls.iter().for_each(|&(caller, callee)| graph.calls[caller as usize].push(callee));
    graph
}

#[test]
fn registers_are_blamed_on_the_function_that_needs_them() {
    // A kernel calls area, which calls ext1 and ext2.
    let graph = graph(&[(10, 0), (12, 8), (24, 0), (16, 32)], &[(0, 1), (1, 2), (1, 3)]);
    let blame = Blame::of(&graph);
    assert_eq!(blame.registers(0), (24, vec![0, 1, 2]));
    assert_eq!(blame.stack(0), Stack::Known { bytes: 40, path: vec![0, 1, 3] });
    assert_eq!(blame.registers(3), (16, vec![3]));
    assert_eq!(blame.stack(2), Stack::Known { bytes: 0, path: vec![2] });
}

#[test]
fn a_function_that_needs_as_many_itself_is_to_blame_itself() {
    let graph = graph(&[(24, 16), (24, 0)], &[(0, 1)]);
    let blame = Blame::of(&graph);
    assert_eq!(blame.registers(0), (24, vec![0]));
    assert_eq!(blame.stack(0), Stack::Known { bytes: 16, path: vec![0] });
}

#[test]
fn recursion_is_shown_from_the_kernel_to_the_call_back() {
    // 0 -> 1 -> 2 -> 3 -> 1, and 3 needs most.
    let graph = graph(&[(8, 0), (10, 8), (12, 8), (40, 8)], &[(0, 1), (1, 2), (2, 3), (3, 1)]);
    let blame = Blame::of(&graph);
    assert_eq!(blame.registers(0), (40, vec![0, 1, 2, 3]));
    assert_eq!(blame.stack(0), Stack::Unknown { path: vec![0, 1, 2, 3] });
    assert_eq!(blame.registers(2), (40, vec![2, 3]));
    // Itself: a function that calls itself is its own cycle.
    let alone = super::tests::graph(&[(8, 0)], &[(0, 0)]);
    assert_eq!(Blame::of(&alone).stack(0), Stack::Unknown { path: vec![0] });
}

#[test]
fn paths_go_through_recursions() {
    // 0 -> {1 <-> 2} -> 3, which needs most, called from 2.
    let graph = graph(&[(8, 0), (8, 0), (8, 0), (99, 64)], &[(0, 1), (1, 2), (2, 1), (2, 3)]);
    assert_eq!(Blame::of(&graph).registers(0), (99, vec![0, 1, 2, 3]));
}

#[test]
fn very_many_paths_and_very_long_ones_take_little_time() {
    // A ladder with two ways at each rung: more paths than can be counted.
    let rungs = 20_000u32;
    let mut calls = Vec::new();
    for rung in 0..rungs {
        let (from, left, right, to) = (3 * rung, 3 * rung + 1, 3 * rung + 2, 3 * rung + 3);
        calls.extend([(from, left), (from, right), (left, to), (right, to)]);
    }
    let mut own = vec![(8, 8); 3 * rungs as usize + 1];
    own[3 * rungs as usize].0 = 200;
    let graph = graph(&own, &calls);
    let blame = Blame::of(&graph);
    // Every function of it is asked for: the paths are cut before their ends.
    for function in 0..3 * rungs {
        let (registers, path) = blame.registers(function);
        assert_eq!((registers, path[0], path.last()), (200, function, Some(&(3 * rungs))));
        assert!(path.len() <= LONGEST);
    }
    let Stack::Known { bytes, path } = blame.stack(0) else { panic!("there is no recursion") };
    assert_eq!((bytes, path.len()), (8 * (2 * u64::from(rungs) + 1), LONGEST));
    assert_eq!(path[..3], [0, 1, 3]);
}

#[test]
fn a_long_recursion_that_is_entered_anywhere_takes_little_time() {
    let count = 50_000;
    let calls: Vec<(u32, u32)> = (0..count).flat_map(|node| [(node, (node + 1) % count), (count + node, node)]).collect();
    let graph = graph(&vec![(8, 8); 2 * count as usize], &calls);
    let blame = Blame::of(&graph);
    for function in 0..2 * count {
        let Stack::Unknown { path } = blame.stack(function) else { panic!("there is a recursion") };
        assert!(path[0] == function && path.len() == LONGEST);
    }
}

/// Random graphs against a search that tries everything.
#[test]
fn random_graphs_are_explained_by_paths_whose_numbers_add_up() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..2_000 {
        let count = 1 + random(9) as u32;
        let own: Vec<(u32, u64)> = (0..count).map(|_| (random(6) as u32, 8 * random(4))).collect();
        let calls: Vec<(u32, u32)> =
            (0..random(16)).map(|_| (random(u64::from(count)) as u32, random(u64::from(count)) as u32)).collect();
        let graph = graph(&own, &calls);
        let blame = Blame::of(&graph);
        for function in 0..count {
            check(&graph, &blame, function);
        }
    }
}

fn check(graph: &CallGraph, blame: &Blame<'_>, function: u32) {
    let reached = reachable(graph, function);
    let is_path = |path: &[u32]| {
        path.first() == Some(&function) && path.windows(2).all(|pair| graph.calls[pair[0] as usize].contains(&pair[1]))
    };
    let (registers, path) = blame.registers(function);
    assert!(is_path(&path), "{graph:?} {path:?}");
    assert_eq!(Some(registers), reached.iter().map(|&node| graph.own[node as usize].registers).max());
    assert_eq!(path.last().map(|&last| graph.own[last as usize].registers), Some(registers));
    let is_recursive =
        reached.iter().any(|&node| graph.calls[node as usize].iter().any(|&next| reachable(graph, next).contains(&node)));
    match blame.stack(function) {
        Stack::Known { bytes, path } => {
            assert!(is_path(&path) && !is_recursive, "{graph:?} {path:?}");
            assert_eq!(bytes, path.iter().map(|&node| graph.own[node as usize].frame).sum::<u64>());
            assert_eq!(bytes, deepest(graph, function));
        }
        Stack::Unknown { path } => {
            assert!(is_path(&path) && is_recursive, "{graph:?} {path:?}");
            let last = path.last().map_or(&[][..], |&last| &graph.calls[last as usize]);
            assert!(last.iter().any(|next| path.contains(next)), "{graph:?} {path:?} ends without a call back");
        }
    }
}

fn reachable(graph: &CallGraph, from: u32) -> Vec<u32> {
    let mut seen = vec![from];
    let mut position = 0;
    while let Some(&node) = seen.get(position) {
        for &next in &graph.calls[node as usize] {
            if !seen.contains(&next) {
                seen.push(next);
            }
        }
        position += 1;
    }
    seen
}

fn deepest(graph: &CallGraph, node: u32) -> u64 {
    let below = graph.calls[node as usize].iter().map(|&next| deepest(graph, next)).max().unwrap_or(0);
    graph.own[node as usize].frame + below
}
