//! Consistency of an object: whether parts that can be read contradict each other.

use super::{Damage, MAX_ALIGN, MAX_SIZE, Reader};
use crate::diagnostics::{Diagnostic, Message};
use crate::id::{Id, InputSectionId};
use crate::phases::load::arrange::{Arrangement, is_mercury};
use crate::phases::load::{InputSection, InputSymbol, Place, Role};
use crate::views::{self, CAPSULE_PREFIX, MERCURY_PREFIX};
use cubin::compat::Tag;
use cubin::elf::{ET_REL, ET_WHOLE_PROGRAM};
use cubin::info;
use cubin::read::{File, Section};
use cubin::relocation::{Expression, KnownRelocationType, RelocationType};
use cubin::section::SectionType;
use cubin::symbol::{Binding, Symbol, SymbolKind, other};
use cubin::target::{Target, Views};

/// The bank that holds the parameters of a kernel.
const PARAMETER_BANK: u8 = 0;

/// The symbol of the function in `sh_info` of its code section. The register count is above it.
const FUNCTION: u32 = 0x00ff_ffff;

/// Whether a section of some role and type holds what its name announces.
type Fits = fn(Role, SectionType) -> bool;

/// How names begin that announce what a section holds.
const NAMES: &[(&str, Fits)] = &[
    (".text.", |role, _| role == Role::Text),
    (".rel", |role, _| matches!(role, Role::Relocations { .. })),
    (".nv.info", |role, _| matches!(role, Role::ModuleInfo | Role::FunctionInfo)),
    (".nv.constant", |role, _| matches!(role, Role::ModuleConstants(_) | Role::FunctionConstants(_))),
    (".nv.shared.", |role, _| matches!(role, Role::ModuleShared | Role::KernelShared | Role::ReservedShared)),
    (".nv.global", |role, _| matches!(role, Role::GlobalData | Role::GlobalZero)),
    (".nv.callgraph", |_, kind| kind == SectionType::CALLGRAPH),
    (".nv.prototype", |_, kind| kind == SectionType::PROTOTYPE),
    (".nv.compat", |role, _| role == Role::Compatibility),
    (".symtab", |_, kind| matches!(kind, SectionType::SYMTAB | SectionType::SYMTAB_SHNDX)),
];

/// Checks that a file is an object, and holds code of the target's kind.
pub(super) fn kind_of_file(file: &File<'_>, name: &str, target: &Target) -> Result<(), Box<Diagnostic>> {
    let problem = match file.header().kind {
        ET_REL | ET_WHOLE_PROGRAM if !file.is_mercury() || (target.views == Views::Two && !file.is_machine_only()) => {
            return Ok(());
        }
        ET_REL | ET_WHOLE_PROGRAM if target.views == Views::Two => {
            "its header says that it holds Mercury code, and that it does not".to_owned()
        }
        ET_REL | ET_WHOLE_PROGRAM => {
            format!("its header says that it holds Mercury code, which there is none of for {}", target.name)
        }
        kind => format!("its header says that it is a file of type {kind:#x}, which is no object"),
    };
    Err(Box::new(Diagnostic::new(Message::BadObject { file: name.into(), problem })))
}

/// Checks that a section is of the view and of the type that its name announces.
#[inline(always)] // Hot: one per section.
pub(super) fn name(section: &Section<'_>, (name, kind): (&str, SectionType), role: Role) -> Result<(), Damage> {
    let is_named_mercury = [MERCURY_PREFIX, CAPSULE_PREFIX].iter().any(|prefix| section.name.starts_with(prefix));
    let fits = match role {
        // Nearly all sections are of these.
        Role::Text if name.starts_with(".text.") => true,
        Role::Relocations { .. } if name.starts_with(".rel") => true,
        Role::FunctionInfo if name.starts_with(".nv.info") => true,
        _ => NAMES.iter().find(|(start, _)| name.starts_with(start)).is_none_or(|(_, fits)| fits(role, kind)),
    };
    if is_named_mercury == is_mercury(section) && fits { Ok(()) } else { Err(misnamed(section)) }
}

#[cold]
fn misnamed(section: &Section<'_>) -> Damage {
    let (kind, flags) = (section.kind().0, section.header.flags);
    Damage::of(section, format!("its type is {kind:#x}, and its flags are {flags:#x}, which is not what its name says"))
}

