//! What an executable means to the driver, whatever its order and its addresses.
//!
//! A link in two steps meets names in another order than a link in one, so places in shared memory and constant banks may differ.
//! What code finds at those places must not. So an executable is turned into a list of facts that name no place: code without
//! the fields that the linker filled, and for each of these fields what it leads to; variables with their values; attributes,
//! calls and relocations by name. Two links mean the same if they have the same facts.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use cubin::callgraph::{self, Edge};
use cubin::elf::{SHF_EXECINSTR, SHT_NOBITS};
use cubin::info::{self, Symbols};
use cubin::read::{File, Section};
use cubin::relocation::{self, Bits, Part, Relocation};
use cubin::section::{Contents, SectionType};
use cubin::symbol::{Space, Symbol, SymbolKind, SymbolSection};

/// The facts of an executable that was linked from `units`, directly or not.
pub fn facts(executable: &[u8], units: &[Vec<u8>]) -> Result<Vec<String>, String> {
    let read = |bytes| File::parse(bytes).map_err(|error| error.to_string());
    let units = units.iter().map(|unit| View::new(read(unit)?)).collect::<Result<Vec<_>, String>>()?;
    let view = View::new(read(executable)?)?;
    let mut facts = Facts { view: &view, units: &units, list: Vec::new() };
    facts.sections();
    facts.symbols();
    facts.calls();
    facts.code();
    facts.list.sort();
    // A relocatable link says nothing twice of who calls whom.
    let says_who_calls = |fact: &str| ["call ", "refers "].iter().any(|start| fact.starts_with(start));
    facts.list.dedup_by(|fact, other| fact == other && says_who_calls(fact));
    Ok(facts.list)
}

/// A file, with what is found in it by index.
struct View<'data> {
    file: File<'data>,
    symbols: Vec<Symbol<'data>>,
    /// Of each section: the relocations that are in the file.
    relocations: BTreeMap<u32, Vec<Relocation>>,
}

impl<'data> View<'data> {
    fn new(file: File<'data>) -> Result<Self, String> {
        let symbols = file.symbols().map_err(|error| error.to_string())?;
        let mut relocations: BTreeMap<u32, Vec<Relocation>> = BTreeMap::new();
        for section in file.sections().iter().filter(|section| matches!(section.kind(), SectionType::REL | SectionType::RELA)) {
            let entries = relocation::entries(section).map_err(|error| error.to_string())?;
            relocations.entry(section.header.info).or_default().extend(entries);
        }
        Ok(View { file, symbols, relocations })
    }

    fn relocations_of(&self, section: &Section<'_>) -> &[Relocation] {
        self.relocations.get(&section.index).map(Vec::as_slice).unwrap_or_default()
    }

    fn section_named(&self, name: &str) -> Option<&Section<'data>> {
        self.file.section_named(name).and_then(|index| self.file.section(index))
    }

    /// The name of a symbol; of a section's, the section's.
    fn name(&self, symbol: u32) -> String {
        match self.symbols.get(symbol as usize) {
            Some(Symbol { kind: SymbolKind::SECTION, section: SymbolSection::Index(index), .. }) => self.section_name(*index),
            Some(symbol) => symbol.name.to_owned(),
            None => "nothing".to_owned(),
        }
    }

    fn section_name(&self, index: u32) -> String {
        self.file.section(index).map_or("nothing", |section| section.name).to_owned()
    }

    /// The variable that a place belongs to, and how far after its start it is.
    fn variable_at(&self, section: &Section<'_>, offset: u64) -> Option<(&Symbol<'data>, u64)> {
        let is_there = |symbol: &&Symbol<'_>| {
            symbol.section == SymbolSection::Index(section.index)
                && !matches!(symbol.kind, SymbolKind::SECTION | SymbolKind::FUNCTION)
                && symbol.value <= offset
                && offset - symbol.value < symbol.size
        };
        self.symbols.iter().find(is_there).map(|symbol| (symbol, offset - symbol.value))
    }
}

struct Facts<'all, 'data> {
    view: &'all View<'data>,
    units: &'all [View<'data>],
    list: Vec<String>,
}

impl Facts<'_, '_> {
    fn add(&mut self, fact: String) {
        self.list.push(fact);
    }

