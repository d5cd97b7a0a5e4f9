//! Files of CUDA 12: barriers are in the upper flags of code sections, and `.nv.compat` stands where the first object has it.

use super::Facts;
use super::plan::Name;
use super::walk::Walk;
use crate::id::{FileId, FunctionId, Id, InputSectionId};
use crate::phases::propagate::barriers;
use crate::sections::Compatibility;
use cubin::section::BARRIER_SHIFT;

impl Facts<'_, '_> {
    /// What the flags of a function's code say of barriers, when those of its object are `flags`. In an executable of CUDA 13 a record says it;
    /// in one of CUDA 12, a kernel's flags say what is true of all that it reaches.
    pub(super) fn barriers_in_flags(&self, function: FunctionId, flags: u64) -> u64 {
        let own = flags >> BARRIER_SHIFT << BARRIER_SHIFT;
        let properties = self.properties.of(function);
        if !self.options.knows_all_callees() || properties.is_some_and(|properties| properties.keeps_barriers_of_section) {
            return own;
        }
        match (self.options.target.is_of_cuda_12(self.inputs.release()), properties) {
            (false, _) => 0,
            (true, None) => own,
            (true, Some(properties)) => u64::from(barriers(properties).unwrap_or(0)) << BARRIER_SHIFT,
        }
    }
}

impl Walk<'_, '_> {
    /// Creates `.nv.compat`.
    pub(super) fn create_compatibility(&mut self) {
        let id = self.create(Name::plain(".nv.compat"), &Compatibility, Compatibility::SHAPE);
        self.plan.fixed.compatibility = Some(id);
    }

    /// Creates `.nv.compat` where the first object that has it does in the machine's view, if it was not created before everything.
    /// `next` is the section of the object whose turn it is; there is none at the end.
    pub(super) fn meet_compatibility(&mut self, file: FileId, next: Option<InputSectionId>) {
        let object = &self.facts.inputs.files()[file];
        let (None, Some(in_front)) = (self.plan.fixed.compatibility, object.in_front_of_compatibility) else { return };
        if next.is_none_or(|next| next.index() >= object.machine_sections.first().index() + in_front) {
            self.create_compatibility();
        }
    }
}
