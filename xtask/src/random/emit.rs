//! Writes a unit of the model as PTX text.
//!
//! What the code computes does not matter, for nothing is run; but the assembler must not optimise it away.
//! So a body keeps one running value, `%acc`, which every action changes, and stores it at the end through a
//! volatile pointer, `%sink`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::dwarf;
use super::model::{
    Action, Assembler, DebugInfo, Function, FunctionRef, Initial, Linkage, Pointer, Role, Scalar, Shape, Signature, Space,
    SystemCall, Unit, Variable, VariableRef,
};
use super::unified;

/// The PTX text of a unit.
pub fn unit(unit: &Unit) -> String {
    // The oldest version that knows the architecture, so that the assemblers of all releases take it.
    let version = match unit.assembler {
        Assembler::Cuda12 => "8.8",
        _ if unit.virtual_arch.starts_with("sm_107") => "9.4",
        _ => "9.0",
    };
    let mut text = format!(".version {version}\n");
    let mut modifiers = String::new();
    if unit.independent_samplers {
        modifiers += ", texmode_independent";
    }
    if unit.debug == DebugInfo::Full {
        modifiers += ", debug";
    }
    put(&mut text, format_args!(".target {}{modifiers}\n.address_size 64\n\n", unit.virtual_arch));
    declarations(unit, &mut text);
    for item in pointed_to_first(&unit.variables) {
        variable(item, &unified::attribute(unit, &item.name), &mut text);
    }
    for alias in &unit.aliases {
        put(&mut text, format_args!(".alias {}, {};\n", alias.name, alias.of.name));
    }
    for (index, item) in unit.functions.iter().enumerate() {
        function(unit, index, item, &mut text);
    }
    if unit.debug != DebugInfo::None {
        put(&mut text, format_args!(".file 1 \"{}.cu\"\n", unit.name));
    }
    if unit.debug == DebugInfo::Full {
        text += &dwarf::sections(unit);
    }
    text
}

/// Appends formatted text; writing to a string cannot fail.
fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

/// What a unit mentions that it may not define.
#[derive(Default)]
struct Mentions<'unit> {
    functions: Vec<&'unit FunctionRef>,
    variables: Vec<&'unit VariableRef>,
    systems: BTreeSet<SystemCall>,
    /// Textures, samplers and surfaces: their types and names.
    opaques: BTreeSet<(&'static str, &'unit str)>,
    kernels: BTreeSet<&'unit str>,
}

impl<'unit> Mentions<'unit> {
    fn of(unit: &'unit Unit) -> Self {
        let mut mentions = Self::default();
        for action in unit.functions.iter().flat_map(|function| &function.body) {
            match action {
                Action::Call(function) | Action::TakeAddress(function) => mentions.functions.push(function),
                Action::CallOneOf(list) => mentions.functions.extend(list),
                Action::Touch(variable, _) | Action::PointTo(variable, _) => mentions.variables.push(variable),
                Action::System(call) => mentions.systems.extend([*call]),
                Action::ReadTexture { texture, sampler } => {
                    mentions.opaques.insert(("texref", texture));
                    mentions.opaques.extend(sampler.as_deref().map(|sampler| ("samplerref", sampler)));
                }
                Action::ReadSurface(name) => mentions.opaques.extend([("surfref", name.as_str())]),
                Action::TakeKernelAddress(name) => mentions.kernels.extend([name.as_str()]),
                _ => {}
            }
        }
        for variable in &unit.variables {
            let Initial::Pointers(pointers) = &variable.initial else { continue };
            for pointer in pointers {
                match pointer {
                    Pointer::Function(function) => mentions.functions.push(function),
                    Pointer::Variable { variable, .. } => mentions.variables.push(variable),
                    Pointer::Null => {}
                }
            }
        }
        mentions
    }
}

