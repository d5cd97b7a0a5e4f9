//! Debug information. Where there are two views, that of the machine view is built by the phase `machine_debug`.

use super::{Bytes, Class, SectionKind, Settled};
use crate::id::SectionId;
use crate::phases::finalize::Output;
use crate::phases::machine_debug::MachineContents;
use crate::phases::merge::OutputSection;
use crate::phases::number::FileSection;
use crate::views::View;
use cubin::release::Rule;

/// `.debug_*` and `.nv_debug_*`.
#[derive(Debug)]
pub struct Debug;

/// How the names of debug sections start that have the same bytes in both views: what they say depends on no address.
const SAME_IN_BOTH_VIEWS: [&str; 7] =
    [".debug_abbrev", ".debug_str", ".debug_loc", ".debug_macinfo", ".debug_pubnames", ".debug_pubtypes", ".nv_debug_ptx_txt"];

impl SectionKind for Debug {
    fn class(&self, section: &OutputSection<'_>) -> Class {
        if section.flags == 0 { Class::Debug } else { Class::by_flags(section.flags) }
    }

    fn is_debug(&self) -> bool {
        true
    }

    /// Objects without functions have empty ones, which are kept without a symbol.
    fn has_symbol(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn bytes(&self, output: &Output<'_, '_>, part: FileSection) -> Bytes {
        let name = output.plan.sections()[part.section].name.stem;
        let is_same = || {
            SAME_IN_BOTH_VIEWS.iter().any(|start| name.starts_with(start))
                || (name == ".debug_info" && output.inputs.release().has(Rule::DebugInfoOfMachine))
                || output.machine_debug.of(part.section).is_some_and(|contents| contents.is_shared)
        };
        if part.view == View::Mercury && is_same() { Bytes::Shared } else { Bytes::Written }
    }

    fn size(&self, output: &Output<'_, '_>, part: FileSection) -> u64 {
        built(output, part).map_or_else(|| output.layout.size(part.section), MachineContents::size)
    }

    fn write(&self, output: &Output<'_, '_>, part: FileSection, _first: usize, out: &mut [u8]) -> cubin::Result<()> {
        match built(output, part) {
            Some(contents) => contents.write(out),
            None => output.write_pieces(part, out)?,
        }
        Ok(())
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        match built(output, part) {
            Some(contents) => contents.unchanged(),
            None => output.unchanged_pieces(part),
        }
    }
}

/// The machine view of a section, if it was rebuilt.
fn built<'all, 'data>(output: &'all Output<'_, 'data>, part: FileSection) -> Option<&'all MachineContents<'data>> {
    output.machine_debug.of(part.section).filter(|_| part.view == View::Machine)
}
