//! Fatbins that are written again are the same bytes: the samples beside this were made by the toolkit's own program.

use cubin::target::Variant;
use fatbin::entry::{Architecture, EntryKind, Flags};
use fatbin::write::{Builder, Compression, Embedded, Host, Mode, Settings, SourceStyle, Unfit, Wrapper};
use fatbin::{Entry, Fatbin};

const STORED: &[u8] = include_bytes!("data/stored.fatbin");
const FIRST_PTX: &[u8] = include_bytes!("data/first.ptx");
const LINKED_90: &[u8] = include_bytes!("../../cubin/tests/data/linked_90.cubin");
const LINKED_120: &[u8] = include_bytes!("../../cubin/tests/data/linked_120.cubin");

const LIMIT: usize = 1 << 20;

fn entries(fatbin: &[u8]) -> Vec<Entry<'_>> {
    Fatbin::parse(fatbin).and_then(|fatbin| fatbin.entries().collect()).expect("a fatbin")
}

/// What the samples were made with.
fn settings(name: &str, mode: Mode) -> Settings {
    Settings {
        name: name.into(),
        options: "-maxrregcount=32 ".into(),
        relocatable: true,
        compression: Compression { mode, all: false },
        ..Settings::default()
    }
}

/// The same fatbin, rebuilt of its own machine code and of PTX.
fn again(fatbin: &[u8], ptx: &[u8], settings: Settings) -> Vec<u8> {
    let entries = entries(fatbin);
    let payloads: Vec<_> = entries.iter().map(|entry| entry.unpack(LIMIT).expect("a payload")).collect();
    let mut builder = Builder::new(settings);
    for (entry, payload) in entries.iter().zip(&payloads) {
        match entry.kind {
            EntryKind::Cubin => builder.cubin(entry.architecture, payload),
            _ => builder.ptx(entry.architecture, ptx),
        }
        .expect("it fits");
    }
    builder.to_vec()
}

#[test]
fn the_toolkits_fatbins_are_made_again() {
    assert_eq!(again(STORED, FIRST_PTX, settings("first.cu", Mode::None)), STORED);
}

#[cfg(feature = "libzstd")]
#[test]
fn the_toolkits_packed_fatbins_are_made_again() {
    const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");
    assert_eq!(again(ZSTD, FIRST_PTX, settings("first.cu", Mode::Balance)), ZSTD);
}

#[test]
fn lz4_unpacks_to_the_same() {
    const LZ4: &[u8] = include_bytes!("data/lz4.fatbin");
    let made = again(LZ4, include_bytes!("data/second.ptx"), settings("second.cu", Mode::Speed));
    for (ours, theirs) in entries(&made).iter().zip(entries(LZ4)) {
        assert_eq!(ours.unpack(LIMIT), theirs.unpack(LIMIT));
        assert_eq!(
            (ours.flags, ours.name, ours.options, ours.version),
            (theirs.flags, theirs.name, theirs.options, theirs.version)
        );
    }
}

#[test]
fn linked_code_is_stored_and_the_newest_gpus_have_a_copy_of_their_properties() {
    let mut builder = Builder::new(Settings { name: "a.o b.o ".into(), ..Settings::default() });
    let plain = |number| Architecture { number, variant: Variant::Plain };
    builder.cubin(plain(90), LINKED_90).expect("it fits");
    builder.cubin(Architecture { number: 120, variant: Variant::Family }, LINKED_120).expect("it fits");
    let fatbin = builder.to_vec();
    assert_eq!(builder.size(), fatbin.len() as u64);
    let [first, second] = entries(&fatbin)[..] else { panic!("two entries") };
    assert_eq!((first.payload, second.payload), (LINKED_90, LINKED_120));
    assert_eq!((first.name, first.flags.0, second.flags.0), ("a.o b.o ", 0x11, 0x120_0011));
    // The name takes 16 bytes, the block of options 8, a NUL, and as many as the section has.
    assert_eq!((first.bytes.len() - first.payload.len(), second.bytes.len() - second.payload.len()), (80, 128));
    assert_eq!(second.architecture.variant, Variant::Family);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut builder = Builder::new(Settings::default());
    let architecture = Architecture { number: 80, variant: Variant::Plain };
    assert_eq!(builder.cubin(architecture, LINKED_90), Err(Unfit::OtherGpu { found: 90, expected: architecture }));
    assert!(matches!(builder.cubin(architecture, b"text"), Err(Unfit::NotACubin(_))));
    assert_eq!(builder.ptx(architecture, b".target sm_80"), Err(Unfit::NotPtx));
    assert_eq!(builder.to_vec().len(), 16);
}

#[test]
fn source_for_microsofts_compiler() {
    let source = Embedded { fatbin: &[1; 36], wrapper: Wrapper::Unit, style: SourceStyle::Windows }.source();
    let number = "0x0101010101010101ull";
    assert_eq!(
        source.replace("\r\n", "|"),
        format!(
            "#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS|#include \"fatbinary_section.h\"|#endif|\
             #define __CUDAFATBINSECTION  \".nvFatBinSegment\"|#define __CUDAFATBINDATASECTION  \"__nv_relfatbin\"|\
             #ifdef __cplusplus|extern \"C\" {{|#endif||#pragma const_seg(__CUDAFATBINDATASECTION)|\
             static const __declspec(allocate(__CUDAFATBINDATASECTION)) unsigned long long fatbinData[]= \
             {{{number},{number},{number},{number},|0x0000000001010101ull|}};|#pragma const_seg()||#ifdef __cplusplus|}}|#endif||\
             #ifdef __cplusplus|extern \"C\" {{|#endif|#pragma const_seg(\".nvFatBinSegment\")|#undef __FATIDNAME_CORE|\
             #undef __FATIDNAME|#define __FATIDNAME_CORE(x) __fatbinwrap##x|#define __FATIDNAME(x) __FATIDNAME_CORE(x)|\
             __declspec(allocate(__CUDAFATBINSECTION)) __declspec(align(8)) extern const __fatBinC_Wrapper_t \
             __FATIDNAME(__NV_MODULE_ID)= |\t{{ 0x466243b1, 1, fatbinData, 0 }};|#pragma const_seg()|#ifdef __cplusplus|}}|#endif|"
        )
    );
}

#[test]
fn an_entry_says_where_it_was_made() {
    let mut builder = Builder::new(Settings { host: Host::Windows, ..settings("first.cu", Mode::None) });
    let (architecture, image) = (entries(STORED)[0].architecture, entries(STORED)[0].unpack(LIMIT).expect("a payload"));
    builder.cubin(architecture, &image).expect("it fits");
    let made = builder.to_vec();
    let flags = entries(&made)[0].flags;
    assert!(flags.contains(Flags::WINDOWS) && !flags.contains(Flags::LINUX));
}
