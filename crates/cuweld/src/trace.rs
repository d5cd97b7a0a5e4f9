//! How long each phase took, as a trace that Chrome and Perfetto show.

use crate::diagnostics::quoted;
use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The spans of a run.
pub struct Trace {
    start: Instant,
    spans: Vec<Span>,
    errand: Option<Errand>,
}

/// What is to be done when a phase begins.
struct Errand {
    phase: &'static str,
    run: Box<dyn FnOnce() + Send>,
}

/// One span.
#[derive(Clone, Debug)]
pub struct Span {
    /// What took this long.
    pub name: Cow<'static, str>,
    /// When it began, counted from the start of the trace.
    pub begin: Duration,
    /// How long it took.
    pub duration: Duration,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { start: Instant::now(), spans: Vec::new(), errand: None }
    }
}

impl Trace {
    /// Has something done when a phase begins, before anything else of it.
    pub fn when(&mut self, phase: &'static str, errand: impl FnOnce() + Send + 'static) {
        self.errand = Some(Errand { phase, run: Box::new(errand) });
    }

    /// Runs a phase and records how long it took.
    pub fn phase<T>(&mut self, name: &'static str, run: impl FnOnce() -> T) -> T {
        if let Some(errand) = self.errand.take_if(|errand| errand.phase == name) {
            (errand.run)();
        }
        let begin = self.start.elapsed();
        let result = run();
        self.spans.push(Span { name: name.into(), begin, duration: self.start.elapsed() - begin });
        result
    }

    /// Records something that was timed elsewhere.
    pub fn add(&mut self, name: String, begin: Instant, duration: Duration) {
        self.spans.push(Span { name: name.into(), begin: begin.saturating_duration_since(self.start), duration });
    }

    /// The spans, in the order in which they ended.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The trace in Chrome's JSON format.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\"traceEvents\":[");
        for (index, span) in self.spans.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            _ = write!(
                json,
                "{separator}\n{{\"name\":{},\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{:.3},\"dur\":{:.3}}}",
                quoted(&span.name),
                span.begin.as_secs_f64() * 1e6,
                span.duration.as_secs_f64() * 1e6
            );
        }
        json.push_str("\n]}\n");
        json
    }
}
