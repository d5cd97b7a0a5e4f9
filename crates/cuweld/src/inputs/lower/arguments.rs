//! The arguments of the compilers.

use super::super::HostReferences;
use cubin::target::{Target, Variant};

/// How code is compiled during a link.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The architecture to compile for.
    pub target: &'static Target,
    /// Compile for debugging (`-g`).
    pub debug: bool,
    /// The most registers that code may use (`-maxrregcount`).
    pub max_registers: Option<i32>,
    /// Further arguments of the assembler (`-Xptxas`).
    pub assembler: Vec<String>,
    /// Protect the stack (`-device-stack-protector`).
    pub stack_protector: bool,
    /// Threads (`-split-compile`).
    pub split_compile: Option<i32>,
    /// How much optimization to give up for speed (`-Ofc`).
    pub fast_compile: Option<&'static str>,
    /// What messages call the object that link-time optimization makes.
    pub optimized_name: &'static str,
    /// Link-time optimization, if it was asked for.
    pub optimization: Option<LinkTimeOptimization>,
    /// Say how long each compilation took.
    pub report_durations: bool,
    /// Say of undefined names which units need them, and which inputs define them elsewhere; of a whole program, instead of leaving it to
    /// the assembler.
    pub explain_undefined: bool,
}

/// How link-time optimization is done.
#[derive(Clone, Debug)]
pub struct LinkTimeOptimization {
    /// How much of the program it sees.
    pub scope: Scope,
    /// The virtual architecture that PTX is made for, if not for the target.
    pub architecture: Option<String>,
    /// PTX is all that is wanted.
    pub emit_ptx: bool,
    /// Further arguments of the optimizer (`-Xnvvm`).
    pub optimizer: Vec<String>,
    /// Options of the library that holds the optimizer, as it takes them.
    pub library: Vec<String>,
    /// Parts of kernels' names; if any, other kernels are removed.
    pub kernels_used: Vec<String>,
    /// Parts of variables' names.
    pub variables_used: Vec<String>,
    /// Whether what host code refers to tells what is used.
    pub use_host_references: bool,
}

impl LinkTimeOptimization {
    /// Optimizes as much of the program as can be seen.
    #[must_use]
    pub fn new() -> Self {
        LinkTimeOptimization {
            scope: Scope::Automatic,
            architecture: None,
            emit_ptx: false,
            optimizer: Vec::new(),
            library: Vec::new(),
            kernels_used: Vec::new(),
            variables_used: Vec::new(),
            use_host_references: false,
        }
    }
}

impl Default for LinkTimeOptimization {
    fn default() -> Self {
        Self::new()
    }
}

/// How much of the program link-time optimization sees.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scope {
    /// All of it, if all of it can be seen.
    Automatic,
    /// A part: the rest is linked to it.
    Partial,
    /// All of it.
    Whole,
}

/// A name that nothing has.
///
/// The optimizer makes a pattern of a list by putting a `*` before it and one after, and takes it apart only then. With such
/// names at both ends, those between them mean what they say.
const NOTHING: &str = "__cuweld_no_such_name";

/// Options of the assembler, without dashes, that a compiler records in an object and that an input may ask for: they change the code,
/// and name no file. A few take a value, which may be a word of its own.
#[rustfmt::skip] // a list of words
const RECORDED: &[&str] = &[
    "Ofast-compile", "Ofc", "allow-expensive-optimizations", "compile-as-tools-patch", "astoolspatch", "compile-only", "c",
    "def-load-cache", "dlcm", "def-store-cache", "dscm", "device-debug", "g", "device-function-maxrregcount",
    "func-maxrregcount", "device-stack-protector", "disable-optimizer-constants", "disable-optimizer-consts",
    "disable-warnings", "w", "dont-merge-basicblocks", "no-bb-merge", "enable-func-clone-sc", "entry", "e",
    "extensible-whole-program", "ewp", "fmad", "force-load-cache", "flcm", "force-store-cache", "fscm",
    "g-tensor-memory-access-check", "g-tmem-access-check", "generate-line-info", "lineinfo", "gno-tensor-memory-access-check",
    "gno-tmem-access-check", "gpu-name", "arch", "legacy-bar-warp-wide-behavior", "machine", "m", "m64",
    "make-errors-visible-at-exit", "maxntid", "maxrregcount", "minnctapersm", "opt-level", "O", "O0", "O1", "O2", "O3",
    "optimize-float-atomics", "opt-fp-atomics", "override-directive-values", "position-independent-code", "pic",
    "preserve-relocs", "register-usage-level", "regUsageLevel", "return-at-end", "ret-end", "sanitize", "sp-bounds-check",
    "split-compile", "suppress-async-bulk-multicast-advisory-warning", "suppress-debug-info", "suppress-double-demote-warning",
    "suppress-sparse-mma-advisory-info", "suppress-stack-size-warning", "verbose", "v", "warn-on-double-precision-use",
    "warn-double-usage", "warn-on-local-memory-usage", "warn-lmem-usage", "warn-on-spills", "warn-spills", "warning-as-error",
    "Werror",
];

