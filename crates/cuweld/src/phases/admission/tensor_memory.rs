//! Tensor memory: whether objects agree on how its allocation is recorded in shared memory.
//!
//! CUDA 12 keeps the state of the allocator in several shared variables of the system, CUDA 13 in one. Code that follows one convention
//! does not see what code of the other allocates.

use crate::diagnostics::{Failure, Message, Report};
use crate::id::InputSectionId;
use crate::options::Options;
use crate::phases::load::{Inputs, ObjectFile, Place, Role};
use cubin::info::{self, Attribute};
use cubin::target::Views;

/// How the state of the allocator is recorded.
#[derive(Copy, Clone, Eq, PartialEq)]
enum Convention {
    /// As CUDA 12 does.
    Several,
    /// As CUDA 13 does.
    One,
}

/// The variables, and the convention that they belong to.
const VARIABLES: [(&str, Convention); 5] = [
    ("__nv_reservedSMEM_allocation_phase", Convention::Several),
    ("__nv_reservedSMEM_allocation_mask", Convention::Several),
    ("__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier", Convention::Several),
    ("__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier_parity", Convention::Several),
    ("__nv_reservedSMEM_tcgen05_partition", Convention::One),
];

/// Records of functions that use tensor memory.
const USES: [Attribute; 2] = [Attribute::TCGEN05_1CTA_USED, Attribute::TCGEN05_2CTA_USED];

/// Rejects objects that follow another convention than the first. It is reported once per variable, and per function that uses tensor memory.
pub fn check(inputs: &Inputs<'_>, options: &Options, report: &mut Report) -> Result<(), Failure> {
    if options.target.views == Views::One {
        return Ok(());
    }
    let mut first = None;
    for object in inputs.files().iter() {
        let found = conventions(inputs, object);
        let Some(&convention) = found.first() else { continue };
        if *first.get_or_insert(convention) == convention {
            continue;
        }
        for _ in 0..found.len() + uses(inputs, object) {
            report.say(Message::TensorMemoryMismatch { file: object.name.into() });
        }
        return report.fatal(Message::MergeFailed {});
    }
    Ok(())
}

/// The conventions of an object, one per variable.
fn conventions(inputs: &Inputs<'_>, object: &ObjectFile<'_>) -> Vec<Convention> {
    let is_reserved = |section: InputSectionId| inputs.sections()[section].role == Role::ReservedShared;
    if !object.sections.iter().any(is_reserved) {
        return Vec::new();
    }
    let symbols = object.symbols.iter().map(|id| &inputs.symbols()[id]);
    let reserved = symbols.filter(|symbol| matches!(symbol.place(), Place::Section(section) if is_reserved(section)));
    reserved.filter_map(|symbol| VARIABLES.iter().find(|row| row.0 == symbol.name).map(|row| row.1)).collect()
}

/// How many functions of an object use tensor memory.
fn uses(inputs: &Inputs<'_>, object: &ObjectFile<'_>) -> usize {
    let sections = object.sections.iter().map(|id| &inputs.sections()[id]);
    let info = sections.filter(|section| section.role == Role::FunctionInfo);
    let records = info.flat_map(|section| info::records(section.data).map_while(Result::ok));
    records.filter(|record| USES.contains(&record.attribute)).count()
}
