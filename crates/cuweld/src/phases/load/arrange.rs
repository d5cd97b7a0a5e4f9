//! Which view the sections of an object belong to, and how they are numbered.
//!
//! The sections of the linked view come first, in file order; their twins of the machine view come last, so that a walk over the linked ones
//! never meets them. [`views`](crate::views) describes the two views.

use crate::id::{Id, InputSectionId};
use crate::views::{self, CAPSULE_PREFIX, MERCURY_PREFIX};
use cubin::capsule::Capsule;
use cubin::elf::{SHF_CUDA_MERCURY, SHF_EXECINSTR, SHT_PROGBITS};
use cubin::read::Section;
use cubin::section::SectionType;
use cubin::target::Views;
use std::collections::HashMap;

/// The arrangement of an object's sections.
pub(super) struct Arrangement {
    /// The sections' numbers in the file, in the order of their ids.
    order: Vec<u32>,
    ids: Vec<InputSectionId>,
    machine: Vec<Option<u32>>,
    linked_side: Vec<Option<u32>>,
    linked: usize,
}

impl Arrangement {
    /// Arranges sections. `Err`: the section whose other side can not be found.
    pub(super) fn of<'data>(sections: &[Section<'data>], views: Views) -> Result<Self, u32> {
        let mut machine = vec![None; sections.len()];
        let mut linked_side = vec![None; sections.len()];
        if views == Views::Two {
            let mut search = Search::new(sections);
            let is_table =
                |section: &&Section<'_>| matches!(section.kind(), SectionType::MERCURY_SYMTAB | SectionType::SYMTAB_SHNDX);
            for section in sections.iter().filter(|section| is_mercury(section)).filter(|section| !is_table(section)) {
                let twin = match section.kind() {
                    SectionType::CAPSULE => Capsule::new(section.data).ok().map(|capsule| capsule.companion()),
                    _ => {
                        let plain = plain_name(section);
                        let (start, rest) = views::machine_name(plain).unwrap_or(("", plain));
                        search.find(start, rest)
                    }
                };
                // Both have bytes in the file, or neither: the size of one says how many the other has in the result.
                let fits = |twin: &Section<'_>| {
                    !is_mercury(twin)
                        && twin.kind() != SectionType::NULL
                        && section.kind().is_no_bits() == twin.kind().is_no_bits()
                        && (is_machine_code(twin) || !is_code(section))
                };
                let twin = twin.filter(|&twin| sections.get(twin as usize).is_some_and(fits));
                let twin = twin.ok_or(section.index)?;
                machine[section.index as usize] = Some(twin);
                linked_side[twin as usize] = Some(section.index);
            }
            if let Some(section) = left_over(sections, &linked_side) {
                return Err(section);
            }
        }
        let is_machine_only = |section: &&Section<'_>| {
            linked_side[section.index as usize].is_some() || (views == Views::Two && section.kind() == SectionType::CONSTANT_0)
        };
        let mut order = Vec::with_capacity(sections.len());
        order.extend(sections.iter().filter(|section| !is_machine_only(section)).map(|section| section.index));
        let linked = order.len();
        order.extend(sections.iter().filter(is_machine_only).map(|section| section.index));
        let mut ids = vec![InputSectionId::from_index(0); sections.len()];
        for (place, &index) in order.iter().enumerate() {
            ids[index as usize] = InputSectionId::from_index(place);
        }
        Ok(Arrangement { order, ids, machine, linked_side, linked })
    }

    /// The sections' numbers in the file, in the order of their ids.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// How many sections are linked; the others are after them.
    pub(super) fn linked(&self) -> usize {
        self.linked
    }

    /// The id of the section that has this number in the file.
    pub(super) fn id(&self, index: u32) -> Option<InputSectionId> {
        self.ids.get(index as usize).copied()
    }

    /// The section that `section` means by a number: of the same view, where there are two.
    pub(super) fn target(&self, section: &Section<'_>, number: u32) -> Option<InputSectionId> {
        let is_linked = self.id(section.index).is_some_and(|id| id.index() < self.linked);
        let linked_side = self.linked_side.get(number as usize).copied().flatten();
        self.id(linked_side.filter(|_| is_linked).unwrap_or(number))
    }

    /// The machine's side of the section that has this number in the file.
    pub(super) fn machine(&self, index: u32) -> Option<InputSectionId> {
        self.machine.get(index as usize).copied().flatten().and_then(|twin| self.id(twin))
    }
}

/// The first section that has the name of the machine's side of another, but no other side: one of the two views would lack it.
fn left_over(sections: &[Section<'_>], linked_side: &[Option<u32>]) -> Option<u32> {
    let is_twin = |section: &&Section<'_>| linked_side[section.index as usize].is_some();
    let named = || sections.iter().filter(|section| !is_mercury(section) && !is_code(section));
    // There are many twins, and few others.
    let mut others: HashMap<&str, u32, foldhash::fast::RandomState> = HashMap::default();
    for other in named().filter(|section| !is_twin(section)) {
        others.entry(other.name).or_insert(other.index);
    }
    named().filter(is_twin).filter_map(|twin| others.get(twin.name)).min().copied()
}

/// The search for the machine's sides of sections. They stand in the same order, so the next one is nearly always near.
struct Search<'file, 'data> {
    sections: &'file [Section<'data>],
    next: usize,
    /// The sections by name, once that order was found to be another.
    by_name: Option<HashMap<&'data str, Vec<u32>, foldhash::fast::RandomState>>,
}

impl<'file, 'data> Search<'file, 'data> {
    fn new(sections: &'file [Section<'data>]) -> Self {
        Search { sections, next: 0, by_name: None }
    }

    /// The next section whose name consists of these two parts.
    fn find(&mut self, start: &str, rest: &str) -> Option<u32> {
        if self.by_name.is_none() {
            let is_meant = |section: &Section<'_>| section.name.strip_prefix(start) == Some(rest) && !is_mercury(section);
            if let Some(ahead) = self.sections.get(self.next..)?.iter().position(is_meant) {
                self.next += ahead + 1;
                return u32::try_from(self.next - 1).ok();
            }
            let mut by_name: HashMap<&'data str, Vec<u32>, _> = HashMap::default();
            for section in self.sections.iter().filter(|section| !is_mercury(section)).rev() {
                by_name.entry(section.name).or_default().push(section.index);
            }
            self.by_name = Some(by_name);
        }
        self.by_name.as_mut()?.get_mut([start, rest].concat().as_str())?.pop()
    }
}

/// Whether a section belongs to the Mercury view alone.
pub(super) fn is_mercury(section: &Section<'_>) -> bool {
    section.header.flags & SHF_CUDA_MERCURY != 0
}

/// Whether a section holds code of either view.
pub(super) fn is_code(section: &Section<'_>) -> bool {
    section.kind() == SectionType::CAPSULE || section.header.flags & SHF_EXECINSTR != 0
}

/// Whether a section holds machine code.
fn is_machine_code(section: &Section<'_>) -> bool {
    let is_of_code = matches!(section.kind(), SectionType(SHT_PROGBITS) | SectionType::UNIFIED_FUNCTIONS);
    is_of_code && section.header.flags & SHF_EXECINSTR != 0 && !section.data.is_empty()
}

/// The name of a section without what marks it as one of the Mercury view.
pub(super) fn plain_name<'data>(section: &Section<'data>) -> &'data str {
    if !is_mercury(section) {
        return section.name;
    }
    let stripped = section.name.strip_prefix(CAPSULE_PREFIX).or_else(|| section.name.strip_prefix(MERCURY_PREFIX));
    stripped.unwrap_or(section.name)
}
