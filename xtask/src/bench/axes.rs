//! What is measured: along each axis one thing grows, and everything else grows no faster.

use super::ptx;

/// One thing that grows.
pub struct Axis {
    /// How it is called on the command line and in file names.
    pub name: &'static str,
    /// How it is called in a heading.
    pub title: &'static str,
    /// What the sizes count.
    pub counts: &'static str,
    /// What the programs are like.
    pub programs: &'static str,
    /// What the code is for.
    pub architecture: &'static str,
    /// How it is given to the linker.
    pub given: Given,
    /// How many there are of it.
    pub sizes: &'static [usize],
    /// The units of a program of some size.
    pub units: fn(usize) -> Vec<Copies>,
}

/// How code is given to the linker.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Given {
    /// As cubins.
    Cubins,
    /// In host objects, packed as compilers do, for these architectures; with the device runtime library beside them, as compilers do.
    HostObjects(&'static [&'static str]),
    /// The same, in one archive.
    Archive(&'static [&'static str]),
}

/// A unit, and how often it is there.
pub struct Copies {
    /// The unit.
    pub ptx: String,
    /// How many of it, each with names of its own.
    pub count: usize,
    /// How many bytes its table is enlarged to; 0 for one without a table.
    pub table: usize,
}

const DECADES: &[usize] = &[10, 100, 1_000, 10_000, 100_000];
const MEGABYTES: &[usize] = &[1, 10, 100, 1_000];
const OBJECTS: &[usize] = &[2, 10, 50, 500];
/// With each level, the number of call paths doubles.
const LEVELS: &[usize] = &[10, 15, 20, 25, 30, 35, 40];

/// Every axis.
pub const AXES: &[Axis] = &[
    Axis {
        name: "files",
        title: "Input files",
        counts: "files",
        programs: "Half of the files hold a kernel, half the functions that they call, one in each.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: DECADES,
        units: files,
    },
    Axis {
        name: "functions",
        title: "Functions",
        counts: "functions",
        programs: "Up to 1,000 functions in a file: a kernel and the tree of those it calls.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: DECADES,
        units: functions,
    },
    Axis {
        name: "functions-sm_120",
        title: "Functions, for sm_120",
        counts: "functions",
        programs: "The same for sm_120, where the reference generates the machine code anew.",
        architecture: "sm_120",
        given: Given::Cubins,
        sizes: DECADES,
        units: functions,
    },
    Axis {
        name: "symbols",
        title: "Symbols",
        counts: "variables",
        programs: "Up to 1,000 variables in a file.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: DECADES,
        units: symbols,
    },
    Axis {
        name: "relocations",
        title: "Relocations",
        counts: "pointers",
        programs: "Tables of up to 1,000 pointers, half of them to the next file.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: DECADES,
        units: relocations,
    },
    Axis {
        name: "calls",
        title: "Call edges",
        counts: "calls",
        programs: "Up to 25 kernels in a file, each of which calls the up to 40 functions of the next file.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: DECADES,
        units: calls,
    },
    Axis {
        name: "call-paths",
        title: "Shared call paths",
        counts: "levels",
        programs: "Levels of two functions; each calls both of the next level, so that the number of paths doubles with each level.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: LEVELS,
        units: call_paths,
    },
    Axis {
        name: "bytes",
        title: "Bytes",
        counts: "MB",
        programs: "Tables of up to 100 MB, one in a file.",
        architecture: "sm_90",
        given: Given::Cubins,
        sizes: MEGABYTES,
        units: tables,
    },
    Axis {
        name: "host-objects",
        title: "Host objects",
        counts: "objects",
        programs: "What nvcc runs: host objects with packed code, and `-lcudadevrt`. Three kernels and three functions in each.",
        architecture: "sm_90",
        given: Given::HostObjects(&["sm_90"]),
        sizes: OBJECTS,
        units: host_objects,
    },
    Axis {
        name: "six-architectures",
        title: "Host objects for six GPUs",
        counts: "objects",
        programs: "The same with code for six GPUs in each object, of which one is linked for.",
        architecture: "sm_90",
        given: Given::HostObjects(SIX),
        sizes: OBJECTS,
        units: host_objects,
    },
    Axis {
        name: "archive",
        title: "An archive of host objects",
        counts: "members",
        programs: "The same with the objects in an archive.",
        architecture: "sm_90",
        given: Given::Archive(&["sm_90"]),
        sizes: OBJECTS,
        units: host_objects,
    },
];

/// GPUs that a program is compiled for.
const SIX: &[&str] = &["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];

/// More than this of one thing is spread over several files.
const MOST_IN_A_FILE: usize = 1_000;

/// Spreads a number of things over files that are all alike.
fn spread(size: usize, unit: fn(usize) -> String) -> Vec<Copies> {
    let in_each = size.min(MOST_IN_A_FILE);
    vec![Copies { ptx: unit(in_each), count: size / in_each, table: 0 }]
}

fn files(size: usize) -> Vec<Copies> {
    let count = size / 2;
    [ptx::calling_kernel(), ptx::called_function()].map(|ptx| Copies { ptx, count, table: 0 }).into()
}

fn functions(size: usize) -> Vec<Copies> {
    spread(size, ptx::tree)
}

fn symbols(size: usize) -> Vec<Copies> {
    spread(size, ptx::variables)
}

fn relocations(size: usize) -> Vec<Copies> {
    spread(size, ptx::pointers)
}

fn calls(size: usize) -> Vec<Copies> {
    spread(size, |calls| {
        // As many kernels as divide the calls evenly, with a few more functions than kernels.
        let kernels = match calls {
            10 => 2,
            100 => 5,
            _ => 25,
        };
        ptx::calls(kernels, calls / kernels)
    })
}

fn tables(size: usize) -> Vec<Copies> {
    let in_each = size.min(100);
    vec![Copies { ptx: ptx::variables(1), count: size / in_each, table: in_each * 1_000_000 }]
}

fn host_objects(size: usize) -> Vec<Copies> {
    vec![Copies { ptx: ptx::calls(3, 3), count: size, table: 0 }]
}

fn call_paths(size: usize) -> Vec<Copies> {
    vec![Copies { ptx: ptx::ladder(size), count: 1, table: 0 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A size says what is in the program, whatever it is spread over.
    #[test]
    fn programs_have_the_size_they_claim() {
        let words: &[(&str, &str)] =
            &[("functions", "ret;"), ("symbols", "= "), ("relocations", "_variable,"), ("calls", "call "), ("files", ".version")];
        for (name, word) in words {
            let Some(axis) = AXES.iter().find(|axis| axis.name == *name) else { panic!("no axis {name}") };
            for &size in axis.sizes.iter().filter(|&&size| size <= 10_000) {
                let found: usize = (axis.units)(size).iter().map(|unit| unit.ptx.matches(word).count() * unit.count).sum();
                // The last pointer of a table has no comma.
                let commas = if *name == "relocations" { size.div_ceil(MOST_IN_A_FILE) } else { 0 };
                assert_eq!(found + commas, size, "{name}");
            }
        }
    }
}
