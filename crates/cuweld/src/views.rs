//! The two views of a program.
//!
//! # Why there are two
//!
//! Up to `sm_90` an object holds only machine code. From `sm_100` on it holds the program twice: as machine code for the GPU that it was
//! compiled for (the *machine view*), and in a form from which the driver can generate machine code for other GPUs of the family (the
//! *Mercury view*). The reference linker links the Mercury view and then regenerates the machine code of every function. This linker has no
//! code generator and needs none: the object has the compiler's machine code, which is valid. So both views are linked, by the same rules,
//! and the compiler's code is copied with its relocated fields. (The reference linker's generator has more information than the compiler and
//! schedules some instructions better; its code is different, but equivalent.)
//!
//! # How an object holds them
//!
//! Nearly every section exists twice, under names and types that [`PAIRS`] translates: `.text.f` has a counterpart
//! `.nv.capmerc.text.f`, `.nv.info.f` a twin `.nv.merc.nv.info.f`, `.symtab` a twin `.nv.merc.symtab`, and so on. Sections that are
//! the same in both (notes, call graph, shared memory, zero-initialised variables) exist once. The n-th symbol of one symbol
//! table is the n-th of the other, so symbol numbers in records and relocations are the same in both views. Offsets are not: code has other
//! offsets in Mercury code than in machine code, and so have its relocations, attributes, and line tables.
//!
//! # How they are linked
//!
//! All decisions are made in the Mercury view: which sections exist, what is live, the order of everything, and which relocations
//! are kept. `load` therefore presents the sections of the Mercury view, with plain names and types, as the object's sections,
//! each with the number of its twin (`machine`); the phases from `resolve` to `layout` see objects of one view and need not know
//! that there is another. The machine view only has contents of its own: `relocate` processes the relocations of the twins by the
//! same rules, `info` writes records with the twins' offsets, `machine_debug` builds the twins' debug information, and `finalize` writes every
//! section that has a twin once per view. So a [`View`] is a parameter of each kind of section, and says whether there is another. The
//! differences of the linked view itself are a row of [`LINKED`].

use cubin::section::SectionType;
use cubin::target::Views;

/// A view of the program.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum View {
    /// Machine code, where files hold nothing else.
    Only,
    /// Machine code beside Mercury code.
    Machine,
    /// The code that machine code for other GPUs is made from.
    Mercury,
}

impl View {
    /// The view that holds machine code.
    pub fn machine(views: Views) -> Self {
        match views {
            Views::One => View::Only,
            Views::Two => View::Machine,
        }
    }

    /// Whether it holds machine code.
    pub fn is_machine(self) -> bool {
        self != View::Mercury
    }
}

/// In what the view differs in which all decisions are made.
#[derive(Debug)]
pub struct LinkedView {
    /// Which one it is.
    pub view: View,
    /// What the names of sections with constants that the compiler made for a function start with.
    pub function_constants: &'static str,
    /// Whether constant banks have their numbers, and their relocations are recorded: the Mercury view calls them by their use.
    pub has_banks: bool,
    /// Whether kernels have parameters there; otherwise they have nothing but texture slots.
    pub has_parameters: bool,
    /// Whether the linker writes all relocations with addends.
    pub has_addends: bool,
    /// Whether the part of shared memory that the driver reserves is counted.
    pub counts_reserved_shared: bool,
}

/// The two forms of files.
static LINKED: [LinkedView; 2] = [
    LinkedView {
        view: View::Only,
        function_constants: ".nv.constant2.",
        has_banks: true,
        has_parameters: true,
        has_addends: false,
        counts_reserved_shared: true,
    },
    LinkedView {
        view: View::Mercury,
        function_constants: ".nv.constant.optimizer.",
        has_banks: false,
        has_parameters: false,
        has_addends: true,
        counts_reserved_shared: false,
    },
];

/// The view in which all decisions are made.
pub fn linked(views: Views) -> &'static LinkedView {
    match views {
        Views::One => &LINKED[0],
        Views::Two => &LINKED[1],
    }
}

/// Something that every view has its own of.
#[derive(Debug)]
pub struct PerView<T> {
    machine: T,
    /// Where there are two views.
    mercury: Option<T>,
}

impl<T> PerView<T> {
    /// Makes it for every view, first for the one in which decisions are made.
    pub fn new(views: Views, mut make: impl FnMut(View) -> T) -> Self {
        let mercury = (views == Views::Two).then(|| make(View::Mercury));
        PerView { machine: make(View::machine(views)), mercury }
    }

    /// That of a view. Where there is but one, it is the same for all.
    pub fn of(&self, view: View) -> &T {
        match (view, &self.mercury) {
            (View::Mercury, Some(mercury)) => mercury,
            _ => &self.machine,
        }
    }

    /// Those of all views, first that of the one in which decisions are made.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (View, &mut T)> {
        let machine = if self.mercury.is_some() { View::Machine } else { View::Only };
        let mercury = self.mercury.as_mut().map(|mercury| (View::Mercury, mercury));
        mercury.into_iter().chain([(machine, &mut self.machine)])
    }
}

/// A kind of section that has different names or types in the two views.
struct Pair {
    /// How its name starts in the machine view.
    machine_name: &'static str,
    /// How its name starts in the Mercury view, without what [`mercury_prefix`] says.
    mercury_name: &'static str,
    /// Its type in the machine view of a relocatable file.
    machine_kind: SectionType,
    /// Its type in the Mercury view.
    mercury_kind: SectionType,
}