    fn sections(&mut self) {
        for section in self.view.file.sections().iter().skip(1) {
            let (name, kind, header) = (section.name, section.kind(), &section.header);
            let is_code = header.flags & SHF_EXECINSTR != 0;
            match kind.contents() {
                Contents::Info => self.records(section),
                Contents::Rel | Contents::Rela | Contents::Strings | Contents::Symbols => {}
                _ if matches!(kind, SectionType::CALLGRAPH | SectionType::PROTOTYPE) || name == ".note.nv.tkinfo" => {}
                _ if is_code => {
                    let symbol = self.view.name(header.info & 0xff_ffff);
                    self.add(format!("code {name}: {symbol}, flags {:#x}, size {:#x}", header.flags, header.size));
                }
                _ if kind == SectionType(SHT_NOBITS) && !name.starts_with(".nv.global") => {
                    self.add(format!("shared {name}: size {:#x}, alignment {}", header.size, header.align));
                }
                // Their values are compared by variable.
                _ if is_laid_out_anew(name) => {}
                _ => {
                    let (type_, flags, bytes) = (header.kind, header.flags, shown(section.data));
                    self.add(format!("bytes {name}: type {type_:#x}, flags {flags:#x}, contents {bytes}"));
                }
            }
            for entry in self.view.relocations_of(section) {
                let symbol = self.view.name(entry.symbol);
                let place = match self.view.variable_at(section, entry.offset) {
                    Some((variable, offset)) => format!("{}+{offset:#x}", variable.name),
                    // What is left of a variable that lost.
                    None if is_laid_out_anew(name) => continue,
                    None => format!("{:#x}", entry.offset),
                };
                self.add(format!("relocation {name} {place}: {} {symbol} {:+#x}", entry.kind, entry.addend));
            }
        }
    }

    fn records(&mut self, section: &Section<'_>) {
        for record in info::records(section.data).flatten() {
            let named = match record.attribute.symbols() {
                _ if section.kind() == SectionType::COMPAT => 0,
                Symbols::None => 0,
                Symbols::First => 1,
                Symbols::All => usize::MAX,
            };
            let text = |(index, word)| if index < named { self.view.name(word) } else { format!("{word:#x}") };
            let mut words: Vec<String> = record.words().enumerate().map(text).collect();
            if named > 1 {
                words.sort();
            }
            let value = if record.format == info::format::SIZED { 0 } else { record.value };
            self.add(format!("info {}: {} {value:#x} {}", section.name, record.attribute, words.join(" ")));
        }
    }

    fn symbols(&mut self) {
        for symbol in self.view.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::SECTION && !symbol.name.is_empty()) {
            let (place, value) = match symbol.section {
                SymbolSection::Index(index) => {
                    let section = self.view.file.section(index);
                    let end = symbol.value.saturating_add(symbol.size);
                    let value = section.and_then(|section| section.data.get(symbol.value as usize..end as usize));
                    let is_code = symbol.kind == SymbolKind::FUNCTION;
                    (self.view.section_name(index), value.filter(|_| !is_code).map(shown).unwrap_or_default())
                }
                other => (format!("{other:?}"), String::new()),
            };
            let Symbol { name, binding, kind, other, size, .. } = *symbol;
            self.add(format!("symbol {name}: {binding} {kind} {other:#x}, size {size:#x}, in {place} {value}"));
        }
    }

    /// The records of a table of pairs.
    fn calls(&mut self) {
        let view = self.view;
        let string = |offset| view.file.strings().and_then(|strings| strings.get(offset)).unwrap_or_default();
        for edge in edges(view) {
            self.add(match edge {
                Edge::Call { caller, callee } => format!("call {} {}", view.name(caller), view.name(callee)),
                Edge::AddressTaken { function, prototype } => format!("taken {} {}", view.name(function), string(prototype)),
                Edge::IndirectCall { caller, prototype } => format!("indirect {} {}", view.name(caller), string(prototype)),
                Edge::References { caller, function } => format!("refers {} {}", view.name(caller), view.name(function)),
            });
        }
        let table = view.file.sections().iter().filter(|section| section.kind() == SectionType::PROTOTYPE);
        for (symbol, prototype) in table.flat_map(|section| callgraph::prototypes(section.data).flatten()) {
            self.add(format!("prototype {} {}", view.name(symbol), string(prototype)));
        }
    }

    /// Code, and what the fields that the linker filled lead to.
    fn code(&mut self) {
        let kernels = kernels_that_reach(self.view);
        for section in self.view.file.sections().iter().filter(|section| section.header.flags & SHF_EXECINSTR != 0) {
            let kept: BTreeSet<u64> = self.view.relocations_of(section).iter().map(|entry| entry.offset).collect();
            let mut copies = self.units.iter().filter_map(|unit| {
                let source = unit.section_named(section.name).filter(|source| source.data.len() == section.data.len())?;
                let filled: Vec<Relocation> =
                    unit.relocations_of(source).iter().filter(|entry| !kept.contains(&entry.offset)).copied().collect();
                (without(section.data, &filled) == without(source.data, &filled)).then_some((unit, source, filled))
            });
            let Some((unit, source, filled)) = copies.next() else {
                self.add(format!("unknown {}", section.name));
                continue;
            };
            self.add(format!("instructions {}: {}", section.name, shown(&without(source.data, &filled))));
            let function = section.header.info & 0xff_ffff;
            for entry in &filled {
                let reached: Vec<&str> = kernels.get(&function).into_iter().flatten().copied().collect();
                let what = self.target(unit, entry, section, &reached);
                self.add(format!("field {} {:#x}: {what}", section.name, entry.offset));
            }
        }
    }

    /// What a field that the linker filled leads to.
    fn target(&self, unit: &View<'_>, entry: &Relocation, section: &Section<'_>, kernels: &[&str]) -> String {
        let field = entry.kind.row().map(|row| row.field).unwrap_or_default();
        let part = |part: Part| {
            let bits = field.iter().filter(|bits| bits.part == part);
            bits.map(|bits| relocation::read_field(bits, section.data, entry.offset).unwrap_or(0) << bits.value_shift)
                .sum::<u64>()
        };
        let Some(symbol) = unit.symbols.get(entry.symbol as usize) else { return "nothing".into() };
        let start = part(Part::Value).wrapping_sub(entry.addend as u64);
        let addend = entry.addend;
        match (symbol.space(), symbol.section) {
            (Space::Shared, SymbolSection::Undefined) if symbol.size == 0 => format!("behind shared {start:#x}"),
            (Space::Shared, _) => {
                let fits = |kernel: &&&str| {
                    let shared = self.view.section_named(&format!(".nv.shared.{kernel}"));
                    shared.is_some_and(|shared| start + symbol.size <= shared.header.size)
                };
                let fitting: Vec<_> = kernels.iter().filter(fits).collect();
                format!("shared {} {addend:+#x}, for {fitting:?}", symbol.name)
            }
            (_, SymbolSection::Index(index)) if unit.section_name(index).starts_with(".nv.constant2") => {
                let source = unit.file.section(index);
                let value = source.and_then(|source| bytes_at(source, symbol.value, symbol.size));
                let is_there = |kernel: &&&str| {
                    let bank = self.view.section_named(&format!(".nv.constant2.{kernel}"));
                    bank.and_then(|bank| bytes_at(bank, start, symbol.size)) == value
                };
                let having: Vec<_> = kernels.iter().filter(is_there).collect();
                format!("constants of {} {addend:+#x}, for {having:?}", symbol.name)
            }
            _ => match self.view.section_named(".nv.constant3").and_then(|bank| self.view.variable_at(bank, start)) {
                Some((variable, offset)) if matches!(symbol.space(), Space::Constant) => {
                    format!("constant {}+{offset:#x} {addend:+#x}", variable.name)
                }
                _ => format!("{} {start:#x} {addend:+#x}", symbol.name),
            },
        }
    }
}

