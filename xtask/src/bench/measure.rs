//! Runs a program and measures it from outside: wall time, and the most memory it had.
//!
//! The system counts into the memory of a process the most that its parent had before it started it. So files are compared and copied
//! in pieces here, and what was more for a while is forgotten; no link seems to take less than the few MiB that this program has.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::inputs::{Inputs, LIST, failed};
use super::results::Outcome;

/// A program that links.
pub struct Linker {
    /// What it is called by.
    pub program: std::path::PathBuf,
    /// Where it writes to, within the folder of the inputs.
    pub output: &'static str,
}

impl Linker {
    /// Links once.
    pub fn run(&self, inputs: &Inputs, architecture: &str, limit: Duration) -> Result<Outcome, String> {
        // Replacing a file is more work than making one, and not the same for each of them.
        _ = fs::remove_file(inputs.folder.join(self.output));
        let mut command = Command::new(&self.program);
        command
            .args(["-arch", architecture, "-optf", LIST, "-o", self.output])
            .env("CUWELD_COMPAT", "nvlink-13.0.88")
            .current_dir(&inputs.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        outcome(&mut command, limit).map_err(failed(&self.program))
    }
}

/// Runs a program to its end or until the time is up.
pub(crate) fn outcome(command: &mut Command, limit: Duration) -> std::io::Result<Outcome> {
    // Forgets the most memory that this process had, where the system can.
    _ = fs::write("/proc/self/clear_refs", "5");
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let (in_time, seconds) = wait_until(&mut child, begin, limit);
    let (status, peak_bytes) = reap(&child)?;
    Ok(match (in_time, status.success()) {
        (true, true) => Outcome::Finished { seconds, peak_bytes },
        (true, false) => Outcome::Failed,
        (false, _) => Outcome::Stopped,
    })
}

/// Waits until a process has ended, and ends it when the time is up. Says whether it was in time, and when it ended.
///
/// Asking every now and then whether it has ended would cost time that it needs itself. So this thread sleeps until it has, and another
/// one until the time is up. The process is not reaped before both are done: its number can not be anyone else's.
fn wait_until(child: &mut Child, begin: Instant, limit: Duration) -> (bool, f64) {
    let process = child.id();
    let (ended, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let guard = scope.spawn(move || {
            let late = end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            // It may have ended in between, which is as well.
            late && child.kill().is_ok()
        });
        system::wait_for_end(process);
        let seconds = begin.elapsed().as_secs_f64();
        drop(ended);
        (!guard.join().unwrap_or(true), seconds)
    })
}

/// What a program takes.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Costs {
    /// The processor's time.
    pub(crate) seconds: f64,
    /// The most memory it had.
    pub(crate) peak_bytes: u64,
}

impl Costs {
    /// The least of two runs.
    pub(crate) fn least(self, other: Self) -> Self {
        Costs { seconds: self.seconds.min(other.seconds), peak_bytes: self.peak_bytes.min(other.peak_bytes) }
    }
}

/// Runs a program to its end, and says what it took.
pub(crate) fn costs(command: &mut Command) -> std::io::Result<Costs> {
    _ = fs::write("/proc/self/clear_refs", "5");
    let child = command.spawn()?;
    let system::Ended { status, kibibytes, seconds } = system::reap(child.id())?;
    match ExitStatus::from_raw(status).signal() {
        Some(signal) => Err(std::io::Error::other(format!("signal {signal}"))),
        None => Ok(Costs { seconds, peak_bytes: kibibytes * 1024 }),
    }
}

/// How a process that has ended did so, and the most memory it had, in bytes.
fn reap(child: &Child) -> std::io::Result<(ExitStatus, u64)> {
    let system::Ended { status, kibibytes, .. } = system::reap(child.id())?;
    Ok((ExitStatus::from_raw(status), kibibytes * 1024))
}

/// How long it takes to read all inputs and write as much as was written: no linker can be faster, except with more threads.
pub fn floor(inputs: &Inputs, output_bytes: u64) -> Result<f64, String> {
    let output = inputs.folder.join("floor.bin");
    _ = fs::remove_file(&output);
    let mut piece = vec![0; 1 << 16];
    let begin = Instant::now();
    for path in inputs.paths()? {
        let path = path?;
        let mut file = File::open(&path).map_err(failed(&path))?;
        while file.read(&mut piece).map_err(failed(&path))? > 0 {}
    }
    let mut file = File::create(&output).map_err(failed(&output))?;
    let mut left = output_bytes;
    while left > 0 {
        let now = left.min(piece.len() as u64);
        file.write_all(piece.get(..now as usize).unwrap_or_default()).map_err(failed(&output))?;
        left -= now;
    }
    let seconds = begin.elapsed().as_secs_f64();
    _ = fs::remove_file(&output);
    Ok(seconds)
}

/// Whether two files hold the same.
pub fn same(one: &Path, other: &Path) -> Result<bool, String> {
    let size = |path: &Path| fs::metadata(path).map(|found| found.len()).map_err(failed(path));
    if size(one)? != size(other)? {
        return Ok(false);
    }
    let (mut first, mut second) = (File::open(one).map_err(failed(one))?, File::open(other).map_err(failed(other))?);
    let (mut piece, mut piece_of_other) = (Vec::new(), Vec::new());
    loop {
        for (file, piece, path) in [(&mut first, &mut piece, one), (&mut second, &mut piece_of_other, other)] {
            piece.clear();
            file.take(1 << 16).read_to_end(piece).map_err(failed(path))?;
        }
        if piece != piece_of_other {
            return Ok(false);
        }
        if piece.is_empty() {
            return Ok(true);
        }
    }
}

/// What the standard library does not offer: to wait without reaping, and to learn how much memory a process had.
#[allow(unsafe_code, reason = "these system calls are not in the standard library")]
mod system {
    use std::io;

    /// Sleeps until a child has ended, and leaves it there.
    pub(super) fn wait_for_end(process: u32) {
        loop {
            // SAFETY: the call writes to `information`, which is of the type it wants and may hold any bits.
            let result = unsafe {
                let mut information: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, process, &raw mut information, libc::WEXITED | libc::WNOWAIT)
            };
            if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    }

    /// How a child ended.
    pub(super) struct Ended {
        /// Its status as the system has it.
        pub(super) status: i32,
        /// The most memory it had.
        pub(super) kibibytes: u64,
        /// The processor's time.
        pub(super) seconds: f64,
    }

    /// Waits for the end of a child.
    pub(super) fn reap(process: u32) -> io::Result<Ended> {
        let process = libc::pid_t::try_from(process).map_err(io::Error::other)?;
        // SAFETY: the call writes to `status` and `usage`, which are of the types it wants and may hold any bits.
        let (result, status, usage) = unsafe {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            let result = libc::wait4(process, &raw mut status, 0, &raw mut usage);
            (result, status, usage)
        };
        if result != process {
            return Err(io::Error::last_os_error());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Ok(Ended {
            status,
            kibibytes: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: &str, limit: Duration) -> (bool, ExitStatus) {
        let mut child = Command::new("sleep").arg(seconds).spawn().expect("a program that sleeps");
        let (in_time, _) = wait_until(&mut child, Instant::now(), limit);
        let (status, peak_bytes) = reap(&child).expect("a child that has ended");
        assert!(peak_bytes > 0);
        (in_time, status)
    }

    #[test]
    fn programs_end_or_are_ended() {
        let (in_time, status) = run("0", Duration::from_secs(60));
        assert!(in_time && status.success());
        let (in_time, status) = run("60", Duration::from_millis(50));
        assert!(!in_time && status.signal().is_some());
    }
}