/// The kinds of sections that differ in more than the prefix of their names. (Code, too, is in the table for its type.)
static PAIRS: [Pair; 14] = [
    pair(".text.", ".text.", SectionType::PROGBITS, SectionType::CAPSULE),
    pair(".nv.info", ".nv.info", SectionType::INFO, SectionType::MERCURY_INFO),
    pair(".nv.constant3", ".nv.constant.user", SectionType::CONSTANT_3, SectionType::MERCURY_CONSTANT_USER),
    pair(".nv.constant4", ".nv.constant.pic", SectionType::CONSTANT_4, SectionType::MERCURY_CONSTANT_PIC),
    pair(".nv.constant2.", ".nv.constant.optimizer.", SectionType::CONSTANT_2, SectionType::MERCURY_CONSTANT_OPTIMIZER),
    pair(".nv.constant0.", TEXTURE_SLOTS, SectionType::CONSTANT_0, SectionType::MERCURY_CONSTANT_IMAGES),
    pair(".rela.nv.constant0.", ".rela.nv.constant.entry_image_header_indices.", SectionType::RELA, SectionType::MERCURY_RELA),
    pair(".rela.nv.constant3", ".rela.nv.constant.user", SectionType::RELA, SectionType::MERCURY_RELA),
    pair(".rela.nv.constant4", ".rela.nv.constant.pic", SectionType::RELA, SectionType::MERCURY_RELA),
    pair(".rela.nv.constant2.", ".rela.nv.constant.optimizer.", SectionType::RELA, SectionType::MERCURY_RELA),
    pair(".nv.resolvedrela", ".nv.resolvedrela", SectionType::RESOLVED_RELA, SectionType::MERCURY_RESOLVED_RELA),
    pair(".symtab", ".symtab", SectionType::SYMTAB, SectionType::MERCURY_SYMTAB),
    pair(".nv.callgraph", ".nv.callgraph", SectionType::CALLGRAPH, SectionType::MERCURY_CALLGRAPH),
    pair(".nv.prototype", ".nv.prototype", SectionType::PROTOTYPE, SectionType::MERCURY_PROTOTYPE),
];

/// What the names of sections with texture slots of a kernel start with in the Mercury view. The machine view has the slots after
/// the parameters.
pub const TEXTURE_SLOTS: &str = ".nv.constant.entry_image_header_indices.";

const fn pair(
    machine_name: &'static str,
    mercury_name: &'static str,
    machine_kind: SectionType,
    mercury_kind: SectionType,
) -> Pair {
    Pair { machine_name, mercury_name, machine_kind, mercury_kind }
}

/// What the name of a section in the Mercury view starts with.
pub const MERCURY_PREFIX: &str = ".nv.merc";
/// What it starts with when the section holds code.
pub const CAPSULE_PREFIX: &str = ".nv.capmerc";

/// The type that a section of the Mercury view is treated as.
pub fn plain_kind(mercury: SectionType) -> SectionType {
    PAIRS.iter().find(|pair| pair.mercury_kind == mercury).map_or(mercury, |pair| pair.machine_kind)
}

/// The type that a section has in the Mercury view, if it is no code, which is all of one type there.
pub fn mercury_kind(plain: SectionType) -> SectionType {
    let mut pairs = PAIRS.iter().filter(|pair| pair.mercury_kind != SectionType::CAPSULE);
    pairs.find(|pair| pair.machine_kind == plain).map_or(plain, |pair| pair.mercury_kind)
}

/// How a section of this name (without the Mercury view's prefix) starts in the machine view, and the rest of it, which is the
/// same in both; nothing, if all of it is.
pub fn machine_name(mercury: &str) -> Option<(&'static str, &str)> {
    // Only constants have other names, so nearly all names can be told by their start.
    if !mercury.strip_prefix(".rela").unwrap_or(mercury).starts_with(".nv.constant.") {
        return None;
    }
    let mut pairs = PAIRS.iter().filter(|pair| pair.machine_name != pair.mercury_name);
    pairs.find_map(|pair| Some((pair.machine_name, mercury.strip_prefix(pair.mercury_name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_has_its_own() {
        let mut both = PerView::new(Views::Two, |view| vec![view]);
        both.iter_mut().for_each(|(view, list)| list.push(view));
        assert_eq!(both.of(View::Machine), &[View::Machine; 2]);
        assert_eq!(both.of(View::Mercury), &[View::Mercury; 2]);
        let one = PerView::new(Views::One, |view| view);
        assert_eq!((one.of(View::Machine), one.of(linked(Views::One).view)), (&View::Only, &View::Only));
    }

    #[test]
    fn kinds_translate_back() {
        for pair in &PAIRS {
            assert_eq!(plain_kind(pair.mercury_kind), pair.machine_kind);
            if pair.mercury_kind != SectionType::CAPSULE {
                assert_eq!(mercury_kind(pair.machine_kind), pair.mercury_kind);
            }
        }
        assert_eq!(mercury_kind(SectionType::PROGBITS), SectionType::PROGBITS);
        assert_eq!(plain_kind(SectionType::GLOBAL_INIT), SectionType::GLOBAL_INIT);
    }

    #[test]
    fn only_constants_have_other_names() {
        assert_eq!(machine_name(".nv.constant.user"), Some((".nv.constant3", "")));
        assert_eq!(machine_name(".rela.nv.constant.optimizer.f"), Some((".rela.nv.constant2.", "f")));
        assert_eq!(machine_name(".nv.constant0.f"), None);
        assert_eq!(machine_name(".text.f"), None);
        assert_eq!(linked(Views::Two).function_constants, PAIRS[4].mercury_name);
    }
}
