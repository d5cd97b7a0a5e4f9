//! The smallest debug information that the assembler accepts: one compile unit, one entry per function with
//! its range, one entry per variable with its address. It brings relocations between the debug sections, to
//! code and to every memory space, which is what a linker has to get right.

use std::fmt::Write;

use super::model::{Space, Unit};

/// Numbers of the DWARF 2 format, as far as they are used here.
const ABBREVIATIONS: &[&[u8]] = &[
    // 1: compile unit with children: name string, line table offset, low pc.
    &[1, 0x11, 1, 0x03, 0x08, 0x10, 0x06, 0x11, 0x01, 0, 0],
    // 2: subprogram: low pc, high pc, name string.
    &[2, 0x2e, 0, 0x11, 0x01, 0x12, 0x01, 0x03, 0x08, 0, 0],
    // 3: variable: name string, location block, address class.
    &[3, 0x34, 0, 0x03, 0x08, 0x02, 0x0a, 0x33, 0x0b, 0, 0],
    &[0],
];

/// A debug section under construction: its text, and how many bytes that text stands for.
#[derive(Default)]
struct Section {
    text: String,
    size: usize,
}

impl Section {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let _ = writeln!(self.text, ".b8 {byte}");
        }
        self.size += bytes.len();
    }

    fn string(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0]);
    }

    /// A 4-byte or 8-byte value, usually the name of something.
    fn value(&mut self, width: usize, value: &str) {
        let _ = writeln!(self.text, ".b{} {value}", width * 8);
        self.size += width;
    }
}

/// The debug sections of a unit.
pub fn sections(unit: &Unit) -> String {
    let mut body = Section::default();
    body.bytes(&[2, 0]);
    body.value(4, ".debug_abbrev");
    body.bytes(&[8, 1]);
    body.string(&unit.name);
    body.value(4, ".debug_line");
    body.value(8, "0");
    for (index, function) in unit.functions.iter().enumerate() {
        body.bytes(&[2]);
        body.value(8, &format!("$L__func_begin{index}"));
        body.value(8, &format!("$L__func_end{index}"));
        body.string(&function.name);
    }
    for variable in &unit.variables {
        body.bytes(&[3]);
        body.string(&variable.name);
        body.bytes(&[9, 3]);
        body.value(8, &variable.name);
        body.bytes(&[match variable.shape.space {
            Space::Const => 4,
            Space::Global => 5,
            Space::Shared => 8,
        }]);
    }
    body.bytes(&[0]);

    let mut abbreviations = Section::default();
    for row in ABBREVIATIONS {
        abbreviations.bytes(row);
    }
    format!(
        ".section .debug_abbrev\n{{\n{}}}\n.section .debug_info\n{{\n.b32 {}\n{}}}\n",
        abbreviations.text, body.size, body.text
    )
}
