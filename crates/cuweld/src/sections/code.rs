//! Code of a function.

use super::{InViews, SectionKind, Settled};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::merge::{OutputSection, Plan};
use crate::phases::number::FileSection;
use crate::stubs::{self, TableForm};
use crate::views::View;
use cubin::section::SectionType;
use cubin::unified::STUB_SIZE;

/// `.text.f`. The code of a function is never merged with another's.
#[derive(Debug)]
pub struct FunctionCode;

impl SectionKind for FunctionCode {
    fn in_views(&self) -> InViews {
        InViews::EachAsCode
    }

    /// In a relocatable file, a stub of a unified function is code like any other, but for its type.
    fn entry_size(&self, section_type: SectionType) -> u32 {
        if section_type == SectionType::UNIFIED_FUNCTIONS { STUB_SIZE as u32 } else { 0 }
    }

    fn is_one_of_function(&self, _plan: &Plan<'_>, _section: &OutputSection<'_>) -> bool {
        true
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        let Some(function) = output.plan.sections()[part.section].function else { return (0, 0) };
        let registers = match output.options.target.registers_in_text_header {
            true => output.attributes.of(function).registers << 24,
            false => 0,
        };
        (output.symbol_table(part.view), output.function_number(function) | registers)
    }

    fn size(&self, output: &Output<'_, '_>, FileSection { section, view }: FileSection) -> u64 {
        let piece = output.plan.sections()[section].pieces.iter().next();
        let source = piece.and_then(|piece| output.inputs.in_view(piece.section, view));
        source.map_or(0, |source| output.inputs.sections()[source].size)
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        output.write_pieces(part, out)?;
        if output.plan.sections()[part.section].section_type == SectionType::UNIFIED_FUNCTIONS {
            write_stub(output, part.view, out);
        }
        if part.view == View::Mercury {
            name_companion(output, part.section, out);
        }
        Ok(())
    }
}

/// Since stubs are filled up by themselves, those of a relocatable file are as in a table, but for a second branch.
fn write_stub(output: &Output<'_, '_>, view: View, out: &mut [u8]) {
    let form = output.unified.form();
    if form == TableForm::CommonEnd {
        return;
    }
    let stub = out.to_vec();
    match view {
        View::Only => {}
        View::Machine => {
            form.write_machine(&[&stub], output.options.debug, out);
            stubs::write_second_branch(&stub, out);
        }
        View::Mercury => {
            if let Some(capsule) = form.capsule(&[&stub]).filter(|capsule| capsule.len() == out.len()) {
                out.copy_from_slice(&capsule);
            }
        }
    }
}

/// A capsule starts with the number of the section of machine code that it is coded against.
pub(super) fn name_companion(output: &Output<'_, '_>, section: SectionId, capsule: &mut [u8]) {
    if let Some(companion) = capsule.get_mut(..4) {
        companion.copy_from_slice(&output.numbering.section(section, View::Machine).to_le_bytes());
    }
}
