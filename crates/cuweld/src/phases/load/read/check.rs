//! Consistency of an object: whether parts that can be read contradict each other.

use super::{Damage, MAX_ALIGN, MAX_SIZE, Reader};
use crate::diagnostics::{Diagnostic, Message};
use crate::id::{Id, InputSectionId};
use crate::phases::load::arrange::Arrangement;
use crate::phases::load::{InputSection, InputSymbol, OTHER_KERNEL, OTHER_SPACE, Place, Role, SPACE_SHARED, is_shared};
use cubin::compat::Tag;
use cubin::info;
use cubin::read::{File, Section};
use cubin::relocation::{Expression, RelocationType};
use cubin::symbol::{Binding, Symbol, SymbolKind, other};
use cubin::target::{Target, Views};

/// The memory spaces of variables besides [`SPACE_SHARED`].
const SPACE_GLOBAL: u8 = 0x20;
const SPACE_CONSTANT: u8 = 0x80;
const SPACE_RESERVED: u8 = 0xa0;

/// The bank that holds the parameters of a kernel.
const PARAMETER_BANK: u8 = 0;

/// What the header of a code section says of its function: its symbol. Registers stand above it.
const FUNCTION: u32 = 0x00ff_ffff;

/// How the names of sections with attributes begin.
const ATTRIBUTES: &str = ".nv.info";

/// Checks that an object holds code of the target's kind.
pub(super) fn kind_of_code(file: &File<'_>, name: &str, target: &Target) -> Result<(), Box<Diagnostic>> {
    if target.views == Views::One && file.is_mercury() {
        let problem = format!("its header says that it holds Mercury code, which there is none of for {}", target.name);
        return Err(Box::new(Diagnostic::new(Message::BadObject { file: name.into(), problem })));
    }
    Ok(())
}

/// Checks that a section is of the type that its name speaks of.
pub(super) fn name(section: &Section<'_>, name: &str, role: Role) -> Result<(), Damage> {
    if matches!(role, Role::Structure | Role::Debug) && name.starts_with(ATTRIBUTES) {
        return Err(Damage::of(section, format!("its type is {:#x}, which is not that of attributes", section.kind().0)));
    }
    Ok(())
}

