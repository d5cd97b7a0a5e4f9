//! Encoded records, except for symbol numbers, which are not known yet.

use crate::id::{FunctionId, Id};
use crate::phases::number::Numbering;
use crate::phases::relocate::Referent;
use crate::views::{PerView, View};
use cubin::info::{Attribute, HEADER_SIZE, Record, format};
use cubin::target::Views;
use rayon::prelude::*;

/// The most words that the payload of a record can have: its length has 16 bits.
const MOST_WORDS: usize = u16::MAX as usize / 4;

/// Records, one after the other.
#[derive(Debug, Default)]
pub struct Encoded {
    bytes: Vec<u8>,
    mentions: Vec<Mention>,
}

/// An offset at which the number of a symbol is written.
#[derive(Debug)]
struct Mention {
    at: usize,
    of: Referent,
}

impl Encoded {
    /// Makes room for so many more bytes and symbols.
    pub fn reserve(&mut self, bytes: usize, symbols: usize) {
        self.bytes.reserve(bytes);
        self.mentions.reserve(symbols);
    }

    fn header(&mut self, format: u8, attribute: Attribute, value: u16) {
        let [low, high] = value.to_le_bytes();
        self.bytes.extend_from_slice(&[format, attribute.0, low, high]);
    }

    fn mention(&mut self, of: Referent) {
        self.mentions.push(Mention { at: self.bytes.len(), of });
        self.bytes.extend_from_slice(&[0; 4]);
    }

    /// A record as it was read.
    pub fn copy(&mut self, record: &Record<'_>) {
        self.header(record.format, record.attribute, record.value);
        self.bytes.extend_from_slice(record.payload);
    }

    /// A value in the header.
    pub fn value(&mut self, format: u8, attribute: Attribute, value: u16) {
        self.header(format, attribute, value);
    }

    /// A symbol, and some bytes.
    pub fn of_symbol(&mut self, attribute: Attribute, symbol: Referent, rest: &[u8]) {
        self.header(format::SIZED, attribute, (4 + rest.len()) as u16);
        self.mention(symbol);
        self.bytes.extend_from_slice(rest);
    }

    /// Numbers, in several records if one has no room for all.
    pub fn words(&mut self, attribute: Attribute, words: &[u32]) {
        let (first, others) = words.split_at(words.len().min(MOST_WORDS));
        for words in [first].into_iter().chain(others.chunks(MOST_WORDS)) {
            self.header(format::SIZED, attribute, (4 * words.len()) as u16);
            self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
    }

    /// Symbols only, likewise. There is no record of none.
    pub fn symbols(&mut self, attribute: Attribute, symbols: impl Iterator<Item = Referent>) {
        let mut symbols = symbols.peekable();
        while symbols.peek().is_some() {
            let start = self.bytes.len();
            self.header(format::SIZED, attribute, 0);
            symbols.by_ref().take(MOST_WORDS).for_each(|symbol| self.mention(symbol));
            let payload = (self.bytes.len() - start - HEADER_SIZE) as u16;
            self.bytes[start + 2..start + HEADER_SIZE].copy_from_slice(&payload.to_le_bytes());
        }
    }

    /// All of them.
    pub fn all(&self) -> Section<'_> {
        Section { start: 0, bytes: &self.bytes, mentions: &self.mentions }
    }
}

/// The records of one section.
#[derive(Copy, Clone, Debug)]
pub struct Section<'all> {
    bytes: &'all [u8],
    mentions: &'all [Mention],
    /// What offsets are counted from.
    start: usize,
}

impl Section<'_> {
    /// How many bytes they take.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes them.
    pub fn write(&self, numbering: &Numbering, out: &mut [u8]) {
        out.copy_from_slice(self.bytes);
        for mention in self.mentions {
            let at = mention.at - self.start;
            out[at..at + 4].copy_from_slice(&numbering.referent(mention.of).to_le_bytes());
        }
    }
}

/// How many functions share their bytes.
const RUN: usize = 256;

/// The records of all functions, a section each, as each view has them.
#[derive(Debug)]
pub struct FunctionRecords {
    runs: Vec<PerView<FunctionRun>>,
}