/// Declares every name before anything mentions it.
fn declarations(unit: &Unit, text: &mut String) {
    let mut declared = BTreeSet::new();
    for item in &unit.functions {
        declared.insert(item.name.as_str());
        match &item.role {
            Role::Device(signature) => {
                let head = head(&item.name, *signature);
                put(text, format_args!("{}.func {}{head};\n", linkage(item.linkage), unified::attribute(unit, &item.name)));
            }
            Role::Kernel { .. } => {}
        }
    }
    for alias in &unit.aliases {
        declared.insert(alias.name.as_str());
        put(text, format_args!(".visible .func {};\n", head(&alias.name, alias.of.signature)));
    }
    declared.extend(unit.variables.iter().map(|variable| variable.name.as_str()));
    let Mentions { functions, variables, systems, opaques, kernels } = Mentions::of(unit);
    for function in functions {
        if declared.insert(&function.name) {
            put(text, format_args!(".extern .func {};\n", head(&function.name, function.signature)));
        }
    }
    for variable in variables {
        if declared.insert(&variable.name) {
            put(text, format_args!(".extern {};\n", shape(&variable.name, &variable.shape, "")));
        }
    }
    for kernel in unit.functions.iter().filter(|function| kernels.contains(function.name.as_str())) {
        if let Role::Kernel { extra_bytes, .. } = kernel.role {
            put(text, format_args!("{}{};\n", linkage(kernel.linkage), kernel_head(&kernel.name, extra_bytes)));
        }
    }
    for call in &systems {
        *text += match call {
            SystemCall::Print => {
                ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
                 .global .align 1 .b8 $str[4] = {37, 100, 10, 0};\n"
            }
            SystemCall::Allocate => ".extern .func (.param .b64 r) malloc (.param .b64 a);\n",
            SystemCall::Release => ".extern .func free (.param .b64 a);\n",
            SystemCall::Assert => {
                ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
            }
        };
    }
    for (kind, name) in opaques {
        put(text, format_args!(".global .{kind} {name};\n"));
    }
}

/// The variables in an order in which each comes after those that it points to, otherwise as they are.
fn pointed_to_first(variables: &[Variable]) -> Vec<&Variable> {
    fn visit<'a>(variable: &'a Variable, all: &'a [Variable], ordered: &mut Vec<&'a Variable>) {
        if ordered.iter().any(|done| done.name == variable.name) {
            return;
        }
        if let Initial::Pointers(pointers) = &variable.initial {
            for name in pointers.iter().filter_map(Pointer::name) {
                if let Some(target) = all.iter().find(|other| other.name == name) {
                    visit(target, all, ordered);
                }
            }
        }
        ordered.push(variable);
    }
    let mut ordered = Vec::new();
    for variable in variables {
        visit(variable, variables, &mut ordered);
    }
    ordered
}

/// The linking directive of a definition, with the space after it.
fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Strong => ".visible ",
        Linkage::Weak => ".weak ",
        Linkage::Local => "",
        Linkage::Common => ".common ",
    }
}

/// Type of a parameter.
fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Word => "b32",
        Scalar::Long => "b64",
        Scalar::Double => "f64",
    }
}

/// Result, name and parameters of a device function. `_` as the name gives the form of a call prototype.
fn head(name: &str, signature: Signature) -> String {
    let result =
        signature.result().map(|result| format!("(.param .{} {}) ", scalar(result), if name == "_" { "_" } else { "result" }));
    let parameters: Vec<String> = signature
        .parameters()
        .iter()
        .enumerate()
        .map(|(index, parameter)| match name {
            "_" => format!(".param .{} _", scalar(*parameter)),
            _ => format!(".param .{} in{index}", scalar(*parameter)),
        })
        .collect();
    format!("{}{name} ({})", result.unwrap_or_default(), parameters.join(", "))
}

/// Name and parameters of a kernel.
fn kernel_head(name: &str, extra_bytes: usize) -> String {
    let extra = match extra_bytes {
        0 => String::new(),
        bytes => format!(", .param .align 4 .b8 extra[{bytes}]"),
    };
    format!(".entry {name} (.param .u64 out{extra})")
}

/// The name of a memory.
fn space(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Const => "const",
        Space::Shared => "shared",
    }
}

