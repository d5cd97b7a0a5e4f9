//! Programs for several targets in one fatbin, and that in a host object.

use crate::targets::Program;
use cubin::target::Target;
use cuweld::inputs::HostEntries;
use cuweld_host_object::{Entries, EntryList, HostObject, Machine, Visibility};
use fatbin::entry::Architecture;
use fatbin::write::{Builder, Settings, Unfit};
use std::io;

/// Programs for several targets, in one fatbin.
#[derive(Debug)]
pub struct Bundle<'programs> {
    fatbin: Builder<'programs>,
    modules: Vec<&'programs str>,
    entries: HostEntries<'programs>,
}

impl<'programs> Bundle<'programs> {
    /// Bundles programs. They may differ in what they contain: a unit is registered if any of them has code of it.
    ///
    /// # Errors
    /// When a program can not be packed.
    pub fn new(programs: &'programs [Program], settings: Settings) -> Result<Self, Unfit> {
        let mut fatbin = Builder::new(settings);
        let mut modules: Vec<&str> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for program in programs {
            fatbin.cubin(architecture(program.target), &program.image)?;
            modules.extend(program.modules.iter().map(String::as_str).filter(|module| known.insert(*module)));
        }
        Ok(Bundle { fatbin, modules, entries: HostEntries::default() })
    }

    /// A fatbin without code, and the units that register it.
    #[must_use]
    pub fn without_code(modules: Vec<&'programs str>, settings: Settings) -> Self {
        Bundle { fatbin: Builder::new(settings), modules, entries: HostEntries::default() }
    }

    /// Has it registered, too, what clang's host code lists.
    #[must_use]
    pub fn with_entries(mut self, entries: HostEntries<'programs>) -> Self {
        self.entries = entries;
        self
    }

    /// The units that register it, in the order in which they were first mentioned.
    #[must_use]
    pub fn modules(&self) -> &[&'programs str] {
        &self.modules
    }

    /// The fatbin.
    #[must_use]
    pub fn fatbin(&self) -> &Builder<'programs> {
        &self.fatbin
    }

    /// Writes the host object that registers it.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_object(&self, machine: Machine, visibility: Visibility, out: &mut impl io::Write) -> io::Result<()> {
        let HostEntries { sections, symbols } = &self.entries;
        let lists: Vec<EntryList> = sections.iter().filter_map(|name| EntryList::by_section(name)).collect();
        let entries = Entries { lists: &lists, symbols };
        let object = HostObject { machine, modules: &self.modules, entries, visibility };
        out.write_all(&object.head(self.fatbin.size()))?;
        self.fatbin.write_to(out)
    }
}

/// A target as entries of fatbins name it.
#[must_use]
pub fn architecture(target: &Target) -> Architecture {
    Architecture { number: target.number, variant: target.variant }
}
