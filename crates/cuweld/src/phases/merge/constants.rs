//! Constants that the compiler made: the gathering of constant banks.
//!
//! # The problem
//!
//! Constant memory is addressed by bank and offset. Bank 3 holds the `__constant__` variables of the program, bank 0 the parameters of the
//! kernel that runs. Literals that fit no instruction, and jump tables, are in bank 2 (from `sm_100` on in `.nv.constant.optimizer`), in one
//! section per function. Which bank 2 is visible is selected per kernel launch. So what a device function needs has to be in the bank of
//! every kernel that reaches it, and at the same offset in all of them, because the code of the function exists once.
//!
//! # The layout
//!
//! A kernel's own constants come first; then those of the functions that it reaches, function by function, at the first offset that is free
//! in all banks concerned. All of these take the widest alignment among them, and are padded to it. The sections of the functions themselves
//! are discarded, with their names.
//!
//! While the walk goes on, definitions of a function come and go: the constants of a discarded definition are appended although nothing
//! refers to them, and those of a replaced one make room for the new one's. [`Slot`] keeps track of that.

use super::plan::{At, Name, OutputSection, Piece, Pieces, Placement, RelocationSections};
use super::walk::{Cause, Facts, Walk};
use crate::diagnostics::{Failure, Report};
use crate::id::{FunctionId, Id, IdMap, InputSectionId, SectionId};
use crate::imitations::Imitation;
use crate::phases::load::InputSection;
use crate::phases::resolve::Fate;
use crate::sections::{FunctionConstants, Shape};
use cubin::elf::SHF_INFO_LINK;
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// The constants of one function, while definitions of the function come and go.
#[derive(Debug)]
pub struct Slot {
    section: SectionId,
    /// They belong to discarded definitions only.
    only_discarded: bool,
    /// They belonged to discarded definitions only, of a kernel that was replaced since.
    retired: bool,
    /// Where the last discarded definition's constants were put.
    discarded_offset: Option<u64>,
}

/// A definition of a function took effect: what the replaced one left is no longer needed, but its section stays for the new one's.
pub fn code_arrived(walk: &mut Walk<'_, '_>, function: FunctionId) {
    let Some(slot) = walk.constants.get_mut(&function) else { return };
    slot.discarded_offset = None;
    slot.retired = slot.only_discarded;
    let section = &mut walk.plan.sections[slot.section];
    // The reference linker keeps the relocations of Mercury jump tables that are gone: it ends with an error where the new table
    // is a kernel's and smaller, and writes the old offsets into the new one otherwise.
    if walk.facts.options.imitates(Imitation::JumpTablesOfReplacedDefinitions) {
        section.pieces.replace();
    } else {
        section.pieces = Pieces::default();
    }
    section.size = 0;
    if slot.only_discarded && walk.facts.options.lays_out_kernels() && !walk.facts.resolution.functions()[function].kernel {
        discard(walk, function);
    }
}

/// Forgets a function's constants, with their section and, in an executable, its name.
fn discard(walk: &mut Walk<'_, '_>, function: FunctionId) {
    if let Some(slot) = walk.constants.remove(&function) {
        if walk.facts.options.lays_out_kernels() {
            abandon(walk, slot.section);
        }
        walk.plan.functions[function].constants = None;
    }
}

/// Drops a section that has given away its pieces, and the relocations that were made for it. The list of those that were resolved
/// (`-preserve-relocs`), which stays empty, leaves its name behind.
fn abandon(walk: &mut Walk<'_, '_>, section: SectionId) {
    let RelocationSections { implicit, explicit, resolved: _ } = walk.plan.sections[section].relocations;
    for id in [Some(section), implicit, explicit].into_iter().flatten() {
        walk.plan.sections[id].is_discarded = true;
    }
}