/// Space, attributes, alignment, type and name of a variable.
fn shape(name: &str, shape: &Shape, attribute: &str) -> String {
    let space = space(shape.space);
    let managed = if shape.managed { ".attribute(.managed) " } else { "" };
    let size = if shape.size == 0 { String::new() } else { shape.size.to_string() };
    format!(".{space} {managed}{attribute}.align {} .b8 {name}[{size}]", shape.align)
}

/// A variable with its initialiser.
fn variable(variable: &Variable, attribute: &str, text: &mut String) {
    let linkage = linkage(variable.linkage);
    match &variable.initial {
        Initial::None => put(text, format_args!("{linkage}{};\n", shape(&variable.name, &variable.shape, attribute))),
        Initial::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            let head = shape(&variable.name, &variable.shape, attribute);
            put(text, format_args!("{linkage}{head} = {{{}}};\n", bytes.join(", ")));
        }
        Initial::Pointers(pointers) => {
            let values: Vec<String> = pointers.iter().map(pointer).collect();
            let space = if variable.shape.space == Space::Const { "const" } else { "global" };
            put(
                text,
                format_args!(
                    "{linkage}.{space} {attribute}.align {} .u64 {}[{}] = {{{}}};\n",
                    variable.shape.align.max(8),
                    variable.name,
                    pointers.len(),
                    values.join(", ")
                ),
            );
        }
    }
}

/// One element of an initialiser.
fn pointer(pointer: &Pointer) -> String {
    match pointer {
        Pointer::Null => "0".into(),
        Pointer::Function(function) => function.name.clone(),
        Pointer::Variable { variable, generic, offset } => {
            let name = if *generic { format!("generic({})", variable.name) } else { variable.name.clone() };
            if *offset == 0 { name } else { format!("{name}+{offset}") }
        }
    }
}

/// A function with its body.
fn function(unit: &Unit, index: usize, function: &Function, text: &mut String) {
    put(text, format_args!("\n{}", linkage(function.linkage)));
    match &function.role {
        Role::Kernel { extra_bytes, bounds } => {
            *text += &kernel_head(&function.name, *extra_bytes);
            for bound in bounds {
                put(text, format_args!("\n    {bound}"));
            }
        }
        Role::Device(signature) => {
            let attribute = unified::attribute(unit, &function.name);
            put(text, format_args!(".func {attribute}{}", head(&function.name, *signature)));
        }
    }
    *text += "\n{\n    .reg .b32 %acc; .reg .b64 %sink, %wide; .reg .f64 %real;\n";
    if unit.debug == DebugInfo::Full {
        put(text, format_args!("$L__func_begin{index}:\n"));
    }
    line(unit, index * 20 + 1, text);
    *text += "    mov.u32 %acc, %tid.x;\n    mov.u64 %sink, 4096;\n";
    match &function.role {
        Role::Kernel { extra_bytes, .. } => {
            *text += "    ld.param.u64 %sink, [out];\n";
            if *extra_bytes > 0 {
                *text += "    ld.param.u32 %acc, [extra];\n";
            }
        }
        Role::Device(signature) => read_parameters(*signature, text),
    }
    for (place, item) in function.body.iter().enumerate() {
        line(unit, index * 20 + place + 2, text);
        put(text, format_args!("    {{\n"));
        action(item, text);
        put(text, format_args!("    }}\n"));
    }
    *text += "    st.volatile.u32 [%sink], %acc;\n";
    if let Role::Device(signature) = &function.role {
        *text += match signature.result() {
            None => "",
            Some(Scalar::Word) => "    st.param.b32 [result], %acc;\n",
            Some(Scalar::Long) => "    cvt.u64.u32 %wide, %acc; st.param.b64 [result], %wide;\n",
            Some(Scalar::Double) => "    cvt.rn.f64.u32 %real, %acc; st.param.f64 [result], %real;\n",
        };
    }
    *text += "    ret;\n";
    if unit.debug == DebugInfo::Full {
        put(text, format_args!("$L__func_end{index}:\n"));
    }
    *text += "}\n";
}

