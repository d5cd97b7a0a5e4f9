//! The resources of the kernels of an image, read from its attribute records.
//!
//! They are read from the image, not kept from the link, so that they are available for images that a compiler made, too.

use cubin::info::{self, Attribute};
use cubin::read::{File, Section};
use cubin::section::SectionType;
use cubin::symbol::SymbolSection;
use hashbrown::HashMap;

/// A kernel, and what each of its launches takes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Kernel {
    /// Its name, as the image has it.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of stack per thread, with everything that it calls. None: not known, because a function may call itself.
    pub stack: Option<u32>,
    /// Barriers per block.
    pub barriers: u32,
    /// Bytes of shared memory per block, with those that the system reserves and without those that a launch adds.
    pub shared: u64,
    /// Bytes of the constant bank that its parameters are in.
    pub parameters: u64,
    /// Bytes of constants that the compiler made for it.
    pub constants: u64,
}

/// What a section that belongs to the code of a kernel tells by its size: the start of its name, and where that goes.
type SizeField = (&'static str, fn(&mut Kernel) -> &mut u64);

const SIZES: [SizeField; 3] = [
    (".nv.shared.", |kernel| &mut kernel.shared),
    (".nv.constant0.", |kernel| &mut kernel.parameters),
    (".nv.constant2.", |kernel| &mut kernel.constants),
];

/// How far up the number of registers is in what the header of code says, in files for GPUs before `sm_90`.
const REGISTERS_SHIFT: u32 = 24;

/// Kernels by different numbers of theirs.
#[derive(Default)]
struct Found {
    kernels: Vec<Kernel>,
    /// By the section of their code.
    by_code: HashMap<u32, usize, foldhash::fast::FixedState>,
    /// By their symbols.
    by_symbol: HashMap<u32, usize, foldhash::fast::FixedState>,
}

impl Found {
    fn with_code(&mut self, section: u32) -> Option<&mut Kernel> {
        self.kernels.get_mut(*self.by_code.get(&section)?)
    }

    fn with_symbol(&mut self, symbol: u32) -> Option<&mut Kernel> {
        self.kernels.get_mut(*self.by_symbol.get(&symbol)?)
    }

    /// Takes what a section tells of a kernel.
    fn read(&mut self, section: &Section<'_>) {
        if let Some(kernel) = self.with_code(section.index) {
            kernel.registers = kernel.registers.max(section.header.info >> REGISTERS_SHIFT);
        }
        if section.kind() == SectionType::INFO {
            self.read_records(section);
        } else if let Some((_, size)) = SIZES.iter().find(|(start, _)| section.name.starts_with(start))
            && let Some(kernel) = self.with_code(section.header.info)
        {
            *size(kernel) = section.header.size;
        }
    }

    fn read_records(&mut self, section: &Section<'_>) {
        for record in info::records(section.data).map_while(Result::ok) {
            let number = || Some((record.word(0)?, record.word(1)?));
            match (record.attribute, number()) {
                (Attribute::REGCOUNT, Some((symbol, registers))) => {
                    if let Some(kernel) = self.with_symbol(symbol) {
                        kernel.registers = registers;
                    }
                }
                (Attribute::MIN_STACK_SIZE, Some((symbol, size))) => {
                    if let Some(kernel) = self.with_symbol(symbol) {
                        // A size that can not be known is negative.
                        kernel.stack = Some(size).filter(|&size| size.cast_signed() >= 0);
                    }
                }
                (Attribute::NUM_BARRIERS, _) => {
                    if let Some(kernel) = self.with_code(section.header.info) {
                        kernel.barriers = u32::from(record.value);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The kernels of an image, in the order of its symbols.
///
/// # Errors
/// When it is no cubin, or damaged.
pub fn kernels(image: &[u8]) -> cubin::Result<Vec<Kernel>> {
    let file = File::parse(image)?;
    let mut found = Found::default();
    for (symbol, index) in file.symbols()?.iter().zip(0..) {
        if let SymbolSection::Index(code) = symbol.section
            && symbol.is_entry()
        {
            found.by_code.insert(code, found.kernels.len());
            found.by_symbol.insert(index, found.kernels.len());
            found.kernels.push(Kernel { name: symbol.name.to_owned(), ..Kernel::default() });
        }
    }
    file.sections().iter().for_each(|section| found.read(section));
    Ok(found.kernels)
}
