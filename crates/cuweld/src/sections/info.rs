//! Attribute records (EIATTR) of the module, of functions, and of the stubs of unified functions.

use super::{SectionKind, Settled, Shape};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::info::Section;
use crate::phases::merge::{OutputSection, Plan};
use crate::phases::number::FileSection;
use cubin::elf::SHF_INFO_LINK;
use cubin::section::SectionType;

/// `.nv.info`.
#[derive(Debug)]
pub struct ModuleInfo;

/// `.nv.info.f`.
#[derive(Debug)]
pub struct FunctionInfo;

/// `.nv.info..nv.uft`.
#[derive(Debug)]
pub struct StubsInfo;

impl ModuleInfo {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::INFO, 0, 4);
}

impl FunctionInfo {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::INFO, SHF_INFO_LINK, 4);
}

impl SectionKind for ModuleInfo {
    fn is_needed(&self, settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        settled.info.module_size() > 0
    }

    fn has_symbol(&self, _settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        false
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        (output.symbol_table(part.view), 0)
    }

    fn size(&self, output: &Output<'_, '_>, _part: FileSection) -> u64 {
        output.info.module_size()
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        output.info.write_module(part.view, output.numbering, out);
        Ok(())
    }
}

impl SectionKind for FunctionInfo {
    fn is_one_of_function(&self, _plan: &Plan<'_>, _section: &OutputSection<'_>) -> bool {
        true
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.plan.sections()[id].function.is_some_and(|function| settled.info.linked(function).len() > 0)
    }

    fn is_about_section(&self) -> bool {
        true
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        of_function(output, part).map_or(0, |section| section.len() as u64)
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        if let Some(section) = of_function(output, part) {
            section.write(output.numbering, out);
        }
        Ok(())
    }
}

/// The records of a function in a view.
fn of_function<'all>(output: &'all Output<'_, '_>, part: FileSection) -> Option<Section<'all>> {
    output.plan.sections()[part.section].function.map(|function| output.info.of(function, part.view))
}

impl SectionKind for StubsInfo {
    fn is_about_section(&self) -> bool {
        true
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        output.info.stubs(part.view).len() as u64
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        output.info.stubs(part.view).write(output.numbering, out);
        Ok(())
    }
}
