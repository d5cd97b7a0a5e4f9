//! The manual page, in the language of `man`.

use super::help::{description, heading, sorted};
use super::table::Origin;
use crate::commands::{COMMANDS, Command};

/// The manual page.
pub fn manual_page() -> String {
    let mut page = format!(
        ".TH CUWELD 1 \"\" \"cuweld {}\" \"User Commands\"\n\
         .SH NAME\ncuweld \\- link CUDA device code\n\
         .SH SYNOPSIS\n.B cuweld\n[options] objects\n.br\n.B cuweld\ncommand arguments\n\
         .SH DESCRIPTION\n\
         Links the device code in cubins, fatbins, PTX, host objects and libraries into one cubin. It takes the\n\
         options of nvlink, can replace it, and behaves like it when it is called by that name.\n\
         .PP\n\
         A long name follows two dashes, a short one one dash, whatever its length. A value is the next argument, or\n\
         follows an equals sign. Lists are separated by commas, and repeated lists are concatenated; quotation marks\n\
         protect commas. Of other repeated options the last one counts.\n\
         .PP\n\
         An argument @file is replaced by the arguments in that file, quoted as in a shell.\n\
         .SH COMMANDS\n\
         The option \\-\\-help after the name of a command lists its options.\n",
        env!("CARGO_PKG_VERSION")
    );
    for Command { word, arguments, summary, .. } in &COMMANDS {
        page.push_str(&format!(".TP\n.B {word} {}\n{}\n", escaped(arguments), escaped(summary)));
    }
    for (title, origin) in [
        ("OPTIONS OF NVLINK", Origin::Reference),
        ("OPTIONS OF CUWELD", Origin::Extension),
        ("OPTIONS THAT NVLINK DOES NOT DOCUMENT", Origin::Undocumented),
    ] {
        page.push_str(&format!(".SH {title}\n"));
        for row in sorted(origin) {
            page.push_str(&format!(".TP\n.B {}\n{}\n", escaped(&heading(row)), escaped(&description(row))));
        }
    }
    page.push_str(".SH ENVIRONMENT\n");
    for (name, meaning) in ENVIRONMENT {
        page.push_str(&format!(".TP\n.B {name}\n{}\n", escaped(meaning)));
    }
    page.push_str(".SH EXAMPLES\n");
    for (about, command) in EXAMPLES {
        page.push_str(&format!("{}\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n.PP\n", escaped(about), escaped(command)));
    }
    page.push_str(
        ".SH EXIT STATUS\n\
         0 for success, also with warnings; 255 for errors in the program that is linked, such as an undefined\n\
         reference; 1 for any other error.\n",
    );
    page
}

/// Every variable of the environment that changes what the program does.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CUWELD_DIAGNOSTICS", "The style of messages where --diagnostics is not given: rich, nvlink or json."),
    ("CUWELD_COMPAT, CUWELD_NOTE_AS", "The same as --compat; the second is an older name."),
    (
        "CUWELD_RELEASE",
        "The oldest release of CUDA whose conventions to follow, where neither --release nor --compat is given. cuweld shim sets it to \
         that of its toolkit.",
    ),
    (
        "CUWELD_COMPAT_WITHOUT",
        "Names of defects of the imitated tool, separated by commas, that are not to be imitated. docs/differences.md lists them.",
    ),
    (
        "CUWELD_TOOLKIT, CUDA_HOME, CUDA_PATH, PATH, VIRTUAL_ENV, CONDA_PREFIX",
        "Where to look for the CUDA toolkit whose compilers are needed for PTX and link-time optimization, in this order.",
    ),
    (
        "CUWELD_CACHE, CUWELD_CACHE_SIZE, XDG_CACHE_HOME, HOME, LOCALAPPDATA",
        "Where compiled code is cached, and how much of it, if --cache is not given; the last three locate the user's cache folder.",
    ),
    ("CUWELD_COMPILER_LAUNCHER", "The same as --compiler-launcher."),
    ("CUWELD_PROGRAM", "The program that runs compilers for the library libnvJitLink, if it is not beside the library."),
    ("TMPDIR", "Where temporary files of compilers are made."),
    ("MAKEFLAGS", "Make's jobserver, which is asked before another compiler is run."),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM", "Whether messages have colours where --color is not given."),
    ("COLUMNS", "The width of --help, if the terminal does not report one."),
];

/// The most common tasks.
const EXAMPLES: &[(&str, &str)] = &[
    ("Link two objects and a library for one GPU:", "cuweld -arch=sm_90 a.o b.o libfunctions.a -o linked.cubin"),
    ("Let nvcc link with cuweld:", "cuweld shim welded\nwelded/nvcc -arch=sm_90 -rdc=true a.cu b.cu -o program"),
    (
        "See what each kernel needs, and why a function was kept:",
        "cuweld -arch=sm_90 -v --why-live=_Z6helperv a.o b.o -o linked.cubin",
    ),
    (
        "Link with optimization across objects that were compiled with -dlto:",
        "cuweld -arch=sm_90 -dlto -nvvmpath=$CUDA_HOME/nvvm a.o b.o -o linked.cubin",
    ),
    (
        "Get machine-readable messages; docs/diagnostics.schema.json describes them:",
        "cuweld -arch=sm_90 --diagnostics=json a.o -o linked.cubin",
    ),
    ("Save everything that a link needs, to repeat it elsewhere:", "cuweld -arch=sm_90 --save-dir=link a.o b.o -o linked.cubin"),
    ("Explain a message:", "cuweld --explain CW3108"),
];

/// Text that `man` shows verbatim: it interprets backslashes, dashes, and a dot at the start of a line.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn the_page_has_every_option() {
        let page = manual_page();
        for row in table::rows() {
            assert!(page.contains(&format!(".B {}\n", escaped(&heading(row)))), "--{}", row.long);
        }
    }

    /// Every variable that is read is described.
    #[test]
    fn the_page_has_every_variable_of_the_environment() {
        let page = manual_page();
        let sources = [
            include_str!("../messages.rs"),
            include_str!("../link.rs"),
            include_str!("../resources.rs"),
            include_str!("../../../cuweld-toolkit/src/search.rs"),
        ];
        let names = sources.iter().flat_map(|source| source.split('"').skip(1).step_by(2)).filter(|text| {
            let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
            text.len() > 3 && text.bytes().all(is_letter)
        });
        for name in names {
            assert!(page.contains(name), "{name}");
        }
    }
}