/// Places the constants of one definition of a function. Those that no symbol names are of no use to the prevailing definition: they are what
/// discarded definitions left in an object that was linked before.
pub fn place(walk: &mut Walk<'_, '_>, id: InputSectionId, cause: Cause) {
    let section = &walk.facts.inputs.sections()[id];
    let Some(code) = section.target else { return };
    let Some(function) = walk.function_of(code) else { return };
    let Some(text) = walk.plan.function(function).text else { return };
    let counts = cause == Cause::Symbol && walk.facts.resolution.code_fate(walk.facts.inputs, code) != Fate::Discarded;
    // The reference linker goes on to gather what the kernel reaches in the section of a definition that it discarded.
    let mut kept = None;
    if counts && walk.constants.get(&function).is_some_and(|slot| slot.retired) {
        let Facts { options, .. } = walk.facts;
        kept = walk.plan.functions[function].constants;
        let imitated = [Imitation::ConstantsOfThirdDefinitions, Imitation::JumpTablesOfThirdDefinitions];
        kept = kept.filter(|_| imitated.into_iter().any(|imitation| options.imitates(imitation)));
        match kept {
            Some(_) => _ = walk.constants.remove(&function),
            None => discard(walk, function),
        }
    }
    if !walk.constants.contains_key(&function) {
        let output = create(walk, function, text, section);
        walk.constants
            .insert(function, Slot { section: output, only_discarded: !counts, retired: false, discarded_offset: None });
    }
    if kept.is_some() {
        walk.plan.functions[function].constants = kept;
    }
    let Some(slot) = walk.constants.get(&function) else { return };
    let output = slot.section;
    // The constants of a discarded definition are appended, although nothing refers to them.
    let size = if counts { 0 } else { section.size };
    walk.append_start(output, id, size);
    if let (false, Some(slot)) = (counts, walk.constants.get_mut(&function)) {
        slot.discarded_offset = walk.plan.at(id).map(|at| at.offset);
    }
}

/// Takes a section's constants up to `end`, as far as they are there: symbols tell how many of them count.
pub fn cover(walk: &mut Walk<'_, '_>, id: InputSectionId, end: u64) {
    let Some(At { section, offset }) = walk.plan.at(id) else { return };
    let size = walk.facts.inputs.sections()[id].size;
    let output = &mut walk.plan.sections[section];
    let taken = output.size.saturating_sub(offset).max(end.min(size));
    output.size = offset + taken;
    match taken < size {
        true => _ = walk.plan.taken.insert(id, taken),
        false => _ = walk.plan.taken.remove(&id),
    }
}

fn create<'data>(walk: &mut Walk<'_, 'data>, function: FunctionId, text: SectionId, like: &InputSection<'data>) -> SectionId {
    let name = Name::of_function(walk.function_constants(), walk.facts.resolution.name(function));
    // Objects of CUDA 12 and before lack the second flag.
    let flags = like.flags | SHF_INFO_LINK;
    let output = walk.create_for(text, name, &FunctionConstants, Shape { flags, ..Shape::of(like) });
    walk.plan.functions[function].constants = Some(output);
    output
}

/// Moves the constants of device functions to the kernels that reach them.
pub fn gather(walk: &mut Walk<'_, '_>, report: &mut Report) -> Result<(), Failure> {
    let is_kernel = |function: FunctionId| walk.facts.resolution.functions()[function].kernel;
    let mut moving: Vec<(SectionId, FunctionId)> = (walk.constants.iter())
        .filter(|&(&function, slot)| !is_kernel(function) && !slot.only_discarded)
        .map(|(&function, slot)| (slot.section, function))
        .collect();
    moving.sort_unstable_by_key(|&(section, _)| std::cmp::Reverse(section));
    let kernels = kernels_that_reach(walk, &moving, report)?;
    for (section, function) in moving {
        match kernels.get(&function) {
            Some(kernels) => move_to_kernels(walk, function, section, kernels),
            // No kernel reaches this code, so its constants are not needed.
            None => abandon(walk, section),
        }
    }
    // What is still empty disappears, with its name.
    for &kernel in walk.facts.live.entries() {
        if let Some(section) = walk.plan.functions[kernel].constants.filter(|&section| walk.plan.sections[section].size == 0) {
            abandon(walk, section);
            walk.plan.functions[kernel].constants = None;
        }
    }
    Ok(())
}

/// For each function whose constants move: the kernels that reach it, the last one first. Each gets a copy, and all of these must find
/// room in the result.
fn kernels_that_reach(
    walk: &Walk<'_, '_>,
    moving: &[(SectionId, FunctionId)],
    report: &mut Report,
) -> Result<IdMap<FunctionId, Vec<FunctionId>>, Failure> {
    if moving.is_empty() {
        return Ok(IdMap::default());
    }
    let mut sizes = vec![None; walk.facts.resolution.functions().len()];
    for &(section, function) in moving {
        sizes[function.index()] = Some(walk.plan.sections[section].size);
    }
    let room = walk.facts.room;
    let (kernels, copied) = walk.facts.usage.entries_that_reach(|function| sizes[function.index()], room.limit());
    room.check(copied, report)?;
    Ok(kernels)
}

