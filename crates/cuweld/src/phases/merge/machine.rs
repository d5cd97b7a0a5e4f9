//! Sections that exist or differ because a file has two views of the program.
//!
//! Only the machine view has the offsets of kernel parameters, texture slots, and the system's shared variables; see
//! [`views`](crate::views).

use super::plan::{Local, Name};
use super::walk::{Facts, Walk};
use crate::id::{FunctionId, InputSectionId, InputSymbolId, SectionId, SymbolId};
use crate::phases::load::Role;
use crate::phases::resolve::is_texture;
use crate::sections::{
    CompiledTextureSlots, KeptRelocations, MachineParameters, Parameters, SectionKind, Shape, TextureRelocations, TextureSlots,
};
use crate::views::TEXTURE_SLOTS;

impl<'data> Walk<'_, 'data> {
    /// A shared variable of the system.
    pub(super) fn reserved_variable(&mut self, id: SymbolId, mention: InputSymbolId, section: InputSectionId) {
        if let Some(place) = self.plan.at(section) {
            self.reserved.push((id, mention, place.section));
        }
    }

    /// Places the shared variables of the system: the widest alignment first, which is their value, and of these the last.
    pub(super) fn place_reserved(&mut self) {
        let symbols = self.facts.inputs.symbols();
        let align = |mention: InputSymbolId| symbols[mention].value.max(1);
        let mut variables = std::mem::take(&mut self.reserved);
        variables.reverse();
        variables.sort_by_key(|&(_, mention, _)| std::cmp::Reverse(align(mention)));
        for (id, mention, section) in variables {
            let output = &mut self.plan.sections[section];
            let offset = output.size.next_multiple_of(align(mention));
            output.size = offset + symbols[mention].size;
            self.plan.reserved.insert(id, offset);
        }
    }

    /// The parameters of a kernel. After them the linker adds slots for textures, so relocations come with them.
    pub(super) fn parameters(&mut self, id: InputSectionId) {
        let section = &self.facts.inputs.sections()[id];
        let Some(function) = section.target.and_then(|code| self.function_of(code)) else { return };
        let Some(text) = self.plan.functions[function].text else { return };
        let (start, kind): (_, &'static dyn SectionKind) = match self.facts.options.linked().has_parameters {
            true => (".nv.constant0.", &Parameters),
            false => (TEXTURE_SLOTS, &CompiledTextureSlots),
        };
        let name = Name::of_function(start, self.facts.resolution.name(function));
        match self.plan.functions[function].parameters {
            None => {
                let output = self.create_parameters(function, text, name, kind, Shape::of(section));
                if self.facts.options.lays_out_kernels() {
                    self.slot_relocations(function, id, output);
                }
                self.plan.locals.push(Local::Section(output));
                self.append(output, id);
            }
            // While the kernel is weak, all definitions have the same parameters. Once it is strong, the reference linker appends.
            Some(output) if self.is_strong_by(function, id) => self.append(output, id),
            Some(output) => self.plan.place(id, output, 0),
        }
    }

    /// The texture slots of kernels that use any: in the machine view, after the parameters.
    pub(super) fn texture_slots(&mut self) {
        let Facts { inputs, resolution, usage, references, .. } = *self.facts;
        for kernel in usage.kernels_that_refer(resolution, references, is_texture) {
            let Some(text) = self.plan.functions[kernel].text else { continue };
            let Some(id) = self.parameters_of(text) else { continue };
            let section = &inputs.sections()[id];
            let name = Name::of_function(TEXTURE_SLOTS, resolution.name(kernel));
            let output = self.create_parameters(kernel, text, name, &TextureSlots, Shape::of(section));
            let (_, prefix, shape) = KeptRelocations::of(true);
            self.texture_relocations(kernel, output, prefix, shape);
            self.plan.locals.push(Local::Section(output));
            self.append(output, id);
        }
    }

    /// Creates the parameter bank of a kernel.
    pub(super) fn create_parameters(
        &mut self,
        kernel: FunctionId,
        text: SectionId,
        name: Name<'data>,
        kind: &'static dyn SectionKind,
        shape: Shape,
    ) -> SectionId {
        let id = self.create_without_symbol(name, kind, shape);
        let section = &mut self.plan.sections[id];
        (section.target, section.function) = (Some(text), Some(kernel));
        self.plan.functions[kernel].parameters = Some(id);
        id
    }

    /// Creates the relocations that fill the texture slots in the parameter bank of a kernel.
    pub(super) fn texture_relocations(&mut self, kernel: FunctionId, bank: SectionId, prefix: &'static str, shape: Shape) {
        let name = self.plan.sections[bank].name.relocation(prefix);
        let id = self.create_for(bank, name, &TextureRelocations, shape);
        self.plan.sections[id].function = Some(kernel);
        self.plan.functions[kernel].texture_relocations = Some(id);
    }

    /// The relocations that fill texture slots in a parameter bank. Where the compiler made the slots, its own do, and these are left out
    /// but for their name.
    pub(super) fn slot_relocations(&mut self, kernel: FunctionId, bank: InputSectionId, output: SectionId) {
        let Facts { inputs, options, .. } = *self.facts;
        let explicit_addends = options.force_explicit_addends || options.linked().has_addends;
        let (_, prefix, shape) = KeptRelocations::of(explicit_addends);
        let flags = if explicit_addends { shape.flags } else { 0 };
        self.texture_relocations(kernel, output, prefix, Shape { flags, ..shape });
        if inputs.slot_relocations(bank).next().is_some() {
            self.plan.functions[kernel].texture_relocations = None;
        }
    }

    /// The parameters of a kernel, which only the machine view has.
    fn parameters_of(&self, text: SectionId) -> Option<InputSectionId> {
        let inputs = self.facts.inputs;
        let machine = inputs.sections()[self.plan.sections[text].pieces.iter().next()?.section].machine?;
        inputs.attached(machine).find(|&id| inputs.sections()[id].role == Role::FunctionConstants(0))
    }

    /// The parameters of every kernel that has no texture slots, in the order of the code. Only the machine view knows them, so they come after
    /// everything that is linked, and so do their symbols.
    pub(super) fn machine_parameters(&mut self) {
        let inputs = self.facts.inputs;
        let kernels: Vec<(FunctionId, SectionId)> = (self.plan.sections.enumerate())
            .filter(|(_, section)| section.size > 0)
            .filter_map(|(id, section)| Some((section.code_of()?, id)))
            .collect();
        for (function, text) in kernels {
            if self.plan.functions[function].parameters.is_some() {
                continue;
            }
            let Some(id) = self.parameters_of(text) else { continue };
            let section = &inputs.sections()[id];
            let name = Name::of_function(".nv.constant0.", self.facts.resolution.name(function));
            let output = self.create_parameters(function, text, name, &MachineParameters, Shape::of(section));
            self.append(output, id);
        }
    }
}
