//! Line tables: which line of a source an instruction is from.
//!
//! A table is a header and one sequence per function, which starts by setting the function's address. A sequence is a line program: advance
//! the address, advance the line, append a row. For each object, the machine view has the header and the sequences of live functions, in the order
//! of their symbols.
//!
//! If a replaced definition of a function had no relocations in its code, the reference linker keeps its sequence as well, and places its rows
//! in the code of the prevailing definition: where their Mercury instructions would be, or the next ones. Debuggers would find two lines for
//! each instruction. This is imitated with `--compat`; otherwise the sequence is left out.

use super::{Facts, Moved, Subject, word32};
use crate::id::{FileId, InputSectionId, InputSymbolId};
use crate::imitations::Imitation;
use crate::phases::load::Place;
use cubin::mercury::Places;
use cubin::release::Rule;
use cubin::relocation::{self, Mode};
use cubin::symbol::SymbolKind;
use std::collections::{HashMap, HashSet};

/// Where a sequence has the address of its function.
const ADDRESS: usize = 3;
/// A table starts with its length, which does not count itself.
const LENGTH: usize = 4;

/// The tables of one object in both views.
pub(super) struct Tables<'a> {
    pub(super) file: FileId,
    pub(super) linked: InputSectionId,
    pub(super) machine: InputSectionId,
    /// The contents of `machine`.
    pub(super) data: &'a [u8],
}

/// A sequence, and where it goes among the others.
struct Sequence<'a> {
    /// The number of the function's symbol.
    number: u32,
    /// Where it was.
    from: usize,
    /// The sequence.
    bytes: Bytes<'a>,
}

/// Bytes of an object, or others in their place.
enum Bytes<'a> {
    Kept(&'a [u8]),
    Made(Vec<u8>),
}

/// A table of an object: where it starts and ends, and where its sequences do, with the functions that they are of.
struct Unit {
    start: usize,
    end: usize,
    sequences: Vec<(usize, usize, InputSymbolId)>,
}

/// The tables in a section, given the functions that its relocations name, by offset. What does not look like a table ends them.
fn units(data: &[u8], functions: &[(u64, InputSymbolId)]) -> Vec<Unit> {
    let (mut at, mut units) = (0, Vec::new());
    let size = |at: usize| {
        word32(data, at).and_then(|length| Some(data.get(at..at.checked_add(LENGTH)?.checked_add(length as usize)?)?.len()))
    };
    while let Some(size) = size(at) {
        let end = at + size;
        let before = |place: usize| functions.partition_point(|&(offset, _)| offset < place as u64);
        let named = functions.get(before(at + LENGTH + ADDRESS)..before(end)).unwrap_or_default();
        let starts: Vec<(usize, InputSymbolId)> =
            named.iter().map(|&(offset, function)| (offset as usize - ADDRESS, function)).collect();
        let ends = starts.iter().skip(1).map(|&(next, _)| next).chain([end]);
        let sequences = starts.iter().zip(ends).map(|(&(from, function), to)| (from, to, function)).collect();
        units.push(Unit { start: at, end, sequences });
        at = end;
    }
    units
}

impl Facts<'_, '_> {
    /// The tables of an object, which come to stand at `base`.
    pub(super) fn lines(&self, tables: &Tables<'_>, base: u64, moved: &mut Moved) -> Vec<u8> {
        let mut out = Vec::with_capacity(tables.data.len());
        for unit in units(tables.data, &self.functions(tables.file, tables.machine)) {
            let start = out.len();
            out.extend_from_slice(&tables.data[unit.start..unit.sequences.first().map_or(unit.end, |&(first, ..)| first)]);
            let mut sequences: Vec<Sequence<'_>> = (unit.sequences.iter())
                .filter_map(|&(from, to, function)| self.sequence(tables, from, to, self.subject(function, tables.file)?))
                .collect();
            sequences.sort_by_key(|sequence| (sequence.number, sequence.from));
            // Compilers of such a release end tables without lines themselves. A header ends with 0, so that this is none of it.
            let end = [opcode::EXTENDED, 1, opcode::END];
            if sequences.is_empty() && self.inputs().release().has(Rule::LineTablesEnd) && !out.ends_with(&end) {
                out.extend(end);
            }
            for sequence in sequences {
                moved.insert((sequence.from + ADDRESS) as u64, base + (out.len() + ADDRESS) as u64);
                match sequence.bytes {
                    Bytes::Kept(bytes) => out.extend_from_slice(bytes),
                    Bytes::Made(bytes) => out.extend_from_slice(&bytes),
                }
            }
            let length = (out.len() - start - LENGTH) as u32;
            out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
        }
        self.line_headers(tables, &mut out);
        out
    }

