//! Runs NVIDIA's compilers in a separate process.
//!
//! Compilers are not ours: they crash, and they go on when the link that asked for them is gone. So each runs under a worker, which is
//! this program once more, called with [`WORD`]. The linker's end of the worker's standard input is all that ties them together: the
//! system closes it when the linker ends, in whatever way, and the worker then ends the compiler, removes the folder of the job, and
//! is gone. This takes no signal handler and no system call of one's own, and holds for a linker that is killed, too.
//!
//! A program that is linked statically can not load a library. It hands such a job over, with everything that it was started with, to
//! a second program, `cuweld-worker`, which is small and linked with the system's C library.
//!
//! A job is a private folder. The worker leaves what came of it there, and the status last ([`STATUS`]): a program that ignores its
//! children's end (`SIGCHLD`) is told no status by the system.

use crate::{job, library};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// The first argument of a program that is to be a worker.
pub const WORD: &str = "__compile";

/// The environment variable that names the program which works for the library.
const PROGRAM_VARIABLE: &str = "CUWELD_PROGRAM";

/// The file with the status that a job ended with.
const STATUS: &str = "status";

/// The file with the reason why a compiler could not be started.
const UNSTARTED: &str = "unstarted";

/// Files with what a compiler wrote to its standard output and its standard error.
const SAID: [&str; 2] = ["stdout", "stderr"];

/// The program that works.
#[derive(Clone, Debug)]
pub struct Worker {
    program: PathBuf,
}

/// The outcome of a job.
#[derive(Debug)]
pub(crate) struct Done {
    /// The status, in words, unless it is success.
    pub failure: Option<Failure>,
    /// What was written to standard output and standard error.
    pub said: [Vec<u8>; 2],
}

/// How a job failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// It ended with a status.
    Status(i32),
    /// It did not get that far: the compiler crashed, or was killed.
    Crash(String),
    /// The compiler could not be started.
    Unstarted(String),
}

impl Worker {
    /// This program itself: it has to answer to [`WORD`] with [`serve`].
    #[must_use]
    pub fn this_program() -> Option<Self> {
        std::env::current_exe().ok().filter(|path| path.is_absolute()).map(|program| Worker { program })
    }

    /// The program that works for a library: the one that the environment names, or one beside `library`.
    #[must_use]
    pub fn for_library(library: Option<&Path>) -> Option<Self> {
        let named = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
        let name = format!("cuweld{}", std::env::consts::EXE_SUFFIX);
        let beside = || library.and_then(Path::parent).map(|folder| folder.join(&name));
        named.or_else(beside).filter(|path| path.is_file()).map(|program| Worker { program })
    }

    /// Does a job: `program` with its arguments runs in `folder`.
    pub(crate) fn run(&self, folder: &Path, program: &OsStr, arguments: &[OsString]) -> io::Result<Done> {
        let mut command = Command::new(&self.program);
        command.arg(WORD).arg("run").arg(folder).arg(program).args(arguments);
        supervise(command, folder)
    }

    /// Does a job: intermediate code is optimized by `library`.
    pub(crate) fn optimize(&self, folder: &Path, library: &Path) -> io::Result<Done> {
        let mut command = Command::new(&self.program);
        command.arg(WORD).arg("optimize").arg(folder).arg(library);
        supervise(command, folder)
    }
}

