//! What random programs and links may contain, in classes that can be switched on and off.
//!
//! The default is what ordinary builds do. The other classes are for looking at one area closely.

use std::collections::BTreeSet;

/// A class: its name on the command line, whether it is on by default, and what it adds.
pub struct Class {
    /// Name on the command line.
    pub name: &'static str,
    /// On unless switched off.
    pub default: bool,
    /// What it adds.
    pub what: &'static str,
    /// For options of the linker: the percentage of links that get it, and the words.
    pub option: Option<(usize, &'static str)>,
}

const fn feature(name: &'static str, default: bool, what: &'static str) -> Class {
    Class { name, default, what, option: None }
}

const fn option(name: &'static str, default: bool, percent: usize, words: &'static str) -> Class {
    Class { name, default, what: words, option: Some((percent, words)) }
}

/// Every class.
pub const CLASSES: &[Class] = &[
    feature("weak", true, "several weak copies of functions and kernels, weak next to strong"),
    feature("weak-variables", true, "weak variables in several units"),
    feature("recursion", true, "calls of any function, not only of later ones"),
    feature("indirect", true, "calls through pointers, addresses of functions"),
    feature("launch", false, "addresses of kernels, as device-side launches take them"),
    feature("shared-barriers", false, "barriers in shared memory, from sm_80 on, and tensor copies, from sm_90 on"),
    feature("ask-constant", false, "questions whether a pointer is one to constants"),
    feature("position-independent", false, "units with addresses in a constant bank (-pic)"),
    feature("whole-program", false, "programs of one unit that leaves only library functions to be linked (-ewp)"),
    feature("shared", true, "shared memory at module and function scope"),
    feature("dynamic-shared", true, "dynamic shared memory"),
    feature("constants", true, "literals and jump tables that the assembler puts into constant banks"),
    feature("system", true, "calls of vprintf, malloc, free and __assertfail"),
    feature("common", true, "variables in .common storage"),
    feature("managed", true, "managed variables"),
    feature("alias", false, "second names of functions"),
    feature("bounds", true, "launch bounds of kernels"),
    feature("clusters", false, "sizes of clusters of kernels, from sm_90 on"),
    feature("virtual", true, "units made for an older virtual architecture"),
    feature("older-code", true, "units assembled for an older architecture that the target accepts"),
    feature("cuda-12", false, "units assembled by CUDA 12.9 ($PTXAS_12, which scripts/toolkit sets)"),
    feature("older-release", false, "units assembled by an older release of CUDA 13 ($PTXAS_OLDER)"),
    feature("lines", true, "units with line tables"),
    feature("debug", true, "units with full debug information"),
    feature("textures", false, "texture, sampler and surface references"),
    feature("unified", false, "unified functions and variables, and the index with their places"),
    feature("undefined", true, "functions that nothing defines, called by dead functions"),
    feature("errors", false, "one mistake per program: duplicates, clashes, undefined names, limits"),
    option("verbose", true, 30, "-v"),
    option("stack-warning", true, 10, "-suppress-stack-size-warning"),
    option("no-warnings", true, 5, "-w"),
    option("report-arch", true, 5, "-report-arch"),
    option("disable-infos", true, 3, "-disable-infos"),
    option("extrawarn", true, 3, "-extrawarn"),
    option("werror", false, 20, "-Werror"),
    option("debug-link", false, 40, "-g"),
    option("suppress-debug-info", false, 20, "-g -suppress-debug-info"),
    option("callgraph", false, 60, "-dump-callgraph"),
    option("callgraph-mangled", false, 60, "-dump-callgraph-no-demangle"),
    option("kernels-used", false, 50, "-kernels-used=k0"),
    option("variables-used", false, 20, "-variables-used=g0"),
    option("roots", false, 50, "-u=f0"),
    option("force-rela", false, 50, "-force-rela"),
    option("null-pointer", false, 50, "-reserve-null-pointer"),
    option("no-reservation", false, 50, "-disable-smem-reservation"),
    option("preserve-relocs", false, 50, "-preserve-relocs"),
    option("relocatable", false, 60, "-r"),
];

/// The classes that are on.
#[derive(Clone, Debug)]
pub struct Classes(BTreeSet<&'static str>);

impl Default for Classes {
    fn default() -> Self {
        Self(CLASSES.iter().filter(|class| class.default).map(|class| class.name).collect())
    }
}

impl Classes {
    /// Switches classes on or off by their names, `all` for every one.
    pub fn switch(&mut self, names: &str, on: bool) -> Result<(), String> {
        for name in names.split(',').filter(|name| !name.is_empty()) {
            let mut known = false;
            for class in CLASSES.iter().filter(|class| name == "all" || class.name == name) {
                known = true;
                if on {
                    self.0.insert(class.name);
                } else {
                    self.0.remove(class.name);
                }
            }
            if !known {
                let all: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
                return Err(format!("unknown class '{name}'; the classes are {}", all.join(", ")));
            }
        }
        Ok(())
    }

    /// Whether a class is on.
    pub fn has(&self, name: &str) -> bool {
        debug_assert!(CLASSES.iter().any(|class| class.name == name), "{name} is a class");
        self.0.contains(name)
    }

    /// The words on the command line that give these classes.
    pub fn arguments(&self) -> String {
        let differing = |on: bool| -> Vec<&str> {
            CLASSES.iter().filter(|class| class.default != on && self.has(class.name) == on).map(|class| class.name).collect()
        };
        let mut words = String::new();
        for (flag, on) in [(" --with ", true), (" --without ", false)] {
            let names = differing(on);
            if !names.is_empty() {
                words += flag;
                words += &names.join(",");
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Classes};

    #[test]
    fn names_are_unique() {
        for (index, class) in CLASSES.iter().enumerate() {
            assert!(CLASSES[index + 1..].iter().all(|other| other.name != class.name), "{}", class.name);
        }
    }

    #[test]
    fn the_words_give_the_same_classes_back() {
        let mut classes = Classes::default();
        classes.switch("textures,errors", true).expect("known");
        classes.switch("weak", false).expect("known");
        assert_eq!(classes.arguments(), " --with textures,errors --without weak");
        assert!(classes.switch("weka", true).is_err());
    }
}