    /// What becomes of a sequence.
    fn sequence<'a>(&self, tables: &Tables<'a>, from: usize, to: usize, subject: Subject) -> Option<Sequence<'a>> {
        let bytes = match subject.is_current {
            true => self.sequence_of_stub(&tables.data[from..to], subject),
            false if self.planned.options.imitates(Imitation::LinesOfReplacedDefinitions) => {
                Bytes::Made(self.sequence_of_copy(tables, subject)?)
            }
            false => return None,
        };
        let number = self.numbering.symbol(self.planned.resolution.functions()[subject.function].symbol);
        Some(Sequence { number, from, bytes })
    }

    /// The sequence of a prevailing definition. Where stubs are generated anew together, the reference linker gives all of their code to the
    /// first, and none to the others.
    fn sequence_of_stub<'a>(&self, sequence: &'a [u8], subject: Subject) -> Bytes<'a> {
        let unified = &self.planned.unified;
        let slot = unified.slot(subject.function).filter(|_| self.planned.options.imitates(Imitation::LinesOfStubs));
        let parts = STUB_ENDS.iter().find_map(|&end| Some((sequence.strip_suffix(end)?.strip_suffix(&STUB_ROW)?, end)));
        let (Some(slot), Some((row, end))) = (slot, parts) else { return Bytes::Kept(sequence) };
        let mut made = row.to_vec();
        if slot == 0 {
            made.extend([opcode::ADVANCE_LINE, 0, opcode::COPY, opcode::ADVANCE_PC]);
            write_number(unified.form().machine_size(unified.stubs().len()).cast_signed(), &mut made);
        }
        made.extend(end);
        Bytes::Made(made)
    }

    /// The sequence of a replaced definition, in the code of the prevailing one.
    fn sequence_of_copy(&self, tables: &Tables<'_>, subject: Subject) -> Option<Vec<u8>> {
        let data = self.inputs().sections()[tables.linked].data;
        let is_meant =
            |&symbol: &InputSymbolId| self.subject(symbol, tables.file).is_some_and(|other| other.function == subject.function);
        let found = units(data, &self.functions(tables.file, tables.linked)).into_iter().find_map(|unit| {
            let (from, to, _) = unit.sequences.into_iter().find(|(.., function)| is_meant(function))?;
            Some((Encoding::of(data.get(unit.start..)?)?, data.get(from..to)?))
        });
        let (encoding, sequence) = found?;
        let size = self.inputs().sections()[self.code(subject.function)?.1].size;
        translate(sequence, encoding, &self.places(subject.function), size)
    }

    /// Headers of line tables refer to strings. Only the linked view has the relocations for that, at the same offsets.
    fn line_headers(&self, tables: &Tables<'_>, out: &mut [u8]) {
        let inputs = self.inputs();
        for entry in self.relocations(tables.file, tables.linked) {
            let Some(row) = entry.symbol.map(|symbol| &inputs.symbols()[symbol]) else { continue };
            let (SymbolKind::SECTION, Place::Section(target)) = (row.kind, row.place()) else { continue };
            let Some(place) = self.planned.plan.at(target) else { continue };
            let field = entry.kind.row().map(|row| row.field).unwrap_or_default();
            let value = entry.addend.wrapping_add_unsigned(place.offset).cast_unsigned();
            // A field that the machine's side has not got is left alone.
            _ = relocation::apply(field, out, entry.offset, value, 0, Mode::Replace);
        }
    }
}

/// How a table encodes steps of a sequence, from its header.
#[derive(Clone, Copy, Debug)]
struct Encoding {
    /// The smallest step in the source that fits an opcode.
    line_base: i64,
    /// How many do.
    line_range: i64,
    /// The first opcode that is a step.
    opcode_base: u8,
}

impl Encoding {
    fn of(header: &[u8]) -> Option<Self> {
        let fields: [u8; 3] = *header.get(12..)?.first_chunk()?;
        let [line_base, line_range, opcode_base] = fields;
        let line_base = line_base.cast_signed().into();
        (line_range != 0).then_some(Encoding { line_base, line_range: line_range.into(), opcode_base })
    }
}

/// Opcodes of sequences that are read here. The lengths of all are in the table's header, but compilers use no others.
mod opcode {
    /// An instruction with its length after it.
    pub const EXTENDED: u8 = 0;
    pub const COPY: u8 = 1;
    pub const ADVANCE_PC: u8 = 2;
    pub const ADVANCE_LINE: u8 = 3;
    pub const SET_FILE: u8 = 4;
    pub const SET_COLUMN: u8 = 5;
    pub const PROLOGUE_END: u8 = 10;
    /// Extended: the end of a sequence.
    pub const END: u8 = 1;
    /// Extended: the address of a function.
    pub const SET_ADDRESS: u8 = 2;
    /// Extended: whether rows belong to the start of a function, which only the linked view says.
    pub const PROLOGUE: u8 = 0x92;
}

