//! Shows what is being compiled.
//!
//! A link that compiles may take minutes, of which the linker itself needs milliseconds. So one line says what is being compiled, how
//! much is done, and what takes longest. It appears only when the wait is long enough to be noticed, and leaves nothing behind.

use crate::options::ProgressDisplay;
use crate::resources::{Stream, terminal_width};
use cuweld::diagnostics::printable;
use cuweld_toolkit::{Event, Observer, Stage};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a link may be silent.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the line is renewed.
const TICK: Duration = Duration::from_millis(100);

/// The line on the terminal. It goes when this is dropped.
pub struct Progress {
    state: Arc<Mutex<State>>,
    is_terminal: bool,
}

#[derive(Default)]
struct State {
    running: Vec<(Stage, String, Instant)>,
    done: usize,
    /// What renews the line, from the first compiler on; and what ends it.
    display: Option<(Sender<()>, JoinHandle<()>)>,
}

impl State {
    /// What to say now, if anything is going on.
    fn line(&self, now: Instant) -> Option<String> {
        // The list is in the order in which they began.
        let (stage, name, begin) = self.running.first()?;
        let what = match stage {
            Stage::Optimize => "optimizing",
            Stage::Assemble => "compiling",
        };
        let others = match self.running.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let seconds = now.duration_since(*begin).as_secs_f64();
        let done = match self.done {
            0 => String::new(),
            done => format!(", {done} done"),
        };
        Some(format!("{what} {name} ({seconds:.1} s){others}{done}"))
    }
}

impl Progress {
    /// Shows progress where `display` says so.
    pub fn start(display: Option<ProgressDisplay>) -> Option<Self> {
        let is_terminal = std::io::stderr().is_terminal();
        match display.unwrap_or(ProgressDisplay::Auto) {
            ProgressDisplay::Never => return None,
            ProgressDisplay::Auto if !is_terminal => return None,
            ProgressDisplay::Auto | ProgressDisplay::Always => {}
        }
        Some(Progress { state: Arc::default(), is_terminal })
    }

    /// What tells it of compilers.
    pub fn observer(&self) -> Observer {
        let (shared, is_terminal) = (Arc::clone(&self.state), self.is_terminal);
        Box::new(move |event| {
            let mut state = lock(&shared);
            match event {
                Event::Started(stage, name) => {
                    state.running.push((stage, name.to_owned(), Instant::now()));
                    if state.display.is_none() {
                        state.display = display(Arc::clone(&shared), is_terminal);
                    }
                }
                Event::Ended(stage, name) => {
                    let is_this = |running: &(Stage, String, Instant)| running.0 == stage && running.1 == name;
                    if let Some(index) = state.running.iter().position(is_this) {
                        state.running.remove(index);
                    }
                    state.done += 1;
                }
            }
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let display = lock(&self.state).display.take();
        if let Some((stop, thread)) = display {
            drop(stop);
            // The line must be gone before anything else is printed.
            _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Renews the line until it is told to stop. Where there are no more threads, there is no line.
fn display(state: Arc<Mutex<State>>, is_terminal: bool) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = mpsc::channel();
    let thread = thread::Builder::new().spawn(move || {
        let mut display = Display::new(is_terminal);
        let mut wait = PATIENCE;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = TICK;
            let line = lock(&state).line(Instant::now());
            display.show(line);
        }
        display.clear();
    });
    Some((stop, thread.ok()?))
}

/// Where the line goes.
enum Display {
    /// To a terminal, over the line before.
    Terminal,
    /// To a file, below the line before, and only if it says something else.
    Lines(String),
}

impl Display {
    fn new(is_terminal: bool) -> Self {
        if is_terminal { Display::Terminal } else { Display::Lines(String::new()) }
    }

    fn show(&mut self, line: Option<String>) {
        match (self, line) {
            (Display::Terminal, Some(line)) => {
                // A line that is too long would begin another, which nothing takes away.
                let room = terminal_width(Stream::Messages).unwrap_or(USUAL_WIDTH) - 1;
                let line: String = printable(&line).chars().take(room).collect();
                _ = write!(anstream::stderr().lock(), "{CLEAR_LINE}{line}");
            }
            (Display::Lines(last), Some(line)) => {
                let subject = line.split(" (").next().unwrap_or_default().to_owned();
                if *last != subject {
                    _ = writeln!(std::io::stderr(), "cuweld: {}", printable(&line));
                    *last = subject;
                }
            }
            (_, None) => {}
        }
    }

    fn clear(&self) {
        if let Display::Terminal = self {
            _ = write!(anstream::stderr().lock(), "{CLEAR_LINE}");
        }
    }
}

/// How wide a terminal is that does not say.
const USUAL_WIDTH: usize = 80;

/// Back to the start of the line, which is emptied.
const CLEAR_LINE: &str = "\r\x1b[K";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_takes_longest() {
        let progress = Progress { state: Arc::default(), is_terminal: false };
        let line = || lock(&progress.state).line(Instant::now()).map(|line| line.replace("0.0", "N"));
        let tell = progress.observer();
        assert_eq!(line(), None);
        tell(Event::Started(Stage::Assemble, "a.ptx"));
        tell(Event::Started(Stage::Assemble, "b.ptx"));
        assert_eq!(line().as_deref(), Some("compiling a.ptx (N s) and 1 more"));
        tell(Event::Ended(Stage::Assemble, "a.ptx"));
        assert_eq!(line().as_deref(), Some("compiling b.ptx (N s), 1 done"));
        tell(Event::Started(Stage::Optimize, "lto"));
        tell(Event::Ended(Stage::Assemble, "b.ptx"));
        assert_eq!(line().as_deref(), Some("optimizing lto (N s), 2 done"));
    }
}
