//! Classifies the bytes of a cubin, section by section.

use crate::model::Parts;
use cubin::elf::SHF_EXECINSTR;
use cubin::read::{File, Section};
use cubin::section::{Contents, SectionType};

/// Adds up the sections. Bytes that two of them share count for the first; those in none are headers and padding.
pub(super) fn of(file: &File<'_>) -> Parts {
    let mut sections: Vec<&Section<'_>> = file.sections().iter().filter(|section| !section.data.is_empty()).collect();
    sections.sort_by_key(|section| (section.header.offset, section.index));
    let mut parts = Parts::default();
    let mut covered = 0;
    for section in sections {
        let start = section.header.offset.max(covered);
        let end = section.header.offset.saturating_add(section.data.len() as u64);
        *part(&mut parts, section) += end.saturating_sub(start);
        covered = covered.max(end);
    }
    parts.other += (file.bytes().len() as u64).saturating_sub(parts.total());
    parts
}

/// The starts of names of sections that are debug information.
const DEBUG: [&str; 6] = [".debug_", ".nv_debug", ".nv.merc.debug_", ".nv.merc.nv_debug", ".nv_sass", ".eh_frame"];

fn part<'parts>(parts: &'parts mut Parts, section: &Section<'_>) -> &'parts mut u64 {
    let kind = section.kind();
    let name = section.name.strip_prefix(".rela").or_else(|| section.name.strip_prefix(".rel")).unwrap_or(section.name);
    if DEBUG.iter().any(|start| name.starts_with(start)) {
        return &mut parts.debug;
    }
    if section.header.flags & SHF_EXECINSTR != 0 {
        return &mut parts.code;
    }
    if kind.row().is_some_and(|row| row.mercury) {
        return &mut parts.mercury;
    }
    match (kind.contents(), kind) {
        (Contents::Symbols | Contents::Strings, _) | (_, SectionType::SYMTAB_SHNDX) => &mut parts.symbols,
        (Contents::Rel | Contents::Rela, _) | (_, SectionType::RELOCATION_ACTION) => &mut parts.relocations,
        (Contents::Info, _) | (_, SectionType::CALLGRAPH | SectionType::PROTOTYPE) => &mut parts.attributes,
        (Contents::Constants, _) | (_, SectionType::CONSTANT) => &mut parts.constants,
        // A linked file has plain bytes for its constants and its variables alike.
        (_, SectionType::PROGBITS) if section.name.starts_with(".nv.constant") => &mut parts.constants,
        (_, SectionType::GLOBAL_INIT | SectionType::UNIFIED_DATA) => &mut parts.data,
        (_, SectionType::PROGBITS) if section.name.starts_with(".nv.global") => &mut parts.data,
        _ => &mut parts.other,
    }
}
