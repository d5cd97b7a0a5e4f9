//! Hands a link over to another linker.
//!
//! For some links code has to be generated: objects for another GPU of the family whose machine code does not run on the target. This
//! linker generates none, but the toolkit's does. `--finalizer` names it, and it gets the command line without that option
//! and without `--save-dir`, which is done before.

use crate::options::{Architecture, LinkArguments};
use crate::start::ExitCode;
use cubin::target::Views;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The program that this link is to be handed over to.
pub fn asked_for(arguments: &LinkArguments) -> Option<&Path> {
    let Architecture::Real(target) = arguments.architecture else { return None };
    arguments.compile.finalizer.as_deref().filter(|_| target.views == Views::Two)
}

/// Runs the program with this command line, and ends as it does.
pub fn hand_over(program: &Path, words: impl Iterator<Item = OsString>) -> std::io::Result<ExitCode> {
    let status = Command::new(program).args(without_own_options(words)).status()?;
    // A program that was stopped by a signal has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn without_own_options(mut words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.to_str().map(|word| word.trim_start_matches('-')) {
            Some("finalizer" | "save-dir") => _ = words.next(),
            Some(option) if option.starts_with("finalizer=") || option.starts_with("save-dir=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_option_itself_is_left_out() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter();
        let expected: Vec<OsString> = words("-arch sm_103 a.cubin -o b").collect();
        assert_eq!(without_own_options(words("-arch sm_103 --finalizer nvlink a.cubin -o b")), expected);
        assert_eq!(without_own_options(words("--finalizer=nvlink --save-dir=d -arch sm_103 a.cubin -o b")), expected);
    }
}
