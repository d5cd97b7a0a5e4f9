//! Finalize: headers, and everything that the file is written from. The contents of a section are up to its [kind](crate::sections).

mod headers;
mod map;
mod names;
mod segments;
mod write;

use super::machine_debug::MachineDebug;
use super::number::{FileSection, Numbering};
use super::stages::Settled;
use crate::id::FunctionId;
use crate::phases::attributes::Attributes;
use crate::sections::Bytes;
use cubin::elf::SectionHeader;
use cubin::relocation::{self, Mode};
use cubin::write::Image;
use names::Names;
pub use names::{Named, name};
use rayon::prelude::*;
use std::ops::Deref;

/// The facts that the file is made from.
pub struct Facts<'facts, 'data> {
    /// What was settled.
    pub settled: Settled<'facts, 'data>,
    /// The attributes of each function.
    pub attributes: &'facts Attributes,
    /// The debug information of the machine view, where there are two.
    pub machine_debug: &'facts MachineDebug<'data>,
    /// The numbers of sections and symbols.
    pub numbering: &'facts Numbering,
}

impl<'facts, 'data> Deref for Facts<'facts, 'data> {
    type Target = Settled<'facts, 'data>;

    fn deref(&self) -> &Self::Target {
        &self.settled
    }
}

/// The bytes of a section.
enum Body {
    /// It takes no room in the file.
    Nowhere,
    /// Those of its machine's side.
    Shared,
    /// Written from the facts.
    FromFacts,
    /// Made already, up to where only zeros follow.
    Made(Vec<u8>),
}

/// The facts that the file is made from, and the offsets of its names.
pub struct Output<'facts, 'data> {
    facts: Facts<'facts, 'data>,
    /// The offsets of names in the string tables.
    pub names: Names,
}

impl<'facts, 'data> Deref for Output<'facts, 'data> {
    type Target = Facts<'facts, 'data>;

    fn deref(&self) -> &Self::Target {
        &self.facts
    }
}

/// The finished file: its size is known, and it can be written.
pub struct Finished<'facts, 'data> {
    facts: Output<'facts, 'data>,
    image: Image,
    size: u64,
    /// The bytes of the sections, by their numbers.
    bodies: Vec<Body>,
}

/// Makes everything but the copy of the inputs' bytes.
pub fn finalize<'facts, 'data>(facts: Facts<'facts, 'data>, named: Named) -> Finished<'facts, 'data> {
    let Named { names, section_names, symbol_names } = named;
    let facts = Output { facts, names };
    let sections = facts.numbering.sections().par_iter().with_min_len(256).map(|&part| {
        let body = facts.body(part);
        let header = facts.section_header(part, &body);
        (body, header)
    });
    let (mut bodies, mut headers) = (Vec::new(), Vec::new());
    rayon::iter::once((Body::Nowhere, SectionHeader::default())).chain(sections).unzip_into_vecs(&mut bodies, &mut headers);
    // After the null section, every file starts with the two tables of names.
    for ((body, header), table) in bodies.iter_mut().zip(&mut headers).skip(1).zip([section_names, symbol_names]) {
        header.size = table.len() as u64;
        *body = Body::Made(table);
    }
    let image = headers::arrange(&facts, &bodies, headers);
    let size = image.size();
    Finished { facts, image, size, bodies }
}

impl Output<'_, '_> {
    /// The bytes of a section. What takes no room in the machine view takes some in the other, except in compact files.
    fn body(&self, part: FileSection) -> Body {
        let section = &self.plan.sections()[part.section];
        if (part.view.is_machine() || self.is_compact()) && self.type_in_file(section.section_type).is_no_bits() {
            return Body::Nowhere;
        }
        match section.kind.bytes(self, part) {
            Bytes::Shared => Body::Shared,
            Bytes::Written => Body::FromFacts,
            Bytes::Made(bytes) => Body::Made(bytes),
        }
    }

    /// The number of a function's symbol.
    pub fn function_number(&self, function: FunctionId) -> u32 {
        self.numbering.symbol(self.resolution.functions()[function].symbol)
    }

    /// The number of the section that a section is for.
    pub fn target_number(&self, part: FileSection) -> u32 {
        self.plan.sections()[part.section].target.map_or(0, |target| self.numbering.section(target, part.view))
    }

    /// Writes the pieces of a section with their relocated fields.
    pub fn write_pieces(&self, part: FileSection, out: &mut [u8]) -> cubin::Result<()> {
        out.fill(0);
        for (start, data) in self.pieces(part) {
            let start = start as usize;
            if let Some(place) = out.get_mut(start..start + data.len()) {
                place.copy_from_slice(data);
            }
        }
        self.apply_patches(part, out)
    }

    /// Writes the relocated fields of a section.
    pub fn apply_patches(&self, part: FileSection, out: &mut [u8]) -> cubin::Result<()> {
        for patch in self.relocations.in_view(part.section, part.view).patches {
            let field = patch.kind.row().map(|row| row.field).unwrap_or_default();
            let mode = if patch.add { Mode::Add } else { Mode::Replace };
            relocation::apply(field, out, patch.offset, patch.value, patch.bank.unwrap_or(0), mode)?;
        }
        Ok(())
    }

    /// The bytes of inputs that a section is made of, and where in it they stand.
    fn pieces(&self, part: FileSection) -> impl Iterator<Item = (u64, &[u8])> {
        let section = &self.plan.sections()[part.section];
        section.pieces.iter().map(move |piece| {
            let source = section.kind.source(self, section, piece, part.view);
            let data = source.map(|source| self.inputs.sections()[source].data).unwrap_or_default();
            let taken = self.plan.taken(piece.section).and_then(|size| data.get(..size as usize));
            (piece.offset, taken.unwrap_or(data))
        })
    }

    /// The same, if no field is relocated: in order, with zeros between them.
    pub fn unchanged_pieces(&self, part: FileSection) -> Option<Vec<(u64, &[u8])>> {
        if !self.relocations.in_view(part.section, part.view).patches.is_empty() {
            return None;
        }
        let pieces: Vec<(u64, &[u8])> = self.pieces(part).filter(|(_, data)| !data.is_empty()).collect();
        let (size, end) = (self.layout.size(part.section), |&(start, data): &(u64, &[u8])| start + data.len() as u64);
        let in_order = pieces.is_sorted_by(|one, next| end(one) <= next.0) && pieces.last().is_none_or(|last| end(last) <= size);
        in_order.then_some(pieces)
    }
}
