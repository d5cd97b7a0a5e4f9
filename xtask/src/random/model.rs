//! The model of a random program: what a link consists of, before it is written as PTX.
//!
//! The model is plain data, and every reference to a name carries what its declaration needs (the signature of
//! a function, the shape of a variable). So any part can be taken away and the rest still assembles: a name
//! that a unit mentions and does not define is simply declared `.extern`. The minimiser depends on that.

use std::collections::BTreeSet;

/// A whole link: several units and the options of the linker.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The architecture that is linked for, such as `sm_90`.
    pub target: &'static str,
    /// The units, in command-line order.
    pub units: Vec<Unit>,
    /// Options of the linker besides `-arch` and `-o`.
    pub options: Vec<String>,
    /// The index of unified functions and variables, if the linker gets one.
    pub index: Option<Index>,
}

/// What the index of unified functions and variables is like; what it lists follows from the units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index {
    /// What the order of the places is made from.
    pub seed: u64,
    /// What is wrong with it.
    pub mistake: Option<IndexMistake>,
}

/// A mistake in an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IndexMistake {
    /// The table of functions is said to be larger than it is.
    Window,
    /// It lists something that no unit has.
    Unknown,
    /// It lists something twice.
    Twice,
    /// A byte is missing at its end.
    Cut,
    /// The linker does not get it.
    Missing,
}

/// An assembler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assembler {
    /// That of the release.
    #[default]
    Own,
    /// That of CUDA 12.9.
    Cuda12,
    /// That of an older release of CUDA 13.
    OlderRelease,
}

/// One translation unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// Name of the file without extension.
    pub name: String,
    /// The `.target` of the PTX, which may be older than the architecture that it is assembled for.
    pub virtual_arch: &'static str,
    /// The architecture that it is assembled for: the target, or one that the target accepts.
    pub real_arch: &'static str,
    /// Who assembles it.
    pub assembler: Assembler,
    /// How it is assembled.
    pub kind: UnitKind,
    /// Line tables or full debug information.
    pub debug: DebugInfo,
    /// Whether textures and samplers are separate (`texmode_independent`).
    pub independent_samplers: bool,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Functions and kernels.
    pub functions: Vec<Function>,
    /// Further names of functions of this unit.
    pub aliases: Vec<Alias>,
    /// The functions and variables of this unit that are unified.
    pub unified: BTreeSet<String>,
}

/// How a unit is assembled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum UnitKind {
    /// To be linked with others.
    #[default]
    Relocatable,
    /// The same, with the addresses that it needs in a constant bank.
    PositionIndependent,
    /// To be linked with the device runtime library alone.
    WholeProgram,
}

/// How much debug information a unit carries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Line tables (`ptxas -lineinfo`).
    Lines,
    /// Everything (`ptxas -g`).
    Full,
}

/// Who sees a definition, and whether another one may replace it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linkage {
    /// Every unit; only one definition may exist.
    Strong,
    /// Every unit; the linker chooses among the definitions.
    Weak,
    /// This unit only.
    Local,
    /// Variables only: storage that all units with this name share (`.common`).
    Common,
}

/// A function or a kernel with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Who sees it.
    pub linkage: Linkage,
    /// Kernel or device function.
    pub role: Role,
    /// What it does, in order.
    pub body: Vec<Action>,
}

/// Kernel or device function.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// A kernel: bytes of parameters after the first pointer, and launch bounds.
    Kernel {
        /// Bytes of the second parameter; no second parameter when 0.
        extra_bytes: usize,
        /// Directives such as `.maxntid 64, 1, 1`.
        bounds: Vec<&'static str>,
    },
    /// A function with this signature.
    Device(Signature),
}

/// The signatures of device functions. Each gives one prototype string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signature {
    /// Nothing in, nothing out.
    Nothing,
    /// A word in, a word out.
    Word,
    /// Two words in, a word out.
    TwoWords,
    /// A 64-bit value in and out.
    Long,
    /// A double in and out.
    Double,
    /// A word in, nothing out.
    Taker,
}

/// The type of one parameter or result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// 32 bits.
    Word,
    /// 64 bits.
    Long,
    /// A double.
    Double,
}

impl Signature {
    /// Every signature.
    pub const ALL: [Self; 6] = [Self::Nothing, Self::Word, Self::TwoWords, Self::Long, Self::Double, Self::Taker];

    /// The types of the parameters.
    pub fn parameters(self) -> &'static [Scalar] {
        match self {
            Self::Nothing => &[],
            Self::Word | Self::Taker => &[Scalar::Word],
            Self::TwoWords => &[Scalar::Word, Scalar::Word],
            Self::Long => &[Scalar::Long],
            Self::Double => &[Scalar::Double],
        }
    }

    /// The type of the result.
    pub fn result(self) -> Option<Scalar> {
        match self {
            Self::Nothing | Self::Taker => None,
            Self::Word | Self::TwoWords => Some(Scalar::Word),
            Self::Long => Some(Scalar::Long),
            Self::Double => Some(Scalar::Double),
        }
    }
}

