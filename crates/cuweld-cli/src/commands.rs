//! The commands besides linking. Each is a word that comes first on the command line.

use crate::messages::Messages;
use crate::start::ExitCode;
use crate::{bundle, dlink, report, shim};
use std::ffi::{OsStr, OsString};

/// A command.
pub struct Command {
    /// The word that selects it.
    pub word: &'static str,
    /// Its arguments, in short.
    pub arguments: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Runs it with the arguments after the word, and returns the status to end with.
    pub run: fn(Vec<OsString>, &Messages) -> ExitCode,
}

/// All commands.
pub const COMMANDS: [Command; 5] = [
    Command {
        word: "dlink",
        arguments: "<objects>",
        summary: "link for several GPUs into a host object that registers the code",
        run: dlink::run,
    },
    Command { word: "shim", arguments: "<folder>", summary: "make a folder in which nvcc links with cuweld", run: shim::run },
    Command {
        word: "fatbin",
        arguments: "<options>",
        summary: "bundle code for several GPUs, as fatbinary does",
        run: bundle::run,
    },
    Command { word: "report", arguments: "<files>", summary: "report what kernels need and what takes space", run: report::run },
    Command {
        word: "compare",
        arguments: "<old> <new>",
        summary: "compare two builds, kernel by kernel",
        run: report::run_compare,
    },
];

/// The command that a word selects.
pub fn selected_by(word: &OsStr) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| word == command.word)
}
