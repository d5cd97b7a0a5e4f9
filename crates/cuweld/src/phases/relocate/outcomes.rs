//! The decisions about the relocations of every section.
//!
//! Most sections have none, and code has a few, so sections have no lists of their own: a run of sections shares them.

use super::{Kept, Patch};
use crate::id::{Id, SectionId};
use crate::views::{PerView, View};
use cubin::target::Views;
use rayon::prelude::*;

/// The fate of the relocations of one section.
#[derive(Copy, Clone, Debug)]
pub struct SectionOutcome<'all> {
    /// Those that are kept, in file order.
    pub kept: &'all [Kept],
    /// Those that were applied, in file order, where that is recorded.
    pub resolved: &'all [Kept],
    /// What to write.
    pub patches: &'all [Patch],
}

/// How many sections share their lists.
const RUN: usize = 256;

/// The fate of the relocations of all sections, as each view has them.
#[derive(Debug)]
pub(super) struct Outcomes {
    runs: Vec<PerView<OutcomeRun>>,
}

/// The fate of the relocations of a run of sections, one section after the other.
#[derive(Debug, Default)]
pub(super) struct OutcomeRun {
    /// See [`SectionOutcome::kept`].
    pub kept: Vec<Kept>,
    /// See [`SectionOutcome::resolved`].
    pub resolved: Vec<Kept>,
    /// See [`SectionOutcome::patches`].
    pub patches: Vec<Patch>,
    /// Where in the three lists each section ends.
    ends: Vec<[u32; 3]>,
}

impl Outcomes {
    /// Decides about the relocations of all sections. `decide` appends those that a section has in a view to a run.
    pub(super) fn of<Section: Sync, Error: Send>(
        sections: &[Section],
        views: Views,
        decide: impl Fn(&Section, View, &mut OutcomeRun) -> Result<(), Error> + Sync,
    ) -> Result<Self, Error> {
        let run = |sections: &[Section]| {
            let mut runs = PerView::new(views, |_| OutcomeRun::default());
            // One view after the other, so that one list at a time grows.
            for (view, run) in runs.iter_mut() {
                run.ends.reserve(sections.len());
                for section in sections {
                    decide(section, view, run)?;
                    run.ends.push([run.kept.len() as u32, run.resolved.len() as u32, run.patches.len() as u32]);
                }
            }
            Ok(runs)
        };
        Ok(Outcomes { runs: sections.par_chunks(RUN).map(run).collect::<Result<_, Error>>()? })
    }

    /// The fate of those that one section has in a view.
    pub(super) fn section(&self, section: SectionId, view: View) -> SectionOutcome<'_> {
        let (run, place) = (self.runs[section.index() / RUN].of(view), section.index() % RUN);
        let start = place.checked_sub(1).map_or([0; 3], |before| run.ends[before]);
        let range = |list: usize| start[list] as usize..run.ends[place][list] as usize;
        SectionOutcome { kept: &run.kept[range(0)], resolved: &run.resolved[range(1)], patches: &run.patches[range(2)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::relocation::RelocationType;

    #[test]
    fn every_section_finds_its_own() {
        let patch = |offset| Patch { offset, kind: RelocationType::R_CUDA_NONE, value: 0, bank: None, add: false };
        let sections: Vec<u64> = (0..1000).collect();
        for (views, view, count) in
            [(Views::One, View::Machine, 3), (Views::Two, View::Machine, 3), (Views::Two, View::Mercury, 4)]
        {
            let outcomes = Outcomes::of(&sections, views, |&section, view, run| {
                let count = if view == View::Mercury { section % 4 } else { section % 3 };
                run.patches.extend((0..count).map(|_| patch(section)));
                Ok::<(), ()>(())
            });
            for section in 0..1000 {
                let found = outcomes.as_ref().map(|all| all.section(SectionId::from_index(section), view).patches.to_vec());
                let offsets: Vec<u64> = found.unwrap_or_default().iter().map(|patch| patch.offset).collect();
                assert_eq!(offsets, vec![section as u64; section % count]);
            }
        }
    }
}
