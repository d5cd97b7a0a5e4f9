//! The note of an object that was assembled for debugging names its source files. During a link these are temporary files, which the
//! reference linker's note does not name.

use super::{OBJECT_NAME, PTX_NAME};
use cubin::elf::{ET_REL, SectionHeader};
use cubin::note::{ToolNote, notes};
use cubin::read::File;

/// Takes the names of temporary files out of the note of an object.
pub(super) fn without_file_names(image: Vec<u8>) -> Vec<u8> {
    rewritten(&image).unwrap_or(image)
}

/// The object with another note, if it has one that names files.
///
/// The new note follows everything else, so that nothing has to move: only the linker sees this object.
fn rewritten(image: &[u8]) -> Option<Vec<u8>> {
    let file = File::parse(image).ok().filter(|file| file.header().kind == ET_REL)?;
    let index = file.section_named(".note.nv.tkinfo")?;
    let section = file.section(index)?;
    let mut contents = Vec::new();
    let mut changed = false;
    for note in notes(section.data) {
        let note = note.ok()?;
        let mut tool = ToolNote::decode(note.description).ok()?;
        let options =
            tool.options.strip_prefix(PTX_NAME).map(|rest| rest.trim_start().replace(&format!("-o {OBJECT_NAME} "), ""));
        changed |= options.is_some();
        tool.options = options.as_deref().unwrap_or(tool.options);
        contents.extend(tool.encode());
    }
    if !changed {
        return None;
    }
    let header = SectionHeader { offset: image.len().next_multiple_of(4) as u64, size: contents.len() as u64, ..section.header };
    let place = file.header().section_header_offset as usize + index as usize * SectionHeader::SIZE;
    let mut result = image.to_vec();
    header.write(result.get_mut(place..place + SectionHeader::SIZE)?);
    result.resize(header.offset as usize, 0);
    result.extend(contents);
    Some(result)
}