/// Checks that what belongs to a section can belong to one of its kind.
pub(super) fn attachment(
    arrangement: &Arrangement,
    file: &File<'_>,
    sections: &[InputSection<'_>],
    index: usize,
    target: InputSectionId,
) -> Result<(), Damage> {
    let (own, target) = (sections[index].role, &sections[target.index()]);
    let fits = match own {
        Role::Relocations { .. } => !matches!(target.role, Role::Structure | Role::ToolNotes | Role::Compatibility),
        _ => target.role == Role::Text,
    };
    let text = match own_name_fits(&sections[index], target) {
        true if fits => return Ok(()),
        true => format!("belongs to section '{}', which is of type {:#x}", target.name, target.kind.0),
        false => format!("belongs to section '{}'", target.name),
    };
    let raw = arrangement.order().get(index).and_then(|&number| file.section(number));
    Err(match raw {
        Some(raw) => Damage::of(raw, text),
        None => Damage(text),
    })
}

/// Whether attributes that are named after a function belong to that one's code.
fn own_name_fits(section: &InputSection<'_>, target: &InputSection<'_>) -> bool {
    let attributes_of = (section.role == Role::FunctionInfo).then(|| section.name.strip_prefix(".nv.info.")).flatten();
    attributes_of.zip(target.name.strip_prefix(".text.")).is_none_or(|(named, code)| named == code)
}

/// The memory space of variables in a section, as their symbols have it.
fn space_of(role: Role) -> Option<u8> {
    Some(match role {
        Role::GlobalData | Role::GlobalZero | Role::UnifiedData => SPACE_GLOBAL,
        Role::ModuleShared | Role::KernelShared => SPACE_SHARED,
        Role::ModuleConstants(_) | Role::FunctionConstants(_) => SPACE_CONSTANT,
        Role::ReservedShared => SPACE_RESERVED,
        _ => return None,
    })
}

/// Says what is wrong with a symbol, given where it is defined.
#[inline(always)] // Hot: one per symbol.
pub(super) fn symbol(symbol: &Symbol<'_>, place: Place, role: Option<Role>) -> Result<(), String> {
    let name = symbol.name;
    let alignment_is_value = (place == Place::Common || is_shared(symbol.other)) && place != Place::Undefined;
    if alignment_is_value && !(symbol.value.max(1).is_power_of_two() && symbol.value <= MAX_ALIGN) {
        return Err(format!("symbol '{name}' has alignment {:#x}", symbol.value));
    }
    if symbol.size > MAX_SIZE || symbol.value > MAX_SIZE {
        return Err(format!("symbol '{name}' reaches past any GPU's memory"));
    }
    let space = symbol.other & OTHER_SPACE;
    if space != 0 && role.and_then(space_of).is_some_and(|expected| expected != space) {
        return Err(format!("'{name}' is in a section of another memory than its own, {space:#x}"));
    }
    let is_internal = is_internal(symbol.other);
    match (symbol.kind, place) {
        (SymbolKind::FUNCTION, _) if is_internal => Err(format!("function '{name}' was deleted, and is still named")),
        (SymbolKind::TEXTURE | SymbolKind::SAMPLER | SymbolKind::SURFACE, Place::Section(_)) => {
            Err(format!("'{name}' is a texture, sampler or surface, which no section holds"))
        }
        (SymbolKind::OBJECT | SymbolKind::FUNCTION, Place::Undefined)
            if symbol.binding == Binding::LOCAL && !is_internal && !name.is_empty() =>
        {
            Err(format!("symbol '{name}' is local, and not defined"))
        }
        _ => Ok(()),
    }
}

impl Reader<'_, '_> {
    /// Whether the header of a code section names the function that has its code.
    fn names_owner(&self, raw: &Section<'_>, section: &InputSection<'_>) -> bool {
        section.owner.is_some_and(|owner| owner.index() == (raw.header.info & FUNCTION) as usize)
    }

    /// Checks that code is a function's, and what only kernels have a kernel's.
    pub(super) fn check_code(&self, sections: &[InputSection<'_>], symbols: &[InputSymbol<'_>]) -> Result<(), Damage> {
        let is_code = |section: &InputSection<'_>| matches!(section.role, Role::Text | Role::FunctionConstants(PARAMETER_BANK));
        for (raw, section) in self.linked(sections, is_code) {
            match section.role {
                Role::Text if section.owner.is_none() => return Err(Damage::of(raw, "holds the code of no function".into())),
                Role::Text if !self.names_owner(raw, section) => {
                    return Err(Damage::of(raw, format!("names symbol {} as its function", raw.header.info & FUNCTION)));
                }
                Role::Text if section.data.is_empty() => return Err(Damage::of(raw, "a function has no code".into())),
                Role::FunctionConstants(PARAMETER_BANK) => {
                    let owner = section.target.and_then(|code| sections[code.index()].owner).map(|owner| &symbols[owner.index()]);
                    if let Some(owner) = owner.filter(|owner| owner.other & OTHER_KERNEL == 0) {
                        return Err(Damage::of(raw, format!("holds the parameters of a kernel, which '{}' is not", owner.name)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that every relocation names a symbol and patches bytes that are there.
    pub(super) fn check_relocations(&self, sections: &[InputSection<'_>], symbols: &[InputSymbol<'_>]) -> Result<(), Damage> {
        for (section, &index) in sections.iter().zip(self.arrangement.order()) {
            let (Role::Relocations { .. }, Some(target)) = (section.role, section.target) else { continue };
            let Some(raw) = self.file.section(index) else { continue };
            let target = &sections[target.index()];
            let symbols_count = symbols.len();
            // Offsets in a capsule count in the code that it stands for.
            let code = target.owner.filter(|_| target.machine.is_some()).map(|owner| symbols[owner.index()].size);
            let size = code.unwrap_or(target.data.len() as u64);
            for (number, entry) in section.entries().enumerate() {
                let problem = |text: String| Damage::at(raw, (number as u64).saturating_mul(raw.header.entry_size), text);
                if entry.symbol as usize >= symbols_count {
                    return Err(problem(format!("relocation names symbol {} of {symbols_count}", entry.symbol)));
                }
                let symbol = &symbols[entry.symbol as usize];
                // Compilers make constants for themselves, and name them so, too.
                let is_global = symbol.kind == SymbolKind::CUDA_OBJECT && symbol.other & OTHER_SPACE == SPACE_GLOBAL;
                if is_global && is_internal(symbol.other) {
                    return Err(problem(format!("relocation names '{}', which was deleted", symbol.name)));
                }
                if entry.symbol == 0 && target.role == Role::Text && is_address(entry.kind) {
                    return Err(problem(format!("relocation {} in '{}' names no symbol", entry.kind, target.name)));
                }
                let Some(reach) = extent(entry.kind).filter(|_| self.views == Views::Two || !entry.kind.is_mercury()) else {
                    return Err(problem(format!("relocation {} is of an unknown type", entry.kind)));
                };
                if entry.offset.checked_add(reach).is_none_or(|end| end > size) {
                    return Err(problem(format!(
                        "relocation {} patches offset {:#x} of '{}', which has {size:#x} bytes",
                        entry.kind, entry.offset, target.name
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Checks the properties that decide on which GPUs code runs.
pub(super) fn compatibility(section: &Section<'_>) -> Result<(), Damage> {
    let mut runs_on_others = 0;
    for record in info::records(section.data) {
        let record = record.map_err(|error| error.in_section(section))?;
        let tag = Tag(record.attribute.0);
        let is_right = match tag {
            Tag::ISA_CLASS | Tag::MERCURY_ISA_MAJOR_MINOR_VERSION => record.format != info::format::SIZED,
            Tag::CAN_FASTPATH_FINALIZE => {
                runs_on_others += 1;
                record.payload.len() == 8 && runs_on_others == 1
            }
            _ => true,
        };
        if !is_right {
            return Err(Damage::of(section, format!("property {tag} is malformed, or has two records")));
        }
    }
    Ok(())
}

/// Whether a symbol is one that the compiler made for itself, or has deleted.
fn is_internal(other: u8) -> bool {
    other & other::VISIBILITY == other::INTERNAL
}

/// Whether a relocation asks for an address, which only a symbol has.
fn is_address(kind: RelocationType) -> bool {
    use Expression::{Address, FunctionDescriptor, GenericAddress, ProgramRelative};
    matches!(kind.expression(), Address | FunctionDescriptor | GenericAddress | ProgramRelative)
}

/// How many bytes from its offset on a relocation may change, if its type is known.
fn extent(kind: RelocationType) -> Option<u64> {
    let bits = kind.row()?.field;
    Some(bits.iter().map(|bits| u64::from(bits.first_bit) + u64::from(bits.width)).max().unwrap_or(0).div_ceil(8))
}
