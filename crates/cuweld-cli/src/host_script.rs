//! A script for the host's linker that keeps the sections with device code apart (`-gen-host-linker-script`).
//!
//! It is either only what device code needs, to be given to the linker in addition to its own script, or the linker's own script
//! with that after it. The linker's own depends on how it is called, so the host's compiler is asked how it would call it.

use crate::messages::{Messages, usage_diagnostic};
use crate::options::HostLinkerScript;
use crate::output::{self, Leads};
use crate::start::ExitCode;
use cuweld::diagnostics::{Diagnostic, Entry, Message};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What device code needs.
const FOR_DEVICE_CODE: &str = "SECTIONS\n{\n\t.nvFatBinSegment : { *(.nvFatBinSegment) }\n\t__nv_relfatbin : { *(__nv_relfatbin) } \n\
    \t.nv_fatbin : { *(.nv_fatbin) }\n}\n";

/// What the linker prints before and after its own script.
const RULER: &str = "==================================================";

/// The host's linker, and the compiler that is asked if none is named.
const LINKER: &str = "ld";
const COMPILER: &str = "gcc";

/// Writes the script, and returns the status to end with.
pub fn run(script: &HostLinkerScript, messages: &Messages) -> ExitCode {
    let renderer = messages.script_renderer(script);
    let late: Vec<Entry> = (messages.show_found_while_reading(&renderer, &script.warnings))
        .map(|problem| Entry::Diagnostic(usage_diagnostic(problem)))
        .collect();
    messages.show(&renderer, &late);
    let own = if script.complete { linkers_own(script, messages) } else { Ok(String::new()) };
    let own = match own {
        Ok(own) => own,
        Err(cause) => return failed(script, messages, cause),
    };
    let text = own + FOR_DEVICE_CODE;
    let Some(path) = &script.output else { return messages.print(&text) };
    let leads = Leads::of(path);
    if let Some(input) = script
        .options_files
        .iter()
        .find(|file| leads.as_ref().zip(Leads::of(file)).is_some_and(|(one, other)| one.clashes_with(&other)))
    {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        return messages.script_error(script, Diagnostic::new(Message::OutputIsInput { file: shown(path), input: shown(input) }));
    }
    if let Err(error) = output::write(path, text.as_bytes()) {
        let (file, cause) = (path.to_string_lossy().into_owned(), error.to_string());
        let message = Message::CannotWriteOutput { file, cause: cause.clone() };
        return messages.script_error(script, Diagnostic::new(message).also(cause));
    }
    if script.complete { check(script, path, messages) } else { ExitCode::SUCCESS }
}

fn failed(script: &HostLinkerScript, messages: &Messages, cause: String) -> ExitCode {
    let message = Message::NoHostLinkerScript { cause: cause.clone() };
    messages.script_error(script, Diagnostic::new(message).told(&cause))
}

/// The script that the linker would use by itself.
fn linkers_own(script: &HostLinkerScript, messages: &Messages) -> Result<String, String> {
    if script.verbose {
        messages.show(&messages.script_renderer(script), &[Entry::Listing(shown_command(script))]);
    }
    let options = if script.linker_options.is_empty() { compilers_options(script) } else { script.linker_options.clone() };
    let printed = ran(Command::new(program(LINKER.as_ref())?).arg("--verbose").args(options))?;
    if !printed.status.success() {
        return Err(String::from_utf8_lossy(&printed.stderr).trim_end().to_owned());
    }
    let text = String::from_utf8_lossy(&printed.stdout);
    match text.split(RULER).collect::<Vec<_>>().as_slice() {
        [_, own, _] => Ok(own.trim_start_matches('\n').to_owned()),
        _ => Err(format!("{LINKER} --verbose printed no script")),
    }
}

/// What the compiler is told about the kind of link. A shared library wins.
fn kind_of_link(script: &HostLinkerScript) -> Option<&'static str> {
    if script.shared { Some("-shared") } else { script.relocatable.then_some("-r") }
}

fn compiler(script: &HostLinkerScript) -> &OsStr {
    script.host_compiler.as_deref().unwrap_or(OsStr::new(COMPILER))
}

/// Those options that the compiler would give the linker which decide on its script. None, if it does not say.
fn compilers_options(script: &HostLinkerScript) -> Vec<OsString> {
    let Ok(compiler) = program(compiler(script)) else { return Vec::new() };
    let mut command = Command::new(compiler);
    command.args(["-###", "/dev/null"]).args(kind_of_link(script)).arg("-m64");
    let Ok(said) = ran(&mut command) else { return Vec::new() };
    let said = [said.stdout, said.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    said.lines().filter(|line| line.contains("collect2")).flat_map(deciding_options).map(OsString::from).collect()
}

fn deciding_options(line: &str) -> Vec<&str> {
    let mut options = Vec::new();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-pie" | "-r" | "-shared" => options.push(word),
            "-z" | "-m" => options.extend([Some(word), words.next()].into_iter().flatten()),
            _ => {}
        }
    }
    options
}

/// Whether the linker accepts the script: with it, all that is missing are inputs.
fn check(script: &HostLinkerScript, path: &Path, messages: &Messages) -> ExitCode {
    if script.verbose {
        let command = format!("#$ {LINKER} -T {} 2>&1 | grep 'no input files' > /dev/null", path.display());
        messages.show(&messages.script_renderer(script), &[Entry::Listing(command)]);
    }
    match program(LINKER.as_ref()).and_then(|linker| ran(Command::new(linker).arg("-T").arg(path).env("LC_ALL", "C"))) {
        Ok(said) => {
            let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
            if said.contains("no input files") { ExitCode::SUCCESS } else { failed(script, messages, said) }
        }
        Err(cause) => failed(script, messages, cause),
    }
}

/// What is done, as a shell would do it: the reference linker runs this line.
fn shown_command(script: &HostLinkerScript) -> String {
    let options = if script.linker_options.is_empty() {
        let kind = kind_of_link(script).map(|option| format!(" {option} ")).unwrap_or_default();
        format!(
            "$({} -### /dev/null {kind} -m64  2>&1 | grep collect2  | grep -wo -e -pie -e \"-z [^[:space:]]*\" \
             -e \"-m [^[:space:]]*\" -e -r -e -shared  | tr \"\\n\" \" \" )",
            compiler(script).to_string_lossy()
        )
    } else {
        script.linker_options.iter().map(|option| option.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    let output = script.output.as_deref().unwrap_or(Path::new("/dev/stdout")).display();
    format!("#$ {LINKER} --verbose {options} | grep -Fvx -e \"$({LINKER} -V)\" | sed '1,2d;$d' > {output}")
}

fn ran(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))
}

/// A program by its name: in a folder of `PATH` that is an absolute one. The current folder may be anybody's.
fn program(name: &OsStr) -> Result<PathBuf, String> {
    if Path::new(name).components().count() > 1 || cfg!(windows) {
        return Ok(PathBuf::from(name));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    let missing = || format!("{}: {}", name.to_string_lossy(), std::io::Error::from_raw_os_error(2));
    found.into_iter().find(|path| path.is_file()).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_decide_on_the_script() {
        let line = " /usr/libexec/collect2 -plugin x -m elf_x86_64 --hash-style=gnu -pie -z now -z relro -o a.out";
        assert_eq!(deciding_options(line), ["-m", "elf_x86_64", "-pie", "-z", "now", "-z", "relro"]);
    }
}
