//! Sections of unified functions and variables.
//!
//! In an executable, all stubs are in one section, in the slots that the index gives them; in a relocatable file each has its own.
//! The entries of functions stand before an executable, those of variables where the first object has them.

use super::plan::{Name, Piece};
use super::walk::Walk;
use crate::id::{FunctionId, InputSectionId};
use crate::phases::load::UnifiedTable;
use crate::sections::{FunctionInfo, RelocatableUnifiedData, StubsInfo, UnifiedData, UnifiedEntries, UnifiedStubs};
use cubin::unified::STUB_SIZE;

impl Walk<'_, '_> {
    /// The entries of an object join those of the others.
    pub(super) fn place_unified_entries(&mut self, id: InputSectionId, table: UnifiedTable) {
        let section = &self.facts.inputs.sections()[id];
        if !self.by_name.contains_key(section.name) {
            let (kind, shape) = UnifiedEntries::of(table, section.align());
            let output = self.create(Name::plain(section.name), kind, shape);
            self.by_name.insert(section.name, output);
        }
    }

    /// The variables of an object join those of the others. In an executable, each of them has its own offset.
    pub(super) fn place_unified_data(&mut self, id: InputSectionId) {
        if !self.facts.options.places_unified() {
            return self.append_by_name(id, &RelocatableUnifiedData);
        }
        self.append_by_name(id, &UnifiedData);
        if let Some(place) = self.plan.at(id) {
            self.plan.sections[place.section].size = self.facts.unified.data_size();
        }
    }

    /// The stub of a unified function, in an executable.
    pub(super) fn stub(&mut self, stub: FunctionId, code: InputSectionId) {
        let section = &self.facts.inputs.sections()[code];
        let table = match self.plan.unified_stubs {
            Some(table) => table,
            None => {
                let table = self.create(Name::plain(".nv.uft"), &UnifiedStubs, UnifiedStubs::shape(section.align()));
                self.create_for(table, Name::plain(".nv.info..nv.uft"), &StubsInfo, FunctionInfo::SHAPE);
                self.plan.unified_stubs = Some(table);
                table
            }
        };
        // The link has ended already if a stub has no slot.
        let offset = self.facts.unified.slot(stub).unwrap_or(0);
        self.plan.functions[stub].text = Some(table);
        self.plan.place(code, table, offset);
        let row = &mut self.plan.sections[table];
        row.align = row.align.max(section.align());
        row.size += STUB_SIZE;
        row.pieces.push(Piece::new(code, offset));
    }
}