/// What sequences of stubs have before their end: a second row for their line, and their size.
const STUB_ROW: [u8; 6] = [opcode::ADVANCE_LINE, 0, opcode::COPY, opcode::ADVANCE_PC, 0x80, 1];

/// How they end. Compilers of newer releases say that a prologue ends there.
const STUB_ENDS: [&[u8]; 2] = [&[opcode::EXTENDED, 1, opcode::END], &[opcode::PROLOGUE_END, opcode::EXTENDED, 1, opcode::END]];

/// The step in code that machine line tables have opcodes for.
const STEP: i64 = 16;

/// A row of a sequence.
struct LineRow<'data> {
    /// Instructions that are copied as they are.
    before: Vec<&'data [u8]>,
    /// Those that say something of the row behind them: these stand behind its steps.
    flags: Vec<&'data [u8]>,
    /// Where in the machine code.
    place: i64,
    /// The line.
    line: i64,
    /// Whether it belongs to the start of the function.
    is_prologue: bool,
}

/// Translates a sequence of the linked view: its rows go to where their instructions are in the machine code, which has a size.
fn translate(sequence: &[u8], encoding: Encoding, places: &Places, size: u64) -> Option<Vec<u8>> {
    let (mut rows, behind) = read(sequence, encoding, places)?;
    share_flags(&mut rows);
    // Of several rows for one address, the last one is taken. A row for the function's start is kept beside it.
    let lines: HashMap<i64, i64> = rows.iter().map(|row| (row.place, row.line)).collect();
    let mut seen = HashSet::new();
    let mut out = sequence.get(..ADDRESS + 8)?.to_vec();
    let (mut place, mut line, mut after_start) = (0, 1, 0);
    for row in rows.iter().filter(|row| row.is_prologue || seen.insert(row.place)) {
        let next = lines.get(&row.place).copied().unwrap_or(row.line);
        let (steps, step) = (next - line, row.place - place);
        let is_second = after_start == 1;
        after_start += i32::from(!row.is_prologue);
        // A row that changes nothing is left out, but not the second one after the function's start.
        if steps == 0 && step != 0 && row.before.is_empty() && !row.is_prologue && !is_second {
            continue;
        }
        row.before.iter().for_each(|bytes| out.extend_from_slice(bytes));
        let special = steps - encoding.line_base + encoding.line_range * step + i64::from(encoding.opcode_base);
        let fits = step == STEP && steps != 0 && (0..encoding.line_range).contains(&(steps - encoding.line_base));
        if let Some(special) = u8::try_from(special).ok().filter(|_| fits) {
            out.push(special);
        } else {
            if steps != 0 || step == 0 {
                out.push(opcode::ADVANCE_LINE);
                write_number(steps, &mut out);
            }
            if step != 0 {
                out.push(opcode::ADVANCE_PC);
                write_number(step, &mut out);
            }
            row.flags.iter().for_each(|bytes| out.extend_from_slice(bytes));
            out.push(opcode::COPY);
        }
        (place, line) = (row.place, next);
    }
    out.push(opcode::ADVANCE_PC);
    write_number(i64::try_from(size).ok()? - place, &mut out);
    behind.iter().for_each(|bytes| out.extend_from_slice(bytes));
    out.extend([opcode::EXTENDED, 1, opcode::END]);
    Some(out)
}

/// Lets the row of a function's start have the flags of the one that is kept beside it for the same address.
fn share_flags(rows: &mut [LineRow<'_>]) {
    for index in 1..rows.len() {
        let [start, next] = &mut rows[index - 1..=index] else { continue };
        if start.is_prologue && !next.is_prologue && start.place == next.place {
            let (flags, before) = std::mem::take(&mut next.before).into_iter().partition(|bytes| bytes.len() == 1);
            (start.flags, next.before) = (flags, before);
        }
    }
}

/// Reads the rows of a sequence, and the instructions after the last; nothing, if it has some that are not known. Rows after the code are
/// passed over.
fn read<'data>(sequence: &'data [u8], encoding: Encoding, places: &Places) -> Option<(Vec<LineRow<'data>>, Vec<&'data [u8]>)> {
    let (mut at, mut place, mut line, mut is_prologue) = (0, 0_u64, 1_i64, false);
    let (mut rows, mut before) = (Vec::new(), Vec::new());
    loop {
        let start = at;
        let opcode = *sequence.get(at)?;
        at += 1;
        let mut has_row = false;
        match opcode {
            opcode::EXTENDED => {
                let length = usize::try_from(read_number(sequence, &mut at, false)?).ok()?;
                let kind = *sequence.get(at)?;
                at = at.checked_add(length)?;
                match kind {
                    opcode::END => return Some((rows, before)),
                    opcode::SET_ADDRESS => {}
                    opcode::PROLOGUE => is_prologue = *sequence.get(at.checked_sub(1)?)? != 0,
                    _ => before.push(sequence.get(start..at)?),
                }
            }
            opcode::COPY => has_row = true,
            opcode::ADVANCE_PC => place = place.checked_add_signed(read_number(sequence, &mut at, false)?)?,
            opcode::ADVANCE_LINE => line = line.checked_add(read_number(sequence, &mut at, true)?)?,
            opcode::SET_FILE | opcode::SET_COLUMN => {
                read_number(sequence, &mut at, false)?;
                before.push(sequence.get(start..at)?);
            }
            _ if opcode < encoding.opcode_base => before.push(sequence.get(start..at)?),
            _ => {
                let step = i64::from(opcode - encoding.opcode_base);
                place = place.checked_add_signed(step / encoding.line_range)?;
                line = line.checked_add(encoding.line_base + step % encoding.line_range)?;
                has_row = true;
            }
        }
        if let Some(machine) = places.machine_from(place).filter(|_| has_row) {
            rows.push(LineRow {
                before: std::mem::take(&mut before),
                flags: Vec::new(),
                place: machine.cast_signed(),
                line,
                is_prologue,
            });
        }
    }
}

