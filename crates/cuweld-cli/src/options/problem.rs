//! Errors in command lines, in the reference's words.

use super::table;
use cubin::target::Target;
use cuweld::diagnostics::edit_distance;
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// The command line can be followed, but perhaps not as it was meant.
    Warning,
    /// Nothing can be done.
    Fatal,
}

macro_rules! problems {
    ($( $severity:ident $(#[$doc:meta])* $name:ident { $($field:ident),* } $text:literal; )*) => {
        /// What is wrong with a command line. Displayed, it has the reference's wording.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the wording of each row says what its fields are")]
        pub enum Problem {
            $( $(#[$doc])* $name { $($field: String),* }, )*
        }

        impl Problem {
            /// How bad it is.
            pub fn severity(&self) -> Severity {
                match self { $( Problem::$name { .. } => Severity::$severity, )* }
            }
        }

        impl fmt::Display for Problem {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $( Problem::$name { $($field),* } => write!(out, $text), )* }
            }
        }
    };
}

// The table of messages: severity, name, fields, wording.
problems! {
    Fatal UnknownOption { name } "Unknown option '{name}'";
    Fatal ArgumentExpected { option } "argument expected after '{option}'";
    Fatal NoArgumentExpected { option } "no argument expected after '{option}'";
    Fatal ValueNotDefined { value, option } "Value '{value}' is not defined for option '{option}'";
    Fatal ExpectedNumber { value } "'{value}': expected a number";
    Fatal NumberOutOfRange { value } "32-bit integer value ({value}) out of range";
    Fatal ExpectedTruth { value } "'{value}': expected true or false";
    Fatal StrayCharacter { character } "Stray '{character}' character";
    Fatal CannotOpenOptionsFile { file } "Could not open options file '{file}'";
    Fatal TooManyOptionsFiles { file } "Too many options file opened '{file}'";
    Fatal InputsWithHostLinkerScript {}
        "Input files are not allowed with -ghls option; use --help for more information";
    Fatal NoArchitecture {} "Unknown arch name '(null)'";
    Fatal NoOutputFile {} "Must specify output file with -o option";
    Fatal NoInputFiles {} "No input files specified; use option --help for more information";
    Fatal Conflict { first, second } "Conflicting options '{first}' and '{second}'";
    Fatal VirtualTarget { target }
        "Link target of '{target}' is virtual target that is not JIT-able; use 'sm_' target instead";
    Fatal NoNvvmPath {} "-nvvmpath should be specified with -lto";
    Fatal InvalidArgument { option } "Invalid argument for option '--{option}'";
    Fatal UnreadableApiVersion {} "--cuda-api-version value cannot be parsed";
    Fatal OtherApiVersion {} "--cuda-api-version major number must be == toolkit version";
    Warning Redefinition { option }
        "incompatible redefinition for option '{option}', the last value of this option was used";
    Warning PreserveRelocsIncomplete { target }
        "Option '--preserve-relocs' is not fully implemented for gpu archtecture '{target}' and may not work as expected";
    Info HostInfoUnused {} "ignore -use-host-info because -kernels-used or -variables-used is specified";
    Info SplitCompileInstead {} "Incompatible options '-emit-ptx' and '-split-compile-extended', using '-split-compile'";
    // Problems with options that the reference does not have.
    Fatal ExpectedSize { value } "'{value}': expected a size, such as 4096 or 16M";
    Fatal NestedStartLib {} "'--start-lib' inside '--start-lib'";
    Fatal EndLibWithoutStart {} "'--end-lib' without '--start-lib'";
    Fatal StartLibWithoutEnd {} "'--start-lib' without '--end-lib'";
}

/// A problem, and how to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageProblem {
    /// What is wrong.
    pub problem: Problem,
    /// When it was found, which decides what options can do to the message.
    pub found: Found,
}

/// When a problem was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// While the arguments were read, so no option is in force yet: the message bears the program's own name and no
    /// target, and a warning is a warning whatever `-Werror`, `-w` or `-disable-infos` say.
    WhileReading,
    /// When all arguments were known: `-tool-name`, `-report-arch` and the options about warnings apply.
    Afterwards,
}

