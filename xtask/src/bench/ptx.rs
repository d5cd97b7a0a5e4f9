//! The programs that are measured, as PTX of one unit each.
//!
//! A unit is assembled once and then copied under other names (see [`inputs`](super::inputs)), so every name that must differ between
//! copies begins with a marker: [`OWN`] for what the copy defines, [`NEXT`] for what the copy after it defines.

use std::fmt::Write;

/// Stands at the beginning of each name that a unit defines.
pub const OWN: &str = "unit_00000";
/// Stands at the beginning of each name that the following unit defines.
pub const NEXT: &str = "next_00000";

/// Code for any architecture from sm_75 on.
const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// What a function is for.
#[derive(Copy, Clone)]
enum Role {
    Kernel,
    Function,
}

/// One kernel that calls a function of another file.
pub fn calling_kernel() -> String {
    let callee = format!("{OWN}_function");
    let mut text = format!("{HEAD}{}", declaration(".extern", &callee));
    define(&mut text, Role::Kernel, &format!("{OWN}_kernel"), &[callee]);
    text
}

/// The function that [`calling_kernel`] calls.
pub fn called_function() -> String {
    let mut text = HEAD.to_owned();
    define(&mut text, Role::Function, &format!("{OWN}_function"), &[]);
    text
}

/// A tree of functions with a kernel as its root; each calls up to ten others.
pub fn tree(functions: usize) -> String {
    const BRANCHES: usize = 10;
    let names: Vec<String> = (0..functions).map(|index| format!("{OWN}_function_{index}")).collect();
    let mut text = HEAD.to_owned();
    text.extend(names.iter().skip(1).map(|name| declaration(".visible", name)));
    for (index, name) in names.iter().enumerate() {
        let role = if index == 0 { Role::Kernel } else { Role::Function };
        let callees: Vec<String> = names.iter().skip(index * BRANCHES + 1).take(BRANCHES).cloned().collect();
        define(&mut text, role, name, &callees);
    }
    text
}

/// Variables in global memory.
pub fn variables(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for index in 0..count {
        _ = writeln!(text, ".visible .global .align 4 .u32 {OWN}_variable_{index} = {};", index + 1);
    }
    text
}

/// A table of pointers, in turn to a variable of this unit and to one of the next.
pub fn pointers(count: usize) -> String {
    let (own, next) = (format!("{OWN}_variable"), format!("{NEXT}_variable"));
    let targets: Vec<&str> = [own.as_str(), next.as_str()].into_iter().cycle().take(count).collect();
    format!(
        "{HEAD}.visible .global .align 4 .u32 {own} = 1;\n.extern .global .align 4 .u32 {next};\n\
         .visible .global .align 8 .u64 {OWN}_table[{count}] = {{{}}};\n",
        targets.join(", ")
    )
}

/// Kernels that each call all functions of the next unit.
pub fn calls(kernels: usize, functions: usize) -> String {
    let functions_of = |unit: &str| (0..functions).map(|index| format!("{unit}_function_{index}")).collect::<Vec<_>>();
    let callees = functions_of(NEXT);
    let mut text = HEAD.to_owned();
    text.extend(callees.iter().map(|name| declaration(".extern", name)));
    for name in functions_of(OWN) {
        define(&mut text, Role::Function, &name, &[]);
    }
    for index in 0..kernels {
        define(&mut text, Role::Kernel, &format!("{OWN}_kernel_{index}"), &callees);
    }
    text
}

/// Levels of two functions that both call both of the next level: the paths double with each level.
pub fn ladder(levels: usize) -> String {
    let pair = |level: usize| -> Vec<String> {
        let sides = if level < levels { ["left", "right"].as_slice() } else { &[] };
        sides.iter().map(|side| format!("{OWN}_level_{level}_{side}")).collect()
    };
    let mut text = HEAD.to_owned();
    text.extend((0..levels).flat_map(pair).map(|name| declaration(".visible", &name)));
    for level in 0..levels {
        for name in pair(level) {
            define(&mut text, Role::Function, &name, &pair(level + 1));
        }
    }
    define(&mut text, Role::Kernel, &format!("{OWN}_kernel"), &pair(0));
    text
}

fn declaration(linkage: &str, name: &str) -> String {
    format!("{linkage} .func {name}(.param .b64 address);\n")
}

/// A function that writes to memory, so that it has something to do, and then calls others.
fn define(text: &mut String, role: Role, name: &str, callees: &[String]) {
    let kind = match role {
        Role::Kernel => ".entry",
        Role::Function => ".func",
    };
    _ = write!(
        text,
        ".visible {kind} {name}(.param .b64 address)\n{{\n.reg .b64 %rd1;\nld.param.u64 %rd1, [address];\n\
         st.volatile.global.u64 [%rd1], %rd1;\n"
    );
    for callee in callees {
        _ = writeln!(text, "{{ .param .b64 argument; st.param.b64 [argument], %rd1; call {callee}, (argument); }}");
    }
    text.push_str("ret;\n}\n");
}
