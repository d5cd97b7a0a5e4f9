//! The report: plain values, written as JSON with a version.
//!
//! `docs/report.md` describes every field for readers of the JSON. Whoever changes the meaning of one or removes one raises
//! [`VERSION`]; new fields that older readers can pass over do not.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the field `schema` says.
pub const SCHEMA: &str = "cuweld-report";

/// The version of the schema.
pub const VERSION: u32 = 1;

/// A report on one or more files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// The program that made the report.
    pub tool: String,
    /// The files, in the order in which they were given.
    pub files: Vec<File>,
    /// What is in them, by architecture, in ascending order.
    pub architectures: Vec<Architecture>,
}

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct File {
    /// Its name as it was given.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// How much of it is device code with its containers: the sum of `stored` over its images and other entries, and of `container`.
    pub device: u64,
    /// Headers of fatbins and padding between them.
    pub container: u64,
    /// Device code that is no machine code: PTX, LTO-IR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherEntry>,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Entries of fatbins that are no machine code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OtherEntry {
    /// What they are.
    pub kind: String,
    /// What they were compiled for.
    pub architecture: String,
    /// How many there are.
    pub count: u64,
    /// Bytes in the file, headers included.
    pub stored: u64,
}

/// Everything for one architecture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Architecture {
    /// Its name: `sm_90`.
    pub name: String,
    /// What a multiprocessor of it holds, where that is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<crate::occupancy::Limits>,
    /// The sizes of blocks, in threads, that [`Function::warps`] speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_sizes: Vec<u32>,
    /// The cubins.
    pub images: Vec<Image>,
    /// Kernels and functions, in the order of the images. Other fields name them by their index here.
    pub functions: Vec<Function>,
    /// Prototypes of calls through pointers: the functions that such a call may reach, by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prototypes: Vec<Vec<u32>>,
    /// Variables, in the order of the images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// Functions with the same code, the largest waste first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    /// What only the link knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// What a link took and left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Link {
    /// The objects, in the order in which they were linked.
    pub inputs: Vec<Input>,
    /// What is not in the result, in that order.
    pub removed: Vec<Removed>,
}

/// An object that was linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Input {
    /// Its name, with the archive's before it.
    pub name: String,
    /// Bytes of its code that are in the result.
    pub kept: u64,
    /// Bytes of its code that are not.
    pub removed: u64,
}

/// A function that is not in the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Removed {
    /// Its name in the symbol table.
    pub name: Arc<str>,
    /// Its name in the source.
    pub demangled: Arc<str>,
    /// The object that it is in, by index.
    pub input: u32,
    /// Bytes of its code.
    pub bytes: u64,
    /// Why it is not in the result.
    pub reason: String,
}

/// One cubin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Image {
    /// The file it is in, by index.
    pub file: u32,
    /// The archive member it is in, with nested ones after slashes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// The name that the compiler gave it, by custom that of a source file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it is still to be linked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub relocatable: bool,
    /// The toolkit that made it: 130 for CUDA 13.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<u32>,
    /// Bytes in the file, packed and with the entry's header.
    pub stored: u64,
    /// Bytes once it is unpacked.
    pub bytes: u64,
    /// What these are.
    pub parts: Parts,
}

/// What the bytes of a cubin are. The sum is the size of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parts {
    /// Machine code.
    pub code: u64,
    /// Constant banks.
    pub constants: u64,
    /// Variables with a value.
    pub data: u64,
    /// Debug information, call frames and lines included.
    pub debug: u64,
    /// The code that later GPUs of the family are finalized from.
    pub mercury: u64,
    /// Symbols and names.
    pub symbols: u64,
    /// Relocations.
    pub relocations: u64,
    /// The attributes of functions, and the call graph.
    pub attributes: u64,
    /// Headers, notes and padding.
    pub other: u64,
}

impl Parts {
    /// Names and sizes, in the order in which they are shown.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("code", self.code),
            ("constants", self.constants),
            ("data", self.data),
            ("debug", self.debug),
            ("mercury", self.mercury),
            ("symbols", self.symbols),
            ("relocations", self.relocations),
            ("attributes", self.attributes),
            ("other", self.other),
        ]
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Adds what another cubin has.
    pub fn add(&mut self, other: &Parts) {
        self.code += other.code;
        self.constants += other.constants;
        self.data += other.data;
        self.debug += other.debug;
        self.mercury += other.mercury;
        self.symbols += other.symbols;
        self.relocations += other.relocations;
        self.attributes += other.attributes;
        self.other += other.other;
    }
}

/// What a function is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// An entry function.
    Kernel,
    /// A function that others call.
    #[default]
    Function,
    /// A function that is called and not defined here: the driver provides it, or another object.
    External,
}

