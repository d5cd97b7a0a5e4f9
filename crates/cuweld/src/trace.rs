//! The times of phases, as a trace for Chrome and Perfetto.

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
    /// Links that ran beside each other.
    rows: Vec<(String, Trace)>,
}

/// One span.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
        Trace { start: Instant::now(), begin: Duration::ZERO, spans: Vec::new(), rows: Vec::new() }
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

    /// Adds the trace of a link that ran beside others, as a row of its own.
    pub fn add_row(&mut self, name: String, row: Trace) {
        self.rows.push((name, row));
    }

    /// The spans, in the order in which they ended.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The trace in Chrome's JSON format.
    pub fn to_json(&self) -> String {
        let mut events: Vec<_> = self.events(1, Duration::ZERO).collect();
        for (number, (name, row)) in (2..).zip(&self.rows) {
            events.push(json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": { "name": name } }));
            events.extend(row.events(number, row.start.saturating_duration_since(self.start)));
        }
        format!("{}\n", json!({ "traceEvents": events }))
    }

    /// The spans as events of a row, later by as much as the trace began later than the whole.
    fn events(&self, row: usize, later: Duration) -> impl Iterator<Item = serde_json::Value> {
        let microseconds = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        self.spans.iter().map(move |span| {
            let (begin, duration) = (microseconds(later + span.begin), microseconds(span.duration));
            json!({ "name": span.name, "ph": "X", "pid": 1, "tid": row, "ts": begin, "dur": duration })
        })
    }
}