/// Reads the parameters of a device function.
fn read_parameters(signature: Signature, text: &mut String) {
    for (index, parameter) in signature.parameters().iter().enumerate() {
        *text += &match parameter {
            Scalar::Word => format!("    ld.param.b32 %acc, [in{index}];\n"),
            Scalar::Long => format!("    ld.param.b64 %wide, [in{index}]; cvt.u32.u64 %acc, %wide;\n"),
            Scalar::Double => format!("    ld.param.f64 %real, [in{index}]; cvt.rni.u32.f64 %acc, %real;\n"),
        };
    }
}

/// A line number, in units that have them.
fn line(unit: &Unit, number: usize, text: &mut String) {
    if unit.debug != DebugInfo::None {
        put(text, format_args!("    .loc 1 {number} 0\n"));
    }
}

/// Loads the arguments of a call from `%acc`, calls `target`, and puts the result back.
fn call(target: &str, list: &str, signature: Signature, text: &mut String) {
    let mut names = Vec::new();
    for (index, parameter) in signature.parameters().iter().enumerate() {
        put(text, format_args!("        .param .{} x{index};\n", scalar(*parameter)));
        *text += &match parameter {
            Scalar::Word => format!("        st.param.b32 [x{index}], %acc;\n"),
            Scalar::Long => {
                format!("        cvt.u64.u32 %wide, %acc; st.param.b64 [x{index}], %wide;\n")
            }
            Scalar::Double => {
                format!("        cvt.rn.f64.u32 %real, %acc; st.param.f64 [x{index}], %real;\n")
            }
        };
        names.push(format!("x{index}"));
    }
    let arguments = format!("({})", names.join(", "));
    match signature.result() {
        None => put(text, format_args!("        call {target}, {arguments}{list};\n")),
        Some(result) => {
            put(text, format_args!("        .param .{} y;\n", scalar(result)));
            put(text, format_args!("        call (y), {target}, {arguments}{list};\n"));
        }
    }
    *text += match signature.result() {
        None => "",
        Some(Scalar::Word) => "        ld.param.b32 %acc, [y];\n",
        Some(Scalar::Long) => "        ld.param.b64 %wide, [y]; cvt.u32.u64 %acc, %wide;\n",
        Some(Scalar::Double) => "        ld.param.f64 %real, [y]; cvt.rni.u32.f64 %acc, %real;\n",
    };
}

/// The inside of the block of one action.
fn action(action: &Action, text: &mut String) {
    match action {
        Action::Call(function) => call(&function.name, "", function.signature, text),
        Action::CallPointer(signature) => {
            *text += "        .reg .b64 %pointer;\n        ld.volatile.u64 %pointer, [%sink+8];\n";
            put(text, format_args!("        prototype: .callprototype {};\n", head("_", *signature)));
            call("%pointer", ", prototype", *signature, text);
        }
        Action::CallOneOf(functions) => call_one_of(functions, text),
        Action::TakeAddress(FunctionRef { name, .. }) | Action::TakeKernelAddress(name) => {
            *text += "        .reg .b64 %pointer;\n";
            put(text, format_args!("        mov.u64 %pointer, {name};\n"));
            *text += "        st.volatile.u64 [%sink+24], %pointer;\n";
        }
        Action::Touch(variable, offset) => touch(variable, *offset, text),
        Action::PointTo(variable, offset) => {
            let name = &variable.name;
            *text += "        .reg .b64 %pointer;\n";
            put(text, format_args!("        mov.u64 %pointer, {name};\n"));
            put(text, format_args!("        cvta.{}.u64 %pointer, %pointer;\n", space(variable.shape.space)));
            put(text, format_args!("        st.volatile.u64 [%sink+{}], %pointer;\n", 32 + offset / 4 * 8));
        }
        Action::OwnShared { align, size } => {
            put(text, format_args!("        .shared .align {align} .b8 own[{size}];\n"));
            *text += "        st.volatile.shared.u8 [own], %acc;\n";
        }
        Action::OwnStack(size) => own_stack(*size, text),
        Action::SharedBarrier { looped } => shared_barrier(*looped, text),
        Action::TensorCopy => {
            *text += "        .shared .align 128 .b8 tile[128];\n        .shared .align 8 .b64 gate;\n        .reg .b32 %at, %by;\n\
                      \x20       mov.u32 %at, tile;\n        mov.u32 %by, gate;\n\
                      \x20       cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%sink, {%acc}], [%by];\n";
        }
        Action::AskConstant => {
            *text += "        .reg .pred %is;\n        isspacep.const %is, %sink;\n        @%is add.u32 %acc, %acc, 7;\n";
        }
        Action::Barrier(number) => put(text, format_args!("        bar.sync {number};\n")),
        Action::AnyBarrier => {
            *text += "        .reg .b32 %which;\n        and.b32 %which, %acc, 15;\n        bar.sync %which;\n";
        }
        Action::Registers(count) => registers(*count, text),
        Action::Doubles(seed) => doubles(*seed, text),
        Action::JumpTable(count) => jump_table(*count, text),
        Action::System(call) => system(*call, text),
        Action::ReadTexture { texture, sampler } => read_texture(texture, sampler.as_deref(), text),
        Action::ReadSurface(name) => {
            put(text, format_args!("        suld.b.1d.b32.trap {{%acc}}, [{name}, {{%acc}}];\n"));
        }
    }
}