/// A kernel or another function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Function {
    /// Its name in the symbol table.
    pub name: Arc<str>,
    /// Its name in the source.
    pub demangled: Arc<str>,
    /// The latter without return type, parameters and template arguments.
    pub template: Arc<str>,
    /// The template arguments.
    #[serde(default, skip_serializing_if = "str_is_empty")]
    pub arguments: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// The cubin it is in, by index.
    pub image: u32,
    /// The object that it came from, by its index among the inputs of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// Bytes of machine code.
    pub code: u64,
    /// Registers per thread; of a linked kernel, with everything it calls.
    pub registers: u32,
    /// Registers that its own code needs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_registers: Option<u32>,
    /// The call path to the function that needs as many registers: this one first, that one last. Empty if it is this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registers_path: Vec<u32>,
    /// Bytes of stack that its own code needs.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub frame: u32,
    /// Bytes of stack per thread, with everything it calls. Absent: not known, see `cycle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
    /// The call path whose frames add up to the stack: this function first. Empty if nothing that it calls needs any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_path: Vec<u32>,
    /// Why the stack is not known: a call path to a recursion, whose last function calls one before it. Of this path and of those above,
    /// [as many functions](crate::blame::LONGEST) as a path has at most are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<u32>,
    /// Named barriers per block.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub barriers: u32,
    /// Bytes of static shared memory per block.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: u64,
    /// Bytes of constant banks of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constants>,
    /// Bytes of parameters.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub parameters: u32,
    /// Slots of textures, surfaces and samplers.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub textures: u32,
    /// Most threads of a block, if the source limits them (`__launch_bounds__`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<[u32; 3]>,
    /// Threads of a block, if the source fixes them (`__block_size__`, `.reqntid`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster, if the source fixes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// The most registers that the compiler was allowed, if that was limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_registers: Option<u32>,
    /// The functions that it calls by name, by index, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<u32>,
    /// The prototypes that it calls through pointers, by index, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indirect_calls: Vec<u32>,
    /// Warps that a multiprocessor holds, for each of the architecture's `block_sizes`; 0 where no such block can run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warps: Vec<u32>,
    /// A number that is the same for functions whose code and relocations are the same; hexadecimal.
    #[serde(default, skip_serializing_if = "is_zero", with = "hexadecimal")]
    pub fingerprint: u64,
    /// Why it stays, as far as a link knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A part of a constant bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constants {
    /// The bank's number.
    pub bank: u8,
    /// Bytes.
    pub bytes: u64,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Memory {
    /// Global memory.
    Global,
    /// Global memory that host code sees, too.
    Managed,
    /// A constant bank.
    Constant,
    /// Shared memory.
    Shared,
    /// Local memory.
    Local,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// Its name in the symbol table.
    pub name: Arc<str>,
    /// Its name in the source.
    pub demangled: Arc<str>,
    /// Where it is.
    pub memory: Memory,
    /// Its size; 0 for dynamic shared memory.
    pub bytes: u64,
    /// The cubin it is in, by index.
    pub image: u32,
    /// The kernel or function that it belongs to, by index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u32>,
}

/// Functions with the same code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Duplicate {
    /// Bytes of each.
    pub bytes: u64,
    /// Bytes of all but one.
    pub waste: u64,
    /// Which, by index.
    pub functions: Vec<u32>,
}

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAReport {
    /// It is not such JSON.
    #[error("not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of a schema or a version that is not known.
    #[error("a report of schema '{schema}' version {version}; this program reads {SCHEMA} version {VERSION}")]
    Version {
        /// The schema it names.
        schema: String,
        /// The version it names.
        version: u32,
    },
    /// It names a function or a cubin that it does not have.
    #[error("a report that names what it does not have")]
    Index,
}

/// What is read first, so that a report of another version is told as such.
#[derive(Deserialize)]
struct Heading {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    version: u32,
}

impl Report {
    /// Reads a report from its JSON.
    ///
    /// # Errors
    /// When it is no report, or one of another version.
    pub fn from_json(text: &[u8]) -> Result<Self, NotAReport> {
        let Heading { schema, version } = serde_json::from_slice(text)?;
        if schema != SCHEMA || version != VERSION {
            return Err(NotAReport::Version { schema, version });
        }
        let report: Self = serde_json::from_slice(text)?;
        if report.architectures.iter().all(Architecture::is_sound) { Ok(report) } else { Err(NotAReport::Index) }
    }

    /// The architecture of a name.
    #[must_use]
    pub fn architecture(&self, name: &str) -> Option<&Architecture> {
        self.architectures.iter().find(|architecture| architecture.name == name)
    }
}

impl Architecture {
    /// Its kernels with their indices.
    pub fn kernels(&self) -> impl Iterator<Item = (u32, &Function)> {
        (0..).zip(&self.functions).filter(|(_, function)| function.kind == Kind::Kernel)
    }

    /// The function of an index.
    #[must_use]
    pub fn function(&self, index: u32) -> Option<&Function> {
        self.functions.get(index as usize)
    }

    /// What all cubins together are.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        self.images.iter().for_each(|image| parts.add(&image.parts));
        parts
    }

    /// Bytes in the files.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.images.iter().map(|image| image.stored).sum()
    }

    /// Bytes that are there once more than needed.
    #[must_use]
    pub fn waste(&self) -> u64 {
        self.duplicates.iter().map(|duplicate| duplicate.waste).sum()
    }

    /// Whether every index is one of something.
    fn is_sound(&self) -> bool {
        let is_function = |index: &u32| (*index as usize) < self.functions.len();
        let is_image = |index: u32| (index as usize) < self.images.len();
        let lists = |function: &Function| {
            let Function { registers_path, stack_path, cycle, calls, indirect_calls, .. } = function;
            [registers_path, stack_path, cycle, calls].into_iter().flatten().all(is_function)
                && indirect_calls.iter().all(|&index| (index as usize) < self.prototypes.len())
        };
        self.functions.iter().all(|function| is_image(function.image) && lists(function))
            && self.variables.iter().all(|variable| is_image(variable.image) && variable.owner.as_ref().is_none_or(is_function))
            && self.prototypes.iter().flatten().all(is_function)
            && self.duplicates.iter().flat_map(|duplicate| &duplicate.functions).all(is_function)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_zero_u32(value: &u32) -> bool {
    *value == 0
}

fn str_is_empty(value: &Arc<str>) -> bool {
    value.is_empty()
}

/// Numbers of 64 bits as text, because many readers of JSON have 53.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        u64::from_str_radix(&String::deserialize(deserializer)?, 16).map_err(D::Error::custom)
    }
}