/// The first word of what a unit was compiled with that the assembler must not get from an input.
pub(super) fn word_that_is_not_an_inputs_to_give(recorded: &str) -> Option<&str> {
    recorded.split_whitespace().find(|word| match word.strip_prefix('-') {
        Some(option) => {
            let option = option.trim_start_matches('-').split('=').next().unwrap_or_default();
            !RECORDED.contains(&option) || word.contains(['/', '\\'])
        }
        // A value.
        None => !word.chars().all(|character| character.is_ascii_alphanumeric() || "_-.,".contains(character)),
    })
}

impl CompileOptions {
    /// Compiles for `target`, without link-time optimization.
    #[must_use]
    pub fn new(target: &'static Target) -> Self {
        CompileOptions {
            target,
            debug: false,
            max_registers: None,
            assembler: Vec::new(),
            stack_protector: false,
            split_compile: None,
            fast_compile: None,
            optimized_name: super::OPTIMIZED_NAME,
            optimization: None,
            report_durations: false,
            explain_undefined: false,
        }
    }

    /// The arguments of the assembler. Of contradicting ones the last counts: what the unit was compiled with comes first.
    pub(super) fn assembler_arguments(&self, recorded: &str, relocatable: bool) -> Vec<String> {
        let mut arguments: Vec<String> = recorded.split_whitespace().map(str::to_owned).collect();
        arguments.extend(self.assembler.iter().cloned());
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([name.to_owned(), value]);
            }
        };
        add("-maxrregcount", self.max_registers.map(|count| count.to_string()));
        add("-device-stack-protector", self.stack_protector.then(|| "true".to_owned()));
        add("-split-compile", self.split_compile.map(|threads| threads.to_string()));
        add("-Ofc", self.fast_compile.filter(|_| self.optimization.is_some()).map(str::to_owned));
        // The assembler makes code for the plain GPU also where a link may be for its whole family.
        let number = self.target.number;
        let name = match self.target.variant {
            Variant::Family => format!("sm_{number}"),
            Variant::Plain | Variant::Accelerated => self.target.name.to_owned(),
        };
        arguments.extend([format!("-arch={name}"), "-m64".to_owned()]);
        arguments.extend(self.debug.then(|| "-g".to_owned()));
        arguments.extend(relocatable.then(|| "-c".to_owned()));
        arguments
    }

    /// The arguments of the optimizer.
    pub(super) fn optimizer_arguments(
        &self,
        optimization: &LinkTimeOptimization,
        whole: bool,
        references: &HostReferences,
    ) -> Vec<String> {
        let architecture = optimization.architecture.as_deref().unwrap_or(self.target.name);
        let mut arguments = vec!["-lto".to_owned(), "-ptx".to_owned(), format!("-arch={architecture}")];
        arguments.extend(self.debug.then(|| "-g".to_owned()));
        arguments.extend(self.fast_compile.map(|level| format!("-Ofc={level}")));
        arguments.extend(optimization.optimizer.iter().map(|option| format!("-Xnvvm={option}")));
        arguments.extend(optimization.library.iter().cloned());
        if !whole {
            // Everything may be used by the rest of the program; the link removes what is not.
            arguments.push("-Xnvvm=--force-device-c".to_owned());
            return arguments;
        }
        let (kernels, variables) = (&optimization.kernels_used, &optimization.variables_used);
        if !kernels.is_empty() || !variables.is_empty() {
            arguments.extend(kernels.iter().map(|name| format!("-kernels-used={name}")));
            arguments.extend(variables.iter().map(|name| format!("-variables-used={name}")));
            arguments.extend(variables.is_empty().then(|| "-optimize-unused-variables".to_owned()));
        } else if optimization.use_host_references && references.are_known() {
            let list = |names: &[String]| {
                let all: Vec<&str> = [NOTHING].into_iter().chain(names.iter().map(String::as_str)).chain([NOTHING]).collect();
                all.join(",")
            };
            arguments.push(format!("-kernels-used={}", list(references.kernels())));
            arguments.push(format!("-variables-used={}", list(references.variables())));
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::word_that_is_not_an_inputs_to_give;

    #[test]
    fn inputs_give_the_assembler_only_options_that_are_known() {
        for harmless in ["", "-maxrregcount 32 -O3 --generate-line-info", "-arch=sm_90 -m64", "-v", "--maxrregcount=32 -dlcm ca"]
        {
            assert_eq!(word_that_is_not_an_inputs_to_give(harmless), None, "{harmless}");
        }
        for (options, word) in [
            ("-O3 -o x", "-o"),
            ("--output-file=x", "--output-file=x"),
            ("-optf x", "-optf"),
            ("@x", "@x"),
            ("-v ../x", "../x"),
            ("-arch=/x", "-arch=/x"),
            ("--some-day=on", "--some-day=on"),
        ] {
            assert_eq!(word_that_is_not_an_inputs_to_give(options), Some(word), "{options}");
        }
    }
}
