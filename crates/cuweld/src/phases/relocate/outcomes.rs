//! What became of the relocations of every section.
//!
//! Most sections have none, and code has a few, so no section has lists of its own: a run of sections shares them.

use super::{Kept, Patch};
use crate::id::{Id, SectionId};
use rayon::prelude::*;

/// What became of the relocations of one section.
#[derive(Copy, Clone, Debug)]
pub struct Outcome<'all> {
    /// Those that stay, in file order.
    pub kept: &'all [Kept],
    /// Those that were applied, in file order, where that is recorded.
    pub resolved: &'all [Kept],
    /// What to write.
    pub patches: &'all [Patch],
}

/// How many sections share their lists.
const RUN: usize = 256;

/// What became of the relocations of all sections.
#[derive(Debug)]
pub(super) struct Outcomes {
    runs: Vec<Run>,
}

/// What became of the relocations of a run of sections, one section behind the other.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// See [`Outcome::kept`].
    pub kept: Vec<Kept>,
    /// See [`Outcome::resolved`].
    pub resolved: Vec<Kept>,
    /// See [`Outcome::patches`].
    pub patches: Vec<Patch>,
    /// Where in the three lists each section ends.
    ends: Vec<[u32; 3]>,
}

impl Outcomes {
    /// Decides about the relocations of all sections. `decide` appends those of one section to a run.
    pub(super) fn of<Section: Sync, Error: Send>(
        sections: &[Section],
        decide: impl Fn(&Section, &mut Run) -> Result<(), Error> + Sync,
    ) -> Result<Self, Error> {
        let run = |sections: &[Section]| {
            let mut run = Run::default();
            for section in sections {
                decide(section, &mut run)?;
                run.ends.push([run.kept.len() as u32, run.resolved.len() as u32, run.patches.len() as u32]);
            }
            Ok(run)
        };
        Ok(Outcomes { runs: sections.par_chunks(RUN).map(run).collect::<Result<_, Error>>()? })
    }

    /// What became of those of one section.
    pub(super) fn section(&self, section: SectionId) -> Outcome<'_> {
        let (run, place) = (&self.runs[section.index() / RUN], section.index() % RUN);
        let start = place.checked_sub(1).map_or([0; 3], |before| run.ends[before]);
        let range = |list: usize| start[list] as usize..run.ends[place][list] as usize;
        Outcome { kept: &run.kept[range(0)], resolved: &run.resolved[range(1)], patches: &run.patches[range(2)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::relocation::RelocationType;

    #[test]
    fn every_section_finds_its_own() {
        let patch = |offset| Patch { offset, kind: RelocationType(0), value: 0, bank: None, add: false };
        let sections: Vec<u64> = (0..1000).collect();
        let outcomes = Outcomes::of(&sections, |&section, run| {
            run.patches.extend((0..section % 3).map(|_| patch(section)));
            Ok::<(), ()>(())
        });
        for section in 0..1000 {
            let found = outcomes.as_ref().map(|all| all.section(SectionId::from_index(section)).patches.to_vec());
            let offsets: Vec<u64> = found.unwrap_or_default().iter().map(|patch| patch.offset).collect();
            assert_eq!(offsets, vec![section as u64; section % 3]);
        }
    }
}
