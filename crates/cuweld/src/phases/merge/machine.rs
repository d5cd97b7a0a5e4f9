//! Sections that exist, or look different, because a file has a second view of the program.
//!
//! Only the machine's view knows where the parameters of kernels are, where texture slots are, and where the system's own shared
//! variables start; see [`views`](crate::views).

use super::plan::{Content, Local, Name};
use super::walk::{Facts, Walk};
use crate::id::{FunctionId, InputSectionId, InputSymbolId, SectionId, SymbolId};
use crate::phases::load::Role;
use crate::phases::resolve::is_texture;
use crate::views::TEXTURE_SLOTS;
use cubin::elf::{RelaRecord, SHF_INFO_LINK, SHT_RELA};
use cubin::section::SectionType;

impl Walk<'_, '_> {
    /// A shared variable of the system: behind those that are there, at its alignment, which is its value.
    pub(super) fn reserved_variable(&mut self, id: SymbolId, mention: InputSymbolId, section: InputSectionId) {
        let row = &self.facts.inputs.symbols()[mention];
        let Some(place) = self.plan.placement[section] else { return };
        let output = &mut self.plan.sections[place.section];
        let offset = output.size.next_multiple_of(row.value.max(1));
        output.size = offset + row.size;
        self.plan.reserved.insert(id, offset);
    }

    /// The texture slots of kernels that use any: in the machine's view, behind the parameters.
    pub(super) fn texture_slots(&mut self) {
        let Facts { inputs, resolution, graph, components, live, references, .. } = *self.facts;
        for kernel in references.kernels_that_reach(resolution, graph, components, live, is_texture) {
            let Some(text) = self.plan.functions[kernel].text else { continue };
            let Some(id) = self.parameters_of(text) else { continue };
            let section = &inputs.sections()[id];
            let name = Name::of_function(TEXTURE_SLOTS, resolution.name(kernel));
            let output = self.create_without_symbol(name, Content::TextureSlots, section.kind, section.flags, section.align());
            self.plan.sections[output].target = Some(text);
            let (kind, content) = (SectionType(SHT_RELA), Content::TextureRelocations(kernel));
            let relocations = self.create_for(output, name.relocation(".rela"), content, kind, SHF_INFO_LINK, 8);
            self.plan.sections[relocations].entry_size = RelaRecord::SIZE as u32;
            self.plan.functions[kernel].texture_relocations = Some(relocations);
            self.plan.locals.push(Local::Section(output));
            self.plan.functions[kernel].parameters = Some(output);
            self.append(output, id);
        }
    }

    /// The parameters of a kernel, which only the machine's view has.
    fn parameters_of(&self, text: SectionId) -> Option<InputSectionId> {
        let inputs = self.facts.inputs;
        let machine = inputs.sections()[self.plan.sections[text].pieces.iter().next()?.section].machine?;
        inputs.attached(machine).find(|&id| inputs.sections()[id].role == Role::FunctionConstants(0))
    }

    /// The parameters of every kernel that has no texture slots, in the order of the code. Only the machine's view knows them, so they come behind
    /// everything that is linked, and so do their symbols.
    pub(super) fn machine_parameters(&mut self) {
        let inputs = self.facts.inputs;
        let kernels: Vec<(FunctionId, SectionId)> = (self.plan.sections.enumerate())
            .filter_map(|(id, section)| match section.content {
                Content::Text(function) if section.size > 0 => Some((function, id)),
                _ => None,
            })
            .collect();
        for (function, text) in kernels {
            if self.plan.functions[function].parameters.is_some() {
                continue;
            }
            let Some(id) = self.parameters_of(text) else { continue };
            let section = &inputs.sections()[id];
            let name = Name::of_function(".nv.constant0.", self.facts.resolution.name(function));
            let output =
                self.create_without_symbol(name, Content::MachineParameters, section.kind, section.flags, section.align());
            self.plan.sections[output].target = Some(text);
            self.plan.functions[function].parameters = Some(output);
            self.append(output, id);
        }
    }
}