/// A call through a pointer to one of some functions.
fn call_one_of(functions: &[FunctionRef], text: &mut String) {
    let Some(first) = functions.first() else { return };
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    *text += "        .reg .b64 %pointer;\n        ld.volatile.u64 %pointer, [%sink+16];\n";
    put(text, format_args!("        targets: .calltargets {};\n", names.join(", ")));
    call("%pointer", ", targets", first.signature, text);
}

/// Writes to and reads from a frame of the function's own.
fn own_stack(size: usize, text: &mut String) {
    put(text, format_args!("        .local .align 4 .b8 frame[{size}];\n"));
    *text += "        .reg .b32 %at, %old; .reg .b64 %pointer, %index;\n";
    put(text, format_args!("        rem.u32 %at, %acc, {size};\n"));
    *text += "        cvt.u64.u32 %index, %at;\n        mov.u64 %pointer, frame;\n\
              \x20       add.u64 %pointer, %pointer, %index;\n\
              \x20       st.local.u8 [%pointer], %acc;\n\
              \x20       ld.local.u8 %old, [frame];\n        add.u32 %acc, %acc, %old;\n";
}

/// Initialises a barrier in shared memory, or some in a loop.
fn shared_barrier(looped: bool, text: &mut String) {
    *text += "        .shared .align 8 .b64 gate[4];\n        .reg .b32 %at;\n        mov.u32 %at, gate;\n";
    *text += match looped {
        false => "        mbarrier.init.shared.b64 [%at], 1;\n",
        true => {
            "        .reg .pred %more;\n        again: mbarrier.init.shared.b64 [%at], 2;\n        add.u32 %at, %at, 8;\n\
             \x20       setp.lt.u32 %more, %at, %acc;\n        @%more bra again;\n"
        }
    };
}

/// Computes with constants of double precision, which the compiler puts into a bank.
fn doubles(seed: u64, text: &mut String) {
    *text += "        cvt.rn.f64.u32 %real, %acc;\n";
    for round in 0..(seed % 3 + 1) {
        let bits = 0x3fb0_0000_0000_0000 | (seed.wrapping_mul(round * 2 + 1) & 0x000f_ffff_ffff_ffff);
        put(text, format_args!("        fma.rn.f64 %real, %real, 0d{bits:016X}, %real;\n"));
    }
    *text += "        cvt.rni.u32.f64 %acc, %real;\n";
}

