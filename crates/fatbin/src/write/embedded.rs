//! Fatbins as C source, which a host compiler makes a part of an object: `fatbinary --embedded-fatbin`.

use std::fmt::Write;

/// What the wrapper around a fatbin is like, through which the runtime finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// Of a program that needs no device link.
    Program,
    /// Of a unit that is to be linked (`--device-c`).
    Unit,
    /// Of linked code (`-link`).
    Linked,
}

/// How the code stands in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceStyle {
    /// In assembly language.
    #[default]
    Assembly,
    /// As an array of C (`-no-asm`).
    Array,
    /// As an array for Microsoft's compiler, which has other words for sections; with that system's ends of lines.
    Windows,
}

/// A fatbin as C source.
#[derive(Clone, Copy, Debug)]
pub struct Embedded<'data> {
    /// The fatbin.
    pub fatbin: &'data [u8],
    /// What it is.
    pub wrapper: Wrapper,
    /// How the code stands in it.
    pub style: SourceStyle,
}

const BEGIN_C: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
const END_C: &str = "#ifdef __cplusplus\n}\n#endif\n";
/// Numbers in a line.
const IN_LINE: usize = 4;

impl Embedded<'_> {
    /// The source.
    #[must_use]
    pub fn source(&self) -> String {
        let section = match self.wrapper {
            Wrapper::Unit => "__nv_relfatbin",
            Wrapper::Program | Wrapper::Linked => ".nv_fatbin",
        };
        // Nearly three characters a byte.
        let mut text = String::with_capacity(self.fatbin.len() * 3 + 2048);
        text += "#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS\n#include \"fatbinary_section.h\"\n#endif\n";
        text += "#define __CUDAFATBINSECTION  \".nvFatBinSegment\"\n";
        text += &format!("#define __CUDAFATBINDATASECTION  \"{section}\"\n");
        match self.style {
            SourceStyle::Assembly => self.assembly(section, &mut text),
            SourceStyle::Array | SourceStyle::Windows => self.array(&mut text),
        }
        text += BEGIN_C;
        let (names, declaration) = match self.wrapper {
            Wrapper::Unit => (
                "#undef __FATIDNAME_CORE\n#undef __FATIDNAME\n#define __FATIDNAME_CORE(x) __fatbinwrap##x\n\
                 #define __FATIDNAME(x) __FATIDNAME_CORE(x)\n",
                "extern const __fatBinC_Wrapper_t __FATIDNAME(__NV_MODULE_ID)",
            ),
            Wrapper::Program | Wrapper::Linked => ("", "static const __fatBinC_Wrapper_t __fatDeviceText"),
        };
        let wrapper = match self.wrapper {
            Wrapper::Linked => "2, fatbinData, (void**)__cudaPrelinkedFatbins };\n",
            Wrapper::Program | Wrapper::Unit => "1, fatbinData, 0 };\n",
        };
        if self.style == SourceStyle::Windows {
            text += &format!(
                "#pragma const_seg(\".nvFatBinSegment\")\n{names}__declspec(allocate(__CUDAFATBINSECTION)) __declspec(align(8)) \
                 {declaration}= \n\t{{ 0x466243b1, {wrapper}#pragma const_seg()\n{END_C}"
            );
            return text.replace('\n', "\r\n");
        }
        text += &format!(
            "{names}{declaration} __attribute__ ((aligned (8))) __attribute__ ((section (__CUDAFATBINSECTION)))= \n\
             \t{{ 0x466243b1, {wrapper}{END_C}"
        );
        text
    }

    fn numbers(&self) -> impl ExactSizeIterator<Item = u64> {
        self.fatbin.chunks(8).map(|chunk| {
            let mut bytes = [0; 8];
            bytes.split_at_mut(chunk.len()).0.copy_from_slice(chunk);
            u64::from_le_bytes(bytes)
        })
    }

    fn assembly(&self, section: &str, text: &mut String) {
        *text += &format!("asm(\n\".section {section}, \\\"a\\\"\\n\"\n\".align 8\\n\"\n\"fatbinData:\\n\"\n");
        let count = self.numbers().len();
        for (index, number) in self.numbers().enumerate() {
            // In a line that is not full, blanks follow the commas.
            *text += match index % IN_LINE {
                0 => "\".quad ",
                _ if index / IN_LINE < count / IN_LINE => ",",
                _ => ", ",
            };
            // Writing into a text does not fail.
            _ = write!(text, "{number:#018x}");
            if index % IN_LINE == IN_LINE - 1 || index + 1 == count {
                *text += "\\n\"\n";
            }
        }
        *text += "\".text\\n\");\n";
        *text += &format!("{BEGIN_C}extern const unsigned long long fatbinData[{count}];\n{END_C}");
    }

    fn array(&self, text: &mut String) {
        *text += BEGIN_C;
        *text += match self.style {
            SourceStyle::Windows => {
                "\n#pragma const_seg(__CUDAFATBINDATASECTION)\n\
                 static const __declspec(allocate(__CUDAFATBINDATASECTION)) unsigned long long fatbinData[]= {"
            }
            _ => "\nstatic const unsigned long long fatbinData[] __attribute__ ((section (__CUDAFATBINDATASECTION)))= {",
        };
        let count = self.numbers().len();
        for (index, number) in self.numbers().enumerate() {
            let ends_line = index % IN_LINE == IN_LINE - 1;
            _ = write!(text, "{number:#018x}ull");
            if ends_line || index + 1 < count {
                text.push(',');
            }
            if ends_line {
                text.push('\n');
            }
        }
        let end = if self.style == SourceStyle::Windows { "#pragma const_seg()\n" } else { "" };
        *text += &format!("\n}};\n{end}\n{END_C}\n");
    }
}
