//! Sections: which there are, their headers, and what they hold.

use std::collections::HashMap;

use cubin::read::Section;
use cubin::section::{self, Contents, SectionType};

use crate::view::{NamedSymbol, View};
use crate::{Area, Differences, bytes, debug, lists};

/// Compares all sections, by name.
pub(crate) fn compare(left: &View<'_, '_>, right: &View<'_, '_>, out: &mut Differences) {
    let (left_names, right_names) = (&left.section_names, &right.section_names);
    lists::compare(Area::Sections, "", left_names, right_names, out);

    let by_name: HashMap<_, _> = right_names.iter().zip(right.file.sections()).collect();
    let mut moved = false;
    for (name, section) in left_names.iter().zip(left.file.sections()) {
        let Some(other) = by_name.get(name) else {
            continue;
        };
        // Once one section is elsewhere, so are most of the sections after it.
        if !moved && section.header.offset != other.header.offset {
            moved = true;
            let text = |section: &Section<'_>| format!("{:#x}", section.header.offset);
            out.value(Area::SectionHeader, name, "offset (the first that differs)", text(section), text(other));
        }
        header(name, (left, section), (right, other), out);
        contents(name, (left, section), (right, other), out);
    }
}

/// A section and the file it is in.
type Of<'a, 'file, 'data> = (&'a View<'file, 'data>, &'a Section<'data>);

fn header(name: &str, left: Of<'_, '_, '_>, right: Of<'_, '_, '_>, out: &mut Differences) {
    let fields = |(view, section): Of<'_, '_, '_>| {
        [
            ("type", section.kind().to_string()),
            ("flags", section::flags_text(section.header.flags)),
            ("address", format!("{:#x}", section.header.address)),
            ("size", format!("{:#x}", section.header.size)),
            ("link", view.link(section)),
            ("info", view.info(section)),
            ("alignment", section.header.align.to_string()),
            ("entry size", section.header.entry_size.to_string()),
        ]
    };
    for ((what, left), (_, right)) in fields(left).into_iter().zip(fields(right)) {
        out.value(Area::SectionHeader, name, what, left, right);
    }
}

fn contents(name: &str, left: Of<'_, '_, '_>, right: Of<'_, '_, '_>, out: &mut Differences) {
    let kinds = (left.1.kind(), right.1.kind());
    if kinds.0.contents() == Contents::Symbols
        && let (Some(left), Some(right)) = (left.0.symbols(left.1), right.0.symbols(right.1))
    {
        return symbols(name, &left, &right, out);
    }
    if let (Some((area, left)), Some((_, right))) = (left.0.facts(left.1), right.0.facts(right.1)) {
        return lists::compare(area, name, &left, &right, out);
    }
    if kinds == (SectionType::CAPSULE, SectionType::CAPSULE) {
        return capsule(name, left, right, out);
    }
    let parts = |(view, section)| debug::parts(view, section);
    if left.1.data != right.1.data
        && let (Some(left), Some(right)) = (parts(left), parts(right))
        && debug::compare(name, &left, &right, out)
    {
        return;
    }
    bytes::contents(name, left.1.data, right.1.data, out);
}

/// The code of the Mercury view starts with the index of the section that holds its machine code.
fn capsule(name: &str, left: Of<'_, '_, '_>, right: Of<'_, '_, '_>, out: &mut Differences) {
    let companion = |(view, section): Of<'_, '_, '_>| {
        let index = section.data.first_chunk().map_or(0, |index| u32::from_le_bytes(*index));
        view.section(index)
    };
    out.value(Area::Contents, name, "machine code in", companion(left), companion(right));
    let rest = |section: &Section<'_>| {
        let mut data = section.data.to_vec();
        data.iter_mut().take(4).for_each(|byte| *byte = 0);
        data
    };
    bytes::contents(name, &rest(left.1), &rest(right.1), out);
}

fn symbols(table: &str, left: &[NamedSymbol<'_>], right: &[NamedSymbol<'_>], out: &mut Differences) {
    let names = |symbols: &[NamedSymbol<'_>]| symbols.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    lists::compare(Area::Symbols, table, &names(left), &names(right), out);
    let by_name: HashMap<_, _> = right.iter().map(|(name, fields)| (*name, fields)).collect();
    for (name, fields) in left {
        let Some(other) = by_name.get(name) else {
            continue;
        };
        for ((what, left), (_, right)) in fields.iter().zip(other.iter()) {
            out.value(Area::Symbols, &format!("{table} {name}"), what, left.clone(), right.clone());
        }
    }
}
