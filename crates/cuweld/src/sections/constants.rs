//! Constants that the compiler made for a function, and those of the functions that a kernel reaches.

use super::{SectionKind, Settled};
use crate::id::{InputSectionId, SectionId};
use crate::phases::finalize::Output;
use crate::phases::merge::{OutputSection, Piece};
use crate::phases::number::FileSection;
use crate::phases::resolve::Fate;
use crate::views::View;

/// `.nv.constant2.f`.
#[derive(Debug)]
pub struct FunctionConstants;

impl SectionKind for FunctionConstants {
    fn is_needed(&self, settled: &Settled<'_, '_>, id: SectionId) -> bool {
        settled.layout.size(id) > 0
    }

    fn keeps_linked_symbol(&self) -> bool {
        true
    }

    /// The machine view of constants that only a discarded definition of the function had is not known.
    fn source(&self, output: &Output<'_, '_>, section: &OutputSection<'_>, piece: Piece, view: View) -> Option<InputSectionId> {
        match is_of_discarded_definition(output, piece.section, section) {
            true => Some(piece.section),
            false => output.inputs.in_view(piece.section, view),
        }
    }

    fn unchanged<'all>(&self, output: &'all Output<'_, '_>, part: FileSection) -> Option<Vec<(u64, &'all [u8])>> {
        output.unchanged_pieces(part)
    }
}

/// Whether a piece of `section` belongs to a discarded definition of a function, and the prevailing one has none in there.
fn is_of_discarded_definition(output: &Output<'_, '_>, piece: InputSectionId, section: &OutputSection<'_>) -> bool {
    let function = |piece: InputSectionId| {
        let code = output.inputs.sections()[piece].target?;
        let owner = output.inputs.sections()[code].owner?;
        Some((output.resolution.function(owner)?, output.resolution.fate(owner) == Fate::Taken))
    };
    let Some((discarded, false)) = function(piece) else { return false };
    !section.pieces.iter().any(|other| function(other.section) == Some((discarded, true)))
}