/// A mention of a device function, with what an `.extern` declaration needs.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRef {
    /// Its name.
    pub name: String,
    /// Its signature.
    pub signature: Signature,
}

/// A second name of a function that this unit defines (`.alias`).
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The new name.
    pub name: String,
    /// The function it stands for.
    pub of: FunctionRef,
}

/// The memory of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// `.global`.
    Global,
    /// `.const`.
    Const,
    /// `.shared`.
    Shared,
}

/// What a declaration of a variable says.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes.
    pub align: usize,
    /// Size in bytes; 0 for dynamic shared memory.
    pub size: usize,
    /// `.attribute(.managed)`.
    pub managed: bool,
}

/// A variable that a unit defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Who sees it.
    pub linkage: Linkage,
    /// What its declaration says.
    pub shape: Shape,
    /// Its first value.
    pub initial: Initial,
}

/// The first value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// None: zero or undefined.
    None,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Addresses.
    Pointers(Vec<Pointer>),
}

/// One address in an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum Pointer {
    /// The address of a function.
    Function(FunctionRef),
    /// The address of a variable, `generic()` or as it is, with an offset.
    Variable {
        /// The variable.
        variable: VariableRef,
        /// Whether `generic()` is written around it.
        generic: bool,
        /// Bytes added to it.
        offset: usize,
    },
    /// A null pointer.
    Null,
}

/// A mention of a variable, with what an `.extern` declaration needs.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableRef {
    /// Its name.
    pub name: String,
    /// What the declaration says.
    pub shape: Shape,
}

/// A function that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemCall {
    /// `vprintf`, with a format string of this unit.
    Print,
    /// `malloc`.
    Allocate,
    /// `free`.
    Release,
    /// `__assertfail`.
    Assert,
}

/// One thing that a body does. Each is written as a block of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Calls a function.
    Call(FunctionRef),
    /// Calls whatever function of this signature a pointer in memory names.
    CallPointer(Signature),
    /// Calls one of a list of known functions through a pointer (`.calltargets`).
    CallOneOf(Vec<FunctionRef>),
    /// Stores the address of a function.
    TakeAddress(FunctionRef),
    /// Stores the address of a kernel that this unit defines.
    TakeKernelAddress(String),
    /// Reads or writes a byte of a variable.
    Touch(VariableRef, usize),
    /// Stores the generic address of a variable.
    PointTo(VariableRef, usize),
    /// Declares and writes a shared variable inside the function.
    OwnShared {
        /// Its alignment.
        align: usize,
        /// Its size.
        size: usize,
    },
    /// Declares and writes a local array of this size, which makes a stack frame.
    OwnStack(usize),
    /// Initialises a barrier in shared memory (mbarrier), once or in a loop.
    SharedBarrier {
        /// Whether it is done in a loop, so that the compiler can not count.
        looped: bool,
    },
    /// Copies to shared memory by a tensor map.
    TensorCopy,
    /// Tells a pointer to constants from others.
    AskConstant,
    /// Waits at a barrier.
    Barrier(usize),
    /// Waits at a barrier whose number is computed.
    AnyBarrier,
    /// Keeps this many values alive at once.
    Registers(usize),
    /// Uses doubles that the assembler puts into its constant bank, made from this number.
    Doubles(u64),
    /// Jumps through a table of this many labels.
    JumpTable(usize),
    /// Calls a function of the driver.
    System(SystemCall),
    /// Reads a texture; with a sampler of its own in units that keep the two apart.
    ReadTexture {
        /// The texture reference.
        texture: String,
        /// The sampler reference.
        sampler: Option<String>,
    },
    /// Reads a surface.
    ReadSurface(String),
}

impl Program {
    /// Every definition of a function as (unit, function) indices.
    pub fn functions(&self) -> impl Iterator<Item = (usize, usize)> {
        let sizes: Vec<usize> = self.units.iter().map(|unit| unit.functions.len()).collect();
        sizes.into_iter().enumerate().flat_map(|(unit, count)| (0..count).map(move |index| (unit, index)))
    }
}

impl Action {
    /// The names that this action mentions.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Call(function) | Self::TakeAddress(function) => vec![&function.name],
            Self::CallOneOf(functions) => functions.iter().map(|function| function.name.as_str()).collect(),
            Self::TakeKernelAddress(name) | Self::ReadSurface(name) => vec![name],
            Self::ReadTexture { texture, sampler } => std::iter::once(texture.as_str()).chain(sampler.as_deref()).collect(),
            Self::Touch(variable, _) | Self::PointTo(variable, _) => vec![&variable.name],
            _ => Vec::new(),
        }
    }
}

impl Pointer {
    /// The name that this pointer mentions.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Function(function) => Some(&function.name),
            Self::Variable { variable, .. } => Some(&variable.name),
            Self::Null => None,
        }
    }
}
