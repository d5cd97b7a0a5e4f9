//! The table of messages: one row per message, with its code, its severity, the reference linker's wording and a
//! paragraph for `--explain`.

use super::Severity;
use serde_json::json;
use std::fmt;

/// The four families of problems, which never mix.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// The program was called wrongly.
    Usage,
    /// The machine does not have what the link needs.
    Environment,
    /// The inputs are damaged, unsuitable, or do not fit together.
    Input,
    /// The linker itself is at fault.
    Internal,
}

/// A message's stable code, such as `CW3001`.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct MessageCode(pub u16);

impl fmt::Display for MessageCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CW{:04}", self.0)
    }
}

impl MessageCode {
    /// The family that the code's first digit names.
    pub fn family(self) -> Family {
        match self.0 / 1000 {
            1 => Family::Usage,
            2 => Family::Environment,
            9 => Family::Internal,
            _ => Family::Input,
        }
    }
}

macro_rules! messages {
    ($( $code:literal $severity:ident $name:ident { $($field:ident: $type:ty),* } $text:literal $explanation:literal; )*) => {
        /// Everything the linker can say. Displayed, a message has the reference linker's wording.
        #[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the wording of each row says what its fields are")]
        pub enum Message {
            $( #[error($text)] $name { $($field: $type),* }, )*
        }

        impl Message {
            /// The message's stable code.
            pub fn code(&self) -> MessageCode {
                match self { $( Message::$name { .. } => MessageCode($code), )* }
            }

            /// How bad the message is when no option changes that.
            pub fn severity(&self) -> Severity {
                match self { $( Message::$name { .. } => Severity::$severity, )* }
            }

            /// What the message is about, by name: texts and numbers.
            pub fn fields(&self) -> Vec<(&'static str, serde_json::Value)> {
                match self { $( Message::$name { $($field),* } => vec![ $( (stringify!($field), json!($field)) ),* ], )* }
            }
        }

        impl MessageCode {
            /// Every code, with what `--explain` says of it.
            pub const EXPLANATIONS: &'static [(MessageCode, &'static str)] = &[ $( (MessageCode($code), $explanation), )* ];
        }
    };
}