impl UsageProblem {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.problem.severity()
    }

    /// What is wrong in other words than the reference's, where those say more.
    pub fn headline(&self) -> Option<String> {
        match &self.problem {
            // The name lacks its first dash.
            Problem::UnknownOption { name } => Some(format!("there is no option '-{name}'")),
            Problem::ExpectedNumber { value } => meant_as_option(value).map(|name| format!("there is no option '-{name}'")),
            Problem::ValueNotDefined { value, option } => Some(format!("'{value}' is no value of --{option}")),
            Problem::NoArchitecture {} => Some("no architecture was given".to_owned()),
            Problem::NoOutputFile {} => Some("no output was named".to_owned()),
            Problem::NoInputFiles {} => Some("no input was named".to_owned()),
            _ => None,
        }
    }

    /// What might help, where that can be guessed.
    pub fn hint(&self) -> Option<String> {
        match &self.problem {
            Problem::UnknownOption { name } => nearest_option(name).map(|option| format!("did you mean {option}?")),
            Problem::NoArchitecture {} => Some("name the GPU architecture, for example -arch=sm_90".to_owned()),
            Problem::ValueNotDefined { value, option } => match last_toolkit(value).filter(|_| option == "arch") {
                Some(toolkit) => Some(format!("CUDA {toolkit} was the last toolkit for {value}")),
                None => possible_values(value, option),
            },
            Problem::ExpectedNumber { value } => {
                meant_as_option(value).and_then(|name| nearest_option(&name)).map(|option| format!("did you mean {option}?"))
            }
            Problem::NoInputFiles {} => Some("name objects or libraries; 'cuweld --help' lists the options".to_owned()),
            Problem::NoOutputFile {} => Some("name the file to write, for example -o linked.cubin".to_owned()),
            Problem::NoNvvmPath {} => Some("give the toolkit's folder nvvm: -nvvmpath=$CUDA_HOME/nvvm".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for UsageProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(out)
    }
}

/// The name of an option that was taken for the value of a shorter one: `-maxregcount=32` for `-m axregcount=32`.
fn meant_as_option(value: &str) -> Option<String> {
    let name = value.split('=').next().unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_alphabetic()).then(|| format!("m{name}"))
}

/// What an option takes, and what was probably meant.
fn possible_values(value: &str, option: &str) -> Option<String> {
    let words = table::rows().find(|row| row.long == option)?.takes.words();
    let letters = |text: &str| text.chars().collect::<Vec<char>>();
    let meant = words.iter().find(|word| word.strip_prefix("sm_") == Some(value.trim_start_matches("sm"))).or_else(|| {
        let near = |word: &&String| edit_distance(&letters(value), &letters(word));
        words.iter().filter(|word| near(word) <= 1 && value.len() > 3 && !word.starts_with("sm_")).min_by_key(near)
    });
    match meant {
        Some(meant) => Some(format!("did you mean --{option}={meant}?")),
        None if words.is_empty() => None,
        None => Some(offer(value, &words)),
    }
}

/// The possible values; in the place of a build that is not known, the others of its release.
pub fn offer(value: &str, words: &[String]) -> String {
    let start = value.rsplit_once('.').map_or("", |(start, _)| start);
    let start = if words.iter().any(|word| word.starts_with(start)) { start } else { "" };
    let offered: Vec<&str> = words.iter().map(String::as_str).filter(|word| word.starts_with(start)).collect();
    format!("possible values are {}", offered.join(", "))
}

/// The last toolkit that knew a target, if it is of a GPU that CUDA 13 does not know any more.
fn last_toolkit(target: &str) -> Option<&'static str> {
    Target::last_toolkit(target.split_once('_')?.1.parse().ok()?)
}

/// The option that was probably meant. `name` lacks the first dash, as in the message.
fn nearest_option(name: &str) -> Option<String> {
    let bare = name.trim_start_matches('-');
    if bare.is_empty() {
        return None;
    }
    let spellings = table::rows().flat_map(|row| {
        let long = Some((row.long, format!("--{}", row.long)));
        let short = row.short.map(|short| (short, format!("-{short}")));
        [long, short].into_iter().flatten()
    });
    let letters = |text: &str| text.chars().collect::<Vec<char>>();
    // One letter can be turned into any other: short names are only found with the wrong number of dashes.
    let near = |(spelled, shown): (&str, String)| {
        let distance = edit_distance(&letters(bare), &letters(spelled));
        (distance == 0 || (distance <= 2 && spelled.len() > 4)).then_some((distance, shown))
    };
    spellings.filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, shown)| shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_targets_are_known() {
        for (target, expected) in
            [("sm_70", true), ("compute_52", true), ("sm_75", false), ("sm_7", false), ("sm_", false), ("70", false)]
        {
            assert_eq!(last_toolkit(target).is_some(), expected, "{target}");
        }
    }

    #[test]
    fn hints() {
        for (name, expected) in [
            ("verbose", Some("--verbose")),
            ("-v", Some("-v")),
            ("-o", Some("-o")),
            ("output-file", Some("--output-file")),
            ("suppress-stack-warning-size", None),
            ("-whole-archives", Some("--whole-archive")),
            ("q", None),
            ("-", None),
        ] {
            assert_eq!(nearest_option(name).as_deref(), expected, "{name}");
        }
    }
}