#[derive(Debug, Default)]
struct FunctionRun {
    records: Encoded,
    /// Where in both lists each function ends.
    ends: Vec<(usize, usize)>,
}

impl FunctionRecords {
    /// Makes the records of so many functions. `encode` appends those that one has in a view; what it is given besides is at its
    /// disposal.
    pub fn of<Scratch: Default>(
        functions: usize,
        views: Views,
        encode: impl Fn(FunctionId, View, &mut Scratch, &mut Encoded) + Sync,
    ) -> Self {
        let run = |run: usize| {
            let (mut runs, mut scratch) = (PerView::new(views, |_| FunctionRun::default()), Scratch::default());
            let functions = run * RUN..functions.min((run + 1) * RUN);
            for (view, run) in runs.iter_mut() {
                run.ends.reserve(functions.len());
                for function in functions.clone() {
                    encode(FunctionId::from_index(function), view, &mut scratch, &mut run.records);
                    run.ends.push((run.records.bytes.len(), run.records.mentions.len()));
                }
            }
            runs
        };
        FunctionRecords { runs: (0..functions.div_ceil(RUN)).into_par_iter().map(run).collect() }
    }

    /// Those that one function has in a view.
    pub fn section(&self, function: FunctionId, view: View) -> Section<'_> {
        let (run, place) = (self.runs[function.index() / RUN].of(view), function.index() % RUN);
        let (start, first) = place.checked_sub(1).map_or((0, 0), |before| run.ends[before]);
        let (end, last) = run.ends[place];
        Section { start, bytes: &run.records.bytes[start..end], mentions: &run.records.mentions[first..last] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SymbolId;

    #[test]
    fn every_function_finds_its_own() {
        let symbol = |row| Referent::Symbol(SymbolId::from_index(row));
        let sections = FunctionRecords::of(1000, Views::One, |function, _, (), out| match function.index() % 3 {
            0 => {}
            1 => out.words(Attribute::REGCOUNT, &[function.index() as u32]),
            _ => out.symbols(Attribute::EXTERNS, (0..function.index() % 5).map(symbol)),
        });
        for row in 0..1000 {
            let section = sections.section(FunctionId::from_index(row), View::Machine);
            let (size, mentions) = match (row % 3, row % 5) {
                (0, _) | (2, 0) => (0, 0),
                (1, _) => (8, 0),
                (_, count) => (HEADER_SIZE + 4 * count, count),
            };
            assert_eq!((section.len(), section.mentions.len()), (size, mentions));
            let places: Vec<usize> = section.mentions.iter().map(|mention| mention.at - section.start).collect();
            assert_eq!(places, (0..mentions).map(|place| HEADER_SIZE + 4 * place).collect::<Vec<_>>());
        }
    }

    #[test]
    fn records_say_how_long_they_are() {
        let mut out = Encoded::default();
        out.of_symbol(Attribute::FRAME_SIZE, Referent::Symbol(SymbolId::from_index(0)), &[1, 2, 3, 4]);
        out.value(format::HALF, Attribute::SPARSE_MMA_MASK, 0x102);
        out.words(Attribute::CRS_STACK_SIZE, &[5]);
        let records: Vec<_> = cubin::info::records(&out.bytes).flatten().collect();
        assert_eq!(records.iter().map(|record| record.payload.len()).collect::<Vec<_>>(), [8, 0, 4]);
        let mut copy = Encoded::default();
        records.iter().for_each(|record| copy.copy(record));
        assert_eq!(copy.bytes, out.bytes);
    }

    #[test]
    fn long_lists_have_several_records() {
        let mut out = Encoded::default();
        out.words(Attribute::LANGUAGE, &[]);
        out.words(Attribute::LANGUAGE, &vec![7; MOST_WORDS + 1]);
        out.symbols(Attribute::EXTERNS, std::iter::repeat_n(Referent::Symbol(SymbolId::from_index(0)), 2 * MOST_WORDS));
        let records: Vec<_> = cubin::info::records(&out.bytes).flatten().collect();
        let lengths = [0, MOST_WORDS, 1, MOST_WORDS, MOST_WORDS];
        assert_eq!(records.iter().map(|record| record.words().len()).collect::<Vec<_>>(), lengths);
    }
}