/// Whether a section's order depends on the order of the link.
fn is_laid_out_anew(name: &str) -> bool {
    name == ".nv.constant3" || name.starts_with(".nv.constant2") || name.starts_with(".nv.global")
}

fn edges<'view>(view: &'view View<'_>) -> impl Iterator<Item = Edge> + 'view {
    let table = view.file.sections().iter().filter(|section| section.kind() == SectionType::CALLGRAPH);
    table.flat_map(|section| callgraph::edges(section.data).flatten())
}

/// For each function, by symbol: the names of the kernels that reach it.
fn kernels_that_reach<'data>(view: &View<'data>) -> BTreeMap<u32, BTreeSet<&'data str>> {
    let string = |offset| view.file.strings().and_then(|strings| strings.get(offset));
    let mut calls: Vec<(u32, u32)> = Vec::new();
    for edge in edges(view) {
        match edge {
            Edge::Call { caller, callee } => calls.push((caller, callee)),
            Edge::IndirectCall { caller, prototype } => calls.extend(edges(view).filter_map(|edge| match edge {
                Edge::AddressTaken { function, prototype: other } if string(other) == string(prototype) => {
                    Some((caller, function))
                }
                _ => None,
            })),
            _ => {}
        }
    }
    let mut reaching: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for (kernel, symbol) in view.symbols.iter().enumerate().filter(|(_, symbol)| symbol.is_entry() && symbol.is_defined()) {
        let mut open = vec![kernel as u32];
        while let Some(function) = open.pop() {
            if reaching.entry(function).or_default().insert(symbol.name) {
                open.extend(calls.iter().filter(|(caller, _)| *caller == function).map(|(_, callee)| *callee));
            }
        }
    }
    reaching
}

/// Code without the fields of some relocations.
fn without(code: &[u8], relocations: &[Relocation]) -> Vec<u8> {
    let mut code = code.to_vec();
    for entry in relocations {
        let field: &[Bits] = entry.kind.row().map(|row| row.field).unwrap_or_default();
        for bits in field {
            // A field that is not in the code changes nothing.
            let _ = relocation::write_field(bits, &mut code, entry.offset, 0);
        }
    }
    code
}

fn bytes_at<'data>(section: &Section<'data>, start: u64, size: u64) -> Option<&'data [u8]> {
    section.data.get(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?)
}

/// Bytes as text: all of them if they are few.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= 64 {
        return bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, hash {:x}", bytes.len(), hasher.finish())
}
