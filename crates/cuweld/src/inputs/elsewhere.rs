//! Elsewhere: undefined symbols that inputs define in code that can not be linked: for other GPUs, without `-rdc=true`, or for the host.
//!
//! Those parts of the inputs are not linked, so they are searched only after a link has failed.

use super::open::{Content, OpenInputs, Opened};
use crate::diagnostics::{Message, Report};
use crate::phases::explain::undefined::USUAL_ADVICE;
use cubin::target::Target;
use fatbin::choose::{Choice, Circumstances, Description, choose, inventory};
use fatbin::container::Fatbins;
use fatbin::entry::EntryKind;
use fatbin::host::FatbinSection;
use fatbin::{HostObject, fatbins};
use hashbrown::HashMap;

/// More than this is not unpacked to look for a name.
const MOST_BYTES: usize = 64 << 20;

/// Names that are missing, and where they were found.
type Names = HashMap<String, Option<Found>, foldhash::fast::RandomState>;

/// Where a name is defined, and why that did not help.
enum Found {
    /// For other GPUs only.
    OtherTargets {
        /// The input.
        file: String,
        /// The GPUs.
        targets: Vec<Description>,
    },
    /// In code that can not be linked any more.
    NotRelocatable(String),
    /// For the host.
    HostOnly(String),
}

impl Found {
    fn hint(&self, target: &Target) -> String {
        match self {
            Found::OtherTargets { file, targets } => {
                format!("{file} defines it, but only for {}; {}", inventory(targets), compile_for(target))
            }
            Found::NotRelocatable(file) => format!("{file} defines it, but was compiled without -rdc=true (or -dc)"),
            Found::HostOnly(file) => format!("{file} defines it for the host only: declare it __device__ there"),
        }
    }
}

/// How to compile for a target.
pub(super) fn compile_for(target: &Target) -> String {
    let name = target.name;
    let number = name.strip_prefix("sm_").unwrap_or(name);
    format!("compile it with -gencode arch=compute_{number},code={name}, too")
}

/// Says of names that were reported to be missing where they are defined, if the inputs do so anywhere.
pub(crate) fn explain_missing_names(inputs: &OpenInputs<'_>, target: &Target, report: &mut Report) {
    let missing = |message: &Message| match message {
        Message::UndefinedReference { name, .. } => Some(name.clone()),
        _ => None,
    };
    let mut names: Names = report.diagnostics().filter_map(|diagnostic| Some((missing(&diagnostic.message)?, None))).collect();
    if names.is_empty() {
        return;
    }
    let mut suspects = Vec::new();
    for input in &inputs.opened {
        search(input, target, &mut names, &mut suspects);
    }
    let suspicion = suspects.first().map(|file| {
        format!("perhaps it is in {file}, which was compiled without -rdc=true (or -dc): its device code can not be linked")
    });
    report.revise(|diagnostic| {
        let Some(found) = missing(&diagnostic.message).and_then(|name| names.get(&name)) else { return };
        if let Some(found) = found {
            diagnostic.hint = Some(found.hint(target));
        } else if diagnostic.hint.as_deref() == Some(USUAL_ADVICE) && suspicion.is_some() {
            diagnostic.hint.clone_from(&suspicion);
        }
    });
}

/// Looks at everything in an input that was no part of the link.
fn search(input: &Opened<'_>, target: &Target, names: &mut Names, suspects: &mut Vec<String>) {
    let file = &*input.name;
    match &input.contents {
        Content::Fatbin(bytes) => search_fatbins(file, fatbins(bytes), names),
        Content::Host(object) => {
            object.relocatable_code.iter().map(FatbinSection::fatbins).for_each(|fatbins| search_fatbins(file, fatbins, names));
            let for_host = What::of(object, target);
            if matches!(for_host, What::NotRelocatable) {
                suspects.push(file.to_owned());
            }
            for name in object.names_for_the_host() {
                if let Some(found @ None) = names.get_mut(name) {
                    *found = Some(for_host.found(file));
                }
            }
        }
        Content::Cubin(_) | Content::Ptx(_) | Content::LtoIr(_) | Content::Nothing(_) => {}
    }
}

/// What it means that a host object defines a name for the host. Compilers make such a definition of device functions, too: one
/// that does nothing.
enum What {
    /// There is device code for the target, and the name is not in it.
    HostOnly,
    /// There is device code, but not to be linked.
    NotRelocatable,
    /// There is device code to be linked, but for these targets.
    OtherTargets(Vec<Description>),
}

impl What {
    fn of(object: &HostObject<'_>, target: &Target) -> Self {
        let sections = object.relocatable_code.iter().flat_map(FatbinSection::fatbins);
        let entries = sections.flatten().flat_map(|fatbin| fatbin.entries()).map_while(Result::ok);
        let images = object.offload_code.iter().filter_map(|section| section.images().ok()).flatten();
        let images = images.map(|image| image.description());
        let targets: Vec<Description> = entries.map(|entry| entry.description()).chain(images).collect();
        let is_device_link = !object.linked_module_ids.is_empty();
        if targets.is_empty() {
            return if object.linked_code.is_empty() || is_device_link { What::HostOnly } else { What::NotRelocatable };
        }
        match choose(&targets, target, Circumstances { lto: true, ..Circumstances::default() }) {
            Choice::Nothing => What::OtherTargets(targets),
            Choice::Entry(_) | Choice::OnlyLtoIr => What::HostOnly,
        }
    }

    fn found(&self, file: &str) -> Found {
        let file = file.to_owned();
        match self {
            What::HostOnly => Found::HostOnly(file),
            What::NotRelocatable => Found::NotRelocatable(file),
            What::OtherTargets(targets) => Found::OtherTargets { file, targets: targets.clone() },
        }
    }
}

/// Looks at the entries of fatbins. The one for the target defines none of the names, or they would not be missing.
fn search_fatbins(file: &str, fatbins: Fatbins<'_>, names: &mut Names) {
    for entry in fatbins.flatten().flat_map(|fatbin| fatbin.entries()).map_while(Result::ok) {
        let Some(bytes) =
            Some(&entry).filter(|entry| entry.kind == EntryKind::Cubin).and_then(|entry| entry.unpack(MOST_BYTES).ok())
        else {
            continue;
        };
        let Ok(symbols) = cubin::read::File::parse(&bytes).and_then(|file| file.symbols()) else { continue };
        for symbol in symbols.iter().filter(|symbol| symbol.is_defined()) {
            match names.get_mut(symbol.name) {
                Some(Some(Found::OtherTargets { file: first, targets })) if first == file => targets.push(entry.description()),
                Some(Some(Found::OtherTargets { .. })) | None => {}
                Some(found) => {
                    *found = Some(Found::OtherTargets { file: file.to_owned(), targets: vec![entry.description()] });
                }
            }
        }
    }
}
