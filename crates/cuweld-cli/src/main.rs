//! The program `cuweld`: a linker for CUDA device code that can stand in for `nvlink`.
//!
//! What is here is what a library must not do: read the command line and files, print, and end with a status.

#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

mod advice;
mod beside;
mod bundle;
mod bytes;
mod commands;
mod compilers;
mod destination;
mod dlink;
mod finalizer;
mod folders;
mod host_script;
mod inputs;
mod libraries;
mod link;
mod messages;
mod missing_file;
mod options;
mod output;
mod outputs;
mod progress;
mod report;
mod request;
mod resources;
mod room;
mod save;
mod shim;
mod side_files;
mod start;
mod streams;
mod transfer;
mod virtual_target;
mod watch;

use messages::Messages;
use options::{Generated, Invocation};
use start::ExitCode;

#[cfg(any(test, not(all(target_os = "linux", target_env = "gnu"))))]
fn main() -> ExitCode {
    begin()
}

fn begin() -> ExitCode {
    beside::settle_signals();
    resources::on_large_stack(run)
}

fn run() -> ExitCode {
    resources::begin_arena();
    let mut arguments = std::env::args_os().peekable();
    let name = arguments.next();
    // The program once more, as the parent of a compiler.
    if arguments.next_if(|first| first == cuweld_toolkit::WORKER_WORD).is_some() {
        return match cuweld_toolkit::serve(arguments) == std::process::ExitCode::SUCCESS {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    let messages = Messages::named_after(name);
    if messages.is_fatbinary() {
        return bundle::run(arguments.collect(), &messages);
    }
    // Called as nvlink, the program takes inputs of any name.
    if !messages.is_nvlink() {
        let Some(first) = arguments.peek() else { return messages.usage() };
        if let Some(command) = commands::selected_by(first) {
            return (command.run)(arguments.skip(1).collect(), &messages);
        }
    }
    let read_file = &mut |path: &std::path::Path| options::read_options_file(path);
    match options::parse(arguments, messages.is_nvlink(), read_file) {
        Err(error) => messages.usage_error(&error),
        Ok(Invocation::Help) => {
            messages.print(&options::help(messages.program(), resources::terminal_width(resources::Stream::Output)))
        }
        Ok(Invocation::Version) => messages.print(&options::version()),
        Ok(Invocation::Explain(code)) => messages.explain(&code),
        Ok(Invocation::Generate(kind)) => messages.print(&match kind {
            Generated::ManualPage => options::manual_page(),
            shell => options::completions(shell),
        }),
        Ok(Invocation::HostLinkerScript(script)) => host_script::run(&script, &messages),
        Ok(Invocation::Link(arguments)) => link::run(&arguments, &messages),
    }
}
