//! How long each phase took, as a trace that Chrome and Perfetto show.

use crate::observer::{Observer, Phase};
use serde_json::json;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The spans of a link that it watches.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    begin: Duration,
    spans: Vec<Span>,
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
        Trace { start: Instant::now(), begin: Duration::ZERO, spans: Vec::new() }
    }
}

impl Observer for Trace {
    fn begin(&mut self, _phase: Phase) -> ControlFlow<()> {
        self.begin = self.start.elapsed();
        ControlFlow::Continue(())
    }

    fn end(&mut self, phase: Phase) {
        self.spans.push(Span { name: phase.name().into(), begin: self.begin, duration: self.start.elapsed() - self.begin });
    }
}

impl Trace {
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
        let microseconds = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        let event = |span: &Span| {
            let (begin, duration) = (microseconds(span.begin), microseconds(span.duration));
            json!({ "name": span.name, "ph": "X", "pid": 1, "tid": 1, "ts": begin, "dur": duration })
        };
        let events: Vec<_> = self.spans.iter().map(event).collect();
        format!("{}\n", json!({ "traceEvents": events }))
    }
}