/// Runs a worker and waits for it.
fn supervise(mut command: Command, folder: &Path) -> io::Result<Done> {
    let [stdout, stderr] = SAID.map(|name| folder.join(name));
    command.stdin(Stdio::piped()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    own_group(&mut command);
    let mut worker = command.spawn()?;
    // Held open until the worker is done: its end is what the worker watches for.
    let input = worker.stdin.take();
    let ended = worker.wait();
    drop(input);
    let status = fs::read_to_string(folder.join(STATUS)).ok().and_then(|text| text.trim().parse().ok());
    let unstarted = fs::read_to_string(folder.join(UNSTARTED)).ok();
    let failure = match (status, ended) {
        _ if unstarted.is_some() => unstarted.map(Failure::Unstarted),
        (Some(0), _) => None,
        (Some(status), _) => Some(Failure::Status(status)),
        (None, Ok(ended)) => Some(Failure::Crash(ended.to_string())),
        (None, Err(error)) => Some(Failure::Crash(error.to_string())),
    };
    Ok(Done { failure, said: [fs::read(stdout)?, fs::read(stderr)?] })
}

/// Puts a worker out of the reach of a terminal's signals: it outlives the linker just long enough to clean up.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Puts a worker out of the reach of a terminal's signals.
#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

/// What a worker does, with the arguments after [`WORD`].
pub fn serve(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let folder = arguments.get(1).map(PathBuf::from);
    let (Some(folder), Some(what), Some((_, rest))) = (folder, arguments.first(), arguments.split_at_checked(2)) else {
        return ExitCode::FAILURE;
    };
    let status = match (what.to_str(), rest) {
        (Some("run"), [program, arguments @ ..]) => run(&folder, program, arguments),
        (Some("optimize"), [_]) if library::IS_STATIC => hand_over(&arguments).and_then(|why| job::refuse(&folder, &why)),
        (Some("optimize"), [library]) => {
            let abandoned = folder.clone();
            // The library can not be interrupted; the process can.
            thread::spawn(move || {
                wait_for_the_linkers_end();
                _ = fs::remove_dir_all(&abandoned);
                std::process::exit(1);
            });
            job::serve(&folder, Path::new(library))
        }
        _ => return ExitCode::FAILURE,
    };
    match status.and_then(|status| fs::write(folder.join(STATUS), status.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Becomes the program that can load libraries. Gives why it could not.
#[cfg(unix)]
fn hand_over(arguments: &[OsString]) -> io::Result<String> {
    use std::os::unix::process::CommandExt;
    const PARTNER: &str = "cuweld-worker";
    /// As seen from the folder of the program: in archives and packages, or where both were built.
    const PARTNER_FOLDERS: [&str; 2] = ["../lib/cuweld", "."];
    let own = std::env::current_exe()?;
    let beside = |folder| Some(own.parent()?.join(folder).join(PARTNER));
    let Some(partner) = PARTNER_FOLDERS.into_iter().filter_map(beside).find(|path| path.is_file()) else {
        let places = PARTNER_FOLDERS.join("' and '");
        return Ok(format!(
            "this is the static build of cuweld, which loads libnvJitLink in the program '{PARTNER}': it was not found (in '{places}', \
             as seen from the folder of '{}')",
            own.display()
        ));
    };
    let error = Command::new(&partner).arg(WORD).args(arguments).exec();
    Ok(format!(
        "'{}' could not be run, which loads libnvJitLink for the static build of cuweld and needs glibc: {error}",
        partner.display()
    ))
}

/// Elsewhere programs are not static.
#[cfg(not(unix))]
fn hand_over(_: &[OsString]) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What a worker waits for while a compiler runs.
enum Event {
    /// The linker is gone.
    LinkerGone,
    /// The compiler has closed one of its outputs.
    OutputClosed,
}

/// Runs a compiler. Gives the status that it ended with.
fn run(folder: &Path, program: &OsStr, arguments: &[OsString]) -> io::Result<i32> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut compiler = command.spawn().inspect_err(|error| _ = fs::write(folder.join(UNSTARTED), error.to_string()))?;
    let (sender, events) = mpsc::channel();
    pass_on(compiler.stdout.take(), io::stdout(), sender.clone());
    pass_on(compiler.stderr.take(), io::stderr(), sender.clone());
    thread::spawn(move || {
        wait_for_the_linkers_end();
        _ = sender.send(Event::LinkerGone);
    });
    let mut open = SAID.len();
    while open > 0 {
        match events.recv() {
            Ok(Event::OutputClosed) => open -= 1,
            Ok(Event::LinkerGone) | Err(_) => {
                _ = compiler.kill();
                _ = compiler.wait();
                _ = fs::remove_dir_all(folder);
                std::process::exit(1);
            }
        }
    }
    status(compiler.wait()?)
}

/// The number that a compiler ended with.
fn status(ended: ExitStatus) -> io::Result<i32> {
    ended.code().ok_or_else(|| io::Error::other(ended.to_string()))
}

/// Copies what a compiler says, and tells when it has no more to say.
fn pass_on(from: Option<impl Read + Send + 'static>, mut to: impl Write + Send + 'static, done: Sender<Event>) {
    thread::spawn(move || {
        _ = from.map(|mut from| io::copy(&mut from, &mut to));
        _ = to.flush();
        _ = done.send(Event::OutputClosed);
    });
}

/// Returns when the linker is gone: it never writes, so that there is nothing but the end to be read.
fn wait_for_the_linkers_end() {
    _ = io::copy(&mut io::stdin(), &mut io::sink());
}
