//! The manual page, in the language of `man`.

use super::help::{description, heading, sorted};
use super::table::Origin;

/// The manual page.
pub fn manual_page() -> String {
    let mut page = format!(
        ".TH CUWELD 1 \"\" \"cuweld {}\" \"User Commands\"\n\
         .SH NAME\ncuweld \\- link CUDA device code\n\
         .SH SYNOPSIS\n.B cuweld\n[options] objects\n\
         .SH DESCRIPTION\n\
         Links the device code in cubins, fatbins, PTX, host objects and libraries into one cubin. It takes the\n\
         options of nvlink, can stand in its place, and behaves like it when it is called by that name.\n\
         .PP\n\
         A long name stands behind two dashes, a short one behind one, whatever its length. A value follows as the\n\
         next argument or behind an equals sign. Lists are separated by commas, and a list that is given again grows;\n\
         quotation marks keep commas together. Of other values the last one counts.\n\
         .PP\n\
         An argument @file stands for the arguments in that file, quoted as in a shell.\n",
        env!("CARGO_PKG_VERSION")
    );
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
    page.push_str(
        ".SH ENVIRONMENT\n.TP\n.B CUWELD_COMPAT\nThe same as \\-\\-compat.\n\
         .SH EXIT STATUS\n\
         0 for success, also with warnings; 255 if the program that is linked is at fault, as with an undefined\n\
         reference; 1 for anything else.\n",
    );
    page
}

/// Text that `man` shows as it is: backslashes and dashes mean something to it, as does a dot that begins a line.
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
}