/// Checks that the frames of the Mercury view, which generators of machine code read, are whole and of a known version.
pub(super) fn frames(section: &Section<'_>) -> Result<(), Damage> {
    /// A length that says that the real one follows, and has 8 bytes.
    const LONG: u32 = 0xffff_ffff;
    const VERSIONS: [u8; 2] = [3, 4];
    let (mut rest, size) = (section.data, section.data.len());
    while let Some((first, behind)) = rest.split_first_chunk() {
        let at = (size - rest.len()) as u64;
        let (length, behind) = match (u32::from_le_bytes(*first), behind.split_first_chunk()) {
            (LONG, Some((length, behind))) => (u64::from_le_bytes(*length), behind),
            (length, _) => (u64::from(length), behind),
        };
        let id_size = if rest.len() - behind.len() > first.len() { 8 } else { 4 };
        let split = usize::try_from(length).ok().and_then(|length| behind.split_at_checked(length));
        let Some((frame, next)) = split.filter(|(frame, _)| frame.len() > id_size) else {
            return Err(Damage::at(section, at, format!("a frame has {length:#x} bytes, which are not there")));
        };
        let (id, contents) = frame.split_at(id_size);
        let version = contents.first().copied().unwrap_or_default();
        if id.iter().all(|&byte| byte == 0xff) && !VERSIONS.contains(&version) {
            return Err(Damage::at(section, at, format!("frames of version {version}")));
        }
        rest = next;
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
    let own_raw = arrangement.order().get(index).and_then(|&number| file.section(number));
    // The other side of what it belongs to is found by that one, not the other way round.
    let crosses = |own: &Section<'_>| !is_mercury(own) && file.section(own.header.info).is_some_and(is_mercury);
    let fits = match own {
        _ if own_raw.is_some_and(crosses) => false,
        Role::Relocations { .. } => !matches!(target.role, Role::Structure | Role::ToolNotes | Role::Compatibility),
        _ => target.role == Role::Text,
    };
    let text = match own_name_fits(&sections[index], target) {
        true if fits => return Ok(()),
        true => format!("belongs to section '{}', which is of type {:#x}", target.name, target.kind.0),
        false => format!("belongs to section '{}'", target.name),
    };
    Err(match own_raw {
        Some(raw) => Damage::of(raw, text),
        None => Damage(text),
    })
}

/// Whether what is named after a section, or after a function, belongs to that one.
fn own_name_fits(section: &InputSection<'_>, target: &InputSection<'_>) -> bool {
    let name = section.name;
    let named = match section.role {
        Role::Relocations { .. } => {
            let rest = name.strip_prefix(".rela").or_else(|| name.strip_prefix(".rel"));
            return rest == Some(target.name);
        }
        Role::FunctionInfo => name.strip_prefix(".nv.info."),
        Role::KernelShared => name.strip_prefix(".nv.shared."),
        Role::FunctionConstants(_) => match views::machine_name(name) {
            Some((_, function)) => Some(function),
            None => name.strip_prefix(".nv.constant").and_then(|rest| rest.split_once('.')).map(|(_, function)| function),
        },
        _ => None,
    };
    named.zip(target.name.strip_prefix(".text.")).is_none_or(|(named, code)| named == code)
}

/// The memory space of variables in a section, as their symbols have it.
fn space_of(role: Role) -> Option<u8> {
    Some(match role {
        Role::GlobalData | Role::GlobalZero | Role::UnifiedData => other::SPACE_GLOBAL,
        Role::ModuleShared | Role::KernelShared => other::SPACE_SHARED,
        Role::ModuleConstants(_) | Role::FunctionConstants(_) => other::SPACE_CONSTANT,
        Role::ReservedShared => other::SPACE_RESERVED,
        _ => return None,
    })
}

/// Says what is wrong with a symbol, given where it is defined.
#[inline(always)] // Hot: one per symbol.
pub(super) fn symbol(symbol: &Symbol<'_>, place: Place, home: Option<(Role, u64)>) -> Result<(), String> {
    let name = symbol.name;
    let alignment_is_value = (place == Place::Common || other::is_shared(symbol.other)) && place != Place::Undefined;
    if alignment_is_value && !(symbol.value.max(1).is_power_of_two() && symbol.value <= MAX_ALIGN) {
        return Err(format!("symbol '{name}' has alignment {:#x}", symbol.value));
    }
    if symbol.size > MAX_SIZE || symbol.value > MAX_SIZE {
        return Err(format!("symbol '{name}' reaches past any GPU's memory"));
    }
    let role = home.map(|(role, _)| role);
    let space = symbol.other & other::SPACE;
    let is_elsewhere = |role: Role| match space_of(role) {
        Some(expected) => expected != space && (space != 0 || symbol.kind == SymbolKind::CUDA_OBJECT),
        None => symbol.kind == SymbolKind::CUDA_OBJECT,
    };
    if role.is_some_and(is_elsewhere) {
        return Err(format!("'{name}' is in a section of another memory than its own, {space:#x}"));
    }
    // Shared variables have an alignment, or an offset that is settled later.
    let start = if matches!(space, other::SPACE_SHARED | other::SPACE_RESERVED) { 0 } else { symbol.value };
    if symbol.kind == SymbolKind::CUDA_OBJECT && home.is_some_and(|(_, size)| start + symbol.size > size) {
        return Err(format!("'{name}' reaches past the end of its section"));
    }
    let is_internal = other::is_internal(symbol.other);
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

    /// The same of the machine's side of it, if it has one.
    fn machine_names_owner(&self, section: &InputSection<'_>) -> bool {
        let machine = section.machine.and_then(|id| self.arrangement.order().get(id.index()));
        machine.and_then(|&number| self.file.section(number)).is_none_or(|raw| self.names_owner(raw, section))
    }

    /// Checks that code is a function's, and what only kernels have a kernel's.
    pub(super) fn check_code(&self, sections: &[InputSection<'_>], symbols: &[InputSymbol<'_>]) -> Result<(), Damage> {
        let is_code = |section: &InputSection<'_>| matches!(section.role, Role::Text | Role::FunctionConstants(PARAMETER_BANK));
        for (raw, section) in self.linked(sections, is_code) {
            match section.role {
                Role::Text if section.owner.is_none() => return Err(Damage::of(raw, "holds the code of no function".into())),
                Role::Text if !self.names_owner(raw, section) || !self.machine_names_owner(section) => {
                    return Err(Damage::of(raw, format!("names symbol {} as its function", raw.header.info & FUNCTION)));
                }
                Role::Text if section.data.is_empty() => return Err(Damage::of(raw, "a function has no code".into())),
                Role::FunctionConstants(PARAMETER_BANK) => {
                    let owner = section.target.and_then(|code| sections[code.index()].owner).map(|owner| &symbols[owner.index()]);
                    if let Some(owner) = owner.filter(|owner| owner.other & other::ENTRY == 0) {
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
                let is_global = symbol.kind == SymbolKind::CUDA_OBJECT && symbol.other & other::SPACE == other::SPACE_GLOBAL;
                if is_global && other::is_internal(symbol.other) {
                    return Err(problem(format!("relocation names '{}', which was deleted", symbol.name)));
                }
                if entry.symbol == 0 && target.role == Role::Text && is_address(entry.kind) {
                    return Err(problem(format!("relocation {} in '{}' names no symbol", entry.kind, target.name)));
                }
                let Some(reach) = extent(entry.kind) else {
                    return Err(problem(format!("relocation {} is of an unknown type", entry.kind)));
                };
                if let Some(what) = wrong_symbol(entry.kind, symbol) {
                    return Err(problem(format!("relocation {} names '{}', which is {what}", entry.kind, symbol.name)));
                }
                if entry.kind.is_mercury() != is_mercury(raw) {
                    return Err(problem(format!("relocation {} belongs to the other view of the program", entry.kind)));
                }
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

/// Whether a relocation asks for an address, which only a symbol has.
fn is_address(kind: RelocationType) -> bool {
    use Expression::{Address, FunctionDescriptor, GenericAddress, ProgramRelative};
    matches!(kind.expression(), Address | FunctionDescriptor | GenericAddress | ProgramRelative)
}

/// What a symbol is, if a relocation of this type can not name it.
fn wrong_symbol(kind: RelocationType, symbol: &InputSymbol<'_>) -> Option<&'static str> {
    let is_opaque = matches!(symbol.kind, SymbolKind::TEXTURE | SymbolKind::SAMPLER | SymbolKind::SURFACE);
    let is_branch = matches!(kind, RelocationType::R_CUDA_ABS47_34 | RelocationType::R_CUDA_ABS55_16_34);
    match kind.expression() {
        Expression::Descriptor if !is_opaque => Some("no texture, sampler or surface"),
        Expression::FunctionDescriptor if symbol.kind == SymbolKind::CUDA_OBJECT => Some("no function"),
        Expression::GenericAddress if is_branch && symbol.kind == SymbolKind::CUDA_OBJECT => Some("no function"),
        Expression::WindowOffset if symbol.kind == SymbolKind::FUNCTION => Some("no variable"),
        _ => None,
    }
}

/// How many bytes from its offset on a relocation may change, if its type is one of today's.
fn extent(kind: RelocationType) -> Option<u64> {
    let is_known =
        |row: &&KnownRelocationType| row.kind != RelocationType::R_CUDA_NONE_LAST && row.expression != Expression::Legacy;
    let bits = kind.row().filter(is_known)?.field;
    Some(bits.iter().map(|bits| u64::from(bits.first_bit) + u64::from(bits.width)).max().unwrap_or(0).div_ceil(8))
}
