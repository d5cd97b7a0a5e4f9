//! Notes: who made the file, and for which toolkit and virtual architecture.

use super::Facts;
use crate::phases::load::Role;
use cubin::note::CudaInfo;

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
