//! Fields of Mercury instructions that a capsule holds verbatim.
//!
//! Offsets of relocations in the Mercury view are offsets in the code that the capsule encodes, which is not decoded here. But each
//! corresponds to a relocation of the machine code, in the same order; that one's offset identifies the machine instruction, and so the Mercury
//! instruction that it was made from.

use crate::id::{FileId, InputSectionId};
use crate::phases::load::{Inputs, Role};
use cubin::capsule::{Capsule, INSTRUCTION_SIZE, Verbatim};

/// The symbol of the Mercury view that machine code has resolved already: relocations against it have no counterpart there.
const RESOLVED_IN_MACHINE_CODE: &str = ".nv.reservedSmem.cap";

/// Where the fields are that the relocations of one function's Mercury code change.
pub(super) struct CapsuleFields {
    verbatim: Vec<Verbatim>,
    /// Per relocation: the offset of its counterpart in the machine code.
    machine: Vec<Option<u64>>,
}

impl CapsuleFields {
    /// Looks at the capsule `code` and its relocations.
    pub(super) fn of(
        inputs: &Inputs<'_>,
        file: FileId,
        code: InputSectionId,
        relocations: InputSectionId,
    ) -> cubin::Result<Self> {
        let section = &inputs.sections()[code];
        let lists = section.machine.into_iter().flat_map(|machine| inputs.attached(machine));
        let mut of_machine = lists
            .filter(|&list| matches!(inputs.sections()[list].role, Role::Relocations { .. }))
            .flat_map(|list| inputs.relocations(file, list))
            .map(|entry| entry.offset);
        let machine = inputs
            .relocations(file, relocations)
            .map(|entry| match entry.symbol {
                Some(symbol) if inputs.symbols()[symbol].name == RESOLVED_IN_MACHINE_CODE => None,
                _ => of_machine.next(),
            })
            .collect();
        Ok(CapsuleFields { verbatim: Capsule::new(section.data)?.verbatim()?, machine })
    }

    /// Where in the capsule the field of a relocation is: nowhere, unless its instruction is stored verbatim.
    pub(super) fn offset(&self, relocation: usize, offset: u64) -> Option<u64> {
        let instruction = self.machine.get(relocation).copied().flatten()? / INSTRUCTION_SIZE;
        let index = self.verbatim.partition_point(|one| one.machine.end <= instruction);
        let found = self.verbatim.get(index).filter(|one| one.machine.contains(&instruction))?;
        // The operands are in the last part of an instruction that has several.
        Some(found.stored.end as u64 - INSTRUCTION_SIZE + offset % INSTRUCTION_SIZE)
    }
}
