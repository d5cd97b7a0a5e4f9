//! Notes: who made the file, for which toolkit and virtual architecture, and where its code runs.

use super::Facts;
use crate::id::FileId;
use crate::imitations::Imitation;
use crate::phases::load::{Place, Role};
use crate::phases::resolve::Fate;
use crate::views::View;
use cubin::compat::Tag;
use cubin::fast_path;
use cubin::info::{self, Record, format};
use cubin::note::CudaInfo;
use cubin::target::{Variant, Views};

/// Describes relocation type 0x73 (a constant's offset, 17 bits at bit 37, and bank, 5 bits at bit 54) to the driver.
pub const RELOCATION_ACTIONS: [u8; 16] = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0x00, 0x05, 0x36];

/// The linker's own note, then those of the inputs, in link order. A relocatable output has the linker's alone.
pub fn tools(facts: &Facts<'_, '_>) -> Vec<u8> {
    let mut bytes = facts.options.note.encode();
    if facts.options.executable() {
        let ids = facts.inputs.files().iter().flat_map(|object| object.sections.iter().chain(object.machine_sections.iter()));
        let sections = ids.map(|id| &facts.inputs.sections()[id]).filter(|section| section.role == Role::ToolNotes);
        let notes: Vec<&[u8]> = sections.map(|section| section.data).collect();
        bytes.reserve_exact(notes.iter().map(|note| note.len()).sum());
        notes.iter().for_each(|note| bytes.extend_from_slice(note));
    }
    bytes
}

/// The note of the toolkit, with the oldest virtual architecture of all inputs.
pub fn cuda(facts: &Facts<'_, '_>) -> Vec<u8> {
    let oldest = facts.inputs.files().iter().filter_map(|file| file.virtual_sm).min();
    let virtual_sm = oldest.unwrap_or(facts.options.target.number);
    CudaInfo { note_version: cubin::note::LAYOUT_VERSION, virtual_sm: virtual_sm as u16, toolkit: facts.inputs.release().toolkit }
        .encode()
}

/// The properties that decide where the code runs.
///
/// Whether the output is for an `a` target follows from the target. Of the others, each input's are taken over as they are
/// met; the class and version of the instruction set are the highest of all. Which other GPUs can run the machine code as it is,
/// if that is said, is decided by the code that is in the output.
pub fn compatibility(facts: &Facts<'_, '_>) -> Vec<u8> {
    let target = facts.options.target;
    let accelerated = u16::from(target.variant == Variant::Accelerated);
    let mut merged: Vec<Record<'_>> = vec![Record {
        format: format::BYTE,
        attribute: info::Attribute(Tag::CUDA_ACCELERATOR_TARGET.0),
        value: accelerated,
        payload: &[],
    }];
    let mut runs_on: Option<u64> = None;
    for (file, object) in facts.inputs.files().enumerate() {
        let sections = object.sections.iter().map(|id| &facts.inputs.sections()[id]);
        for record in sections
            .filter(|section| section.role == Role::Compatibility)
            .flat_map(|section| info::records(section.data))
            .flatten()
        {
            let tag = Tag(record.attribute.0);
            let is_for_the_finalizer = tag == Tag::CAN_FASTPATH_FINALIZE && target.views == Views::One;
            if tag == Tag::CUDA_ACCELERATOR_TARGET || is_for_the_finalizer {
                continue;
            }
            let (kept, left_out) = if tag == Tag::CAN_FASTPATH_FINALIZE { facts.code_of(file) } else { Default::default() };
            if !kept.is_empty() {
                // What is said of code that was compiled for another GPU does not hold for code for the target.
                let is_for_target = object.sm == target.number;
                let said = record.payload.first_chunk().filter(|_| is_for_target).map_or(0, |&bytes| u64::from_le_bytes(bytes));
                // The reference linker gives a bit back when the code that cleared it is left out. It goes by the instructions,
                // which is none of a linker's business: what the compiler says of the whole object always holds.
                let here = match is_for_target && facts.options.imitates(Imitation::FastPathFromInstructions) {
                    true => fast_path::mask_of_kept(object.sm, said, &kept, &left_out),
                    false => said,
                };
                runs_on = Some(runs_on.map_or(here, |all| all & here));
            }
            match merged.iter_mut().find(|known| known.attribute == record.attribute) {
                Some(known) if matches!(tag, Tag::ISA_CLASS | Tag::MERCURY_ISA_MAJOR_MINOR_VERSION) => {
                    known.value = known.value.max(record.value);
                }
                Some(known) if tag == Tag::INST_TENSORMAP_V1 => known.value |= record.value,
                Some(_) => {}
                None => merged.push(record),
            }
        }
    }
    if target.views == Views::Two && facts.inputs.files().len() == 0 {
        merged.extend(Record::sized(info::Attribute(Tag::CAN_FASTPATH_FINALIZE.0), &[0; 8]));
    }
    // A program of nothing is said to run on no other GPU.
    let runs_on = runs_on.unwrap_or(0).to_le_bytes();
    if let Some(record) = merged.iter_mut().find(|record| record.attribute.0 == Tag::CAN_FASTPATH_FINALIZE.0) {
        record.payload = &runs_on;
    }
    let mut bytes = Vec::new();
    merged.iter().for_each(|record| record.encode(&mut bytes));
    bytes
}

impl<'data> Facts<'_, 'data> {
    /// The machine code of the functions of an input: that of those that are in the output, and that of the others.
    fn code_of(&self, file: FileId) -> (Vec<&'data [u8]>, Vec<&'data [u8]>) {
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for &symbol in &self.inputs.files()[file].functions {
            let Place::Section(code) = self.inputs.symbols()[symbol].place() else { continue };
            let Some(machine) = self.inputs.in_view(code, View::Machine) else { continue };
            let is_live = self.resolution.function(symbol).is_some_and(|function| self.live.contains(function));
            let stays = is_live && self.resolution.fate(symbol) == Fate::Taken;
            if stays { &mut kept } else { &mut left_out }.push(self.inputs.sections()[machine].data);
        }
        (kept, left_out)
    }
}