fn move_to_kernels(walk: &mut Walk<'_, '_>, function: FunctionId, section: SectionId, kernels: &[FunctionId]) {
    let OutputSection { section_type, flags, align, size, .. } = walk.plan.sections[section];
    let shape = Shape { section_type, flags, align };
    let mut banks = Vec::with_capacity(kernels.len());
    for &kernel in kernels {
        let known = walk.plan.functions[kernel].constants;
        let bank = known.or_else(|| {
            let text = walk.plan.functions[kernel].text?;
            let name = Name::of_function(walk.function_constants(), walk.facts.resolution.name(kernel));
            let bank = walk.create_for(text, name, &FunctionConstants, shape);
            walk.plan.functions[kernel].constants = Some(bank);
            Some(bank)
        });
        banks.extend(bank);
    }
    let rows = || banks.iter().map(|&bank| &walk.plan.sections[bank]);
    let align = rows().map(|row| row.align).max().unwrap_or(1).max(align);
    let offset = rows().map(|row| row.size).max().unwrap_or(0).next_multiple_of(align);
    let end = (offset + size).next_multiple_of(align);
    let pieces = std::mem::take(&mut walk.plan.sections[section].pieces);
    // Jump tables of the Mercury view hold offsets in code that are not known yet, so their relocations come with them.
    if size > 0 && walk.plan.sections[section].relocations.explicit.is_some() {
        for &bank in &banks {
            walk.relocation_section(bank, true);
        }
    }
    for bank in banks {
        let row = &mut walk.plan.sections[bank];
        row.align = align;
        row.size = end;
        // Nothing is left of tables that no other replaced.
        for piece in pieces.with_replaced().filter(|_| size > 0) {
            row.pieces.push(Piece { offset: offset + piece.offset, origin: Some(section), ..piece });
        }
    }
    for piece in pieces.iter() {
        walk.plan.placement[piece.section] = Some(Placement::InBanks { offset: offset + piece.offset });
    }
    // Nor is anything left of what is after the end of tables that replaced others.
    for piece in pieces.with_replaced().filter(|piece| piece.is_replaced) {
        walk.plan.taken.insert(piece.section, size.saturating_sub(piece.offset));
    }
    abandon(walk, section);
    if let Some(discarded) = walk.constants.get(&function).and_then(|slot| slot.discarded_offset) {
        leave_in_null_symbol(walk, offset + discarded);
    }
}

/// Leaves the offset of a constant in the null symbol, as the reference linker does.
fn leave_in_null_symbol(walk: &mut Walk<'_, '_>, offset: u64) {
    if walk.facts.options.imitates(Imitation::NullSymbolValue) {
        walk.plan.null_symbol_value = offset;
    }
}

/// What is remembered of the module's constants where it is known which kernels are used.
#[derive(Default)]
pub struct SmallConstants<'data> {
    /// Contents and alignments of small sections.
    seen: HashSet<(&'data [u8], u64), RandomState>,
    /// The size that each output section would have with those that were left out.
    sizes: IdMap<SectionId, u64>,
}

/// What the reference linker does with constants when it knows which kernels are used.
///
/// It leaves out a small section that equals an earlier one, whatever its relocations, but places variables and relocations as if it were
/// there: constants overlap, and those after it are not where code looks for them (imitated only with `--compat`). The offset of
/// the last one that it did not leave out stays in the null symbol.
pub fn after_module_constants(walk: &mut Walk<'_, '_>, id: InputSectionId, size_before: u64) {
    if !walk.facts.options.imitates(Imitation::OverlappingConstants) {
        return;
    }
    let sections = walk.facts.inputs.sections();
    let section = &sections[id];
    let Some(place) = walk.plan.at(id) else { return };
    let size = walk.small_constants.sizes.entry(place.section).or_default();
    let offset = size.next_multiple_of(section.align());
    *size = offset + section.size;
    walk.plan.place(id, place.section, offset);
    let is_candidate = match section.size {
        4 | 8 => section.align() == section.size,
        12 | 16 | 20 | 24 | 32 | 48 | 64 => true,
        _ => false,
    };
    if !is_candidate {
        return;
    }
    // It looks for one or two words by their value, and takes 0 for none.
    let is_none = section.size <= 8 && section.data.iter().all(|&byte| byte == 0);
    if is_none || walk.small_constants.seen.insert((section.data, section.align())) {
        leave_in_null_symbol(walk, place.offset);
    } else {
        let output = &mut walk.plan.sections[place.section];
        output.pieces.leave_out();
        output.size = size_before;
    }
}
