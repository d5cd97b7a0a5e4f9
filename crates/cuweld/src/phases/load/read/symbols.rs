//! The symbols of an object.

use super::{Damage, Reader, changed, check};
use crate::id::{Id, InputSectionId, InputSymbolId};
use crate::phases::load::variables::Symbols;
use crate::phases::load::{Homeless, InputSymbol, Place, Role, Rows, name_hash};
use cubin::elf::SymbolRecord;
use cubin::symbol::{Binding, Symbol, SymbolKind, SymbolSection};
use cubin::target::Views;

/// Where the reference linker says that a variable is which is missing from a relocatable output of its own.
const MISSING: u64 = u64::MAX;

impl<'data> Reader<'_, 'data> {
    /// The symbols. Sections learn what function they are the code of.
    pub(super) fn read_symbols(&self, rows: &mut Rows<'_, 'data>) -> Result<Symbols, Damage> {
        let table = match self.views {
            Views::One => self.file.symbol_table(),
            Views::Two => self.file.mercury_symbol_table(),
        };
        let raw = self.file.each_linked_symbol(self.views)?;
        let table = table.and_then(|index| self.file.section(index));
        if raw.len() != rows.symbols.len() {
            return Err(changed());
        }
        let mut found = Symbols::default();
        for (index, (symbol, (row, hash))) in raw.zip(rows.symbols.iter_mut().zip(rows.name_hashes.iter_mut())).enumerate() {
            let mut symbol = symbol?;
            let problem = |text: String| match table {
                Some(section) => Damage::at(section, index as u64 * SymbolRecord::SIZE as u64, text),
                None => Damage(text),
            };
            let place = self.place(&symbol).map_err(problem)?;
            if place == Place::Undefined && symbol.value == MISSING {
                symbol.value = 0;
            }
            let id = InputSymbolId::from_index(index);
            let home =
                if let Place::Section(section) = place { Some((section, rows.sections[section.index()].role)) } else { None };
            if let (Some((section, role)), SymbolKind::FUNCTION) = (home, symbol.kind) {
                let code = &mut rows.sections[section.index()];
                if role != Role::Text {
                    let text = format!("function '{}' is defined in '{}', which holds no code", symbol.name, code.name);
                    return Err(problem(text));
                }
                if symbol.value == 0 {
                    code.owner.get_or_insert(id);
                }
            }
            let is_dynamic = home.is_some_and(|(_, role)| is_settled_dynamic(&symbol, role));
            let place = if is_dynamic { Place::Undefined } else { place };
            let room = home.map(|(section, role)| (role, rows.sections[section.index()].size));
            check::symbol(&symbol, place, room).map_err(problem)?;
            let home = home.filter(|_| !is_dynamic);
            *row = InputSymbol {
                name: symbol.name,
                // Hot: one per symbol, so this is not put off until all ids are made to count from there.
                section: home.map(|(section, _)| InputSectionId::from_index(rows.first_section + section.index())),
                homeless: match place {
                    Place::Common => Homeless::Common,
                    _ if is_dynamic => Homeless::SettledDynamic,
                    _ => Homeless::Undefined,
                },
                value: symbol.value,
                size: symbol.size,
                binding: symbol.binding,
                kind: symbol.kind,
                other: symbol.other,
                ..InputSymbol::BLANK
            };
            *hash = if symbol.binding == Binding::LOCAL { 0 } else { name_hash(symbol.name.as_bytes()) };
            found.add(id, row, home);
        }
        self.place_inner_functions(found, rows)
    }

    /// Where a symbol is defined.
    #[inline(always)] // Hot: one per symbol.
    fn place(&self, symbol: &Symbol<'data>) -> Result<Place, String> {
        match symbol.section {
            SymbolSection::Undefined => Ok(Place::Undefined),
            SymbolSection::Common => Ok(Place::Common),
            SymbolSection::Index(section) => match self.arrangement.id(section) {
                Some(section) => Ok(Place::Section(section)),
                None => Err(format!("symbol '{}' is in section {section}, which is missing", symbol.name)),
            },
            SymbolSection::Absolute | SymbolSection::Reserved(_) => {
                Err(format!("symbol '{}' is in a section of unknown kind", symbol.name))
            }
        }
    }

    /// Puts functions inside of others after those, once every code section knows its function.
    fn place_inner_functions(&self, mut found: Symbols, rows: &Rows<'_, 'data>) -> Result<Symbols, Damage> {
        self.check_code(rows.sections, rows.symbols)?;
        let owner = |function: InputSymbolId| match rows.symbols[function.index()].place() {
            Place::Section(section) => rows.sections[section.index() - rows.first_section].owner,
            _ => Some(function),
        };
        found
            .place_inner_functions(owner)
            .map_err(|inner| Damage(format!("function '{}' is inside the code of no other", rows.symbols[inner.index()].name)))?;
        Ok(found)
    }
}

/// Whether a symbol is dynamic shared memory. The reference linker puts it into a section in a relocatable output of its own, where it
/// has no size: that defines nothing.
fn is_settled_dynamic(symbol: &Symbol<'_>, role: Role) -> bool {
    role == Role::ModuleShared && symbol.size == 0 && symbol.binding != Binding::LOCAL
}