/// Reads a ULEB128, or a SLEB128 if it has a sign.
fn read_number(bytes: &[u8], at: &mut usize, has_sign: bool) -> Option<i64> {
    let (mut value, mut shift) = (0_i64, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= i64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            let is_negative = has_sign && byte & 0x40 != 0 && shift < i64::BITS;
            return Some(if is_negative { value | (-1 << shift) } else { value });
        }
    }
}

/// Writes such a number as if it had a sign.
fn write_number(number: i64, out: &mut Vec<u8>) {
    let mut rest = number;
    loop {
        let byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == -i64::from(byte >> 6 & 1) {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::capsule::Capsule;

    const ENCODING: Encoding = Encoding { line_base: -5, line_range: 14, opcode_base: 10 };

    /// A sequence of the linked view: line 20 at 0, line 21 at 0x10, line 19 at 0x30, line 29 at 0x50, all of file 1; ends at 0x80.
    const LINKED: [u8; 36] = [
        0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 2, 0x92, 1, 3, 19, 1, 0xf0, 3, 0x7e, 2, 0x20, 1, 3, 10, 2, 0x20, 1, 2, 0x30, 0,
        1, 1,
    ];

    /// Places in code of four instructions: 16 bytes of Mercury code, 32, 16, 32.
    fn places() -> cubin::Result<Places> {
        let capsule = [7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0xff, 0, 0, 0];
        let code = [0x7202_u16, 0x7981, 0x7202, 0x7981].map(|opcode| u128::from(opcode).to_le_bytes());
        Places::new(Capsule::new(&capsule)?, code.as_flattened(), 0x60)
    }

    #[test]
    fn rows_go_to_the_next_instruction() -> cubin::Result<()> {
        let start = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1];
        let all = [&start[..], &[3, 19, 1, 0xf0, 0xed, 2, 0xe0, 0, 0, 1, 1]].concat();
        assert_eq!(translate(&LINKED, ENCODING, &places()?, 0x80), Some(all));
        for end in 0..LINKED.len() - 1 {
            assert_eq!(translate(&LINKED[..end], ENCODING, &places()?, 0x80), None);
        }
        Ok(())
    }

    #[test]
    fn a_row_of_the_same_line_is_no_single_step() -> cubin::Result<()> {
        let start = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 3, 19, 1, 2, 0x10, 1];
        let sequence = [&start[..], &[2, 0x30, 0, 1, 1]].concat();
        let translated = [&start[..], &[2, 0xf0, 0, 0, 1, 1]].concat();
        assert_eq!(translate(&sequence, ENCODING, &places()?, 0x80), Some(translated));
        Ok(())
    }

    #[test]
    fn a_row_that_changes_nothing_is_left_out() -> cubin::Result<()> {
        let start = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 3, 19, 1];
        let sequence = [&start[..], &[2, 0x10, 1, 2, 0x10, 1, 2, 0x10, 0, 1, 1]].concat();
        let translated = [&start[..], &[2, 0x10, 1, 2, 0xf0, 0, 0, 1, 1]].concat();
        assert_eq!(translate(&sequence, ENCODING, &places()?, 0x80), Some(translated));
        Ok(())
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for number in [0, 1, 63, 64, 127, 128, 300, -1, -64, -65, -300, 1 << 40] {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            assert_eq!(read_number(&bytes, &mut 0, true), Some(number));
        }
        let mut bytes = Vec::new();
        write_number(0x40, &mut bytes);
        assert_eq!((&*bytes, read_number(&bytes, &mut 0, false)), (&[0xc0, 0][..], Some(0x40)));
        assert_eq!(read_number(&[0xff; 12], &mut 0, false), None);
    }
}
