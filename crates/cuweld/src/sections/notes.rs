//! Notes: the linker, toolkit and virtual architecture of the file, where its code runs, and sections that the caller or the driver asks
//! for.

use super::{Bytes, InViews, SectionKind, Settled, Shape, compatibility};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::load::Role;
use crate::phases::number::FileSection;
use crate::views::View;
use cubin::elf::{SHF_INFO_LINK, SHT_NOTE};
use cubin::note::CudaInfo;
use cubin::release::{Release, Rule};
use cubin::relocation::{Part, RelocationType};
use cubin::section::SectionType;

/// `.note.nv.tkinfo`: the notes of the tools.
#[derive(Debug)]
pub struct ToolNotes;

/// `.note.nv.cuinfo`: the note of the toolkit and the virtual architecture.
#[derive(Debug)]
pub struct CudaNote;

/// `.nv.compat`: what decides on which GPUs the code runs.
#[derive(Debug)]
pub struct Compatibility;

/// `.nv.rel.action`: a description of a relocation type, for the driver.
#[derive(Debug)]
pub struct RelocationActions;

/// `.nv.host`: what the caller gave for the host (`-nv-host`).
#[derive(Debug)]
pub struct Host;

impl ToolNotes {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType(SHT_NOTE), 0x0200_0000, 4);
}

impl CudaNote {
    /// Its name in files of a release.
    pub fn name(release: &Release) -> &'static str {
        if release.has(Rule::Cuda13Files) { ".note.nv.cuinfo" } else { ".note.nv.cuver" }
    }

    /// What it starts with.
    pub fn shape(has_compat: bool) -> Shape {
        Shape::new(SectionType(SHT_NOTE), 0x0100_0000 | if has_compat { SHF_INFO_LINK } else { 0 }, 4)
    }
}

impl Compatibility {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::COMPAT, 0, 4);
}

impl RelocationActions {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::RELOCATION_ACTION, 0, 8);
}

impl Host {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::EMBEDDED_HOST, 0, 8);
}

impl SectionKind for ToolNotes {
    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn has_symbol(&self, settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        settled.inputs.release().has(Rule::Cuda13Files)
    }

    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(tools(output))
    }
}

impl SectionKind for CudaNote {
    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn link_and_info(&self, output: &Output<'_, '_>, _part: FileSection) -> (u32, u32) {
        let number = |id: SectionId| output.numbering.section(id, View::Machine);
        (output.plan.tool_notes().map_or(0, number), output.plan.compatibility().map_or(0, number))
    }

    fn has_symbol(&self, settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        settled.inputs.release().has(Rule::Cuda13Files)
    }

    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(cuda(output))
    }
}

impl SectionKind for Compatibility {
    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }

    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(compatibility::make(output))
    }
}

impl SectionKind for RelocationActions {
    fn in_views(&self) -> InViews {
        InViews::Once
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        8
    }

    fn bytes(&self, _output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(relocation_actions().to_vec())
    }
}

impl SectionKind for Host {
    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        Bytes::Made(output.options.host_section.clone().unwrap_or_default())
    }
}

/// Describes the relocation type that older drivers do not know: its number, and the widths and first bits of its field.
fn relocation_actions() -> [u8; 16] {
    let described = RelocationType::R_CUDA_CONST_FIELD22_37;
    let field = described.row().map(|row| row.field).unwrap_or_default();
    let bits = |part: Part| field.iter().find(|bits| bits.part == part).map_or([0; 2], |bits| [bits.width, bits.first_bit]);
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&described.0.to_le_bytes());
    bytes[11..13].copy_from_slice(&bits(Part::Value));
    bytes[14..].copy_from_slice(&bits(Part::Bank));
    bytes
}

/// The linker's own note, then those of the inputs, in link order. A relocatable output has the linker's alone.
fn tools(facts: &Output<'_, '_>) -> Vec<u8> {
    let mut bytes = facts.options.note.encode(facts.inputs.release());
    if facts.options.is_for_driver() {
        let ids = facts.inputs.files().iter().flat_map(|object| object.sections.iter().chain(object.machine_sections.iter()));
        let sections = ids.map(|id| &facts.inputs.sections()[id]).filter(|section| section.role == Role::ToolNotes);
        let notes: Vec<&[u8]> = sections.map(|section| section.data).collect();
        bytes.reserve_exact(notes.iter().map(|note| note.len()).sum());
        notes.iter().for_each(|note| bytes.extend_from_slice(note));
    }
    bytes
}

/// The note of the toolkit, with the oldest virtual architecture of all inputs.
fn cuda(facts: &Output<'_, '_>) -> Vec<u8> {
    let oldest = facts.inputs.files().iter().filter_map(|file| file.virtual_sm).min();
    let virtual_sm = oldest.unwrap_or(facts.options.target.number);
    let release = facts.inputs.release();
    match release.has(Rule::Cuda13Files) {
        true => CudaInfo { note_version: cubin::note::LAYOUT_VERSION, virtual_sm: virtual_sm as u16, toolkit: release.toolkit }
            .encode(),
        false => cubin::note::encode_cuda_12(virtual_sm as u16),
    }
}