messages! {
    1001 Fatal Usage { text: String } "{text}"
        "The command line could not be understood. `cuweld --help` lists the options.";
    1002 Warning UsageWarning { text: String } "{text}"
        "The command line is odd but could be understood; the message says how.";
    1003 Info UsageInfo { text: String } "{text}"
        "An option has no effect beside another; the message says which.";
    1004 Error OverBudget { text: String } "over budget: {text}"
        "A report breaks a limit of the budget that it was checked against (`--budget`). The message names the architecture, the kernel and \
         the number.";
    2001 Fatal CannotOpenInput { file: String, cause: String } "Could not open input file '{file}'"
        "The file could not be read. The cause is the operating system's.";
    2002 Fatal CannotWriteOutput { file: String, cause: String } "Could not open output file '{file}'"
        "The file could not be written. Output goes to temporary files, which are renamed when all of them are complete, so existing files \
         are untouched, unless the message says that a file could only be written in place.";
    2003 Fatal CompilerMissing { what: String } "{what} is needed and was not found"
        "An input has to be compiled for the target during the link, which takes the CUDA toolkit's own compilers: its assembler ptxas for \
         PTX, and libnvJitLink too for link-time optimization. The message says where they were searched. Objects with machine code for \
         the target need neither.";
    2004 Fatal CompilerUnusable { problem: String } "{problem}"
        "A compiler of the CUDA toolkit is there, but could not be run or loaded.";
    2005 Fatal CannotReadFile { file: String } "Could not read file '{file}'"
        "The file is empty.";
    2006 Fatal CannotOpenFile { file: String } "Cannot open file '{file}'"
        "The table of times could not be written.";
    2007 Fatal NoHostLinkerScript { cause: String } "Host linker script creation failed."
        "The host linker `ld` did not print its default script, or rejected the script that was made.";
    2009 Fatal CannotRun { file: String, cause: String } "Could not run '{file}'"
        "The program that the link was to be handed over to could not be started. The cause is the operating system's.";
    2010 Fatal InputChanged { file: String } "Input file '{file}' was changed while it was linked"
        "Another process wrote to the file, or truncated it, during the link. The result would be made of parts of both versions, so nothing \
         was written. Link again once the file is complete: the build lacks a dependency of the link on the step that writes the file.";
    2011 Fatal OutputIsInput { file: String, input: String } "Output file '{file}' is the input file '{input}'"
        "The output would overwrite one of the inputs: both names lead to the same file. Choose another name for the output.";
    2012 Fatal OutputsAreOne { file: String, other: String } "Output file '{file}' is the output file '{other}'"
        "Two outputs of the link would overwrite each other: both names lead to the same file. Choose another name for one of them. \
         Standard output and devices may be named more than once.";
    2013 Fatal WritingFailed { file: String, cause: String } "Internal error: writing file"
        "The output was opened, but could not be written: the disk is full, or a limit was reached. The cause is the operating system's.";
    3001 Fatal BadObject { file: String, problem: String } "Input file '{file}' is damaged: {problem}"
        "The file claims to be a device object, but is inconsistent: a size reaches past the end, or an index is out of range. It was \
         truncated or overwritten; build it again.";
    3002 Fatal WrongArchitecture { file: String, target: String } "Input file '{file}' arch does not match target '{target}'"
        "The object holds code for a GPU that can not run as code of the target. Code runs on GPUs of the same major \
         version with the same or a higher minor version, except that sm_87 and sm_88 stand alone and that code for an \
         'a' target runs on that GPU only. Compile the object for the target.";
    3003 Fatal NotADeviceObject { file: String } "cubin not an elf?"
        "The file has none of the formats that a device link takes. The message says what it looks like.";
    3004 Fatal NewerThanToolkit { file: String, found: u32, known: u32 } "Input file '{file}' newer than toolkit ({found} vs {known})"
        "The object was made by a newer compiler than the linker knows. Leave out `--release` and `--compat` to link it all the same.";
    3005 Fatal OlderThanSupported { file: String } "Input file '{file}' must be recompiled with toolkit >= Cuda 12.0"
        "Objects for sm_90 that were made before CUDA 12.0 use conventions that changed.";
    3006 Fatal BadContainer { file: String, problem: String } "Input file '{file}' can not be unpacked: {problem}"
        "The archive, host object or fatbin is damaged, or holds more than `--max-unpacked` allows.";
    3007 Fatal UnknownFormat { file: String, found: String } "Input file '{file}' is {found}, which a device link does not take"
        "A device link takes cubins, fatbins, PTX, LTO-IR, host objects that hold them, and archives of these. The format is identified \
         by the contents of a file, not by its name.";
    3008 Fatal NotADeviceElf { file: String } "cubin not a device elf?"
        "The file is named like a device object, but it is a host object. The reference linker refuses it.";
    3009 Fatal NotAFatbin { file: String } "fatbin wrong format?"
        "The file is named like a fatbin, but is not one.";
    3010 Fatal NotIntermediateCode { file: String } "should only see nvvm files when -lto"
        "The file is named like LTO-IR but is not, or it is LTO-IR, and link-time optimization (-dlto) was not requested.";
    3011 Fatal NeedsLinkTimeOptimization {} "LTO objects found, use -dlto"
        "An object has only LTO-IR for the target. Request link-time optimization (-dlto), or compile it to machine code (-code=sm_NN).";
    3012 Warning NoCodeForTarget { file: String, target: String } "SM Arch ('{target}') not found in '{file}'"
        "The object has neither machine code nor PTX that the target can use, and adds nothing to the link. The hint says what it has. Compile it \
         for the target (-arch, -gencode).";
    3013 Fatal NothingToLink {} "elfLink internal error"
        "An object has no code for the target, or a library none for the host, and warnings are errors.";
    3014 Fatal CompilerFailed {} "elfLink fatbinary error"
        "PTX could not be compiled for the target. See the assembler's messages above.";
    3015 Fatal OptimizerFailed {} "elfLink JIT compile failed"
        "LTO-IR could not be optimized. See the optimizer's messages above.";
    3016 Info PartialOptimization { file: String } "requested LTO but '{file}' not built for LTO so doing partial LTO"
        "The input is not LTO-IR, so link-time optimization does not see the whole program.";
    3017 Warning NothingToOptimize {} "Ignoring -dlto option because no LTO objects found"
        "Link-time optimization was requested, but no input holds LTO-IR. Compile with -dlto, too.";
    3018 Fatal OptimizerOptionsDiffer { option: &'static str } "Cicc option values for '{option}' do not match"
        "Objects for link-time optimization were compiled with different values of an option that holds for the whole program.";
    3019 Info MixedLineInformation {} "Some objects do not have '-lineinfo' specified but others do; will build everything with '-lineinfo'"
        "Objects for link-time optimization were compiled with different options.";
    3020 Info MixedRegisterLimits { limit: i32 } "Some objects do not have '-maxrregcount' specified but others do; will build everything with '-maxrregcount={limit}'"
        "Objects for link-time optimization were compiled with different options.";
    3021 Info OptimizerSays { text: String } "{text}"
        "A message of the optimizer.";
    3022 Warning NewerObject { file: String, found: u32, known: u32 } "Input file '{file}' was made by a newer toolkit ({found}) than is known here ({known})"
        "The object has a known format, so it was linked. If its compiler relies on something new, the result may be wrong: check for a \
         newer version of the linker. With `--release` or `--compat`, such objects are rejected.";
    3023 Error NewerApi { file: String, found: u32, newest: i32 } "Object '{file}' has cuda-api-version of {found} which is greater than version on link line ({newest})"
        "A function of the object was compiled for a newer version of the driver's interface than '-cuda-api-version' allows.";
    3024 Fatal NoUnifiedIndex {} "Unified symbols found but index file not specified."
        "An object has unified functions or variables, whose slots are assigned by an index file (`-uidx`).";
    3025 Fatal OldWholeProgram { file: String } "linking with -ewp objects requires using current toolkit"
        "An input was compiled as a whole program (nvcc -ewp), and one of the inputs was made by an older toolkit. Compile them again.";
    3026 Fatal NotForTheTarget { file: String, target: String, compiled_for: String } "Input file '{file}' holds machine code for '{compiled_for}' that does not run on '{target}' as it is"
        "The object is for another GPU of the same family, and its machine code has to be regenerated for the target. \
         This linker generates no code. Compile the object for the target, or name the toolkit's linker with --finalizer: the link \
         is then handed to it.";
    3027 Warning IncompatibleLibrary { file: String, library: String } "Skipping incompatible '{file}' when searching for -l{library}"
        "A file with the library's name was found, but it is not an archive, or its objects are for another host. The search continued \
         in the next folders.";
    3028 Warning EmptyResult { target: String } "No input has code or data for '{target}': the output is empty"
        "The inputs hold device code, but none for the target, so that the program has no kernels.";
    3029 Fatal NothingForTarget { target: String } "No input has code or data for '{target}'"
        "No input can be part of a program for the target: they are host files without device code, code for other GPUs, or already linked. \
         To make an empty result, use --allow-empty.";
    3030 Warning BesideWholeProgram { file: String } "'{file}': -ewp compiled objects should only link with libcudadevrt"
        "Another input was compiled as a whole program (nvcc -ewp), which can only call functions of the device runtime library. Its shared \
         memory is already laid out. Compile it as relocatable device code instead (-rdc=true).";
    3031 Warning CodeForClang { file: String } "'{file}' has device code that only clang compiles"
        "With -foffload-lto, clang's objects hold LLVM bitcode, which clang's linker wrapper compiles before it calls a device linker. \
         The object adds nothing to this link.";
    3040 Fatal TooLarge { size: u64, limit: u64 } "The result would have {size} bytes, more than the {limit} that are allowed"
        "The output would be far larger than the inputs, which is typical of damaged files. If it is intended, use --max-unpacked.";
    3041 Fatal NoMachineCode { file: String, target: String } "Input file '{file}' holds no machine code for '{target}', only Mercury code"
        "Objects for sm_100 and later hold the program twice, as machine code and as Mercury code, from which the driver can make machine \
         code for other GPUs. This one lacks the machine code, and this linker generates none. Compile the object again, or name the \
         toolkit's linker with --finalizer: the link is then handed to it.";
    3042 Fatal NoMercuryCode { file: String, target: String } "Input file '{file}' holds machine code for '{target}' alone, no Mercury code"
        "Objects for sm_100 and later hold the program twice, as machine code and as Mercury code, from which the driver can make machine \
         code for other GPUs, and so do linked files. This one lacks the Mercury code. Compile the object again.";
    3043 Fatal AddressSize { file: String } "Input file '{file}' size does not match target '-m64'"
        "The object is a 32-bit file. CUDA has had none since version 12.";
    3044 Fatal UnknownAbi { file: String } "Input file '{file}' abi does not match"
        "The ABI in the object's header is not that of CUDA 12 or 13. The object is of an unknown toolkit, or damaged.";
    3045 Warning NoAddressSize { file: String } "expected 64bit object '{file}' to have EF_CUDA_64BIT_ADDRESS set"
        "The header of an object of CUDA 12 has a flag for 64-bit addresses. This one lacks it, but is a 64-bit file.";
    3051 Fatal NotAUnifiedIndex {} "Internal error: not uidx input"
        "The file that '-uidx' names does not start like an index of unified functions and variables.";
    3052 Fatal MalformedUnifiedIndex {} "Internal error: malformed uidx input"
        "The index of unified functions and variables has another size than its header says. It was truncated, or is of \
         another version.";
    3053 Fatal UnifiedWindow { table: &'static str } "Internal error: size of uidx window != {table}"
        "The index gives a size for the table of unified functions, or of unified variables, that differs from the program's. \
         The index was made for other objects, or several objects have copies of one function.";
    3054 Fatal UnifiedNameMissing { what: &'static str } "Internal error: {what} not found"
        "The index lists a unified function or variable that no object has.";
    3055 Fatal UnifiedNameTwice {} "Internal error: entry was already found?"
        "The index lists a unified function or variable twice.";
    3056 Fatal StubWithoutEntry {} "Internal error: UFT stub match not found"
        "A function is unified in one object, but not in the one that defines it first.";
    3057 Fatal NotInUnifiedIndex { name: String } "'{name}' is unified, but the index does not list it"
        "The index assigns every unified function and variable its slot. The reference linker leaves the contents of this one undefined.";
    3058 Fatal UnifiedOverlap { name: String, other: String } "'{name}' and '{other}' have the same place in a unified table"
        "The index gives two functions or variables overlapping slots, or two objects have copies of one function.";
    3059 Fatal UnifiedInPart { name: String } "'{name}' is unified in one object, but not in the one with the prevailing definition"
        "A variable has a slot in the unified table only if the object with its prevailing definition says so.";
    3060 Fatal UnifiedFunctionRemoved {} "Internal error: reference to deleted symbol"
        "Only with --compat: with a single kernel, the reference linker removes unified functions whose address is never taken.";
    3061 Fatal AcceleratedForPlain {} "cannot link accelerated arch to non-accelerated"
        "The object holds code for an 'a' target, which runs on that GPU only; code for a target without the letter has to run on others, \
         too. Link for the 'a' target, or compile the object for the target.";
    3062 Fatal NotFinalized { file: String } "Internal FNLZR error '{file}'"
        "The finalizer of CUDA 13.0 does not support the version of the object's Mercury code.";
    3063 Error UnsupportedMercury { file: String } "Finalization failed: 'unsupported binary'"
        "The finalizer of the chosen release of CUDA does not support the version of the object's Mercury code, or there is none. \
         Leave out `--release` and `--compat` to link it all the same.";
    3064 Fatal FinalizationFailed {} "elfLink error finalization failed"
        "The finalizer of the chosen release of CUDA does not support the objects named above.";
    3065 Fatal NotAToolsPatch { name: String, file: String, option: &'static str } "Function '{name}' in '{file}' is missing EIATTR_TOOLS_PATCH_FUNC attribute required by {option} option"
        "With '-astoolspatch', every function has to be code that tools patch into programs. Compile the object with that option of the assembler, too.";
    3101 Error MultipleDefinition { name: String, file: String, first: String } "Multiple definition of '{name}' in '{file}', first defined in '{first}'"
        "Two objects have strong definitions of the same name. Make one of them static, inline or extern.";
    3102 Error SizeMismatch { name: String, file: String, first: String } "Size doesn't match for '{name}' in '{file}', first specified in '{first}'"
        "Two objects have different sizes for a variable. One of them was compiled with another declaration.";
    3103 Error SpaceMismatch { name: String, file: String, first: String } "Memory space doesn't match for '{name}' in '{file}', first specified in '{first}'"
        "Two objects declare a name differently: as a __device__, __constant__ or __shared__ variable, or as a function.";
    3104 Error NotAKernelEverywhere { name: String } "Function '{name}' not declared __global__ in all source files"
        "One object declares the name as a kernel, another as a device function.";
    3105 Error PrototypeMismatch { name: String, file: String, first: String } "Prototype doesn't match for '{name}' in '{file}', first defined in '{first}'"
        "A function is called with other parameter or return types than it is defined with.";
    3106 Error CommonLargerThanDefinition { name: String, file: String } "Common symbol '{name}' in file '{file}' has larger size than initialization"
        "A tentative definition is larger than the initialised definition.";
    3107 Fatal MergeFailed {} "merge_elf failed"
        "The objects named above can not be linked together.";
    3108 Error UndefinedReference { name: String, file: String } "Undefined reference to '{name}' in '{file}'"
        "Live code refers to a symbol that no input defines. Add the object or library that defines it, built with -rdc=true \
         and for this architecture.";
    3109 Fatal NoCallGraphNode {} "Internal error: no callgraph node"
        "A name is a variable in one object and a function in another.";
    3110 Error ParameterSizeMismatch { name: String } "Duplicate weak parameter bank for '{name}' is not the same size"
        "Two objects have a copy of the same kernel template or inline kernel, with parameters of different sizes.";
    3111 Error ReservedSharedUsed { name: String } "Function '{name}' uses reserved shared memory when not allowed."
        "The function, or one that it calls, uses the part of shared memory that is reserved for the system, but '-disable-smem-reservation' leaves none. \
         Link without that option.";
    3112 Error ManagedMismatch { name: String, file: String, first: String } "Managed attribute doesn't match for '{name}' in '{file}', first specified in '{first}'"
        "One object declares the variable __managed__, another plain __device__.";
    3113 Error LargeParameters {} "For kernel functions with parameter size higher than 4k bytes on sm_7x and sm_8x, all objects must be compiled with 12.1 or later"
        "Kernels with more than about 4 KiB of parameters have another layout of their bank than objects of older toolkits expect. Compile those \
         again, or pass large parameters through a pointer.";
    3114 Error TensorMemoryMismatch { file: String } "Object '{file}' cannot be linked due to version mismatch. Objects using tcgen05 in 12.x cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
        "Compilers of CUDA 12 and 13 record allocations of tensor memory in different ways, so that code of one does not see the allocations \
         of the other. Compile all objects that use tensor memory with the same toolkit.";
    3201 Error RegisterLimit { kernel: String, limit: u32, function: String, registers: u32 } "entry function '{kernel}' with max regcount of {limit} calls function '{function}' with regcount of {registers}"
        "A kernel was compiled under a register limit (launch bounds, maxnreg, -maxrregcount) that a function it calls exceeds. \
         Compile that function with -maxrregcount, or relax the kernel's limit.";
    3202 Error TooMuchShared { kernel: String, used: u64, limit: u64 } "Entry function '{kernel}' uses too much shared data ({used:#x} bytes, {limit:#x} max)"
        "The kernel's static shared variables, with those of every function it calls, exceed the limit of a block.";
    3203 Error TooMuchConstant { used: u64, limit: u64 } "File uses too much global constant data ({used:#x} bytes, {limit:#x} max)"
        "All __constant__ variables of the program share one bank of 64 KiB.";
    3204 Warning UnknownStackSize { kernel: String } "Stack size for entry function '{kernel}' cannot be statically determined"
        "The kernel reaches a recursion, so its stack size has no static bound. Set one with cudaDeviceSetLimit(cudaLimitStackSize).";
    3205 Error TooMuchCompilerConstant { kernel: String } "Entry function '{kernel}' uses too much data for compiler-generated constants; please recompile with -Xptxas --disable-optimizer-constants"
        "The constants that the compiler made for a kernel and the functions it calls exceed their bank.";
    3206 Fatal TooManyTextures { limit: usize, kind: &'static str, kernel: String } "More than {limit} {kind} used in entry function '{kernel}'"
        "All texture, sampler and surface references of a program share one table per kernel, of limited size.";
    3207 Error TooMuchParameters { kernel: String, used: u64, limit: u64 } "Entry function '{kernel}' uses too much constant data ({used:#x} bytes, {limit:#x} max)"
        "The kernel's parameters exceed a constant bank.";
    3208 Warning NeverCalled { name: String } "Function '{name}' has address taken but no calls to it found"
        "The function is live because its address is taken, but no code that a kernel reaches calls through such a pointer.";
    3209 Error MixedTensorGroups { kernel: String } "Function '{kernel}' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that is not allowed."
        "A kernel can use tensor memory for single blocks or for pairs of them, not both.";
    3210 Fatal RemovedButNeeded { name: String, referrer: String, file: String } "'{name}' was removed, but '{referrer}' in '{file}' refers to it"
        "Live code would call a removed function. Either the call graph of an object lacks the call, and the object is damaged; or, with \
         --compat, a kernel is live only because its address is taken beside a single used kernel, and the reference linker removes its callees.";
    3211 Error NoCode { name: String } "'{name}' has no code in the result"
        "A kernel, or a function that a kernel calls, would have no code in the result. This is a defect of the linker, or an object is \
         damaged in a way that was not detected before.";
    3212 Warning DynamicSharedTypes { name: String, file: String, align: u64, first: String, first_align: u64 } "Shared array '{name}' is aligned to {align} bytes in '{file}', but to {first_align} in '{first}'"
        "An extern __shared__ array is the same memory in every unit, so units that declare it with different types overwrite each \
         other's values. The wider alignment is used. Objects before CUDA 13.1 do not record it, and types of one alignment look alike.";
    3300 Warning LimitedByInput { file: String, number: u32 } "Output is limited to run on SM Arch '{number}' only due to limitations in input file {file}"
        "The object holds machine code only, without the Mercury code from which code for other GPUs of the family is made.";
    3301 Warning LimitedByMissingProperty { file: String, number: u32, property: &'static str } "Output is limited to run on SM Arch '{number}' only, due to missing attribute '{property}' in input file '{file}'"
        "The object does not say which class of instructions it uses, so it is assumed to run on one GPU only. Objects that were linked with -r \
         from those of CUDA 12 are like this.";
    3401 Info ModuleResources { text: String } "{text}"
        "The resources of the module.";
    3402 Info KernelHeading { kernel: String } "Function properties for '{kernel}':"
        "The heading of a kernel's resources.";
    3403 Info KernelResources { text: String } "{text}"
        "The resources of a kernel, with everything it calls.";
    3404 Info Skipped { file: String, why: String } "'{file}' was passed over: {why}"
        "An input adds nothing to the link.";
    3405 Info Compiled { file: String, milliseconds: u128 } "'{file}' was compiled in {milliseconds} ms"
        "An input had no machine code for the target, but PTX or LTO-IR.";
    3406 Info ErrorsNotShown { count: usize } "{count} more errors are not shown"
        "There were more errors than --error-limit allows to show.";
    3407 Info CompiledBefore { file: String } "'{file}' was compiled by an earlier link"
        "The same code was compiled with the same options by the same compiler before, and the result was kept (--cache).";
    3409 Info CodeAsCompiled {} "kernels keep the machine code that the compiler made for them"
        "For sm_100 and later, the reference linker regenerates the machine code of all functions, schedules some instructions \
         better, and adds barriers for debuggers with -g. This linker generates no code and keeps the compiler's, which is \
         equivalent.";
    9001 Fatal Internal { text: String } "Internal error: {text}"
        "The linker is inconsistent. Please report it with the inputs and the command line.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ascending() {
        let codes: Vec<u16> = MessageCode::EXPLANATIONS.iter().map(|(code, _)| code.0).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }

    #[test]
    fn every_message_is_explained() {
        for (code, explanation) in MessageCode::EXPLANATIONS {
            assert!(explanation.len() > 15 && explanation.ends_with(['.', ')']), "{code}: {explanation}");
            assert!(!explanation.contains("  "), "{code}: {explanation}");
        }
    }
}