/// Reads or writes one byte of a variable.
fn touch(variable: &VariableRef, offset: usize, text: &mut String) {
    let name = &variable.name;
    match variable.shape.space {
        Space::Global if offset.is_multiple_of(2) => {
            put(text, format_args!("        st.volatile.global.u8 [{name}+{offset}], %acc;\n"));
        }
        Space::Shared => {
            put(text, format_args!("        st.volatile.shared.u8 [{name}+{offset}], %acc;\n"));
        }
        space => {
            let load = if space == Space::Const { "ld.const.u8" } else { "ld.volatile.global.u8" };
            *text += "        .reg .b32 %byte;\n";
            put(text, format_args!("        {load} %byte, [{name}+{offset}];\n"));
            *text += "        add.u32 %acc, %acc, %byte;\n";
        }
    }
}

/// Loads many values and combines them in the reverse order, so that all live at once.
fn registers(count: usize, text: &mut String) {
    put(text, format_args!("        .reg .b32 %v<{count}>;\n"));
    for index in 0..count {
        put(text, format_args!("        ld.volatile.u32 %v{index}, [%sink+{}];\n", 64 + 4 * index));
    }
    for index in (0..count).rev() {
        put(text, format_args!("        mad.lo.u32 %acc, %acc, 5, %v{index};\n"));
    }
}

/// A jump through a table, each branch with an operation of its own.
fn jump_table(count: usize, text: &mut String) {
    let labels: Vec<String> = (0..count).map(|index| format!("branch{index}")).collect();
    put(text, format_args!("        .reg .b32 %which;\n        rem.u32 %which, %acc, {count};\n"));
    put(text, format_args!("        table: .branchtargets {};\n", labels.join(", ")));
    *text += "        brx.idx %which, table;\n";
    for (index, label) in labels.iter().enumerate() {
        let operation = match index % 4 {
            0 => format!("add.u32 %acc, %acc, {}", index + 17),
            1 => format!("mul.lo.u32 %acc, %acc, {}", index + 1001),
            2 => format!("xor.b32 %acc, %acc, {}", index + 333),
            _ => "popc.b32 %acc, %acc".to_owned(),
        };
        put(text, format_args!("        {label}: {operation}; bra done;\n"));
    }
    *text += "        done:\n";
}

/// A call of the driver.
fn system(call: SystemCall, text: &mut String) {
    *text += match call {
        SystemCall::Print => {
            "        .param .b64 a; .param .b64 b; .param .b32 r; .reg .b64 %format;\n\
             \x20       mov.u64 %format, $str; cvta.global.u64 %format, %format;\n\
             \x20       st.param.b64 [a], %format; st.param.b64 [b], %sink;\n\
             \x20       call (r), vprintf, (a, b);\n        ld.param.b32 %acc, [r];\n"
        }
        SystemCall::Allocate => {
            "        .param .b64 a; .param .b64 r;\n        cvt.u64.u32 %wide, %acc; st.param.b64 [a], %wide;\n\
             \x20       call (r), malloc, (a);\n        ld.param.b64 %wide, [r]; cvt.u32.u64 %acc, %wide;\n"
        }
        SystemCall::Release => "        .param .b64 a;\n        st.param.b64 [a], %sink;\n        call free, (a);\n",
        SystemCall::Assert => {
            "        .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n\
             \x20       st.param.b64 [a], %sink; st.param.b64 [b], %sink; st.param.b32 [c], %acc;\n\
             \x20       st.param.b64 [d], %sink; st.param.b64 [e], %sink;\n\
             \x20       call __assertfail, (a, b, c, d, e);\n"
        }
    };
}

/// A read of a texture, through its own sampler or one that is named.
fn read_texture(texture: &str, sampler: Option<&str>, text: &mut String) {
    let sampler = sampler.map(|name| format!("{name}, ")).unwrap_or_default();
    *text += "        .reg .f32 %x<4>;\n        cvt.rn.f32.u32 %x0, %acc;\n";
    put(text, format_args!("        tex.1d.v4.f32.f32 {{%x0, %x1, %x2, %x3}}, [{texture}, {sampler}{{%x0}}];\n"));
    *text += "        cvt.rni.u32.f32 %acc, %x0;\n";
}
